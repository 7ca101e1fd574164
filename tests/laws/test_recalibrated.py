"""The recalibrated normal law against quadrature, simulation and its own definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, special

from tcgp.calibration import online_law, online_recalibration_map
from tcgp.laws import Law, Normal
from tcgp.laws.recalibrated import RecalibratedNormal

LEVELS = np.arange(1, 100) / 100


def learned(seed: int) -> RecalibratedNormal:
    """A map as onGP makes it: flat pieces (atoms) and steep ones."""
    residuals = np.random.default_rng(seed).standard_t(3, size=80)
    return RecalibratedNormal(LEVELS, online_recalibration_map(special.ndtr(residuals)))


LAWS = {
    "smooth": RecalibratedNormal(LEVELS, special.betainc(1.7, 0.8, LEVELS)),
    "learned": learned(0),
    "learned again": learned(1),
    "three levels, an atom": RecalibratedNormal([0.25, 0.5, 0.75], [0.3, 0.3, 0.9]),
    "one level": RecalibratedNormal([0.2], [0.6]),
    "nearly flat": RecalibratedNormal([0.2, 0.5, 0.8], [0.3, 0.3 + 1e-9, 0.300001]),
    "all mass at a point": RecalibratedNormal([1e-6, 1.0 - 1e-6], [0.4, 0.4]),
    "extreme": RecalibratedNormal([0.01, 0.99], [1e-9, 1.0 - 1e-9]),
}


def knots(law: RecalibratedNormal) -> np.ndarray:
    """Where the CDF is not smooth, as far as they differ by more than rounding."""
    points = np.unique(special.ndtri(law.values))
    return points[np.r_[True, np.diff(points) > 1e-12]]


def integral_of_cdf(law: RecalibratedNormal, a: float) -> float:
    """∫ cdf over (−∞, a] by quadrature, piece by piece."""
    ends = np.unique(np.r_[-40.0, knots(law)[knots(law) < a], a])
    return sum(
        integrate.quad(lambda s: float(law.cdf(s)), lo, hi, epsabs=1e-14, epsrel=1e-12)[0]
        for lo, hi in itertools.pairwise(ends)
    )


def test_law_has_the_interface_of_laws() -> None:
    assert isinstance(LAWS["smooth"], Law)


def test_identity_map_gives_the_normal_law() -> None:
    law, normal = RecalibratedNormal(LEVELS, LEVELS), Normal()
    r = np.linspace(-30.0, 8.0, 500)
    for name in ("pdf", "logpdf", "cdf", "logcdf", "improvement", "log_improvement"):
        np.testing.assert_allclose(getattr(law, name)(r), getattr(normal, name)(r), rtol=1e-11, atol=1e-14)
    q = np.array([1e-300, 1e-10, 0.1, 0.5, 0.9, 1.0 - 1e-10])
    np.testing.assert_allclose(law.ppf(q), normal.ppf(q), rtol=1e-11, atol=1e-13)
    assert law.variance() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_cdf_is_the_generalized_inverse_of_the_map(name: str) -> None:
    law = LAWS[name]
    p = np.linspace(0.0, 1.0, 200_001)
    R = np.interp(p, np.r_[0.0, law.levels, 1.0], np.r_[0.0, law.values, 1.0])
    # No point at an atom: rounding decides on which side of it such a point lies.
    r = np.linspace(-4.0, 4.0, 172)
    assert np.abs(r[:, None] - knots(law)).min() > 1e-9
    # sup{p : R(p) ≤ Φ(r)}, found on a grid of p: off by a step of it.
    expected = p[np.searchsorted(R, special.ndtr(r), side="right") - 1]
    np.testing.assert_allclose(law.cdf(r), expected, atol=1e-5)


@pytest.mark.parametrize("name", LAWS)
def test_law_is_proper(name: str) -> None:
    law = LAWS[name]
    r = np.unique(np.r_[np.linspace(-10.0, 10.0, 2001), knots(law), np.nextafter(knots(law), -np.inf)])
    cdf = law.cdf(r)
    assert np.all(np.diff(cdf) >= 0.0)
    assert law.cdf(-np.inf) == 0.0
    assert law.cdf(np.inf) == 1.0
    assert np.all((cdf >= 0.0) & (cdf <= 1.0))


def test_cdf_is_right_continuous_at_an_atom() -> None:
    law = LAWS["three levels, an atom"]
    atom = float(special.ndtri(0.3))
    assert law.cdf(atom) == pytest.approx(0.5)
    assert law.cdf(np.nextafter(atom, -np.inf)) == pytest.approx(0.25)
    np.testing.assert_allclose(law.ppf([0.25, 0.3, 0.5]), atom)


@pytest.mark.parametrize("name", LAWS)
def test_quantile_inverts_the_cdf(name: str) -> None:
    law = LAWS[name]
    q = np.r_[1e-12, np.linspace(0.001, 0.999, 400), 1.0 - 1e-12]
    r = law.ppf(q)
    # Φ⁻¹ then Φ: a relative error of 1e-15 or so on values, steepened by the inverse of the map.
    levels, values = np.diff(np.r_[0.0, law.levels, 1.0]), np.diff(np.r_[0.0, law.values, 1.0])
    slack = 1e-13 * (levels[values > 1e-12] / values[values > 1e-12]).max() + 1e-12
    assert np.all(law.cdf(r + 1e-12) >= q - slack)
    assert np.all(law.cdf(r - 1e-9) <= q + slack)
    assert law.ppf(0.0) == -np.inf
    assert law.ppf(1.0) == np.inf


@pytest.mark.parametrize("name", LAWS)
def test_improvement_is_the_integral_of_the_cdf(name: str) -> None:
    law = LAWS[name]
    for a in (-6.0, -2.5, -1.0, -0.5, -0.1, 0.0, 0.3, 1.0, 2.5, 5.0):
        # Quadrature of a function with kinks inside narrow pieces: 1e-9 is what it reaches.
        assert law.improvement(a) == pytest.approx(integral_of_cdf(law, a), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("name", LAWS)
def test_improvement_is_increasing_convex_and_continuous(name: str) -> None:
    law = LAWS[name]
    a = np.unique(np.r_[np.linspace(-5.0, 5.0, 1001), knots(law), np.nextafter(knots(law), -np.inf)])
    g = law.improvement(a)
    assert np.all(np.diff(g) >= -1e-12)
    slopes = np.diff(g) / np.diff(a)
    wide = np.diff(a) > 1e-4
    # Differences of numbers of order 1 over steps of 1e-4.
    assert np.all(np.diff(slopes[wide]) >= -1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_the_quantile_function(name: str) -> None:
    law = LAWS[name]
    ends = np.r_[0.0, law.levels, 1.0]

    def moment(k: int) -> float:
        return sum(
            integrate.quad(lambda p: float(law.ppf(p)) ** k, lo, hi, epsabs=1e-13, limit=200)[0]
            for lo, hi in itertools.pairwise(ends)
        )

    # Quadrature meets logarithmic singularities at both ends.
    assert law.variance() == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", ["smooth", "learned", "extreme"])
def test_density_is_the_derivative_of_the_cdf(name: str) -> None:
    law = LAWS[name]
    r = np.linspace(-3.7, 3.7, 101) + 1e-3
    h = 1e-6
    away = np.abs(r[:, None] - knots(law)).min(axis=1) > 2 * h
    derivative = (law.cdf(r + h) - law.cdf(r - h)) / (2 * h)
    np.testing.assert_allclose(law.pdf(r)[away], derivative[away], rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", LAWS)
def test_far_lower_tail_is_that_of_the_normal_law_times_a_constant(name: str) -> None:
    law, normal = LAWS[name], Normal()
    a = np.array([-1e3, -200.0, -50.0, -10.0])
    constant = np.log(law.levels[0] / law.values[0])
    np.testing.assert_allclose(law.logcdf(a), normal.logcdf(a) + constant, rtol=1e-13)
    np.testing.assert_allclose(law.log_improvement(a), normal.log_improvement(a) + constant, rtol=1e-13)


@pytest.mark.parametrize("name", LAWS)
def test_logarithms_are_those_of_the_values(name: str) -> None:
    law = LAWS[name]
    r = np.linspace(-8.0, 8.0, 201)
    np.testing.assert_allclose(law.logcdf(r), np.log(law.cdf(r)), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(law.log_improvement(r), np.log(law.improvement(r)), rtol=1e-10, atol=1e-14)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", LAWS)
def test_infinite_arguments_give_limits(name: str) -> None:
    law = LAWS[name]
    assert law.improvement(-np.inf) == 0.0
    assert law.improvement(np.inf) == np.inf
    assert law.log_improvement(-np.inf) == -np.inf
    assert law.logcdf(np.inf) == 0.0
    assert law.logpdf(-np.inf) == -np.inf


def test_improvement_far_above_is_a_minus_the_mean() -> None:
    law = LAWS["learned"]
    mean = np.mean(law.ppf((np.arange(2_000_000) + 0.5) / 2_000_000))
    assert law.improvement(1e3) == pytest.approx(1e3 - mean, abs=1e-5)


def test_shapes_follow_the_argument() -> None:
    law = LAWS["learned"]
    for name in ("pdf", "logpdf", "cdf", "logcdf", "improvement", "log_improvement"):
        assert getattr(law, name)(np.zeros((3, 2))).shape == (3, 2)
        assert np.ndim(getattr(law, name)(0.0)) == 0
    assert law.ppf(np.full((3, 2), 0.5)).shape == (3, 2)


def test_equal_maps_make_equal_laws() -> None:
    residuals = np.random.default_rng(0).standard_normal(30)
    assert online_law(residuals) == online_law(residuals)
    assert online_law(residuals) != online_law(-residuals)


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        ([0.5, 0.4], [0.2, 0.3], "levels must increase"),
        ([0.0, 0.4], [0.2, 0.3], "levels must increase"),
        ([0.2, 0.4], [0.3, 0.2], "values must be nondecreasing"),
        ([0.2, 0.4], [0.0, 0.2], "values must be nondecreasing"),
        ([0.2, 0.4], [0.3], "must share one shape"),
        ([], [], "must share one shape"),
    ],
)
def test_what_is_no_map_is_refused(levels: list[float], values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecalibratedNormal(levels, values)
