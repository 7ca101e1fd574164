"""The interface of residual laws."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tcgp._typing import ArrayLike, FloatArray

__all__ = ["Improvement", "Law"]


class Improvement(Protocol):
    """The part of a law that a search of its expected improvement needs."""

    def log_improvement(self, a: ArrayLike) -> FloatArray:
        """Logarithm of E[(a − R)₊], finite far below where the improvement underflows."""
        ...

    def log_improvement_and_slope(self, a: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """`log_improvement` and its derivative, cdf / improvement, computed together."""
        ...


@runtime_checkable
class Law(Improvement, Protocol):
    """The distribution of a standardized prediction error R = (f(x) − f_n(x)) / sigma_n(x).

    Criteria need nothing else of a method: the predictive CDF at x is
    ``law.cdf((z - f_n(x)) / sigma_n(x))``, and the expected improvement below z is
    ``sigma_n(x) * law.improvement((z - f_n(x)) / sigma_n(x))``.

    Every method but `variance` works elementwise: an array of any shape gives an array of that shape, a
    scalar gives a NumPy scalar. Infinite arguments give the limits.
    """

    def pdf(self, r: ArrayLike) -> FloatArray:
        """Density at r."""
        ...

    def logpdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the density at r."""
        ...

    def cdf(self, r: ArrayLike) -> FloatArray:
        """P(R ≤ r)."""
        ...

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Logarithm of P(R ≤ r), finite far below where the probability underflows."""
        ...

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile of level q in [0, 1]: the inverse of `cdf`."""
        ...

    def improvement(self, a: ArrayLike) -> FloatArray:
        """g(a) = E[(a − R)₊], an increasing convex function whose derivative is `cdf`."""
        ...

    def variance(self) -> FloatArray:
        """E[R²] − E[R]²."""
        ...
