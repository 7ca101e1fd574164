"""Runs of one method on one problem, as curves over the iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import multimode
from typing import Any

import numpy as np

from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.plans import OptimizationPlan, Plan
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.report.statistics import FLOOR, band
from tcgp_experiments.run import problems
from tcgp_experiments.run.store import Store

__all__ = ["Curves", "as_far_as_run", "curves_of"]


@dataclass(frozen=True)
class Curves:
    """Replicates of a method on a problem.

    Attributes
    ----------
    problem, label : str
    n : (k + 1,) array
        Numbers of evaluations, from the initial design on.
    replicates : list of int
        The available ones.
    log10_p : (r, k + 1) array
        log10 of p_mn.
    best : (r, k + 1) array
    results : list of dict
        The stored results.
    """

    problem: str
    label: str
    n: FloatArray
    replicates: list[int]
    log10_p: FloatArray
    best: FloatArray
    results: list[dict[str, Any]]

    @property
    def iterations(self) -> int:
        """Evaluations after the initial design."""
        return len(self.n) - 1

    def levels(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Median, 10 % and 90 % quantiles of log10 p_mn, each of shape (k + 1,)."""
        return band(list(self.log10_p))

    def reached(self, target: float) -> FloatArray:
        """Share of runs with p_mn at or below the target, of shape (k + 1,)."""
        return np.asarray(np.mean(self.log10_p <= np.log10(target), axis=0))

    def score(self, name: str) -> FloatArray:
        """A score of the models at m_n (``twcrps``, ``occurrence``, ``tks_pit``), of shape (r, k)."""
        return np.array([_numbers(result["scores"][name])[: self.iterations] for result in self.results])

    def median_score(self, name: str) -> FloatArray:
        """Median over replicates of a score, of shape (k,)."""
        return np.asarray(np.nanmedian(self.score(name), axis=0))

    def seconds(self, part: str) -> FloatArray:
        """Processor time of each iteration for ``model`` or ``maximize``, of shape (r, k)."""
        return np.array([_numbers(result["seconds"][part])[: self.iterations] for result in self.results])

    def median_seconds(self) -> FloatArray:
        """Median over replicates of the time of the model, of shape (k,)."""
        return np.asarray(np.median(self.seconds("model"), axis=0))


def curves_of(plan: OptimizationPlan, store: Store) -> dict[str, list[Curves]]:
    """Curves of a plan from the available results: for each problem, its methods in order."""
    found: dict[str, list[Curves]] = {}
    for problem in plan.problems:
        for method in plan.methods:
            results: dict[int, dict[str, Any]] = {}
            for replicate in range(plan.replicates):
                result = store.load(plan.task(problem, replicate, method))
                if result is not None:
                    results[replicate] = result
            if results:
                curves = _curves(problem, method.label, plan.iterations, results)
                found.setdefault(problem, []).append(curves)
    return found


def as_far_as_run(plan: Plan, store: Store) -> Plan:
    """The plan with the number of iterations of most stored runs, at most its own."""
    if not isinstance(plan, OptimizationPlan):
        return plan
    results = map(store.load, replace(plan, iterations=1).tasks())
    lengths = [min(result["iterations"], plan.iterations) for result in results if result is not None]
    return replace(plan, iterations=max(multimode(lengths), default=plan.iterations))


def _curves(problem: str, label: str, iterations: int, results: dict[int, dict[str, Any]]) -> Curves:
    """The first iterations of some runs."""
    n_initial = RunTask.points_per_dimension * problems.get(problem).dim
    stop = iterations + 1
    return Curves(
        problem,
        label,
        np.arange(n_initial, n_initial + stop, dtype=float),
        list(results),
        np.array([_log10(result["log10_p"])[:stop] for result in results.values()]),
        np.array([_numbers(result["best"])[:stop] for result in results.values()]),
        list(results.values()),
    )


def _numbers(values: Sequence[float | None]) -> FloatArray:
    """Numbers, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _log10(values: Sequence[float | None]) -> FloatArray:
    """Logarithms of probabilities; None means too small to be found."""
    return np.nan_to_num(_numbers(values), nan=np.log10(FLOOR))
