"""Calibration: from leave-one-out residuals to a residual law."""

from __future__ import annotations

from tcgp.calibration.bayesian import bayesian_law, sample_posterior
from tcgp.calibration.noisy import NoisyTailProblem, noisy_tail_law, noisy_tail_problem
from tcgp.calibration.online import online_law, online_recalibration_map
from tcgp.calibration.tail import CRITERIA, TailProblem, ks_deviation, selection_criterion, tail_problem
from tcgp.calibration.tail_search import BETA_RANGE, SCALE_RANGE, TailFit, tail_law
from tcgp.calibration.threshold import empirical_quantile, next_threshold
from tcgp.calibration.weights import design_weights

__all__ = [
    "BETA_RANGE",
    "CRITERIA",
    "SCALE_RANGE",
    "NoisyTailProblem",
    "TailFit",
    "TailProblem",
    "bayesian_law",
    "design_weights",
    "empirical_quantile",
    "ks_deviation",
    "next_threshold",
    "noisy_tail_law",
    "noisy_tail_problem",
    "online_law",
    "online_recalibration_map",
    "sample_posterior",
    "selection_criterion",
    "tail_law",
    "tail_problem",
]
