"""The answer of a run: the best evaluated point, its value, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from tcgp.record.evaluation import Evaluation

if TYPE_CHECKING:
    from tcgp._typing import FloatArray
    from tcgp.gp import NoisyGaussianProcess
    from tcgp.optimizer.view import RunView
    from tcgp.search.acquisition import Models

__all__ = ["LEVEL", "Answer"]

LEVEL = 0.9  # of intervals
N_DRAWS, MOST_CHOICES = 2000, 50
# No stationary process is the function, and each may be far too certain: no value counts as known better than to this
# share of the noise.
SMALLEST = 0.25


@dataclass(frozen=True)
class Answer:
    """The best evaluated point of a run, or the one that comes closest to satisfying all constraints.

    Attributes
    ----------
    evaluation : Evaluation or None
        At this point, the first one; None if all have failed, and for several objectives.
    value : float
        With the user's sign: the reported value or, with noise, the predicted one; NaN if there is none.
    interval : (float, float)
        Interval that contains the value without noise with a probability of `LEVEL`.
    noise : float
        Standard deviation of the noise; 0 for exact values.
    feasible : bool
        Whether it satisfies all constraints, by its predictions where limits are noisy.
    """

    evaluation: Evaluation | None
    value: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    noise: float = 0.0
    feasible: bool = False

    @classmethod
    def of(cls, known: RunView) -> Answer:
        """The answer of a run so far."""
        models, data = known.smoothed, known.history.data
        if models is None:
            feasible = bool(data.feasible.any())
            best = data.best if feasible else data.least_violating
            value = math.nan if best is None or best.y is None else best.y
            return cls(best, value, (value, value), 0.0, feasible)
        if data.goals.has_several:
            return cls(None, feasible=models.has_feasible)
        row = models.best_row
        feasible = row is not None
        if row is None:
            row = int(models.data.ranking[0])
        model, sign = models.objective, data.goals.objectives[0].sign
        if not model.noise:  # only limits are noisy
            value = sign * float(data.Y[row, 0])
            return cls(data.evaluations[row], value, (value, value), 0.0, feasible)
        value, (low, high) = float(models.data.Y[row, 0]), _interval(models, row)
        low, high = sorted((sign * low, sign * high))
        return cls(data.evaluations[row], sign * value, (low, high), model.noise, feasible)


def _interval(models: Models, row: int) -> tuple[float, float]:
    """Where the value without noise of the chosen evaluation lies, corrected for the choice.

    The point was chosen because its prediction is low, and so more likely by an error that is. To see by how much,
    errors are drawn jointly at all points among which it was chosen, and the choice is made again with each: the upper
    end is as much above the value as errors of what is then chosen are below. The lower end knows of no choice.
    """
    rows = np.flatnonzero(models.data.feasible) if models.data.feasible.any() else np.array([row])
    X = np.unique(models.data.U[rows], axis=0)
    gp, own = cast("NoisyGaussianProcess", models.objective.interpolator), models.data.U[[row]]
    mean, sd = gp.predict(X)
    others = (own != X).any(axis=1)
    near = np.argsort((mean + sd)[others])[:MOST_CHOICES]
    X = np.vstack([own, X[others][near]])
    mean, sd = gp.predict(X)
    errors = _drawn(gp, X) - mean
    chosen = np.argmin(mean + errors + np.maximum(sd, SMALLEST * models.objective.noise), axis=1)
    of_chosen = errors[np.arange(len(errors)), chosen]
    low, high = np.quantile(errors[:, 0], [0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL])
    high = max(high, -np.quantile(of_chosen, 0.5 - 0.5 * LEVEL), 0.0)
    return float(mean[0] + min(low, 0.0)), float(mean[0] + high)


def _drawn(gp: NoisyGaussianProcess, X: FloatArray) -> FloatArray:
    """Values without noise at the rows of X, drawn jointly from the processes that the data allow.

    Their scale is estimated: deviations are those of Student's law.
    """
    rng, parts = np.random.default_rng(0), []
    freedom = max(len(gp.y_) - 1, 1)
    for weight, process in gp.plausible():
        n = round(weight * N_DRAWS)
        mean, covariance = process.joint(X)
        variances = np.diag(covariance)
        scale = np.maximum(
            SMALLEST * process.noise_ / np.sqrt(np.maximum(variances, np.finfo(float).tiny)), 1.0
        )
        values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        errors = rng.standard_normal((n, len(X))) @ root.T
        parts.append(mean + errors * np.sqrt(freedom / rng.chisquare(freedom, (n, 1))))
    return np.vstack(parts)
