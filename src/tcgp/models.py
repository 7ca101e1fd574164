"""Predictive models: an interpolator and one residual law."""

from __future__ import annotations

import html
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp._arrays import as_generator, is_table
from tcgp._text import html_table, plain
from tcgp._typing import ArrayLike, FloatArray, RandomState
from tcgp.criteria import formulas
from tcgp.gp import LeaveOneOut
from tcgp.gp.descent import pack
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.posterior import Slopes
from tcgp.laws import Law
from tcgp.laws.recalibrated import RecalibratedNormal
from tcgp.space import Point, Space, parameter_names

__all__ = ["Model", "Prediction", "SpaceModel", "reflected"]


@dataclass(frozen=True)
class Prediction:
    """Predictive distributions at m points: ``law`` shifted by ``mean`` and scaled by ``sd``.

    Where ``sd`` is zero (at a data point) the law is a point mass. Arguments broadcast against the points: a
    scalar, an array of shape (m,), or (k, 1) for k values at every point.

    Attributes
    ----------
    mean, sd : (m,) arrays
    law : Law
        Distribution of the standardized residuals, common to all points.
    """

    mean: FloatArray
    sd: FloatArray
    law: Law

    def cdf(self, z: ArrayLike) -> FloatArray:
        """Predictive probability of a value at most z."""
        return self.law.cdf(self._standardize(z))

    def logcdf(self, z: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, accurate in the far lower tail."""
        return self.law.logcdf(self._standardize(z))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Predictive quantile of level q."""
        quantile = np.asarray(self.law.ppf(q))
        with np.errstate(invalid="ignore", over="ignore"):  # values near the largest float
            return np.where(self.sd > 0.0, self.mean + self.sd * quantile, self.mean)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Central interval of probability ``level``: lower and upper ends, each of shape (m,)."""
        if not isinstance(level, numbers.Real) or not 0.0 <= level <= 1.0:
            raise ValueError(f"level must be a number between 0 and 1, got {plain(level)}")
        return self.ppf(0.5 - 0.5 * level), self.ppf(0.5 + 0.5 * level)

    def sample(self, n: int, rng: RandomState = None) -> FloatArray:
        """Draw n values at each point, independently across points: shape (n, m)."""
        if not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n must be an integer >= 0, got {plain(n)}")
        return self.ppf(as_generator(rng).random((n, len(self.mean))))

    def expected_improvement(self, best: float) -> FloatArray:
        """Expected improvement below ``best``."""
        return formulas.expected_improvement(self.mean, self.sd, self.law, best)

    def log_expected_improvement(self, best: float) -> FloatArray:
        """Logarithm of the expected improvement, finite where the improvement itself underflows."""
        return formulas.log_expected_improvement(self.mean, self.sd, self.law, best)

    def probability_of_improvement(self, best: float) -> FloatArray:
        """Predictive probability of a value at most ``best``."""
        return formulas.probability_of_improvement(self.mean, self.sd, self.law, best)

    def lower_confidence_bound(self, eps: float = 0.1) -> FloatArray:
        """Predictive quantile of level ``eps``: the paper's (1 - eps) lower confidence bound."""
        return formulas.lower_confidence_bound(self.mean, self.sd, self.law, eps)

    def _standardize(self, z: ArrayLike) -> FloatArray:
        return formulas.standardize(np.asarray(z, dtype=float), self.mean, self.sd)


@dataclass(frozen=True, repr=False)
class Model:
    """A fitted predictive model: an interpolator and one residual law.

    Attributes
    ----------
    method : str
    interpolator : GaussianProcess or RelaxedGaussianProcess
        Gives location and scale, and holds the data.
    law : Law
        Residual law selected from the leave-one-out residuals.
    threshold : float
        Threshold below which the model is calibrated (relaxed above it, for reGP).
    weights : (n,) array
        Density-ratio weights of the data points, summing to one.
    leave_one_out : LeaveOneOut
        Leave-one-out predictions of the interpolator at the data points.
    n_selected : int
        Number of data when the lengthscales were last selected.
    """

    method: str
    interpolator: Interpolator
    law: Law
    threshold: float
    weights: FloatArray
    leave_one_out: LeaveOneOut
    n_selected: int = 0

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<{type(self).__name__}: {self.method}, {n} points, {d} coordinates, {self.law!r}>"

    @property
    def X(self) -> FloatArray:
        """Data points (n, d), equal rows merged."""
        return self.interpolator.X_

    @property
    def y(self) -> FloatArray:
        """Data values (n,)."""
        return self.interpolator.y_

    @property
    def lengthscales(self) -> FloatArray:
        """Lengthscales (d,), in the units of X."""
        return self.interpolator.lengthscales_

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a typical evaluation, in the units of y; 0 for exact ones."""
        return self.interpolator.noise_

    @property
    def state(self) -> dict[str, Any]:
        """Start of the next fit, as plain JSON: lengthscales (and nugget, if fitted), curvature and threshold."""
        state = {
            "method": self.method,
            "n": self.n_selected,
            "lengthscales": self.lengthscales.tolist(),
            "threshold": self.threshold,
        }
        if self.interpolator.learns_nugget:
            state["nugget"] = self.interpolator.nugget_
        if self.interpolator.parameters_ is not None:
            state["kernel"] = self.interpolator.parameters_.tolist()
        if curvature := pack(self.interpolator.curvature_):
            state["curvature"] = curvature
        return state

    def predict(self, X: ArrayLike) -> Prediction:
        """Predictive distributions at the rows of X, of shape (m, d)."""
        return Prediction(*self.interpolator.predict(X), self.law)

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and scale at the rows of X, each of shape (m,)."""
        return self.interpolator.predict(X)

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        """Location (m,), scale (m,), and what gives the gradients (m, d) of a function of both."""
        return self.interpolator.predict_slopes(X)

    @property
    def towards_low(self) -> Model:
        """The model for which low values are good: this one, or that of the negated values."""
        return self

    def over(self, space: Space, *, negated: bool = False) -> SpaceModel:
        """The model on the points of ``space``, if this is one on their codes (of negated values, with ``negated``)."""
        model = SpaceModel(**vars(self), space=space)
        return model.negated() if negated else model

    def condition(self, X: ArrayLike, y: ArrayLike) -> Model:
        """Add data with fixed hyperparameters and law; weights and leave-one-out stay those of the fit."""
        return replace(self, interpolator=self.interpolator.condition(X, y))


@dataclass(frozen=True, kw_only=True, repr=False)
class SpaceModel(Model):
    """A model that accepts points as users write them, with mixed and named parameters.

    Attributes
    ----------
    space : Space
        Maps points to the unit cube, where the interpolator works; its lengthscales are in these units.
    sign : float
        -1 if the interpolator holds the negated values. Everything else, including the law, is about the values
        themselves; the model is then calibrated *above* the threshold.
    """

    space: Space
    sign: float = 1.0

    @property
    def y(self) -> FloatArray:
        """Data values (n,), with the user's sign."""
        return self.sign * self.interpolator.y_

    @property
    def towards_low(self) -> SpaceModel:
        """The model for which low values are good: this one, or that of the negated values."""
        return self if self.sign > 0.0 else self.negated()

    def negated(self) -> SpaceModel:
        """The model of the negated values."""
        loo = self.leave_one_out
        return replace(
            self,
            law=reflected(self.law),
            threshold=-self.threshold,
            leave_one_out=LeaveOneOut(-loo.mean, loo.sd, -loo.residuals, loo.noise),
            sign=-self.sign,
        )

    @property
    def points(self) -> list[Point]:
        """Data points, in the user's units."""
        return self.space.decode(self.interpolator.X_)

    @property
    def named_lengthscales(self) -> dict[str, float]:
        """Lengthscales by parameter, as shares of its range; a choice has one for each of its codes."""
        names = [
            name if dimension.width == 1 else f"{name}[{k}]"
            for name, dimension in zip(parameter_names(self.space), self.space.dimensions, strict=True)
            for k in range(dimension.width)
        ]
        return dict(zip(names, self.lengthscales.tolist(), strict=False))

    def _repr_html_(self) -> str:
        rows = [[name, f"{value:.3g}"] for name, value in self.named_lengthscales.items()]
        return (
            f"{html.escape(repr(self))}{html_table(['parameter', 'lengthscale, share of the range'], rows)}"
        )

    def predict(self, X: Any) -> Prediction:
        """Predictive laws at a sequence of points, or at the rows of a pandas DataFrame."""
        if is_table(X):
            X = X.to_numpy(dtype=object).tolist() if self.space.names is None else X.to_dict("records")
        mean, sd = self.interpolator.predict(self.space.encode([self.space.check(point) for point in X]))
        return Prediction(self.sign * mean, sd, self.law)

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and scale at codes, the rows of X; each of shape (m,)."""
        mean, sd = self.interpolator.predict(X)
        return self.sign * mean, sd

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        """Location (m,) and scale (m,) at codes, and what gives the gradients (m, d) of a function of both."""
        mean, sd, slopes = self.interpolator.predict_slopes(X)
        return self.sign * mean, sd, lambda by_mean, by_sd: slopes(self.sign * by_mean, by_sd)

    def condition(self, X: ArrayLike, y: ArrayLike) -> Model:
        """Add data at codes, the rows of X, with fixed hyperparameters and law."""
        return super().condition(X, self.sign * np.asarray(y, dtype=np.float64))


def reflected(law: Law) -> Law:
    """The law of a negated residual; only one law is not symmetric."""
    if isinstance(law, RecalibratedNormal):
        return RecalibratedNormal(1.0 - law.levels[::-1], 1.0 - law.values[::-1])
    return law
