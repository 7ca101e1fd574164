"""Weighted leave-one-out calibration below a threshold: the problem, and J and the other criteria of a law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike, FloatArray, IntArray
from tcgp.laws import Law

__all__ = [
    "CRITERIA",
    "SelectionCriterion",
    "TailProblem",
    "criterion_named",
    "ks_deviation",
    "selection_criterion",
    "tail_problem",
]

# Stands for −∞ at the threshold when sigma = 0, so that a value strictly below the threshold (−∞) differs.
_FAR_BELOW = -1e300

# An occurrence ratio below this is none at all: its inverse overflows.
_NO_OCCURRENCE = 1e-300


@dataclass(frozen=True)
class TailProblem:
    """All that the calibration below a threshold t needs to know of the data, in units of sigma.

    With f_i and sigma_i the leave-one-out mean and standard deviation at X_i, a law with CDF F predicts
    P(Z_i ≤ z) = F((z − f_i) / sigma_i). Build one with `tail_problem`.

    Attributes
    ----------
    at_threshold : array of shape (n,)
        (t − f_i) / sigma_i.
    weights : array of shape (n,)
        Weights of the observations, of sum one.
    below : array of shape (k,)
        Indices of the observations with Z_i ≤ t.
    at_values : array of shape (k,)
        (Z_i − f_i) / sigma_i of these.
    """

    at_threshold: FloatArray
    weights: FloatArray
    below: IntArray
    at_values: FloatArray

    @property
    def excursion_frequency(self) -> float:
        """Weighted frequency of {Z_i ≤ t}, the paper's estimate of p_t."""
        return float(self.weights[self.below].sum())

    @property
    def jumps(self) -> FloatArray:
        """Weights of the observations below t, of sum one: the jumps of the CDF of the tPIT; (k,)."""
        weights = self.weights[self.below]
        out: FloatArray = weights / weights.sum()
        return out

    def thresholded_pit(self, law: Law) -> FloatArray:
        """Leave-one-out tPIT U_i = F(Z_i) / F(t) of the observations below t (paper, equation of U^LOO).

        A law of m parameter values, held as arrays of shape (m, 1), gives an array of shape (m, k); a single
        law gives (k,).
        """
        values, threshold = self.at_values, self.at_threshold[self.below]
        # In logarithms, for F(t) underflows wherever the threshold is far below the prediction.
        log_values, log_threshold = law.logcdf(values), law.logcdf(threshold)
        with np.errstate(invalid="ignore", under="ignore"):
            ratio = np.exp(np.minimum(log_values - log_threshold, 0.0))
        # Where even the logarithm overflows the truncated law is a point mass at t.
        out: FloatArray = np.where(np.isneginf(log_threshold), values >= threshold, ratio)
        return out

    def occurrence_ratio(self, law: Law) -> FloatArray:
        """Occurrence ratio κ = Σ w_i F(t | X_i) / p̂_t, 1 when the law is occurrence-calibrated.

        A law of m parameter values, held as arrays of shape (m, 1), gives an array of shape (m,).
        """
        out: FloatArray = law.cdf(self.at_threshold) @ self.weights / self.excursion_frequency
        return out


def tail_problem(
    mean: ArrayLike, sd: ArrayLike, y: ArrayLike, weights: ArrayLike, threshold: float
) -> TailProblem:
    """Standardize leave-one-out predictions and observed values about a threshold.

    Where sd = 0 the prediction is the point mass at the mean, P(Z_i ≤ z) = 1{z ≥ f_i}; where it lies above
    both the value and the threshold, the tPIT takes its limit as sd → 0.

    Parameters
    ----------
    mean, sd : array of shape (n,)
        Leave-one-out predictions.
    y : array of shape (n,)
        Observed values, at least one of them at or below the threshold.
    weights : array of shape (n,)
        Nonnegative weights, positive for at least one value at or below the threshold.
    threshold : float
        Threshold t.

    Examples
    --------
    >>> from tcgp.calibration import tail_problem
    >>> from tcgp.laws import Normal
    >>> problem = tail_problem(
    ...     mean=[1.0, 0.0, 2.0], sd=[1.0, 1.0, 0.5], y=[0.5, 1.0, 2.0], weights=[1, 1, 2], threshold=1.0
    ... )
    >>> problem.thresholded_pit(Normal()).round(3)
    array([0.617, 1.   ])
    >>> print(problem.occurrence_ratio(Normal()).round(3))
    0.693
    """
    mean, sd, y, weights = (np.asarray(v, dtype=float) for v in (mean, sd, y, weights))
    if not mean.shape == sd.shape == y.shape == weights.shape or y.ndim != 1:
        raise ValueError(
            "mean, sd, y and weights must share one shape (n,), "
            f"got {mean.shape}, {sd.shape}, {y.shape} and {weights.shape}"
        )
    below = np.flatnonzero(y <= threshold)
    if not weights[below].sum() > 0.0:
        raise ValueError(f"threshold must leave some weight at or below it, got {threshold}, min y {y.min()}")
    certain = sd == 0.0
    divisor = np.where(certain, 1.0, sd)
    with np.errstate(over="ignore"):
        at_threshold = (threshold - mean) / divisor
        at_values = (y - mean) / divisor
    if certain.any():
        far_below = np.where(y < threshold, -np.inf, _FAR_BELOW)
        at_threshold[certain] = np.where(threshold >= mean, np.inf, _FAR_BELOW)[certain]
        at_values[certain] = np.where(y >= mean, np.inf, far_below)[certain]
    return TailProblem(
        at_threshold=at_threshold,
        weights=weights / weights.sum(),
        below=below,
        at_values=at_values[below],
    )


def ks_deviation(
    pit: FloatArray, jumps: FloatArray, *, height: ArrayLike = 1.0, slope: ArrayLike = 1.0
) -> FloatArray:
    """sup over u in [0, 1] of |height · G(u) − slope · u|, G the weighted empirical CDF of values in [0, 1].

    G is a step function, so the supremum is attained at a jump, on one of its two sides, or at u = 1: it is
    computed exactly.

    Parameters
    ----------
    pit : array of shape (..., k)
        Values in [0, 1].
    jumps : array of shape (k,)
        Their weights, of sum one.
    height, slope : float or array of shape (...)
        Factors; with both 1 the result is the Kolmogorov–Smirnov distance to the uniform law.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import ks_deviation
    >>> print(ks_deviation(np.array([0.1, 0.5, 0.9]), np.full(3, 1 / 3)).round(3))
    0.233
    """
    height, slope = np.asarray(height, dtype=float), np.asarray(slope, dtype=float)
    order = np.argsort(pit, axis=-1)
    target = slope[..., None] * np.sort(pit, axis=-1)
    steps = height[..., None] * jumps[order]
    above = np.cumsum(steps, axis=-1)
    at_jumps = np.maximum(np.abs(above - target), np.abs(above - steps - target)).max(axis=-1)
    out: FloatArray = np.maximum(at_jumps, np.abs(height - slope))
    return out


SelectionCriterion: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray, float], FloatArray]

#: The selection criteria, as functions of the tPIT values (..., k), their jumps (k,), the occurrence ratio
#: κ (...) and the excursion frequency p̂_t. A law that predicts no excursion at all (κ = 0) has an infinite
#: value where κ divides.
CRITERIA: dict[str, SelectionCriterion] = {
    # Rule 0, the paper's J: both calibrations at once.
    "joint": lambda pit, jumps, kappa, p: ks_deviation(pit, jumps, slope=kappa),
    # tKS–PIT (tcGP-thres) and the occurrence discrepancy r (tcGP-occ) alone.
    "thres": lambda pit, jumps, kappa, p: ks_deviation(pit, jumps),
    "occ": lambda pit, jumps, kappa, p: p * np.abs(1.0 - kappa),
    # Rules 1, 2 and 3 of Appendix F.2.
    "rule1": lambda pit, jumps, kappa, p: ks_deviation(pit, jumps) * p * np.abs(1.0 - kappa),
    "rule2": lambda pit, jumps, kappa, p: _or_infinite(
        ks_deviation(pit, jumps, height=_inverse(kappa)), kappa
    ),
    "rule3": lambda pit, jumps, kappa, p: _or_infinite(
        ks_deviation(pit, jumps, slope=_inverse(kappa)), kappa
    ),
}


def selection_criterion(problem: TailProblem, law: Law, criterion: str = "joint") -> FloatArray:
    """Value of a selection criterion of `CRITERIA` for one law, or for m laws at once.

    Parameters
    ----------
    problem : TailProblem
        Standardized leave-one-out data.
    law : Law
        Residual law; its parameters may be arrays of shape (m, 1).
    criterion : str
        ``"joint"`` (the paper's J), ``"thres"`` (tKS–PIT), ``"occ"`` (occurrence discrepancy), or
        ``"rule1"``, ``"rule2"``, ``"rule3"`` of Appendix F.2.

    Returns
    -------
    float or array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import selection_criterion, tail_problem
    >>> from tcgp.laws import GeneralizedNormal
    >>> problem = tail_problem(
    ...     mean=[1.0, 0.0, 2.0], sd=[1.0, 1.0, 0.5], y=[0.5, 1.0, 2.0], weights=[1, 1, 2], threshold=1.0
    ... )
    >>> laws = GeneralizedNormal(beta=np.array([[2.0], [1.0]]), scale=np.array([[1.4], [0.5]]))
    >>> selection_criterion(problem, laws).round(3)
    array([0.426, 0.275])
    """
    kappa = problem.occurrence_ratio(law)
    pit = problem.thresholded_pit(law)
    return criterion_named(criterion)(pit, problem.jumps, kappa, problem.excursion_frequency)


def criterion_named(name: str) -> SelectionCriterion:
    """Look up a criterion, or say which there are."""
    if name not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {plain(name)}")
    return CRITERIA[name]


def _inverse(kappa: FloatArray) -> FloatArray:
    """1 / κ, and 1 where there is no κ to divide by (see `_or_infinite`)."""
    return 1.0 / np.where(kappa > _NO_OCCURRENCE, kappa, 1.0)


def _or_infinite(value: FloatArray, kappa: FloatArray) -> FloatArray:
    """The value, or infinity where there is no κ to divide by."""
    return np.where(kappa > _NO_OCCURRENCE, value, np.inf)
