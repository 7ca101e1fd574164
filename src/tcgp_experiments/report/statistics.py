"""Summaries over replicates, and paired comparisons of two methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tcgp_experiments.arrays import FloatArray

__all__ = ["Mean", "Paired", "band", "compare_pairs", "mean_of"]

# Smaller than any probability that a run can reach; zero estimates count as this.
FLOOR = 1e-300


@dataclass(frozen=True)
class Mean:
    """A mean over n replicates with its standard error (NaN for a single one)."""

    value: float
    error: float
    n: int


def mean_of(values: ArrayLike) -> Mean:
    """Mean and standard error.

    Examples
    --------
    >>> from tcgp_experiments.report.statistics import mean_of
    >>> mean_of([1.0, 2.0, 3.0])
    Mean(value=2.0, error=0.577..., n=3)
    """
    x = np.asarray(values, dtype=float)
    error = float(np.std(x, ddof=1) / np.sqrt(x.size)) if x.size > 1 else float("nan")
    return Mean(float(x.mean()) if x.size else float("nan"), error, x.size)


def band(curves: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Median, 10 % and 90 % quantiles over replicates, at each iteration: the bands of the paper's figures."""
    middle, low, high = np.quantile(np.asarray(curves), [0.5, 0.1, 0.9], axis=0)
    return middle, low, high


@dataclass(frozen=True)
class Paired:
    """Comparison of two methods on the same replicates, in decimal logarithms.

    Attributes
    ----------
    n : int
        Common replicates.
    log_ratio : float
        Median over replicates of log10(a / b): the effect, −1 if a is typically ten times smaller.
    wins : float
        Share of replicates where a is smaller; ties count half.
    p_value : float
        Wilcoxon signed-rank test of "no difference", two-sided; 1 when there is nothing to compare.
    """

    n: int
    log_ratio: float
    wins: float
    p_value: float


def compare_pairs(a: ArrayLike, b: ArrayLike) -> Paired:
    """Compare positive numbers pair by pair.

    Parameters
    ----------
    a, b : (n,) arrays
        Values of two methods on the same replicates, zero or larger; NaN where one has none.

    Examples
    --------
    >>> from tcgp_experiments.report.statistics import compare_pairs
    >>> comparison = compare_pairs([1e-3, 1e-4, 1e-2, 1e-5, 1e-3, 1e-4], [1e-2, 1e-3, 1e-1, 1e-3, 1e-2, 1e-1])
    >>> comparison.log_ratio, comparison.wins, round(comparison.p_value, 3)
    (-1.0, 1.0, 0.031)
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    kept = ~(np.isnan(a) | np.isnan(b))
    difference = np.log10(np.maximum(a[kept], FLOOR)) - np.log10(np.maximum(b[kept], FLOOR))
    if difference.size == 0:
        return Paired(0, float("nan"), float("nan"), 1.0)
    # Curves that differ only by rounding are tied.
    difference = np.where(np.abs(difference) < 1e-9, 0.0, difference)
    wins = float(np.mean(difference < 0.0) + 0.5 * np.mean(difference == 0.0))
    # Pratt's treatment keeps ties in the ranking; dropping them would make a few differences look significant.
    p = float(stats.wilcoxon(difference, zero_method="pratt").pvalue) if difference.any() else 1.0
    return Paired(int(difference.size), float(np.median(difference)), wins, p)
