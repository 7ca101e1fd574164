"""Calibration: from leave-one-out residuals to a residual law."""

from __future__ import annotations

from tcgp.calibration.search import BETA_RANGE, SCALE_RANGE, TailFit, tail_law
from tcgp.calibration.tail import CRITERIA, TailProblem, ks_deviation, selection_criterion, tail_problem
from tcgp.calibration.threshold import empirical_quantile, next_threshold
from tcgp.calibration.weights import design_weights

__all__ = [
    "BETA_RANGE",
    "CRITERIA",
    "SCALE_RANGE",
    "TailFit",
    "TailProblem",
    "design_weights",
    "empirical_quantile",
    "ks_deviation",
    "next_threshold",
    "selection_criterion",
    "tail_law",
    "tail_problem",
]
