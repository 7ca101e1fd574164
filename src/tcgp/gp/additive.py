"""A covariance that is a product over all coordinates plus functions of one coordinate each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tcgp._threads import cached_property
from tcgp._typing import FloatArray
from tcgp.gp.descent import Interval
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.likelihood import Prior
from tcgp.gp.product import STORED, Gradient, Product, ProductPairs
from tcgp.gp.selection import LONGEST

__all__ = ["Additive", "AdditivePrior"]

# Of the lengthscales of single coordinates, in units of the box: a ripple of fifty periods is noise.
_SHORTEST_APART = 0.02
# Logarithms of the weights of single coordinates, that of the product being 1.
_WEIGHT_RANGE = (-7.0, 7.0)
_WEIGHT_SD = 2.0
# Lengthscales of single coordinates and logarithms of weights to begin a search with.
_STARTS = ((0.3, 0.0), (1.0, 0.0), (0.1, 1.0), (0.3, 3.0), (0.3, -4.0))


@dataclass(frozen=True)
class AdditivePrior:
    """Both kinds of lengthscales about a level each, and weights about that of the product divided by d."""

    dim: int
    pooled: Prior

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """See `Prior`."""
        together, apart, log_weights = theta.reshape(3, self.dim)
        first, first_slope = self.pooled.penalty(together)
        second, second_slope = self.pooled.penalty(apart)
        deviation = (log_weights + np.log(self.dim)) / _WEIGHT_SD
        third, third_slope = 0.5 * float(deviation @ deviation), deviation / _WEIGHT_SD
        return first + second + third, np.concatenate([first_slope, second_slope, third_slope])


class AdditivePairs(ProductPairs):
    """Those of `Additive`: parameters are the logarithms of its own."""

    def correlations(self, theta: FloatArray) -> FloatArray:
        """See `ProductPairs`."""
        together, apart, log_s = theta.reshape(3, -1)
        s = np.exp(log_s)
        k = correlation(self.sums(np.exp(-2.0 * together)), self.p)
        for j in range(len(s)):
            k += s[j] * correlation(self.of(j) * np.exp(-2.0 * apart[j]), self.p)
        k /= 1.0 + s.sum()
        return k

    def with_slopes(self, theta: FloatArray) -> tuple[FloatArray, Gradient]:
        """See `ProductPairs`."""
        together, apart, log_s = theta.reshape(3, -1)
        s = np.exp(log_s)
        total = 1.0 + s.sum()
        inverse_squares, inverse_squares_apart = np.exp(-2.0 * together), np.exp(-2.0 * apart)
        product, q = correlation_and_slope(self.sums(inverse_squares), self.p)

        def single(j: int) -> tuple[FloatArray, FloatArray]:
            """Correlations of coordinate j, and their derivatives with respect to the log-lengthscale."""
            scaled = self.of(j) * inverse_squares_apart[j]
            k_j, q_j = correlation_and_slope(scaled.copy(), self.p)
            q_j *= scaled
            return k_j, q_j

        k, kept = product, {}
        for j in range(len(s)):
            k_j, q_j = single(j)
            k += s[j] * k_j
            if len(s) * len(k) <= STORED:  # of more, memory would run out: they are computed twice
                kept[j] = k_j, q_j
        k /= total

        def slopes(weights: FloatArray) -> FloatArray:
            gradient: FloatArray = np.empty((3, len(s)))
            gradient[0] = self.moments(q * weights) * inverse_squares
            level = float(k @ weights)
            for j in range(len(s)):
                k_j, q_j = kept[j] if j in kept else single(j)
                gradient[1, j] = s[j] * float(q_j @ weights)
                gradient[2, j] = s[j] * (float(k_j @ weights) - level)
            gradient /= total
            return gradient.ravel()

        return k, slopes


class Additive(Product):
    """Correlation ``(k(x - y) + sum_j s_j k_j(x_j - y_j)) / (1 + sum_j s_j)``.

    Its parameters are the d lengthscales of the product k, those of the k_j, and the weights s_j. Where a function is a
    sum of functions of one coordinate each, or nearly, the data say far more of it than a product lets them [1]_.

    References
    ----------
    .. [1] Duvenaud, D., Nickisch, H. and Rasmussen, C. E. (2011). Additive Gaussian processes. NIPS 24.
    """

    pairs = AdditivePairs
    optima = "few"  # thanks to its priors

    @classmethod
    def size(cls, dim: int) -> int:
        """See `Product`."""
        return 3 * dim

    @classmethod
    def like(cls, lengthscales: FloatArray, p: int) -> Additive:
        """See `Product`."""
        return cls(np.concatenate([lengthscales, lengthscales, np.full(len(lengthscales), 1e-6)]), p)

    @classmethod
    def units(cls, width: FloatArray) -> FloatArray:
        """See `Product`."""
        return np.concatenate([width, width, np.ones(len(width))])

    @classmethod
    def other_bounds(cls, dim: int) -> list[Interval]:
        """See `Product`."""
        apart = (float(np.log(_SHORTEST_APART)), float(np.log(LONGEST)))
        return [apart] * dim + [_WEIGHT_RANGE] * dim

    @classmethod
    def other_starts(cls, dim: int) -> Sequence[FloatArray]:
        """See `Product`."""
        return [np.repeat([np.log(apart), log_s], dim) for apart, log_s in _STARTS]

    @classmethod
    def prior(cls, pooled: Prior | None, n: int, dim: int) -> Prior | None:
        """See `Product`."""
        return None if pooled is None else AdditivePrior(dim, pooled)

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lengthscales of the product, of single coordinates, and shares of the variance, that of the product first."""
        together, apart, s = self.parameters.reshape(3, -1)
        return together, apart, np.append(1.0, s) / (1.0 + s.sum())

    @property
    def lengthscales(self) -> FloatArray:
        """Those of a product with the same curvature at 0."""
        together, apart, weights = self._parts
        found: FloatArray = (weights[0] / together**2 + weights[1:] / apart**2) ** -0.5
        return found

    def correlation(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """See `Product`."""
        together, apart, weights = self._parts
        k = correlation(cdist(X / together, Y / together, "sqeuclidean"), self.p)
        k *= weights[0]
        for j, (rho, weight) in enumerate(zip(apart, weights[1:], strict=True)):
            k += weight * correlation(((X[:, [j]] - Y[:, j]) / rho) ** 2, self.p)
        return k

    def with_gradient(self, X: FloatArray, Y: FloatArray) -> tuple[FloatArray, Gradient]:
        """See `Product`."""
        together, apart, weights = self._parts
        scaled, others = X / together, np.ascontiguousarray(Y / together)
        k, q = correlation_and_slope(cdist(scaled, others, "sqeuclidean"), self.p)
        k *= weights[0]
        q *= weights[0]
        singles = []
        for j, (rho, weight) in enumerate(zip(apart, weights[1:], strict=True)):
            difference = (X[:, [j]] - Y[:, j]) / rho
            k_j, q_j = correlation_and_slope(difference**2, self.p)
            k += weight * k_j
            singles.append(q_j * difference * (-weight / rho))

        def gradient(c: FloatArray) -> FloatArray:
            product = q * c
            found: FloatArray = product @ others
            found -= product.sum(axis=1)[:, None] * scaled
            found /= together
            for j, slope in enumerate(singles):
                found[:, j] += (slope * c).sum(axis=1)
            return found

        return k, gradient
