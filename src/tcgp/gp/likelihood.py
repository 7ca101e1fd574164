"""The concentrated likelihood: a function of the log-lengthscales (and a nugget) alone, with its gradient."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dlauum

from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.gp.descent import Interval
from tcgp.gp.posterior import EPSILON, Factorization, factorize, solve_mean, triangular_inverse
from tcgp.gp.product import Product, ProductPairs

__all__ = ["ConcentratedLikelihood", "PooledPrior", "Prior", "evenly"]

if TYPE_CHECKING:
    from typing import Self

# Of a learned nugget, as a share of the process variance: at 1 half of the variance is called ripples.
_NUGGET_RANGE = (1e-8, 1.0)
_NUGGET_STARTS = (1e-6, 1e-3, 1e-1)

# A nugget that rounding needs acts as noise: its variance is this share of that of the process. Where that is huge, the
# likelihood is that of another model, whose mean does not pass through the data. A noise of this, in standard
# deviations of the values, costs half a unit of NLL for each datum; a tenth of it costs a hundredth.
_NOISE = 1e-3

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
    covariance : type of Product
        The form of the covariance, whose parameters are searched.
    mean : float, optional
        Known mean; estimated if None.
    variance : float, optional
        Known variance; estimated if None.
    nugget : float or None
        Known nugget, as a share of the variance. None makes its logarithm the last parameter.
    prior : Prior, optional

    Notes
    -----
    Parameters ``theta`` are those of the covariance, log-lengthscales first, then the log-nugget if it is learned. Only
    the n (n - 1) / 2 pairs are computed, scattered into the triangle that LAPACK reads: this halves the exponentials,
    which dominate at n of about 100.
    """

    takes_nugget = True  # whether a nugget can be learned

    def __init__(
        self,
        X: FloatArray,
        z: FloatArray,
        p: int,
        *,
        covariance: type[Product] = Product,
        mean: float | None = None,
        variance: float | None = None,
        nugget: float | None = 0.0,
        prior: Prior | None = None,
    ) -> None:
        self.n, self.dim = len(X), X.shape[1]
        self.covariance, self.optima = covariance, covariance.optima
        self.is_predictable = covariance.is_predictable
        self.X, self.z, self.p, self.mean, self.variance = X, z, p, mean, variance
        self.nugget, self.prior = nugget, prior
        self.may_smooth = False  # whether a nugget that rounding needs has no price
        self.n_evaluations = 0
        self.last_nugget = 0.0  # that rounding needed
        self.rounding = 0.0  # error of the last value with gradient: data in clusters make K nearly singular
        self._positions = _positions_of_pairs(self.n)

    @cached_property
    def _pairs(self) -> ProductPairs:
        return self.covariance.pairs(self.X, self.p)

    @property
    def learns_nugget(self) -> bool:
        """Whether the last parameter is the logarithm of the nugget."""
        return self.nugget is None

    @property
    def other_bounds(self) -> list[Interval]:
        """Bounds of the parameters after the log-lengthscales."""
        bounds = self.covariance.other_bounds(self.dim)
        low, high = np.log(_NUGGET_RANGE).tolist()
        return [*bounds, (low, high)] if self.learns_nugget else bounds

    @property
    def other_starts(self) -> Sequence[FloatArray]:
        """Values of these to begin a search with."""
        starts = self.covariance.other_starts(self.dim)
        if not self.learns_nugget:
            return starts
        return [np.append(start, np.log(nugget)) for start in starts for nugget in _NUGGET_STARTS]

    def part(self, m: int) -> Self:
        """The same likelihood of m of the data, spread evenly over their order."""
        return self._with(evenly(np.arange(self.n), m), self.nugget)

    def smoothing(self) -> Self:
        """The same for data that nothing passes through: with a learned nugget, or without the price of rounding."""
        if not self.takes_nugget:
            self.may_smooth = True
            return self
        return self._with(np.arange(self.n), None)

    def _with(self, rows: IntArray, nugget: float | None) -> Self:
        """The same likelihood of some data, with this nugget."""
        options: dict[str, Any] = {"covariance": self.covariance, "prior": self.prior}
        options |= {"mean": self.mean, "variance": self.variance, "nugget": nugget}
        return type(self)(self.X[rows], self.z[rows], self.p, **options)

    def value(self, theta: FloatArray) -> float:
        """NLL alone, at half the cost of value and gradient."""
        self.n_evaluations += 1
        K = self._matrix_at(theta)
        factor = factorize(K, self._workspace[1])
        _, quadratic = self._solve(K, factor)
        nll = self._nll(quadratic, factor, self.nugget_at(theta))[0]
        return nll if self.prior is None else nll + self.prior.penalty(self._without_nugget(theta))[0]

    def covariance_at(self, theta: FloatArray) -> Product:
        """The covariance with its parameters."""
        return self.covariance.searched(self._without_nugget(theta), self.p, self.dim)

    def complete(self, theta: FloatArray) -> FloatArray:
        """The values that the likelihood is of: the data."""
        return self.z

    def rough_value(self, theta: FloatArray) -> float:
        """NLL, or an upper bound of it that is cheaper: good enough to rank the candidates of a scan."""
        return self.value(theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """NLL and its gradient with respect to theta."""
        self.n_evaluations += 1
        nugget = self.nugget_at(theta)
        k, slopes = self._pairs.with_slopes(self._without_nugget(theta))
        K = self._matrix(k, nugget)
        factor = factorize(K, self._workspace[1], self.last_nugget)
        self.last_nugget = factor.nugget  # descents go in short steps
        a, quadratic = self._solve(K, factor)
        nll, variance = self._nll(quadratic, factor, nugget)
        price = self._price(factor)
        self.rounding = factor.rounding + 0.5 * EPSILON * price * float(a @ a)
        inverse = dlauum(triangular_inverse(factor.L), lower=1, overwrite_c=1)[0]
        # K^-1 - a a' / sigma^2, and the price of a nugget
        contrast = dsyr(-1.0 / variance - price, a, a=inverse, lower=1, overwrite_a=1)
        gradient = slopes(contrast.T.ravel()[self._positions])
        if self.prior is not None:
            penalty, slope = self.prior.penalty(self._without_nugget(theta))
            nll, gradient = nll + penalty, gradient + slope
        if self.learns_nugget:
            slope_of_nugget = self._slope_of_nugget(nugget, contrast.diagonal(), quadratic, variance)
            gradient = np.append(gradient, slope_of_nugget)
        return nll, gradient

    def correlation_matrix(self, theta: FloatArray) -> FloatArray:
        """Correlation matrix with its nugget: lower triangle, Fortran order."""
        return self._matrix_at(theta).copy(order="F")

    def _matrix_at(self, theta: FloatArray) -> FloatArray:
        """The same; the next call writes over it."""
        return self._matrix(self._pairs.correlations(self._without_nugget(theta)), self.nugget_at(theta))

    def _without_nugget(self, theta: FloatArray) -> FloatArray:
        """The parameters without the nugget."""
        return theta[:-1] if self.learns_nugget else theta

    def nugget_at(self, theta: FloatArray) -> float:
        """The nugget, known or learned."""
        return float(np.exp(theta[-1])) if self.nugget is None else self.nugget

    def _matrix(self, pairs: FloatArray, nugget: float) -> FloatArray:
        """The same, from its off-diagonal pairs; the next call writes over it."""
        K = self._workspace[0]
        flat = K.T.ravel()
        flat[self._positions] = pairs
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
