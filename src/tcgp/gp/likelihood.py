"""The concentrated likelihood: a function of the log-lengthscales alone, with its gradient."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotri

from tcgp._typing import FloatArray
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.posterior import factorize, solve_mean

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
    p : int
        Smoothness: nu = p + 1/2.
    mean : float, optional
        Known mean; estimated if None.
    variance : float, optional
        Known variance; estimated if None.

    Notes
    -----
    Only the n (n - 1) / 2 pairs are computed, scattered into the triangle that LAPACK reads: the exponentials,
    which dominate at n of about 100, are halved.
    """

    def __init__(
        self, X: FloatArray, p: int, *, mean: float | None = None, variance: float | None = None
    ) -> None:
        n = len(X)
        rows, columns = np.triu_indices(n, 1)
        self.n, self.p, self.mean, self.variance = n, p, mean, variance
        self.squared_differences = np.square(X[rows] - X[columns]).T.copy()  # (d, pairs)
        self._pairs = rows * n + columns  # positions of the pairs in a flat n x n matrix
        self.n_evaluations = 0

    def _matrix(self, pairs: FloatArray) -> FloatArray:
        """Unit-diagonal matrix, lower triangle and Fortran order, from its off-diagonal pairs."""
        flat = np.empty(self.n * self.n)
        flat[self._pairs] = pairs
        flat[:: self.n + 1] = 1.0
        return flat.reshape(self.n, self.n).T

    def value(self, log_rho: FloatArray, z: FloatArray) -> float:
        """NLL alone: a third of the cost of value and gradient."""
        self.n_evaluations += 1
        k = correlation(np.exp(-2.0 * log_rho) @ self.squared_differences, self.p)
        factor = factorize(self._matrix(k))
        _, _, quadratic = solve_mean(factor, z, self.mean)
        return self._nll(quadratic, factor.log_determinant)[0]

    def value_and_gradient(self, log_rho: FloatArray, z: FloatArray) -> tuple[float, FloatArray]:
        """NLL and its gradient with respect to the log-lengthscales, of shape (d,)."""
        value, gradient, _ = self.value_and_gradients(log_rho, z)
        return value, gradient

    def value_and_gradients(self, log_rho: FloatArray, z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """NLL, and its gradients with respect to the log-lengthscales (d,) and to the values z (n,)."""
        self.n_evaluations += 1
        inverse_squares = np.exp(-2.0 * log_rho)
        k, q = correlation_and_slope(inverse_squares @ self.squared_differences, self.p)
        factor = factorize(self._matrix(k))
        _, a, quadratic = solve_mean(factor, z, self.mean)
        nll, variance = self._nll(quadratic, factor.log_determinant)
        inverse = dpotri(factor.L, lower=1, overwrite_c=1)[0]
        contrast = dsyr(-1.0 / variance, a, a=inverse, lower=1, overwrite_a=1)  # K^-1 - a a' / sigma^2
        q *= contrast.T.ravel()[self._pairs]
        gradient = (self.squared_differences @ q) * inverse_squares
        return nll, gradient, a / variance

    def _nll(self, quadratic: float, log_determinant: float) -> tuple[float, float]:
        """NLL and the variance it uses."""
        n = self.n
        if self.variance is None:
            variance = max(quadratic / n, np.finfo(float).tiny)
            return 0.5 * (n * (np.log(2.0 * np.pi * variance) + 1.0) + log_determinant), variance
        exponent = quadratic / self.variance
        return 0.5 * (n * np.log(2.0 * np.pi * self.variance) + exponent + log_determinant), self.variance
