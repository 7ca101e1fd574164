"""The concentrated likelihood: a function of the log-lengthscales alone, with its gradient."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotri

from tcgp._typing import FloatArray
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.posterior import Factorization, factorize, solve_mean

__all__ = ["ConcentratedLikelihood"]


class ConcentratedLikelihood:
    """Negative log-likelihood of a constant-mean GP, mean and variance at their closed-form optimum.

    With K the correlation matrix, ``m0 = 1'K^-1 z / 1'K^-1 1`` and ``sigma^2 = (z - m0)'K^-1(z - m0) / n``,

        NLL = n/2 log(2 pi e sigma^2) + 1/2 log det K,
        dNLL / dlog rho_j = 1/2 sum_kl [(K^-1 - a a' / sigma^2) ∘ dK / dlog rho_j]_kl,   a = K^-1 (z - m0).

    Parameters
    ----------
    X : (n, d) array
        Points, scaled to the unit cube.
    z : (n,) array
        Values.
    p : int
        Smoothness: nu = p + 1/2.
    mean : float, optional
        Known mean; estimated if None.
    variance : float, optional
        Known variance; estimated if None.

    Notes
    -----
    Only the n (n - 1) / 2 pairs are computed, scattered into the triangle that LAPACK reads: this halves the
    exponentials, which dominate at n of about 100.
    """

    def __init__(
        self,
        X: FloatArray,
        z: FloatArray,
        p: int,
        *,
        mean: float | None = None,
        variance: float | None = None,
    ) -> None:
        n = len(X)
        rows, columns = np.triu_indices(n, 1)
        self.n, self.dim = X.shape
        self.z, self.p, self.mean, self.variance = z, p, mean, variance
        self.n_evaluations = 0
        self._squared_differences = np.square(X[rows] - X[columns]).T.copy()  # (d, pairs)
        self._pairs = rows * n + columns  # positions of the pairs in a flat n x n matrix

    def value(self, log_rho: FloatArray) -> float:
        """NLL alone, at half the cost of value and gradient."""
        self.n_evaluations += 1
        k = correlation(np.exp(-2.0 * log_rho) @ self._squared_differences, self.p)
        K = self._matrix(k)
        factor = factorize(K)
        _, quadratic = self._solve(K, factor)
        return self._nll(quadratic, factor.log_determinant)[0]

    def rough_value(self, log_rho: FloatArray) -> float:
        """NLL, or an upper bound of it that is cheaper: good enough to rank the candidates of a scan."""
        return self.value(log_rho)

    def value_and_gradient(self, log_rho: FloatArray) -> tuple[float, FloatArray]:
        """NLL and its gradient with respect to the log-lengthscales, of shape (d,)."""
        self.n_evaluations += 1
        inverse_squares = np.exp(-2.0 * log_rho)
        k, q = correlation_and_slope(inverse_squares @ self._squared_differences, self.p)
        K = self._matrix(k)
        factor = factorize(K)
        a, quadratic = self._solve(K, factor)
        nll, variance = self._nll(quadratic, factor.log_determinant)
        inverse = dpotri(factor.L, lower=1, overwrite_c=1)[0]
        contrast = dsyr(-1.0 / variance, a, a=inverse, lower=1, overwrite_a=1)  # K^-1 - a a' / sigma^2
        q *= contrast.T.ravel()[self._pairs]
        return nll, (self._squared_differences @ q) * inverse_squares

    def _matrix(self, pairs: FloatArray) -> FloatArray:
        """Unit-diagonal matrix, lower triangle and Fortran order, from its off-diagonal pairs."""
        flat = np.zeros(self.n * self.n)
        flat[self._pairs] = pairs
        flat[:: self.n + 1] = 1.0
        return flat.reshape(self.n, self.n).T

    def _solve(self, K: FloatArray, factor: Factorization) -> tuple[FloatArray, float]:
        """``a = K^-1 (z - m0)`` and ``(z - m0)' a``."""
        _, a, quadratic = solve_mean(factor, self.z, self.mean)
        return a, quadratic

    def _nll(self, quadratic: float, log_determinant: float) -> tuple[float, float]:
        """NLL and the variance it uses."""
        n = self.n
        variance = self.variance
        if variance is None:
            variance = max(quadratic / n, np.finfo(float).tiny)
        nll = 0.5 * (n * np.log(2.0 * np.pi * variance) + quadratic / variance + log_determinant)
        return float(nll), variance
