"""What an optimization returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

if TYPE_CHECKING:
    from tcgp.optimizer.optimizer import Optimizer

__all__ = ["Result", "result_of"]


class Result(OptimizeResult):  # type: ignore[misc]
    """A `scipy.optimize.OptimizeResult` that can draw itself.

    Attributes
    ----------
    x : array, list or dict
        Best point, in the form the function takes; None if every evaluation failed.
    fun : float
        Its value; NaN if every evaluation failed.
    nfev, nit : int
        Evaluations of the function, and how many of the points were chosen by a criterion.
    success : bool
    status : int
        Why the run ended; see `tcgp.minimize`.
    message, stopped : str
        The same in words; the message adds, if no evaluation succeeded, how the last one failed.
    x_iters : list of lists
        Every point evaluated, in the order of the answers.
    func_vals : array of shape (n,)
        Their values; NaN where the evaluation failed.
    failures : list of (int, str)
        For each failed evaluation, its place in ``x_iters`` and the reason.
    optimizer : Optimizer
        With the whole history, and the ``trace`` of the models.
    """

    def plot(self, **options: Any) -> Any:
        """Draw the run: convergence, where it sampled, and the law over time (needs matplotlib)."""
        from tcgp import plotting

        return plotting.plot_result(self, **options)


def result_of(optimizer: Optimizer) -> Result:
    """What an optimizer knows so far."""
    best, evaluations = optimizer.history.best, optimizer.evaluations
    return Result(
        x=None if best is None else optimizer.space.as_argument(best.x),
        fun=math.nan if best is None else best.y,
        nfev=len(evaluations),
        nit=len(optimizer.trace),
        success=best is not None,
        status=0,
        message="no evaluation has succeeded so far" if best is None else "the best so far",
        x_iters=[list(e.x) for e in evaluations],
        func_vals=np.array([math.nan if e.y is None else e.y for e in evaluations], dtype=np.float64),
        failures=[(i, e.reason) for i, e in enumerate(evaluations) if e.failed],
        optimizer=optimizer,
    )
