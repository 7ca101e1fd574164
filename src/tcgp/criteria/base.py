"""The interface of a criterion, and what it needs from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tcgp._typing import FloatArray
from tcgp.laws import Law

if TYPE_CHECKING:
    from tcgp.gp.posterior import Slopes

__all__ = ["Criterion", "PredictiveModel"]


class Criterion(Protocol):
    """A function on the unit cube [0, 1]^d whose maximizer is the next point to evaluate.

    Values may be -inf, never NaN; the gradient at a point of infinite value is not used.
    """

    def __call__(self, X: FloatArray, /) -> FloatArray:
        """Values, of shape (m,), at the rows of ``X``, of shape (m, d)."""
        ...

    def value_and_gradient(self, X: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Values, of shape (m,), and gradients, of shape (m, d), at the rows of ``X``."""
        ...


class PredictiveModel(Protocol):
    """What a criterion needs from a model: location, scale and their gradients, and one residual law."""

    @property
    def law(self) -> Law:
        """Law of the standardized residuals, the same at all points."""
        ...

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and scale at the rows of X, each of shape (m,)."""
        ...

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        """Location (m,), scale (m,), and what gives the gradients of a function of both."""
        ...
