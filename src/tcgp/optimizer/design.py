"""Initial designs: uniform (the paper's), Latin hypercube, Sobol'."""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray
from tcgp.methods.portfolio import PORTFOLIOS
from tcgp.sampling.sobol import sobol

__all__ = ["DESIGNS", "default_size", "initial_design"]

DESIGNS = ("uniform", "lhs", "sobol")

# Points for each parameter: the paper's number, and that of a portfolio, which does not need as many. Measured by
# benchmarks/efficiency/auto.py.
PER_PARAMETER, PER_PARAMETER_AUTO = 10, 4


def default_size(method: str, n_parameters: int, n_evals: int | None = None) -> int:
    """Size of the initial design where none is given: at most half of the evaluations, if their number is known.

    Examples
    --------
    >>> from tcgp.optimizer.design import default_size
    >>> default_size("tcgp", 3), default_size("auto", 3), default_size("tcgp", 3, n_evals=20)
    (30, 12, 10)
    """
    most = (PER_PARAMETER_AUTO if method in PORTFOLIOS else PER_PARAMETER) * n_parameters
    return most if n_evals is None else max(min(most, int(n_evals) // 2), 1)


def initial_design(kind: str, n: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """``n`` points of the unit cube, of shape (n, dim).

    Parameters
    ----------
    kind : {"uniform", "lhs", "sobol"}
        Independent uniform points; a random Latin hypercube; the Sobol' sequence with a random shift.
    n, dim : int
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (n, dim)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.optimizer.design import initial_design
    >>> X = initial_design("lhs", 4, 2, np.random.default_rng(0))
    >>> np.sort(np.floor(4 * X), axis=0).T
    array([[0., 1., 2., 3.],
           [0., 1., 2., 3.]])
    """
    if kind == "lhs":
        strata = rng.permuted(np.tile(np.arange(n)[:, None], dim), axis=0)
        return (strata + rng.random((n, dim))) / n
    if kind == "sobol":
        points = sobol(n, dim) + rng.random(dim)
        return np.asarray(points - np.floor(points), dtype=np.float64)
    return rng.random((n, dim))
