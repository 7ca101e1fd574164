"""Rules that stop a run: what they mean, that they stop where they should, and that a resumed run stops alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tcgp
from tcgp.running.stopping import n_without_improvement, shares_below

SQUARE = [(0.0, 1.0), (0.0, 1.0)]


def bowl(x):
    return (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2


def test_patience_counts_points_of_the_model_without_an_improvement(tmp_path):
    journal = tmp_path / "run.jsonl"
    options = {"n_initial": 6, "rng": 0, "patience": 4, "min_improvement": 1e-4, "journal": journal}
    result = tcgp.minimize(bowl, SQUARE, n_evals=60, **options)
    assert (result.status, result.success) == (10, True)
    assert result.message == "no improvement by 0.0001 in 4 evaluations chosen by the model"
    assert result.nfev < 40
    assert result.fun < 1e-3
    last = result.func_vals[-4:]
    assert result.func_vals[:-4].min() - last.min() <= 1e-4
    again = tcgp.minimize(bowl, SQUARE, n_evals=60, **options)
    assert (again.status, again.nfev) == (10, result.nfev)


def test_neither_the_design_nor_given_points_exhaust_patience():
    result = tcgp.minimize(
        lambda x: 1.0 + x[0], SQUARE, n_evals=40, n_initial=20, x0=[[0.0, 0.0]], rng=0, patience=3
    )
    assert result.nfev == 23
    assert n_without_improvement(result.optimizer.history) == 3


def test_small_steps_count_together():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], n_initial=2, rng=0)
    values = [10.0, 8.9, 8.6, 8.2, 7.8, 7.7]
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    assert n_without_improvement(optimizer.history, 1.0) == 1  # 7.8 is 1.1 below 8.9
    assert n_without_improvement(optimizer.history, 0.0) == 0
    assert n_without_improvement(optimizer.history, 3.0) == 4  # since the design


def test_maximizing_and_limits_are_understood():
    optimizer = tcgp.Optimizer(
        [(0.0, 1.0)], objective="gain", maximize=True, constraints=["load <= 1"], n_initial=1, rng=0
    )
    for gain, load in [(1.0, 0.5), (2.0, 0.5), (9.0, 5.0), (1.5, 0.0)]:
        optimizer.tell(optimizer.ask(), {"gain": gain, "load": load})
    assert n_without_improvement(optimizer.history) == 2


@pytest.mark.parametrize("method", ["auto", "tcgp", "gp"])
def test_the_share_of_the_space_falls_and_stops_the_run_near_the_minimum(method, tmp_path):
    journal = tmp_path / "run.jsonl"
    options = {"n_initial": 6, "rng": 0, "method": method, "journal": journal}
    options |= {"stop_when_share_below": 1e-3, "min_improvement": 1e-3}
    result = tcgp.minimize(bowl, SQUARE, n_evals=60, **options)
    assert (result.status, result.success) == (11, True)
    assert "the predicted share of the space that is better by 0.001 fell below 0.001" in result.message
    assert result.nfev < 40
    assert result.fun < 2e-3
    assert result.optimizer.trace[-1]["share"] < 1e-3
    again = tcgp.minimize(bowl, SQUARE, n_evals=60, **options)
    assert (again.status, again.nfev) == (11, result.nfev)


def test_a_share_counts_once_it_is_small_for_every_member_in_a_row():
    trace = [{"share": share} for share in (1e-5, 0.1, 1e-5, 1e-6, None, 1e-5)]
    assert [shares_below(trace[:n], 1e-4, 2) for n in range(7)] == [False] * 4 + [True, False, False]
    assert not shares_below([{}, {}], 1e-4, 2)


def test_watching_the_share_changes_no_point():
    plain = tcgp.minimize(bowl, SQUARE, n_evals=11, n_initial=6, rng=3)
    watched = tcgp.minimize(bowl, SQUARE, n_evals=11, n_initial=6, rng=3, stop_when_share_below=0.0)
    assert watched.x_iters == plain.x_iters


def test_the_share_is_the_mean_probability_over_the_space():
    """Against a sample of its own, with the model fitted to the same data."""
    optimizer = tcgp.Optimizer(
        {"a": (0.0, 2.0), "b": (1.0, 3.0)}, method="gp", n_initial=8, rng=0, maximize=True
    )
    for _ in range(10):
        x = optimizer.ask()
        optimizer.tell(x, np.sin(3.0 * x["a"]) * x["b"])
    best = optimizer.result().fun
    optimizer.update_model()
    for improvement in (0.0, 0.1):
        rng = np.random.default_rng(7)
        points = [{"a": 2.0 * u, "b": 1.0 + 2.0 * v} for u, v in rng.random((4000, 2))]
        expected = 1.0 - optimizer.fit_model().predict(points).cdf(best + improvement).mean()
        assert optimizer.share_below(improvement) == pytest.approx(expected, rel=0.2, abs=2e-4)


def test_without_a_best_value_there_is_no_share():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    assert optimizer.share_below() is None
    optimizer.tell([[0.25], [0.5]], [None, None])
    assert optimizer.share_below() is None


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"patience": 0}, "patience must be a whole number of at least 1, or None, got 0"),
        (
            {"patience": 3, "min_improvement": -1.0},
            "min_improvement must be a number of at least 0, or None, got -1.0",
        ),
        (
            {"stop_when_share_below": 1.5},
            r"stop_when_share_below must be a number in \[0, 1\), or None, got 1.5",
        ),
        ({"min_improvement": 1.0}, "min_improvement needs patience or stop_when_share_below"),
    ],
)
def test_bad_rules_are_refused(rules, words):
    with pytest.raises(ValueError, match=words):
        tcgp.minimize(bowl, SQUARE, n_evals=10, **rules)


def test_a_callback_that_returns_true_stops_the_run():
    result = tcgp.minimize(bowl, SQUARE, n_evals=30, rng=0, callback=lambda r: r.nfev >= 5)
    assert (result.status, result.nfev) == (5, 5)
    assert tcgp.minimize(bowl, SQUARE, n_evals=6, rng=0, callback=lambda r: "yes").nfev == 6


@pytest.mark.parametrize("improvement", ["0.1", math.nan, None])
def test_a_share_below_what_is_no_number_is_refused(improvement: Any) -> None:
    with pytest.raises(ValueError, match=f"improvement must be a number, got {improvement!r}"):
        tcgp.Optimizer([(0.0, 1.0)]).share_below(improvement)
