"""The threshold below which predictions are calibrated, and its memory along a run."""

from __future__ import annotations

import numpy as np

from tcgp._arrays import without_nan
from tcgp._quantiles import quantile
from tcgp._typing import ArrayLike, FloatArray

__all__ = ["empirical_quantile", "next_threshold"]


def next_threshold(
    y: ArrayLike,
    weights: ArrayLike,
    *,
    delta: float,
    p_min: float = 0.015,
    previous: float | None = None,
) -> float:
    """Threshold t_n of the paper's Algorithm 1 (Section 5.2 and Appendix E.3).

    The candidate is the empirical delta-quantile of the observed values. It replaces the previous threshold
    only if the weighted frequency of values at or below it, an estimate of the volume of the excursion set,
    is at least p_min: as the design concentrates near a minimizer the quantile would otherwise fall until
    too few observations are left to calibrate on.

    Parameters
    ----------
    y : array of shape (n,)
        Observed values.
    weights : array of shape (n,)
        Weights of the observations, of any positive sum (see `design_weights`).
    delta : float
        Level of the quantile, in (0, 1].
    p_min : float
        Smallest weighted frequency that lets the threshold move.
    previous : float, optional
        Threshold of the previous iteration; None at the first, where the quantile is taken as it is. So it is if no
        value is as low as the previous threshold.

    Returns
    -------
    float

    Examples
    --------
    >>> from tcgp.calibration import next_threshold
    >>> y = [3.0, 1.0, 2.0, 5.0, 4.0]
    >>> next_threshold(y, [0.2] * 5, delta=0.25)
    2.0
    >>> next_threshold(y, [0.3, 0.005, 0.005, 0.3, 0.39], delta=0.25, previous=2.5)
    2.5
    >>> next_threshold(y, [0.3, 0.005, 0.005, 0.3, 0.39], delta=0.25, previous=0.5)
    2.0
    """
    y, weights = without_nan("y", y), without_nan("weights", weights)
    if weights.shape != y.shape:
        raise ValueError(f"y and weights must share one shape (n,), got {y.shape} and {weights.shape}")
    candidate = empirical_quantile(y, delta)
    if previous is None or previous < y.min():  # values that are predicted, or were corrected, may have risen
        return candidate
    frequency = weights[y <= candidate].sum() / weights.sum()
    return candidate if frequency >= p_min else float(previous)


def empirical_quantile(y: ArrayLike, delta: float) -> float:
    """Empirical quantile of level delta in (0, 1], linear between order statistics (NumPy's default).

    Where the quantile is an order statistic it is returned to the last bit, so that the observation itself
    lies at or below it whatever the units of y: 0.29 · 100 = 28.999…, and an interpolation would fall short.

    Parameters
    ----------
    y : array of shape (n,)
        Observed values.
    delta : float
        Level, in (0, 1].

    Returns
    -------
    float

    Examples
    --------
    >>> from tcgp.calibration import empirical_quantile
    >>> empirical_quantile([3.0, 1.0, 2.0], 0.25)
    1.5
    """
    y = np.asarray(y, dtype=float)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y must have shape (n,) with n >= 1, got shape {y.shape}")
    if not 0.0 < delta <= 1.0:
        raise ValueError(f"delta must be a quantile level in (0, 1], got {delta}")
    position = delta * (len(y) - 1)
    nearest = round(position)
    if abs(position - nearest) < 1e-9:
        ordered: FloatArray = np.partition(y, nearest)
        return float(ordered[nearest])
    return float(quantile(y, delta))
