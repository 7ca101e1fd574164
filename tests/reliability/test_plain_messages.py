"""No message shows the types of NumPy: a user reads ``got 0.5`` and not ``got np.float64(0.5)``."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcgp

VALUES = [
    np.float64(np.nan),
    np.float64(-5.5),
    np.int64(-3),
    np.str_("somewhere"),
    np.bool_(True),
    [np.float64(7.5), np.float64(-1.0)],
    {"q": np.float64(3.0)},
    {np.float64(2.0): 1},
]
BOX = [(0.0, 1.0)]
X = np.linspace(0.0, 1.0, 8)[:, np.newaxis]

# Arguments whose bad values are seen elsewhere, or that print.
ELSEWHERE = ("fun", "bounds", "progress", "journal", "report", "callback", "workers")


def doors(value: Any, folder: Path) -> Iterator[Callable[[], Any]]:
    """Calls that bring a value to a public function, which may refuse it."""
    for name in inspect.signature(tcgp.minimize).parameters:
        if name not in ELSEWHERE:
            options = {"n_evals": 2, name: value}
            yield lambda options=options: tcgp.minimize(_first, BOX, **options)
    yield lambda: tcgp.minimize(value, BOX, n_evals=2)
    yield lambda: tcgp.minimize(_first, value, n_evals=2)
    yield lambda: tcgp.minimize(lambda x: value, BOX, n_evals=2)
    yield lambda: tcgp.minimize(lambda x: {"a": value}, BOX, n_evals=2, objective="a")
    yield lambda: tcgp.minimize(_first, BOX, n_evals=2, journal=folder / "run.jsonl", epsilon=value)
    optimizer = tcgp.Optimizer(BOX, rng=0)
    optimizer.tell([0.5], 1.0)
    named = tcgp.Optimizer({"a": (0.0, 1.0), "c": tcgp.Categorical(["u", "v"])}, rng=0)
    yield lambda: optimizer.tell(value, 1.0)
    yield lambda: optimizer.tell([0.5], value)
    yield lambda: optimizer.tell([0.3], value)
    yield lambda: optimizer.tell([0.2], 1.0, seconds=value)
    yield lambda: optimizer.tell([0.1], None, reason=value)
    yield lambda: optimizer.ask(value)
    yield lambda: optimizer.enqueue(value)
    yield lambda: optimizer.correct(value, 1.0)
    yield lambda: optimizer.note_retry(value, None)
    yield lambda: named.tell({"a": value, "c": "u"}, 1.0)
    yield lambda: named.tell({"a": 0.1, "c": value}, 1.0)
    for low, high in [(value, 1.0), (0.0, value), (value, value)]:
        yield lambda low=low, high=high: tcgp.Real(low, high)
        yield lambda low=low, high=high: tcgp.Integer(low, high)
        yield lambda low=low, high=high: tcgp.Real(low, high, log=True)
    yield lambda: tcgp.Categorical(value)
    yield lambda: tcgp.Categorical([value, value])
    yield lambda: tcgp.Space([value])
    yield lambda: tcgp.Space({"a": value})
    for name in ("method", "bounds", "delta", "p_min", "rule", "smoothness"):
        yield lambda name=name: tcgp.fit_model(X, X[:, 0] ** 2, **{name: value})
    yield lambda: tcgp.problems.get(value)
    yield lambda: tcgp.sampling.subset_simulation(lambda U: U[:, 0], BOX, 0.1, p0=value)


def _first(x: Any) -> float:
    return float(x[0])


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_no_message_shows_a_type_of_numpy(
    value: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tcgp.minimize(_first, BOX, n_evals=1, rng=0, journal=tmp_path / "run.jsonl")
    said = []
    with caplog.at_level(logging.INFO, "tcgp"):
        for call in doors(value, tmp_path):
            try:
                said.append(str(getattr(call(), "message", "")))
            except (ValueError, TypeError) as error:
                if "could not convert" not in str(error):  # NumPy's own words
                    said.append(str(error))
    said += caplog.messages
    assert [text for text in said if "np." in text] == []
    assert sum(bool(text) for text in said) > 10


def test_limits_that_are_numbers_of_numpy_are_told_plainly() -> None:
    result = tcgp.minimize(_first, BOX, n_evals=2, rng=0, target=np.float64(5.0))
    assert result.stopped == "the target 5.0 is reached"
    result = tcgp.minimize(_first, BOX, n_evals=500, rng=0, max_time=np.float64(1e-3))
    assert result.stopped == "the time of 0.001 s is over"
