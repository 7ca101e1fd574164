"""Learned limits: the probability that outputs satisfy them, as a factor of a criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcgp._typing import FloatArray
from tcgp.criteria import formulas
from tcgp.criteria.base import Criterion, PredictiveModel

__all__ = ["ConstrainedCriterion", "LogProbability"]


@dataclass(frozen=True)
class LogProbability:
    """Logarithm of the predictive probability that an output is at most ``bound``.

    With a = (bound - mean) / sd it is ``law.logcdf(a)``, accurate in the far tail; its gradient is
    ``-f(a) / F(a) (grad mean + a grad sd) / sd``.

    Attributes
    ----------
    model : PredictiveModel
        Of the output.
    bound : float

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> from tcgp.criteria.limits import LogProbability
    >>> X = np.linspace(0.0, 1.0, 6)[:, None]
    >>> model = tcgp.fit_model(X, X[:, 0] ** 2, "gp")
    >>> np.exp(LogProbability(model, 0.25)(np.array([[0.1], [0.9]]))).round(3)
    array([1., 0.])
    """

    model: PredictiveModel
    bound: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Values (m,) at the rows of X."""
        return self.model.law.logcdf(formulas.standardize(self.bound, *self.model.predict_arrays(X)))

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, d); the gradient is zero where there is none."""
        mean, sd, slopes = self.model.predict_slopes(X)
        law = self.model.law
        a = formulas.standardize(self.bound, mean, sd)
        value = law.logcdf(a)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The ratio f / F by logarithms: both may underflow.
            slope = np.exp(law.logpdf(a) - value) / sd
            return value, formulas.without_undefined(slopes(-slope, -slope * a))


@dataclass(frozen=True)
class ConstrainedCriterion:
    """A criterion plus ``weight`` times the log probability that all limits are satisfied.

    Attributes
    ----------
    criterion : Criterion or None
        None while no known point satisfies all limits: then only the probability counts.
    limits : sequence of LogProbability
    weight : float
        1 for log EI, where the sum is the log of EI times the probabilities; for a criterion in the units of y, a
        scale of y.
    """

    criterion: Criterion | None
    limits: Sequence[LogProbability]
    weight: float = 1.0

    def __call__(self, X: FloatArray) -> FloatArray:
        """Values (m,) at the rows of X."""
        value = np.zeros(len(X)) if self.criterion is None else self.criterion(X)
        for limit in self.limits:
            value = value + self.weight * limit(X)
        return value

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, d) at the rows of X."""
        if self.criterion is None:
            value, gradient = np.zeros(len(X)), np.zeros(X.shape)
        else:
            value, gradient = self.criterion.value_and_gradient(X)
        for limit in self.limits:
            log_p, log_p_gradient = limit.value_and_gradient(X)
            value, gradient = value + self.weight * log_p, gradient + self.weight * log_p_gradient
        return value, gradient
