"""A limit that jumps where no point has seen it: proposals break it in a row."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tcgp
from tcgp.search.drought import misses, weight_of_limits


def simulate(x):
    cost = sum((v - 0.2) ** 2 for v in x.values())
    return {"cost": cost, "stress": (0.5 if cost > 0.06 else 1.2) + 0.3 * np.sin(9.0 * x["a"])}


def test_a_drought_is_said_once_and_the_search_stays_near_the_best(caplog):
    space = dict.fromkeys("abc", (0.0, 1.0))
    optimizer = tcgp.Optimizer(space, objective="cost", constraints=["stress <= 1"], rng=0)
    caplog.set_level(logging.WARNING, "tcgp")
    while "gave them chances" not in caplog.text:
        assert len(optimizer.evaluations) < 25
        x = optimizer.ask()
        best = optimizer.result().x
        if "gave them chances" not in caplog.text:
            optimizer.tell(x, simulate(x))
    chances = misses(optimizer.history, optimizer.history.data)
    assert len(chances) >= 3
    assert np.prod([1.0 - p for p in chances]) < 0.01
    assert max(abs(x[name] - best[name]) for name in space) <= 0.2
    assert f"the last {len(chances)} points violated a limit" in caplog.text
    assert "the search stays near good points and weighs limits more" in caplog.text

    optimizer.tell(x, simulate(x))
    optimizer.ask()
    assert caplog.text.count("gave them chances") == 1


@pytest.mark.parametrize(
    ("a", "known"), [((0.0, 1.0), ["a + b <= 1.9"]), (tcgp.Real(0.0, 1.0, step=0.01), [])]
)
def test_a_drought_promises_no_local_steps_where_none_are_made(caplog, a, known):
    space = {"a": a, "b": (0.0, 1.0), "c": (0.0, 1.0)}
    caplog.set_level(logging.WARNING, "tcgp")
    tcgp.minimize(simulate, space, objective="cost", constraints=["stress <= 1", *known], n_evals=25, rng=0)
    assert "one satisfies all limits, the search weighs limits more" in caplog.text


def test_limits_weigh_what_would_have_expected_the_misses():
    assert weight_of_limits([0.5] * 6) == 1.0  # as likely as 1.6 %
    for chances in ([0.9, 0.9, 0.9], [0.3, 0.7, 0.99, 0.8]):
        w = weight_of_limits(chances)
        assert np.isclose(np.sum(np.power(chances, w)), 0.5, rtol=1e-4)
    assert weight_of_limits([1.0, 1.0, 1.0]) == 100.0
