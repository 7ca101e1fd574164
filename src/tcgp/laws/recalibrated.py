"""The standard normal law with recalibrated quantiles: the residual law of onGP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray, IntArray
from tcgp.laws._levels import as_levels
from tcgp.laws.normal import Normal

__all__ = ["RecalibratedNormal"]

# Values of the map closer than this count as equal: the law has an atom there.
_FLAT = 1e-12
# Values of the map stay this far from 0 and 1, so that the law has full support.
_MARGIN = 1e-9
# Pieces narrower than this in r are treated as linear there: their closed forms would cancel.
_NARROW = 1e-4


@dataclass(frozen=True, eq=False)
class RecalibratedNormal:
    """The law with quantile function Φ⁻¹(R(p)), for a nondecreasing piecewise linear map R of [0, 1].

    R passes through (0, 0), the given points (levels, values) and (1, 1). The CDF is R⁻¹(Φ(r)). Between two
    values of R it is an affine function of Φ, so everything has a closed form. Where R is flat the law
    has an atom, and the CDF, right-continuous, jumps; `pdf` is the density of the rest.

    Parameters
    ----------
    levels : array of shape (m,)
        Increasing levels in (0, 1).
    values : array of shape (m,)
        Nondecreasing values of R, at least 1e-9 away from 0 and 1.

    Examples
    --------
    A map that pulls levels away from 1/2 makes a law wider than N(0, 1):

    >>> from tcgp.laws import Normal, RecalibratedNormal
    >>> law = RecalibratedNormal(levels=[0.25, 0.75], values=[0.1, 0.9])
    >>> law.ppf([0.25, 0.5, 0.75]).round(3)
    array([-1.282,  0.   ,  1.282])
    >>> bool(law.variance() > Normal().variance())
    True
    """

    levels: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        levels, values = np.array(self.levels, dtype=float), np.array(self.values, dtype=float)
        if levels.shape != values.shape or levels.ndim != 1 or len(levels) == 0:
            raise ValueError(
                "levels and values must share one shape (m,) with m >= 1, "
                f"got {levels.shape} and {values.shape}"
            )
        if not (levels[0] > 0.0 and levels[-1] < 1.0 and np.all(np.diff(levels) > 0.0)):
            raise ValueError(f"levels must increase strictly inside (0, 1), got {levels}")
        if not (values[0] >= _MARGIN and values[-1] <= 1.0 - _MARGIN and np.all(np.diff(values) >= 0.0)):
            raise ValueError(f"values must be nondecreasing in [{_MARGIN:g}, 1 - {_MARGIN:g}], got {values}")
        for name, array in (("levels", levels), ("values", values)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecalibratedNormal):
            return NotImplemented
        return np.array_equal(self.levels, other.levels) and np.array_equal(self.values, other.values)

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density at r of the part of the law without atoms."""
        return np.exp(self.logpdf(r))

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r of the part of the law without atoms."""
        r = np.asarray(r, dtype=float)
        out: FloatArray = np.log(self._pieces.slope)[self._pieces.of(r)] + Normal().logpdf(r)
        return out

    def cdf(self, r: ArrayLike) -> FloatArray:
        """R⁻¹(Φ(r)) = P(R ≤ r)."""
        r = np.asarray(r, dtype=float)
        pieces = self._pieces
        i = pieces.of(r)
        # Φ(r) − v and, in the last piece, 1 − Φ(r): the side on which nothing cancels.
        rising = pieces.start_level[i] + pieces.slope[i] * (special.ndtr(r) - pieces.start_value[i])
        last = np.maximum(1.0 - pieces.slope[-1] * special.ndtr(-r), pieces.start_level[-1])
        inner = np.clip(rising, pieces.start_level[i], pieces.end_level[i])
        out: FloatArray = np.where(i == len(pieces.slope) - 1, last, inner)[()]
        return out

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, finite where the probability itself underflows."""
        r = np.asarray(r, dtype=float)
        first = np.log(self._pieces.slope[0]) + special.log_ndtr(r)
        with np.errstate(divide="ignore"):
            return np.where(self._pieces.of(r) == 0, first, np.log(self.cdf(r)))[()]

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile Φ⁻¹(R(q)) of level q in [0, 1]."""
        q = as_levels(q)
        levels = np.concatenate([[0.0], self.levels, [1.0]])
        values = np.concatenate([[0.0], self.values, [1.0]])
        # The end pieces from their own ends: no level near 0 or 1 is rounded.
        upper = -special.ndtri(np.minimum((1.0 - q) * (1.0 - values[-2]) / (1.0 - levels[-2]), 1.0))
        lower = special.ndtri(np.interp(q, levels, values))
        out: FloatArray = np.where(q > levels[-2], upper, lower)[()]
        return out

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊] = ∫ cdf over (−∞, a]."""
        a = np.asarray(a, dtype=float)
        pieces = self._pieces
        i = pieces.of(a)
        first = pieces.slope[0] * Normal().improvement(a)
        with np.errstate(invalid="ignore"):  # ∞ − ∞ in the branches that are not taken
            # In the last piece E[(a − R)₊] = a − E[R] + E[(R − a)₊], whose last term has the form of the first.
            last = a - self._mean + pieces.slope[-1] * Normal().improvement(-a)
            inner = self._improvement_at_start[i] + _piece_integral(pieces, i, a)
        out = np.where(i == 0, first, np.where(i == len(pieces.slope) - 1, last, inner))
        return out[()]

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        a = np.asarray(a, dtype=float)
        first = np.log(self._pieces.slope[0]) + Normal().log_improvement(a)
        with np.errstate(divide="ignore"):
            return np.where(self._pieces.of(a) == 0, first, np.log(self.improvement(a)))[()]

    def log_improvement_and_slope(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """`log_improvement` and its derivative, cdf / improvement."""
        a = np.asarray(a, dtype=float)
        first = self._pieces.of(a) == 0
        normal, slope = Normal().log_improvement_and_slope(a)
        log_first = np.log(self._pieces.slope[0]) + normal
        if first.all():
            return log_first, slope
        g = self.improvement(a)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(first, log_first, np.log(g))[()], np.where(first, slope, self.cdf(a) / g)[()]

    def variance(self) -> FloatArray:
        """E[R²] − E[R]²."""
        first, second = self._moments
        return np.float64(second - first**2)  # type: ignore[return-value]

    @cached_property
    def _pieces(self) -> _Pieces:
        """The affine pieces of the CDF as a function of Φ."""
        levels = np.concatenate([[0.0], self.levels, [1.0]])
        values = np.concatenate([[0.0], self.values, [1.0]])
        rising = np.diff(values) > _FLAT
        start, end = np.flatnonzero(rising), np.flatnonzero(rising) + 1
        with np.errstate(divide="ignore"):
            knots = special.ndtri(values)
        return _Pieces(
            start_level=levels[start],
            end_level=levels[end],
            start_value=values[start],
            start=knots[start],
            end=knots[end],
            slope=(levels[end] - levels[start]) / (values[end] - values[start]),
        )

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """E[R] and E[R²]."""
        pieces = self._pieces
        mass = pieces.end_level - pieces.start_level
        # ∫ r φ = −φ and ∫ r² φ = Φ − r φ, with r φ = 0 at ±∞.
        density = np.exp(-0.5 * np.array([pieces.start, pieces.end]) ** 2) / np.sqrt(2.0 * np.pi)
        ends = np.where(np.isfinite([pieces.start, pieces.end]), [pieces.start, pieces.end], 0.0)
        first = -pieces.slope * (density[1] - density[0])
        second = mass - pieces.slope * (ends[1] * density[1] - ends[0] * density[0])
        narrow = pieces.end - pieces.start < _NARROW
        middle = ends.mean(axis=0)
        first = np.where(narrow, mass * middle, first)
        second = np.where(narrow, mass * middle**2, second)
        # What no piece carries is in atoms, each where a piece starts.
        jumps = pieces.start_level - np.concatenate([[0.0], pieces.end_level[:-1]])
        return float((first + jumps * ends[0]).sum()), float((second + jumps * ends[0] ** 2).sum())

    @property
    def _mean(self) -> float:
        return self._moments[0]

    @cached_property
    def _improvement_at_start(self) -> FloatArray:
        """g where each piece starts; 0 for the first, which starts at −∞."""
        pieces = self._pieces
        out = np.zeros(len(pieces.slope))
        if len(out) > 1:
            inner = np.arange(1, len(out) - 1)
            growth = _piece_integral(pieces, inner, pieces.end[inner])
            first = pieces.slope[0] * Normal().improvement(pieces.start[1])
            out[1:] = first + np.concatenate([[0.0], np.cumsum(growth)])
        return out


@dataclass(frozen=True)
class _Pieces:
    """Pieces of the real line on which the CDF is start_level + slope (Φ(r) − start_value); all (m,)."""

    start_level: FloatArray
    end_level: FloatArray
    start_value: FloatArray
    start: FloatArray
    end: FloatArray
    slope: FloatArray

    def of(self, r: FloatArray) -> IntArray:
        """Index of the piece that holds r, the right one where two meet."""
        return np.searchsorted(self.start[1:], r, side="right")


def _piece_integral(pieces: _Pieces, i: IntArray, a: FloatArray) -> FloatArray:
    """Integral of the CDF from the start of piece i to a, a point of that piece."""
    start, level, value = pieces.start[i], pieces.start_level[i], pieces.start_value[i]
    width = a - start
    # ∫ Φ = r Φ + φ, which is what N(0, 1) improves by.
    rise = Normal().improvement(a) - Normal().improvement(start) - value * width
    at_a = np.minimum(level + pieces.slope[i] * (special.ndtr(a) - value), pieces.end_level[i])
    trapezium = 0.5 * width * (level + at_a)
    return np.where(width < _NARROW, trapezium, level * width + pieces.slope[i] * rise)
