"""The answer of a run: the best evaluated point, its value, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcgp.record.evaluation import Evaluation

if TYPE_CHECKING:
    from tcgp.optimizer.view import RunView
    from tcgp.search.acquisition import Models

__all__ = ["LEVEL", "Answer"]

LEVEL = 0.9  # of intervals
N_DRAWS = 2000
# The posterior takes lengthscales and noise for known, and may be far too certain: no value counts as known better than
# to this share of the noise.
SMALLEST = 0.25


@dataclass(frozen=True)
class Answer:
    """The best evaluated point of a run, or the one that comes nearest to keeping all constraints.

    Attributes
    ----------
    evaluation : Evaluation or None
        At this point, the first one; None if all have failed, and for several objectives.
    value : float
        With the user's sign: what was told or, of noisy values, what is predicted; NaN if there is none.
    interval : (float, float)
        Where the value without noise lies, with a probability of `LEVEL`.
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
        """What a run knows so far."""
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
    errors are drawn from the joint posterior of all points among which it was chosen, and the choice is made again with
    each: the upper end is as much above the value as errors of what is then chosen are below. The lower end is that of
    the plain posterior. With few data both are wider, as of Student's law.
    """
    from scipy.special import ndtri, stdtrit  # not before there is a model

    rows = np.flatnonzero(models.data.feasible) if models.data.feasible.any() else np.array([row])
    X, back = np.unique(models.data.U[rows], axis=0, return_inverse=True)
    mean, covariance = models.objective.interpolator.joint(X)
    floor = SMALLEST * models.objective.noise
    sd = np.sqrt(np.maximum(np.diag(covariance), floor**2))
    own = back.ravel()[np.flatnonzero(rows == row)[0]] if row in rows else 0
    scale = sd / np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    errors = np.random.default_rng(0).standard_normal((N_DRAWS, len(X))) @ root.T
    chosen = np.argmin(mean + errors + sd, axis=1)
    of_chosen = errors[np.arange(N_DRAWS), chosen]
    freedom = max(len(rows) - X.shape[1] - 2, 1)  # lengthscales, mean and noise are fitted
    level = 0.5 + 0.5 * LEVEL
    z = float(stdtrit(freedom, level))
    wider = z / float(ndtri(level))
    upper = max(z * sd[own], -wider * float(np.quantile(of_chosen, 0.5 - 0.5 * LEVEL)))
    return float(mean[own] - z * sd[own]), float(mean[own] + upper)
