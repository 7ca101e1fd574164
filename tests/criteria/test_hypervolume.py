"""The expected gain of hypervolume: against Monte Carlo, EI, finite differences, and far in the tails."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tcgp
from tcgp.criteria import LogExpectedHypervolumeImprovement, LogExpectedImprovement
from tcgp.criteria.hypervolume import probability_of_non_dominance
from tcgp.front import hypervolume, non_dominated
from tcgp.maximize import multistart

METHODS = ("gp", "tcgp", "ongp", "regp")
CASES = [(2, 0), (2, 1), (3, 0), (4, 1)]


@functools.cache
def setting(m, shift):
    """Models of m objectives, each by another method; their front, and a reference."""
    rng = np.random.default_rng(100 + m)
    X = rng.random((14, 2))
    centres = rng.random((m, 2))
    Y = np.sin(9.0 * np.abs(X[:, None] - centres).sum(axis=2))  # rough: the models stay unsure of it
    methods = [METHODS[(j + shift) % len(METHODS)] for j in range(m)]
    box = [(0.0, 1.0)] * 2
    models = tuple(
        tcgp.fit_model(X, y, method, bounds=box, rng=0) for y, method in zip(Y.T, methods, strict=True)
    )
    return models, Y[non_dominated(Y)], Y.max(axis=0)


def draws_of(model, points, n, rng):
    """Stratified draws at the points, shuffled, so that objectives are independent: (n, points)."""
    mean, sd = model.predict_arrays(points)
    quantiles = model.law.ppf((np.arange(n) + 0.5) / n)
    return mean + sd * rng.permuted(np.tile(quantiles[:, None], len(points)), axis=0)


def test_gain_equals_sampling():
    models, front, reference = setting(2, 1)
    rng = np.random.default_rng(1)
    points, n = rng.random((3, 2)), 1000
    draws = np.stack([draws_of(model, points, n, rng) for model in models], axis=2)
    volumes = [
        [hypervolume(np.vstack([front, y]), reference) for y in of_point]
        for of_point in np.swapaxes(draws, 0, 1)
    ]
    gains = np.array(volumes) - hypervolume(front, reference)
    expected = np.exp(LogExpectedHypervolumeImprovement(models, front, reference)(points))
    # Five standard errors; the strata make the error smaller still.
    assert (np.abs(gains.mean(axis=1) - expected) <= 5.0 * gains.std(axis=1) / np.sqrt(n)).all()


@pytest.mark.parametrize(("m", "shift"), CASES)
def test_gain_equals_the_integral_of_the_chance_to_dominate(m, shift):
    models, front, reference = setting(m, shift)
    rng = np.random.default_rng(1)
    n = 100_000
    for u in rng.random((3, 2)):
        predictions = [model.predict(u[None]) for model in models]
        floor = [min(p.ppf(1e-6)[0], r - 1e-9) for p, r in zip(predictions, reference, strict=True)]
        z = rng.uniform(floor, reference, (n, m))
        chance = np.prod(reference - floor) * ~(front[None] <= z[:, None]).all(axis=2).any(axis=1)
        for j, prediction in enumerate(predictions):
            chance *= prediction.law.cdf((z[:, j] - prediction.mean) / prediction.sd)
        gain = np.exp(LogExpectedHypervolumeImprovement(models, front, reference)(u[None]))[0]
        assert gain == pytest.approx(chance.mean(), abs=5.0 * chance.std() / np.sqrt(n))


@pytest.mark.parametrize(("m", "shift"), CASES)
def test_probability_that_nothing_dominates_equals_sampling(m, shift):
    models, front, reference = setting(m, shift)
    rng = np.random.default_rng(2)
    points, n = rng.random((3, 2)), 20_000
    draws = np.stack([draws_of(model, points, n, rng) for model in models], axis=2)[:, :, None]
    free = (draws[:, :, 0] < reference).all(axis=2) & ~(front <= draws).all(axis=3).any(axis=2)
    p = probability_of_non_dominance(models, points, front, reference)
    assert (np.abs(free.mean(axis=0) - p) <= 5.0 * np.sqrt(p * (1.0 - p) / n) + 1e-3).all()


@pytest.mark.parametrize(("m", "shift"), CASES)
def test_gradients_equal_finite_differences(m, shift):
    criterion = LogExpectedHypervolumeImprovement(*setting(m, shift))
    points, step = np.random.default_rng(3).random((6, 2)), 1e-6
    value, gradient = criterion.value_and_gradient(points)
    assert np.allclose(value, criterion(points), rtol=1e-10)
    for j in range(2):
        shifted = step * np.eye(2)[j]
        difference = (criterion(points + shifted) - criterion(points - shifted)) / (2.0 * step)
        # Central differences of a function with curvature up to 1e3: an error of a few 1e-7, relative.
        assert np.allclose(gradient[:, j], difference, rtol=1e-4, atol=1e-4)


class Line:
    """A model whose mean is a coordinate, times a slope, and whose sd is as small as one likes."""

    law = tcgp.laws.Normal()

    def __init__(self, j, slope, sd):
        self.j, self.slope, self.sd = j, slope, sd

    def predict_arrays(self, X):
        return self.slope * X[:, self.j], np.full(len(X), self.sd)

    def predict_slopes(self, X):
        return *self.predict_arrays(X), lambda by_mean, _: np.outer(
            by_mean, self.slope * np.eye(X.shape[1])[self.j]
        )


def test_with_one_objective_known_it_is_expected_improvement_of_the_other():
    model = setting(2, 1)[0][0]
    points = np.random.default_rng(4).random((20, 2))
    best = float(model.y.min())
    models, front = [model, Line(0, 0.0, 0.0)], np.array([[best, -1.0]])  # the second is 0, and dominated
    gain = LogExpectedHypervolumeImprovement(models, front, np.array([best + 1.0, 1.0]))
    ei = LogExpectedImprovement(model, best)
    for ours, theirs in zip(gain.value_and_gradient(points), ei.value_and_gradient(points), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-6)  # the table of log g is exact to 1e-7


def test_logarithms_stay_finite_where_the_gain_underflows():
    models = [Line(0, 1.0, 1e-3), Line(1, 1.0, 1e-3)]
    criterion = LogExpectedHypervolumeImprovement(models, np.array([[0.1, 0.1]]), np.array([0.2, 0.2]))
    value, gradient = criterion.value_and_gradient(np.array([[0.9, 0.9]]))
    assert np.isfinite(value).all()
    assert value[0] < -1e5
    assert (gradient < 0.0).all()  # down both coordinates, towards the front


def test_where_models_are_certain_the_gain_is_what_it_is():
    models = [Line(0, 1.0, 0.0), Line(1, 1.0, 0.0)]
    criterion = LogExpectedHypervolumeImprovement(models, np.array([[0.5, 0.5]]), np.array([1.0, 1.0]))
    points = np.array([[0.25, 0.25], [0.75, 0.25], [0.75, 0.75]])
    value, gradient = criterion.value_and_gradient(points)
    assert np.exp(value).round(12).tolist() == [0.3125, 0.0625, 0.0]
    assert np.isfinite(gradient).all()


def test_units_add_a_constant():
    (one, two), front, reference = setting(2, 0)
    X, scale, origin = one.X, np.array([1e4, 1e-3]), np.array([-5.0, 3.0])
    box = [(0.0, 1.0)] * 2
    others = [
        tcgp.fit_model(X, s * model.y + o, model.method, bounds=box)
        for model, s, o in zip((one, two), scale, origin, strict=True)
    ]
    points = np.random.default_rng(5).random((10, 2))
    ours = LogExpectedHypervolumeImprovement((one, two), front, reference)(points)
    theirs = LogExpectedHypervolumeImprovement(others, scale * front + origin, scale * reference + origin)(
        points
    )
    assert np.allclose(
        theirs - ours, np.log(10.0), atol=1e-3
    )  # lengthscales to the precision of their search


def test_the_maximizer_climbs_to_the_largest_gain():
    models, front, reference = setting(2, 0)
    criterion = LogExpectedHypervolumeImprovement(models, front, reference)
    found = multistart.maximize(criterion, 2, rng=0, anchors=models[0].X)
    assert found.value >= criterion(np.random.default_rng(6).random((20_000, 2))).max()
