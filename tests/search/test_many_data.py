"""Much of everything: data, evaluations in a report, choices, and values as large as floats are."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from tcgp import Categorical, Optimizer, Space, minimize
from tcgp.gp import selection
from tcgp.maximize import mixed
from tcgp.methods import members
from tcgp.models import Model
from tcgp.report import data, report_from_journal
from tcgp.search import acquisition


def fun(x: list[float]) -> float:
    return (x[0] - 0.3) ** 2 + float(np.sin(5.0 * x[1]))


def points(n: int) -> list[list[float]]:
    return np.random.default_rng(0).random((n, 2)).tolist()


def test_models_of_many_data_use_a_part_and_say_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acquisition, "MOST_DATA", 30)
    X = points(60)
    optimizer = Optimizer([(0, 1)] * 2, rng=0, journal=tmp_path / "run.jsonl")
    optimizer.tell(X, [fun(x) for x in X])
    for _ in range(4):
        x = optimizer.ask()
        assert optimizer.model is not None
        assert len(optimizer.model.y) <= 30
        assert optimizer.model.y.min() == min(e.y for e in optimizer.evaluations)
        optimizer.tell(x, fun(x))
    assert caplog.text.count("models are fitted to 30 of the 60 values") == 1
    optimizer.close()
    resumed = Optimizer.resume(tmp_path / "run.jsonl")
    untouched = Optimizer([(0, 1)] * 2, rng=0)
    untouched.tell(X, [fun(x) for x in X])
    for _ in range(4):
        x = untouched.ask()
        untouched.tell(x, fun(x))
    assert resumed.ask() == untouched.ask()
    resumed.close()


def test_of_many_data_told_at_once_a_part_decides_what_is_fitted_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members and scales are compared on a part: a comparison of first fits to all of 10,000 took minutes."""
    for module in (selection, members):
        monkeypatch.setattr(module, "SCAN_DATA", 40)
    sizes: list[int] = []
    of_limits: list[int] = []
    fit = members.fit_model

    def counted(X: np.ndarray, y: np.ndarray, method: str, **options: object) -> Model:
        sizes.append(len(X))
        if method == "gp":
            of_limits.append(len(X))
        return fit(X, y, method, **options)

    monkeypatch.setattr(members, "fit_model", counted)

    def outputs(x: list[float]) -> dict[str, float]:
        return {"f": fun(x), "g": float(np.exp(3.0 * x[0] * x[1]))}

    X = points(100)
    space, options = [(0.0, 1.0)] * 2, {"objective": "f", "constraints": ["g <= 2"], "rng": 0}
    with Optimizer(space, journal=tmp_path / "run.jsonl", **options) as optimizer:
        optimizer.tell(X, [outputs(x) for x in X])
        first = optimizer.ask()
        assert sizes.count(100) == 2  # one of the objective, one of the limit
        assert sizes.count(40) >= 4
        of_limits.clear()
        beside = optimizer.ask()
        assert of_limits == []  # nothing is compared again for the next point of a batch
        optimizer.tell([first, beside], [outputs(first), outputs(beside)])
        second = optimizer.ask()
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "short.jsonl").write_text("".join(lines[:-1]))  # killed before the last proposal
    with Optimizer.resume(tmp_path / "short.jsonl") as resumed:
        assert resumed.ask() == second


def test_a_report_of_many_evaluations_is_of_a_model_of_some_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MOST_MODELLED", 25)
    X = points(60)
    with Optimizer([(0, 1)] * 2, rng=0, journal=tmp_path / "run.jsonl") as optimizer:
        optimizer.tell(X, [fun(x) for x in X])
    report_from_journal(tmp_path / "run.jsonl", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content = json.loads(found[1])
    assert content["modelled"] == {"n": 25, "of": 60}
    assert len(content["evaluations"]["y"]) == 60


def test_of_very_many_choices_some_neighbours_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    encode = Space.encode

    def counted(self: Space, rows: list[list[object]]) -> np.ndarray:
        nonlocal largest
        largest = max(largest, len(rows))
        return encode(self, rows)

    names = Categorical([str(i) for i in range(130)])  # of two, 258 neighbours, more than are looked at
    optimizer = Optimizer({"a": names, "b": names, "x": (0.0, 1.0)}, n_initial=8, rng=0)
    monkeypatch.setattr(Space, "encode", counted)
    for _ in range(10):
        x = optimizer.ask()
        optimizer.tell(x, abs(int(x["a"]) - 50) / 100 + int(x["b"]) / 100 + x["x"])
    assert largest <= max(mixed.N_SAMPLES, mixed.N_CLIMBERS * mixed.MAX_NEIGHBOURS)


@pytest.mark.parametrize("method", ["auto", "tcgp", "regp", "gp"])
def test_values_near_the_largest_float_lead_to_no_warning(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = Optimizer([(0, 1)] * 2, method=method, n_initial=6, rng=0)
        for _ in range(10):
            x = optimizer.ask()
            optimizer.tell(x, 1.7e308 * float(np.sin(9.0 * x[0] + x[1])))
    assert optimizer.result().success


def test_values_that_change_wildly_between_the_largest_floats_end_no_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = minimize(lambda x: 1.7e308 * np.sin(40.0 * x[0]), [(0.0, 1.0)], n_evals=12, rng=1)
    assert result.nfev == 12
