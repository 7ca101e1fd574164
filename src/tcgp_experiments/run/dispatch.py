"""Compute the result of a task."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from tcgp_experiments.plan.tasks import FixedTask, Task
from tcgp_experiments.run.fixed_data import score_rows
from tcgp_experiments.run.optimization import optimize

__all__ = ["Attempt", "attempt", "compute"]


class Attempt(NamedTuple):
    """The attempt at a task: its result, or None and the reason, and the seconds it took."""

    task: Task
    payload: dict[str, Any] | None
    reason: str
    seconds: float


def compute(task: Task) -> dict[str, Any]:
    """The result of a task, as plain JSON."""
    with threadpool_limits(limits=1):  # tasks are computed side by side
        return {"spec": task.spec, **_result(task)}


def _result(task: Task) -> dict[str, Any]:
    if isinstance(task, FixedTask):
        return score_rows(task.problem, task.replicate, task.rows)
    return optimize(task)


def attempt(task: Task) -> Attempt:
    """Compute a task; an error is returned, so that other tasks continue."""
    start = time.perf_counter()
    # Warnings about single fits would flood the screen.
    logger = logging.getLogger("tcgp")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        payload, reason = compute(task), ""
    except Exception as error:
        payload, reason = None, f"{type(error).__name__}: {error}"
    finally:
        logger.setLevel(level)
    return Attempt(task, payload, reason, time.perf_counter() - start)
