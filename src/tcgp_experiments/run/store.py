"""Results on disk: one JSON file for each task, written atomically."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tcgp import __version__
from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.files import write_whole
from tcgp_experiments.plan.tasks import Task

__all__ = ["Store"]

# A run of 150 iterations with all its scores takes about 40 kB.
BYTES_PER_TASK = 50_000


class Store:
    """The directory of results.

    A stored result of a task is never computed again, so runs can be resumed and shared between experiments. Files
    that are damaged or of another task count as absent.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def load(self, task: Task) -> dict[str, Any] | None:
        """The stored result of a task, or None if it is still to be computed."""
        try:
            payload = json.loads((self.root / task.path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return payload if isinstance(payload, dict) and task.accepts(payload) else None

    def save(self, task: Task, payload: dict[str, Any]) -> None:
        """Write a result, unless a more complete one was written in the meantime."""
        if self.load(task) is not None:
            return
        path = self.root / task.path
        text = json.dumps({"software": f"tcgp {__version__}", **payload}, allow_nan=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise ExperimentError(
                f"the result {str(path)!r} could not be written ({error.strerror}): no earlier result "
                "is lost; make room, and repeat the same command"
            ) from error

    def check_writable(self, n_tasks: int) -> None:
        """Refuse a directory without room for the results of so many tasks."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            # A unique name, because shares may start together.
            probe = self.root / f".{os.urandom(8).hex()}.probe"
            write_whole(probe, "x" * 4096)
            probe.unlink()
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise ExperimentError(
                f"results cannot be written to {str(self.root)!r} ({error.strerror}): choose another directory "
                "with --results"
            ) from error
        needed = n_tasks * BYTES_PER_TASK
        if free < needed:
            raise ExperimentError(
                f"the disk of {str(self.root)!r} has {free / 1e6:.0f} MB left and {n_tasks} results need about "
                f"{needed / 1e6:.0f} MB: make room, or choose another directory with --results"
            )
