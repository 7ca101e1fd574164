"""Types of arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["FloatArray"]

FloatArray: TypeAlias = NDArray[np.float64]
