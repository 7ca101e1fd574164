"""The answer of a run: the best evaluated point, its value, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcgp.record.evaluation import Evaluation

if TYPE_CHECKING:
    from tcgp.optimizer.known import Known

__all__ = ["LEVEL", "Answer"]

LEVEL = 0.9  # of intervals


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
    def of(cls, known: Known) -> Answer:
        """What a run knows so far."""
        models, data = known.smoothed, known.history.data
        if models is None:
            feasible = bool(data.feasible.any())
            best = data.best if feasible else data.least_violating
            value = math.nan if best is None or best.y is None else best.y
            return cls(best, value, (value, value), 0.0, feasible)
        row = models.best_row
        feasible = row is not None
        if row is None:
            row = int(models.data.ranking[0])
        model, sign = models.objective, data.goals.objectives[0].sign
        if not model.noise:  # only limits are noisy
            value = sign * float(data.Y[row, 0])
            return cls(data.evaluations[row], value, (value, value), 0.0, feasible)
        prediction = model.predict(data.U[[row]])
        low, high = (sign * float(end[0]) for end in prediction.interval(LEVEL))
        value = sign * float(prediction.mean[0])
        return cls(data.evaluations[row], value, (min(low, high), max(low, high)), model.noise, feasible)
