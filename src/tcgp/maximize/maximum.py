"""The result of a maximizer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tcgp._typing import FloatArray

__all__ = ["Maximum", "rank_distinct"]


@dataclass(frozen=True)
class Maximum:
    """The best point found by a maximizer, and other candidates.

    Attributes
    ----------
    x : array of shape (d,)
        Best point.
    value : float
        Criterion at ``x``.
    n_evaluations : int
        Number of points at which the criterion was evaluated, with or without gradient.
    candidates : array of shape (k, d)
        Distinct points worth evaluating, the best first: ``x``, then the other local maxima.
    candidate_values : array of shape (k,)
        Criterion at ``candidates``, in decreasing order.
    """

    x: FloatArray
    value: float
    n_evaluations: int
    candidates: FloatArray
    candidate_values: FloatArray


def rank_distinct(
    x: FloatArray, values: FloatArray, *, distance: float = 1e-4
) -> tuple[FloatArray, FloatArray]:
    """Sort points, best first, and drop those close to a better one.

    Parameters
    ----------
    x : array of shape (m, d)
    values : array of shape (m,)
    distance : float
        Points that differ by less than this in every coordinate count as one.

    Returns
    -------
    x, values : arrays of shape (k, d) and (k,), with k <= m

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.maximize.maximum import rank_distinct
    >>> x, values = rank_distinct(np.array([[0.1], [0.7], [0.10001]]), np.array([3.0, 4.0, 2.0]))
    >>> x.ravel(), values
    (array([0.7, 0.1]), array([4., 3.]))
    """
    order = np.argsort(-values, kind="stable")
    x, values = x[order], values[order]
    near = cdist(x, x, "chebyshev") < distance
    new = ~np.tril(near, k=-1).any(axis=1)
    return x[new], values[new]
