"""Sampling criteria (acquisition functions) for any residual law, with gradients with respect to x."""

from tcgp.criteria.base import Criterion
from tcgp.criteria.criteria import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)

__all__ = [
    "Criterion",
    "ExpectedImprovement",
    "LogExpectedImprovement",
    "LowerConfidenceBound",
    "ProbabilityOfImprovement",
]
