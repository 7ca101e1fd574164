"""The paper's maximizer: particles, then SLSQP."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp
from tcgp.criteria import LogExpectedImprovement, LowerConfidenceBound
from tcgp.laws import Normal
from tcgp.maximize import multistart, smc


class Valley:
    """A made-up model: location and scale are functions of the first coordinate, the law is normal."""

    law = Normal()

    def predict_arrays(self, X):
        return 10.0 * np.abs(X[:, 0] - 0.25), 0.1 + X[:, 0]


def _problem(name, method, n):
    """A model of a test problem on the unit cube, its data and their criterion."""
    problem = tcgp.problems.get(name)
    low, high = np.asarray(problem.bounds).T
    dim = len(low)
    U = np.random.default_rng(0).random((n, dim))
    y = problem.fun(low + U * (high - low))
    model = tcgp.fit_model(U, y, method, bounds=[(0.0, 1.0)] * dim)
    return model, U, y


@pytest.mark.parametrize("method", ["gp", "tcgp"])
@pytest.mark.parametrize(("name", "n"), [("goldstein-price", 30), ("hartmann3", 30), ("dixon-price4", 50)])
def test_expected_improvement_is_maximized_as_well_as_by_multistart(name, n, method):
    model, U, y = _problem(name, method, n)
    criterion = LogExpectedImprovement(model, y.min())
    target = smc.ImprovementProbability(model, y.max(), y.min())
    maximum = smc.maximize(criterion, U.shape[1], rng=0, target=target)
    other = multistart.maximize(criterion, U.shape[1], rng=0, anchors=U[np.argsort(y)])
    # SLSQP stops at a relative change of 1e-10; log EI is of the order of 10.
    assert maximum.value == pytest.approx(other.value, abs=1e-6)


def test_lower_confidence_bound_is_maximized_by_following_the_criterion_itself():
    model, U, y = _problem("goldstein-price", "gp", 30)
    criterion = LowerConfidenceBound(model, 0.1)
    maximum = smc.maximize(criterion, 2, rng=0)
    other = multistart.maximize(criterion, 2, rng=0, anchors=U[np.argsort(y)])
    assert maximum.value == pytest.approx(other.value, abs=1e-6 * np.ptp(y))


def test_last_particles_follow_the_probability_of_improvement():
    target = smc.ImprovementProbability(Valley(), highest=8.0, lowest=1.0)
    points = target.sample(2, 4000, p0=0.7, max_sweeps=10, rng=np.random.default_rng(0)).points
    grid = np.linspace(0.0, 1.0, 100_001)
    density = np.exp(target.log_density(target.features(grid[:, None]), 1.0))
    cdf = np.cumsum(density) / density.sum()
    at = np.searchsorted(grid, np.sort(points[:, 0])) - 1
    # Kolmogorov distance: 1.95 / sqrt(4000) = 0.031 is exceeded one time in a thousand by independent points;
    # resampled and moved ones are correlated, hence twice that.
    assert np.abs(cdf[at] - np.arange(1, 4001) / 4000).max() < 0.06
    # The second coordinate is free: uniform.
    assert np.abs(np.sort(points[:, 1]) - np.arange(1, 4001) / 4000).max() < 0.06


def test_density_never_falls_below_the_floor():
    target = smc.ImprovementProbability(Valley(), highest=8.0, lowest=-1e6, floor=1e-5)
    features = target.features(np.random.default_rng(0).random((50, 2)))
    np.testing.assert_allclose(target.log_density(features, -1e6), np.log(1e-5))
    # At a datum the predictive law is a point mass.
    at_data = np.array([[1.0, 0.0], [2.0, 0.0]])
    np.testing.assert_allclose(target.log_density(at_data, 1.5), [0.0, np.log(1e-5)])


def test_result_is_never_worse_than_the_best_particle():
    model, _U, y = _problem("hartmann3", "gp", 30)
    criterion = LogExpectedImprovement(model, y.min())
    target = smc.ImprovementProbability(model, y.max(), y.min())
    maximum = smc.maximize(criterion, 3, rng=0, target=target, p0=0.7, max_sweeps=10)
    cloud = target.sample(3, 1000, p0=0.7, max_sweeps=10, rng=np.random.default_rng(0))  # the same
    assert maximum.value >= criterion(cloud.points).max()


class _Slope:
    """A criterion that grows towards a face."""

    def __call__(self, X):
        return X[:, 0] - (X[:, 1] - 0.5) ** 2

    def value_and_gradient(self, X):
        return self(X), np.column_stack([np.ones(len(X)), 1.0 - 2.0 * X[:, 1]])


def test_maximum_on_a_face_is_reached():
    np.testing.assert_allclose(smc.maximize(_Slope(), 2, rng=0).x, [1.0, 0.5], atol=1e-5)


@pytest.mark.parametrize("level", [2.0, -np.inf])
def test_flat_criterion_gives_a_valid_point(recorded, level):
    criterion = recorded(lambda X: np.full(len(X), level), np.zeros_like)
    maximum = smc.maximize(criterion, 3, rng=0, n_particles=100)
    assert maximum.value == level
    assert ((maximum.x >= 0.0) & (maximum.x <= 1.0)).all()


def test_same_rng_gives_the_same_maximum_bit_for_bit():
    first, second = (smc.maximize(_Slope(), 2, rng=3, n_particles=200) for _ in range(2))
    np.testing.assert_array_equal(first.candidates, second.candidates)


def test_reported_evaluations_of_the_criterion_are_true(recorded):
    slope = _Slope()
    criterion = recorded(slope, lambda X: slope.value_and_gradient(X)[1])
    maximum = smc.maximize(criterion, 2, rng=0, n_particles=200)
    assert maximum.n_evaluations == criterion.n_evaluations


@pytest.mark.parametrize(("arguments", "message"), [({"dim": 0}, "dim"), ({"dim": 2, "p0": 1.0}, "p0")])
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        smc.maximize(_Slope(), **arguments)
