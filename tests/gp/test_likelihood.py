"""The concentrated likelihood against SciPy's multivariate normal, and its gradient against differences."""

from unittest import mock

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from tcgp.gp.kernels import SMOOTHNESSES, correlation
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.posterior import Factorization, factorize, triangular_inverse
from tcgp.gp.relaxed import RelaxedLikelihood


def data(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 - 0.3 * X[:, -1]


LOG_RHO = np.log([0.4, 0.8, 2.0])


def central_difference(function, x, step=1e-5):
    return np.array(
        [(function(x + step * e) - function(x - step * e)) / (2.0 * step) for e in np.eye(len(x))]
    )


def test_value_is_the_smallest_over_mean_and_variance():
    X, z = data()
    K = correlation(cdist(X / np.exp(LOG_RHO), X / np.exp(LOG_RHO), "sqeuclidean"), 2)
    ones = np.ones(len(z))
    mean = ones @ np.linalg.solve(K, z) / (ones @ np.linalg.solve(K, ones))
    variance = (z - mean) @ np.linalg.solve(K, z - mean) / len(z)

    def nll(m, v):
        return -multivariate_normal(np.full(len(z), m), v * K).logpdf(z)

    value = ConcentratedLikelihood(X, z, 2).value(LOG_RHO)
    assert value == pytest.approx(nll(mean, variance), rel=1e-9)
    for m, v in [(mean + 0.05, variance), (mean, 1.05 * variance), (mean, 0.95 * variance)]:
        assert value < nll(m, v)


def test_known_mean_and_variance_are_used():
    X, z = data()
    K = correlation(cdist(X / np.exp(LOG_RHO), X / np.exp(LOG_RHO), "sqeuclidean"), 2)
    expected = -multivariate_normal(np.full(len(z), 0.2), 1.7 * K).logpdf(z)
    assert ConcentratedLikelihood(X, z, 2, mean=0.2, variance=1.7).value(LOG_RHO) == pytest.approx(expected)


@pytest.mark.parametrize("p", SMOOTHNESSES)
@pytest.mark.parametrize("known", [{}, {"mean": 0.2}, {"mean": 0.2, "variance": 1.7}])
def test_gradient_equals_finite_differences(p, known):
    X, z = data()
    likelihood = ConcentratedLikelihood(X, z, p, **known)
    value, gradient = likelihood.value_and_gradient(LOG_RHO)
    assert value == pytest.approx(likelihood.value(LOG_RHO), rel=1e-12)
    np.testing.assert_allclose(gradient, central_difference(likelihood.value, LOG_RHO), rtol=1e-5)


@pytest.mark.parametrize("level", [0.1, 0.3, 0.6])
def test_relaxed_gradient_equals_finite_differences(level):
    X, z = data(n=40)
    likelihood = RelaxedLikelihood(X, z, 2, float(np.quantile(z, level)))
    value, gradient = likelihood.value_and_gradient(LOG_RHO)
    assert value == pytest.approx(likelihood.value(LOG_RHO), rel=1e-12)
    np.testing.assert_allclose(gradient, central_difference(likelihood.value, LOG_RHO), rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_relaxed_values_solve_the_quadratic_program(seed):
    """Optimality of a convex program: feasible, and no gradient component points to a feasible descent."""
    X, z = data(n=40, seed=seed)
    threshold = float(np.quantile(z, 0.25))
    completed = RelaxedLikelihood(X, z, 2, threshold).complete(LOG_RHO)
    K = correlation(cdist(X / np.exp(LOG_RHO), X / np.exp(LOG_RHO), "sqeuclidean"), 2)
    ones = np.ones(len(z))
    mean = ones @ np.linalg.solve(K, completed) / (ones @ np.linalg.solve(K, ones))
    a = np.linalg.solve(K, completed - mean)
    relaxed = z > threshold
    at_bound = relaxed & (completed <= threshold + 1e-9)
    np.testing.assert_array_equal(completed[~relaxed], z[~relaxed])
    assert (completed[relaxed] >= threshold).all()
    scale = np.abs(a).max()
    assert (a[at_bound] > -1e-6 * scale).all()
    assert np.abs(a[relaxed & ~at_bound]).max(initial=0.0) < 1e-6 * scale


def test_the_rough_value_bounds_the_relaxed_likelihood_from_above():
    X, z = data(n=60)
    likelihood = RelaxedLikelihood(X, z, 2, float(np.quantile(z, 0.25)))
    for shift in np.linspace(-1.0, 1.0, 7):
        rough = likelihood.rough_value(LOG_RHO + shift)
        assert rough >= likelihood.value(LOG_RHO + shift) - 1e-9


def test_a_threshold_above_all_data_relaxes_nothing():
    X, z = data()
    plain = ConcentratedLikelihood(X, z, 2).value(LOG_RHO)
    assert RelaxedLikelihood(X, z, 2, np.inf).value(LOG_RHO) == pytest.approx(plain, rel=1e-12)


def test_many_pairs_give_what_kept_differences_give(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    z = np.sin(5.0 * X).sum(axis=1)
    theta = np.log([0.3, 0.7, 2.0])
    kept = ConcentratedLikelihood(X, z, 2).value_and_gradient(theta)
    monkeypatch.setattr("tcgp.gp.product.STORED", 0)
    made_again = ConcentratedLikelihood(X, z, 2)
    # The sums differ by rounding only; the condition number of K, about 1e5, magnifies it.
    np.testing.assert_allclose(made_again.value_and_gradient(theta)[0], kept[0], rtol=1e-10)
    np.testing.assert_allclose(made_again.value_and_gradient(theta)[1], kept[1], rtol=1e-7)
    np.testing.assert_allclose(made_again.value(theta), kept[0], rtol=1e-10)


@pytest.mark.parametrize("known", [{}, {"mean": 0.2}, {"mean": 0.2, "variance": 1.7}])
@mock.patch("tcgp.gp.likelihood.factorize")
def test_a_nugget_that_rounding_needs_has_a_price(factorize, known):
    added = 1e-6
    factorize.side_effect = lambda K, out, *expected: Factorization(
        np.asfortranarray(np.linalg.cholesky(K + np.tril(K, -1).T + added * np.eye(len(K)))), added
    )
    X, z = data()
    priced, free = ConcentratedLikelihood(X, z, 2, **known), ConcentratedLikelihood(X, z, 2, **known)
    free.may_smooth = True
    K = correlation(cdist(X / np.exp(LOG_RHO), X / np.exp(LOG_RHO), "sqeuclidean"), 2) + added * np.eye(
        len(X)
    )
    ones = np.ones(len(z))
    mean = known.get("mean", ones @ np.linalg.solve(K, z) / (ones @ np.linalg.solve(K, ones)))
    variance = (z - mean) @ np.linalg.solve(K, z - mean) / len(z)
    noise = np.sqrt(added * variance) / z.std()
    price = 0.5 * len(z) * (noise / 1e-3) ** 2
    assert priced.value(LOG_RHO) - free.value(LOG_RHO) == pytest.approx(price, rel=1e-6)
    value, gradient = priced.value_and_gradient(LOG_RHO)
    assert value == pytest.approx(priced.value(LOG_RHO), rel=1e-12)
    np.testing.assert_allclose(gradient, central_difference(priced.value, LOG_RHO), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 64, 65, 131, 300])
def test_the_inverse_of_a_triangle_is_that_of_numpy(n):
    """Also where it is made of the inverses of halves; above the diagonal it is zero."""
    X = np.random.default_rng(n).random((n, 3))
    L = factorize(correlation(cdist(X, X, "sqeuclidean") / 0.09, 2).T).L
    inverse = triangular_inverse(L)
    assert not np.triu(inverse, 1).any()
    # Errors grow with the condition of L, here up to 1e4.
    np.testing.assert_allclose(inverse, np.linalg.inv(L), rtol=0, atol=1e-10 * np.abs(inverse).max())


def test_a_correlation_matrix_stays_as_it_is_when_another_is_made():
    X, z = data()
    likelihood = ConcentratedLikelihood(X, z, 2)
    first = likelihood.correlation_matrix(LOG_RHO)
    kept = first.copy()
    likelihood.value_and_gradient(LOG_RHO + 1.0)
    likelihood.correlation_matrix(LOG_RHO + 1.0)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("expected", [0.0, 1e-15, 1e-13, 1e-9])
@pytest.mark.parametrize("lengthscale", [0.1, 3.0, 1e4])
def test_an_expected_nugget_changes_only_the_way_to_the_factor(expected, lengthscale):
    X = data(n=60)[0]
    K = correlation(cdist(X, X, "sqeuclidean") / lengthscale**2, 2).T
    factor, again = factorize(K), factorize(K, expected=expected)
    assert again.nugget == factor.nugget
    assert (factor.nugget > 0.0) == (lengthscale == 1e4)
    np.testing.assert_array_equal(np.tril(again.L), np.tril(factor.L))
