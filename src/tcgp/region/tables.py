"""Many points at once as one column of numbers per parameter, from points, shares or codes.

Columns from shares and codes equal those of the decoded points up to the rounding of logarithms, and are a hundred
times as fast. What must be exact is computed from points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tcgp._typing import FloatArray, IntArray
from tcgp.space import Categorical, Dimension, Integer, Point, Real, Space, parameter_names

__all__ = ["Columns", "table_of_codes", "table_of_points", "table_of_shares", "value_range"]

Columns: TypeAlias = dict[str, FloatArray]  # a column for each parameter whose values are numbers


def table_of_points(space: Space, points: Sequence[Point]) -> Columns:
    """Values of points."""
    named = enumerate(zip(parameter_names(space), space.dimensions, strict=True))
    return {
        name: np.array([point[i] for point in points], dtype=np.float64)
        for i, (name, dimension) in named
        if _is_numeric(dimension)
    }


def table_of_shares(space: Space, shares: FloatArray) -> Columns:
    """Values at shares of the ranges, of shape (m, len(space)): see `Space.from_unit`."""
    table = {}
    for i, (name, dimension) in enumerate(zip(parameter_names(space), space.dimensions, strict=True)):
        if isinstance(dimension, Categorical):
            n = len(dimension.choices)
            if _is_numeric(dimension):
                table[name] = _choices(dimension, np.minimum((shares[:, i] * n).astype(np.intp), n - 1))
        else:
            table[name] = _quantiles(dimension, shares[:, i])
    return table


def table_of_codes(space: Space, codes: FloatArray) -> Columns:
    """Values at codes, of shape (m, space.dim): see `Space.decode`."""
    table, start = {}, 0
    for name, dimension in zip(parameter_names(space), space.dimensions, strict=True):
        part = codes[:, start : start + dimension.width]
        start += dimension.width
        if not _is_numeric(dimension):
            continue
        if not dimension.width:
            value = next(iter(dimension.values()))
            table[name] = np.full(len(codes), float(value))
        elif isinstance(dimension, Categorical):
            table[name] = _choices(dimension, dimension.places(part))
        else:
            table[name] = _quantiles(dimension, part[:, 0])
    return table


def value_range(dimension: Dimension) -> tuple[float, float]:
    """Smallest and largest value; NaN if the values are not numbers."""
    if isinstance(dimension, Categorical):
        numeric = dimension.choices if _is_numeric(dimension) else [math.nan]
        return float(min(numeric)), float(max(numeric))
    return float(dimension.low), float(dimension.high)


def _is_numeric(dimension: Dimension) -> bool:
    return not isinstance(dimension, Categorical) or dimension.numeric


def _choices(dimension: Categorical, index: IntArray) -> FloatArray:
    return np.array(dimension.choices, dtype=np.float64)[index]


def _quantiles(dimension: Real | Integer, u: FloatArray) -> FloatArray:
    """The values of ``dimension.quantile``, all at once."""
    values: FloatArray
    if dimension.step is not None:
        cells = np.minimum(np.floor(u * dimension.size), dimension.size - 1)
        if isinstance(dimension, Integer):
            values = dimension.low + dimension.step * cells
        else:  # once for each step that occurs: "x <= 0.3" allows the third step of 0.1, though not 3 * 0.1
            some, which = np.unique(cells, return_inverse=True)
            values = np.array([dimension.quantile((i + 0.5) / dimension.size) for i in some.tolist()])[which]
    elif isinstance(dimension, Integer):
        if dimension.log:
            low, high = math.log(dimension.low - 0.5), math.log(dimension.high + 0.5)
            values = np.rint(np.exp(low + u * (high - low)))
        else:
            values = dimension.low + np.floor(u * (dimension.high - dimension.low + 1))
    elif dimension.log:
        values = np.exp((1.0 - u) * math.log(dimension.low) + u * math.log(dimension.high))
    else:
        values = (1.0 - u) * dimension.low + u * dimension.high
    return np.clip(values, dimension.low, dimension.high)
