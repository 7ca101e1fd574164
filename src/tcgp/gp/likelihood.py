"""The concentrated likelihood: a function of the log-lengthscales (and a nugget) alone, with its gradient."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dlauum
from scipy.spatial.distance import pdist

from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.gp.kernels import correlation, correlation_and_slope
from tcgp.gp.posterior import EPSILON, Factorization, factorize, solve_mean, triangular_inverse

__all__ = ["STORED", "ConcentratedLikelihood", "PooledPrior", "Prior", "evenly"]

if TYPE_CHECKING:
    from typing import Self

# Of a learned nugget, as a share of the process variance: at 1 half of the variance is called ripples.
_NUGGET_RANGE = (1e-8, 1.0)
_NUGGET_STARTS = (1e-6, 1e-3, 1e-1)

# A nugget that rounding needs acts as noise: its variance is this share of that of the process. Where that is huge, the
# likelihood is that of another model, whose mean does not pass through the data. A noise of this, in standard
# deviations of the values, costs half a unit of NLL for each datum; a tenth of it costs a hundredth.
_NOISE = 1e-3

# Numbers up to which the squared differences are kept: 32 MiB.
STORED = 2**22
_TINY = float(np.finfo(float).tiny)


class Prior(Protocol):
    """A prior law of the log-lengthscales, in units of the box."""

    def penalty(self, log_rho: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log-density of the log-lengthscales without its constant, and its gradient."""
        ...


@dataclass(frozen=True)
class PooledPrior:
    """Normal laws of the log-lengthscales about a level that they share; any level is as likely as another."""

    variance: float

    def penalty(self, log_rho: FloatArray) -> tuple[float, FloatArray]:
        """See `Prior`."""
        deviation = log_rho - log_rho.sum() / len(log_rho)
        return float(deviation @ deviation) / (2.0 * self.variance), deviation / self.variance


class SquaredDifferences:
    """Squared differences of all pairs of rows of X, coordinate by coordinate: kept, or made again where many."""

    def __init__(self, X: FloatArray) -> None:
        n, dim = X.shape
        self._X = X
        self._kept: FloatArray | None = None  # (d, pairs)
        if n * (n - 1) // 2 * dim <= STORED:
            self._kept = np.array([pdist(column[:, None], "sqeuclidean") for column in X.T])

    def of(self, j: int) -> FloatArray:
        """Those of one coordinate."""
        if self._kept is not None:
            kept: FloatArray = self._kept[j]
            return kept
        differences: FloatArray = pdist(self._X[:, [j]], "sqeuclidean")
        return differences

    def sums(self, weights: FloatArray) -> FloatArray:
        """Sums over the coordinates with weights (d,), for each pair."""
        if self._kept is not None:
            return weights @ self._kept
        sums: FloatArray = pdist(self._X * np.sqrt(weights), "sqeuclidean")
        return sums

    def moments(self, weights: FloatArray) -> FloatArray:
        """Sums over the pairs with weights (pairs,), for each coordinate."""
        if self._kept is not None:
            return self._kept @ weights
        return np.array([pdist(column[:, None], "sqeuclidean") @ weights for column in self._X.T])


class ConcentratedLikelihood:
    """Negative log-likelihood of a constant-mean GP, mean and variance at their closed-form optimum.

    With K the correlation matrix, ``m0 = 1'K^-1 z / 1'K^-1 1`` and ``sigma^2 = (z - m0)'K^-1(z - m0) / n``,

        NLL = n/2 log(2 pi e sigma^2) + 1/2 log det K,
        dNLL / dlog rho_j = 1/2 sum_kl [C ∘ dK / dlog rho_j]_kl,  C = K^-1 - a a' / sigma^2,  a = K^-1 (z - m0).

    Two variants share this. A prior on the log-lengthscales adds its penalty. A nugget eta adds ``eta I`` to K, with
    ``dNLL / dlog eta = eta/2 trace C``.

    Where K has no Cholesky factor without a small nugget e, data in clusters can be likeliest with a variance so large
    that ``e sigma^2``, a noise, explains them. ``e / (2 s^2) (z - m0)'K^-1(z - m0)`` is therefore added, with s a
    thousandth of the standard deviation of z.

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
    nugget : float or None
        Known nugget, as a share of the variance. None makes its logarithm the last parameter.
    prior : Prior, optional

    Notes
    -----
    Parameters ``theta`` are the log-lengthscales, then the log-nugget if it is learned. Only the n (n - 1) / 2
    pairs are computed, scattered into the triangle that LAPACK reads: this halves the exponentials, which
    dominate at n of about 100.
    """

    takes_nugget = True  # whether a nugget can be learned
    optima = "some"  # how many there are, which says how to look for the best: "few", "some" or "many"
    is_predictable = True  # whether the curvature of another optimum and predicted gains can be relied on

    def __init__(
        self,
        X: FloatArray,
        z: FloatArray,
        p: int,
        *,
        mean: float | None = None,
        variance: float | None = None,
        nugget: float | None = 0.0,
        prior: Prior | None = None,
    ) -> None:
        self.n, self.dim = len(X), X.shape[1]
        self.X, self.z, self.p, self.mean, self.variance = X, z, p, mean, variance
        self.nugget, self.prior = nugget, prior
        self.may_smooth = False  # whether a nugget that rounding needs has no price
        self.n_evaluations = 0
        self.rounding = 0.0  # error of the last value with gradient: data in clusters make K nearly singular
        self._pairs = _positions_of_pairs(self.n)

    @cached_property
    def _differences(self) -> SquaredDifferences:
        return SquaredDifferences(self.X)

    @property
    def learns_nugget(self) -> bool:
        """Whether the last parameter is the logarithm of the nugget."""
        return self.nugget is None

    @property
    def other_bounds(self) -> list[tuple[float, float]]:
        """Bounds of the parameters after the log-lengthscales."""
        return (
            [(float(np.log(_NUGGET_RANGE[0])), float(np.log(_NUGGET_RANGE[1])))] if self.learns_nugget else []
        )

    @property
    def other_starts(self) -> Sequence[FloatArray]:
        """Values of these to begin a search with."""
        return [np.log([nugget]) for nugget in _NUGGET_STARTS] if self.learns_nugget else [np.empty(0)]

    def part(self, m: int) -> Self:
        """The same likelihood of m of the data, spread evenly over their order."""
        rows = evenly(np.arange(self.n), m)
        options = {"mean": self.mean, "variance": self.variance, "nugget": self.nugget}
        return type(self)(self.X[rows], self.z[rows], self.p, **options, prior=self.prior)

    def smoothing(self) -> ConcentratedLikelihood:
        """The same for data that nothing passes through: with a learned nugget, or without the price of rounding."""
        if not self.takes_nugget:
            self.may_smooth = True
            return self
        options = {"mean": self.mean, "variance": self.variance, "nugget": None}
        return ConcentratedLikelihood(self.X, self.z, self.p, **options, prior=self.prior)

    def value(self, theta: FloatArray) -> float:
        """NLL alone, at half the cost of value and gradient."""
        self.n_evaluations += 1
        K = self._matrix(self._pair_correlations(theta), self._nugget_at(theta))
        factor = factorize(K, self._workspace[1])
        _, quadratic = self._solve(K, factor)
        nll = self._nll(quadratic, factor, self._nugget_at(theta))[0]
        return nll if self.prior is None else nll + self.prior.penalty(self._kernel_parameters(theta))[0]

    def parameters(self, theta: FloatArray) -> FloatArray:
        """The parameters of the kernel, and the nugget if it is learned."""
        return np.exp(theta)

    def complete(self, theta: FloatArray) -> FloatArray:
        """The values that the likelihood is of: the data."""
        return self.z

    def rough_value(self, theta: FloatArray) -> float:
        """NLL, or an upper bound of it that is cheaper: good enough to rank the candidates of a scan."""
        return self.value(theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """NLL and its gradient with respect to theta."""
        self.n_evaluations += 1
        nugget = self._nugget_at(theta)
        k, slopes = self._pairs_and_slopes(theta)
        K = self._matrix(k, nugget)
        factor = factorize(K, self._workspace[1])
        a, quadratic = self._solve(K, factor)
        nll, variance = self._nll(quadratic, factor, nugget)
        price = self._price(factor)
        self.rounding = factor.rounding + 0.5 * EPSILON * price * float(a @ a)
        inverse = dlauum(triangular_inverse(factor.L), lower=1, overwrite_c=1)[0]
        # K^-1 - a a' / sigma^2, and the price of a nugget
        contrast = dsyr(-1.0 / variance - price, a, a=inverse, lower=1, overwrite_a=1)
        gradient = slopes(contrast.T.ravel()[self._pairs])
        if self.prior is not None:
            penalty, slope = self.prior.penalty(self._kernel_parameters(theta))
            nll, gradient = nll + penalty, gradient + slope
        if self.learns_nugget:
            slope_of_nugget = self._slope_of_nugget(nugget, contrast.diagonal(), quadratic, variance)
            gradient = np.append(gradient, slope_of_nugget)
        return nll, gradient

    def correlation_matrix(self, theta: FloatArray) -> FloatArray:
        """Correlation matrix with its nugget: lower triangle, Fortran order."""
        return self._matrix(self._pair_correlations(theta), self._nugget_at(theta)).copy(order="F")

    def _pair_correlations(self, theta: FloatArray) -> FloatArray:
        """Correlations of all pairs."""
        return correlation(self._differences.sums(np.exp(-2.0 * theta[: self.dim])), self.p)

    def _pairs_and_slopes(self, theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Correlations of all pairs, and what gives the gradient of their sum with weights (pairs,)."""
        inverse_squares = np.exp(-2.0 * theta[: self.dim])
        k, q = correlation_and_slope(self._differences.sums(inverse_squares), self.p)

        def slopes(weights: FloatArray) -> FloatArray:
            return self._differences.moments(q * weights) * inverse_squares

        return k, slopes

    def _kernel_parameters(self, theta: FloatArray) -> FloatArray:
        """The parameters without the nugget."""
        return theta[:-1] if self.learns_nugget else theta

    def _nugget_at(self, theta: FloatArray) -> float:
        return float(np.exp(theta[-1])) if self.nugget is None else self.nugget

    def _matrix(self, pairs: FloatArray, nugget: float) -> FloatArray:
        """The same, from its off-diagonal pairs; the next call writes over it."""
        K = self._workspace[0]
        flat = K.T.ravel()
        flat[self._pairs] = pairs
        flat[:: self.n + 1] = 1.0 + nugget
        return K

    @cached_property
    def _workspace(self) -> tuple[FloatArray, FloatArray]:
        """Room for the correlation matrix and its factor: new memory would take a tenth of the time at n = 300."""
        return np.zeros((self.n, self.n), order="F"), np.empty((self.n, self.n), order="F")

    def _solve(self, K: FloatArray, factor: Factorization) -> tuple[FloatArray, float]:
        """``a = K^-1 (z - m0)`` and ``(z - m0)' a``."""
        _, a, quadratic = solve_mean(factor, self.z, self.mean)
        return a, quadratic

    def _slope_of_nugget(
        self, nugget: float, contrast: FloatArray, quadratic: float, variance: float
    ) -> float:
        """Derivative of the NLL with respect to the log-nugget, from the diagonal of C."""
        return float(0.5 * nugget * contrast.sum())

    def _nll(self, quadratic: float, factor: Factorization, nugget: float) -> tuple[float, float]:
        """NLL, and the variance it uses."""
        n, variance = self.n, self.variance
        if variance is None:
            variance = max(quadratic / n, _TINY)
        nll = 0.5 * (n * math.log(2.0 * math.pi * variance) + quadratic / variance + factor.log_determinant)
        return nll + 0.5 * quadratic * self._price(factor), variance

    def _price(self, factor: Factorization) -> float:
        """What the quadratic form costs where rounding needs a nugget: see `_NOISE`."""
        if self.may_smooth or not factor.nugget:
            return 0.0
        return factor.nugget / max(_NOISE * float(self.z.std()), math.sqrt(_TINY)) ** 2


@functools.lru_cache(maxsize=1)  # the members of a portfolio have the same
def _positions_of_pairs(n: int) -> IntArray:
    """Positions of the pairs in a flat n x n matrix."""
    rows, columns = np.triu_indices(n, 1)
    positions: IntArray = rows * n + columns
    return positions


def evenly(items: IntArray, m: int) -> IntArray:
    """m of the items, or all if there are fewer, evenly spread over their order."""
    return items if len(items) <= m else items[np.linspace(0, len(items) - 1, m).astype(int)]
