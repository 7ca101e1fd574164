"""Tables of the generalized normal law, built once per process, that make a scan of (beta, scale) cheap.

Θ_{beta,scale}(r) depends on r and scale only through log|r| − log scale. With Q = 2 Θ(−|r|), the probability
of a larger |r|, the table holds H = log(−log Q) on a grid of (log beta, zeta), where zeta grows like
log|r| − log scale below the median of |r| and like beta (log|r| − log scale) above it. In these coordinates H
is nearly linear far on both sides, so that bilinear interpolation and linear extrapolation are accurate:
the error on Q is below 1e-4, and 3e-6 on average, for every beta in the range.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special

from tcgp._typing import FloatArray
from tcgp.laws import GeneralizedNormal

__all__ = ["TailTable", "tail_table"]

_LOG_BETA_STEPS = 192
_ZETA_START, _ZETA_STOP, _ZETA_STEP = -10.0, 14.0, 1 / 32
# The logarithm of the median of |r| goes from 23 to −1 over beta in [0.1, 10]: it needs a finer grid.
_MEDIAN_REFINEMENT = 10


class TailTable:
    """Interpolates log(−log Q) over a range of beta; see the head of this module."""

    def __init__(self, beta_range: tuple[float, float]) -> None:
        self.start, stop = np.log(beta_range)
        self.step = (stop - self.start) / _LOG_BETA_STEPS
        fine_grid = np.linspace(self.start, stop, _LOG_BETA_STEPS * _MEDIAN_REFINEMENT + 1)
        self._fine_grid = fine_grid
        self._log_median = np.log(special.gammaincinv(np.exp(-fine_grid), 0.5)) * np.exp(-fine_grid)
        beta = np.exp(fine_grid[::_MEDIAN_REFINEMENT, None])
        zeta = _ZETA_START + _ZETA_STEP * np.arange(round((_ZETA_STOP - _ZETA_START) / _ZETA_STEP) + 1)
        log_ratio = np.where(zeta > 0.0, zeta / beta, zeta) + self._log_median[::_MEDIAN_REFINEMENT, None]
        log_q = GeneralizedNormal(beta, 1.0).logcdf(-np.exp(log_ratio)) + np.log(2.0)
        self._columns = len(zeta)
        self._values = np.log(-log_q).ravel()

    def log_median(self, log_beta: FloatArray) -> FloatArray:
        """Logarithm of the median of |r| under laws of scale one; (m,)."""
        out: FloatArray = np.interp(log_beta, self._fine_grid, self._log_median)
        return out

    def log_neg_log_q(self, log_beta: FloatArray, nu: FloatArray, log_abs: FloatArray) -> FloatArray:
        """H at m laws, given by log beta and nu = log scale + log median (m,), and n values of log|r|; (m, n)."""
        row = (log_beta - self.start) / self.step
        i = np.minimum(row.astype(np.intp), _LOG_BETA_STEPS - 1)
        u = (row - i)[:, None]
        log_ratio = log_abs - nu[:, None]
        zeta = np.where(log_ratio > 0.0, np.exp(log_beta)[:, None] * log_ratio, log_ratio)
        # Below the table H goes on with the slope of its first cell, above it with slope 1, its limit.
        beyond = np.maximum(zeta - _ZETA_STOP, 0.0)
        column = (zeta - beyond - _ZETA_START) * (1.0 / _ZETA_STEP)
        j = np.minimum(np.maximum(column, 0.0), self._columns - 2.0).astype(np.intp)
        v = column - j
        j += (i * self._columns)[:, None]
        values = self._values
        lower: FloatArray = values.take(j)
        lower += v * (values.take(j + 1) - lower)
        j += self._columns
        upper = values.take(j)
        upper += v * (values.take(j + 1) - upper)
        lower += u * (upper - lower)
        lower += beyond
        return lower


@lru_cache(maxsize=4)
def tail_table(beta_range: tuple[float, float]) -> TailTable:
    """The table of a range of beta, built at the first call (about 20 ms)."""
    return TailTable(beta_range)
