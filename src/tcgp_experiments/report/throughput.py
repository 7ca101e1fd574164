"""How fast the runs were, and how long the whole paper would take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp_experiments.plan.plans import PLANS, CalibrationPlan, OptimizationPlan
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.report.blocks import Block, Page, Paragraph, Table, to_csv
from tcgp_experiments.report.titles import problem_title
from tcgp_experiments.run.store import Store

__all__ = ["throughput_page"]

REPLICATES = 100
SAMPLE = 10  # results of each kind that are used


@dataclass(frozen=True)
class _Kind:
    """Runs of one method on one problem that some experiment of the paper needs."""

    task: RunTask
    results: list[dict[str, Any]]

    @property
    def iterations_per_hour(self) -> float:
        """Optimization iterations in an hour of one core, without measuring."""
        seconds = [sum(r["seconds"]["model"]) + sum(r["seconds"]["maximize"]) for r in self.results]
        return float(3600.0 * sum(r["iterations"] for r in self.results) / max(sum(seconds), 1e-9))

    @property
    def hours(self) -> float:
        """Core-hours of all replicates, measuring included."""
        share = [self.task.iterations / r["iterations"] for r in self.results]
        seconds = [
            (sum(r["seconds"]["model"]) + sum(r["seconds"]["maximize"]) + r["seconds"]["metrics"]) * s
            for r, s in zip(self.results, share, strict=True)
        ]
        return REPLICATES * float(np.mean(seconds)) / 3600.0


def throughput_page(store: Store) -> Page:
    """Iterations per core-hour of each method on each function, and the core-hours of the whole paper."""
    kinds = _kinds(store)
    known = [kind for kind in kinds if kind.results]
    tables, n_tables = _table_hours(store)
    hours = sum(kind.hours for kind in known) + tables
    blocks: list[Block] = [
        Paragraph(
            f"The experiments of the paper need {len(kinds)} kinds of runs (a method on a function, with a "
            f"criterion), {REPLICATES} of each, and {n_tables} data sets for the tables; a run that several "
            f"experiments need is counted once. Of {len(known)} kinds there are results here. At their pace, and "
            f"with all measuring, these kinds and the tables take **{hours:.1f} core-hours** for {REPLICATES} "
            "replicates."
        )
    ]
    if len(known) < len(kinds):
        blocks.append(
            Paragraph(
                f"The {len(kinds) - len(known)} other kinds have not been run here and are not in this number."
            )
        )
    rows = [
        [
            problem_title(kind.task.problem),
            kind.task.criterion,
            kind.task.method.slug,
            f"{kind.iterations_per_hour:,.0f}",
            f"{kind.hours:.2f}",
        ]
        for kind in known
    ]
    header = [
        "function",
        "criterion",
        "method",
        "iterations per core-hour",
        f"core-hours for {REPLICATES} runs",
    ]
    blocks.append(Table(header, rows))
    return Page("throughput", "Throughput", blocks, {"throughput.csv": to_csv(header, rows)})


def _kinds(store: Store) -> list[_Kind]:
    """Kinds of runs of all experiments, with some of their results."""
    longest: dict[str, RunTask] = {}
    for plan in PLANS.values():
        if isinstance(plan, OptimizationPlan):
            for task in replace(plan, replicates=1).tasks():
                if task.iterations > longest.setdefault(task.kind, task).iterations:
                    longest[task.kind] = task
    return [_Kind(task, _sample(task, store)) for task in longest.values()]


def _sample(task: RunTask, store: Store) -> list[dict[str, Any]]:
    """Results of the kind of a task, with any number of iterations."""
    tasks = [replace(task, replicate=i, iterations=1, diagnostics=False) for i in range(SAMPLE)]
    return [result for result in map(store.load, tasks) if result is not None]


def _table_hours(store: Store) -> tuple[float, int]:
    """Core-hours of the data sets of the tables, and their number."""
    hours, n = 0.0, 0
    for plan in PLANS.values():
        if isinstance(plan, CalibrationPlan) and plan.name in ("table1", "table2"):
            tasks = list(plan.tasks())
            n += len(tasks)
            seconds = [r["seconds"] for r in map(store.load, tasks[: SAMPLE * len(plan.problems)]) if r]
            hours += len(tasks) * float(np.mean(seconds)) / 3600.0 if seconds else 0.0
    return hours, n
