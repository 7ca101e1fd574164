"""The standard normal law, which a plain Gaussian process assumes for its residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcgp._typing import ArrayLike, FloatArray
from tcgp.laws._gamma import scaled_gamma
from tcgp.laws._levels import as_levels
from tcgp.laws._reflection import (
    log_reflected_improvement,
    log_reflected_improvement_and_slope,
    reflected_improvement,
)

__all__ = ["Normal"]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF = np.sqrt(0.5)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)
_LARGEST = np.finfo(float).max

# Beyond this many standard deviations the improvement comes from a continued fraction.
_FAR = 6.5


@dataclass(frozen=True)
class Normal:
    """The standard normal distribution N(0, 1).

    Examples
    --------
    >>> from tcgp.laws import Normal
    >>> law = Normal()
    >>> law.cdf([-1.0, 0.0, 1.0]).round(4)
    array([0.1587, 0.5   , 0.8413])

    The improvement at −40 is too small a number, its logarithm is not:

    >>> print(law.improvement(-40.0), law.log_improvement(-40.0).round(4))
    0.0 -808.2986
    """

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density φ(r)."""
        return np.exp(self.logpdf(r))

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r."""
        with np.errstate(over="ignore"):
            out: FloatArray = -0.5 * np.square(np.asarray(r, dtype=float)) - _LOG_SQRT_2PI
        return out

    def cdf(self, r: ArrayLike) -> FloatArray:
        """Φ(r) = P(R ≤ r)."""
        out: FloatArray = special.ndtr(np.asarray(r, dtype=float))
        return out

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, finite where the probability itself underflows."""
        out: FloatArray = special.log_ndtr(np.asarray(r, dtype=float))
        return out

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile Φ⁻¹(q) of level q in [0, 1]."""
        out: FloatArray = special.ndtri(as_levels(q))
        return out

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊] = a Φ(a) + φ(a)."""
        a = np.asarray(a, dtype=float)
        return reflected_improvement(a, _tail_improvement(np.abs(a))[0])

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        a = np.asarray(a, dtype=float)
        return log_reflected_improvement(a, _tail_improvement(np.abs(a))[0])

    def log_improvement_and_slope(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """`log_improvement` and its derivative Φ(a) / g(a)."""
        a = np.asarray(a, dtype=float)
        return log_reflected_improvement_and_slope(a, *_tail_improvement(np.abs(a)))

    def variance(self) -> FloatArray:
        """One."""
        return np.ones(())[()]


def _tail_improvement(t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log g(−t) and Φ(−t) / g(−t) for t ≥ 0.

    With m(t) = Φ(−t) / φ(t), g(−t) = φ(t) k(t), where k(t) = 1 − t m(t) decreases from 1 like 1/t².
    """
    mills = _SQRT_HALF_PI * special.erfcx(t * _SQRT_HALF)
    # t ≤ 6.5: k(t) ≥ 0.02, so the plain difference loses two digits at most.
    k = 1.0 - np.minimum(t, _FAR) * mills
    log_k, slope = np.log(k), mills / k
    with np.errstate(over="ignore"):
        x = 0.5 * np.square(t)
    far = t > _FAR
    if far.any():
        # t > 6.5: the difference would cancel by a factor t². Instead k(t) = h(−1/2, t²/2) / t², a continued
        # fraction of positive terms (the generalized normal law's far branch at beta = 2).
        h = scaled_gamma(-0.5, np.clip(x, 0.5 * _FAR**2, _LARGEST))
        t_far = np.clip(t, _FAR, _LARGEST)
        log_k = np.where(far, np.log(h) - 2.0 * np.log(t_far), log_k)
        slope = np.where(far, (t_far * mills) * (t_far / h), slope)
    out: FloatArray = log_k - (x + _LOG_SQRT_2PI)
    return out, slope
