"""Gaussian process regression on noisy values: likelihood, gradient, posterior, leave-one-out, repeats."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm

from tcgp.gp import NoisyGaussianProcess
from tcgp.gp.kernels import correlation
from tcgp.gp.noise import NoisyLikelihood, Repeats


def noisy_data(n=25, dim=2, repeats=12, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    X = np.vstack([X, X[rng.integers(0, n, repeats)]])
    return X, np.sin(5.0 * X[:, 0]) + X[:, -1] + noise * rng.standard_normal(len(X))


def dense_nll(X, y, theta, sd=None, mean=None):
    """Minus the log-density of all values, one by one, at the mean and the variance that maximize it."""
    *log_rho, log_eta = theta
    scaled = X / np.exp(log_rho)
    K = correlation(cdist(scaled, scaled, "sqeuclidean"), 2)
    eta = np.exp(log_eta)
    typical = None if sd is None else np.sqrt(np.mean(sd**2))
    M = K + eta * (np.eye(len(y)) if sd is None else np.diag(sd**2 / typical**2))
    inverse = np.linalg.inv(M)
    mean = inverse.sum(axis=0) @ y / inverse.sum()
    variance = (y - mean) @ inverse @ (y - mean) / len(y) if sd is None else typical**2 / eta
    return -multivariate_normal(np.full(len(y), mean), variance * M).logpdf(y)


THETAS = [np.log([0.3, 0.7, 0.02]), np.log([1.0, 0.2, 1e-4]), np.log([0.5, 0.5, 2.0])]


@pytest.mark.parametrize("theta", THETAS)
def test_pooled_likelihood_is_the_density_of_all_values(theta):
    X, y = noisy_data()
    assert NoisyLikelihood(Repeats.of(X, y), 2).value(theta) == pytest.approx(dense_nll(X, y, theta))


def test_pooled_likelihood_of_known_noise_is_the_density_up_to_a_constant():
    X, y = noisy_data()
    sd = np.random.default_rng(1).uniform(0.05, 0.4, len(y))
    likelihood = NoisyLikelihood(Repeats.of(X, y, sd), 2)
    differences = [likelihood.value(theta) - dense_nll(X, y, theta, sd) for theta in THETAS]
    assert differences == pytest.approx([differences[0]] * len(THETAS))


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("known", [False, True])
def test_gradient_equals_finite_differences(theta, known):
    X, y = noisy_data()
    sd = np.random.default_rng(1).uniform(0.05, 0.4, len(y)) if known else None
    likelihood = NoisyLikelihood(Repeats.of(X, y, sd), 2)
    steps = 1e-6 * np.eye(len(theta))
    slopes = [(likelihood.value(theta + h) - likelihood.value(theta - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(likelihood.value_and_gradient(theta)[1], slopes, rtol=1e-5, atol=1e-5)


def test_repeats_one_by_one_give_the_same_posterior():
    X, y = noisy_data()
    pooled = NoisyGaussianProcess().fit(X, y)
    points = np.random.default_rng(2).random((5, 2))
    scaled, at = X / pooled.lengthscales_, points / pooled.lengthscales_
    K = correlation(cdist(scaled, scaled, "sqeuclidean"), 2) + pooled.nugget_ * np.eye(len(y))
    k = correlation(cdist(at, scaled, "sqeuclidean"), 2)
    mean, sd = pooled.predict(points)
    np.testing.assert_allclose(mean, pooled.mean_ + k @ np.linalg.solve(K, y - pooled.mean_), rtol=1e-6)
    variance = pooled.variance_ * (1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)))
    np.testing.assert_allclose(sd, np.sqrt(variance), rtol=1e-6)


def test_leave_one_out_is_about_the_pooled_value_noise_included():
    X, y = noisy_data(repeats=3)
    gp = NoisyGaussianProcess(noise=0.2).fit(X, y)
    loo, i = gp.leave_one_out(), 4
    others = np.delete(np.arange(len(gp.y_)), i)
    p = gp.posterior_
    rest = type(p).condition(
        p.X[others],
        p.z[others],
        p.covariance,
        mean=p.mean,
        variance=p.variance,
        nuggets=p.nuggets[others],
    )
    mean, sd = rest.predict(p.X[[i]])
    total = np.sqrt(sd**2 + p.variance * p.nuggets[i])
    unit = gp.units_
    assert loo.mean[i] == pytest.approx(unit.y_from_unit(mean)[0])
    assert loo.sd[i] == pytest.approx(total[0] * unit.y_unit)


def test_noise_is_found():
    rng = np.random.default_rng(3)
    X = rng.random((80, 2))
    f = np.sin(5.0 * X[:, 0]) + X[:, 1]
    found = [NoisyGaussianProcess().fit(X, f + 0.1 * rng.standard_normal(80)).noise_ for _ in range(3)]
    np.testing.assert_allclose(found, 0.1, rtol=0.3)  # three standard errors of 80 residuals


def test_known_noise_is_kept():
    X, y = noisy_data()
    assert NoisyGaussianProcess(noise=0.3).fit(X, y).noise_ == pytest.approx(0.3)
    sd = np.where(np.arange(len(y)) % 2, 0.1, 0.5)
    gp = NoisyGaussianProcess().fit(X, y, sd=sd)
    assert gp.noise_ == pytest.approx(np.sqrt(np.mean(sd**2)))


def test_values_known_well_count_for_more():
    X = np.array([[0.0], [0.5], [0.5], [1.0]])
    gp = NoisyGaussianProcess().fit(X, [0.0, 1.0, 2.0, 0.0], sd=[0.1, 0.01, 0.5, 0.1])
    assert gp.y_[1] == pytest.approx(1.0, abs=1e-3)


def test_predictions_do_not_depend_on_units():
    X, y = noisy_data()
    gp = NoisyGaussianProcess().fit(X, y)
    other = NoisyGaussianProcess().fit(100.0 * X - 7.0, 1e6 * y + 3e6)
    mean, sd = gp.predict(X[:5])
    mean_other, sd_other = other.predict(100.0 * X[:5] - 7.0)
    np.testing.assert_allclose(mean_other, 1e6 * mean + 3e6, rtol=1e-4)
    np.testing.assert_allclose(sd_other, 1e6 * sd, rtol=1e-3)


def test_conditioning_on_an_evaluation_adds_noise_and_not_certainty():
    X, y = noisy_data()
    gp = NoisyGaussianProcess().fit(X, y)
    at = X[:1]
    before, after = gp.predict(at)[1][0], gp.condition(at, gp.predict(at)[0]).predict(at)[1][0]
    assert after == pytest.approx(before * gp.noise_ / np.hypot(before, gp.noise_), rel=1e-6)


def test_equal_repeats_are_one_value():
    X = np.linspace(0.0, 1.0, 10)[:, None]
    y = np.sin(6.0 * X[:, 0])
    once, twice = Repeats.of(X, y), Repeats.of(np.vstack([X, X]), np.append(y, y))
    assert np.array_equal(once.shares, twice.shares)
    assert np.array_equal(once.y, twice.y)


def test_intervals_cover():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(10):
        X = rng.random((40, 2))
        f = np.sin(5.0 * X[:, 0]) + X[:, 1]
        gp = NoisyGaussianProcess().fit(X, f + 0.2 * rng.standard_normal(40))
        points = rng.random((40, 2))
        mean, sd = gp.predict(points)
        inside.append(np.abs(np.sin(5.0 * points[:, 0]) + points[:, 1] - mean) < norm.ppf(0.95) * sd)
    assert np.mean(inside) > 0.8


def test_noise_that_repeats_hide_by_luck_stays_plausible():
    rng = np.random.default_rng(0)
    X = rng.random((8, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(8)
    gp = NoisyGaussianProcess(selection="pooled").fit(np.vstack([X, X[:1]]), np.append(y, y[0] + 1e-3))
    assert gp.noise_ == pytest.approx(1e-3 / np.sqrt(2.0), rel=0.01)
    found = gp.plausible()
    assert 0.95 < sum(weight for weight, _ in found) <= 1.0 + 1e-9
    assert sum(weight for weight, process in found if process.noise_ > 5.0 * gp.noise_) > 0.2


def test_only_the_fitted_noise_is_plausible_with_many_data():
    rng = np.random.default_rng(0)
    X = rng.random((150, 1))
    gp = NoisyGaussianProcess().fit(X, np.sin(5.0 * X[:, 0]) + 0.1 * rng.standard_normal(150))
    weight, process = max(gp.plausible(), key=lambda pair: pair[0])
    assert process.noise_ == pytest.approx(gp.noise_, rel=0.05)
    assert weight > 0.5


@pytest.mark.parametrize("noise", [-1.0, 0.0, np.nan, "much", False])
def test_impossible_noise_is_refused(noise):
    with pytest.raises(ValueError, match="noise must be"):
        NoisyGaussianProcess(noise)


@pytest.mark.parametrize("sd", [[0.1], [0.1, 0.0, 0.1], [0.1, -1.0, 0.1]])
def test_impossible_deviations_are_refused(sd):
    with pytest.raises(ValueError, match="sd must"):
        NoisyGaussianProcess().fit([[0.0], [0.5], [1.0]], [1.0, 2.0, 3.0], sd=sd)


def test_what_no_smooth_function_follows_is_not_taken_for_noise_that_repeats_exclude():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    X = np.vstack([X, X + 0.005, X[:2]])
    y = rng.standard_normal(24)
    y = np.append(y, [y[0] + 0.01, y[1] - 0.02])
    without = NoisyGaussianProcess().fit(X[:-2], y[:-2], bounds=[(0.0, 1.0)] * 2)
    assert without.noise_ > 0.5
    gp = NoisyGaussianProcess().fit(X, y, bounds=[(0.0, 1.0)] * 2)
    # sums of squares are 0.01^2 / 2 and 0.02^2 / 2; the 0.2-quantile of chi-squared with 2 degrees is -2 log 0.8
    assert gp.noise_ == pytest.approx(np.sqrt((0.01**2 + 0.02**2) / 2.0 / (-2.0 * np.log(0.8))))
    np.testing.assert_allclose(gp.predict(X[:2])[0], y[:2], atol=0.05)
