"""Gaussian process whose covariance is a product over all coordinates plus functions of one coordinate each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from tcgp._threads import cached_property
from tcgp._typing import FloatArray
from tcgp.gp.interpolator import ParametricInterpolator
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.likelihood import STORED, ConcentratedLikelihood, Prior
from tcgp.gp.posterior import Gradient, ParametricPosterior
from tcgp.gp.selection import LONGEST
from tcgp.gp.units import Units

__all__ = ["AdditiveGaussianProcess", "AdditiveLikelihood", "AdditivePosterior"]

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


class AdditiveLikelihood(ConcentratedLikelihood):
    """Likelihood of a process with correlation ``(k(x - y) + sum_j s_j k_j(x_j - y_j)) / (1 + sum_j s_j)``.

    Parameters ``theta`` are the d log-lengthscales of the product k, the d of the k_j, and the d logarithms of s_j.
    """

    takes_nugget = False
    optima = "few"  # thanks to its priors

    @property
    def other_bounds(self) -> list[tuple[float, float]]:
        """See `ConcentratedLikelihood`."""
        apart = (float(np.log(_SHORTEST_APART)), float(np.log(LONGEST)))
        return [apart] * self.dim + [_WEIGHT_RANGE] * self.dim

    @property
    def other_starts(self) -> Sequence[FloatArray]:
        """See `ConcentratedLikelihood`."""
        return [np.repeat([np.log(apart), log_s], self.dim) for apart, log_s in _STARTS]

    def _pair_correlations(self, theta: FloatArray) -> FloatArray:
        together, apart, log_s = theta.reshape(3, self.dim)
        s = np.exp(log_s)
        k = correlation(self._differences.sums(np.exp(-2.0 * together)), self.p)
        for j in range(self.dim):
            k += s[j] * correlation(self._differences.of(j) * np.exp(-2.0 * apart[j]), self.p)
        k /= 1.0 + s.sum()
        return k

    def _pairs_and_slopes(self, theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        together, apart, log_s = theta.reshape(3, self.dim)
        s = np.exp(log_s)
        total = 1.0 + s.sum()
        inverse_squares, inverse_squares_apart = np.exp(-2.0 * together), np.exp(-2.0 * apart)
        product, q = correlation_and_slope(self._differences.sums(inverse_squares), self.p)

        def single(j: int) -> tuple[FloatArray, FloatArray]:
            """Correlations of coordinate j, and their derivatives with respect to the log-lengthscale."""
            scaled = self._differences.of(j) * inverse_squares_apart[j]
            k_j, q_j = correlation_and_slope(scaled.copy(), self.p)
            q_j *= scaled
            return k_j, q_j

        k, kept = product, {}
        for j in range(self.dim):
            k_j, q_j = single(j)
            k += s[j] * k_j
            if self.dim * len(k) <= STORED:  # of more, memory would run out: they are computed twice
                kept[j] = k_j, q_j
        k /= total

        def slopes(weights: FloatArray) -> FloatArray:
            gradient: FloatArray = np.empty((3, self.dim))
            gradient[0] = self._differences.moments(q * weights) * inverse_squares
            level = float(k @ weights)
            for j in range(self.dim):
                k_j, q_j = kept[j] if j in kept else single(j)
                gradient[1, j] = s[j] * float(q_j @ weights)
                gradient[2, j] = s[j] * (float(k_j @ weights) - level)
            gradient /= total
            return gradient.ravel()

        return k, slopes


@dataclass(frozen=True)
class AdditivePosterior(ParametricPosterior):
    """The process conditioned on data; ``lengthscales`` are those of a product with the same curvature at 0.

    Attributes
    ----------
    together, apart : (d,) arrays
        Lengthscales of the product and of the single coordinates.
    weights : (d + 1,) array
        Shares of the variance: of the product, then of the single coordinates.
    """

    together: FloatArray
    apart: FloatArray
    weights: FloatArray

    @classmethod
    def _covariance(
        cls, X: FloatArray, parameters: FloatArray, p: int
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        together, apart, s = parameters.reshape(3, X.shape[1])
        weights = np.append(1.0, s) / (1.0 + s.sum())
        lengthscales = (weights[0] / together**2 + weights[1:] / apart**2) ** -0.5
        K = _correlation(X, X, together, apart, weights, p)
        return K, lengthscales, {"together": together, "apart": apart, "weights": weights}

    @property
    def parameters(self) -> FloatArray:
        """Those of `AdditiveLikelihood`, of shape (3 d,)."""
        return np.concatenate([self.together, self.apart, self.weights[1:] / self.weights[0]])

    @cached_property
    def _scaled_together(self) -> FloatArray:
        return np.ascontiguousarray(self.X / self.together)

    def correlation_with_data(self, X: FloatArray) -> FloatArray:
        return _correlation(X, self.X, self.together, self.apart, self.weights, self.p)

    def _correlation_and_gradient(self, X: FloatArray) -> tuple[FloatArray, Gradient]:
        scaled = X / self.together
        k, q = correlation_and_slope(cdist(scaled, self._scaled_together, "sqeuclidean"), self.p)
        k *= self.weights[0]
        q *= self.weights[0]
        singles = []
        for j, (rho, weight) in enumerate(zip(self.apart, self.weights[1:], strict=True)):
            difference = (X[:, [j]] - self.X[:, j]) / rho
            k_j, q_j = correlation_and_slope(difference**2, self.p)
            k += weight * k_j
            singles.append(q_j * difference * (-weight / rho))

        def gradient(c: FloatArray) -> FloatArray:
            product = q * c
            found: FloatArray = product @ self._scaled_together
            found -= product.sum(axis=1)[:, None] * scaled
            found /= self.together
            for j, slope in enumerate(singles):
                found[:, j] += (slope * c).sum(axis=1)
            return found

        return k, gradient


def _correlation(
    X: FloatArray, Y: FloatArray, together: FloatArray, apart: FloatArray, weights: FloatArray, p: int
) -> FloatArray:
    """Correlations of the rows of X with those of Y."""
    k = correlation(cdist(X / together, Y / together, "sqeuclidean"), p)
    k *= weights[0]
    for j, (rho, weight) in enumerate(zip(apart, weights[1:], strict=True)):
        k += weight * correlation(((X[:, [j]] - Y[:, j]) / rho) ** 2, p)
    return k


class AdditiveGaussianProcess(ParametricInterpolator):
    """Gaussian process that sees separability: a Matérn product covariance plus one covariance for each coordinate.

    Where a function is a sum of functions of one coordinate each, or nearly, the data say far more of it than a product
    covariance lets them. All lengthscales and weights are fitted, with weak priors.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2.
    n_starts : int
        Largest number of full descents of the likelihood when there is no warm start.
    shortest : float or None
    longest : float
        Bounds of the lengthscales of the product, as in `GaussianProcess`.

    Attributes
    ----------
    lengthscales_ : (d,) array
        Those of a product covariance with the same curvature at 0.
    parameters_ : (3 d,) array
        Lengthscales of the product, lengthscales of the single coordinates, and their weights, that of the product
        being 1.
    mean_, variance_, log_likelihood_, objective_, nugget_, X_, y_
        As in `GaussianProcess`.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.gp.additive import AdditiveGaussianProcess
    >>> X = np.random.default_rng(0).random((30, 3))
    >>> gp = AdditiveGaussianProcess().fit(X, np.sin(9.0 * X).sum(axis=1), bounds=[(0.0, 1.0)] * 3)
    >>> mean, sd = gp.predict([[0.2, 0.5, 0.8]])
    >>> bool(abs(mean[0] - np.sin([1.8, 4.5, 7.2]).sum()) < 0.1)
    True

    References
    ----------
    Duvenaud, D., Nickisch, H. and Rasmussen, C. E. (2011). Additive Gaussian processes. NIPS 24.
    """

    posterior_type = AdditivePosterior

    def _likelihood(
        self, points: FloatArray, z: FloatArray, units: Units, **options: Any
    ) -> ConcentratedLikelihood:
        prior = AdditivePrior(points.shape[1], options["prior"])
        return AdditiveLikelihood(points, z, self.smoothness, prior=prior)

    def _start_units(self, units: Units) -> FloatArray:
        return np.concatenate([units.x_width, units.x_width, np.ones(len(units.x_width))])

    def _product_with(self, lengthscales: FloatArray) -> FloatArray:
        return np.concatenate([lengthscales, lengthscales, np.full(len(lengthscales), 1e-6)])
