"""The generalized normal law, the family from which tcGP and bcrGP choose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, BoolArray, FloatArray
from tcgp.laws._gamma import gamma_q, log_gamma_q, log_gamma_spread, log_gamma_spread_and_ratio
from tcgp.laws._levels import as_levels
from tcgp.laws._reflection import (
    log_reflected_improvement,
    log_reflected_improvement_and_slope,
    reflected_improvement,
)

__all__ = ["GeneralizedNormal"]

_LOG_2 = np.log(2.0)


@dataclass(frozen=True)
class GeneralizedNormal:
    """The centred generalized normal distribution GN(beta, 0, scale) (paper, Appendix A).

    Its density is beta / (2 Γ(1/beta) scale) · exp(−(|r| / scale)^beta). The smaller beta, the heavier the
    tails: beta = 1 is the Laplace distribution and beta = 2 is N(0, scale² / 2), so that a plain Gaussian process has
    beta = 2 and scale = √2. With scale = 0 the law is the point mass at zero, the limit of the others.

    Parameters
    ----------
    beta : float or array
        Shape, positive.
    scale : float or array
        Dispersion (the paper's lambda), nonnegative. Arrays of beta and scale are families of laws; they
        broadcast against each other and against every argument.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import GeneralizedNormal, Normal
    >>> law = GeneralizedNormal(beta=2.0, scale=np.sqrt(2.0))
    >>> bool(np.isclose(law.cdf(-1.0), Normal().cdf(-1.0)))
    True
    >>> GeneralizedNormal(beta=0.5, scale=0.1).ppf([0.01, 0.5]).round(3)
    array([-3.403,  0.   ])

    Three laws at two arguments, for the price of one call:

    >>> GeneralizedNormal(beta=[[0.5], [1.0], [2.0]], scale=1.0).logcdf([-10.0, 0.0]).round(2)
    array([[  -2.43,   -0.69],
           [ -10.69,   -0.69],
           [-103.57,   -0.69]])
    """

    beta: float | FloatArray
    scale: float | FloatArray

    def __post_init__(self) -> None:
        beta, scale = _float_or_frozen_array(self.beta), _float_or_frozen_array(self.scale)
        _require("beta", beta, np.isfinite(beta) & np.greater(beta, 0.0), "positive")
        _require("scale", scale, np.isfinite(scale) & np.greater_equal(scale, 0.0), "nonnegative")
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "scale", scale)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GeneralizedNormal):
            return NotImplemented
        return np.array_equal(self.beta, other.beta) and np.array_equal(self.scale, other.scale)

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density at r; the point mass has ∞ at zero and 0 elsewhere."""
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(r))

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r."""
        r = np.asarray(r, dtype=float)
        _, x = self._standardize(r)
        # A scale of 1 replaces 0, because −log(0) = ∞ and x = ∞ would give NaN.
        log_scale = np.log(np.where(self.scale == 0.0, 1.0, self.scale))
        out = np.log(self.beta) - _LOG_2 - special.gammaln(self._a) - log_scale - x
        return np.where((self.scale == 0.0) & (r == 0.0), np.inf, out)[()]

    def cdf(self, r: ArrayLike) -> FloatArray:
        """P(R ≤ r), the paper's Θ."""
        s, x = self._standardize(r)
        tail = 0.5 * gamma_q(self._a, x, np.abs(s))
        out: FloatArray = np.where(s > 0.0, 1.0 - tail, tail)[()]
        return out

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, finite where the probability itself underflows."""
        s, x = self._standardize(r)
        with np.errstate(divide="ignore"):
            log_tail = log_gamma_q(self._a, x, np.abs(s)) - _LOG_2
        out: FloatArray = np.where(s > 0.0, np.log1p(-np.exp(log_tail)), log_tail)[()]
        return out

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile of level q in [0, 1]; zero at every level for the point mass."""
        q = as_levels(q)
        a = self._a
        # P(|R| ≤ |r|) is exact in floating point for q in [1/4, 3/4], P(|R| > |r|) for any other q: a level
        # is inverted from the one that is known to full relative precision.
        centre, tails = np.abs(2.0 * q - 1.0), 2.0 * np.minimum(q, 1.0 - q)
        x = np.where(centre < 0.5, special.gammaincinv(a, centre), special.gammainccinv(a, tails))
        with np.errstate(over="ignore", invalid="ignore"):
            # Near the median P(a, x) ≈ x^a / Γ(a + 1), with relative error below x; there x = s^beta may
            # underflow (for beta > 19) long before s does.
            s_median = centre * special.gamma(a + 1.0)
            s = np.where(s_median**self.beta < 1e-17, s_median, x**a)
            out = np.where(self.scale == 0.0, 0.0, self.scale * np.copysign(s, q - 0.5))
        return out[()]

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊], the paper's gamma(a, scale, beta): EI = sigma_n g((m_n − f_n) / sigma_n)."""
        a = np.asarray(a, dtype=float)
        return reflected_improvement(a, self._log_tail_improvement(a))

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        a = np.asarray(a, dtype=float)
        return log_reflected_improvement(a, self._log_tail_improvement(a))

    def log_improvement_and_slope(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """`log_improvement` and its derivative, cdf / improvement."""
        a = np.asarray(a, dtype=float)
        s, x = self._standardize(a)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            log_spread, ratio = log_gamma_spread_and_ratio(self._a, x, np.abs(s))
            log_tail = log_spread + np.log(self.scale) - _LOG_2
            return log_reflected_improvement_and_slope(a, log_tail, ratio / self.scale)

    def variance(self) -> FloatArray:
        """Γ(3/beta) / Γ(1/beta) · scale²."""
        a = self._a
        with np.errstate(over="ignore", divide="ignore"):
            out: FloatArray = np.exp(special.gammaln(3.0 * a) - special.gammaln(a) + 2.0 * np.log(self.scale))
        return out

    @cached_property
    def _a(self) -> float | FloatArray:
        """1 / beta, short of overflow: beyond 1e100 the quantiles exceed float64 whatever it is."""
        with np.errstate(over="ignore", divide="ignore"):
            a = np.minimum(1.0 / self.beta, 1e100)
        return a if np.ndim(a) else float(a)

    def _standardize(self, r: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return s = r / scale and x = |s|^beta; the point mass has s = ∞ at zero, for its CDF is 1 there."""
        r = np.asarray(r, dtype=float)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            s = r / self.scale
            if not np.all(self.scale):
                s = np.where((self.scale == 0.0) & (r == 0.0), np.inf, s)
            return s, np.abs(s) ** self.beta

    def _log_tail_improvement(self, a: FloatArray) -> FloatArray:
        """log g(−|a|), where g(−|a|) = scale [Γ(2/beta, x) − |s| Γ(1/beta, x)] / (2 Γ(1/beta))."""
        s, x = self._standardize(a)
        with np.errstate(over="ignore", divide="ignore"):
            log_spread = log_gamma_spread(self._a, x, np.abs(s))
            out: FloatArray = log_spread + np.log(self.scale) - _LOG_2
        return out


def _float_or_frozen_array(value: ArrayLike) -> float | FloatArray:
    """Return a float, or a read-only copy, so that a law never changes."""
    array = np.array(value, dtype=float)
    array.setflags(write=False)
    return array if array.ndim else float(array)


def _require(name: str, value: float | FloatArray, valid: BoolArray, adjective: str) -> None:
    """Refuse a parameter by its first bad value."""
    if not valid.all():
        bad = np.asarray(value)[~valid].flat[0]
        raise ValueError(f"{name} must be {adjective} and finite, got {bad:g}")
