"""Common base of the plain and the relaxed Gaussian process: fit, prediction and leave-one-out in user units."""

from __future__ import annotations

import copy
import logging
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._arrays import check_bounds
from tcgp._text import plain
from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, Bounds, FloatArray
from tcgp.gp.kernels import SMOOTHNESSES
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.posterior import LeaveOneOut, Posterior, Slopes
from tcgp.gp.product import Product
from tcgp.gp.selection import SHORTEST, select_lengthscales, selection_prior
from tcgp.gp.units import Units, check_data, check_lengthscales, check_points, merge_duplicates

__all__ = ["Interpolator"]

if TYPE_CHECKING:
    from typing import Self

logger = logging.getLogger("tcgp")

_LARGEST = float(np.finfo(float).max)
_LARGEST_MISFIT = 1e-2  # of the mean at the data, in standard deviations of the values: more is smoothing


class Interpolator:
    """A Gaussian process that is fitted to data: the base of the plain and of the relaxed one.

    The relaxed one has a likelihood of its own, and does not take all values as they are.

    Attributes
    ----------
    posterior_ : Posterior
        The process conditioned on the data, in normalized units.
    units_ : Units
        The way between these and the user's.
    curvature_ : (k, k) array or None
        Curvature of minus the log-likelihood in the k logarithms of the parameters, as the search for them learned it.
    parameters_ : array or None
        Parameters of a covariance other than a product.
    lengthscales_, mean_, variance_, log_likelihood_, objective_, nugget_, X_, y_
        See `GaussianProcess`.
    """

    lengthscales_: FloatArray
    mean_: float
    variance_: float
    log_likelihood_: float
    objective_: float
    nugget_: float
    X_: FloatArray
    y_: FloatArray
    posterior_: Posterior
    units_: Units
    curvature_: FloatArray | None = None
    parameters_: FloatArray | None = None

    _form: type[Product] = Product

    # Held at a value instead of selected; only `GaussianProcess` takes one from the user.
    lengthscales: ArrayLike | None = None
    mean: float | None = None
    variance: float | None = None
    nugget: float | None = 0.0

    noise_: float = 0.0  # standard deviation of an evaluation, in the units of y

    _exact = "values of y"  # those taken as they are, in words

    def __init__(
        self,
        smoothness: int,
        n_starts: int,
        selection: str,
        shortest: float | None,
        longest: float,
    ) -> None:
        if smoothness not in SMOOTHNESSES:
            raise ValueError(
                f"smoothness must be one of {SMOOTHNESSES} (p in nu = p + 1/2), got {plain(smoothness)}"
            )
        if not isinstance(n_starts, int | np.integer) or n_starts < 1:
            raise ValueError(f"n_starts must be a positive integer, got {plain(n_starts)}")
        selection_prior(selection)  # refuses an invalid one
        for name, bound in (("shortest", SHORTEST if shortest is None else shortest), ("longest", longest)):
            if not (isinstance(bound, numbers.Real) and 0.0 < bound < np.inf):
                raise ValueError(f"{name} must be a number above 0, got {plain(bound)}")
        self.smoothness, self.n_starts = smoothness, n_starts
        self.selection, self.shortest, self.longest = selection, shortest, longest

    @single_threaded
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        bounds: Bounds | None = None,
        start: ArrayLike | None = None,
        curvature: FloatArray | None = None,
        refine: bool = True,
        look_around: bool = False,
    ) -> Self:
        """Fit to exact evaluations.

        Parameters
        ----------
        X : (n, d) array
            Points in user units.
        y : (n,) array
            Values. Equal rows of X must have equal values; they are merged.
        bounds : (d, 2) array, optional
            The box, used only for normalization; by default the range of the data.
        start : (d,) array, optional
            Lengthscales of an earlier fit, for a warm start: one descent instead of a scan. With a fitted nugget, its
            earlier value follows: shape (d + 1,).
        curvature : (k, k) array, optional
            ``curvature_`` of the earlier fit: the descent is shorter.
        refine : bool
            If False, keep ``start`` and fit only the mean and the variance, if the mean then passes through the data.
        look_around : bool
            Scan for better optima beside the descent from ``start``.

        Returns
        -------
        self
        """
        X, y = check_data(X, y)
        dim = X.shape[1]
        X, y = merge_duplicates(X, y)
        values = self._values_to_fit(y)
        units = Units.of(X, values, None if bounds is None else check_bounds(bounds, dim))
        points, z = units.x_to_unit(X), units.y_to_unit(values)
        mean = None if self.mean is None else float(units.y_to_unit(np.asarray(self.mean)))
        variance = None if self.variance is None else float(self.variance) / units.y_unit**2
        known: dict[str, Any] = {"mean": mean, "variance": variance}
        maximized = None
        self.curvature_ = None
        if self.lengthscales is not None:
            rho = check_lengthscales(self.lengthscales, dim, "lengthscales") / units.x_width
            covariance = self._form.like(rho, self.smoothness)
            posterior = Posterior.condition(points, z, covariance, **known, nuggets=self.nugget or 0.0)
        elif z.min() == z.max():
            logger.warning("the %s are equal: lengthscales and variance are set, not estimated", self._exact)
            rho = np.full(dim, 0.5 * np.sqrt(dim))
            known["variance"] = 1.0 if variance is None else variance
            covariance = self._form.like(rho, self.smoothness)
            posterior = Posterior.condition(points, z, covariance, **known, nuggets=self.nugget or 0.0)
        else:
            prior = self._form.prior(selection_prior(self.selection), *points.shape)
            likelihood = self._likelihood(points, z, units, **known, nugget=self.nugget, prior=prior)
            first = None if start is None else self._start_parameters(start, units)
            theta, posterior = self._select(
                likelihood, start=first, curvature=curvature, refine=refine, look_around=look_around
            )
            largest = _LARGEST_MISFIT * float(z.std())
            if first is not None and posterior.misfit > largest:
                theta, posterior = self._select(likelihood)
            if posterior.misfit > largest:
                logger.warning(
                    "some %s differ at points too close together to tell apart: the model passes between them",
                    self._exact,
                )
                likelihood = likelihood.smoothing()
                theta, posterior = self._select(likelihood)
                self.curvature_ = None  # that of another likelihood
            if self.selection != "ml":
                maximized = units.log_density(-likelihood.value(theta), len(z))
        if posterior.factor.nugget:
            logger.debug("the correlation matrix needed a nugget of %g", posterior.factor.nugget)
        self._set_posterior(posterior, units, X, y)
        if maximized is not None:
            self.objective_ = maximized
        return self

    def _select(self, likelihood: ConcentratedLikelihood, **search: Any) -> tuple[FloatArray, Posterior]:
        """The parameters that the likelihood selects, in log units, and the process given them."""
        selected = select_lengthscales(
            likelihood, n_starts=self.n_starts, shortest=self.shortest, longest=self.longest, **search
        )
        theta, self.curvature_ = selected.point, selected.curvature
        posterior = Posterior.condition(
            likelihood.X,
            likelihood.complete(theta),
            likelihood.covariance_at(theta),
            mean=likelihood.mean,
            variance=likelihood.variance,
            nuggets=likelihood.nugget_at(theta),
            expected=likelihood.last_nugget,
        )
        return theta, posterior

    def _values_to_fit(self, y: FloatArray) -> FloatArray:
        """The values that set the units and enter the likelihood."""
        return y

    def _likelihood(
        self, points: FloatArray, z: FloatArray, units: Units, **options: Any
    ) -> ConcentratedLikelihood:
        """What selects the lengthscales, in normalized units; options as in `ConcentratedLikelihood`."""
        return ConcentratedLikelihood(points, z, self.smoothness, covariance=self._form, **options)

    def _set_posterior(self, posterior: Posterior, units: Units, X: FloatArray, y: FloatArray) -> None:
        """Store what the fit learned, in user units."""
        self.posterior_, self.units_, self.X_, self.y_ = posterior, units, X, y
        self.lengthscales_ = posterior.covariance.lengthscales * units.x_width
        if self._form is not Product:
            self.parameters_ = posterior.covariance.parameters * self._form.units(units.x_width)
        self.mean_ = float(units.y_from_unit(np.asarray(posterior.mean)))
        with np.errstate(over="ignore", under="ignore"):
            self.variance_ = float(np.float64(posterior.variance) * np.float64(units.y_unit) ** 2)
        self.nugget_ = float(posterior.nuggets.max()) + posterior.factor.nugget
        n = len(y)
        quadratic = float((posterior.z - posterior.mean) @ posterior.a) / posterior.variance
        log_determinant = n * np.log(2.0 * np.pi * posterior.variance) + posterior.factor.log_determinant
        self.log_likelihood_ = units.log_density(-0.5 * (quadratic + log_determinant), n)
        self.objective_ = self.log_likelihood_

    def _start_parameters(self, start: ArrayLike, units: Units) -> FloatArray:
        """A warm start in the user's units as it is searched: parameters of the covariance, a learned nugget last."""
        dim, form = len(units.x_width), self._form
        width = np.append(form.units(units.x_width), [1.0] * self.learns_nugget)
        others = slice(form.n_positive(dim), form.size(dim))
        if others.start == others.stop:
            return np.asarray(np.log(check_lengthscales(start, len(width), "start") / width))
        theta = np.array(start, dtype=float)
        if theta.shape != width.shape or not np.isfinite(theta[others]).all():
            raise ValueError(f"start must be {len(width)} numbers, lengthscales first, got {plain(start)}")
        theta /= width
        positive = np.delete(np.arange(len(width)), others)
        theta[positive] = np.log(check_lengthscales(theta[positive], len(positive), "start"))
        return theta

    @property
    def learns_nugget(self) -> bool:
        """Whether a nugget is learned with the lengthscales."""
        return self.nugget is None

    def unit_points(self) -> FloatArray:
        """Data points scaled to the unit cube by the bounds of the fit, of shape (n, d)."""
        self._check_fitted()
        return self.posterior_.X

    def _check_fitted(self) -> None:
        if not hasattr(self, "posterior_"):
            raise ValueError(f"this {type(self).__name__} has no data yet: call fit(X, y) first")

    @single_threaded
    def predict(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Predict at many points at once.

        Parameters
        ----------
        X : (m, d) array
            Points, in the units of the data.

        Returns
        -------
        mean, sd : (m,) arrays
        """
        self._check_fitted()
        points = self.units_.x_to_unit(check_points(X, self.X_.shape[1]))
        mean, sd = self.posterior_.predict(points)
        return self.units_.y_from_unit(mean), np.minimum(sd * self.units_.y_unit, _LARGEST)

    @single_threaded
    def joint(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and covariance (m, m) of the values at the rows of X."""
        self._check_fitted()
        points, posterior = self.units_.x_to_unit(check_points(X, self.X_.shape[1])), self.posterior_
        v = posterior.L_inverse @ posterior.correlation_with_data(points).T
        prior = posterior.covariance.correlation(points, points)
        covariance = posterior.variance * self.units_.y_unit**2 * (prior - v.T @ v)
        return self.units_.y_from_unit(posterior.predict(points)[0]), covariance

    @single_threaded
    def predict_gradient(self, X: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Predict, with the gradients of mean and standard deviation with respect to x.

        Returns
        -------
        mean, sd : (m,) arrays
        mean_gradient, sd_gradient : (m, d) arrays
        """
        mean, sd, slopes = self.predict_slopes(X)
        one, zero = np.ones(len(mean)), np.zeros(len(mean))
        return mean, sd, slopes(one, zero), slopes(zero, one)

    def predict_slopes(self, X: ArrayLike) -> tuple[FloatArray, FloatArray, Slopes]:
        """Predict, with what gives the gradients (m, d) of a function of mean and standard deviation.

        It takes the derivatives of that function with respect to both, (m,) each. One such gradient costs half as much
        as those of mean and standard deviation.
        """
        self._check_fitted()
        units = self.units_
        points = units.x_to_unit(check_points(X, self.X_.shape[1]))
        mean, sd, slopes = self.posterior_.predict_slopes(points)
        unit, width = units.y_unit, units.x_width

        def in_user_units(by_mean: FloatArray, by_sd: FloatArray) -> FloatArray:
            return slopes(unit * by_mean, unit * by_sd) / width

        return units.y_from_unit(mean), sd * unit, in_user_units

    @single_threaded
    def leave_one_out(self) -> LeaveOneOut:
        """Leave-one-out predictions at the data points ``X_``, with fixed hyperparameters.

        Closed form (no refit): with ``a = K^-1 (z - m0)``, the mean is ``z_i - a_i / (K^-1)_ii`` and the
        variance ``sigma^2 / (K^-1)_ii``.
        """
        self._check_fitted()
        loo = self.posterior_.leave_one_out()
        with np.errstate(over="ignore"):
            sd = np.minimum(loo.sd * self.units_.y_unit, _LARGEST)
        return LeaveOneOut(self.units_.y_from_unit(loo.mean), sd, loo.residuals)

    @single_threaded
    def condition(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Return a copy with data added and all hyperparameters fixed; added data are never smoothed."""
        self._check_fitted()
        X, y = check_data(X, y)
        check_points(X, self.X_.shape[1])
        all_X, all_y = merge_duplicates(np.vstack([self.X_, X]), np.concatenate([self.y_, y]))
        old, units = self.posterior_, self.units_
        values = units.y_to_unit(all_y)
        values[: len(old.z)] = old.z  # a relaxed value stays as it is
        posterior = old.extended(units.x_to_unit(all_X), values)
        return self._with_posterior(posterior, units, all_X, all_y)

    def _with_posterior(self, posterior: Posterior, units: Units, X: FloatArray, y: FloatArray) -> Self:
        """A copy that has learned this."""
        other = copy.copy(self)
        other._set_posterior(posterior, units, X, y)
        return other
