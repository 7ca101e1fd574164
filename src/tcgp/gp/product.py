"""The usual covariance: a Matérn correlation of the distance, each coordinate in units of its lengthscale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist, pdist

from tcgp._typing import FloatArray
from tcgp.gp.descent import Interval
from tcgp.gp.kernels import correlation, correlation_and_slope

__all__ = ["STORED", "Gradient", "Product", "ProductPairs"]

if TYPE_CHECKING:
    from typing import Self

    from tcgp.gp.likelihood import Prior

Gradient = Callable[[FloatArray], FloatArray]

# Numbers up to which the squared differences are kept: 32 MiB.
STORED = 2**22


class ProductPairs:
    """Correlations of all pairs of rows of X, as functions of the parameters in the form in which they are searched.

    Squared differences are kept for each coordinate, or made again where they are many.
    """

    def __init__(self, X: FloatArray, p: int) -> None:
        n, dim = X.shape
        self.X, self.p = X, p
        self._kept: FloatArray | None = None  # (d, pairs)
        if n * (n - 1) // 2 * dim <= STORED:
            self._kept = np.array([pdist(column[:, None], "sqeuclidean") for column in X.T])

    def of(self, j: int) -> FloatArray:
        """Those of one coordinate."""
        if self._kept is not None:
            kept: FloatArray = self._kept[j]
            return kept
        differences: FloatArray = pdist(self.X[:, [j]], "sqeuclidean")
        return differences

    def sums(self, weights: FloatArray) -> FloatArray:
        """Sums over the coordinates with weights (d,), for each pair."""
        if self._kept is not None:
            return weights @ self._kept
        sums: FloatArray = pdist(self.X * np.sqrt(weights), "sqeuclidean")
        return sums

    def moments(self, weights: FloatArray) -> FloatArray:
        """Sums over the pairs with weights (pairs,), for each coordinate."""
        if self._kept is not None:
            return self._kept @ weights
        return np.array([pdist(column[:, None], "sqeuclidean") @ weights for column in self.X.T])

    def correlations(self, theta: FloatArray) -> FloatArray:
        """Correlations of the pairs."""
        return correlation(self.sums(np.exp(-2.0 * theta)), self.p)

    def with_slopes(self, theta: FloatArray) -> tuple[FloatArray, Gradient]:
        """The same, and what gives the gradient of their sum with weights (pairs,)."""
        inverse_squares = np.exp(-2.0 * theta)
        k, q = correlation_and_slope(self.sums(inverse_squares), self.p)

        def slopes(weights: FloatArray) -> FloatArray:
            return self.moments(q * weights) * inverse_squares

        return k, slopes


@dataclass(frozen=True)
class Product:
    """Correlation of points: the base of those with other parameters than lengthscales.

    Attributes
    ----------
    parameters : (k,) array
        Those that are positive first. They are searched by their logarithms, the others as they are.
    p : int
        Smoothness: nu = p + 1/2.
    """

    parameters: FloatArray
    p: int

    pairs = ProductPairs
    optima = (
        "some"  # how many the likelihood has, which says how to look for the best: "few", "some" or "many"
    )
    is_predictable = True  # whether the curvature of another optimum and predicted gains can be relied on

    @classmethod
    def size(cls, dim: int) -> int:
        """Number of parameters for points of ``dim`` coordinates."""
        return dim

    @classmethod
    def n_positive(cls, dim: int) -> int:
        """How many of them are positive."""
        return cls.size(dim)

    @classmethod
    def searched(cls, theta: FloatArray, p: int, dim: int) -> Self:
        """That of the parameters in the form in which they are searched."""
        k = cls.n_positive(dim)
        return cls(np.append(np.exp(theta[:k]), theta[k:]), p)

    @classmethod
    def like(cls, lengthscales: FloatArray, p: int) -> Self:
        """One that is, almost, a product with these lengthscales."""
        return cls(lengthscales, p)

    @classmethod
    def units(cls, width: FloatArray) -> FloatArray:
        """Units of the parameters, of points in units of ``width``."""
        return width

    @classmethod
    def other_bounds(cls, dim: int) -> list[Interval]:
        """Bounds of what is searched beside the d first ones, which are log-lengthscales."""
        return []

    @classmethod
    def other_starts(cls, dim: int) -> Sequence[FloatArray]:
        """Values of these to begin a search with."""
        return [np.empty(0)]

    @classmethod
    def prior(cls, pooled: Prior | None, n: int, dim: int) -> Prior | None:
        """The prior for n data; ``pooled`` is that of lengthscales."""
        return pooled

    @property
    def lengthscales(self) -> FloatArray:
        """Lengthscales (d,) of a product that resembles it."""
        return self.parameters

    def correlation(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Correlations (m, n) of the rows of X with those of Y."""
        return correlation(cdist(self._scaled(X), self._scaled(Y), "sqeuclidean"), self.p)

    def with_gradient(self, X: FloatArray, Y: FloatArray) -> tuple[FloatArray, Gradient]:
        """The same, and what gives the gradients (m, d) of ``sum_i c_i k(x, Y_i)`` for c of shape (n,) or (m, n)."""
        scaled, others = self._scaled(X), np.ascontiguousarray(self._scaled(Y))
        k, q = correlation_and_slope(cdist(scaled, others, "sqeuclidean"), self.p)

        def gradient(c: FloatArray) -> FloatArray:
            weights = q * c
            found: FloatArray = weights @ others
            found -= weights.sum(axis=1)[:, None] * scaled
            return self._unscaled(found)

        return k, gradient

    def _scaled(self, X: FloatArray) -> FloatArray:
        """Points in coordinates in which the correlation is a function of the distance."""
        return X / self.parameters

    def _unscaled(self, gradient: FloatArray) -> FloatArray:
        """Gradients with respect to points, from those with respect to these coordinates."""
        return gradient / self.parameters
