"""Augmented expected improvement against its formula, its limits and finite differences."""

import numpy as np
import pytest

from tcgp import GaussianProcess
from tcgp.criteria import LogAugmented, LogAugmentedImprovement, LogExpectedImprovement
from tcgp.gp import NoisyGaussianProcess
from tcgp.laws import Normal


class NormalModel:
    law = Normal()

    def __init__(self, interpolator, noise=0.2):
        self.noise = noise
        self.predict_arrays, self.predict_slopes = interpolator.predict, interpolator.predict_slopes


@pytest.fixture(scope="module")
def gp():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(30)
    return NoisyGaussianProcess(0.2).fit(X, y, bounds=[(0.0, 1.0)] * 2)


def test_value_is_the_formula(gp):
    X = np.random.default_rng(1).random((20, 2))
    mean, sd = gp.predict(X)
    u = (-0.9 - mean) / sd
    law = Normal()
    ei = sd * (u * law.cdf(u) + law.pdf(u))
    expected = np.log(ei) + np.log(1.0 - 0.2 / np.sqrt(sd**2 + 0.04))
    np.testing.assert_allclose(LogAugmentedImprovement(NormalModel(gp), -0.9, 0.2)(X), expected, rtol=1e-6)


def test_gradient_equals_finite_differences(gp):
    criterion = LogAugmentedImprovement(NormalModel(gp), -0.9, 0.2)
    X = np.random.default_rng(1).random((20, 2))
    values, gradient = criterion.value_and_gradient(X)
    np.testing.assert_allclose(values, criterion(X), rtol=1e-9)
    for j, step in enumerate(1e-5 * np.eye(2)):
        slope = (criterion(X + step) - criterion(X - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-5, atol=1e-5)


def test_without_noise_it_is_expected_improvement():
    X = np.linspace(0.0, 1.0, 6)[:, None]
    model = NormalModel(GaussianProcess().fit(X, np.sin(6.0 * X[:, 0])))
    at = np.vstack([X, [[0.33]]])  # at the data nothing is left to learn: -inf, never NaN
    augmented, plain = LogAugmentedImprovement(model, -0.5, 0.0), LogExpectedImprovement(model, -0.5)
    np.testing.assert_array_equal(augmented(at), plain(at))
    for ours, theirs in zip(augmented.value_and_gradient(at), plain.value_and_gradient(at), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_point_known_better_than_an_evaluation_tells_is_worth_little(gp):
    at = gp.X_[:1]
    mean = gp.predict(at)[0]
    more = gp.condition(np.repeat(at, 50, axis=0), np.full(50, mean[0]))
    drop = np.diff([float(LogAugmentedImprovement(NormalModel(g), mean[0], 0.2)(at)[0]) for g in (gp, more)])
    assert drop[0] < np.log(0.1)


def test_of_several_models_shares_are_averaged_geometrically(gp):
    model = NormalModel(gp)
    plain = LogExpectedImprovement(model, -0.9)
    X = np.random.default_rng(1).random((20, 2))
    once = LogAugmentedImprovement(model, -0.9, 0.2)
    half = LogAugmented(plain, [model, NormalModel(gp, noise=0.0)])
    np.testing.assert_allclose(LogAugmented(plain, [model])(X), once(X))
    np.testing.assert_allclose(half(X), 0.5 * (once(X) + plain(X)))
    _, gradient = half.value_and_gradient(X)
    for j, step in enumerate(1e-5 * np.eye(2)):
        np.testing.assert_allclose(
            gradient[:, j], (half(X + step) - half(X - step)) / 2e-5, rtol=1e-5, atol=1e-5
        )
