"""tKS-PIT as the paper computes it, or as we do."""

from __future__ import annotations

from tcgp import scoring
from tcgp.laws import GeneralizedNormal
from tcgp.methods.published import Choices
from tcgp.models import Prediction
from tcgp_experiments.arrays import FloatArray

__all__ = ["tks_pit"]


def tks_pit(prediction: Prediction, values: FloatArray, threshold: float, choices: Choices) -> float:
    """tKS–PIT of predictions at points below a threshold, with the ratio F(Z) / F(t) of the choices.

    The plain quotient is used only for generalized normal laws: with it, the cells of reGP, whose law is normal, would
    be far from the paper's tab:comparison.
    """
    ratio = choices.ratio if isinstance(prediction.law, GeneralizedNormal) else "exact"
    return scoring.tks_pit(prediction, values, threshold, ratio=ratio)
