"""Prediction and leave-one-out for fixed hyperparameters, in normalized units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from tcgp._threads import cached_property
from tcgp._typing import FloatArray
from tcgp.gp.product import Product

__all__ = [
    "EPSILON",
    "Factorization",
    "LeaveOneOut",
    "Posterior",
    "Slopes",
    "estimate",
    "factorize",
    "solve_mean",
    "triangular_inverse",
]

# Numbers in a block of predictions, which stays in the cache: for n = 400, 0.66 of the time of 1024 points at once.
_BLOCK = 2**16
EPSILON = float(np.finfo(float).eps)
_NOT_HALVED = 64  # rows
# Gradients (m, d) of a function of mean and standard deviation at m points, from its derivatives by each of them, (m,).
Slopes = Callable[[FloatArray, FloatArray], FloatArray]
_NUGGETS = (0.0, *(10.0**k for k in range(-15, 0)))


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out predictions at the data points, with hyperparameters fixed at their full-data values.

    Attributes
    ----------
    mean, sd : (n,) arrays
        Predictive mean and standard deviation at each point given all the others.
    residuals : (n,) array
        Standardized residuals ``(y - mean) / sd``.
    noise : (n,) array or None
        Standard deviation of the noise of each datum, which ``sd`` includes; None for exact data.
    """

    mean: FloatArray
    sd: FloatArray
    residuals: FloatArray
    noise: FloatArray | None = None


@dataclass(frozen=True)
class Factorization:
    """Lower Cholesky factor of a correlation matrix, and the nugget it needed."""

    L: FloatArray  # (n, n), Fortran order
    nugget: float

    @cached_property
    def log_determinant(self) -> float:
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    @property
    def rounding(self) -> float:
        """How well the logarithm of the determinant is known: each pivot up to the machine epsilon."""
        return EPSILON * float((self.L.diagonal() ** -2).sum())

    def solve(self, b: FloatArray) -> FloatArray:
        """Return ``K^-1 b`` for b of shape (n,) or (n, m)."""
        x: FloatArray = dpotrs(self.L, b, lower=1)[0]
        return x


def factorize(K: FloatArray, out: FloatArray | None = None, expected: float = 0.0) -> Factorization:
    """Cholesky with the smallest nugget of 0, 1e-15, 1e-14, … that works; into ``out`` if there is one.

    ``K`` is a correlation matrix, or one with a nugget, in Fortran order, of which the lower triangle is read. The
    ``expected`` nugget, that of a similar matrix, is tried first: two factorizations in the place of five where it is
    1e-12.
    """
    k = _NUGGETS.index(expected)
    found = _factor(K, _NUGGETS[k], out)
    if found is None:
        for nugget in _NUGGETS[k + 1 :]:
            if (found := _factor(K, nugget, out)) is not None:
                return found
        n = len(K)
        raise np.linalg.LinAlgError(
            f"the {n} x {n} correlation matrix has no Cholesky factor: NaN in the data?"
        )
    for nugget in reversed(_NUGGETS[:k]):
        smaller = _factor(K, nugget, None)
        if smaller is None:
            break
        found = smaller
    return found


def _factor(K: FloatArray, nugget: float, out: FloatArray | None) -> Factorization | None:
    """Cholesky with this nugget, or None.

    A pivot below n times the machine epsilon is rounding error, not a conditional variance: it counts as a failure.
    """
    n = len(K)
    L = np.empty((n, n), order="F") if out is None else out
    np.copyto(L, K)
    if nugget:
        L.T.ravel()[:: n + 1] += nugget
    L, info = dpotrf(L, lower=1, overwrite_a=1)
    return Factorization(L, nugget) if info == 0 and L.diagonal().min() ** 2 > n * EPSILON else None


def triangular_inverse(L: FloatArray) -> FloatArray:
    """Inverse of a lower triangular matrix in Fortran order.

    It is made from those of its two halves. LAPACK's own, as OpenBLAS has it, takes 1.3 times as long for n = 112 and
    twice as long for n = 300.
    """
    n = len(L)
    if n <= _NOT_HALVED:
        inverse: FloatArray = dtrtri(L, lower=1)[0]
        return inverse
    m = n // 2
    first, last = triangular_inverse(L[:m, :m]), triangular_inverse(L[m:, m:])
    inverse = np.zeros((n, n), order="F")
    inverse[:m, :m], inverse[m:, m:] = first, last
    inverse[m:, :m] = dtrmm(-1.0, last, dtrmm(1.0, first, L[m:, :m], side=1, lower=1), lower=1)
    return inverse


def solve_mean(
    factor: Factorization, z: FloatArray, mean: float | None = None
) -> tuple[float, FloatArray, float]:
    """Return the ML constant mean (or ``mean`` if given), ``a = K^-1 (z - mean)`` and ``(z - mean)' a``."""
    n = z.shape[0]
    rhs = np.empty((n, 2), order="F")
    rhs[:, 0], rhs[:, 1] = 1.0, z
    solved = factor.solve(rhs)
    if mean is None:
        mean = float(solved[:, 0] @ z / solved[:, 0].sum())
    a = solved[:, 1] - mean * solved[:, 0]
    return mean, a, float((z - mean) @ a)


def estimate(
    factor: Factorization, z: FloatArray, mean: float | None, variance: float | None
) -> tuple[float, FloatArray, float]:
    """Return the mean, ``a`` as in `solve_mean` and the variance; each that is None has its ML value."""
    mean, a, quadratic = solve_mean(factor, z, mean)
    if variance is None:
        variance = max(quadratic / len(z), np.finfo(float).tiny)
    return mean, a, variance


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process conditioned on data, all hyperparameters known.

    Attributes
    ----------
    X : (n, d) array
        Data points.
    z : (n,) array
        Values.
    covariance : Product
        Correlation of points, with its parameters.
    mean, variance : float
        Constant mean and process variance.
    factor : Factorization
        Cholesky factor of the correlation matrix of ``X``.
    a : (n,) array
        ``K^-1 (z - mean)``.
    nuggets : (n,) array
        What the diagonal of K has above 1, for data that are smoothed rather than interpolated. Predictions are
        those of the smooth process; leave-one-out predictions are those of the data.
    """

    X: FloatArray
    z: FloatArray
    covariance: Product
    mean: float
    variance: float
    factor: Factorization
    a: FloatArray
    nuggets: FloatArray

    @classmethod
    def condition(
        cls,
        X: FloatArray,
        z: FloatArray,
        covariance: Product,
        *,
        mean: float | None = None,
        variance: float | None = None,
        nuggets: float | FloatArray = 0.0,
        expected: float = 0.0,
    ) -> Posterior:
        """Condition on (X, z); a mean or variance of None takes its maximum-likelihood value.

        ``expected`` is the nugget that rounding needs, if one is expected: see `factorize`.
        """
        K = covariance.correlation(X, X)
        K.ravel()[:: len(z) + 1] += nuggets
        factor = factorize(K.T, expected=expected)
        mean, a, variance = estimate(factor, z, mean, variance)
        return cls(X, z, covariance, mean, variance, factor, a, np.broadcast_to(nuggets, len(z)))

    def extended(self, X: FloatArray, z: FloatArray) -> Posterior:
        """The same process conditioned on all of (X, z), of which its data are the first."""
        nuggets = np.append(self.nuggets, np.zeros(len(z) - len(self.z)))
        return Posterior.condition(
            X,
            z,
            self.covariance,
            mean=self.mean,
            variance=self.variance,
            nuggets=nuggets,
            expected=self.factor.nugget,
        )

    @property
    def misfit(self) -> float:
        """By how much the mean misses the data, about: because of the nugget that rounding needs, and of large a."""
        products = 0.25 * EPSILON * float(np.sqrt(len(self.a)) * np.linalg.norm(self.a))
        return self.factor.nugget * float(np.abs(self.a).max()) + products

    @cached_property
    def L_inverse(self) -> FloatArray:
        """Explicit L^-1: products with it run at matrix-product speed, triangular solves do not."""
        return triangular_inverse(self.factor.L)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation at the rows of X, each of shape (m,)."""
        mean, reduction = np.empty(len(X)), np.empty(len(X))
        size = max(128, _BLOCK // len(self.a))
        for start in range(0, len(X), size):
            block = slice(start, start + size)
            k = self.correlation_with_data(X[block])  # (m, n)
            mean[block] = k @ self.a
            v = dtrmm(1.0, self.L_inverse, k.T, lower=1, overwrite_b=1)  # (n, m)
            reduction[block] = np.einsum("ij,ij->j", v, v)
        mean += self.mean
        return mean, np.sqrt(self.variance * np.maximum(1.0 - reduction, 0.0))

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        """Mean (m,), standard deviation (m,), and what gives gradients with respect to the rows of X.

        Where the standard deviation is zero it has a cusp; its gradient counts as zero there.
        """
        k, gradient = self.covariance.with_gradient(X, self.X)  # (m, n)
        mean = k @ self.a + self.mean
        v = dtrmm(1.0, self.L_inverse, k.T, lower=1)  # (n, m)
        variance = self.variance * np.maximum(1.0 - np.einsum("ij,ij->j", v, v), 0.0)
        sd = np.sqrt(variance)
        w = dtrmm(1.0, self.L_inverse, v, lower=1, trans_a=1, overwrite_b=1).T  # (m, n): K^-1 k
        scale = -self.variance / np.where(sd > 0.0, sd, np.inf)

        def slopes(by_mean: FloatArray, by_sd: FloatArray) -> FloatArray:
            weights = (scale * by_sd)[:, None] * w
            weights += by_mean[:, None] * self.a
            return gradient(weights)

        return mean, sd, slopes

    def correlation_with_data(self, X: FloatArray) -> FloatArray:
        """Correlations of the rows of X with the data, of shape (m, n)."""
        return self.covariance.correlation(X, self.X)

    def leave_one_out(self) -> LeaveOneOut:
        """Closed form: mean_i = z_i - a_i / (K^-1)_ii and variance_i = sigma^2 / (K^-1)_ii."""
        precision = np.einsum("ij,ij->j", self.L_inverse, self.L_inverse)
        deviation = self.a / precision
        sd = np.sqrt(self.variance / precision)
        return LeaveOneOut(self.z - deviation, sd, deviation / sd)
