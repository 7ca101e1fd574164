"""Is the model of an output right about a limit? In words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tcgp._typing import BoolArray, FloatArray
from tcgp.models import Model
from tcgp.scoring.scores import leave_one_out_prediction

__all__ = ["Band", "LimitDiagnosis", "diagnose_limit"]

# Points whose probability of satisfying the limit is above the second are safe, below the first hopeless.
SURE = (0.1, 0.9)
CHANCE = 1.645  # standard deviations that a count stays within nine times in ten
CLOSE = 0.05  # share of the points that does not change a decision


@dataclass(frozen=True)
class Band:
    """Points with similar predicted probabilities.

    Attributes
    ----------
    label : {"safe", "doubtful", "hopeless"}
    n : int
    expected : float
        Expected number of them that satisfy the limit, according to the model.
    kept : int
        Actual number.
    """

    label: str
    n: int
    expected: float
    kept: int


@dataclass(frozen=True)
class LimitDiagnosis:
    """Leave-one-out predictions of whether a limit is satisfied, compared with the observed values.

    ``str(diagnosis)`` is a summary in two sentences.

    Attributes
    ----------
    n, kept : int
        Number of evaluations, and of those that satisfy the limit.
    expected : float
        Expected number that satisfy it: the sum of the predicted probabilities, each from all other data.
    deviation : float
        Standard deviation of this number if the predictions are right.
    bands : tuple of Band
        The same for points called safe, doubtful and hopeless; bands without points are left out.
    """

    n: int
    kept: int
    expected: float
    deviation: float
    bands: tuple[Band, ...]

    @property
    def verdict(self) -> str:
        """The verdict on the model."""
        difference = self.expected - self.kept
        if abs(difference) <= max(CHANCE * self.deviation, CLOSE * self.n):
            return "about right"
        if difference > 0.0:
            return "too optimistic, it expects the limit to be satisfied more often than it is"
        return "too pessimistic, it expects the limit to be satisfied less often than it is"

    @property
    def summary(self) -> str:
        """How often the limit is satisfied, and what the model expected, in a sentence."""
        count = {0: "none of the", self.n: "all"}.get(self.kept, f"{self.kept} of the")
        return (
            f"The limit is satisfied by {count} {self.n} evaluations; predicting each from the others, the model "
            f"expected {self.expected:.1f}: {self.verdict}."
        )

    def __str__(self) -> str:
        low, high = (f"{100 * level:.0f} %" for level in SURE)
        named = {
            "safe": f"called safe (probability above {high})",
            "doubtful": "called doubtful",
            "hopeless": f"called hopeless (below {low})",
        }
        bands = [f"{band.kept} of {band.n} {named[band.label]}" for band in self.bands]
        return f"{self.summary} It is satisfied by {', '.join(bands)}."


def diagnose_limit(model: Model, limit: float = 0.0) -> LimitDiagnosis:
    """Compare how often a limit is satisfied with how often a model predicts it, by leave-one-out.

    Parameters
    ----------
    model : Model
        Of the output.
    limit : float
        The largest allowed value.

    Returns
    -------
    LimitDiagnosis
        Numbers as attributes; ``print`` it for a summary.

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> from tcgp.scoring import diagnose_limit
    >>> X = np.linspace(0.0, 1.0, 12)[:, None]
    >>> diagnosis = diagnose_limit(tcgp.fit_model(X, np.sin(5.0 * X[:, 0]), "gp"), limit=0.5)
    >>> diagnosis.kept, diagnosis.verdict
    (8, 'about right')
    """
    probability = leave_one_out_prediction(model).cdf(limit)
    kept = np.asarray(model.y <= limit)
    low, high = SURE
    bands = {
        "safe": probability > high,
        "doubtful": (probability >= low) & (probability <= high),
        "hopeless": probability < low,
    }
    return LimitDiagnosis(
        n=len(kept),
        kept=int(kept.sum()),
        expected=float(probability.sum()),
        deviation=math.sqrt(float(np.sum(probability * (1.0 - probability)))),
        bands=tuple(_band(name, probability[i], kept[i]) for name, i in bands.items() if i.any()),
    )


def _band(label: str, probability: FloatArray, kept: BoolArray) -> Band:
    return Band(label, len(kept), float(probability.sum()), int(kept.sum()))
