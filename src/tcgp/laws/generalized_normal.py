"""The generalized normal law: the family from which tcGP and bcrGP choose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcgp._typing import ArrayLike, FloatArray
from tcgp.laws._gamma import log_gamma_q, log_gamma_spread
from tcgp.laws._levels import as_levels

__all__ = ["GeneralizedNormal"]


@dataclass(frozen=True)
class GeneralizedNormal:
    """The centred generalized normal law GN(beta, 0, scale) of the paper's Appendix A.

    Its density is beta / (2 Γ(1/beta) scale) · exp(−(|r| / scale)^beta). Smaller beta means heavier tails:
    beta = 1 is Laplace's law and beta = 2 is N(0, scale² / 2), so that a plain Gaussian process is
    (2, √2). With scale = 0 the law is the point mass at zero.

    Parameters
    ----------
    beta : float or array
        Shape, positive.
    scale : float or array
        Dispersion (the paper's lambda), nonnegative. Arrays of beta and scale stand for as many laws and
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
    """

    beta: float | FloatArray
    scale: float | FloatArray

    def __post_init__(self) -> None:
        beta, scale = _frozen(self.beta), _frozen(self.scale)
        if not np.all(np.isfinite(beta) & (np.asarray(beta) > 0.0)):
            raise ValueError(f"beta must be positive and finite; got {self.beta}.")
        if not np.all(np.isfinite(scale) & (np.asarray(scale) >= 0.0)):
            raise ValueError(f"scale must be nonnegative and finite; got {self.scale}.")
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "scale", scale)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GeneralizedNormal):
            return NotImplemented
        return np.array_equal(self.beta, other.beta) and np.array_equal(self.scale, other.scale)

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density at r; the point mass has 0, and ∞ at r = 0."""
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(r))

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r."""
        r, _, x = self._standardize(r)
        a = 1.0 / self.beta
        # The point mass: log(scale) = −∞ would turn into NaN against x = ∞.
        scale = np.where(self.scale > 0.0, self.scale, 1.0)
        out = np.log(self.beta / (2.0 * scale)) - special.gammaln(a) - x
        return np.where((self.scale == 0.0) & (r == 0.0), np.inf, out)[()]

    def cdf(self, r: ArrayLike) -> FloatArray:
        """Θ_{beta,scale}(r) = P(R ≤ r)."""
        _, s, x = self._standardize(r)
        tail: FloatArray = 0.5 * special.gammaincc(1.0 / self.beta, x)
        return np.where(s > 0.0, 1.0 - tail, tail)[()]

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, finite where the probability itself underflows."""
        _, s, x = self._standardize(r)
        with np.errstate(divide="ignore", under="ignore"):
            log_tail = log_gamma_q(1.0 / self.beta, x) - np.log(2.0)
            out: FloatArray = np.where(s > 0.0, np.log1p(-np.exp(log_tail)), log_tail)[()]
        return out

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile of level q in [0, 1]."""
        q = as_levels(q)
        a = 1.0 / self.beta
        # |2q − 1| is exact for q in [1/4, 3/4] and min(q, 1 − q) everywhere else: each side of the median is
        # inverted from the probability that is known to full relative precision.
        centre, tail = np.abs(2.0 * q - 1.0), 2.0 * np.minimum(q, 1.0 - q)
        x = np.where(centre < 0.5, special.gammaincinv(a, centre), special.gammainccinv(a, tail))
        with np.errstate(over="ignore", invalid="ignore"):
            # Near the median P(a, x) = x^a / Γ(a + 1), and x = s^beta underflows (beta > 19) before s does.
            s_median = centre * special.gamma(a + 1.0)
            s = np.where(s_median**self.beta < 1e-18, s_median, x**a)
            out = np.where(self.scale == 0.0, 0.0, self.scale * np.copysign(s, q - 0.5))
        return out[()]

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊], the paper's gamma(a, scale, beta): EI is sigma_n g((m_n − f_n) / sigma_n)."""
        a, log_tail = self._log_tail_improvement(a)
        with np.errstate(over="ignore"):
            return np.exp(log_tail) + np.maximum(a, 0.0)

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        a, log_tail = self._log_tail_improvement(a)
        # g(a) = a + g(−a): for a > 0 both terms are positive, so nothing cancels.
        with np.errstate(over="ignore", divide="ignore"):
            upper = np.log(np.maximum(a, 0.0) + np.exp(log_tail))
        return np.where(a > 0.0, upper, log_tail)[()]

    def variance(self) -> FloatArray:
        """Γ(3/beta) / Γ(1/beta) · scale²."""
        a = 1.0 / self.beta
        with np.errstate(over="ignore", divide="ignore"):
            out: FloatArray = np.exp(special.gammaln(3.0 * a) - special.gammaln(a) + 2.0 * np.log(self.scale))
        return out

    def _standardize(self, r: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return r, s = r / scale and x = |s|^beta; the point mass has s = ±∞, and s = ∞ at r = 0."""
        r = np.asarray(r, dtype=float)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            s = r / self.scale
            if np.any(self.scale == 0.0):
                s = np.where((self.scale == 0.0) & (r == 0.0), np.inf, s)
            x = np.abs(s) ** self.beta
        return r, s, x

    def _log_tail_improvement(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return a and log g(−|a|), g(−|a|) = scale [Γ(2/beta, x) − |s| Γ(1/beta, x)] / (2 Γ(1/beta))."""
        a, s, x = self._standardize(a)
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            log_spread = log_gamma_spread(1.0 / self.beta, x, np.abs(s))
            log_tail = log_spread + np.log(0.5 * self.scale)
        return a, log_tail


def _frozen(value: ArrayLike) -> float | FloatArray:
    """A float, or a read-only array."""
    array = np.array(value, dtype=float)
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array
