"""The front of a run with several objectives: its compromises, and the choice of one."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._text import did_you_mean, plain
from tcgp._typing import FloatArray
from tcgp.front import choose, knee
from tcgp.record.history import History

if TYPE_CHECKING:
    from tcgp.search.acquisition import Models

__all__ = ["Front", "FrontPoint"]


@dataclass(frozen=True)
class FrontPoint:
    """A point that no other dominates.

    Attributes
    ----------
    x : array, list or dict
        The point, in the form the function takes.
    values : dict
        Its value of each objective, with the sign of the function; with noise the predicted one.
    outputs : dict
        All its outputs.
    index : int
        Its place among the evaluations.
    """

    x: Any
    values: dict[str, float]
    outputs: dict[str, float | None]
    index: int


class Front:
    """The points that satisfy all constraints and that no other such point dominates, from one end to the other.

    Parameters
    ----------
    history : History
    models : Models, optional
        With noise: the points are those that are on the front with some certainty, and values are predicted.

    Examples
    --------
    >>> import tcgp
    >>> def simulate(p):
    ...     return {"mass": p["width"], "deflection": 1.0 / p["width"]}
    >>> goals = {"objective": ["mass", "deflection"]}
    >>> front = tcgp.minimize(simulate, {"width": (0.1, 2.0)}, n_evals=8, rng=0, **goals).front
    >>> front.choose({"mass": 3, "deflection": 1}).values["mass"] < front.choose({"deflection": 1}).values["mass"]
    True
    >>> 0.1 <= front[0].values["mass"] < front.knee().values["mass"] < front[-1].values["mass"] <= 2.0
    True
    """

    def __init__(self, history: History, models: Models | None = None) -> None:
        data, objectives = history.data if models is None else models.data, history.goals.objectives
        rows = data.front if models is None else models.front_rows
        signs = np.array([quantity.sign for quantity in objectives])
        self.names = [quantity.text for quantity in objectives]
        self._values: FloatArray = data.Y[rows, : len(objectives)]
        self._points = [
            FrontPoint(
                history.space.as_argument(data.evaluations[row].x),
                dict(zip(self.names, values, strict=True)),
                dict(data.evaluations[row].outputs or {}),
                row,
            )
            for row, values in zip(rows.tolist(), (signs * self._values).tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, i: int) -> FrontPoint:
        return self._points[i]

    def __iter__(self) -> Iterator[FrontPoint]:
        return iter(self._points)

    def knee(self) -> FrontPoint:
        """The knee, where a step in either direction costs more than it gains: see `tcgp.front.knee`."""
        self._check_not_empty()
        return self._points[knee(self._values)]

    def choose(self, weights: Mapping[str, float]) -> FrontPoint:
        """The point that suits weights best: see `tcgp.front.choose`.

        Parameters
        ----------
        weights : mapping
            How much each objective matters, in units of its range on the front; one that is left out does not matter.
        """
        self._check_not_empty()
        for name, weight in weights.items():
            if name not in self.names:
                known = ", ".join(map(repr, self.names))
                raise ValueError(
                    f"weights must be of {known}, got {plain(name)}{did_you_mean(name, self.names)}"
                )
            if (
                isinstance(weight, bool)
                or not isinstance(weight, numbers.Real)
                or not 0.0 <= weight < math.inf
            ):
                raise ValueError(f"the weight of {name!r} must be a number >= 0, got {plain(weight)}")
        given = np.array([float(weights.get(name, 0.0)) for name in self.names])
        if not given.any():
            raise ValueError(f"weights must not all be zero, got {plain(dict(weights))}")
        return self._points[choose(self._values, given)]

    def _check_not_empty(self) -> None:
        if not self._points:
            raise ValueError(
                "the front has no point: no evaluation has succeeded and satisfies all constraints"
            )

    def __repr__(self) -> str:
        if not self._points:
            return "no point"
        ends = [sorted(point.values[name] for point in self._points) for name in self.names]
        ranges = [f"{name} {plain(v[0])} to {plain(v[-1])}" for name, v in zip(self.names, ends, strict=True)]
        return f"{len(self)} point{'s' if len(self) > 1 else ''}, {', '.join(ranges)}"
