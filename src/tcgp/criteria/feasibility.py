"""Steer a criterion away from where evaluations failed.

A failure tells the model nothing: its criterion stays as large there as it was, and the search would go back
for ever. Two things prevent it. The model is conditioned on a mediocre value at the point itself
(`stand_in_values`), and the criterion is weighed by the share of successes around it (`Feasibility`). What
each of them does is measured in benchmarks/reliability/failures.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._quantiles import quantile
from tcgp._typing import FloatArray
from tcgp.criteria.base import Criterion

__all__ = ["Feasibility", "WeightedCriterion", "stand_in_values"]

DOUBT = 0.1  # how many evaluations the prior belief that a point will succeed is worth
# Times sqrt(d): a function that varies slowly may fail in a small region all the same.
LARGEST_BANDWIDTH = 0.15


def stand_in_values(predicted: FloatArray, y: FloatArray, level: float) -> FloatArray:
    """Values to condition a model on at points whose values are not known, so that it promises nothing there.

    Parameters
    ----------
    predicted : array of shape (m,)
        What the model predicts at these points.
    y : array of shape (n,)
        Values that are known.
    level : float
        Between 0 and 1.

    Returns
    -------
    array of shape (m,)
        The predictions, but at least the quantile of this level of ``y``.

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

    which is 1 where nothing failed nearby and c / (c + 1) at a lonely failure.

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
