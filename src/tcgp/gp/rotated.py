"""Gaussian process whose covariance depends on linear combinations of the coordinates, and not on each by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from tcgp._text import plain
from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray, IntArray
from tcgp.gp.interpolator import ParametricInterpolator
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.likelihood import STORED, ConcentratedLikelihood, PooledPrior
from tcgp.gp.posterior import ParametricPosterior
from tcgp.gp.units import Units, check_lengthscales

__all__ = [
    "RotatedGaussianProcess",
    "RotatedLikelihood",
    "RotatedPosterior",
    "RotatedPrior",
    "linear_map",
    "n_parameters",
]

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


class RotatedLikelihood(ConcentratedLikelihood):
    """Likelihood of a process with correlation ``k(|A (x - y)|)``.

    Parameters ``theta`` are the d log-lengthscales and the d (d - 1) / 2 links of A: see `linear_map`.
    """

    takes_nugget = False
    optima = "few"  # thanks to its priors
    is_predictable = False  # narrow bent valleys lead to its optima

    @property
    def other_bounds(self) -> list[tuple[float, float]]:
        """See `ConcentratedLikelihood`."""
        return [(-_LARGEST_LINK, _LARGEST_LINK)] * (n_parameters(self.dim) - self.dim)

    @property
    def other_starts(self) -> Sequence[FloatArray]:
        """See `ConcentratedLikelihood`."""
        return [np.zeros(len(self.other_bounds))]

    def parameters(self, theta: FloatArray) -> FloatArray:
        """See `ConcentratedLikelihood`."""
        return np.append(np.exp(theta[: self.dim]), theta[self.dim :])

    def _pair_correlations(self, theta: FloatArray) -> FloatArray:
        return correlation(pdist(self.X @ self._map(theta).T, "sqeuclidean"), self.p)

    def _pairs_and_slopes(self, theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        A = self._map(theta)
        k, q = correlation_and_slope(pdist(self.X @ A.T, "sqeuclidean"), self.p)

        def slopes(weights: FloatArray) -> FloatArray:
            product = A @ self._second_moments(q * weights)
            by_link = -np.exp(-theta[: self.dim, None]) * product
            return np.append(np.einsum("ij,ij->i", product, A), by_link[_below_diagonal(self.dim)])

        return k, slopes

    def _map(self, theta: FloatArray) -> FloatArray:
        return linear_map(np.exp(theta[: self.dim]), theta[self.dim :])

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
        rows, columns = np.triu_indices(self.n, 1)
        if self.dim * len(rows) > STORED:
            return None
        return np.ascontiguousarray((self.X[rows] - self.X[columns]).T)


@dataclass(frozen=True)
class RotatedPosterior(ParametricPosterior):
    """The process conditioned on data; ``lengthscales`` are those along the coordinates, the others held.

    Attributes
    ----------
    scales : (d,) array
    links : (d (d - 1) / 2,) array
        Parameters of the covariance: see `linear_map`.
    """

    scales: FloatArray
    links: FloatArray

    @classmethod
    def _covariance(
        cls, X: FloatArray, parameters: FloatArray, p: int
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        scales, links = np.split(parameters, [X.shape[1]])
        A = linear_map(scales, links)
        mapped = X @ A.T
        K = correlation(cdist(mapped, mapped, "sqeuclidean"), p)
        return K, np.einsum("ij,ij->j", A, A) ** -0.5, {"scales": scales, "links": links}

    @property
    def parameters(self) -> FloatArray:
        """Lengthscales and links."""
        return np.append(self.scales, self.links)

    @cached_property
    def _A(self) -> FloatArray:
        return linear_map(self.scales, self.links)

    def _scale(self, X: FloatArray) -> FloatArray:
        scaled: FloatArray = X @ self._A.T
        return scaled

    def _unscale_gradient(self, gradient: FloatArray) -> FloatArray:
        product: FloatArray = gradient @ self._A
        return product


class RotatedGaussianProcess(ParametricInterpolator):
    """Gaussian process that sees valleys oblique to the axes: a Matérn covariance of ``|A (x - y)|``.

    The triangular matrix A has a lengthscale for each coordinate and a link for each pair. Where a function changes
    fast along one direction and slowly along another, neither of which is an axis, a product covariance must be short
    along all axes, and predicts badly.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2.
    n_starts : int
        Largest number of full descents of the likelihood when there is no warm start.
    shortest : float or None
    longest : float
        Bounds of the lengthscales in A, as in `GaussianProcess`.

    Attributes
    ----------
    lengthscales_ : (d,) array
        Those along the coordinates, the others held.
    parameters_ : (d (d + 1) / 2,) array
        The lengthscales in A, then the links row by row.
    mean_, variance_, log_likelihood_, nugget_, X_, y_
        As in `GaussianProcess`.
    objective_ : float
        What the selection maximized. Links cost what they would gain by chance: see `RotatedPrior`.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.gp.rotated import RotatedGaussianProcess
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> gp = RotatedGaussianProcess().fit(X, np.sin(9.0 * (X[:, 0] + X[:, 1])), bounds=[(0.0, 1.0)] * 2)
    >>> mean, sd = gp.predict([[0.2, 0.7]])
    >>> bool(abs(mean[0] - np.sin(8.1)) < 0.01)
    True

    References
    ----------
    Vivarelli, F. and Williams, C. K. I. (1998). Discovering hidden features with Gaussian processes regression. NIPS
    11.
    """

    posterior_type = RotatedPosterior

    def _likelihood(
        self, points: FloatArray, z: FloatArray, units: Units, **options: Any
    ) -> ConcentratedLikelihood:
        return RotatedLikelihood(points, z, self.smoothness, prior=RotatedPrior(points.shape[1], len(points)))

    def _start_parameters(self, start: ArrayLike, units: Units) -> FloatArray:
        dim = len(units.x_width)
        numbers = np.asarray(start, dtype=float)
        if numbers.shape != (n_parameters(dim),):
            raise ValueError(
                f"start must be {n_parameters(dim)} numbers, lengthscales and links, got {plain(start)}"
            )
        check_lengthscales(numbers[:dim], dim, "start")
        scaled = numbers / self._start_units(units)
        return np.append(np.log(scaled[:dim]), scaled[dim:])

    def _start_units(self, units: Units) -> FloatArray:
        rows, columns = _below_diagonal(len(units.x_width))
        return np.append(units.x_width, units.x_width[rows] / units.x_width[columns])

    def _product_with(self, lengthscales: FloatArray) -> FloatArray:
        dim = len(lengthscales)
        return np.append(lengthscales, np.zeros(n_parameters(dim) - dim))
