"""What an optimization returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from tcgp._text import plain, shorten
from tcgp.goals import parameter_names
from tcgp.record.history import History

if TYPE_CHECKING:
    from tcgp.optimizer.optimizer import Optimizer

__all__ = ["Result", "columns_of", "rows_of"]


class Result(OptimizeResult):  # type: ignore[misc]
    """A `scipy.optimize.OptimizeResult` that can draw itself.

    Attributes
    ----------
    x : array, list or dict
        Best point that satisfies all constraints, in the form the function takes. If there is none, the point that
        comes closest, and ``success`` is False. None if every evaluation failed.
    fun : float
        Its value, with the sign of the function; NaN if every evaluation failed.
    outputs : dict or None
        All outputs at this point, if the function has several.
    feasible : array of shape (n,)
        For each evaluation, whether it succeeded and satisfies all constraints on outputs.
    nfev, nit : int
        Evaluations of the function, and how many of the points were chosen by a criterion.
    success : bool
    status : int
        Why the run ended; see `tcgp.minimize`.
    message, stopped : str
        The same in words; the message adds, if no evaluation succeeded, how the last one failed.
    x_iters : list of dicts or lists
        All evaluated points, in the order of the results: dicts if the parameters have names.
    func_vals : array of shape (n,)
        Their values; NaN where the evaluation failed.
    failures : list of (int, str)
        For each failed evaluation, its place in ``x_iters`` and the reason.
    optimizer : Optimizer
        The optimizer, with the full history and the ``trace`` of the models.
    """

    @classmethod
    def of(cls, optimizer: Optimizer) -> Result:
        """What an optimizer knows so far."""
        history, evaluations = optimizer.history, optimizer.evaluations
        best, message = history.best, "the best so far"
        if best is None and history.least_violating is not None:
            best, message = history.least_violating, "no evaluation keeps all constraints so far"
        elif best is None:
            message = "no evaluation has succeeded so far"
        return cls(
            x=None if best is None else optimizer.space.as_argument(best.x),
            fun=math.nan if best is None else best.y,
            outputs=None if best is None or best.outputs is None else dict(best.outputs),
            nfev=len(evaluations),
            nit=len(optimizer.trace),
            success=history.best is not None,
            status=0,
            message=message,
            x_iters=[optimizer.space.as_named(e.x) for e in evaluations],
            func_vals=np.array([math.nan if e.y is None else e.y for e in evaluations], dtype=np.float64),
            feasible=history.data.feasible,
            failures=[(i, e.reason) for i, e in enumerate(evaluations) if e.failed],
            optimizer=optimizer,
        )

    def __repr__(self) -> str:
        lines = {
            "fun": plain(self.fun),
            "x": plain(self.x),
            "evaluations": self._counts(),
            "message": self.message,
        }
        return "\n".join(f"{name + ':':<13}{shorten(str(value))}" for name, value in lines.items())

    def _counts(self) -> str:
        failed = len(self.failures)
        return f"{len(self.func_vals)}" + (f", {failed} of them failed" if failed else "")

    def to_dataframe(self) -> Any:
        """Every evaluation as a row of a pandas DataFrame: parameters, objective, outputs, and how it ended.

        Examples
        --------
        >>> import tcgp
        >>> def simulate(p):
        ...     return {"mass": p["width"] ** 2, "stress": 1.0 / p["width"]}
        >>> result = tcgp.minimize(simulate, {"width": (0.1, 2.0)}, n_evals=6, objective="mass", rng=0)
        >>> list(result.to_dataframe().columns)
        ['id', 'width', 'mass', 'stress', 'feasible', 'reason', 'seconds']
        """
        import pandas

        return pandas.DataFrame(rows_of(self.optimizer.history))

    def plot(self, **options: Any) -> Any:
        """Plot the run: convergence, sampled points, and the law over time (needs matplotlib)."""
        from tcgp import plotting

        return plotting.plot_result(self, **options)


def columns_of(history: History) -> list[str]:
    """Names of the columns of `rows_of`: a name that is taken, by a parameter or an output, gets a line below."""
    parameters = parameter_names(history.space)
    taken = set(parameters)

    def free(names: Sequence[str]) -> list[str]:
        found = []
        for name in names:
            while name in taken:
                name += "_"
            taken.add(name)
            found.append(name)
        return found

    values = free(history.output_names or ["value"])
    return [*free(["id"]), *parameters, *values, *free(["feasible", "reason", "seconds"])]


def rows_of(history: History) -> list[dict[str, Any]]:
    """Every evaluation as a row: its number, parameters, objective or outputs, and how it ended.

    Those outside the present bounds come last; they count as not feasible.
    """
    columns, outputs = columns_of(history), history.output_names
    inside = zip(history.data.evaluations, history.data.feasible.tolist(), strict=True)
    outside = ((replace(e, reason=e.reason or "outside the present bounds"), False) for e in history.outside)
    rows = []
    for e, feasible in (*inside, *outside):
        values = [(e.outputs or {}).get(name) for name in outputs] if outputs else [e.y]
        rows.append(dict(zip(columns, [e.id, *e.x, *values, feasible, e.reason, e.seconds], strict=True)))
    return rows
