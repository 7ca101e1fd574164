"""Weighted leave-one-out calibration below a threshold: the problem, and J and the other criteria of a law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from tcgp._arrays import without_nan
from tcgp._text import plain
from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray, IntArray
from tcgp.laws import Law

__all__ = [
    "CRITERIA",
    "SelectionCriterion",
    "TailProblem",
    "criterion_named",
    "deviation_of_counted",
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
    """The data needed for calibration below a threshold t, in units of sigma.

    With f_i and sigma_i the leave-one-out mean and standard deviation at X_i, a law with CDF F predicts
    P(Z_i ≤ z) = F((z − f_i) / sigma_i). Build one with `tail_problem`.

    Attributes
    ----------
    at_threshold : array of shape (n,)
        (t − f_i) / sigma_i.
    weights : array of shape (n,)
        Weights of the observations; they sum to one.
    below : array of shape (k,)
        Indices of the observations with Z_i ≤ t.
    at_values : array of shape (k,)
        (Z_i − f_i) / sigma_i of these.
    """

    at_threshold: FloatArray
    weights: FloatArray
    below: IntArray
    at_values: FloatArray

    @cached_property
    def excursion_frequency(self) -> float:
        """Weighted frequency of {Z_i ≤ t}, the paper's estimate of p_t."""
        return float(self.weights[self.below].sum())

    @cached_property
    def jumps(self) -> FloatArray:
        """Weights of the observations below t, of sum one: the jumps of the CDF of the tPIT; (k,)."""
        weights = self.weights[self.below]
        out: FloatArray = weights / weights.sum()
        return out

    def thresholded_pit(self, law: Law, *, ratio: str = "exact") -> FloatArray:
        """Leave-one-out tPIT U_i = F(Z_i) / F(t) of the observations below t (paper, equation of U^LOO).

        A law of m parameter values, held as arrays of shape (m, 1), gives an array of shape (m, k); a single
        law gives (k,). With ``ratio="plain"`` it is NaN where F(t) underflows.
        """
        if ratio == "plain":
            return self.plain_ratios(law)[1]
        values, threshold = self.at_values, self.at_threshold[self.below]
        # In logarithms, for F(t) underflows wherever the threshold is far below the prediction.
        log_values, log_threshold = law.logcdf(values), law.logcdf(threshold)
        with np.errstate(invalid="ignore", under="ignore"):
            quotient = np.exp(np.minimum(log_values - log_threshold, 0.0))
        # Where even the logarithm overflows the truncated law is a point mass at t.
        out: FloatArray = np.where(np.isneginf(log_threshold), values >= threshold, quotient)
        return out

    def occurrence_ratio(self, law: Law) -> FloatArray:
        """Occurrence ratio κ = Σ w_i F(t | X_i) / p̂_t, 1 when the law is occurrence-calibrated.

        A law of m parameter values, held as arrays of shape (m, 1), gives an array of shape (m,).
        """
        out: FloatArray = law.cdf(self.at_threshold) @ self.weights / self.excursion_frequency
        return out

    def plain_ratios(self, law: Law) -> tuple[FloatArray, FloatArray]:
        """`occurrence_ratio`, and `thresholded_pit` as the plain quotient: the law is asked once for both."""
        probabilities = law.cdf(np.concatenate([self.at_threshold, self.at_values]))
        at_threshold, at_values = np.split(probabilities, [len(self.at_threshold)], axis=-1)
        kappa: FloatArray = at_threshold @ self.weights / self.excursion_frequency
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            return kappa, at_values / at_threshold[..., self.below]


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

    Returns
    -------
    TailProblem

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
    named = {"mean": mean, "sd": sd, "y": y, "weights": weights}
    mean, sd, y, weights = (without_nan(name, values) for name, values in named.items())
    if not mean.shape == sd.shape == y.shape == weights.shape or y.ndim != 1:
        raise ValueError(
            "mean, sd, y and weights must share one shape (n,), "
            f"got {mean.shape}, {sd.shape}, {y.shape} and {weights.shape}"
        )
    if (sd < 0.0).any():
        raise ValueError(f"sd must be standard deviations >= 0, got {plain(float(sd.min()))}")
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
        Factors; with both 1 the result is the Kolmogorov–Smirnov distance to the uniform distribution.

    Returns
    -------
    float or array of shape (...)

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


def deviation_of_counted(
    pit: FloatArray,
    jumps: FloatArray,
    *,
    height: ArrayLike = 1.0,
    slope: ArrayLike = 1.0,
    supremum: str = "samples",
) -> FloatArray:
    """`ks_deviation` of values some of which are NaN and not counted, so that G ends below one.

    Parameters
    ----------
    pit, jumps, height, slope
        As in `ks_deviation`.
    supremum : {"samples", "exact"}
        Over the values alone, G taken with their jumps; or over all u in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration.tail import deviation_of_counted
    >>> pit, jumps = np.array([0.1, 0.5, np.nan]), np.full(3, 1 / 3)
    >>> print(deviation_of_counted(pit, jumps).round(3), deviation_of_counted(pit, jumps, supremum="exact").round(3))
    0.233 0.333
    """
    height, slope = np.asarray(height, dtype=float), np.asarray(slope, dtype=float)
    order = np.argsort(pit, axis=-1)  # NaN come last
    ordered = np.sort(pit, axis=-1)
    counted = ~np.isnan(ordered)
    target = slope[..., None] * ordered
    steps = height[..., None] * jumps[order]
    above = np.cumsum(steps, axis=-1)
    gaps = np.abs(above - target)
    at_one: FloatArray = np.abs((steps * counted).sum(axis=-1) - slope)
    if supremum == "samples":
        at_one = np.where(counted.any(axis=-1), 0.0, np.inf)  # with no value there is nothing to go by
    else:
        gaps = np.maximum(gaps, np.abs(above - steps - target))
    out: FloatArray = np.maximum(np.where(counted, gaps, 0.0).max(axis=-1), at_one)
    return out


SelectionCriterion: TypeAlias = Callable[..., FloatArray]

#: The selection criteria, as functions of the tPIT values (..., k), their jumps (k,), the occurrence ratio
#: κ (...), the excursion frequency p̂_t and the deviation from the uniform law, `ks_deviation` by default. A law that
#: predicts no excursion at all (κ = 0) has an infinite value where κ divides.
CRITERIA: dict[str, SelectionCriterion] = {
    # Rule 0, the paper's J: both calibrations at once.
    "joint": lambda pit, jumps, kappa, p, gap=ks_deviation: gap(pit, jumps, slope=kappa),
    # tKS–PIT (tcGP-thres) and the occurrence discrepancy r (tcGP-occ) alone.
    "thres": lambda pit, jumps, kappa, p, gap=ks_deviation: gap(pit, jumps),
    "occ": lambda pit, jumps, kappa, p, gap=ks_deviation: p * np.abs(1.0 - kappa),
    # Rules 1, 2 and 3 of Appendix F.2.
    "rule1": lambda pit, jumps, kappa, p, gap=ks_deviation: gap(pit, jumps) * p * np.abs(1.0 - kappa),
    "rule2": lambda pit, jumps, kappa, p, gap=ks_deviation: _or_infinite(
        gap(pit, jumps, height=_inverse(kappa)), kappa
    ),
    "rule3": lambda pit, jumps, kappa, p, gap=ks_deviation: _or_infinite(
        gap(pit, jumps, slope=_inverse(kappa)), kappa
    ),
}


def selection_criterion(
    problem: TailProblem,
    law: Law,
    criterion: str = "joint",
    *,
    supremum: str = "exact",
    ratio: str = "exact",
) -> FloatArray:
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
    supremum : {"exact", "samples"}
        Over all u in [0, 1], or over the tPIT values alone.
    ratio : {"exact", "plain"}
        The tPIT by logarithms, or as the plain quotient F(Z) / F(t), not counted where F(t) underflows.

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
    if ratio == "plain":
        kappa, pit = problem.plain_ratios(law)
    else:
        kappa, pit = problem.occurrence_ratio(law), problem.thresholded_pit(law)
    is_exact = supremum == ratio == "exact"
    gap = ks_deviation if is_exact else partial(deviation_of_counted, supremum=supremum)
    return criterion_named(criterion)(pit, problem.jumps, kappa, problem.excursion_frequency, gap)


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
