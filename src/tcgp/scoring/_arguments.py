"""Checks that the scores share."""

from __future__ import annotations

import numpy as np

from tcgp._arrays import as_floats
from tcgp._text import plain, shorten
from tcgp._typing import ArrayLike, FloatArray
from tcgp.models import Model, Prediction

__all__ = ["check_model", "check_threshold", "check_values", "check_weights"]


def check_model(model: object) -> None:
    """Refuse other objects, such as a result, or the None that a resumed run has before its next point."""
    if not isinstance(model, Model):
        raise TypeError(
            "model must be a model, of tcgp.fit_model or of result.optimizer.fit_model(), got "
            f"{shorten(plain(model), 100)}"
        )


def check_values(prediction: Prediction, y: ArrayLike) -> FloatArray:
    """Return y as an (n,) array of finite values, one per predicted point."""
    y = _as_floats("y", y)
    points = np.shape(prediction.mean)
    if y.shape != points:
        raise ValueError(f"y must have one value per predicted point, shape {points}, got shape {y.shape}")
    if not np.isfinite(y).all():
        raise ValueError("y must be finite; leave failed evaluations out before scoring.")
    return y


def check_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return weights of sum one, equal ones by default."""
    weights = np.ones(n) if weights is None else _as_floats("weights", weights)
    if weights.shape != (n,):
        raise ValueError(f"weights must have one value per point, shape ({n},), got shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.sum() > 0.0):
        raise ValueError("weights must be finite, nonnegative and not all zero.")
    out: FloatArray = weights / weights.sum()
    return out


def check_threshold(threshold: float) -> float:
    """Return the threshold as a float that is not NaN; +inf is no threshold at all."""
    try:
        threshold = float(threshold)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"threshold must be a number or +inf, got {plain(threshold)}") from None
    if np.isnan(threshold):
        raise ValueError("threshold must be a number or +inf, got NaN")
    return threshold


def _as_floats(name: str, values: ArrayLike) -> FloatArray:
    try:
        return as_floats(values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {plain(values)}") from None
