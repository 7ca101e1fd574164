"""The rotated Gaussian process against finite differences, explicit refits, directions it must see, and units."""

import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import tcgp
from tcgp import GaussianProcess
from tcgp.gp.kernels import SMOOTHNESSES
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.posterior import Posterior
from tcgp.gp.rotated import Rotated, RotatedPrior, linear_map, n_parameters

BOX = [(0.0, 1.0)] * 3
RNG = np.random.default_rng(0)
X = RNG.random((40, 3))
DIRECTION = np.array([1.0, 0.8, -0.6])


def along_a_direction(x):
    return np.sin(5.0 * x @ DIRECTION) + 0.2 * np.cos(3.0 * x[:, 1] + 4.0 * x[:, 2])


Y = along_a_direction(X)
THETA = np.array([-0.5, 0.2, 0.8, 0.7, -1.2, 0.4])


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_gradient_of_the_likelihood_is_that_of_differences(p):
    likelihood = ConcentratedLikelihood(X, Y, p, covariance=Rotated, prior=RotatedPrior(3, 40))
    value, gradient = likelihood.value_and_gradient(THETA)
    assert value == pytest.approx(likelihood.value(THETA), rel=1e-12)
    steps = 1e-5 * np.eye(6)
    differences = [(likelihood.value(THETA + h) - likelihood.value(THETA - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def test_many_pairs_give_the_same_gradient(monkeypatch):
    _, gradient = ConcentratedLikelihood(X, Y, 2, covariance=Rotated).value_and_gradient(THETA)
    monkeypatch.setattr("tcgp.gp.rotated.STORED", 100)
    _, gradient_again = ConcentratedLikelihood(X, Y, 2, covariance=Rotated).value_and_gradient(THETA)
    np.testing.assert_allclose(gradient_again, gradient, rtol=1e-9)


def test_without_links_it_is_the_product_covariance():
    scales = np.array([0.3, 0.7, 2.0])
    rotated = Posterior.condition(X, Y, Rotated(np.append(scales, np.zeros(3)), 2))
    product = GaussianProcess(lengthscales=scales).fit(X, Y, bounds=BOX)
    np.testing.assert_allclose(rotated.covariance.lengthscales, scales)
    points = RNG.random((10, 3))
    np.testing.assert_allclose(rotated.predict(points)[0], product.predict(points)[0], rtol=1e-8)


def test_likelihood_is_the_density_of_the_data():
    scales, links = np.exp(THETA[:3]), THETA[3:]
    A = np.array([[1.0, 0.0, 0.0], [links[0], 1.0, 0.0], [links[1], links[2], 1.0]]) / scales[:, None]
    np.testing.assert_allclose(linear_map(scales, links), A)
    h = np.sqrt(5.0) * np.linalg.norm((X[:, None] - X[None]) @ A.T, axis=-1)
    K = (1.0 + h + h**2 / 3.0) * np.exp(-h)
    posterior = Posterior.condition(X, Y, Rotated(np.append(scales, links), 2))
    expected = multivariate_normal(np.full(40, posterior.mean), posterior.variance * K).logpdf(Y)
    assert -ConcentratedLikelihood(X, Y, 2, covariance=Rotated).value(THETA) == pytest.approx(
        expected, rel=1e-9
    )


def test_it_predicts_functions_of_a_direction_far_better_than_a_product():
    new = RNG.random((500, 3))
    truth = along_a_direction(new)
    errors, objectives = {}, {}
    for gp in (GaussianProcess(covariance="rotated"), GaussianProcess(selection="pooled")):
        gp.fit(X, Y, bounds=BOX)
        np.testing.assert_allclose(gp.predict(X)[0], Y, atol=1e-6)
        errors[gp.covariance] = np.median(np.abs(gp.predict(new)[0] - truth))
        objectives[gp.covariance] = gp.objective_
    assert errors["rotated"] < 0.1 * errors["product"]
    assert objectives["rotated"] > objectives["product"] + 20.0


def test_links_cost_more_than_they_gain_where_there_are_none():
    y = (np.sin(5.0 * X) * [1.0, 0.5, 0.2]).sum(axis=1)
    rotated = GaussianProcess(covariance="rotated").fit(X, y, bounds=BOX)
    product = GaussianProcess(selection="pooled").fit(X, y, bounds=BOX)
    assert rotated.objective_ < product.objective_


def test_the_price_of_links_is_the_difference_of_akaikes_corrected_criterion():
    assert RotatedPrior(3, 40).price == pytest.approx(6 * 40 / 33 - 3 * 40 / 36)
    assert np.isfinite(RotatedPrior(10, 12).price)


def test_units_change_nothing_but_units():
    gp = GaussianProcess(covariance="rotated").fit(X, Y, bounds=BOX)
    widths = np.array([2.0, 8.0, 0.5])
    other = GaussianProcess(covariance="rotated").fit(
        widths * X - 1.0, 1024.0 * Y, bounds=[(-1.0, w - 1.0) for w in widths]
    )
    point = np.array([[0.3, 0.6, 0.9]])
    mean, sd = gp.predict(point)
    other_mean, other_sd = other.predict(widths * point - 1.0)
    assert other_mean[0] == pytest.approx(1024.0 * mean[0], rel=1e-5)
    assert other_sd[0] == pytest.approx(1024.0 * sd[0], rel=1e-3)
    np.testing.assert_allclose(other.lengthscales_, widths * gp.lengthscales_, rtol=1e-3)
    again = GaussianProcess(covariance="rotated").fit(
        widths * X - 1.0,
        1024.0 * Y,
        bounds=[(-1.0, w - 1.0) for w in widths],
        start=other.parameters_,
        refine=False,
    )
    np.testing.assert_allclose(again.parameters_, other.parameters_, rtol=1e-12)


def test_a_warm_fit_goes_on_from_the_state():
    model = tcgp.fit_model(X, Y, "tcgp-rotated", bounds=BOX)
    state = json.loads(json.dumps(model.state))
    assert len(state["kernel"]) == n_parameters(3)
    again = tcgp.fit_model(X, Y, "tcgp-rotated", bounds=BOX, state=state)
    assert again.interpolator.objective_ == pytest.approx(model.interpolator.objective_, abs=1e-2)
    for kernel in ([1.0] * 5, [-1.0] * 6, "none"):
        with pytest.raises(ValueError, match="kernel of a state must be 3 positive numbers and 3 others"):
            tcgp.fit_model(X, Y, "tcgp-rotated", bounds=BOX, state={**state, "kernel": kernel})


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_or_equal_values_give_a_usable_model(n):
    for y in (np.ones(n), np.arange(float(n))):
        gp = GaussianProcess(covariance="rotated").fit(X[:n], y, bounds=BOX)
        mean, sd = gp.predict(RNG.random((10, 3)))
        assert np.isfinite(mean).all()
        assert np.isfinite(sd).all()


def test_a_scan_of_many_data_uses_a_part_of_them():
    points = np.random.default_rng(1).random((450, 2))
    gp = GaussianProcess(covariance="rotated").fit(points, np.cos(9.0 * points.sum(axis=1)), bounds=BOX[:2])
    new = np.random.default_rng(2).random((100, 2))
    assert np.abs(gp.predict(new)[0] - np.cos(9.0 * new.sum(axis=1))).max() < 1e-4
