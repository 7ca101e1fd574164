"""The standard normal law against mpmath at 50 digits."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tcgp.laws import Normal

RTOL = 1e-10  # the promise; what is attained is 1e-12 or better
LOG_ATOL = 1e-14  # the logarithm of an improvement near 1 keeps absolute precision only

FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "improvement", "log_improvement")

law = Normal()


def oracle(r):
    """log φ(r), log Φ(r) and log g(r), to 50 digits."""
    # r² takes 2 log10(r) digits, and g loses as many to cancellation.
    with mp.workdps(60 + 4 * max(0, int(np.log10(abs(r))))):
        t = abs(mp.mpf(r))
        log_density = -(t**2) / 2 - mp.log(2 * mp.pi) / 2
        mills = (
            mp.exp(t**2 / 2) * mp.erfc(t / mp.sqrt(2))
            if t < 40
            else mp.hyperu(0.5, 0.5, t**2 / 2) / mp.sqrt(mp.pi)
        )
        mills *= mp.sqrt(mp.pi / 2)
        log_tail, log_g = log_density + mp.log(mills), log_density + mp.log(1 - t * mills)
        if r > 0:
            log_tail, log_g = mp.log1p(-mp.exp(log_tail)), mp.log(t + mp.exp(log_g))
        return log_density, log_tail, log_g


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(2026)
    size = np.concatenate(
        (rng.uniform(0, 40, 500), 10 ** rng.uniform(-300, 1, 100), 10 ** rng.uniform(1, 150, 60))
    )
    r = size * rng.choice([-1.0, 1.0], size.size, p=[0.7, 0.3])
    return r, [oracle(v) for v in r]


@pytest.mark.parametrize(
    ("column", "name", "log_name"),
    [(0, "pdf", "logpdf"), (1, "cdf", "logcdf"), (2, "improvement", "log_improvement")],
)
def test_matches_mpmath_everywhere(reference, column, name, log_name):
    r, exact = reference
    values, log_values = getattr(law, name)(r), getattr(law, log_name)(r)
    for value, log_value, logs in zip(values, log_values, exact, strict=True):
        log_exact = logs[column]
        if log_exact > -690:
            assert abs(mp.mpf(float(value)) / mp.exp(log_exact) - 1) < RTOL
        else:
            assert value < 1e-299
        # The CDF near 1 has a logarithm near 0, which must be relatively accurate too until it underflows.
        atol = mp.mpf("1e-300") if column == 1 else LOG_ATOL
        assert abs(mp.mpf(float(log_value)) - log_exact) < RTOL * abs(log_exact) + atol


def test_ppf_solves_for_the_level_in_mpmath():
    rng = np.random.default_rng(7)
    near = 10 ** rng.uniform(-15.9, -0.4, 100)
    q = np.concatenate(
        (10 ** rng.uniform(-300, -0.3, 100), rng.uniform(size=100), 1 - near, 0.5 + near, 0.5 - near)
    )
    for level, r in zip(q, law.ppf(q), strict=True):
        with mp.workdps(350):
            step = (mp.ncdf(mp.mpf(r)) - mp.mpf(level)) / (mp.npdf(mp.mpf(r)) * mp.mpf(r))
        assert abs(step) < RTOL


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-3, 10.0))
def test_improvement_is_increasing_convex_and_above_the_positive_part(a, width):
    left, middle, right = law.improvement(a + width * np.array([-1.0, 0.0, 1.0]))
    assert max(a, 0.0) <= middle <= right
    assert left <= middle <= 0.5 * (left + right) * (1 + 1e-12)


@settings(deadline=None)
@given(st.floats(-8.0, 8.0))
def test_derivative_of_improvement_is_cdf(a):
    step = 1e-5
    quotient = (law.improvement(a + step) - law.improvement(a - step)) / (2 * step)
    # Truncation φ'(a) step² / 6 < 1e-11, rounding 1e-15 / step < 1e-9.
    assert_allclose(quotient, law.cdf(a), atol=1e-9)


@settings(deadline=None)
@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_cdf_of_ppf_is_the_level(q):
    assert_allclose(law.cdf(law.ppf(q)), q, rtol=1e-11)


def test_branches_meet():
    below, above = law.log_improvement(-6.5 + np.array([-1e-13, 1e-13]))
    # The function itself moves by 1e-12 here.
    assert_allclose(below, above, rtol=1e-12)


def test_limits_have_neither_nan_nor_warnings():
    r = np.array([-np.inf, -1e300, -1e160, -5e-324, 0.0, 5e-324, 1e160, 1e300, np.inf])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(np.isnan(getattr(law, name)(r)).any() for name in FUNCTIONS)
        assert_array_equal(law.cdf(r[[0, -1]]), [0.0, 1.0])
        assert_array_equal(law.logcdf(r[[0, -1]]), [-np.inf, 0.0])
        assert_array_equal(law.improvement(r[[0, 1, -2, -1]]), [0.0, 0.0, 1e300, np.inf])
        assert_array_equal(law.log_improvement(r[[0, 1, -1]]), [-np.inf, -np.inf, np.inf])
        assert_array_equal(law.ppf([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf])


@pytest.mark.parametrize("name", [*FUNCTIONS, "ppf"])
def test_shapes_are_preserved_and_scalars_stay_scalars(name):
    function = getattr(law, name)
    argument = np.linspace(0.05, 0.95, 24).reshape(2, 3, 4)
    assert function(argument).shape == argument.shape
    assert function(argument.tolist())[1, 2, 3] == function(argument[1, 2, 3])
    assert isinstance(function(1), np.float64)
    assert function([]).shape == (0,)


def test_all_standard_normals_are_equal():
    assert Normal() == Normal()
    assert hash(Normal()) == hash(Normal())
    assert law.variance() == 1.0


@pytest.mark.parametrize("q", [-1e-9, 1.5, [0.5, np.inf]])
def test_bad_level_is_refused(q):
    with pytest.raises(ValueError, match=r"^q must be a probability level in \[0, 1\], got \S+$"):
        law.ppf(q)
