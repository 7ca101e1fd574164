"""The additive Gaussian process against finite differences, explicit refits, sums it must see, and changes of unit."""

import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import tcgp
from tcgp import GaussianProcess
from tcgp.gp.additive import Additive, AdditivePrior
from tcgp.gp.kernels import SMOOTHNESSES
from tcgp.gp.likelihood import ConcentratedLikelihood, PooledPrior
from tcgp.gp.posterior import Posterior

BOX = [(0.0, 1.0)] * 3
RNG = np.random.default_rng(0)
X = RNG.random((30, 3))
Y = np.sin(9.0 * X).sum(axis=1) + X[:, 0] * X[:, 1]
THETA = np.array([-0.5, 0.2, 0.8, -1.0, -1.5, -0.3, 0.5, -1.0, 2.0])


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_gradient_of_the_likelihood_is_that_of_differences(p):
    likelihood = ConcentratedLikelihood(
        X, Y, p, covariance=Additive, prior=AdditivePrior(3, PooledPrior(0.5))
    )
    value, gradient = likelihood.value_and_gradient(THETA)
    assert value == pytest.approx(likelihood.value(THETA), rel=1e-12)
    steps = 1e-6 * np.eye(9)
    differences = [(likelihood.value(THETA + h) - likelihood.value(THETA - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def test_many_pairs_are_computed_twice_with_the_same_result(monkeypatch):
    likelihood = ConcentratedLikelihood(X, Y, 2, covariance=Additive)
    value, gradient = likelihood.value_and_gradient(THETA)
    monkeypatch.setattr("tcgp.gp.additive.STORED", 100)
    again, gradient_again = likelihood.value_and_gradient(THETA)
    assert again == value
    np.testing.assert_array_equal(gradient_again, gradient)


def test_likelihood_is_the_density_of_the_data():
    together, apart, s = np.exp(THETA).reshape(3, 3)

    def matern(r):
        return (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r)

    difference = X[:, None] - X[None]
    K = matern(np.sqrt(((difference / together) ** 2).sum(axis=-1)))
    K = (K + (s * matern(np.abs(difference / apart))).sum(axis=-1)) / (1.0 + s.sum())
    posterior = Posterior.condition(X, Y, Additive(np.exp(THETA), 2))
    expected = multivariate_normal(np.full(30, posterior.mean), posterior.variance * K).logpdf(Y)
    assert -ConcentratedLikelihood(X, Y, 2, covariance=Additive).value(THETA) == pytest.approx(
        expected, rel=1e-9
    )


def test_it_interpolates_and_predicts_sums_far_better_than_a_product():
    y = (np.cos(14.0 * X) + X).sum(axis=1)
    new = RNG.random((500, 3))
    truth = (np.cos(14.0 * new) + new).sum(axis=1)
    errors = {}
    for gp in (GaussianProcess(covariance="additive"), GaussianProcess()):
        gp.fit(X, y, bounds=BOX)
        np.testing.assert_allclose(gp.predict(X)[0], y, atol=1e-8)
        errors[gp.covariance] = np.sqrt(np.mean((gp.predict(new)[0] - truth) ** 2))
    assert errors["additive"] < 0.2 * errors["product"]


def test_it_is_no_worse_than_a_product_where_nothing_is_a_sum():
    y = np.prod(np.cos(5.0 * X), axis=1)
    new = RNG.random((500, 3))
    truth = np.prod(np.cos(5.0 * new), axis=1)
    errors = [
        np.sqrt(np.mean((gp.fit(X, y, bounds=BOX).predict(new)[0] - truth) ** 2))
        for gp in (GaussianProcess(covariance="additive"), GaussianProcess(selection="pooled"))
    ]
    assert errors[0] < 1.2 * errors[1]


def test_units_change_nothing_but_units():
    gp = GaussianProcess(covariance="additive").fit(X, Y, bounds=BOX)
    other = GaussianProcess(covariance="additive").fit(8.0 * X - 1.0, 1024.0 * Y, bounds=[(-1.0, 7.0)] * 3)
    mean, sd = gp.predict([[0.3, 0.6, 0.9]])
    other_mean, other_sd = other.predict(8.0 * np.array([[0.3, 0.6, 0.9]]) - 1.0)
    assert other_mean[0] == pytest.approx(1024.0 * mean[0], rel=1e-5)
    assert other_sd[0] == pytest.approx(1024.0 * sd[0], rel=1e-5)
    np.testing.assert_allclose(other.lengthscales_, 8.0 * gp.lengthscales_, rtol=1e-3)


def test_a_warm_fit_goes_on_from_the_state():
    model = tcgp.fit_model(X, Y, "tcgp-additive", bounds=BOX)
    state = json.loads(json.dumps(model.state))
    assert len(state["kernel"]) == 9
    again = tcgp.fit_model(X, Y, "tcgp-additive", bounds=BOX, state=state)
    assert again.interpolator.objective_ == pytest.approx(model.interpolator.objective_, abs=1e-3)
    with pytest.raises(ValueError, match="kernel of a state must be 9 positive numbers"):
        tcgp.fit_model(X, Y, "tcgp-additive", bounds=BOX, state={**state, "kernel": [1.0] * 8})


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_or_equal_values_give_a_usable_model(n):
    for y in (np.ones(n), np.arange(float(n))):
        gp = GaussianProcess(covariance="additive").fit(X[:n], y, bounds=BOX)
        mean, sd = gp.predict(RNG.random((10, 3)))
        assert np.isfinite(mean).all()
        assert np.isfinite(sd).all()


def test_a_scan_of_many_data_uses_a_part_of_them():
    points = np.random.default_rng(1).random((450, 2))
    y = np.cos(20.0 * points).sum(axis=1)
    gp = GaussianProcess(covariance="additive").fit(points, y, bounds=[(0.0, 1.0)] * 2)
    new = np.random.default_rng(2).random((100, 2))
    assert np.abs(gp.predict(new)[0] - np.cos(20.0 * new).sum(axis=1)).max() < 1e-3
