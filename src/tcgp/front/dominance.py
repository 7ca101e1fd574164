"""Dominance between points with several objectives."""

from __future__ import annotations

import numpy as np

from tcgp._typing import BoolArray, FloatArray

__all__ = ["non_dominated"]


def non_dominated(Y: FloatArray) -> BoolArray:
    """Which rows of Y, (n, m), are not dominated: no other row is as low in all objectives and lower in one.

    Of equal rows, only the first counts.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.front import non_dominated
    >>> non_dominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [3.0, 1.0], [2.0, 2.0]]))
    array([ True,  True, False,  True, False])
    """
    kept = np.zeros(len(Y), dtype=bool)
    front = np.empty((0, Y.shape[1]))
    # In lexicographic order, no row is dominated by a later one.
    for i in np.lexsort((np.arange(len(Y)), *Y.T[::-1])):
        if not (front <= Y[i]).all(axis=1).any():
            kept[i] = True
            front = np.vstack([front, Y[i]])
    return kept
