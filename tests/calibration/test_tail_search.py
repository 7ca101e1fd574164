"""Selection of (beta, lambda): the fast search against the paper's, and both on hard data."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from tcgp.calibration import (
    BETA_RANGE,
    CRITERIA,
    SCALE_RANGE,
    design_weights,
    next_threshold,
    selection_criterion,
    tail_law,
    tail_problem,
)
from tcgp.calibration.tail_scan import TabulatedProblem, laws_at, prepare_grid
from tcgp.calibration.tail_table import tail_table
from tcgp.laws import GeneralizedNormal


def leave_one_out_data(seed: int) -> dict[str, Any]:
    """Data whose residuals are neither Gaussian nor calibrated, with few values below the threshold."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([20, 40, 80, 150]))
    sd = rng.uniform(0.1, 1.0, n)
    residuals = rng.choice([0.3, 1.0, 3.0]) * (rng.standard_normal(n) if seed % 2 else rng.standard_t(2, n))
    mean = rng.standard_normal(n)
    y = mean + sd * residuals
    weights = design_weights(rng.random((n, 3)))
    threshold = next_threshold(y, weights, delta=float(rng.choice([0.05, 0.1, 0.25])))
    return {"mean": mean, "sd": sd, "y": y, "weights": weights, "threshold": threshold}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_fast_search_is_as_good_as_the_papers(criterion: str) -> None:
    for seed in range(6):
        data = leave_one_out_data(seed)
        fast = tail_law(**data, criterion=criterion)
        paper = tail_law(**data, criterion=criterion, search="paper", rng=seed)
        # 0.001 is what the search promises: it is far below what a few observations can tell.
        assert fast.value <= paper.value + 1e-3, seed


def test_fit_reports_the_value_and_the_occurrence_ratio_of_its_law() -> None:
    data = leave_one_out_data(0)
    fit = tail_law(**data)
    problem = tail_problem(**data)
    assert fit.value == float(selection_criterion(problem, fit.law))
    assert fit.occurrence_ratio == float(problem.occurrence_ratio(fit.law))
    assert fit.threshold == data["threshold"]
    assert fit.criterion == "joint"


def test_joint_value_is_never_above_the_plain_gaussian_process() -> None:
    for seed in range(30):
        data = leave_one_out_data(seed)
        gaussian = float(selection_criterion(tail_problem(**data), GeneralizedNormal(2.0, np.sqrt(2.0))))
        assert tail_law(**data).value <= gaussian + 1e-9


def test_occurrence_criterion_reaches_zero_when_it_can() -> None:
    data = leave_one_out_data(5)
    fit = tail_law(**data, criterion="occ")
    assert fit.value < 1e-5
    assert fit.occurrence_ratio == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_fast_search_is_deterministic(criterion: str) -> None:
    data = leave_one_out_data(3)
    assert tail_law(**data, criterion=criterion, rng=0) == tail_law(**data, criterion=criterion, rng=1)


def test_papers_search_depends_on_its_seed_only() -> None:
    data = leave_one_out_data(3)
    assert tail_law(**data, search="paper", rng=4) == tail_law(**data, search="paper", rng=4)


@pytest.mark.parametrize(("a", "b"), [(1e-6, 0.0), (2.5, -7.0), (1e5, 1e5)])
@pytest.mark.parametrize("criterion", ["joint", "thres", "occ"])
def test_law_does_not_depend_on_the_units_of_y(criterion: str, a: float, b: float) -> None:
    for seed in range(8):
        data = leave_one_out_data(seed)
        moved = data | {
            "mean": a * data["mean"] + b,
            "sd": a * data["sd"],
            "y": a * data["y"] + b,
            "threshold": float(a * data["threshold"] + b),
        }
        # An interpolated threshold lies between two values, so rounding moves no value across it; one that is
        # itself a value stays so.
        law, other = tail_law(**data, criterion=criterion).law, tail_law(**moved, criterion=criterion).law
        assert other.beta == pytest.approx(law.beta, rel=1e-6)
        assert other.scale == pytest.approx(law.scale, rel=1e-6)


def hard_data(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(30)
    data = {"mean": y + rng.standard_normal(30), "sd": np.ones(30), "y": y, "weights": np.ones(30)}
    return data | {"threshold": float(np.quantile(y, 0.1))} | changes


Y = hard_data()["y"]
HARD = {
    "one point": {"mean": [1.0], "sd": [1.0], "y": [0.5], "weights": [1.0], "threshold": 0.5},
    "two points": {"mean": [1, 0], "sd": [1, 1], "y": [0.5, 1.0], "weights": [1, 1], "threshold": 0.6},
    "no point above the threshold": hard_data(threshold=100.0),
    "one point below the threshold": hard_data(threshold=float(Y.min())),
    "all weight on one point": hard_data(weights=np.eye(30)[np.argmin(Y)]),
    "nearly no weight below": hard_data(weights=np.where(np.quantile(Y, 0.1) >= Y, 1e-12, 1.0)),
    "certain predictions": hard_data(sd=np.zeros(30)),
    "some certain predictions": hard_data(sd=np.arange(30) % 2 * 1.0),
    "tiny sd": hard_data(sd=np.full(30, 1e-200)),
    "huge sd": hard_data(sd=np.full(30, 1e200)),
    "exact predictions": hard_data(mean=Y),
    "exact and certain predictions": hard_data(mean=Y, sd=np.zeros(30)),
    "hopeless predictions": hard_data(mean=Y + 1e8),
    "hopeless the other way": hard_data(mean=Y - 1e8),
    "constant values": hard_data(y=np.zeros(30), threshold=0.0),
    "huge values": hard_data(
        mean=1e150 * hard_data()["mean"], sd=np.full(30, 1e150), y=1e150 * Y, threshold=-1e150
    ),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_data_set_gets_a_usable_law(name: str, criterion: str) -> None:
    law = tail_law(**HARD[name], criterion=criterion).law
    assert BETA_RANGE[0] <= law.beta <= BETA_RANGE[1]
    assert SCALE_RANGE[0] <= law.scale <= SCALE_RANGE[1]


@pytest.mark.parametrize(
    "name", ["one point", "all weight on one point", "certain predictions", "constant values"]
)
@pytest.mark.parametrize("criterion", ["joint", "rule2"])
def test_papers_search_survives_hard_data(name: str, criterion: str) -> None:
    law = tail_law(**HARD[name], criterion=criterion, search="paper", rng=0).law
    assert BETA_RANGE[0] <= law.beta <= BETA_RANGE[1]
    assert SCALE_RANGE[0] <= law.scale <= SCALE_RANGE[1]


def test_nothing_below_the_threshold_leaves_the_law_gaussian(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="tcgp"):
        fit = tail_law(**hard_data(threshold=-1e9))
    assert fit.law == GeneralizedNormal(2.0, np.sqrt(2.0))
    assert fit.value == np.inf
    assert "left Gaussian" in caplog.text


@pytest.mark.parametrize("name", ["mean", "sd", "y", "weights"])
def test_arrays_with_nan_are_refused(name: str) -> None:
    arrays = {"mean": np.zeros(3), "sd": np.ones(3), "y": np.arange(3.0), "weights": np.ones(3)}
    arrays[name][1] = np.nan
    with pytest.raises(ValueError, match=f"{name} must have no NaN, got .*; leave failed evaluations out"):
        tail_law(**arrays, threshold=1.0)


def test_negative_standard_deviations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sd must be standard deviations >= 0, got -1\.0"):
        tail_law(np.zeros(3), [1.0, -1.0, 1.0], np.arange(3.0), np.ones(3), 1.0)


def test_an_unknown_search_is_refused() -> None:
    with pytest.raises(ValueError, match="search must be one of 'fast', 'paper'"):
        tail_law(**hard_data(), search="slow")


def test_an_unknown_criterion_is_refused() -> None:
    with pytest.raises(ValueError, match="criterion must be one of"):
        tail_law(**hard_data(), criterion="rule4")


def test_table_is_as_accurate_as_it_says() -> None:
    rng = np.random.default_rng(0)
    beta, scale = rng.uniform(0.1, 10.0, 500), np.exp(rng.uniform(np.log(0.005), np.log(10.0), 500))
    beta[:200] = np.exp(rng.uniform(np.log(0.1), np.log(2.0), 200))
    r = np.exp(rng.uniform(-8.0, 8.0, 200))
    table = tail_table(BETA_RANGE)
    H = table.log_neg_log_q(np.log(beta), np.log(scale) + table.log_median(np.log(beta)), np.log(r))
    exact = GeneralizedNormal(beta[:, None], scale[:, None]).logcdf(-r) + np.log(2.0)
    error = np.abs(np.exp(-np.exp(np.minimum(H, 700.0))) - np.exp(exact))
    assert error.max() < 1e-4
    assert error.mean() < 3e-6
    # Far tails, beyond the table, are extrapolated: what matters is the ratio of two of them, in logarithms.
    far = (exact < -1.0) & (exact > -1e12)
    assert np.abs(H - np.log(np.maximum(-exact, 1e-300)))[far].max() < 0.05


def test_occurrence_ratio_of_the_scan_is_that_of_thelaws_at() -> None:
    problem = tail_problem(**leave_one_out_data(2))
    grid = prepare_grid(BETA_RANGE, SCALE_RANGE)
    scanned = np.exp(grid.log_kappa(TabulatedProblem.of(problem, grid.table)))
    cells = np.arange(0, len(scanned), 7)
    exact = problem.occurrence_ratio(laws_at(grid.candidates[cells], grid.table))
    # Θ is linear within bins of 3 % of |a|; where beta is large it bends within one.
    np.testing.assert_allclose(scanned[cells], exact, atol=0.01 / problem.excursion_frequency)


def test_cells_of_the_grid_see_the_exact_tail_values() -> None:
    problem = tail_problem(**leave_one_out_data(4))
    grid = prepare_grid(BETA_RANGE, SCALE_RANGE)
    cells = np.arange(0, 1000, 7)
    scanned = np.exp(grid.log_pit(TabulatedProblem.of(problem, grid.table), cells))
    exact = problem.thresholded_pit(laws_at(grid.candidates[cells], grid.table))
    # log(-log 2Θ) is linear within bins of 3 % of |a|; where beta is large it bends within one.
    np.testing.assert_allclose(scanned, exact, atol=0.01)


def test_tabulated_fields_are_the_exact_ones() -> None:
    problem = tail_problem(**leave_one_out_data(4))
    table = tail_table(BETA_RANGE)
    points = np.random.default_rng(0).uniform([np.log(0.2), -2.0], [np.log(8.0), 1.5], (50, 2))
    log_kappa, log_neg_log_pit = TabulatedProblem.of(problem, table).fields(points)
    laws = laws_at(points, table)
    kappa, pit = problem.occurrence_ratio(laws), problem.thresholded_pit(laws)
    np.testing.assert_allclose(np.exp(log_kappa), kappa, atol=1e-4 / problem.excursion_frequency)
    np.testing.assert_allclose(np.exp(-np.exp(log_neg_log_pit)), pit, atol=1e-3)


@pytest.mark.parametrize(
    ("supremum", "ratio"), [("samples", "exact"), ("exact", "plain"), ("samples", "plain")]
)
def test_the_papers_search_minimizes_the_criterion_that_it_is_given(supremum: str, ratio: str) -> None:
    for seed in range(6):
        data = leave_one_out_data(seed)
        given = {"supremum": supremum, "ratio": ratio}
        law = tail_law(**data, search="paper", rng=seed, **given).law
        bounds = np.array([BETA_RANGE, SCALE_RANGE])
        candidates = np.random.default_rng(seed).uniform(bounds[:, 0], bounds[:, 1], (900, 2))
        laws = GeneralizedNormal(candidates[:, :1], candidates[:, 1:])
        problem = tail_problem(**data)
        values = selection_criterion(problem, laws, **given)
        assert selection_criterion(problem, law, **given) <= values.min(), seed


def test_other_choices_need_the_papers_search() -> None:
    with pytest.raises(ValueError, match="supremum must be 'exact' with search='fast', got 'samples'"):
        tail_law(**leave_one_out_data(0), supremum="samples")
    with pytest.raises(ValueError, match="ratio must be 'exact' or 'plain' with search='paper', got 'log'"):
        tail_law(**leave_one_out_data(0), search="paper", ratio="log")
