"""Gaussian process regression on values with noise: learned or known, repeated points pooled."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from tcgp._arrays import check_bounds, check_noise
from tcgp._text import plain
from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, Bounds, FloatArray, IntArray
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.likelihood import ConcentratedLikelihood, Prior, evenly
from tcgp.gp.posterior import Factorization, LeaveOneOut, Posterior, factorize
from tcgp.gp.selection import LONGEST, SHORTEST, select_lengthscales, selection_prior
from tcgp.gp.units import Units, check_data, check_points

__all__ = ["NoisyGaussianProcess", "NoisyLikelihood", "Repeats"]

if TYPE_CHECKING:
    from typing import Self

logger = logging.getLogger("tcgp")

# Of the noise, as a share of the process variance: the variance of a smooth process may be 1e6 times that of its
# values, and values may be nearly all noise.
_RANGE = (1e-12, 1e3)
_STARTS = (1e-4, 1e-2, 1.0)
_IF_EQUAL = 1e-2  # where all values are equal
# What a stationary process cannot follow, such as a narrow valley, is likelier as noise. Noise that repeats contradict,
# at the first level of a one-sided test, is not learned, but taken from them: their limit at the second level.
_CONTRADICTED, _TAKEN = 0.05, 0.2
# Steps of the nugget where it is varied, a factor 2 of the noise; how many of them, and what is left out.
_STEP, _FAR, _UNLIKELY = 2.0 * math.log(2.0), 4, 1e-3


@dataclass(frozen=True)
class Repeats:
    """Noisy values, pooled at each point, for a Gaussian process.

    Attributes
    ----------
    X : (n, d) array
        Distinct points.
    y : (n,) array
        Means of the values there, each weighted by the inverse of its noise variance.
    shares : (n,) array
        Noise variances of these means, in units of that of a typical evaluation: 1 / k for k equal ones.
    counts : (n,) array
        How many values each is the mean of.
    squares : (n,) array
        Sums of the squared deviations from it.
    sd : float or None
        Noise of a typical evaluation, if known.
    """

    X: FloatArray
    y: FloatArray
    shares: FloatArray
    counts: FloatArray
    squares: FloatArray
    sd: float | None

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, sd: FloatArray | None = None) -> Repeats:
        """Pool values at equal rows of X, in the order of their first appearance.

        ``sd`` is the noise of each value. NaN stands for one that is not known while others are: it is taken to be
        typical. Without ``sd`` all have the same noise, to be learned. Repeats that are all equal, bit for bit, are
        then one value: they say that the function repeats itself.

        Examples
        --------
        >>> import numpy as np
        >>> from tcgp.gp.noise import Repeats
        >>> data = Repeats.of(np.array([[0.0], [1.0], [0.0]]), np.array([2.0, 5.0, 4.0]))
        >>> data.y, data.shares, data.squares
        (array([3., 5.]), array([0.5, 1. ]), array([2., 0.]))
        """
        _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        groups, rows = place[inverse.ravel()], first[order]
        if sd is None:
            typical, variances = None, np.ones(len(y))
        else:
            typical = float(np.sqrt(np.nanmean(sd**2)))
            variances = np.where(np.isnan(sd), 1.0, (sd / typical) ** 2)
        precisions = _sums(groups, 1.0 / variances)
        centred = y - y[rows][groups]  # large values must not swallow small differences
        offsets = _sums(groups, centred / variances) / precisions
        squares = _sums(groups, (centred - offsets[groups]) ** 2)
        counts = _sums(groups, np.ones(len(y)))
        if typical is None and not centred.any():
            counts = precisions = np.ones(len(rows))
        return cls(X[rows], y[rows] + offsets, 1.0 / precisions, counts, squares, typical)

    def largest_sd(self, level: float) -> float:
        """The largest noise of a typical evaluation that the repeats allow; infinite if there are none.

        They would differ less with a probability of ``level``.

        Examples
        --------
        >>> import numpy as np
        >>> from tcgp.gp.noise import Repeats
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> round(Repeats.of(X, np.array([2.0, 5.0, 2.1, 4.9])).largest_sd(0.05), 2)
        0.31
        """
        freedom, spread = float(self.counts.sum()) - len(self.counts), float(self.squares.sum())
        return math.sqrt(spread / float(chdtri(freedom, 1.0 - level))) if spread else math.inf

    def in_units(self, units: Units) -> Repeats:
        """The same in normalized units."""
        unit = units.y_unit
        return Repeats(
            units.x_to_unit(self.X),
            units.y_to_unit(self.y),
            self.shares,
            self.counts,
            self.squares / unit**2,
            None if self.sd is None else self.sd / unit,
        )

    def __getitem__(self, rows: IntArray) -> Repeats:
        return Repeats(
            self.X[rows], self.y[rows], self.shares[rows], self.counts[rows], self.squares[rows], self.sd
        )


class NoisyLikelihood(ConcentratedLikelihood):
    """Negative log-likelihood of noisy values, as a function of the log-lengthscales and of the noise.

    The last parameter is log eta, eta the noise variance of one typical evaluation in units of the process variance
    sigma^2. Of n pooled values with shares w, N in all, with S the sum of squares within repeats, M = K + eta diag(w)
    and ``q = (z - m0)'M^-1 (z - m0)``:

    - a learned noise leaves sigma^2 its closed form, (q + S / eta) / N, and

          NLL = 1/2 [N log(2 pi e sigma^2) + log det M + (N - n) log eta + sum log k];

    - a known noise tau fixes it, sigma^2 = tau^2 / eta, and NLL = 1/2 [n log(2 pi sigma^2) + q / sigma^2 + log det M]
      up to a constant.

    Parameters
    ----------
    data : Repeats
        In normalized units.
    p : int
    prior : Prior, optional
    """

    def __init__(self, data: Repeats, p: int, *, prior: Prior | None = None) -> None:
        super().__init__(data.X, data.y, p, nugget=None, prior=prior)
        self.data = data
        self._spread = float(data.squares.sum())
        self._n_values = float(data.counts.sum())

    @property
    def other_bounds(self) -> list[tuple[float, float]]:
        """See `ConcentratedLikelihood`."""
        scale = 1.0 if self.data.sd is None else self.data.sd**2
        return [(math.log(scale * _RANGE[0]), math.log(max(scale, 1.0) * _RANGE[1]))]

    @property
    def other_starts(self) -> list[FloatArray]:
        """See `ConcentratedLikelihood`."""
        if self.data.sd is None:
            return [np.log([eta]) for eta in _STARTS]
        return [np.log([self.data.sd**2 / variance]) for variance in (1.0, 10.0)]

    def part(self, m: int) -> NoisyLikelihood:
        """See `ConcentratedLikelihood`."""
        return NoisyLikelihood(self.data[evenly(np.arange(self.n), m)], self.p, prior=self.prior)

    def variance_at(self, theta: FloatArray) -> float:
        """The process variance that goes with the parameters."""
        nugget = self.nugget_at(theta)
        K = self._matrix_at(theta)
        factor = factorize(K)
        return self._nll(self._solve(K, factor)[1], factor, nugget)[1]

    def _matrix(self, pairs: FloatArray, nugget: float) -> FloatArray:
        K = super()._matrix(pairs, 0.0)
        K.T.ravel()[:: self.n + 1] += nugget * self.data.shares
        return K

    def _nll(self, quadratic: float, factor: Factorization, nugget: float) -> tuple[float, float]:
        price = 0.5 * quadratic * self._price(factor)
        tiny = np.finfo(float).tiny
        if self.data.sd is not None:
            variance = max(self.data.sd**2 / nugget, tiny)
            fit = self.n * math.log(2.0 * math.pi * variance) + quadratic / variance
            return 0.5 * (fit + factor.log_determinant) + price, variance
        variance = max((quadratic + self._spread / nugget) / self._n_values, tiny)
        within = (self._n_values - self.n) * math.log(nugget) + float(np.log(self.data.counts).sum())
        fit = self._n_values * math.log(2.0 * math.pi * math.e * variance)
        return 0.5 * (fit + factor.log_determinant + within) + price, variance

    def _slope_of_nugget(
        self, nugget: float, contrast: FloatArray, quadratic: float, variance: float
    ) -> float:
        slope = nugget * float(self.data.shares @ contrast)
        if self.data.sd is not None:
            return 0.5 * (slope - self.n + quadratic / variance)
        return 0.5 * (slope + self._n_values - self.n - self._spread / (nugget * variance))


class NoisyGaussianProcess(Interpolator):
    """Gaussian process regression: a smooth function observed with independent normal noise.

    Parameters
    ----------
    noise : True or float
        True learns one standard deviation for all evaluations, with the lengthscales, and not larger than repeats
        allow; or its value, in the units of y.
    smoothness, n_starts, selection, shortest, longest
        See `GaussianProcess`.

    Attributes
    ----------
    noise_ : float
        Standard deviation of the noise of a typical evaluation, in the units of y.
    nugget_ : float
        Its variance, in units of the process variance.
    X_, y_ : arrays of shapes (n, d) and (n,)
        The data, values at one point pooled.
    lengthscales_, mean_, variance_, log_likelihood_, objective_
        See `GaussianProcess`.

    Notes
    -----
    `predict` is about the function, without noise. `leave_one_out` predicts the data, noise included.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.gp import NoisyGaussianProcess
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = np.sin(6.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> gp = NoisyGaussianProcess().fit(X, y)
    >>> round(gp.noise_, 2), bool(abs(gp.predict([[0.5]])[0][0] - np.sin(3.0)) < 0.1)
    (0.07, True)
    """

    nugget = None

    def __init__(
        self,
        noise: bool | float = True,
        smoothness: int = 2,
        *,
        n_starts: int = 3,
        selection: str = "ml",
        shortest: float | None = SHORTEST,
        longest: float = LONGEST,
    ) -> None:
        super().__init__(smoothness, n_starts, selection, shortest, longest)
        self.noise = check_noise(noise)
        if not self.noise:
            raise ValueError("noise must be True or a standard deviation above 0, got False")

    @single_threaded
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sd: ArrayLike | None = None,
        bounds: Bounds | None = None,
        start: ArrayLike | None = None,
        curvature: FloatArray | None = None,
        refine: bool = True,
        look_around: bool = False,
    ) -> Self:
        """Fit to noisy evaluations.

        Parameters
        ----------
        X : (n, d) array
        y : (n,) array
            Values; a point may have several.
        sd : (n,) array, optional
            Standard deviation of the noise of each value, where that is known: it is then not learned. NaN stands for
            ``noise`` if that is a number, and else for the typical one of those given.
        bounds, start, curvature, refine, look_around
            See `GaussianProcess.fit`; ``start`` has the nugget as its last number.

        Returns
        -------
        self
        """
        X, y = check_data(X, y)
        all_data = Repeats.of(X, y, self._deviations(sd, len(y)))
        units = Units.of(all_data.X, all_data.y, None if bounds is None else check_bounds(bounds, X.shape[1]))
        search = {"curvature": curvature, "refine": refine, "look_around": look_around}
        self._fit_to(all_data, units, start, **search)
        if all_data.sd is None and self.noise_ > all_data.largest_sd(_CONTRADICTED):
            self._fit_to(replace(all_data, sd=all_data.largest_sd(_TAKEN)), units, start, **search)
        return self

    def _fit_to(self, all_data: Repeats, units: Units, start: ArrayLike | None, **search: Any) -> None:
        """Select the hyperparameters and condition."""
        data = all_data.in_units(units)
        likelihood = NoisyLikelihood(data, self.smoothness, prior=selection_prior(self.selection))
        if data.y.min() == data.y.max() and not data.squares.any():
            logger.warning("the %s are equal: lengthscales and variance are set, not estimated", self._exact)
            eta = _IF_EQUAL if data.sd is None else data.sd**2
            theta, variance = np.log(np.append(np.full(data.X.shape[1], 0.5), eta)), 1.0
            self.curvature_ = None
        else:
            found = select_lengthscales(
                likelihood,
                n_starts=self.n_starts,
                start=None if start is None else self._start_parameters(start, units),
                shortest=self.shortest,
                longest=self.longest,
                **search,
            )
            theta, self.curvature_ = found.point, found.curvature
            variance = likelihood.variance_at(theta)
        eta = float(np.exp(theta[-1]))
        posterior = Posterior.condition(
            data.X,
            data.y,
            likelihood.covariance_at(theta),
            variance=variance,
            nuggets=eta * data.shares,
        )
        self._set_posterior(posterior, units, all_data.X, all_data.y)
        self.nugget_, self._data = eta, data
        n_values = int(data.counts.sum())
        self.objective_ = units.log_density(-likelihood.value(theta), n_values)
        likelihood.prior = None
        self.log_likelihood_ = units.log_density(-likelihood.value(theta), n_values)

    @single_threaded
    def plausible(self) -> list[tuple[float, Self]]:
        """Processes with other noise and lengthscales that the data of the fit allow, each with its probability.

        Few data do not tell how large the noise is: two values at one point may be nearly equal by luck. The noise, as
        a share of the process, and all lengthscales together are varied in steps of a factor 2. A noise that is learned
        has a prior density halfway between constant and constant in its logarithm. What is less likely than one in a
        thousand is left out.
        """
        self._check_fitted()
        likelihood = NoisyLikelihood(self._data, self.smoothness, prior=selection_prior(self.selection))
        fitted = np.log(np.append(self.posterior_.covariance.lengthscales, self.nugget_))
        highest = max(_FAR, math.ceil(-fitted[-1] / _STEP))  # up to noise as large as the process
        points = [
            fitted + np.append(np.full(len(fitted) - 1, i * math.log(2.0)), j * _STEP)
            for i, j in itertools.product((-1, 0, 1), range(-_FAR, highest + 1))
        ]
        learned = 0.25 if self._data.sd is None else 0.0
        scores = np.array([learned * point[-1] - likelihood.value(point) for point in points])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        return [
            (float(weights[k]), self._with_parameters(likelihood, points[k]))
            for k in np.flatnonzero(weights > _UNLIKELY)
        ]

    def _with_parameters(self, likelihood: NoisyLikelihood, theta: FloatArray) -> Self:
        """A copy with these log-lengthscales and log-nugget."""
        eta = float(np.exp(theta[-1]))
        posterior = Posterior.condition(
            likelihood.X,
            likelihood.z,
            likelihood.covariance_at(theta),
            variance=likelihood.variance_at(theta),
            nuggets=eta * likelihood.data.shares,
        )
        other = self._with_posterior(posterior, self.units_, self.X_, self.y_)
        other.nugget_ = eta
        return other

    def condition(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Return a copy with evaluations of typical noise added, all hyperparameters fixed."""
        self._check_fitted()
        X, y = check_data(X, y)
        check_points(X, self.X_.shape[1])
        old, units = self.posterior_, self.units_
        posterior = Posterior.condition(
            np.vstack([old.X, units.x_to_unit(X)]),
            np.append(old.z, units.y_to_unit(y)),
            old.covariance,
            mean=old.mean,
            variance=old.variance,
            nuggets=np.append(old.nuggets, np.full(len(y), self.nugget_)),
        )
        all_X, all_y = np.vstack([self.X_, X]), np.append(self.y_, y)
        other = self._with_posterior(posterior, units, all_X, all_y)
        other.nugget_ = self.nugget_
        return other

    @property
    def noise_(self) -> float:  # type: ignore[override]
        """See the class."""
        return math.sqrt(self.nugget_ * self.posterior_.variance) * self.units_.y_unit

    def leave_one_out(self) -> LeaveOneOut:
        """Leave-one-out predictions of the data ``y_``, noise included: see `GaussianProcess.leave_one_out`."""
        noise = np.sqrt(self.posterior_.nuggets * self.posterior_.variance) * self.units_.y_unit
        return replace(super().leave_one_out(), noise=noise)

    def _deviations(self, sd: ArrayLike | None, n: int) -> FloatArray | None:
        """The noise of each value, NaN for one that is typical; None if it is to be learned."""
        known = np.full(n, np.nan) if sd is None else np.array(sd, dtype=np.float64)
        if known.shape != (n,):
            raise ValueError(f"sd must have shape ({n},), one for each value, got {known.shape}")
        if (known <= 0.0).any() or np.isinf(known).any():
            raise ValueError(
                f"sd must be finite and above 0, or NaN where it is not known, got {plain(known)}"
            )
        if self.noise is not True:
            known = np.where(np.isnan(known), float(self.noise), known)
        return None if np.isnan(known).all() else known


def _sums(groups: IntArray, values: FloatArray) -> FloatArray:
    """Sum of the values of each group."""
    return np.asarray(np.bincount(groups, values), dtype=np.float64)
