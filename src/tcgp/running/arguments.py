"""Arguments of `minimize`: rules to stop, and first points, checked before anything is evaluated or written."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp._arrays import is_table
from tcgp._text import did_you_mean, plain, shorten
from tcgp.goals import Goals, parameter_names
from tcgp.methods.options import Option
from tcgp.optimizer.optimizer import Optimizer
from tcgp.record.history import Evaluation, History
from tcgp.space import Point, Space

__all__ = ["FirstPoints", "StopRules", "point_of_row"]

LEAST_FOR_A_SHARE = 10  # evaluations before a share of failures says anything


TARGET = Option(None, "a value that is good enough", optional=True)
RULES = {
    "n_evals": Option(None, "evaluations in all", low=1, integer=True),
    "max_time": Option(None, "seconds", low=0.0, open_low=True, optional=True),
    "patience": Option(None, "proposals without an improvement", low=1, integer=True, optional=True),
    "min_improvement": Option(None, "what counts as one", low=0.0, optional=True),
    "stop_when_share_below": Option(
        None, "share of the space", low=0.0, high=1.0, open_high=True, optional=True
    ),
    "confirm": Option(0, "repeats at the end", low=0, integer=True),
}


@dataclass(frozen=True)
class StopRules:
    """When to stop: arguments of `tcgp.minimize`.

    Examples
    --------
    >>> from tcgp.running.arguments import StopRules
    >>> StopRules(20, target="low")
    Traceback (most recent call last):
        ...
    ValueError: target must be a number, or None, got 'low'
    """

    n_evals: int
    target: float | Mapping[str, float] | None = None
    max_time: float | None = None
    max_failures: float | None = None
    patience: int | None = None
    min_improvement: float | None = None
    stop_when_share_below: float | None = None
    confirm: int = 0

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            rule.check(name, getattr(self, name))
        if not isinstance(self.target, Mapping):
            TARGET.check("target", self.target)
        _check_max_failures(self.max_failures)
        if self.min_improvement is not None and self.patience is None and self.stop_when_share_below is None:
            raise ValueError(
                "min_improvement needs patience or stop_when_share_below, got {plain(self.min_improvement)}"
            )

    def check_goals(self, goals: Goals) -> None:
        """Refuse rules that do not fit the objectives.

        Examples
        --------
        >>> from tcgp import Space
        >>> from tcgp.goals import Goals
        >>> from tcgp.running.arguments import StopRules
        >>> StopRules(20, target=3.0).check_goals(Goals(Space([(0, 1)]), ["mass", "deflection"]))
        Traceback (most recent call last):
            ...
        ValueError: target must be a mapping from objectives ('mass', 'deflection') to numbers, got 3.0
        """
        names = [quantity.text for quantity in goals.objectives]
        if self.target is not None and isinstance(self.target, Mapping) != goals.has_several:
            wanted = (
                f"a mapping from objectives {tuple(names)!r} to numbers" if goals.has_several else "a number"
            )
            raise ValueError(f"target must be {wanted}, got {plain(self.target)}")
        for name, value in self.target.items() if isinstance(self.target, Mapping) else ():
            if name not in names:
                raise ValueError(f"target: {plain(name)} is not an objective{did_you_mean(name, names)}")
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or math.isnan(value):
                raise ValueError(f"target of {name!r} must be a number, got {plain(value)}")
        if self.min_improvement is not None and goals.has_several:
            raise ValueError(
                "min_improvement must be None with several objectives, whose volumes have no meaningful units, got "
                "{plain(self.min_improvement)}"
            )

    @property
    def improvement(self) -> float:
        """By how much a value must be better to count."""
        return self.min_improvement or 0.0

    @property
    def by(self) -> str:
        """The same in words, for a message."""
        return f" by {plain(self.min_improvement)}" if self.min_improvement else ""

    def allows(self, n_failed: int, n: int) -> bool:
        """Whether a run with so many failures among ``n`` evaluations may go on.

        Examples
        --------
        >>> from tcgp.running.arguments import StopRules
        >>> StopRules(20, max_failures=2).allows(2, 3), StopRules(20, max_failures=0.5).allows(6, 10)
        (True, False)
        """
        if self.max_failures is None:
            return True
        if isinstance(self.max_failures, numbers.Integral):
            return n_failed <= int(self.max_failures)
        return n < LEAST_FOR_A_SHARE or n_failed <= self.max_failures * n


def _check_max_failures(value: object) -> None:
    if value is None or (
        isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0
    ):
        return
    is_share = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    if not is_share or not 0.0 < float(value) < 1.0:  # type: ignore[arg-type]
        raise ValueError(
            f"max_failures must be a whole number >= 0, a share between 0 and 1, or None, got {plain(value)}"
        )


@dataclass(frozen=True)
class FirstPoints:
    """Points that the user wants evaluated or, with values, has evaluated.

    Attributes
    ----------
    points : list of points
    values : list or None
    """

    points: list[Any]
    values: list[Any] | None

    @classmethod
    def of(cls, space: Space, x0: object, y0: object, goals: Goals | None = None) -> FirstPoints:
        """The points and values of the arguments ``x0`` and ``y0`` of `tcgp.minimize`."""
        if x0 is None:
            if y0 is not None:
                raise ValueError(f"y0 needs x0, the points where these values were found, got y0={plain(y0)}")
            return cls([], None)
        points = _points_of_frame(space, x0) if is_table(x0) else _as_points(space, x0)
        if y0 is None:
            return cls(points, None)
        objective = None if goals is None else goals.objective
        answers = _rows_of_frame(y0, objective is not None) if is_table(y0) else y0
        array = np.atleast_1d(np.asarray(_as_list(answers), dtype=object))
        if array.size != max(array.shape):  # neither a row nor a column
            raise ValueError(f"y0 must be one value for each point, got an array of shape {array.shape}")
        values = array.ravel().tolist()
        if len(values) != len(points):
            raise ValueError(f"x0 and y0 must have equal lengths, got {len(points)} and {len(values)}")
        _check_row_labels(x0, y0)
        for value in values:
            if value is not None and not isinstance(value, numbers.Real | Mapping):
                raise ValueError(
                    f"y0 must be numbers, or None where an evaluation failed, got {plain(value)}"
                )
        if goals is not None:
            _check_outputs(values, goals)
        if goals is not None and objective is not None:
            values = [_as_outputs(value, goals) for value in values]
        if goals is None or not goals.noisy:
            told = [Evaluation.of(x, y, goals=goals) for x, y in zip(points, values, strict=True)]
            History(space).settle_all(told)  # refuses two values at one point
        return cls(points, values)

    def give(self, optimizer: Optimizer) -> None:
        """Tell the values, or enqueue the points."""
        if self.points and self.values is not None:
            optimizer.tell(self.points, self.values)
            return
        for point in self.points:
            optimizer.enqueue(point)


def _rows_of_frame(frame: Any, has_outputs: bool) -> list[Any]:
    """The rows of a pandas DataFrame as outputs by name; of one column without a name to look for, its values."""
    if has_outputs:
        return list(frame.to_dict("records"))
    if len(frame.columns) != 1:
        raise ValueError(
            "y0 must have one column unless objective names the output to minimize, got "
            f"{plain(list(frame.columns))}"
        )
    return list(frame.iloc[:, 0])


def _check_row_labels(x0: Any, y0: Any) -> None:
    """Refuse values of pandas whose rows have other labels than the points, or another order.

    Values that are only numbered belong to the points in order, unless the points have the same numbers.
    """
    if not (is_table(x0) and hasattr(y0, "index") and hasattr(y0, "to_dict")) or x0.index.equals(y0.index):
        return
    labels, of_values = list(x0.index), list(y0.index)
    if of_values == list(range(len(of_values))) and set(labels) != set(of_values):
        return
    points, values = (shorten(plain(rows), 100) for rows in (labels, of_values))
    raise ValueError(
        f"y0 must have the row labels of x0 in the same order, {points}, got {values}; take y0.loc[x0.index], or "
        "y0.to_numpy() if the rows are in the same order"
    )


def _check_outputs(values: Sequence[Any], goals: Goals) -> None:
    """Refuse outputs that lack a wanted one: all would count as failures."""
    names = list(dict.fromkeys(str(name) for value in values if isinstance(value, Mapping) for name in value))
    if names and goals.objective is None:
        raise ValueError(
            f"y0 must be numbers unless objective names the output to minimize, got the outputs {plain(names)}"
        )
    for wanted in goals.needed(names) if names else ():
        if wanted not in names:
            hint = did_you_mean(wanted, names)
            raise ValueError(f"y0 must have the output {plain(wanted)}, got {plain(names)}{hint}")


def _as_outputs(value: Any, goals: Goals) -> Any:
    """A number as the output that it must be, if only one is wanted."""
    if not isinstance(value, numbers.Real):
        return value
    if goals.outputs != (goals.objective,):
        raise ValueError(
            f"y0 must be mappings with the outputs {plain(list(goals.outputs))}, got {plain(value)}"
        )
    return {goals.objective: value}


def point_of_row(space: Space, row: Mapping[str, Any]) -> Point:
    """The point in a row of a table: columns are matched by parameter names, others are left out.

    A parameter that is fixed needs no column.

    Examples
    --------
    >>> from tcgp import Space
    >>> from tcgp.running.arguments import point_of_row
    >>> point_of_row(Space({"width": (0.0, 1.0), "alloy": "steel"}), {"remark": "old", "width": 0.5})
    [0.5, 'steel']
    """
    values = []
    for name, dimension in zip(parameter_names(space), space.dimensions, strict=True):
        if name in row:
            values.append(row[name])
        elif dimension.size == 1:
            values.append(next(iter(dimension.values())))
        else:
            raise ValueError(
                f"there is no column for the parameter {name!r}, only {', '.join(map(str, row))}"
            )
    return space.check(values)


def _points_of_frame(space: Space, frame: Any) -> list[Point]:
    """The rows of a pandas DataFrame as points; messages name the row by its label."""
    rows = frame.to_dict("records")
    if space.names is None and not set(parameter_names(space)) <= set(frame.columns):
        rows = [dict(zip(parameter_names(space), row.values(), strict=False)) for row in rows]
        if len(frame.columns) != len(space):
            raise ValueError(
                f"x0 must have {len(space)} columns, one per parameter, got {plain(list(frame.columns))}"
            )
    points = []
    for label, row in zip(frame.index, rows, strict=True):
        try:
            points.append(point_of_row(space, row))
        except ValueError as error:
            raise ValueError(f"x0, row {label!r}: {error}") from None
    return points


def _as_list(items: Any) -> Any:
    """The items of a generator, a set or a view as a list; sequences, arrays and numbers as they are.

    A masked array becomes a list with None for masked items, which an array would show.
    """
    if isinstance(items, np.ma.MaskedArray):
        return items.tolist()
    is_plain = isinstance(items, Sequence | Mapping | np.ndarray) or not isinstance(items, Iterable)
    return items if is_plain else list(items)


def _as_points(space: Space, x0: Any) -> list[Any]:
    """One point or several, as a list of checked points."""
    if space.names is not None and hasattr(x0, "index") and hasattr(x0, "to_dict"):
        x0 = x0.to_dict()  # a pandas Series: its labels are names
    x0 = _as_list(x0)
    try:
        return [space.check(x0)]
    except ValueError as error:
        if isinstance(x0, Mapping | str) or not hasattr(x0, "__iter__"):
            raise ValueError(f"x0: {error}") from None
        nested = [x for x in x0 if isinstance(x, Mapping) or (np.ndim(x) == 1 and not isinstance(x, str))]
        if len(nested) < len(x0):
            raise ValueError(f"x0: {error}") from None
        return [_check_row(space, row, point) for row, point in enumerate(nested)]


def _check_row(space: Space, row: int, point: Any) -> Point:
    try:
        return space.check(point)
    except ValueError as error:
        raise ValueError(f"x0[{row}]: {error}") from None
