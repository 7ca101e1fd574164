"""The check that every quantile function makes of its argument."""

from __future__ import annotations

import numpy as np

from tcgp._typing import ArrayLike, FloatArray

__all__ = ["as_levels"]


def as_levels(q: ArrayLike) -> FloatArray:
    """Return q as an array after checking that it lies in [0, 1]; NaN passes and gives NaN."""
    levels = np.asarray(q, dtype=float)
    outside = (levels < 0.0) | (levels > 1.0)
    if outside.any():
        bad = levels[outside].flat[0]
        raise ValueError(f"q must be a probability level in [0, 1], got {bad:g}")
    return levels
