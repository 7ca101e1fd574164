"""Sampling criteria of a fitted model, for a maximizer: larger is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._text import plain
from tcgp._threads import cached_property
from tcgp._typing import FloatArray
from tcgp.criteria import formulas
from tcgp.criteria.base import PredictiveModel
from tcgp.laws.base import Improvement

__all__ = [
    "ExpectedImprovement",
    "LogExpectedImprovement",
    "LowerConfidenceBound",
    "ProbabilityOfImprovement",
]


@dataclass(frozen=True)
class ExpectedImprovement:
    """Expected improvement below ``best``."""

    model: PredictiveModel
    best: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """EI at the rows of X, of shape (m,)."""
        return formulas.expected_improvement(*self.model.predict_arrays(X), self.model.law, self.best)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """EI (m,) and its gradient (m, d): ``(g - a F) grad sd - F grad mean``."""
        mean, sd, slopes = self.model.predict_slopes(X)
        law = self.model.law
        a = formulas.standardize(self.best, mean, sd)
        finite = np.where(sd > 0.0, a, 0.0)
        F, g = law.cdf(a), law.improvement(finite)
        return np.where(sd > 0.0, sd * g, np.maximum(self.best - mean, 0.0)), slopes(-F, g - finite * F)


@dataclass(frozen=True)
class LogExpectedImprovement:
    """Logarithm of the expected improvement below ``best``: the same maximizer, without flat regions of zero."""

    model: PredictiveModel
    best: float
    improvement: Improvement | None = None  # replaces the model's law, for instance a table of it

    def __call__(self, X: FloatArray) -> FloatArray:
        """Log EI at the rows of X, of shape (m,); -inf where EI is zero."""
        return formulas.log_expected_improvement(*self.model.predict_arrays(X), self._law, self.best)

    @property
    def _law(self) -> Improvement:
        return self.improvement or self.model.law

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log EI (m,) and its gradient (m, d), which is zero where log EI is not differentiable.

        With ``rho = F / g``: ``grad log EI = [(1 - a rho) grad sd - rho grad mean] / sd``.
        """
        mean, sd, slopes = self.model.predict_slopes(X)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value, by_mean, by_sd = self.derivatives(mean, sd)
            return value, formulas.without_undefined(slopes(by_mean, by_sd))

    def derivatives(self, mean: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log EI and its derivatives with respect to the mean and the standard deviation, (m,) each."""
        certain = np.flatnonzero(sd <= 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = (self.best - mean) / sd
            if len(certain):
                a[certain] = 0.0
            log_g, rho = self._law.log_improvement_and_slope(a)
            value = np.log(sd) + log_g
            if len(certain):
                value[certain] = np.log(np.maximum(self.best - mean[certain], 0.0))
            return value, rho / -sd, (1.0 - a * rho) / sd


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """Predictive probability of a value at most ``best``."""

    model: PredictiveModel
    best: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """PI at the rows of X, of shape (m,)."""
        return formulas.probability_of_improvement(*self.model.predict_arrays(X), self.model.law, self.best)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """PI (m,) and its gradient (m, d): ``-f(a) (grad mean + a grad sd) / sd``, zero where sd = 0."""
        mean, sd, slopes = self.model.predict_slopes(X)
        law = self.model.law
        a = formulas.standardize(self.best, mean, sd)
        slope = np.divide(law.pdf(a), sd, out=np.zeros_like(sd), where=sd > 0.0)
        return law.cdf(a), slopes(-slope, -slope * np.where(np.isfinite(a), a, 0.0))


@dataclass(frozen=True)
class LowerConfidenceBound:
    """The negative lower confidence bound: minus the predictive quantile of level ``epsilon``.

    This is the paper's UCB policy, written for minimization.
    """

    model: PredictiveModel
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon < 1.0:
            raise ValueError(f"epsilon must lie strictly between 0 and 1, got {plain(self.epsilon)}")

    @cached_property
    def _quantile(self) -> float:
        return float(self.model.law.ppf(self.epsilon))

    def __call__(self, X: FloatArray) -> FloatArray:
        """-LCB at the rows of X, of shape (m,)."""
        mean, sd = self.model.predict_arrays(X)
        return -(mean + self._quantile * sd)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """-LCB (m,) and its gradient (m, d)."""
        mean, sd, slopes = self.model.predict_slopes(X)
        return -(mean + self._quantile * sd), slopes(
            np.full_like(mean, -1.0), np.full_like(sd, -self._quantile)
        )
