"""The improvement of a symmetric law, from its lower tail: g(a) = a + g(−a).

For a > 0 both terms are positive, so nothing cancels: an accurate log g(−|a|) is all that is needed.
"""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray

__all__ = ["log_reflected_improvement", "log_reflected_improvement_and_slope", "reflected_improvement"]


def reflected_improvement(a: FloatArray, log_tail: FloatArray) -> FloatArray:
    """g(a), given log_tail = log g(−|a|)."""
    with np.errstate(over="ignore"):
        out: FloatArray = np.exp(log_tail) + np.maximum(a, 0.0)
    return out


def log_reflected_improvement(a: FloatArray, log_tail: FloatArray) -> FloatArray:
    """log g(a), given log_tail = log g(−|a|)."""
    positive = a > 0.0
    if not positive.any():
        return log_tail
    with np.errstate(over="ignore", divide="ignore"):
        log_sum = np.log(np.exp(log_tail) + np.maximum(a, 0.0))
    # For a ≤ 0, going through exp would lose the precision of log_tail.
    out: FloatArray = np.where(positive, log_sum, log_tail)[()]
    return out


def log_reflected_improvement_and_slope(
    a: FloatArray, log_tail: FloatArray, tail_slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """log g(a) and F(a) / g(a), given log_tail = log g(−|a|) and tail_slope = F(−|a|) / g(−|a|)."""
    positive = a > 0.0
    if not positive.any():
        return log_tail, tail_slope
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        g_tail = np.exp(log_tail)
        g = g_tail + np.maximum(a, 0.0)
        # For a ≤ 0, going through exp would lose the precision of log_tail.
        log_g: FloatArray = np.where(positive, np.log(g), log_tail)[()]
        slope: FloatArray = np.where(positive, (1.0 - tail_slope * g_tail) / g, tail_slope)[()]
    return log_g, slope
