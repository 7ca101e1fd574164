"""Functions of the BBOB suite as problems of the harness, and runs handed over to COCO's post-processing.

The functions come from ``coco-experiment`` (module ``cocoex``). A run keeps the points it evaluated; `export`
evaluates them once more under COCO's own logger, so that its files know of no evaluation but the run's, and no
worker needs to write them.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.experiments.errors import ExperimentError
from tcgp.experiments.plans import OptimizationPlan, Plan
from tcgp.experiments.store import Store
from tcgp.experiments.tasks import RunTask
from tcgp.problems import Problem

__all__ = ["bbob_problem", "export", "is_bbob"]

PATTERN = re.compile(r"bbob:f(\d+):d(\d+):i(\d+)")


def is_bbob(name: str) -> bool:
    """Whether a problem is one of the BBOB suite."""
    return name.startswith("bbob:")


def bbob_problem(name: str) -> Problem:
    """A BBOB function by name: function, dimension and instance, as in ``"bbob:f8:d5:i1"``.

    Parameters
    ----------
    name : str

    Returns
    -------
    Problem
        Its minimum and minimiser are NaN: COCO does not tell them.
    """
    problem = _open(name)
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
    return Problem(name, functools.partial(_evaluate, name), bounds, np.nan, np.full(len(bounds), np.nan))


def export(plans: Sequence[Plan], store: Store, output: str | os.PathLike[str]) -> list[Path]:
    """Write the BBOB runs of some plans in COCO's format: ``python -m cocopp DIR...`` makes its figures.

    Parameters
    ----------
    plans : sequence of plans
    store : Store
    output : path
        Directory; each method gets one of its own inside.

    Returns
    -------
    list of Path
        One directory for each method.
    """
    runs: dict[str, list[RunTask]] = {}
    for plan in plans:
        for task in plan.tasks() if isinstance(plan, OptimizationPlan) else ():
            if isinstance(task, RunTask) and is_bbob(task.problem) and store.load(task) is not None:
                runs.setdefault(task.method.slug, []).append(task)
    if not runs:
        raise ExperimentError(
            f"there are no runs on BBOB functions in {str(store.root)!r}: make some, as with "
            "'tcgp experiment run methods --problems bbob:f1:d2:i1'"
        )
    return [_export_method(slug, tasks, store, Path(output)) for slug, tasks in runs.items()]


def _export_method(slug: str, tasks: Sequence[RunTask], store: Store, output: Path) -> Path:
    """Evaluate the points of some runs again, under COCO's logger."""
    directory = (output / slug).resolve()
    if directory.exists():
        raise ExperimentError(f"{str(directory)!r} exists already: remove it, or choose another --output")
    output.mkdir(parents=True, exist_ok=True)
    # COCO puts its own folder name in front of the path it is given, unless it is told otherwise.
    observer = _cocoex().Observer(
        "bbob", {"outer_folder": str(output.resolve()), "result_folder": slug, "algorithm_name": slug}
    )
    for task in tasks:
        result = store.load(task)
        assert result is not None
        problem = _open(task.problem)
        problem.observe_with(observer)
        for x in result["x"]:
            problem(x)
        problem.free()
    return directory


def _open(name: str) -> Any:
    """A new problem of COCO."""
    match = PATTERN.fullmatch(name)
    if match is None:
        raise ExperimentError(f"a BBOB function is named as in 'bbob:f8:d5:i1', not {name!r}")
    function, dimension, instance = (int(number) for number in match.groups())
    try:
        problem = _suite(function, dimension, instance).get_problem(0)
    except ExperimentError:
        raise
    except Exception as error:  # COCO raises what it likes
        raise ExperimentError(f"COCO has no function {name!r} ({error})") from error
    # COCO replaces what it does not know by what it does.
    if problem.id != f"bbob_f{function:03d}_i{instance:02d}_d{dimension:02d}":
        raise ExperimentError(f"COCO has no function {name!r}, and would give {problem.id} instead")
    return problem


@functools.cache
def _suite(function: int, dimension: int, instance: int) -> Any:
    """A suite of one function; kept, because a problem whose suite is gone brings down the interpreter."""
    options = f"dimensions:{dimension} function_indices:{function}"
    return _cocoex().Suite("bbob", f"instances:{instance}", options)


@functools.lru_cache(maxsize=32)
def _opened(name: str) -> Any:
    return _open(name)


def _evaluate(name: str, points: FloatArray) -> FloatArray:
    """Values at one point or at many; COCO takes one at a time."""
    problem = _opened(name)
    if points.ndim == 1:
        return np.asarray(problem(points))
    return np.array([problem(x) for x in points])


def _cocoex() -> Any:
    try:
        return importlib.import_module("cocoex")
    except ImportError as error:
        raise ExperimentError(f"BBOB functions need COCO: pip install coco-experiment ({error})") from error
