"""The box that a function is defined on, checked at the door."""

from __future__ import annotations

import numpy as np

from tcgp._text import plain
from tcgp._typing import Bounds, FloatArray

__all__ = ["check_bounds"]


def check_bounds(bounds: Bounds, dim: int | None = None) -> FloatArray:
    """Return bounds as a (d, 2) array, or refuse them with a sentence.

    Parameters
    ----------
    bounds : (d, 2) array_like or scipy.optimize.Bounds
        Lower and upper ends, finite, the lower below the upper.
    dim : int, optional
        Number of coordinates that there must be.

    Examples
    --------
    >>> from tcgp._bounds import check_bounds
    >>> check_bounds([(0, 1), (-1, 1)]).tolist()
    [[0.0, 1.0], [-1.0, 1.0]]
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds
        bounds = np.column_stack(np.broadcast_arrays(bounds.lb, bounds.ub))
    try:
        array = np.array(bounds, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"bounds must be pairs (low, high) of numbers, one per coordinate, got {plain(bounds)}"
        ) from error
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise ValueError(
            f"bounds must be pairs (low, high), one per coordinate, got an array of shape {array.shape}"
        )
    if dim is not None and len(array) != dim:
        raise ValueError(
            f"bounds has {len(array)} pairs (low, high) but X has {dim} columns: give one pair per column"
        )
    for j, (low, high) in enumerate(array):
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"bounds[{j}] = ({low:g}, {high:g}) must be finite with low < high")
    return array
