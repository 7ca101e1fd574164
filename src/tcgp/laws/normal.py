"""The standard normal law: what a plain Gaussian process assumes of its residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcgp._typing import ArrayLike, FloatArray
from tcgp.laws._levels import as_levels

__all__ = ["Normal"]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)

# Below −_FAR the improvement comes from a continued fraction; _LEVELS of it give full precision there.
_FAR = 5.0
_LEVELS = 20


@dataclass(frozen=True)
class Normal:
    """The standard normal law N(0, 1).

    Examples
    --------
    >>> from tcgp.laws import Normal
    >>> law = Normal()
    >>> law.cdf([-1.0, 0.0, 1.0]).round(4)
    array([0.1587, 0.5   , 0.8413])
    >>> print(law.improvement(-40.0), law.log_improvement(-40.0).round(4))
    0.0 -808.2986
    """

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density at r."""
        return np.exp(self.logpdf(r))

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r."""
        with np.errstate(over="ignore"):
            out: FloatArray = -0.5 * np.square(np.asarray(r, dtype=float)) - _LOG_SQRT_2PI
        return out

    def cdf(self, r: ArrayLike) -> FloatArray:
        """Φ(r)."""
        out: FloatArray = special.ndtr(np.asarray(r, dtype=float))
        return out

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """log Φ(r)."""
        out: FloatArray = special.log_ndtr(np.asarray(r, dtype=float))
        return out

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile Φ⁻¹(q) of level q in [0, 1]."""
        out: FloatArray = special.ndtri(as_levels(q))
        return out

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊] = a Φ(a) + φ(a)."""
        a = np.asarray(a, dtype=float)
        out: FloatArray = np.exp(_log_tail_improvement(np.abs(a))) + np.maximum(a, 0.0)
        return out

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        a = np.asarray(a, dtype=float)
        log_tail = _log_tail_improvement(np.abs(a))
        # g(a) = a + g(−a): for a > 0 both terms are positive, so nothing cancels.
        with np.errstate(divide="ignore"):
            upper = np.log(np.maximum(a, 0.0) + np.exp(log_tail))
        return np.where(a > 0.0, upper, log_tail)[()]

    def variance(self) -> FloatArray:
        """1."""
        return np.float64(1.0)  # type: ignore[return-value]


def _log_tail_improvement(t: FloatArray) -> FloatArray:
    """log g(−t) for t ≥ 0, where g(−t) = φ(t) [1 − t M(t)] and M(t) = Φ(−t) / φ(t) is Mills' ratio."""
    near = np.minimum(t, _FAR)
    # t <= 5: 1 − t M(t) decreases from 1 to 0.035, so the difference loses two digits at most.
    bracket = 1.0 - near * _SQRT_HALF_PI * special.erfcx(near * np.sqrt(0.5))
    far = t > _FAR
    if far.any():
        # t > 5: 1 − t M(t) ≈ 1/t² cancels. With M(t) = 1/(t + c), c = 1/(t + 2/(t + 3/(t + …))) (Laplace), it
        # is c/(t + c), a quotient of positive numbers. c is finite and 1/t beyond t = 1e154 and 0 at t = ∞.
        t_far = np.maximum(t, _FAR)
        c = np.zeros_like(t_far)
        for k in range(_LEVELS, 0, -1):
            c = k / (t_far + c)
        bracket = np.where(far, c / (t_far + c), bracket)
    with np.errstate(over="ignore", divide="ignore"):
        out: FloatArray = np.log(bracket) - (0.5 * np.square(t) + _LOG_SQRT_2PI)
    return out
