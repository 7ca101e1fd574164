"""The trust region: where to look for the next point, everywhere or near the best one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tcgp._typing import FloatArray
from tcgp.methods.portfolio import improvements

__all__ = ["trust_region"]

# Half the side of the region, in the unit cube: at first, and its bounds.
FIRST, SMALLEST, LARGEST = 0.05, 1e-3, 0.2
ROUNDING = 1e-9  # share of the radius by which a point on the surface may lie outside


def trust_region(
    points: Iterable[FloatArray],
    values: Sequence[float | None],
    n_design: int = 0,
    *,
    stays: bool = False,
) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of the cube around the best point in which to look for the next one; None to look everywhere.

    A global step without improvement is followed by a local one. A local step that improves is followed by another.
    Local gains, however small, double the cube, and other local steps halve it. The model is the global one
    throughout, as in TREGO [1]_.

    Parameters
    ----------
    points : iterable of arrays of shape (d,)
        All evaluations in the unit cube, in order.
    values : sequence of float or None
        Their values; None for one that failed or violated a limit.
    n_design : int
        How many of them belong to the design and are not steps.
    stays : bool
        Whether to look only near the best point.

    Returns
    -------
    low, high : arrays of shape (d,)

    References
    ----------
    .. [1] Y. Diouane, V. Picheny, R. Le Riche and A. Scotto Di Perrotolo, "TREGO: a trust-region framework for
       efficient global optimization", Journal of Global Optimization 86, 1-23 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.search.trust_region import trust_region
    >>> points = np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.6]])
    >>> trust_region(points[:2], [3.0, 2.0]) is None
    True
    >>> trust_region(points, [3.0, 2.0, 4.0])
    (array([0.45, 0.45]), array([0.55, 0.55]))
    """
    best, centre, radius, is_local = math.inf, None, FIRST, False
    for i, (point, value, improved) in enumerate(zip(points, values, improvements(values), strict=True)):
        gained = value is not None and value < best
        if centre is not None and i >= n_design:
            if np.abs(point - centre).max() <= (1.0 + ROUNDING) * radius:
                radius = min(2.0 * radius, LARGEST) if gained else max(0.5 * radius, SMALLEST)
                is_local = improved
            else:
                is_local = not improved
        if value is not None and gained:
            best, centre = value, point
    if centre is None or not (is_local or stays):
        return None
    return np.maximum(centre - radius, 0.0), np.minimum(centre + radius, 1.0)
