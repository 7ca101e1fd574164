"""Check arrays, tables, seeds and boxes given by the user, and compare rows of arrays."""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeGuard

import numpy as np

from tcgp._text import plain, shorten
from tcgp._typing import ArrayLike, BoolArray, Bounds, FloatArray, RandomState

__all__ = ["as_floats", "as_generator", "check_bounds", "check_noise", "is_table", "rows_in", "without_nan"]


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
    >>> from tcgp._arrays import check_bounds
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


def as_floats(values: ArrayLike) -> FloatArray:
    """A copy as floats with NaN for masked items, which NumPy would unmask.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp._arrays import as_floats
    >>> as_floats(np.ma.array([1, -999], mask=[False, True]))
    array([ 1., nan])
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.array(np.ma.filled(values.astype(float), np.nan))
    return np.array(values, dtype=float)


def without_nan(name: str, values: ArrayLike) -> FloatArray:
    """A copy as floats; refuse NaN, which would silently spoil the result.

    Examples
    --------
    >>> from tcgp._arrays import without_nan
    >>> without_nan("y", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    ValueError: y must have no NaN, got [1.0, nan]; leave failed evaluations out
    """
    array = as_floats(values)
    if np.isnan(array).any():
        raise ValueError(
            f"{name} must have no NaN, got {shorten(plain(values), 100)}; leave failed evaluations out"
        )
    return array


def as_generator(rng: RandomState) -> np.random.Generator:
    """The generator of a seed, or the one given."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"rng must be an integer >= 0, a numpy.random.Generator or None, got {plain(rng)}"
        ) from error


def rows_in(X: FloatArray, known: FloatArray) -> BoolArray:
    """Which rows of X are rows of another array, too."""
    rows = {row.tobytes() for row in known}
    return np.array([row.tobytes() in rows for row in X], dtype=bool)


def is_table(values: object) -> TypeGuard[Any]:
    """Whether values are a pandas DataFrame, without importing pandas. Iterating over one yields column names."""
    return all(hasattr(values, name) for name in ("columns", "index", "to_dict"))


def check_noise(noise: object, name: str = "noise") -> bool | float:
    """False, True or a standard deviation; ValueError for anything else."""
    if isinstance(noise, bool | np.bool_):
        return bool(noise)
    if not isinstance(noise, numbers.Real) or not 0.0 < float(noise) < math.inf:
        raise ValueError(f"{name} must be False, True or a standard deviation above 0, got {plain(noise)}")
    return float(noise)
