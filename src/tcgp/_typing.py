"""Array types shared by the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayLike", "BoolArray", "Bounds", "FloatArray", "IntArray", "RandomState"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Bounds: TypeAlias = Sequence[tuple[float, float]] | FloatArray | Any
RandomState: TypeAlias = int | np.random.Generator | None
