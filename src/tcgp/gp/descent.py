"""Quasi-Newton descent in a box that remembers the curvature it learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from tcgp._typing import BoolArray, FloatArray

__all__ = ["Descent", "Function", "GiveUp", "Interval", "clip", "descend", "pack", "unpack"]

Function = Callable[[FloatArray], tuple[float, FloatArray]]
Interval = tuple[float, float]
GiveUp = Callable[[FloatArray, float, float], bool]

_LONGEST_STEP = 2.0  # of one parameter; in log-lengthscales, a factor of 7
_SUFFICIENT = 1e-4  # share of the decrease promised by the slope that a step must keep
_MOST_TRIALS = 8  # lengths of one step
_LEAST_CURVATURE = 0.05  # of a step, as a share of the one expected: less says nothing about a minimum
_DISTRUST = 0.7  # of a curvature that decided without a step to test it
_MOST_IDLE = 2  # steps in a row that gain nothing, whatever was predicted: the rest is rounding
_SETTLED = 1e-5  # largest slope of a minimum, where the curvature is unknown
_STEPS_BEFORE_DOUBT = 2
_MOST_PACKED = 30  # parameters: the list has 465 numbers


@dataclass(frozen=True)
class Descent:
    """Where a descent ended.

    Attributes
    ----------
    point : (k,) array
    value : float
    curvature : (k, k) array or None
        Estimate of the Hessian, positive definite; None if nothing was learned.
    """

    point: FloatArray
    value: float
    curvature: FloatArray | None


def descend(
    function: Function,
    start: FloatArray,
    bounds: Sequence[Interval],
    *,
    gain: float = 1e-6,
    rounding: Callable[[], float] = lambda: 0.0,
    max_iterations: int = 200,
    curvature: FloatArray | None = None,
    give_up: GiveUp | None = None,
) -> Descent:
    """Projected BFGS from ``start``.

    SciPy's L-BFGS-B forgets the curvature between calls and stops by the decrease of the last step. Here a descent
    starts with the curvature of an earlier one, which after one more datum is nearly right, and stops where a Newton
    step would gain less than ``gain``: three or four evaluations instead of a dozen.

    Parameters
    ----------
    function : callable
        Gives the value and the gradient at a point.
    start : (k,) array
        Moved into the bounds if it is outside.
    bounds : sequence of k pairs
    gain : float
        Predicted decrease of the function below which no further step is made.
    rounding : callable
        Gives the error of the last value of the function: smaller decreases are not looked for either.
    max_iterations : int
    curvature : (k, k) array, optional
        That of an earlier descent of a similar function.
    give_up : callable, optional
        Says of a point, its value and the predicted decrease whether to stop there. It is asked from the third step on:
        before that predictions are guesses.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.gp.descent import descend
    >>> def bowl(x):
    ...     return float(x @ x), 2.0 * x
    >>> found = descend(bowl, np.array([3.0, -1.0]), [(1.0, 4.0), (-4.0, 4.0)])
    >>> round(found.value, 6)
    1.0
    """
    low, high = np.transpose(bounds)
    x = np.clip(start, low, high)
    value, gradient = function(x)
    set_aside, n_steps, n_idle = None, 0, 0
    for _ in range(max_iterations):
        free = ~(((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0)))
        if not free.any():
            break
        direction = _direction(gradient, free, curvature)
        if direction is None:
            curvature = None
            continue
        predicted = -0.5 * float(gradient @ direction)
        if curvature is None:
            predicted = np.inf if np.abs(gradient[free]).max() > _SETTLED else 0.0
        least = max(gain, rounding())
        if predicted < least:
            break
        if give_up is not None and n_steps >= _STEPS_BEFORE_DOUBT and give_up(x, value, predicted):
            break
        direction *= min(1.0, _LONGEST_STEP / float(np.abs(direction).max()))
        trial = _step(function, x, value, gradient, direction, low, high, least)
        if trial is None and curvature is None:
            curvature = set_aside
            break
        if trial is None:  # a wrong curvature, or a step that the bounds turn round: down the slope instead
            set_aside, curvature = curvature, None
            continue
        new, new_value, new_gradient, is_cut = trial
        curvature = _learn(curvature, new - x, new_gradient - gradient, is_cut)
        n_steps, n_idle = n_steps + 1, 0 if value - new_value > 0.1 * least else n_idle + 1
        x, value, gradient = new, new_value, new_gradient
        if n_idle == _MOST_IDLE:
            break
    if curvature is not None and not n_steps:
        curvature = _DISTRUST * curvature
    return Descent(x, value, curvature)


def clip(point: FloatArray, bounds: Sequence[Interval]) -> FloatArray:
    """The nearest point within the bounds."""
    low, high = np.transpose(bounds)
    return np.clip(point, low, high)


def _direction(gradient: FloatArray, free: BoolArray, curvature: FloatArray | None) -> FloatArray | None:
    """Step of the free parameters to the minimum of the quadratic model; None if the model has none.

    Without a curvature, a step of length 1 or less.
    """
    direction = np.zeros_like(gradient)
    if curvature is None:
        direction[free] = -gradient[free] / max(float(np.linalg.norm(gradient[free])), 1.0)
        return direction
    _, solution, failed = dposv(curvature[free][:, free], gradient[free])
    if failed:
        return None
    direction[free] = -solution
    return direction


def _step(
    function: Function,
    x: FloatArray,
    value: float,
    gradient: FloatArray,
    direction: FloatArray,
    low: FloatArray,
    high: FloatArray,
    gain: float,
) -> tuple[FloatArray, float, FloatArray, bool] | None:
    """Point, value and gradient after a step that decreases the value, and whether the bounds cut it; None without one.

    The function is known up to rounding: decreases much smaller than ``gain`` are not looked for.
    """
    length = 1.0
    for _ in range(_MOST_TRIALS):
        full = x + length * direction
        new = np.clip(full, low, high)
        slope = float(gradient @ (new - x))
        if slope > -0.2 * gain:
            return None
        new_value, new_gradient = function(new)
        if new_value <= value + _SUFFICIENT * slope:
            return new, new_value, new_gradient, not np.array_equal(new, full)
        excess = new_value - value - slope  # positive, as the decrease was less than the slope promised
        length *= float(np.clip(-0.5 * slope / excess, 0.1, 0.5)) if np.isfinite(excess) else 0.1
    return None


def _learn(curvature: FloatArray | None, step: FloatArray, change: FloatArray, is_cut: bool) -> FloatArray:
    """BFGS update with the change of the gradient along a step.

    Where it shows no minimum, steps may be longer: curvature is halved, unless the bounds cut this one short.
    """
    along = float(step @ change)
    if curvature is None:
        scale = float(change @ change) / along if along > 0.0 else 1.0
        curvature = scale * np.eye(len(step))
    expected = curvature @ step
    total = float(step @ expected)
    if along <= _LEAST_CURVATURE * total:
        return curvature if is_cut else 0.5 * curvature
    return curvature - np.outer(expected, expected) / total + np.outer(change, change) / along


def pack(curvature: FloatArray | None) -> list[float]:
    """A curvature as a short list of numbers: its Cholesky factor row by row, rounded to four digits.

    Empty if there is none, if rounding has spoiled it, or if it has too many parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.gp.descent import pack, unpack
    >>> pack(np.array([[4.0, 2.0], [2.0, 3.0]]))
    [2.0, 1.0, 1.414]
    >>> unpack(pack(np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    if curvature is None or len(curvature) > _MOST_PACKED:
        return []
    try:
        factor = np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        return []
    return [float(f"{number:.4g}") for number in factor[np.tril_indices(len(factor))]]


def unpack(numbers: Sequence[float]) -> FloatArray | None:
    """The curvature that `pack` made short; None if there is none."""
    if not numbers:
        return None
    size = int((np.sqrt(8 * len(numbers) + 1) - 1) / 2)  # rows of a triangle
    factor = np.zeros((size, size))
    factor[np.tril_indices(size)] = numbers
    product: FloatArray = factor @ factor.T
    return product
