"""Steer a criterion away from where evaluations failed.

A failure has no value, so the criterion would stay as large there as it was, and the search would return forever. Two
measures prevent this. The model is conditioned on a mediocre value at the point (`stand_in_values`), and the criterion
is multiplied by the share of successes nearby (`Feasibility`). benchmarks/reliability/failures.py measures both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._quantiles import quantile
from tcgp._typing import FloatArray
from tcgp.criteria.base import Criterion

__all__ = ["Feasibility", "WeightedCriterion", "stand_in_values"]

DOUBT = 0.1  # weight, in evaluations, of the prior belief that a point succeeds
# Times sqrt(d): even a function that varies slowly may fail in a small region.
LARGEST_BANDWIDTH = 0.15


def stand_in_values(predicted: FloatArray, y: FloatArray, level: float) -> FloatArray:
    """Values (m,) to assume at points without one: the predictions, but at least the quantile of this level of ``y``.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.criteria.feasibility import stand_in_values
    >>> stand_in_values(np.array([-1.0, 8.0]), np.array([2.0, 3.0, 9.0]), 0.0)
    array([2., 8.])
    """
    return np.asarray(np.maximum(predicted, quantile(y, level)))


@dataclass(frozen=True)
class Feasibility:
    """Probability that an evaluation succeeds: the share of successes among the evaluations nearby.

    With a Gaussian kernel k and ``DOUBT`` = c,

        p(x) = (c + sum over successes k(x, x_i)) / (c + sum over all k(x, x_i)),

    which is 1 where nothing failed nearby and c / (c + 1) at an isolated failure.

    Attributes
    ----------
    succeeded : array of shape (n, d)
    failed : array of shape (m, d)
    lengthscales : array of shape (d,)
        Bandwidths of the kernel are these, up to ``LARGEST_BANDWIDTH * sqrt(d)``.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.criteria.feasibility import Feasibility
    >>> feasibility = Feasibility(np.array([[0.1]]), np.array([[0.9]]), np.array([0.1]))
    >>> np.exp(feasibility.log_probability(np.array([[0.1], [0.9]]))).round(2)
    array([1.  , 0.09])
    """

    succeeded: FloatArray
    failed: FloatArray
    lengthscales: FloatArray

    def log_probability(self, X: FloatArray) -> FloatArray:
        """Logarithm of p at the rows of X, of shape (m,)."""
        return self.log_probability_and_gradient(X)[0]

    def log_probability_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logarithm of p (m,) and its gradient (m, d)."""
        bandwidths = np.minimum(self.lengthscales, LARGEST_BANDWIDTH * np.sqrt(X.shape[1]))
        success, success_gradient = _kernel_sum(X, self.succeeded, bandwidths)
        failure, failure_gradient = _kernel_sum(X, self.failed, bandwidths)
        success += DOUBT
        total = success + failure
        gradient = success_gradient / success[:, None]
        gradient -= (success_gradient + failure_gradient) / total[:, None]
        return np.log(success) - np.log(total), gradient


@dataclass(frozen=True)
class WeightedCriterion:
    """A criterion plus ``weight`` times the log probability of success.

    Attributes
    ----------
    criterion : Criterion
    feasibility : Feasibility
    weight : float
        1 for log EI, where the sum is the log of EI times p; for a criterion in the units of y, a scale of y.
    """

    criterion: Criterion
    feasibility: Feasibility
    weight: float = 1.0

    def __call__(self, X: FloatArray) -> FloatArray:
        """Values (m,) at the rows of X."""
        return self.criterion(X) + self.weight * self.feasibility.log_probability(X)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, d) at the rows of X."""
        value, gradient = self.criterion.value_and_gradient(X)
        log_p, log_p_gradient = self.feasibility.log_probability_and_gradient(X)
        return value + self.weight * log_p, gradient + self.weight * log_p_gradient


def _kernel_sum(X: FloatArray, centres: FloatArray, bandwidths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum over the centres of exp(-h^2 / 2) at each row of X (m,), and its gradient (m, d)."""
    A, B = X / bandwidths, centres / bandwidths
    square = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2.0 * (A @ B.T)
    k = np.exp(-0.5 * np.maximum(square, 0.0))
    total = k.sum(axis=1)
    return total, (k @ B - total[:, None] * A) / bandwidths
