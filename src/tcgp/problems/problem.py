"""Test problems: a function, a box, a minimum and a point that attains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcgp._typing import ArrayLike, FloatArray

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A function to minimize over a box, with its known solution.

    Made by :func:`tcgp.problems.get`, immutable, and can be pickled for worker processes.

    Attributes
    ----------
    name : str
        Its name for :func:`tcgp.problems.get`.
    formula : callable
        Maps (..., d) to (...) without checks; call `fun` instead.
    bounds : (d, 2) ndarray
        Lower and upper end of each coordinate.
    minimum : float
        The smallest value on the box.
    minimizer : (d,) ndarray
        A point that attains it.

    Examples
    --------
    >>> from tcgp import problems
    >>> branin = problems.get("branin")
    >>> branin.bounds.tolist()
    [[-5.0, 10.0], [0.0, 15.0]]
    >>> round(branin(branin.minimizer), 6)
    0.397887
    >>> branin([[0.0, 0.0], [1.0, 2.0]]).round(3).tolist()
    [55.602, 21.628]
    """

    name: str
    formula: Callable[[FloatArray], FloatArray]
    bounds: FloatArray  # (d, 2)
    minimum: float
    minimizer: FloatArray  # (d,)

    def __post_init__(self) -> None:
        self.bounds.flags.writeable = False
        self.minimizer.flags.writeable = False

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.bounds)

    def fun(self, x: ArrayLike) -> FloatArray | float:
        """Evaluate at one point or at many.

        Parameters
        ----------
        x : (d,) or (n, d) array_like
            A point, or one point per row. Points outside `bounds` are evaluated too.

        Returns
        -------
        float or (n,) ndarray
            The value at the point, or at each row.
        """
        points = np.asarray(x, dtype=float)
        if points.ndim not in (1, 2) or points.shape[-1] != self.dim:
            raise ValueError(
                f"x must be a point of shape ({self.dim},) or rows of shape (n, {self.dim}), got shape {points.shape}"
            )
        values = self.formula(points)
        return float(values) if points.ndim == 1 else values

    __call__ = fun
