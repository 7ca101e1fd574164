"""Export runs on BBOB functions for COCO's post-processing.

A run keeps the points it evaluated. `export` evaluates them again under COCO's own logger, so that its files contain
exactly the evaluations of the run, and no worker needs to write them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan.plans import Plan
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.run.bbob import cocoex, is_bbob, open_bbob
from tcgp_experiments.run.store import Store

__all__ = ["export"]


def export(plans: Sequence[Plan], store: Store, output: str | os.PathLike[str]) -> list[Path]:
    """Write the BBOB runs of some plans in COCO's format: ``python -m cocopp DIR...`` makes its figures.

    Parameters
    ----------
    plans : sequence of plans
    store : Store
    output : path
        Directory, with a subdirectory for each method.

    Returns
    -------
    list of Path
        One directory for each method.
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    for task in (task for plan in plans for task in plan.tasks()):
        if isinstance(task, RunTask) and is_bbob(task.problem):
            result = store.load(task)
            if result is not None:
                runs.setdefault(task.method.slug, []).append(result)
    if not runs:
        raise ExperimentError(
            f"there are no runs on BBOB functions in {str(store.root)!r}: make some, as with "
            "'tcgp experiment run methods --problems bbob:f1:d2:i1'"
        )
    return [_export_method(slug, results, Path(output)) for slug, results in runs.items()]


def _export_method(slug: str, results: Sequence[dict[str, Any]], output: Path) -> Path:
    """Evaluate the points of some runs again, under COCO's logger."""
    directory = (output / slug).resolve()
    if directory.exists():
        raise ExperimentError(f"{str(directory)!r} exists already: remove it, or choose another --output")
    output.mkdir(parents=True, exist_ok=True)
    # By default COCO puts its own folder name in front of the path.
    observer = cocoex().Observer(
        "bbob", {"outer_folder": str(output.resolve()), "result_folder": slug, "algorithm_name": slug}
    )
    for result in results:
        problem = open_bbob(result["spec"]["problem"])
        problem.observe_with(observer)
        for x in result["x"]:
            problem(x)
        problem.free()
    return directory
