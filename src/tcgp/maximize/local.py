"""Maximize a criterion over a part of the cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.criteria.base import Criterion
from tcgp.maximize.maximum import Maximum

__all__ = ["within"]


def within(low: FloatArray, high: FloatArray, maximize: Callable[..., Maximum]) -> Callable[..., Maximum]:
    """A maximizer over the box from ``low`` to ``high``, made of one over the unit cube.

    Anchors outside the box are left out.
    """

    def maximize_within(criterion: Criterion, dim: int, *, anchors: FloatArray, **options: Any) -> Maximum:
        inside = np.all((anchors >= low) & (anchors <= high), axis=1)
        scaled = (anchors[inside] - low) / (high - low)
        found = maximize(
            _Scaled(criterion, low, high - low), dim, anchors=np.clip(scaled, 0.0, 1.0), **options
        )
        return replace(
            found,
            x=low + (high - low) * found.x,
            candidates=low + (high - low) * found.candidates,
        )

    return maximize_within


@dataclass(frozen=True)
class _Scaled:
    """A criterion on a box, as one on the unit cube."""

    criterion: Criterion
    low: FloatArray
    width: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        return self.criterion(self.low + self.width * X)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.criterion.value_and_gradient(self.low + self.width * X)
        return value, gradient * self.width
