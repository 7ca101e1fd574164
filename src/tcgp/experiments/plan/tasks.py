"""One piece of an experiment: what it computes, where its result lies, and whether a stored result will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tcgp.experiments.methods import Method
from tcgp.experiments.problems import ROOT_SEED

__all__ = ["FixedTask", "Row", "RunTask", "Task"]


class Task(Protocol):
    """A piece of work that needs nothing but itself, and can be sent to another process."""

    @property
    def path(self) -> str:
        """Where the result lies, relative to the directory of results: what is computed, not for which plan."""
        ...

    @property
    def kind(self) -> str:
        """Tasks of one kind take about the same time."""
        ...

    @property
    def spec(self) -> dict[str, Any]:
        """What a stored result must say of itself to be a result of this task."""
        ...

    def accepts(self, payload: Mapping[str, Any]) -> bool:
        """Whether a stored result gives all that this task would compute."""
        ...

    def compute(self) -> dict[str, Any]:
        """The result, as plain JSON."""
        ...


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
        What the rows are, for the path.
    """

    problem: str
    replicate: int
    rows: tuple[Row, ...]
    rows_name: str

    @property
    def path(self) -> str:
        return f"fixed/{self.problem}/{self.rows_name}/{self.replicate:04d}.json"

    @property
    def kind(self) -> str:
        return f"{self.rows_name} {self.problem}"

    @property
    def spec(self) -> dict[str, Any]:
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
        return payload.get("spec") == self.spec and len(payload.get("rows", ())) == len(self.rows)

    def compute(self) -> dict[str, Any]:
        from tcgp.experiments.fixed import score_rows

        return {"spec": self.spec, **score_rows(self.problem, self.replicate, self.rows)}


@dataclass(frozen=True)
class RunTask:
    """One optimization run of one method.

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
        Whether the models are scored on test sets along the run.
    """

    problem: str
    replicate: int
    method: Method
    criterion: str
    iterations: int
    diagnostics: bool = False

    @property
    def path(self) -> str:
        problem = self.problem.replace(":", "-")
        return f"runs/{problem}/{self.criterion}/{self.method.slug}/{self.replicate:04d}.json"

    @property
    def kind(self) -> str:
        return f"{self.problem} {self.criterion} {self.method.slug}"

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "kind": "run",
            "problem": self.problem,
            "replicate": self.replicate,
            "seed": ROOT_SEED,
            "method": self.method.name,
            "options": self.method.settings,
            "criterion": self.criterion,
        }

    def accepts(self, payload: Mapping[str, Any]) -> bool:
        return (
            payload.get("spec") == self.spec
            and payload.get("iterations", -1) >= self.iterations
            and (not self.diagnostics or payload.get("scores") is not None)
        )

    def compute(self) -> dict[str, Any]:
        from tcgp.experiments.runs import optimize

        return {"spec": self.spec, **optimize(self)}
