"""The default maximizer, against known global maxima."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp
from tcgp.criteria import LogExpectedImprovement, LowerConfidenceBound
from tcgp.maximize import multistart
from tcgp.maximize.ascent import ascend


def _waves(recorded, dim):
    """A product of peaks in each coordinate, the highest at 0.7; 4^dim local maxima."""
    frequency = 8.0 * np.pi

    def value(X):
        z = X - 0.7
        return np.mean(np.cos(frequency * z) - 8.0 * z**2, axis=1)

    def gradient(X):
        z = X - 0.7
        return (-frequency * np.sin(frequency * z) - 16.0 * z) / dim

    return recorded(value, gradient)


def _needle(recorded, centre, width):
    """A peak of the given width on a slope that leads away from it."""
    centre = np.asarray(centre)

    def value(X):
        return np.logaddexp(-0.5 * np.sum(((X - centre) / width) ** 2, axis=1), -3.0 + X[:, 0])

    def gradient(X):
        z = (X - centre) / width
        log_peak = -0.5 * np.sum(z**2, axis=1)
        share = np.exp(log_peak - np.logaddexp(log_peak, -3.0 + X[:, 0]))[:, None]
        return -share * z / width + (1.0 - share) * np.eye(1, X.shape[1])

    return recorded(value, gradient)


def _hills(recorded, dim):
    """Log of a sum of ten Gaussian hills of unequal height, and the top of the highest."""
    rng = np.random.default_rng(dim)
    centres = rng.uniform(0.1, 0.9, (10, dim))
    heights = np.linspace(0.0, -3.0, 10)
    width = 0.1 * np.sqrt(dim)

    def logs(X):
        z = (X[:, None, :] - centres) / width
        return heights - 0.5 * np.sum(z**2, axis=2), z / width

    def gradient(X):
        log, slope = logs(X)
        share = np.exp(log - np.logaddexp.reduce(log, axis=1)[:, None])
        return -np.einsum("nk,nkj->nj", share, slope)

    return recorded(lambda X: np.logaddexp.reduce(logs(X)[0], axis=1), gradient), centres


@pytest.mark.parametrize("dim", [1, 2])
def test_highest_of_many_waves_is_found(recorded, dim):
    for seed in range(10):
        maximum = multistart.maximize(_waves(recorded, dim), dim, rng=seed)
        np.testing.assert_allclose(maximum.x, 0.7, atol=1e-4)
        assert maximum.value == pytest.approx(1.0, abs=1e-8)


def test_highest_of_a_thousand_waves_is_found_with_more_starts(recorded):
    # 4^5 basins of equal size: 96 starts need not hit the best one, 256 of a longer scan do.
    for seed in range(5):
        maximum = multistart.maximize(_waves(recorded, 5), 5, rng=seed, n_scan=8192, n_starts=256)
        assert maximum.value == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_highest_hill_is_found(recorded, dim):
    criterion, centres = _hills(recorded, dim)
    # The oracle: a climb from the top of every hill; they overlap a little, so the tops are not the centres.
    oracle = ascend(criterion, centres, tolerance=1e-12)
    for seed in range(10):
        maximum = multistart.maximize(criterion, dim, rng=seed)
        assert maximum.value == pytest.approx(oracle.values.max(), abs=1e-7)
        np.testing.assert_allclose(maximum.x, oracle.x[np.argmax(oracle.values)], atol=1e-3)


@pytest.mark.parametrize("dim", [1, 5, 20, 50])
def test_sharp_peak_beside_an_anchor_is_found_against_the_slope(recorded, dim):
    rng = np.random.default_rng(dim)
    anchors = rng.uniform(0.01, 0.99, (15, dim))
    offset = rng.standard_normal(dim)
    centre = anchors[2] + 1.5e-3 * offset / np.linalg.norm(offset)
    criterion = _needle(recorded, centre, 1e-3)
    maximum = multistart.maximize(criterion, dim, rng=0, anchors=anchors)
    np.testing.assert_allclose(maximum.x, centre, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 2, 5, 20, 50])
def test_maximum_in_a_corner_is_reached_exactly(recorded, dim):
    corner = np.random.default_rng(dim).integers(2, size=dim).astype(float)
    criterion = recorded(
        lambda X: -np.sum(np.abs(X - corner), axis=1),
        lambda X: np.tile(np.where(corner == 1.0, 1.0, -1.0), (len(X), 1)),
    )
    maximum = multistart.maximize(criterion, dim, rng=0)
    np.testing.assert_array_equal(maximum.x, corner)
    assert maximum.value == 0.0


def test_flat_direction_is_climbed_beside_steep_ones(recorded):
    # Curvatures 1e6 and 1e-3: the gain along the flat coordinate is 1e-4 or so, and must not be missed.
    curvature = np.array([1e6, 1e6, 1e-3])
    centre = np.array([0.41, 0.52, 0.9])
    criterion = recorded(lambda X: -0.5 * (X - centre) ** 2 @ curvature, lambda X: -(X - centre) * curvature)
    for seed in range(5):
        assert multistart.maximize(criterion, 3, rng=seed).value > -1e-7


@pytest.mark.parametrize("level", [0.0, 3.5, -1e6, -np.inf])
@pytest.mark.parametrize("anchors", [None, [[0.5, 0.5], [0.0, 1.0], [0.2, 0.2]]])
def test_flat_criterion_gives_a_valid_point(recorded, level, anchors):
    criterion = recorded(lambda X: np.full(len(X), level), np.zeros_like)
    maximum = multistart.maximize(criterion, 2, rng=0, anchors=anchors)
    assert maximum.value == level
    assert ((maximum.x >= 0.0) & (maximum.x <= 1.0)).all()
    assert len(maximum.candidates) > 1


def test_peaks_walled_off_by_a_light_tail_are_reached(recorded):
    # Between its peaks this criterion falls to -2^40, as log EI does under a law with shape parameter 10. The
    # highest peak is nowhere near an anchor, and no start has a value above -1000 there.
    rng = np.random.default_rng(0)
    anchors = rng.uniform(0.1, 0.4, (20, 6))
    centres, heights = np.array([np.full(6, 0.25), np.full(6, 0.75)]), np.array([0.0, 2.0])

    def logs(X):
        z = (X[:, None, :] - centres) / 0.15
        r2 = np.sum(z**2, axis=2)
        return heights - r2**5, -10.0 * (r2**4)[:, :, None] * z / 0.15

    def gradient(X):
        log, slope = logs(X)
        return slope[np.arange(len(X)), log.argmax(axis=1)]

    criterion = recorded(lambda X: logs(X)[0].max(axis=1), gradient)
    for seed in range(5):
        assert multistart.maximize(criterion, 6, rng=seed, anchors=anchors).value == pytest.approx(
            2.0, abs=1e-3
        )


def test_single_finite_region_is_found(recorded):
    def value(X):
        radius = np.linalg.norm(X - 0.3, axis=1)
        return np.where(radius < 0.1, -radius, -np.inf)

    def gradient(X):
        radius = np.linalg.norm(X - 0.3, axis=1)[:, None]
        return np.where(radius < 0.1, -(X - 0.3) / np.maximum(radius, 1e-300), np.nan)

    maximum = multistart.maximize(recorded(value, gradient), 2, rng=0)
    # A cone has no curvature to learn: the climb ends close to its tip, not on it.
    assert maximum.value > -1e-3


def test_same_rng_gives_the_same_maximum_bit_for_bit(recorded):
    anchors = np.random.default_rng(0).random((12, 4))
    first, second = (multistart.maximize(_waves(recorded, 4), 4, rng=7, anchors=anchors) for _ in range(2))
    np.testing.assert_array_equal(first.candidates, second.candidates)
    np.testing.assert_array_equal(first.candidate_values, second.candidate_values)


def test_adding_a_constant_does_not_move_the_maximum(recorded):
    def shifted(c):
        return recorded(lambda X: np.sum(np.sin(7.0 * X), axis=1) + c, lambda X: 7.0 * np.cos(7.0 * X))

    here, there = (multistart.maximize(shifted(c), 3, rng=0) for c in (0.0, 1000.0))
    # 1000 costs three digits of the value, half as many of the point.
    np.testing.assert_allclose(here.x, there.x, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_units_of_the_criterion_do_not_move_the_maximum(recorded, factor):
    def scaled(c):
        return recorded(lambda X: c * np.sum(np.sin(7.0 * X), axis=1), lambda X: c * 7.0 * np.cos(7.0 * X))

    here, there = (multistart.maximize(scaled(c), 3, rng=0) for c in (1.0, factor))
    np.testing.assert_allclose(here.x, there.x, atol=1e-4)


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
def test_extreme_units_give_the_best_scanned_point_or_better(recorded, factor):
    # Squares of such gradients under- or overflow: no climb is possible, and none must fail.
    criterion = recorded(
        lambda X: factor * np.sum(np.sin(7.0 * X), axis=1), lambda X: factor * 7.0 * np.cos(7.0 * X)
    )
    maximum = multistart.maximize(criterion, 3, rng=0)
    assert maximum.value > 2.8 * factor


def test_candidates_are_distinct_ranked_and_start_with_the_maximum(recorded):
    maximum = multistart.maximize(_waves(recorded, 2), 2, rng=0)
    np.testing.assert_array_equal(maximum.candidates[0], maximum.x)
    assert maximum.candidate_values[0] == maximum.value
    assert (np.diff(maximum.candidate_values) <= 0.0).all()
    distances = np.abs(maximum.candidates[:, None] - maximum.candidates).max(axis=2)
    assert distances[np.triu_indices(len(distances), 1)].min() >= 1e-4
    # Values below the best of the scan have been compressed and expanded again, hence the rounding.
    np.testing.assert_allclose(maximum.candidate_values, _waves(recorded, 2)(maximum.candidates), rtol=1e-13)


def test_reported_evaluations_are_true(recorded):
    criterion = _waves(recorded, 4)
    maximum = multistart.maximize(criterion, 4, rng=0, anchors=np.full((1, 4), 0.5))
    assert maximum.n_evaluations == criterion.n_evaluations


@pytest.mark.parametrize("n_scan", [1, 2, 3, 10])
def test_smallest_budgets_work(recorded, n_scan):
    maximum = multistart.maximize(
        _waves(recorded, 2), 2, rng=0, n_scan=n_scan, n_starts=1, anchors=[[0.5, 0.5]]
    )
    assert np.isfinite(maximum.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim"),
        ({"dim": 2, "anchors": [[0.5]]}, "anchors"),
        ({"dim": 2, "anchors": [[0.5, 1.5]]}, "anchors"),
        ({"dim": 2, "n_starts": 0}, "n_starts"),
        ({"dim": 2, "n_scan": 10, "n_starts": 11}, "n_starts"),
    ],
)
def test_bad_arguments_are_refused_by_name(recorded, arguments, message):
    with pytest.raises(ValueError, match=message):
        multistart.maximize(_waves(recorded, 2), **arguments)


@pytest.mark.parametrize("name", ["goldstein-price", "hartmann3", "dixon-price4"])
@pytest.mark.parametrize(
    "make", [LogExpectedImprovement, lambda model, best: LowerConfidenceBound(model, 0.1)]
)
def test_criterion_of_a_model_is_maximized_as_well_as_by_brute_force(name, make):
    problem = tcgp.problems.get(name)
    low, high = np.asarray(problem.bounds).T
    dim = len(low)
    rng = np.random.default_rng(1)
    U = rng.random((10 * dim, dim))
    y = problem.fun(low + U * (high - low))
    model = tcgp.fit_model(U, y, "tcgp", bounds=[(0.0, 1.0)] * dim)
    criterion = make(model, y.min())
    maximum = multistart.maximize(criterion, dim, rng=0, anchors=U[np.argsort(y)])
    assert maximum.value >= criterion(rng.random((50_000, dim))).max()
