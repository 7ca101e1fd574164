"""Choose one compromise of a front."""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray

__all__ = ["choose", "knee"]

TIE = 1e-6  # weight of the sum, which breaks ties


def knee(front: FloatArray) -> int:
    """Row of the front, (k, m), that lies farthest below the plane through its ends.

    From there, a step in either direction costs more than it gains, in units of the ranges of the objectives.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import knee
    >>> knee(np.array([[0.0, 100.0], [1.0, 20.0], [5.0, 0.0]]))
    1
    """
    return int(np.argmin(_scaled(front).sum(axis=1)))


def choose(front: FloatArray, weights: FloatArray) -> int:
    """Row of the point whose largest weighted distance from the best values is smallest.

    Distances are in units of the range of each objective on the front. Every point of a front, convex or not, is chosen
    by some weights. With all weight on one objective, it is the best point of that objective.

    Parameters
    ----------
    front : array of shape (k, m)
    weights : array of shape (m,)
        Not negative, and not all zero.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import choose
    >>> front = np.array([[0.0, 100.0], [1.0, 60.0], [5.0, 0.0]])
    >>> [choose(front, np.array(weights)) for weights in ([1.0, 0.0], [1.0, 1.0], [0.0, 1.0])]
    [0, 1, 2]
    """
    distances = _scaled(front)
    return int(np.argmin((weights * distances).max(axis=1) + TIE * weights.max() * distances.sum(axis=1)))


def _scaled(front: FloatArray) -> FloatArray:
    """Distances from the best values in units of the range of each objective; zero where there is no range."""
    best, worst = front.min(axis=0), front.max(axis=0)
    return np.asarray((front - best) / np.where(worst > best, worst - best, 1.0))
