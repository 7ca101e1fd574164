"""What an optimization returns."""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult

__all__ = ["Result"]


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
        With the whole history, and the `Optimizer.trace` of the models.
    """

    def plot(self, **options: Any) -> Any:
        """Draw the run: convergence, where it sampled, and the law over time (needs matplotlib)."""
        from tcgp import plotting

        return plotting.plot_result(self, **options)
