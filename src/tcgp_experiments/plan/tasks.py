"""Tasks of an experiment: what they compute, where results are stored, and whether a stored result suffices.

A task is plain data and can be sent to another process; `tcgp_experiments.run.dispatch` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tcgp_experiments.plan.methods import Method

__all__ = ["ROOT_SEED", "FixedTask", "Row", "RunTask", "Task"]

ROOT_SEED = 20260731  # of all experiments


@dataclass(frozen=True)
class Row:
    """A row of a table: a method, scored below the quantile of this level (0 is the best value)."""

    level: float
    method: Method


@dataclass(frozen=True)
class FixedTask:
    """Models on one data set of 30 d uniform points, scored on test points.

    Attributes
    ----------
    problem : str
    replicate : int
    rows : tuple of Row
    rows_name : str
        Name of the rows, for the path.
    """

    points_per_dimension: ClassVar[int] = 30

    problem: str
    replicate: int
    rows: tuple[Row, ...]
    rows_name: str

    @property
    def path(self) -> str:
        """Path in the directory of results, which depends on what is computed and not on the plan."""
        return f"fixed/{self.problem}/{self.rows_name}/{self.replicate:04d}.json"

    @property
    def kind(self) -> str:
        """Tasks of one kind take about the same time."""
        return f"{self.rows_name} {self.problem}"

    @property
    def spec(self) -> dict[str, Any]:
        """The record that a stored result of this task must have."""
        rows = [
            {"level": row.level, "method": row.method.name, "options": row.method.settings}
            for row in self.rows
        ]
        return {
            "kind": "fixed",
            "problem": self.problem,
            "replicate": self.replicate,
            "seed": ROOT_SEED,
            "rows": rows,
        }

    def accepts(self, payload: Mapping[str, Any]) -> bool:
        """Whether a stored result gives all that this task asks for."""
        return payload.get("spec") == self.spec and len(payload.get("rows", ())) == len(self.rows)


@dataclass(frozen=True)
class RunTask:
    """One optimization run of one method, from 10 d uniform points.

    A run with more iterations begins with the shorter one, and scores along the run do not change its course:
    a longer or a more detailed result serves as well.

    Attributes
    ----------
    problem : str
    replicate : int
    method : Method
    criterion : {"ei", "lcb"}
    iterations : int
    diagnostics : bool
        Whether the models are scored on test sets during the run.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized.
    """

    points_per_dimension: ClassVar[int] = 10

    problem: str
    replicate: int
    method: Method
    criterion: str
    iterations: int
    diagnostics: bool = False
    maximizer: str = "multistart"

    @property
    def path(self) -> str:
        """Path in the directory of results, which depends on what is computed and not on the plan."""
        problem = self.problem.replace(":", "-")
        return f"runs/{problem}/{self._criterion}/{self.method.slug}/{self.replicate:04d}.json"

    @property
    def kind(self) -> str:
        """Tasks of one kind take about the same time."""
        return f"{self.problem} {self._criterion} {self.method.slug}"

    @property
    def _criterion(self) -> str:
        """The criterion, with its maximizer if that is not the usual one."""
        return self.criterion if self.maximizer == "multistart" else f"{self.criterion}-{self.maximizer}"

    @property
    def spec(self) -> dict[str, Any]:
        """The record that a stored result of this task must have."""
        return {
            "kind": "run",
            "problem": self.problem,
            "replicate": self.replicate,
            "seed": ROOT_SEED,
            "method": self.method.name,
            "options": self.method.settings,
            "criterion": self.criterion,
            # Older results, made before there was a choice, stay valid.
            **({} if self.maximizer == "multistart" else {"maximizer": self.maximizer}),
        }

    def accepts(self, payload: Mapping[str, Any]) -> bool:
        """Whether a stored result gives all that this task asks for."""
        return (
            payload.get("spec") == self.spec
            and payload.get("iterations", -1) >= self.iterations
            and (not self.diagnostics or payload.get("scores") is not None)
        )


Task = FixedTask | RunTask
