"""Quantiles of very large values: the difference of two of them may be larger than any float."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tcgp._typing import ArrayLike, FloatArray

__all__ = ["median", "quantile"]

_HUGE = float(np.finfo(float).max) / 4.0


def quantile(values: ArrayLike, level: float | list[float]) -> Any:
    """``np.quantile``, without an overflow.

    Examples
    --------
    >>> from tcgp._quantiles import quantile
    >>> round(float(quantile([-1.6e308, 1.6e308], 0.25)) / 1e308, 3)
    -0.8
    """
    return _scaled(lambda y: np.quantile(y, level), values)


def median(values: ArrayLike) -> Any:
    """``np.median``, without an overflow."""
    return _scaled(np.median, values)


def _scaled(statistic: Callable[[FloatArray], Any], values: ArrayLike) -> Any:
    """A statistic that scales with the values; huge values are divided by 4 first, which is exact."""
    y = np.asarray(values, dtype=np.float64)
    if np.abs(y).max(initial=0.0) < _HUGE:
        return statistic(y)
    return 4.0 * statistic(0.25 * y)
