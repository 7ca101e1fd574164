"""Scales on which an output with a limit is modelled: increasing functions of its excess with the limit at 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._typing import FloatArray
from tcgp.calibration import design_weights

__all__ = ["AS_IT_IS", "Scale", "scales_of"]

# Units of the scale on both sides of the limit, as shares of the usual distance from it.
UNITS = (1.0, 0.1)
LARGEST = np.finfo(float).max


@dataclass(frozen=True)
class Scale:
    """A scale for the excess e of an output over its bound.

    Attributes
    ----------
    name : {"plain", "log", "both"}
        As it is, e; ``log``, which of an output and a bound b of one sign is the logarithm of their ratio,
        1 + e / b, turned so that it increases; ``both``, on both sides of the limit, arsinh(e / unit).
    unit : float
        The bound, or the distance from the limit at which logarithms begin.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.scales import Scale
    >>> excess = np.array([-200.0, 0.0, 2250.0])  # of stress <= 250: the stress is 50, 250 and 2500
    >>> Scale("log", 250.0)(excess).round(2)
    array([-1.61,  0.  ,  2.3 ])
    >>> Scale("both", 10.0)(excess).round(2)
    array([-3.69,  0.  ,  6.11])
    """

    name: str = "plain"
    unit: float = 1.0

    def __call__(self, excess: FloatArray) -> FloatArray:
        """Values on the scale; NaN where an output does not have the sign of its bound."""
        if self.name == "plain":
            return excess
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = np.clip(excess / self.unit, -LARGEST, LARGEST)
            if self.name == "both":
                return np.asarray(np.arcsinh(ratio))
            return np.asarray(np.where(ratio > -1.0, np.sign(self.unit) * np.log1p(ratio), np.nan))

    def suits(self, excess: FloatArray) -> bool:
        """Whether values on this scale are finite, and differ where the excess does."""
        with np.errstate(over="ignore"):
            order = np.sort(excess)
            values = self(order)
            return bool(np.isfinite(values).all() and (np.diff(values)[np.diff(order) > 0.0] > 0.0).all())

    def log_slope(self, excess: FloatArray) -> FloatArray:
        """Logarithms of the derivative: what a density on this scale needs to become one of the excess."""
        if self.name == "plain":
            return np.zeros_like(excess)
        with np.errstate(over="ignore"):
            size = np.hypot(excess, self.unit) if self.name == "both" else np.abs(excess + self.unit)
        return np.asarray(-np.log(np.minimum(size, LARGEST)))


AS_IT_IS = Scale()


def scales_of(X: FloatArray, excess: FloatArray, bound: float) -> dict[str, Scale]:
    """The scales that come into question for these data, by a name that stays when there are more of them.

    Parameters
    ----------
    X : array of shape (n, d)
        Points of the unit cube.
    excess : array of shape (n,)
    bound : float
        The logarithm needs one that is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.scales import scales_of
    >>> X = np.linspace(0.0, 1.0, 4)[:, None]
    >>> list(scales_of(X, np.array([-0.9, -0.5, 1.0, 30.0]), 1.0))
    ['plain', 'log', 'both 1', 'both 0.1']
    >>> list(scales_of(X, np.ones(4), 1.0))
    ['plain']
    """
    found = {"plain": AS_IT_IS}
    if not excess.max(initial=-np.inf) > excess.min(initial=np.inf):
        return found
    if bound:
        found["log"] = Scale("log", bound)
    distance = _usual_distance(X, np.abs(excess))
    found |= {f"both {share:g}": Scale("both", share * distance) for share in UNITS if share * distance}
    return {name: scale for name, scale in found.items() if scale.suits(excess)}


def _usual_distance(X: FloatArray, distances: FloatArray) -> float:
    """The median of the distances that are not zero, each weighted by the part of the cube that its point stands for.

    A run ends near its limits: most of its evaluations are there, and do not show how an output varies elsewhere.
    """
    away = distances > 0.0
    weights, distances = design_weights(X)[away], distances[away]
    order = np.argsort(distances)
    share = np.cumsum(weights[order])
    return float(distances[order][np.searchsorted(share, 0.5 * share[-1])])
