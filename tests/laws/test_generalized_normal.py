"""The generalized normal law against mpmath at 50 digits, scipy.stats.gennorm, and its own definition."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tcgp.laws import GeneralizedNormal, Law, Normal

# The promise, in relative error. What is attained is 1e-12 or better; the rounding of r / scale alone costs
# up to x (1 + beta) 1e-16 in the CDF, which is 1e-12 where it is near 1e-300.
RTOL = 1e-10
# The logarithm of an improvement near 1 is near 0, and keeps absolute precision only.
LOG_ATOL = 1e-13

FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "improvement", "log_improvement")

betas = st.floats(0.1, 10.0)
scales = st.floats(0.005, 10.0)
levels = st.floats(1e-300, 1.0, exclude_max=True)


# --- the oracle


def scaled_upper_gamma(a, x):
    """e^x Γ(a, x) for any x > 0."""
    if x < 1:  # mpmath's upper gamma is slow here, and the lower one leaves at least 2 % of Γ(a)
        return mp.exp(x) * (mp.gamma(a) - mp.gammainc(a, 0, x))
    if x < 100:
        return mp.exp(x) * mp.gammainc(a, x)
    return mp.hyperu(1 - a, 1 - a, x)


def oracle(beta, scale, r):
    """log P(R ≤ r) and log E[(r − R)₊] from the incomplete gamma functions, to 50 digits."""
    with mp.workdps(60):
        beta, scale, r = mp.mpf(beta), mp.mpf(scale), mp.mpf(r)
        a, x = 1 / beta, (abs(r) / scale) ** beta
    # The difference in g loses log10(x / a) digits.
    with mp.workdps(60 + max(0, int(mp.log10(x)))):
        upper = scaled_upper_gamma(a, x)
        spread = scaled_upper_gamma(2 * a, x) - x**a * upper
        log_tail = mp.log(upper / (2 * mp.gamma(a))) - x
        log_g = mp.log(scale * spread / (2 * mp.gamma(a))) - x
        if r < 0:
            return log_tail, log_g
        return mp.log1p(-mp.exp(log_tail)), mp.log(r + mp.exp(log_g))


def triples(n, rng):
    """Random (beta, scale, r): the bulk, the tails down to x = 1e4, and arguments of any magnitude."""
    beta, scale = 10 ** rng.uniform(-1, 1, n), 10 ** rng.uniform(np.log10(0.005), 1, n)
    bulk = scale * 10 ** rng.uniform(-3, 1.5, n)
    tails = scale * 10 ** (rng.uniform(-1, 4, n) / beta)
    any_magnitude = 10 ** rng.uniform(-300, 300, n)
    size = np.choose(rng.integers(0, 3, n), [bulk, tails, any_magnitude])
    return beta, scale, size * rng.choice([-1.0, 1.0], n, p=[0.7, 0.3])


def relative_error(value, exact):
    return float(abs((mp.mpf(float(value)) - exact) / exact))


@pytest.fixture(scope="module")
def reference():
    beta, scale, r = triples(1000, np.random.default_rng(2026))
    with np.errstate(over="ignore"):
        inside = (
            np.abs(r) / scale
        ) ** beta < 1e308  # beyond, both logarithms are −∞ or their limit for large r
    exact = [oracle(*t) if ok else None for *t, ok in zip(beta, scale, r, inside, strict=True)]
    return GeneralizedNormal(beta, scale), r, exact


def test_cdf_and_logcdf_match_mpmath_everywhere(reference):
    law, r, exact = reference
    cdf, logcdf = law.cdf(r), law.logcdf(r)
    for i, log_values in enumerate(exact):
        if log_values is None:
            assert (cdf[i], logcdf[i]) == ((1.0, 0.0) if r[i] > 0 else (0.0, -np.inf))
            continue
        exact_logcdf = log_values[0]
        if exact_logcdf > -690:  # P > 1e-300
            assert relative_error(cdf[i], mp.exp(exact_logcdf)) < RTOL
        else:
            assert cdf[i] < 1e-299
        if -exact_logcdf > 1e-300:
            assert relative_error(logcdf[i], exact_logcdf) < RTOL
        else:
            assert -1e-299 < logcdf[i] <= 0.0


def test_improvement_and_its_logarithm_match_mpmath_everywhere(reference):
    law, r, exact = reference
    improvement, log_improvement = law.improvement(r), law.log_improvement(r)
    for i, log_values in enumerate(exact):
        if log_values is None:
            assert improvement[i] == max(r[i], 0.0)
            assert log_improvement[i] == (np.log(r[i]) if r[i] > 0 else -np.inf)
            continue
        exact_log = log_values[1]
        assert abs(mp.mpf(float(log_improvement[i])) - exact_log) < RTOL * abs(exact_log) + LOG_ATOL
        if exact_log > -690:
            assert relative_error(improvement[i], mp.exp(exact_log)) < RTOL
        else:
            assert improvement[i] < 1e-299


def test_ppf_solves_for_the_level_in_mpmath():
    rng = np.random.default_rng(7)
    n = 500
    beta, scale = 10 ** rng.uniform(-1, 1, n), 10 ** rng.uniform(np.log10(0.005), 1, n)
    tail, near = 10 ** rng.uniform(-300, -0.3, n), 10 ** rng.uniform(-15.9, -0.4, n)
    q = np.choose(
        rng.integers(0, 4, n), [tail, rng.uniform(size=n), 1 - near, 0.5 + rng.choice([-1, 1], n) * near]
    )
    r = GeneralizedNormal(beta, scale).ppf(q)
    assert_array_equal(np.sign(r), np.sign(q - 0.5))
    for b, lam, level, root in zip(beta, scale, q, r, strict=True):
        with mp.workdps(60):
            b, lam, level, root = mp.mpf(b), mp.mpf(lam), mp.mpf(level), abs(mp.mpf(root))
            x = (root / lam) ** b
            # One Newton step on P(|R| > |r|) from ppf(q): to first order, the distance to the exact quantile.
            tails = mp.exp(-x) * scaled_upper_gamma(1 / b, x) / mp.gamma(1 / b)
            density = b * mp.exp(-x) / (mp.gamma(1 / b) * lam)
            step = (tails - 2 * min(level, 1 - level)) / density
        assert abs(step) < RTOL * root


# --- other oracles


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0, 2.0, 3.7, 10.0])
@pytest.mark.parametrize("scale", [0.005, 1.0, 10.0])
def test_agrees_with_scipy_gennorm(beta, scale):
    law, peer = GeneralizedNormal(beta, scale), stats.gennorm(beta, scale=scale)
    # Down to densities of exp(−600); gennorm's logcdf underflows soon after, and is 1e-16 off near zero.
    r = scale * 600.0 ** (1.0 / beta) * np.linspace(-1.0, 1.0, 101)
    for name in ("pdf", "logpdf", "cdf", "logcdf"):
        assert_allclose(
            getattr(law, name)(r), getattr(peer, name)(r), rtol=1e-10, atol=1e-15 * (name == "logcdf")
        )
    q = np.array([1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-12])
    assert_allclose(law.ppf(q), peer.ppf(q), rtol=1e-9)
    assert_allclose(law.variance(), peer.var(), rtol=1e-12)


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("s", [-6.0, -1.2, 0.0, 0.7])
def test_improvement_is_the_expected_shortfall_by_quadrature(beta, s):
    # E[(s − T)₊] = norm ∫ v exp(−|s − v|^beta) dv over v > 0, which for s < 0 is exp(−peak) times an integral
    # that decays over v of order `unit`.
    peak, unit = (abs(s) ** beta, min(1.0, abs(s) ** (1.0 - beta) / beta)) if s < 0 else (0.0, 1.0)
    cuts = sorted({0.0, max(s, 0.0), *(unit * k for k in (1.0, 5.0, 20.0, 100.0, 1e3)), mp.inf})
    integral = mp.quad(lambda v: v / unit**2 * mp.exp(peak - abs(s - v) ** beta), cuts)
    norm = beta / (2 * mp.gamma(1 / beta))
    scale = 0.8
    expected = mp.log(scale * norm * integral * unit**2) - peak
    assert_allclose(GeneralizedNormal(beta, scale).log_improvement(scale * s), float(expected), rtol=1e-10)


@pytest.mark.parametrize("name", [*FUNCTIONS, "ppf"])
def test_beta_two_and_scale_root_two_is_the_standard_normal(name):
    argument = np.linspace(1e-3, 1 - 1e-3, 200) if name == "ppf" else np.linspace(-50.0, 50.0, 1001)
    law = GeneralizedNormal(2.0, np.sqrt(2.0))
    # Far out, √2 rounded to 53 bits moves the exponent r²/2 = 1250 by 1e-13.
    # What is below 1e-307 may be 0 for one of them.
    assert_allclose(getattr(law, name)(argument), getattr(Normal(), name)(argument), rtol=1e-12, atol=1e-307)
    assert_allclose(law.variance(), Normal().variance(), rtol=1e-15)


def test_beta_one_is_the_law_of_laplace():
    r = np.array([-800.0, -30.0, -1.0, 0.0, 2.0])
    law = GeneralizedNormal(1.0, 1.0)
    assert_allclose(law.logcdf(r[:3]), r[:3] - np.log(2.0), rtol=1e-14)
    assert_allclose(law.log_improvement(r[:3]), r[:3] - np.log(2.0), rtol=1e-14)
    assert_allclose(law.improvement(r[3:]), r[3:] + 0.5 * np.exp(-r[3:]), rtol=1e-14)


# --- properties


@settings(deadline=None)
@given(betas, scales, st.floats(-30.0, 30.0), st.floats(-30.0, 30.0))
def test_increasing_in_the_argument(beta, scale, s, t):
    low, high = sorted((scale * s, scale * t))
    law = GeneralizedNormal(beta, scale)
    for name in ("cdf", "logcdf", "improvement", "log_improvement"):
        below, above = getattr(law, name)(low), getattr(law, name)(high)
        # Neighbouring arguments may come out in the wrong order by the rounding error of the function.
        assert below <= above + 1e-11 * abs(above)


@settings(deadline=None)
@given(betas, scales, st.floats(-10.0, 10.0), st.floats(0.01, 10.0))
def test_improvement_is_convex(beta, scale, s, width):
    law = GeneralizedNormal(beta, scale)
    left, middle, right = law.improvement(scale * (s + width * np.array([-1.0, 0.0, 1.0])))
    assert middle <= 0.5 * (left + right) * (1 + 1e-11)


@settings(deadline=None)
@given(betas, scales, st.floats(-1e3, 1e3))
def test_improvement_lies_between_its_bounds(beta, scale, a):
    law = GeneralizedNormal(beta, scale)
    gain, at_zero = law.improvement(a), law.improvement(0.0)
    # (a)₊ ≤ g(a) by Jensen, and g(a) − (a)₊ = g(−|a|) ≤ g(0).
    assert max(a, 0.0) <= gain <= (max(a, 0.0) + at_zero) * (1 + 1e-12)
    assert gain - max(a, 0.0) <= at_zero * (1 + 1e-12) + 1e-15 * abs(a)


@settings(deadline=None)
@given(betas, scales, st.floats(-20.0, 20.0))
def test_derivative_of_improvement_is_cdf(beta, scale, s):
    law, step = GeneralizedNormal(beta, scale), 1e-4
    left, right = law.improvement(scale * (s - step)), law.improvement(scale * (s + step))
    # By the mean value theorem the quotient is the CDF somewhere in between; the slack is for its rounding.
    quotient = (right - left) / (scale * (s + step) - scale * (s - step))
    slack = 1e-10 * max(1.0, law.improvement(scale * (abs(s) + step)) / scale)
    assert law.cdf(scale * (s - step)) - slack <= quotient <= law.cdf(scale * (s + step)) + slack


@settings(deadline=None)
@given(betas, scales, levels)
def test_cdf_of_ppf_is_the_level(beta, scale, q):
    law = GeneralizedNormal(beta, scale)
    # A relative error of 1e-15 in the quantile is one of beta x 1e-15 ≤ 7e-12 in the level.
    assert_allclose(law.cdf(law.ppf(q)), q, rtol=1e-11)


@settings(deadline=None)
@given(betas, scales, st.floats(-1e6, 1e6))
def test_symmetric_about_zero(beta, scale, r):
    law = GeneralizedNormal(beta, scale)
    assert_allclose(law.cdf(r) + law.cdf(-r), 1.0, rtol=1e-15)
    assert law.pdf(r) == law.pdf(-r)
    assert_allclose(law.improvement(r), r + law.improvement(-r), atol=1e-15 * abs(r), rtol=1e-15)


@pytest.mark.parametrize("beta", [0.1, 0.31, 0.8, 1.0, 1.7, 2.0, 4.0, 10.0])
def test_branches_meet(beta):
    law = GeneralizedNormal(beta, 1.0)
    for seam in (1.1, 20.0 + 4.0 / beta):
        s = -(seam ** (1.0 / beta)) * (1.0 + np.array([-1e-13, 1e-13]))
        for name in ("cdf", "logcdf", "improvement", "log_improvement"):
            below, above = getattr(law, name)(s)
            # The functions themselves move by up to beta x 2e-13 ≤ 6e-11 relative; a bad branch by far more.
            assert_allclose(below, above, rtol=1e-10)


# --- limits


@pytest.mark.parametrize("beta", [0.1, 1.0, 2.0, 10.0])
def test_infinite_arguments_have_their_limits(beta):
    law, ends = GeneralizedNormal(beta, 0.7), np.array([-np.inf, np.inf])
    assert_array_equal(law.pdf(ends), [0.0, 0.0])
    assert_array_equal(law.logpdf(ends), [-np.inf, -np.inf])
    assert_array_equal(law.cdf(ends), [0.0, 1.0])
    assert_array_equal(law.logcdf(ends), [-np.inf, 0.0])
    assert_array_equal(law.improvement(ends), [0.0, np.inf])
    assert_array_equal(law.log_improvement(ends), ends)
    assert_array_equal(law.ppf([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf])


def test_scale_zero_is_the_point_mass_at_zero():
    law, r = GeneralizedNormal(0.6, 0.0), np.array([-np.inf, -1.0, -1e-300, 0.0, 1e-300, 2.0, np.inf])
    assert_array_equal(law.pdf(r), [0, 0, 0, np.inf, 0, 0, 0])
    assert_array_equal(law.logpdf(r), np.where(r == 0.0, np.inf, -np.inf))
    assert_array_equal(law.cdf(r), r >= 0)
    assert_array_equal(law.logcdf(r), np.where(r >= 0, 0.0, -np.inf))
    assert_array_equal(law.improvement(r), np.maximum(r, 0.0))
    assert_allclose(law.log_improvement(r), [-np.inf] * 4 + [np.log(1e-300), np.log(2.0), np.inf])
    assert_array_equal(law.ppf([0.0, 0.2, 0.5, 1.0]), np.zeros(4))
    assert law.variance() == 0.0


def test_small_scales_approach_the_point_mass():
    r = np.array([-2.0, -1e-3, 1e-3, 2.0])
    limit, near = GeneralizedNormal(0.8, 0.0), GeneralizedNormal(0.8, 1e-12)
    for name in ("cdf", "improvement", "pdf"):
        assert_allclose(getattr(near, name)(r), getattr(limit, name)(r), atol=1e-100)


@pytest.mark.parametrize("beta", [5e-324, 1e-10, 0.01, 0.1, 1.0, 10.0, 50.0, 1e5, 1e12, 1e300])
def test_never_nan_nor_a_warning_at_the_ends_of_float64(beta):
    largest = np.finfo(float).max
    size = np.array([0.0, 5e-324, 1e-300, 1e-16, 1.0, 1e3, 1e16, 1e300, largest, np.inf])
    q = np.array([0.0, 5e-324, 1e-16, 0.25, 0.5 - 2**-54, 0.5, 0.5 + 2**-53, 1 - 2**-53, 1.0])
    scale = np.array([0.0, 5e-324, 1e-300, 1.0, 1e300, largest])[:, np.newaxis]
    law = GeneralizedNormal(beta, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FUNCTIONS:
            assert not np.isnan(getattr(law, name)(np.concatenate((-size, size)))).any(), name
        assert not np.isnan(law.ppf(q)).any()
        assert not np.isnan(law.variance()).any()


@pytest.mark.parametrize("beta", [20.0, 100.0, 1e4])
def test_quantiles_near_the_median_survive_large_beta(beta):
    # All but uniform: x = s^beta underflows, s does not.
    q = 0.5 + np.array([-1e-5, 1e-9, 2.0**-52])
    law = GeneralizedNormal(beta, 1.0)
    assert_allclose(law.ppf(q), (q - 0.5) / law.pdf(0.0), rtol=1e-12)


def test_nan_gives_nan():
    law = GeneralizedNormal(1.5, 0.5)
    assert all(np.isnan(getattr(law, name)(np.nan)) for name in (*FUNCTIONS, "ppf"))


# --- the object


@pytest.mark.parametrize("name", [*FUNCTIONS, "ppf"])
def test_shapes_are_preserved_and_scalars_stay_scalars(name):
    function = getattr(GeneralizedNormal(1.3, 0.4), name)
    argument = np.linspace(0.05, 0.95, 24).reshape(2, 3, 4)
    values = function(argument)
    assert values.shape == argument.shape
    assert isinstance(function(0.3), np.float64)
    assert function(argument.tolist())[1, 2, 3] == function(argument[1, 2, 3])
    assert function(np.empty((0, 3))).shape == (0, 3)
    assert function(1).dtype == np.float64


@pytest.mark.parametrize("name", [*FUNCTIONS, "ppf"])
def test_arrays_of_parameters_broadcast_as_separate_laws(name):
    beta, scale = (
        np.array([0.2, 1.0, 5.0])[:, np.newaxis, np.newaxis],
        np.array([0.0, 0.1, 2.0, 9.0])[:, np.newaxis],
    )
    argument = (
        np.linspace(0.01, 0.99, 7) if name == "ppf" else np.array([-1e3, -20.0, -2.0, -0.1, 0.0, 1.0, 50.0])
    )
    together = getattr(GeneralizedNormal(beta, scale), name)(argument)
    assert together.shape == (3, 4, 7)
    for i, b in enumerate(beta.ravel()):
        for j, lam in enumerate(scale.ravel()):
            assert_array_equal(together[i, j], getattr(GeneralizedNormal(b, lam), name)(argument))


def test_is_a_law():
    assert isinstance(GeneralizedNormal(1.0, 1.0), Law)
    assert isinstance(Normal(), Law)


def test_equality_and_hash_follow_the_parameters():
    assert GeneralizedNormal(1, 2) == GeneralizedNormal(1.0, np.float64(2.0))
    assert hash(GeneralizedNormal(1, 2)) == hash(GeneralizedNormal(1.0, 2.0))
    assert GeneralizedNormal(1.0, 2.0) != GeneralizedNormal(2.0, 1.0)
    assert GeneralizedNormal([1.0, 2.0], 1.0) == GeneralizedNormal(np.array([1.0, 2.0]), 1.0)
    assert GeneralizedNormal([1.0, 2.0], 1.0) != GeneralizedNormal([1.0, 3.0], 1.0)
    assert GeneralizedNormal(2.0, 1.0) != Normal()


def test_a_law_cannot_change():
    beta = np.array([1.0, 2.0])
    law = GeneralizedNormal(beta, 1.0)
    beta[0] = 7.0
    assert law.beta[0] == 1.0
    with pytest.raises(FrozenInstanceError):
        law.scale = 3.0
    with pytest.raises(ValueError, match="read-only"):
        law.beta[0] = 3.0


def test_repr_shows_plain_numbers():
    assert repr(GeneralizedNormal(np.float64(0.5), np.array(2))) == "GeneralizedNormal(beta=0.5, scale=2.0)"


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_bad_beta_is_refused(beta):
    with pytest.raises(ValueError, match=r"^beta must be positive and finite, got \S+$"):
        GeneralizedNormal(beta, 1.0)


@pytest.mark.parametrize("scale", [-1e-9, np.nan, np.inf, [[1.0], [-2.0]]])
def test_bad_scale_is_refused(scale):
    with pytest.raises(ValueError, match=r"^scale must be nonnegative and finite, got \S+$"):
        GeneralizedNormal(1.0, scale)


@pytest.mark.parametrize("q", [-1e-9, 1.5, [0.5, np.inf]])
def test_bad_level_is_refused(q):
    with pytest.raises(ValueError, match=r"^q must be a probability level in \[0, 1\], got \S+$"):
        GeneralizedNormal(1.0, 1.0).ppf(q)
