"""Noiseless Gaussian process interpolation, or smoothing, with selected hyperparameters."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING

import numpy as np

from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, Bounds, FloatArray
from tcgp.gp.kernels import SMOOTHNESSES
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.posterior import LeaveOneOut, Posterior
from tcgp.gp.selection import LONGEST, SHORTEST, select_lengthscales, selection_prior
from tcgp.gp.units import Units, check_bounds, check_data, check_points, merge_duplicates

__all__ = ["GaussianProcess", "Interpolator", "check_lengthscales"]

if TYPE_CHECKING:
    from typing import Self

logger = logging.getLogger("tcgp")


class Interpolator:
    """What the plain and the relaxed Gaussian process share once fitted: a posterior and its units."""

    smoothness: int
    n_starts: int
    shortest: float
    longest: float
    lengthscales_: FloatArray
    mean_: float
    variance_: float
    log_likelihood_: float
    objective_: float
    nugget_: float
    X_: FloatArray
    y_: FloatArray

    _posterior: Posterior
    _units: Units

    def _set_posterior(self, posterior: Posterior, units: Units, X: FloatArray, y: FloatArray) -> None:
        """Store what the fit learned, in user units."""
        self._posterior, self._units, self.X_, self.y_ = posterior, units, X, y
        self.lengthscales_ = posterior.lengthscales * units.x_width
        self.mean_ = float(units.y_from_unit(np.asarray(posterior.mean)))
        with np.errstate(over="ignore", under="ignore"):
            self.variance_ = float(np.float64(posterior.variance) * np.float64(units.y_unit) ** 2)
        self.nugget_ = float(posterior.nuggets.max()) + posterior.factor.nugget
        n = len(y)
        quadratic = float((posterior.z - posterior.mean) @ posterior.a) / posterior.variance
        log_determinant = n * np.log(2.0 * np.pi * posterior.variance) + posterior.factor.log_determinant
        self.log_likelihood_ = -0.5 * (quadratic + log_determinant) - n * float(
            np.log(units.y_scale) + np.log(units.y_magnitude)
        )
        self.objective_ = self.log_likelihood_

    def _select(
        self, likelihood: ConcentratedLikelihood, units: Units, start: ArrayLike | None, refine: bool
    ) -> FloatArray:
        """Log-lengthscales, and log-nugget if it is learned, in units of the box; ``start`` in the user's."""
        first = None
        if start is not None:
            width = np.append(units.x_width, [1.0] * likelihood.learns_nugget)
            first = np.log(check_lengthscales(start, len(width), "start") / width)
        return select_lengthscales(
            likelihood,
            start=first,
            n_starts=self.n_starts,
            shortest=self.shortest,
            longest=self.longest,
            refine=refine,
        )

    @property
    def learns_nugget(self) -> bool:
        """Whether a nugget is learned with the lengthscales."""
        return False

    def unit_points(self) -> FloatArray:
        """Data points scaled to the unit cube by the bounds of the fit, of shape (n, d)."""
        self._check_fitted()
        return self._posterior.X

    def _check_fitted(self) -> None:
        if not hasattr(self, "_posterior"):
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
        points = self._units.x_to_unit(check_points(X, self.X_.shape[1]))
        mean, sd = self._posterior.predict(points)
        return self._units.y_from_unit(mean), sd * self._units.y_unit

    @single_threaded
    def predict_gradient(self, X: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Predict, with the gradients of mean and standard deviation with respect to x.

        Returns
        -------
        mean, sd : (m,) arrays
        mean_gradient, sd_gradient : (m, d) arrays
        """
        self._check_fitted()
        units = self._units
        points = units.x_to_unit(check_points(X, self.X_.shape[1]))
        mean, sd, mean_gradient, sd_gradient = self._posterior.predict_gradient(points)
        slope = units.y_unit / units.x_width
        return units.y_from_unit(mean), sd * units.y_unit, mean_gradient * slope, sd_gradient * slope

    @single_threaded
    def leave_one_out(self) -> LeaveOneOut:
        """Leave-one-out predictions at the data points ``X_``, hyperparameters held.

        Closed form (no refit): with ``a = K^-1 (z - m0)``, the mean is ``z_i - a_i / (K^-1)_ii`` and the
        variance ``sigma^2 / (K^-1)_ii``.
        """
        self._check_fitted()
        loo = self._posterior.leave_one_out()
        return LeaveOneOut(self._units.y_from_unit(loo.mean), loo.sd * self._units.y_unit, loo.residuals)

    @single_threaded
    def condition(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Return a copy with data added and every hyperparameter held; added data are never smoothed."""
        self._check_fitted()
        X, y = check_data(X, y)
        check_points(X, self.X_.shape[1])
        all_X, all_y = merge_duplicates(np.vstack([self.X_, X]), np.concatenate([self.y_, y]))
        old, units = self._posterior, self._units
        values = units.y_to_unit(all_y)
        values[: len(old.z)] = old.z  # a relaxed value stays as it is
        posterior = Posterior.condition(
            units.x_to_unit(all_X),
            values,
            old.lengthscales,
            old.p,
            mean=old.mean,
            variance=old.variance,
            nuggets=np.append(old.nuggets, np.zeros(len(values) - len(old.z))),
        )
        other = copy.copy(self)
        other._set_posterior(posterior, units, all_X, all_y)
        return other


class GaussianProcess(Interpolator):
    """Gaussian process with a constant mean and an anisotropic Matérn covariance, interpolating exact data.

    The mean, the variance and the lengthscales are selected by maximum likelihood. The first two have closed
    forms given the lengthscales, so only d numbers are searched, with exact gradients.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2: the covariance of a process differentiable p times. The paper uses 2.
    lengthscales : float or (d,) array, optional
        Held at this value (in the units of X) instead of selected.
    mean, variance : float, optional
        Held at this value (in the units of y) instead of selected.
    n_starts : int
        Largest number of full descents of the likelihood when there is no warm start.
    selection : {"ml", "map", "pooled", "reml"}
        What selects the lengthscales: the likelihood; the likelihood times a prior, by which lengthscales are
        independent, or about a level they share (for few data, or many parameters); or the restricted likelihood,
        that of the contrasts of the data, in which the unknown mean costs a degree of freedom.
    prior : (float, float), optional
        With ``"map"``: mean and variance of the log-lengthscales, in units of the box. By default
        ``sqrt 2 + log(d) / 2`` and 3.
    nugget : float or None
        Ripples too short to be resolved, as a variance of their own in units of the process variance. 0
        interpolates. None learns it with the lengthscales: the process then runs smoothly between the data.
        `predict` gives the smooth part; `leave_one_out` predicts the data, ripples included.
    shortest, longest : float
        Bounds of the selected lengthscales: the lower in units of the typical spacing of the data, ``n^(-1/d)`` of
        the box, the upper in units of the box.

    Attributes
    ----------
    lengthscales_ : (d,) array
    mean_, variance_, log_likelihood_ : float
    objective_ : float
        What the selection maximised: equals ``log_likelihood_`` with ``"ml"``.
    nugget_ : float
        The nugget, with what the Cholesky factorization needed: 0 unless the data are nearly dependent, or smoothed.
    X_, y_ : arrays of shapes (n, d) and (n,)
        The data, equal rows merged.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import GaussianProcess
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> gp = GaussianProcess().fit(X, np.sin(6.0 * X[:, 0]))
    >>> mean, sd = gp.predict([[0.5]])
    >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01)
    True

    References
    ----------
    Stein, M. L. (1999). Interpolation of Spatial Data. Springer.
    """

    def __init__(
        self,
        smoothness: int = 2,
        *,
        lengthscales: ArrayLike | None = None,
        mean: float | None = None,
        variance: float | None = None,
        n_starts: int = 3,
        selection: str = "ml",
        prior: tuple[float, float] | None = None,
        nugget: float | None = 0.0,
        shortest: float = SHORTEST,
        longest: float = LONGEST,
    ) -> None:
        if smoothness not in SMOOTHNESSES:
            raise ValueError(
                f"smoothness must be one of {SMOOTHNESSES} (p in nu = p + 1/2), got {smoothness!r}"
            )
        selection_prior(selection, 1, prior)
        if nugget is not None and not 0.0 <= nugget < np.inf:
            raise ValueError(f"nugget must be at least 0 and finite, or None to learn it, got {nugget!r}")
        self.smoothness = smoothness
        self.lengthscales = lengthscales
        self.mean = mean
        self.variance = variance
        self.n_starts = n_starts
        self.selection, self.prior, self.nugget = selection, prior, nugget
        self.shortest, self.longest = shortest, longest

    @property
    def learns_nugget(self) -> bool:
        """Whether a nugget is learned with the lengthscales."""
        return self.nugget is None

    @single_threaded
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        bounds: Bounds | None = None,
        start: ArrayLike | None = None,
        refine: bool = True,
    ) -> Self:
        """Fit to exact evaluations.

        Parameters
        ----------
        X : (n, d) array
            Points in user units.
        y : (n,) array
            Values. Equal rows of X must have equal values; they are merged.
        bounds : (d, 2) array, optional
            The box, used for normalisation only; the range of the data by default.
        start : (d,) array, optional
            Lengthscales of an earlier fit: a warm start, one descent from there instead of a scan. With a
            learned nugget, that of the earlier fit follows them: shape (d + 1,).
        refine : bool
            False takes ``start`` as it is: mean and variance alone are selected again.

        Returns
        -------
        self
        """
        X, y = check_data(X, y)
        dim = X.shape[1]
        X, y = merge_duplicates(X, y)
        units = Units.of(X, y, None if bounds is None else check_bounds(bounds, dim))
        points, z = units.x_to_unit(X), units.y_to_unit(y)
        mean = None if self.mean is None else float(units.y_to_unit(np.asarray(self.mean)))
        variance = None if self.variance is None else float(self.variance) / units.y_unit**2
        nugget, freedom, value = self.nugget or 0.0, len(y), None
        if self.lengthscales is not None:
            rho = check_lengthscales(self.lengthscales, dim, "lengthscales") / units.x_width
        elif y.min() == y.max():
            logger.warning("all values of y are equal: lengthscales and variance are set, not estimated")
            rho = np.full(dim, 0.5 * np.sqrt(dim))
            variance = 1.0 if variance is None else variance
        else:
            likelihood = ConcentratedLikelihood(
                points,
                z,
                self.smoothness,
                mean=mean,
                variance=variance,
                nugget=self.nugget,
                prior=selection_prior(self.selection, dim, self.prior),
                restricted=self.selection == "reml",
            )
            theta = self._select(likelihood, units, start, refine)
            rho, freedom = np.exp(theta[:dim]), likelihood.degrees_of_freedom
            if likelihood.learns_nugget:
                nugget = float(np.exp(theta[-1]))
            if self.selection != "ml":
                value = -likelihood.value(theta)
        posterior = Posterior.condition(
            points,
            z,
            rho,
            self.smoothness,
            mean=mean,
            variance=variance,
            nuggets=nugget,
            degrees_of_freedom=freedom,
        )
        if posterior.factor.nugget:
            logger.debug("the correlation matrix needed a nugget of %g", posterior.factor.nugget)
        self._set_posterior(posterior, units, X, y)
        if value is not None:
            self.objective_ = value
        return self


def check_lengthscales(lengthscales: ArrayLike, dim: int, name: str) -> FloatArray:
    try:
        array = np.broadcast_to(np.array(lengthscales, dtype=float), (dim,))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be one number or {dim} numbers, got {lengthscales!r}") from error
    if not (np.isfinite(array).all() and (array > 0.0).all()):
        raise ValueError(f"{name} must be positive and finite, got {lengthscales!r}")
    return array
