"""The relaxed Gaussian process."""

import numpy as np
import pytest

from tcgp import GaussianProcess, RelaxedGaussianProcess, problems
from tcgp.gp.kernels import correlation
from tcgp.gp.posterior import factorize
from tcgp.gp.relaxed import RelaxedLikelihood


def design(name="goldstein-price", n=40, seed=0):
    problem = problems.get(name)
    X = np.random.default_rng(seed).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, problem.dim))
    return problem, X, problem.fun(X)


def test_interpolates_below_the_threshold_and_stays_above_it_elsewhere():
    problem, X, y = design()
    threshold = np.quantile(y, 0.25)
    model = RelaxedGaussianProcess(threshold).fit(X, y, bounds=problem.bounds)
    below = y <= threshold
    np.testing.assert_array_equal(model.relaxed_values_[below], y[below])
    assert (model.relaxed_values_[~below] >= threshold * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(model.predict(X[below])[0], y[below], atol=1e-6 * y[below].std())


def test_an_infinite_threshold_gives_the_plain_process():
    problem, X, y = design()
    relaxed = RelaxedGaussianProcess(np.inf).fit(X, y, bounds=problem.bounds)
    plain = GaussianProcess().fit(X, y, bounds=problem.bounds)
    assert relaxed.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-3)


def test_likelihood_of_the_completed_data_exceeds_that_of_the_data():
    problem, X, y = design("dixon-price4", 60)
    relaxed = RelaxedGaussianProcess(np.quantile(y, 0.25)).fit(X, y, bounds=problem.bounds)
    assert relaxed.log_likelihood_ > GaussianProcess().fit(X, y, bounds=problem.bounds).log_likelihood_


def test_joint_optimality_in_lengthscales_and_values():
    """No feasible small change of a relaxed value, nor of a lengthscale, raises the likelihood."""
    problem, X, y = design("ackley4", 50)
    model = RelaxedGaussianProcess(np.quantile(y, 0.25)).fit(X, y, bounds=problem.bounds)
    completed, rho = model.relaxed_values_, model.lengthscales_

    def log_likelihood(lengthscales, values):
        return (
            GaussianProcess(lengthscales=lengthscales).fit(X, values, bounds=problem.bounds).log_likelihood_
        )

    best = log_likelihood(rho, completed)
    assert best == pytest.approx(model.log_likelihood_, abs=1e-6)
    for factor in (0.97, 1.03):
        for j in range(problem.dim):
            assert log_likelihood(np.where(np.arange(problem.dim) == j, factor * rho, rho), completed) < best
    step = 1e-2 * completed.std()
    for i in np.flatnonzero(y > model.threshold)[:10]:
        for sign in (-1.0, 1.0):
            changed = completed.copy()
            changed[i] += sign * step
            if changed[i] >= model.threshold:
                assert log_likelihood(rho, changed) < best


def test_values_far_above_the_threshold_do_not_matter():
    problem, X, y = design()
    threshold = np.quantile(y, 0.25)
    spike = np.where(y > threshold, y + 1e12, y)
    new = np.random.default_rng(1).uniform(-2.0, 2.0, (50, 2))
    mean, sd = RelaxedGaussianProcess(threshold).fit(X, y, bounds=problem.bounds).predict(new)
    mean_2, sd_2 = RelaxedGaussianProcess(threshold).fit(X, spike, bounds=problem.bounds).predict(new)
    np.testing.assert_allclose(mean_2, mean, rtol=1e-6, atol=1e-6 * np.ptp(mean))
    np.testing.assert_allclose(sd_2, sd, rtol=1e-6, atol=1e-6 * sd.max())


@pytest.mark.parametrize("n_below", [1, 2])
def test_few_points_below_the_threshold(n_below):
    problem, X, y = design()
    model = RelaxedGaussianProcess(np.sort(y)[n_below - 1]).fit(X, y, bounds=problem.bounds)
    mean, sd = model.predict(X + 0.01)
    assert np.isfinite(mean).all()
    assert (sd > 0.0).any()


def test_a_threshold_below_all_data_and_a_plateau_are_usable():
    problem, X, y = design()
    for threshold, values in [(y.min() - 1.0, y), (1.0, np.where(y > np.median(y), y, 1.0))]:
        mean, sd = RelaxedGaussianProcess(threshold).fit(X, values, bounds=problem.bounds).predict(X + 0.01)
        assert np.isfinite(mean).all()
        assert np.isfinite(sd).all()


def test_a_nan_threshold_is_refused():
    with pytest.raises(ValueError, match="threshold must be a number"):
        RelaxedGaussianProcess(float("nan"))


def test_clusters_do_not_send_the_pivots_in_circles():
    # Two points 1e-6 apart make K singular to rounding; with a nugget for each block the search of the free values
    # went round until its limit.
    rng = np.random.default_rng(0)
    centre = np.full(3, 0.4)
    X = np.vstack([rng.random((30, 3)), centre + 1e-6 * rng.standard_normal((15, 3)), centre[None]])
    z = np.sum((X - 0.4) ** 2, axis=1) + 0.05 * np.cos(40.0 * X[:, 0])
    likelihood = RelaxedLikelihood(X, (z - z.mean()) / z.std(), 2, threshold=-0.8)
    for log_rho in (np.zeros(3), np.log([0.3, 1.0, 3.0]), np.full(3, 1.0)):
        K = likelihood._matrix(correlation(likelihood._differences.sums(np.exp(-2.0 * log_rho)), 2))
        factor = factorize(K)
        assert factor.nugget > 0.0
        completed, _, converged = likelihood._project(K, factor)
        assert converged
        assert (completed[likelihood.relaxed] >= likelihood.threshold).all()
