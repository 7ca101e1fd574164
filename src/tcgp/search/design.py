"""Initial designs: uniform (the paper's), Latin hypercube, Sobol', and Sobol' after the centre."""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray
from tcgp.sampling.sobol import sobol

__all__ = ["initial_design"]


def initial_design(kind: str, n: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """``n`` points of the unit cube, of shape (n, dim).

    Parameters
    ----------
    kind : {"uniform", "lhs", "sobol", "centre"}
        Independent uniform points; a random Latin hypercube; the Sobol' sequence with a random shift; the centre of the
        cube, where users often put a known design, followed by such a sequence.
    n, dim : int
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (n, dim)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.search.design import initial_design
    >>> X = initial_design("lhs", 4, 2, np.random.default_rng(0))
    >>> np.sort(np.floor(4 * X), axis=0).T
    array([[0., 1., 2., 3.],
           [0., 1., 2., 3.]])
    """
    if kind == "lhs":
        strata = rng.permuted(np.tile(np.arange(n)[:, None], dim), axis=0)
        return (strata + rng.random((n, dim))) / n
    if kind == "centre":
        return np.vstack([np.full((1, dim), 0.5), initial_design("sobol", n - 1, dim, rng)])
    if kind == "sobol":
        points = sobol(n, dim) + rng.random(dim)
        return np.asarray(points - np.floor(points), dtype=np.float64)
    return rng.random((n, dim))
