"""A covariance of linear combinations of the coordinates, and not of each by itself."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.gp.descent import Interval
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.likelihood import PooledPrior, Prior
from tcgp.gp.product import STORED, Gradient, Product, ProductPairs

__all__ = ["Rotated", "RotatedPrior", "linear_map", "n_parameters"]

# Of the log-lengthscales about their level: a narrow valley is what this covariance is for.
_SCALE_VARIANCE = 4.0
_LARGEST_LINK = 20.0


def n_parameters(dim: int) -> int:
    """Parameters of the covariance: a lengthscale for each coordinate, and a link for each pair of them."""
    return dim * (dim + 1) // 2


def linear_map(scales: FloatArray, links: FloatArray) -> FloatArray:
    """The matrix A of a correlation that is a function of ``|A (x - y)|``; of shape (d, d).

    Row i is ``(e_i + sum_j<i b_ij e_j) / rho_i``, with the links b row by row: every metric has one such form.
    """
    A = np.eye(len(scales))
    A[_below_diagonal(len(scales))] = links
    A /= scales[:, None]
    return A


@functools.lru_cache(maxsize=16)
def _below_diagonal(dim: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the entries below the diagonal of a (d, d) matrix."""
    return np.tril_indices(dim, -1)


@dataclass(frozen=True)
class RotatedPrior:
    """Log-lengthscales about a level, and standard normal links.

    Attributes
    ----------
    dim : int
    n : int
        Number of data. Links cost what they would gain by chance, as Akaike's criterion for few data has it [1]_, so
        that what is maximized can be compared with that of a product covariance.

    References
    ----------
    .. [1] C. M. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples", Biometrika 76
       (1989).
    """

    dim: int
    n: int

    @cached_property
    def price(self) -> float:
        """What the links cost, in units of NLL."""
        return self._by_chance(n_parameters(self.dim)) - self._by_chance(self.dim)

    def _by_chance(self, k: int) -> float:
        """What k parameters gain by chance; the formula holds for more than k + 1 data."""
        return k * self.n / max(self.n - k - 1, 1)

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """See `tcgp.gp.likelihood.Prior`."""
        links = theta[self.dim :]
        value, slope = PooledPrior(_SCALE_VARIANCE).penalty(theta[: self.dim])
        return value + 0.5 * float(links @ links) + self.price, np.append(slope, links)


class RotatedPairs(ProductPairs):
    """Those of `Rotated`: parameters are d log-lengthscales, and links."""

    def __init__(self, X: FloatArray, p: int) -> None:
        self.X, self.p = X, p

    def correlations(self, theta: FloatArray) -> FloatArray:
        """See `ProductPairs`."""
        return correlation(pdist(self.X @ self._map(theta).T, "sqeuclidean"), self.p)

    def with_slopes(self, theta: FloatArray) -> tuple[FloatArray, Gradient]:
        """See `ProductPairs`."""
        A = self._map(theta)
        k, q = correlation_and_slope(pdist(self.X @ A.T, "sqeuclidean"), self.p)

        def slopes(weights: FloatArray) -> FloatArray:
            product = A @ self._second_moments(q * weights)
            by_link = -np.exp(-theta[: self.X.shape[1], None]) * product
            return np.append(np.einsum("ij,ij->i", product, A), by_link[_below_diagonal(self.X.shape[1])])

        return k, slopes

    def _map(self, theta: FloatArray) -> FloatArray:
        return linear_map(np.exp(theta[: self.X.shape[1]]), theta[self.X.shape[1] :])

    def _second_moments(self, weights: FloatArray) -> FloatArray:
        """Sum over the pairs of ``w (x - y) (x - y)'``, of shape (d, d)."""
        if self._pair_differences is not None:
            moments: FloatArray = (self._pair_differences * weights) @ self._pair_differences.T
            return moments
        W = squareform(weights)
        centred = self.X - self.X.mean(axis=0)
        moments = centred.T @ (W.sum(axis=1)[:, None] * centred - W @ centred)
        return moments

    @cached_property
    def _pair_differences(self) -> FloatArray | None:
        """Differences of all pairs of points, of shape (d, pairs); of very many, None."""
        n, dim = self.X.shape
        rows, columns = np.triu_indices(n, 1)
        if dim * len(rows) > STORED:
            return None
        return np.ascontiguousarray((self.X[rows] - self.X[columns]).T)


class Rotated(Product):
    """Correlation of ``|A (x - y)|``: it sees valleys oblique to the axes.

    The triangular matrix A has a lengthscale for each coordinate and a link for each pair: see `linear_map`. Where a
    function changes fast along one direction and slowly along another, neither of which is an axis, a product must be
    short along all axes, and predicts badly [1]_.

    References
    ----------
    .. [1] Vivarelli, F. and Williams, C. K. I. (1998). Discovering hidden features with Gaussian processes regression.
       NIPS 11.
    """

    pairs = RotatedPairs
    optima = "few"  # thanks to its priors
    is_predictable = False  # narrow bent valleys lead to its optima

    @classmethod
    def size(cls, dim: int) -> int:
        """See `Product`."""
        return n_parameters(dim)

    @classmethod
    def n_positive(cls, dim: int) -> int:
        """See `Product`."""
        return dim

    @classmethod
    def like(cls, lengthscales: FloatArray, p: int) -> Rotated:
        """See `Product`."""
        dim = len(lengthscales)
        return cls(np.append(lengthscales, np.zeros(n_parameters(dim) - dim)), p)

    @classmethod
    def units(cls, width: FloatArray) -> FloatArray:
        """See `Product`."""
        rows, columns = _below_diagonal(len(width))
        return np.append(width, width[rows] / width[columns])

    @classmethod
    def other_bounds(cls, dim: int) -> list[Interval]:
        """See `Product`."""
        return [(-_LARGEST_LINK, _LARGEST_LINK)] * (n_parameters(dim) - dim)

    @classmethod
    def other_starts(cls, dim: int) -> Sequence[FloatArray]:
        """See `Product`."""
        return [np.zeros(n_parameters(dim) - dim)]

    @classmethod
    def prior(cls, pooled: Prior | None, n: int, dim: int) -> Prior | None:
        """See `Product`."""
        return RotatedPrior(dim, n)

    @cached_property
    def _A(self) -> FloatArray:
        dim = int((np.sqrt(8 * len(self.parameters) + 1) - 1) / 2)
        return linear_map(self.parameters[:dim], self.parameters[dim:])

    @property
    def lengthscales(self) -> FloatArray:
        """Those along the coordinates, the others held."""
        found: FloatArray = np.einsum("ij,ij->j", self._A, self._A) ** -0.5
        return found

    def _scaled(self, X: FloatArray) -> FloatArray:
        return np.asarray(X @ self._A.T)

    def _unscaled(self, gradient: FloatArray) -> FloatArray:
        return np.asarray(gradient @ self._A)
