"""Processes with a covariance of their own, against finite differences and explicit conditioning."""

import numpy as np
import pytest

from tcgp import GaussianProcess
from tcgp.gp.posterior import Posterior

BOX = [(0.0, 1.0)] * 3
RNG = np.random.default_rng(0)
X = RNG.random((40, 3))


def additive():
    y = np.sin(9.0 * X).sum(axis=1) + X[:, 0] * X[:, 1]
    return GaussianProcess(covariance="additive").fit(X, y, bounds=BOX)


def rotated():
    y = np.sin(5.0 * X @ [1.0, 0.8, -0.6]) + 0.2 * np.cos(3.0 * X[:, 1] + 4.0 * X[:, 2])
    return GaussianProcess(covariance="rotated").fit(X, y, bounds=BOX)


# Long lengthscales along a direction leave fewer digits.
@pytest.mark.parametrize(("fitted", "rtol", "atol"), [(additive, 1e-4, 1e-5), (rotated, 1e-3, 1e-4)])
def test_gradients_of_predictions_are_those_of_differences(fitted, rtol, atol):
    gp, points = fitted(), RNG.random((20, 3))
    _, _, mean_gradient, sd_gradient = gp.predict_gradient(points)
    for j, h in enumerate(1e-6 * np.eye(3)):
        (mean, sd), (mean_before, sd_before) = gp.predict(points + h), gp.predict(points - h)
        np.testing.assert_allclose(mean_gradient[:, j], (mean - mean_before) / 2e-6, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(sd_gradient[:, j], (sd - sd_before) / 2e-6, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("fitted", "rel", "added"), [(additive, 1e-6, 1e-9), (rotated, 1e-5, 1e-8)])
def test_leave_one_out_and_added_data_equal_explicit_conditioning(fitted, rel, added):
    gp = fitted()
    posterior, loo = gp.posterior_, gp.leave_one_out()
    known = {"mean": posterior.mean, "variance": posterior.variance}
    for i in range(0, len(X), 7):
        rest = np.arange(len(X)) != i
        without = Posterior.condition(X[rest], posterior.z[rest], posterior.covariance, **known)
        mean, sd = without.predict(X[[i]])
        assert loo.mean[i] == pytest.approx(gp.units_.y_from_unit(mean)[0], rel=rel)
        assert loo.sd[i] == pytest.approx(sd[0] * gp.units_.y_unit, rel=rel)
    more = gp.condition([[0.5, 0.5, 0.5]], [1.25])
    mean, sd = more.predict([[0.5, 0.5, 0.5]])
    assert mean[0] == pytest.approx(1.25, rel=added)
    assert sd[0] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(more.parameters_, gp.parameters_, rtol=1e-14)
