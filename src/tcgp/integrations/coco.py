"""Solvers for the benchmarking platforms COCO (``cocoex``) and IOHprofiler (``ioh``).

Neither platform is imported here. A problem is any callable that has the bounds and attributes of a COCO or IOHprofiler
problem.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tcgp._arrays import as_generator
from tcgp._typing import RandomState
from tcgp.integrations._host import check_names
from tcgp.optimizer import Optimizer, Settings, SpaceExhausted, check_positive_integer
from tcgp.record.settings import default_size
from tcgp.space import Integer, Point, Real, Space

if TYPE_CHECKING:
    from tcgp.optimizer.result import Result

__all__ = ["Solver", "solve"]

DETERMINED = "space", "objective", "maximize"
COLUMNS = ("problem", "evaluation", "value", "best", "beta", "lambda", "threshold")


def solve(problem: Any, budget: int, **options: Any) -> Result:
    """Minimize a problem of COCO or IOHprofiler with at most ``budget`` evaluations.

    Parameters
    ----------
    problem : cocoex.Problem or ioh problem
        A problem with real or integer variables. Constraints (``bbob-constrained``) are learned; a result without a
        feasible point has ``success=False``. Maximization problems of IOHprofiler are maximized; all values,
        ``result.fun`` included, keep the problem's sign. Of two objectives (``bbob-biobj``) ``result.front`` has the
        best compromises; values beyond COCO's region of interest count for nothing.
    budget : int
        Number of evaluations, including the initial design. The run ends earlier if the problem reports that its final
        target is hit.
    **options
        Arguments of `Solver`.

    Returns
    -------
    Result
        As returned by `tcgp.minimize`; ``result.optimizer.trace`` contains beta, lambda and the threshold.

    Examples
    --------
    >>> import cocoex
    >>> from tcgp.integrations import coco
    >>> suite = cocoex.Suite("bbob", "", "dimensions:2 function_indices:1 instance_indices:1")
    >>> for problem in suite:
    ...     result = coco.solve(problem, budget=30, rng=0)
    >>> result.nfev <= 30
    True
    """
    return Solver(budget, **options)(problem)


class Solver:
    """A reusable solver that exposes the parameters of its model.

    Parameters
    ----------
    budget : int
        Number of evaluations per run.
    rng : int, numpy.random.Generator or None
        Random generator; every run draws a seed from it.
    log : str or os.PathLike, optional
        CSV file to which a line is appended for every evaluation: problem, number, value, best feasible value, beta,
        lambda, threshold. With several objectives, values are separated by spaces, and none is best.
    n_initial : int, optional
        Size of the initial design. The default is 10 per variable, or two more than variables for method "auto", and
        at most half of the budget.
    **options
        Further arguments of `tcgp.Optimizer`: ``method``, ``criterion``, ``maximizer``, … ``constraints`` are added to
        those of the problem. The problem determines the objective, and whether it is maximized.

    Attributes
    ----------
    beta, lambda_, threshold : float
        Parameters of the model that chose the current point; NaN during the initial design and for methods without
        them. The threshold has the sign of the problem's values. IOHprofiler can log them; see the example.

    Examples
    --------
    >>> import cocoex
    >>> from tcgp.integrations import coco
    >>> solver = coco.Solver(budget=25, rng=0)
    >>> suite = cocoex.Suite("bbob", "", "dimensions:2 function_indices:1 instance_indices:1")
    >>> [solver(problem).nfev <= 25 for problem in suite]
    [True]

    With IOHprofiler: ``ioh.Experiment(solver, …, logged_attributes=["beta", "lambda_", "threshold"])``.
    """

    def __init__(
        self,
        budget: int,
        *,
        rng: RandomState = None,
        log: str | os.PathLike[str] | None = None,
        n_initial: int | None = None,
        **options: Any,
    ) -> None:
        check_positive_integer("budget", budget)
        if n_initial is not None:
            check_positive_integer("n_initial", n_initial)
        check_names("Solver", options, DETERMINED)
        self.budget = budget
        self.log = log
        self.n_initial = n_initial
        self.options = options
        self._rng = as_generator(rng)
        self._show(None)

    def __call__(self, problem: Any) -> Result:
        """Solve one problem."""
        task = _read(problem)
        method = self.options.get("method", Settings.method)
        n_initial = self.n_initial or default_size(method, len(task.space), self.budget)
        options = {**self.options, **_goals(task, self.options.get("constraints", ()))}
        optimizer = Optimizer(task.space, n_initial=n_initial, rng=self._rng, **options)
        self._show(None)
        with self._open_log() as file:
            write = csv.writer(file).writerow if file is not None else _ignore
            while len(optimizer.evaluations) < self.budget and not task.is_solved():
                try:
                    proposal = optimizer.propose()
                except SpaceExhausted:
                    break
                self._show(proposal.trace, task.maximize)
                x = task.as_argument(proposal.x)
                limits = problem.constraint(x) if task.n_limits else ()
                values = np.atleast_1d(problem(x)).tolist()
                optimizer.tell(proposal.x, _answer(values, limits))
                found = optimizer.history.best
                best = math.nan if found is None or found.y is None else found.y
                number = len(optimizer.evaluations)
                value = " ".join(map(repr, values))
                write([task.name, number, value, best, self.beta, self.lambda_, self.threshold])
        return optimizer.result()

    def _show(self, trace: dict[str, Any] | None, maximize: bool = False) -> None:
        """Set the attributes from the trace of a proposal, which is about values to be minimized."""
        known = trace or {}
        values = (known.get(name) for name in ("beta", "scale", "threshold"))
        self.beta, self.lambda_, threshold = (math.nan if v is None else float(v) for v in values)
        self.threshold = -threshold if maximize else threshold

    def _open_log(self) -> AbstractContextManager[TextIO | None]:
        """Open the log, and write the header if the file is new."""
        if self.log is None:
            return nullcontext()
        file = open(self.log, "a", newline="", buffering=1)  # noqa: SIM115  (closed by the caller's with)
        if file.tell() == 0:
            csv.writer(file).writerow(COLUMNS)
        return file


@dataclass(frozen=True)
class _Task:
    """Platform-independent description of a problem."""

    name: str
    space: Space
    maximize: bool
    as_argument: Callable[[Point], Any]
    is_solved: Callable[[], bool]
    n_limits: int = 0  # constraints, which hold where they are at most 0
    reference: Sequence[float] = ()  # with several objectives, values beyond which nothing counts


def _read(problem: Any) -> _Task:
    if hasattr(problem, "lower_bounds") and hasattr(problem, "upper_bounds"):
        return _read_coco(problem)
    if hasattr(problem, "bounds") and hasattr(problem, "meta_data"):
        return _read_ioh(problem)
    raise TypeError(
        f"problem must be a problem of COCO or IOHprofiler, got a {type(problem).__name__}: "
        "for other functions use tcgp.minimize"
    )


def _read_coco(problem: Any) -> _Task:
    n_integers = problem.number_of_integer_variables  # the first ones, by COCO's convention
    bounds = list(zip(problem.lower_bounds, problem.upper_bounds, strict=True))
    integers = [Integer(int(low), int(high)) for low, high in bounds[:n_integers]]
    space = Space([*integers, *(Real(low, high) for low, high in bounds[n_integers:])])
    return _Task(
        name=problem.id,
        space=space,
        maximize=False,
        as_argument=lambda x: np.array(x, dtype=np.float64),
        is_solved=lambda: bool(problem.final_target_hit),
        n_limits=problem.number_of_constraints,
        reference=problem.largest_fvalues_of_interest.tolist() if problem.number_of_objectives > 1 else (),
    )


def _read_ioh(problem: Any) -> _Task:
    low, high = np.asarray(problem.bounds.lb), np.asarray(problem.bounds.ub)
    meta = problem.meta_data
    kind = Integer if np.issubdtype(low.dtype, np.integer) else Real
    return _Task(
        name=f"{meta.name}_i{meta.instance}_d{meta.n_variables}",
        space=Space([kind(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]),
        maximize=meta.optimization_type.name == "MAX",
        as_argument=list,
        is_solved=lambda: bool(problem.state.final_target_found),
    )


def _goals(task: _Task, constraints: Any) -> dict[str, Any]:
    """Return the arguments of the optimizer that say what is wanted; constraints of the user come last."""
    limits = [f"limit{k} <= 0" for k in range(task.n_limits)]
    given = list(constraints) if isinstance(constraints, list | tuple) else [constraints]
    goals = {"maximize": task.maximize, "constraints": [*limits, *given]}
    if len(task.reference):
        reference = {f"value{k}": bound for k, bound in enumerate(task.reference)}
        return {**goals, "objective": list(reference), "reference": reference}
    return {**goals, "objective": "value" if limits else None}


def _answer(values: Sequence[float], limits: Sequence[float]) -> float | dict[str, float]:
    """Return the only value, or all values and the values of the constraints by name."""
    if len(values) == 1 and not len(limits):
        return values[0]
    named = {"value": values[0]} if len(values) == 1 else {f"value{k}": v for k, v in enumerate(values)}
    return {**named, **{f"limit{k}": float(limit) for k, limit in enumerate(limits)}}


def _ignore(row: object) -> None:
    """Write nothing."""
