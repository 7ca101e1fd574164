"""Normalization of inputs and outputs, checks of arguments, and conversion back to user units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._arrays import as_floats
from tcgp._text import plain
from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, BoolArray, FloatArray

__all__ = [
    "Units",
    "check_data",
    "check_lengthscales",
    "check_points",
    "merge_duplicates",
]

# A point farther out than this, in widths of the box, has no correlation with any other; its squared distance
# would overflow, and the correlation become NaN.
_FARTHEST = 1e50
# Values up to this size, and predictions of them, are far from the largest float.
_MODERATE = 1e100


@dataclass(frozen=True)
class Units:
    """Affine maps between user units and normalized ones: X in the unit cube, y of mean 0 and sd 1.

    ``y_magnitude`` is taken out first, so that values near the largest or smallest floats do no harm.
    """

    x_low: FloatArray
    x_width: FloatArray
    y_magnitude: float
    y_center: float
    y_scale: float

    @cached_property
    def _is_unit_cube(self) -> bool:
        """Whether X is in the unit cube as it is, as in an optimizer."""
        return not self.x_low.any() and bool((self.x_width == 1.0).all())

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, bounds: FloatArray | None) -> Units:
        low, high = (X.min(axis=0), X.max(axis=0)) if bounds is None else (bounds[:, 0], bounds[:, 1])
        with np.errstate(over="ignore"):
            width = high - low
        width = np.where((width > 0.0) & np.isfinite(width), width, 1.0)
        magnitude = float(np.abs(y).max()) or 1.0
        shrunk = y / magnitude
        center = float(shrunk.mean())
        spread = float(np.std(shrunk))
        # A constant y has no scale of its own: its magnitude serves, so that uncertainty stays positive.
        scale = spread if spread > 8.0 * np.finfo(float).eps else 1.0
        return cls(low, width, magnitude, center, scale)

    @property
    def y_unit(self) -> float:
        """One normalized unit of y in user units."""
        return self.y_scale * self.y_magnitude

    def log_density(self, normalized: float, n: int) -> float:
        """Logarithm of a density of n values in user units, from that of the normalized values."""
        return normalized - n * float(np.log(self.y_scale) + np.log(self.y_magnitude))

    def x_to_unit(self, X: FloatArray) -> FloatArray:
        if not self._is_unit_cube:
            with np.errstate(over="ignore"):
                X = (X - self.x_low) / self.x_width
        return np.minimum(np.maximum(X, -_FARTHEST), _FARTHEST)

    def y_to_unit(self, y: FloatArray) -> FloatArray:
        return (y / self.y_magnitude - self.y_center) / self.y_scale

    def y_from_unit(self, z: FloatArray) -> FloatArray:
        """Values, at most the largest float: a prediction may lie beyond data that are near it."""
        if (
            self.y_magnitude < _MODERATE
        ):  # searches ask for small batches, where clipping takes as long as the rest
            return (z * self.y_scale + self.y_center) * self.y_magnitude
        largest = np.finfo(float).max
        with np.errstate(over="ignore"):
            return np.clip((z * self.y_scale + self.y_center) * self.y_magnitude, -largest, largest)


def check_points(X: ArrayLike, dim: int | None = None, name: str = "X") -> FloatArray:
    """Return X as a finite (n, d) array, or refuse it with a sentence."""
    if (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and (X.ndim == 2 and X.shape[1] == dim)
        and np.isfinite(X).all()
    ):
        return X  # the way of searches, which ask thousands of times
    try:
        array = as_floats(X)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an (n, d) array of numbers") from error
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (n, d), got shape {array.shape}: use {name}.reshape(-1, d)")
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns: at least one coordinate is needed")
    if dim is not None and array.shape[1] != dim:
        raise ValueError(f"{name} has {array.shape[1]} columns but the model was fitted with {dim}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{row}, {column}] = {array[row, column]} must be finite")
    return array


def check_data(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return (X, y) as finite arrays of shapes (n, d) and (n,) with n >= 1, or refuse with a sentence."""
    X = check_points(X)
    try:
        values = as_floats(y)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("y must be an array of numbers of shape (n,)") from error
    if values.shape != (len(X),):
        raise ValueError(f"y has shape {values.shape} but X has {len(X)} rows: y must have shape ({len(X)},)")
    if not len(X):
        raise ValueError("X has no rows: at least one evaluated point is needed")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"y[{row}] = {values[row]} must be finite: leave failed evaluations out of the fit")
    return X, values


def check_lengthscales(lengthscales: ArrayLike, dim: int, name: str) -> FloatArray:
    """Return lengthscales as a (dim,) array, or refuse them with a sentence that begins with ``name``."""
    try:
        array = np.broadcast_to(np.array(lengthscales, dtype=float), (dim,))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be one number or {dim} numbers, got {plain(lengthscales)}") from error
    if not (np.isfinite(array).all() and (array > 0.0).all()):
        raise ValueError(f"{name} must be positive and finite, got {plain(lengthscales)}")
    return array


def fresh_rows(X: FloatArray, known: FloatArray) -> BoolArray:
    """Which rows of X are neither among the known ones nor equal to one before them."""
    first = np.unique(np.vstack([known, X]), axis=0, return_index=True)[1]
    fresh = np.zeros(len(known) + len(X), dtype=bool)
    fresh[first] = True
    return fresh[len(known) :]


def merge_duplicates(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keep the first of equal rows; equal rows with different values contradict exact evaluation."""
    if len(set(map(tuple, X.tolist()))) == len(X):  # the usual case, in a quarter of the time of the rest
        return X, y
    _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    representative = first[inverse.ravel()]
    contradictions = np.flatnonzero(y != y[representative])
    if len(contradictions):
        j = int(contradictions[0])
        i = int(representative[j])
        raise ValueError(
            f"rows {i} and {j} of X are equal but y[{i}] = {float(y[i])!r} and y[{j}] = {float(y[j])!r}: "
            "evaluations are exact, so remove one of them"
        )
    kept = np.sort(first)
    return X[kept], y[kept]
