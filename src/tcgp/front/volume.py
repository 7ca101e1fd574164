"""Volumes for several objectives: the volume that a front dominates, and boxes that fill the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tcgp._typing import FloatArray
from tcgp.front.dominance import non_dominated

__all__ = ["boxes", "hypervolume", "reference_point"]

# Distance of the reference from the worst values of the front, as a share of their range.
MARGIN = 0.1

Side = tuple[float, float]
Box = tuple[Side, ...]


def reference_point(front: FloatArray, data: FloatArray) -> FloatArray:
    """The point up to which volumes count: a tenth of the front's range beyond its worst values.

    If the front does not vary in an objective, the next best points, those that only it dominates, count as well, and
    so on. If the data do not vary either, the point is farther by the size of their value.

    Parameters
    ----------
    front : array of shape (k, m)
        The non-dominated points, at least one.
    data : array of shape (n, m)
        All points.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import reference_point
    >>> front, data = np.array([[1.0, 20.0]]), np.array([[1.0, 20.0], [2.0, 30.0], [4.0, 50.0]])
    >>> reference_point(data[1:], data), reference_point(front, data)
    (array([ 4.2, 52. ]), array([ 2.1, 31. ]))
    """
    while (front.max(axis=0) == front.min(axis=0)).any() and len(data):
        best = non_dominated(data)
        front, data = np.vstack([front, data[best]]), data[~best]
    worst = front.max(axis=0)
    width = worst - front.min(axis=0)
    return np.asarray(worst + np.where(width > 0.0, MARGIN * width, np.maximum(np.abs(worst), 1.0)))


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """Volume that the rows of Y, (n, m) with m >= 2, dominate up to the reference, (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import hypervolume
    >>> hypervolume(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]), np.array([4.0, 4.0]))
    6.0
    """
    Y = Y[(reference > Y).all(axis=1)]
    if not len(Y):
        return 0.0
    Y = Y[np.argsort(Y[:, -1], kind="stable")]
    heights = np.diff(Y[:, -1], append=reference[-1])
    if Y.shape[1] == 2:
        return float((reference[0] - np.minimum.accumulate(Y[:, 0])) @ heights)
    slices = (
        i for i in range(len(Y)) if heights[i] > 0.0
    )  # Fonseca et al. (2006): slices of the last objective
    return math.fsum(heights[i] * hypervolume(Y[: i + 1, :-1], reference[:-1]) for i in slices)


def boxes(front: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Boxes ``(lower, upper]`` that fill the part that no row of the front dominates, up to the reference.

    For k rows there are k + 1 boxes with two objectives, and 2 k + 1 with three [1]_.

    Parameters
    ----------
    front : array of shape (k, m)
    reference : array of shape (m,)

    Returns
    -------
    lower, upper : arrays of shape (b, m)
        Lower sides may be infinite.

    References
    ----------
    .. [1] K. Yang, M. Emmerich, A. Deutz and C. Fonseca, "Computing 3-D expected hypervolume improvement and related
       integrals in asymptotically optimal time", EMO 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import boxes
    >>> lower, upper = boxes(np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([4.0, 4.0]))
    >>> lower, upper
    (array([[-inf,   3.],
           [-inf,   2.],
           [-inf, -inf]]), array([[1., 4.],
           [2., 3.],
           [4., 2.]]))
    """
    below = front[(front < reference).all(axis=1)]
    found = _boxes(below[non_dominated(below)].tolist(), reference.tolist())
    sides = np.array(sorted(found, key=lambda box: [side[::-1] for side in box]))
    return sides[..., 0], sides[..., 1]


def _boxes(points: Sequence[Sequence[float]], reference: Sequence[float]) -> set[Box]:
    """The boxes, by a sweep along the last objective: a box lasts until a point dominates a part of it."""
    if len(reference) == 2:
        return _strips(points, reference)
    done: set[Box] = set()
    begun = dict.fromkeys(_boxes([], reference[:-1]), -math.inf)
    for level in sorted({point[-1] for point in points}):
        present = _boxes([point[:-1] for point in points if point[-1] <= level], reference[:-1])
        done |= {(*box, (begun.pop(box), level)) for box in begun.keys() - present}
        begun |= dict.fromkeys(present - begun.keys(), level)
    return done | {(*box, (start, reference[-1])) for box, start in begun.items()}


def _strips(points: Sequence[Sequence[float]], reference: Sequence[float]) -> set[Box]:
    """The boxes of two objectives."""
    found: set[Box] = set()
    low, high = -math.inf, reference[0]
    for b, a in sorted((b, a) for a, b in points):
        if a < high:
            found.add(((-math.inf, high), (low, b)))
            low, high = b, a
    return found | {((-math.inf, high), (low, reference[1]))}
