"""Calibration from noisy data: laws with noise, and what remains of them without it."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gennorm, norm

import tcgp
from tcgp.calibration import noisy_tail_law, noisy_tail_problem, selection_criterion, tail_problem
from tcgp.calibration.noisy import convolved_cdf
from tcgp.laws import GeneralizedNormal
from tcgp.scoring import diagnose, loo_scores


@pytest.mark.parametrize(("beta", "scale"), [(2.0, np.sqrt(2.0)), (0.5, 0.3), (1.0, 0.7), (8.0, 1.5)])
@pytest.mark.parametrize("noise", [0.1, 0.9, 1.1, 5.0])
def test_law_with_noise_is_the_convolution(beta, scale, noise):
    for z in (-3.0, -1.0, 0.2):
        expected = quad(
            lambda e, z=z: gennorm.cdf(z - noise * e, beta, scale=scale) * norm.pdf(e),
            -9,
            9,
            points=[z / noise],
            limit=400,
        )[0]
        found = convolved_cdf(GeneralizedNormal(beta, scale), np.array([z]), np.array([noise]))[0]
        # A weighted frequency of some hundred data is not known better than this.
        assert found == pytest.approx(expected, abs=0.01, rel=0.05)


def leave_one_out(n=200, noise=0.5, law=None, seed=0):
    """Residuals of a law, seen with noise: means, sd of the observations, noise, observations."""
    rng = np.random.default_rng(seed)
    mean, latent = rng.normal(0.0, 1.0, n), rng.uniform(0.3, 1.0, n)
    residuals = (law or gennorm(2.0, scale=np.sqrt(2.0))).rvs(n, random_state=rng)
    y = mean + latent * residuals + noise * rng.standard_normal(n)
    return mean, np.hypot(latent, noise), np.full(n, noise), y


def test_without_noise_it_is_the_problem_of_the_paper():
    mean, sd, _, y = leave_one_out(noise=0.0)
    weights, threshold = np.full(len(y), 1.0 / len(y)), float(np.quantile(y, 0.2))
    plain = tail_problem(mean, sd, y, weights, threshold)
    noisy = noisy_tail_problem(mean, sd, np.zeros(len(y)), y, weights, threshold)
    for law in (GeneralizedNormal(2.0, np.sqrt(2.0)), GeneralizedNormal(0.7, 0.4)):
        assert selection_criterion(noisy, law) == pytest.approx(selection_criterion(plain, law))


def test_law_of_the_function_is_found_behind_the_noise():
    """Residuals that are twice as wide as the process says, seen with noise."""
    wide = gennorm(2.0, scale=2.0 * np.sqrt(2.0))
    mean, sd, noise, y = leave_one_out(n=1000, law=wide)
    problem = noisy_tail_problem(mean, sd, noise, y, np.full(len(y), 1e-3), float(np.quantile(y, 0.2)))
    assert float(noisy_tail_law(problem).variance()) == pytest.approx(4.0, rel=0.35)


def test_normal_law_is_kept_where_the_data_say_nothing_of_it():
    """What is predicted is known far better than one evaluation tells."""
    mean, sd, noise, y = leave_one_out(n=60, noise=20.0)
    problem = noisy_tail_problem(mean, sd, noise, y, np.full(len(y), 1.0 / 60.0), float(np.quantile(y, 0.2)))
    law = noisy_tail_law(problem)
    assert (law.beta, law.scale) == pytest.approx((2.0, np.sqrt(2.0)), rel=0.05)


def test_model_of_noisy_values_is_calibrated_below_its_threshold():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.2 * rng.standard_normal(60)
    model = tcgp.fit_model(X, y, "tcgp", noise=True, bounds=[(0.0, 1.0)], delta=0.25)
    assert isinstance(model.law, GeneralizedNormal)
    assert 0.1 < model.noise < 0.3
    low, high = model.predict([[0.8]]).interval(0.9)
    assert low[0] < np.sin(4.8) < high[0]


def test_diagnosis_judges_the_law_with_noise():
    """Of a normal law, the noise makes another normal one: the scores must agree."""
    rng = np.random.default_rng(1)
    X = rng.random((50, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.2 * rng.standard_normal(50)
    model = tcgp.fit_model(X, y, "gp", noise=0.2, bounds=[(0.0, 1.0)], delta=0.25)
    as_normal = loo_scores(model)
    as_generalized = loo_scores(model, law=GeneralizedNormal(2.0, np.sqrt(2.0)))
    for name in ("kappa", "tks_pit", "ks_pit", "twcrps"):
        assert getattr(as_generalized, name) == pytest.approx(getattr(as_normal, name), rel=0.03, abs=0.01)
    assert "tcGP" in str(diagnose(tcgp.fit_model(X, y, "tcgp", noise=0.2, bounds=[(0.0, 1.0)], delta=0.25)))
