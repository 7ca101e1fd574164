"""Sampling criteria as functions of a predictive mean, standard deviation and residual law.

For a standardized residual R with CDF F, let ``g(a) = E[(a - R)_+]``, so that g' = F. With
``a = (best - mean) / sd``,

    EI  = sd g(a),            PI  = F(a),            LCB = mean + sd F^-1(epsilon).

Where sd = 0 the predictive law is a point mass at the mean.
"""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray
from tcgp.laws import Law
from tcgp.laws.base import Improvement

__all__ = [
    "expected_improvement",
    "log_expected_improvement",
    "lower_confidence_bound",
    "probability_of_improvement",
    "standardize",
    "without_undefined",
]


def standardize(z: FloatArray | float, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """``(z - mean) / sd``; where sd = 0, +inf if z >= mean and -inf otherwise (a point mass at the mean)."""
    with np.errstate(over="ignore"):
        deviation = np.subtract(z, mean)
    at_data = np.where(deviation >= 0.0, np.inf, -np.inf)
    with np.errstate(over="ignore"):
        a: FloatArray = np.divide(deviation, sd, out=at_data, where=np.broadcast_to(sd > 0.0, at_data.shape))
    return a


def expected_improvement(mean: FloatArray, sd: FloatArray, law: Law, best: FloatArray | float) -> FloatArray:
    """EI under ``law``: equation (ei_gn) of the paper for a generalized normal law."""
    a = standardize(best, mean, sd)
    positive = sd > 0.0
    with np.errstate(over="ignore"):  # values near the largest float, where the logarithm is still finite
        improvement = sd * law.improvement(np.where(positive, a, 0.0))
        return np.where(positive, improvement, np.maximum(best - mean, 0.0))


def log_expected_improvement(
    mean: FloatArray, sd: FloatArray, law: Improvement, best: FloatArray | float
) -> FloatArray:
    """Logarithm of EI, accurate where EI itself underflows; -inf where EI is zero."""
    a = standardize(best, mean, sd)
    positive = sd > 0.0
    with np.errstate(divide="ignore"):
        at_data = np.log(np.maximum(best - mean, 0.0))
        return np.where(positive, np.log(sd) + law.log_improvement(np.where(positive, a, 0.0)), at_data)


def probability_of_improvement(
    mean: FloatArray, sd: FloatArray, law: Law, best: FloatArray | float
) -> FloatArray:
    """Predictive probability of a value at most ``best``."""
    return law.cdf(standardize(best, mean, sd))


def lower_confidence_bound(mean: FloatArray, sd: FloatArray, law: Law, epsilon: float) -> FloatArray:
    """Predictive quantile of level ``epsilon``: the (1 - epsilon) lower confidence bound of the paper."""
    with np.errstate(over="ignore"):  # values near the largest float
        return mean + sd * float(law.ppf(epsilon))


def without_undefined(gradients: FloatArray) -> FloatArray:
    """The gradients, (m, d), with zero for those that are not defined everywhere."""
    defined = np.isfinite(gradients)
    if not defined.all():
        gradients[~defined.all(axis=1)] = 0.0
    return gradients
