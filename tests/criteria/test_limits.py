"""The constrained criterion: against Monte Carlo, its gradient against finite differences, and in the far tails."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tcgp
from tcgp.criteria import LogExpectedImprovement
from tcgp.criteria.limits import ConstrainedCriterion, LogProbability
from tcgp.laws import GeneralizedNormal

LAWS = {"gp": None, "tcgp": None, "ongp": None, "bcrgp": None}


@functools.cache
def models(method):
    rng = np.random.default_rng(0)
    X = rng.random((25, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2
    g = np.sin(9.0 * X[:, 0]) + np.abs(X[:, 1] - 0.4) - 1.0  # rough: the models stay unsure of it
    box = [(0.0, 1.0)] * 2
    return tuple(
        tcgp.fit_model(X, v, method, bounds=box, rng=0) for v in (y, g, np.cos(12.0 * X[:, 1] * X[:, 0]))
    )


@pytest.mark.parametrize("method", LAWS)
def test_probability_of_keeping_all_limits_and_improvement_equal_sampling(method):
    objective, first, second = models(method)
    points = np.random.default_rng(1).random((6, 2))
    best, n = 0.3, 200_000
    # Stratified, and shuffled for independence of the three. Each of 10,000 quantiles is drawn twenty times: the
    # middle of a stratum is off by 5e-5 in probability at most, a hundredth of the error of 200,000 draws.
    levels = (np.arange(10_000) + 0.5) / 10_000
    rng = np.random.default_rng(2)
    draws = []
    for model in (objective, first, second):
        mean, sd = model.predict_arrays(points)
        quantiles = np.tile(model.law.ppf(levels), n // len(levels))
        draws.append(mean + sd * rng.permuted(np.tile(quantiles[:, None], 6), axis=0))
    improvement = np.maximum(best - draws[0], 0.0) * (draws[1] <= 0.2) * (draws[2] <= 0.1)
    criterion = ConstrainedCriterion(
        LogExpectedImprovement(objective, best), [LogProbability(first, 0.2), LogProbability(second, 0.1)]
    )
    # Sampling error: a few per mille of the values where the probabilities are not tiny.
    expected = improvement.mean(axis=0)
    error = 5.0 * improvement.std(axis=0) / np.sqrt(n) + 1e-9
    assert (np.abs(np.exp(criterion(points)) - expected) <= error).all()


@pytest.mark.parametrize("method", ["gp", "tcgp", "bcrgp"])
@pytest.mark.parametrize("with_objective", [True, False])
def test_gradients_equal_finite_differences(method, with_objective):
    objective, first, second = models(method)
    inner = LogExpectedImprovement(objective, 1.0) if with_objective else None
    criterion = ConstrainedCriterion(inner, [LogProbability(first, 0.0), LogProbability(second, -0.3)], 1.7)
    points = np.random.default_rng(3).random((8, 2))
    value, gradient = criterion.value_and_gradient(points)
    # Predictions with and without gradient round differently, and the logarithm of a far tail magnifies that.
    np.testing.assert_allclose(value, criterion(points), rtol=1e-6)
    near = value > -100.0
    assert near.sum() >= 4
    h = 1e-6
    for j in range(2):
        step = np.zeros(2)
        step[j] = h
        slope = (criterion(points + step) - criterion(points - step)) / (2.0 * h)
        np.testing.assert_allclose(gradient[near, j], slope[near], rtol=1e-3, atol=1e-3)


def test_the_far_tail_is_finite_and_slopes_towards_the_feasible_side():
    """Thousands of standard deviations from the limit the probability underflows, its logarithm does not."""
    X = np.linspace(0.0, 1.0, 8)[:, None]
    model = tcgp.fit_model(X, 1e6 * (1.0 + X[:, 0] ** 2), "gp", bounds=[(0.0, 1.0)])
    value, gradient = LogProbability(model, 0.0).value_and_gradient(np.array([[0.55], [0.93]]))
    assert np.isfinite(value).all()
    assert (value < -1e3).all()
    assert np.isfinite(gradient).all()
    assert (gradient != 0.0).all()


def test_certain_points_have_probability_zero_or_one():
    X = np.linspace(0.0, 1.0, 6)[:, None]
    model = tcgp.fit_model(X, X[:, 0], "gp", bounds=[(0.0, 1.0)])
    value, gradient = LogProbability(model, 0.5).value_and_gradient(X)
    assert np.exp(value) == pytest.approx([1, 1, 1, 0, 0, 0], abs=1e-3)
    assert np.isfinite(gradient).all()


def test_a_heavier_tail_gives_an_unlikely_point_more_chance():
    """What calibration at the limit changes: the probability, not the location."""
    X = np.random.default_rng(0).random((20, 1))
    model = tcgp.fit_model(X, X[:, 0], "gp", bounds=[(0.0, 1.0)])
    heavy = tcgp.Model(**{**vars(model), "law": GeneralizedNormal(0.7, 1.0)})
    point = np.array([[X.max() + 0.2]])
    mean, sd = model.predict_arrays(point)
    bound = float(mean[0] - 4.0 * sd[0])
    assert LogProbability(heavy, bound)(point) > LogProbability(model, bound)(point)
