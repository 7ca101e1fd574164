"""Matérn correlations against their Bessel-function definition."""

import numpy as np
import pytest
from scipy.special import gamma, kv

from tcgp.gp.kernels import SMOOTHNESSES, correlation, correlation_and_slope

DISTANCES = np.geomspace(1e-6, 30.0, 200)


def bessel_matern(r, nu):
    h = np.sqrt(2.0 * nu) * r
    return 2.0 ** (1.0 - nu) / gamma(nu) * h**nu * kv(nu, h)


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_correlation_equals_bessel_form(p):
    k = correlation(DISTANCES**2, p)
    # The Bessel form itself loses digits near r = 0.
    np.testing.assert_allclose(k, bessel_matern(DISTANCES, p + 0.5), rtol=1e-8)


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_correlation_and_slope_agree_with_correlation(p):
    k, _ = correlation_and_slope(DISTANCES**2, p)
    np.testing.assert_allclose(k, correlation(DISTANCES**2, p), rtol=1e-14)


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_slope_is_minus_twice_the_derivative_in_squared_distance(p):
    r2 = np.geomspace(1e-2, 50.0, 100)
    step = 1e-6 * r2
    derivative = (correlation(r2 + step, p) - correlation(r2 - step, p)) / (2.0 * step)
    _, q = correlation_and_slope(r2.copy(), p)
    np.testing.assert_allclose(q, -2.0 * derivative, rtol=1e-6)


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_distance_zero_and_far_away_are_finite(p):
    k, q = correlation_and_slope(np.array([0.0, 1e12]), p)
    assert k[0] == 1.0
    assert k[1] == 0.0
    assert np.isfinite(q[0])
    assert q[1] == 0.0
