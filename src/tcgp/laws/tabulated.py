"""The improvement of a generalized normal law from a table, for searches, which need it often and at few points.

An exact call costs ten times as much, nearly all of it overhead for small arrays.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import special

from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray
from tcgp.laws._gamma import log_gamma_spread_and_ratio
from tcgp.laws._reflection import log_reflected_improvement, log_reflected_improvement_and_slope
from tcgp.laws.base import Improvement, Law
from tcgp.laws.generalized_normal import GeneralizedNormal

__all__ = ["TabulatedImprovement", "tabulated"]

# The shapes for which the error was checked: those of tail calibration.
_SHAPES = (0.1, 10.0)
_STEP, _N_LEFT, _N_RIGHT = 1 / 32, 576, 576  # of zeta, which goes from -18 to 18


def tabulated(law: Law) -> Improvement:
    """The improvement of a law from a table where that is faster; otherwise the law itself.

    Examples
    --------
    >>> from tcgp.laws import GeneralizedNormal, Normal
    >>> from tcgp.laws.tabulated import tabulated
    >>> law = GeneralizedNormal(10.0, 0.5)
    >>> print(tabulated(law).log_improvement(-0.7).round(6), law.log_improvement(-0.7).round(6))
    -41.010941 -41.010941
    >>> tabulated(Normal())
    Normal()
    """
    if not isinstance(law, GeneralizedNormal) or np.ndim(law.beta) or np.ndim(law.scale):
        return law
    return _table(law) if _SHAPES[0] <= law.beta <= _SHAPES[1] and law.scale > 0.0 else law


@functools.lru_cache(maxsize=4)  # the search and the record of an iteration use the same table
def _table(law: GeneralizedNormal) -> TabulatedImprovement:
    return TabulatedImprovement(law)


class TabulatedImprovement:
    """log g and its slope by cubic Hermite interpolation: continuous, and each the derivative of the other.

    With r = |a| / scale and x = r^beta, g(−|a|) = scale S(r) / 2. Below the median of |R| the table holds
    log S, above it log S + x, in a coordinate zeta that is zero at the median and grows like log r below it and
    like log x above: there both are smooth, and linear at the ends. The error of log g is below 1e-7, relative
    where log g is below −1.

    Parameters
    ----------
    law : GeneralizedNormal
        With a scalar shape in [0.1, 10] and a positive scale.
    """

    def __init__(self, law: GeneralizedNormal) -> None:
        self.beta, self.scale = float(law.beta), float(law.scale)

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of E[(a − R)₊]."""
        a = np.asarray(a, dtype=float)
        return log_reflected_improvement(a, self._tail(a)[0])

    def log_improvement_and_slope(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """`log_improvement` and its derivative."""
        a = np.asarray(a, dtype=float)
        return log_reflected_improvement_and_slope(a, *self._tail(a))

    def _tail(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log g(−|a|), and its derivative with respect to −|a|."""
        smallest, largest = self._range
        r = np.abs(a) * (1.0 / self.scale)
        r = np.minimum(np.maximum(r, smallest), largest)
        log_r = np.log(r)
        zeta = log_r - self._log_median
        above = zeta > 0.0
        stretch = np.where(above, self.beta / _STEP, 1.0 / _STEP)
        position = zeta * stretch + _N_LEFT
        cell = np.minimum(position, _N_LEFT + _N_RIGHT).astype(np.intp)
        u = position - cell
        coefficients = self._coefficients.take(cell, axis=0)
        c0, c1, c2, c3 = (coefficients[..., i] for i in range(4))
        c3u = c3 * u
        log_tail = c0 + u * (c1 + u * (c2 + c3u))
        rise = (c1 + u * (2.0 * c2 + 3.0 * c3u)) * stretch
        x = np.where(above, np.exp(self.beta * log_r), 0.0)
        log_tail -= x
        rise -= self.beta * x
        return log_tail, rise / (-self.scale * r)

    @cached_property
    def _log_median(self) -> float:
        """log of the median of |R| / scale."""
        return float(np.log(special.gammaincinv(1.0 / self.beta, 0.5)) / self.beta)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The r of the first node, below which g is as good as constant, and an r short of overflow of x."""
        smallest = np.exp(self._log_median - _STEP * _N_LEFT)
        return float(smallest), float(np.exp(min(600.0 / self.beta, 600.0)))

    @cached_property
    def _coefficients(self) -> FloatArray:
        """Coefficients of the cubic of each cell in powers of the position in it, (cells, 4)."""
        left = self._log_median + _STEP * np.arange(-_N_LEFT, 1)
        right = self._log_median + _STEP / self.beta * np.arange(_N_RIGHT + 1)
        log_r = np.concatenate([left, right])
        r, x = np.exp(log_r), np.exp(self.beta * log_r)
        log_spread, ratio = log_gamma_spread_and_ratio(1.0 / self.beta, x, r)
        height = log_spread + np.log(0.5 * self.scale)
        slope = -_STEP * r * ratio
        height[_N_LEFT + 1 :] += x[_N_LEFT + 1 :]
        slope[_N_LEFT + 1 :] = slope[_N_LEFT + 1 :] / self.beta + _STEP * x[_N_LEFT + 1 :]
        # The pair of nodes at the median, seen from either side, bounds no cell.
        start = np.delete(np.arange(len(log_r) - 1), _N_LEFT)
        rise, first, last = height[start + 1] - height[start], slope[start], slope[start + 1]
        cells = [height[start], first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise]
        beyond = np.array([height[-1], slope[-1], 0.0, 0.0])
        return np.vstack([np.column_stack(cells), beyond])
