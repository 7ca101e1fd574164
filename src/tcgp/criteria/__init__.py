"""Sampling criteria (acquisition functions) for any residual law, with gradients with respect to x."""

from tcgp.criteria.augmented import LogAugmented, LogAugmentedImprovement
from tcgp.criteria.base import Criterion
from tcgp.criteria.criteria import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)
from tcgp.criteria.hypervolume import LogExpectedHypervolumeImprovement

__all__ = [
    "Criterion",
    "ExpectedImprovement",
    "LogAugmented",
    "LogAugmentedImprovement",
    "LogExpectedHypervolumeImprovement",
    "LogExpectedImprovement",
    "LowerConfidenceBound",
    "ProbabilityOfImprovement",
]
