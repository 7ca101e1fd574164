"""bcrGP: the exact sampler against the posterior on a grid, and the selection rules against their words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gennorm, kstest

from tcgp.calibration import bayesian_law, sample_posterior
from tcgp.laws import GeneralizedNormal


def posterior_on_a_grid(
    residuals: np.ndarray, weights: np.ndarray, beta: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """The pseudo-posterior of Appendix E.5 with a uniform prior, normalized on a grid; (beta, scale)."""
    exponents = len(residuals) * weights / weights.sum()
    log_density = np.zeros((len(beta), len(scale)))
    for r, exponent in zip(residuals, exponents, strict=True):
        log_density += exponent * gennorm.logpdf(r, beta[:, None], scale=scale)
    density = np.exp(log_density - log_density.max())
    return density / density.sum()


@pytest.mark.parametrize("case", ["normal", "laplace, weighted", "few and wide: the bounds matter"])
def test_draws_follow_the_posterior(case: str) -> None:
    rng = np.random.default_rng(0)
    if case == "normal":
        residuals, weights = rng.standard_normal(40), np.ones(40)
    elif case == "laplace, weighted":
        residuals, weights = rng.laplace(scale=0.5, size=40), rng.exponential(size=40)
    else:
        residuals, weights = 6.0 * rng.standard_normal(5), rng.exponential(size=5)
    beta, scale = sample_posterior(residuals, weights, n_draws=4000, rng=1)
    step = 0.025
    beta_grid, scale_grid = np.arange(step / 2, 10.0, step), np.arange(step / 2, 10.0, step)
    density = posterior_on_a_grid(residuals, weights, beta_grid, scale_grid)
    for draws, grid, axis in ((beta, beta_grid, 1), (scale, scale_grid, 0)):
        cdf = np.cumsum(density.sum(axis=axis))
        test = kstest(draws, lambda x, grid=grid, cdf=cdf: np.interp(x, grid + step / 2, cdf))
        # Six independent tests with a fixed seed; a wrong sampler has p-values of 1e-20.
        assert test.pvalue > 1e-3
    # The dependence of the two as well: quantities that involve both.
    exact = (density * np.log(beta_grid)[:, None] * np.log(scale_grid)).sum()
    product = np.log(beta) * np.log(scale)
    assert abs(product.mean() - exact) < 4.0 * product.std() / np.sqrt(len(product))


def test_rescaling_the_weights_changes_nothing() -> None:
    residuals = np.random.default_rng(0).standard_normal(30)
    weights = np.random.default_rng(1).random(30)
    for one, other in zip(
        sample_posterior(residuals, weights, rng=2),
        sample_posterior(residuals, 1e-3 * weights, rng=2),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_an_observation_of_weight_two_is_two_observations_of_weight_one() -> None:
    residuals = np.random.default_rng(0).standard_normal(20)
    doubled = np.r_[residuals, residuals[:5]]
    weights = np.r_[np.full(5, 2.0), np.ones(15)]
    # Exponents sum to n: to 25 in one case, to 20 in the other, so the second posterior is the wider one.
    beta, _ = sample_posterior(doubled, np.ones(25), n_draws=5000, rng=0)
    other, _ = sample_posterior(residuals, weights, n_draws=5000, rng=0)
    assert np.median(other) == pytest.approx(np.median(beta), rel=0.1)
    assert other.std() > beta.std()


def test_cross_ks_selects_the_draw_closest_to_the_others() -> None:
    residuals = np.random.default_rng(3).standard_t(3, size=60)
    alpha, n_draws = 0.1, 40
    law = bayesian_law(residuals, np.ones(60), n_draws=n_draws, alpha=alpha, rng=5)
    beta, scale = sample_posterior(residuals, np.ones(60), n_draws=n_draws, rng=5)
    x = np.linspace(0.0, 30.0, 60_001)
    cdfs = np.array([gennorm.cdf(x, b, scale=s) for b, s in zip(beta, scale, strict=True)])
    distances = np.array([[np.abs(F - G).max() for F in cdfs] for G in cdfs])
    kappa = np.quantile(distances, 1.0 - alpha, axis=1)
    chosen = int(np.flatnonzero(beta == law.beta)[0])
    # The rule compares distribution functions at 32 levels only.
    assert kappa[chosen] <= kappa.min() + 2e-3


def test_conservative_rule_selects_a_high_variance() -> None:
    residuals = np.random.default_rng(3).standard_normal(60)
    law = bayesian_law(residuals, np.ones(60), draw="conservative", alpha=0.1, rng=5)
    variances = GeneralizedNormal(*sample_posterior(residuals, np.ones(60), rng=5)).variance()
    assert (variances <= law.variance()).mean() == pytest.approx(0.9, abs=0.006)


def test_law_recovers_the_law_of_many_residuals() -> None:
    residuals = gennorm.rvs(1.3, scale=0.6, size=3000, random_state=0)
    law = bayesian_law(residuals, np.ones(3000), rng=0)
    assert law.beta == pytest.approx(1.3, abs=0.15)
    assert law.scale == pytest.approx(0.6, abs=0.08)


@pytest.mark.parametrize("draw", ["cross-ks", "conservative"])
def test_same_seed_same_law(draw: str) -> None:
    residuals = np.random.default_rng(3).standard_normal(30)
    one, other = (bayesian_law(residuals, np.ones(30), draw=draw, rng=9) for _ in range(2))
    assert one == other


HARD = {
    "one residual": np.array([0.3]),
    "two residuals": np.array([0.3, -2.0]),
    "one zero": np.array([0.0]),
    "zeros": np.zeros(50),
    "half zeros": np.r_[np.zeros(25), np.random.default_rng(0).standard_normal(25)],
    "huge": 1e200 * np.random.default_rng(0).standard_normal(50),
    "one huge": np.r_[1e200, np.random.default_rng(0).standard_normal(50)],
    "tiny": 1e-200 * np.random.default_rng(0).standard_normal(50),
    "equal": np.full(50, 0.7),
    "beyond the bound of lambda": 1e4 * np.random.default_rng(0).standard_normal(300),
    "many": np.random.default_rng(0).standard_normal(2000),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("draw", ["cross-ks", "conservative"])
def test_every_set_of_residuals_gets_a_usable_law(name: str, draw: str) -> None:
    residuals = HARD[name]
    for weights in (np.ones(len(residuals)), np.r_[1.0, np.full(len(residuals) - 1, 1e-12)]):
        law = bayesian_law(residuals, weights, draw=draw, rng=0)
        assert 0.0 < law.beta <= 10.0
        assert 0.0 < law.scale <= 10.0
        assert np.isfinite(law.cdf([-1.0, 0.0, 1.0])).all()


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="draw must be one of"):
        bayesian_law([1.0], [1.0], draw="best")
    with pytest.raises(ValueError, match="alpha must lie in"):
        bayesian_law([1.0], [1.0], alpha=1.0)
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        bayesian_law([1.0], [1.0], n_draws=0)
    with pytest.raises(ValueError, match="must share one shape"):
        bayesian_law([1.0, 2.0], [1.0])
