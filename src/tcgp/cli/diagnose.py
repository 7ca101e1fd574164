"""``tcgp diagnose``: is a Gaussian process overconfident about low values on these data?"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tcgp._typing import FloatArray
from tcgp.cli.campaigns import find_journal, read
from tcgp.cli.console import DONE, UsageError, note, relative, show
from tcgp.cli.pictures import can_draw, is_picture, new_figure, save
from tcgp.cli.replacing import check_replaceable
from tcgp.cli.tables import bookkeeping, column_of, is_missing, number, read_table
from tcgp.record.journal import is_journal
from tcgp.space import Categorical, Dimension, Point, Real, Space

if TYPE_CHECKING:
    from tcgp.models import Model

__all__ = ["describe_run", "run"]

LEAST_ROWS = 3
OF_MEAN = "Importance of the parameters (Sobol' indices of the model's mean):"
MOST_CHOICES = 12  # of a column of texts: beyond, it is a remark or a date

Cells: TypeAlias = list[tuple[int, str]]  # of a column, with the line each stands on


@dataclass(frozen=True)
class _Data:
    """Points in the unit cube, their values, and their excesses over limits.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    space : Space
    level : float or None
        With limits, the best value that satisfies them all, at which decisions are taken.
    excesses : list of (str, array of shape (n,))
        With the text of each limit.
    """

    X: FloatArray
    y: FloatArray
    space: Space
    level: float | None = None
    excesses: list[tuple[str, FloatArray]] = field(default_factory=list)


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp diagnose``."""
    from tcgp.methods.fit import fit_model
    from tcgp.scoring import diagnose, diagnose_limit

    if Path(options.data).is_dir() or options.data.endswith(".toml"):
        options.data = str(find_journal(options.data))
    if options.plot is not None:
        check_replaceable(options.plot, "the picture", is_picture, force=options.force)
    is_run = _is_journal(options.data) and options.method is None and options.delta is None
    if options.output is not None and (options.plot is None or not is_run):
        raise UsageError("--output needs --plot and a spec or journal: it names the output to draw")
    if is_run:
        return _diagnose_run(options)
    data = _data_of_journal(options) if _is_journal(options.data) else _data_of_csv(options)
    method = options.method or "tcgp"
    settings = {} if options.delta is None else {"delta": options.delta}
    box = [(0.0, 1.0)] * data.X.shape[1]
    try:
        model = fit_model(data.X, data.y, method, bounds=box, rng=0, level=data.level, **settings)
        limits = [
            (text, fit_model(data.X, excess, method, bounds=box, rng=0, level=0.0, **settings))
            for text, excess in data.excesses
        ]
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    print(diagnose(model))
    for text, limit in limits:
        show(f"{text}: {diagnose_limit(limit)}")
    if _is_journal(options.data):
        show(f"This is {method} with the options given here; the report judges the model that the run uses.")
    for line in _importance(model, data.space):
        show(line)
    if options.plot is not None:
        _draw(model, options.plot)
    return DONE


def _diagnose_run(options: argparse.Namespace) -> int:
    """The diagnosis of the model that a run uses: the one that its report shows."""
    _data_of_journal(options)  # says what is wrong with it
    model, lines = describe_run(options.data, options.rank)
    for line in lines:
        show(line)
    if options.output is not None:
        _draw_dependence(options.data, options.output, options.plot)
    elif options.plot is not None:
        _draw(model, options.plot)
    return DONE


def describe_run(journal: str | os.PathLike[str], rank: str = "both") -> tuple[Model, list[str]]:
    """The model that a run uses, and its diagnosis; parameters by their importance for the objective or the limits."""
    from tcgp.optimizer import Optimizer
    from tcgp.optimizer.outlook import Outlook
    from tcgp.report.data import current_model
    from tcgp.scoring import diagnose, diagnose_limit

    optimizer, model = current_model(Optimizer.read(journal))
    if model is None:
        raise UsageError("at least two runs with different values are needed")
    limits = [
        f"{quantity.text}: {diagnose_limit(surrogate.last.model)}"
        for quantity, surrogate in zip(optimizer.history.goals.quantities, optimizer.surrogates, strict=True)
        if quantity.is_limit and surrogate.last is not None
    ]
    try:
        found = Outlook(optimizer).sensitivities(rank)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if optimizer.history.output_names:
        importance = [
            "Importance of the parameters for each output, and for the probability of satisfying all limits (Sobol' "
            "indices):",
            *str(found).splitlines(),
        ]
    else:
        (only,) = found.of.values()
        importance = [OF_MEAN, *str(only).splitlines()]
    return model, [*str(diagnose(model)).splitlines(), *limits, *importance]


def _importance(model: Model, space: Space) -> list[str]:
    """Which parameters matter, by the model's mean."""
    from tcgp.scoring import sensitivity

    return [
        OF_MEAN,
        *str(sensitivity(model.over(space))).splitlines(),
    ]


def _draw_dependence(journal: str, output: str, path: str) -> None:
    """How an output of a run depends on the parameters."""
    _check_can_draw()
    from tcgp.optimizer import Optimizer
    from tcgp.plotting import plot_partial_dependence

    try:
        save(plot_partial_dependence(Optimizer.read(journal).result(), output=output), path)
    except ValueError as error:
        raise UsageError(str(error)) from None
    show(f"picture: {relative(path)}")


def _check_can_draw() -> None:
    if not can_draw():
        raise UsageError("--plot needs matplotlib: pip install matplotlib")


def _draw(model: Model, path: str) -> None:
    """Leave-one-out predictions, and the distribution of the PIT over all data and below the threshold."""
    _check_can_draw()
    from tcgp import plotting

    figure = new_figure(13.0, 4.2)
    left, middle, right = figure.subplots(1, 3)
    plotting.plot_leave_one_out(model, ax=left)
    plotting.plot_pit(model, ax=middle)
    plotting.plot_tpit(model, ax=right)
    save(figure, path)
    show(f"picture: {relative(path)}")


# ---- where the data come from ----


def _is_journal(path: str) -> bool:
    """Whether a file is a journal, or is named like one, so that damage is reported."""
    return is_journal(path) or path.endswith(".jsonl")


def _data_of_journal(options: argparse.Namespace) -> _Data:
    """The evaluations of a journal, in the unit cube where the optimizer models them."""
    if options.bounds or options.objective or options.ignore:
        raise UsageError(
            "a journal contains its bounds, parameters and values: these options are for CSV files"
        )
    history = read(options.data).history
    data, rows = history.data, history.data.distinct
    y, feasible = data.Y[rows, 0], data.feasible[rows]
    _check_number(len(y))
    if history.goals.maximize:
        note("the run maximizes: values are negated here, so that low ones are good")
    limits = zip(history.goals.limits, data.excesses[rows].T, strict=True)
    excesses = [(limit.text, excess) for limit, excess in limits if np.isfinite(excess).all()]
    return _Data(
        data.U[rows],
        y,
        history.space,
        float(y[feasible].min()) if excesses and feasible.any() else None,
        excesses,
    )


def _data_of_csv(options: argparse.Namespace) -> _Data:
    table = read_table(options.data)
    header, rows = table.header, table.rows
    others = bookkeeping(header)
    of_campaign = header[0] == others["id"] and all(
        others[n] in header for n in ("feasible", "reason", "seconds")
    )
    objective = options.objective or (column_of("value", header) if of_campaign else header[-1])
    if of_campaign and options.objective is None and objective not in header:
        raise UsageError(
            f"{options.data!r} has outputs: name one with --objective and the others with --ignore, or give the journal"
        )
    for name in [objective, *options.ignore]:
        if name not in header:
            raise UsageError(f"{options.data!r} has no column {name!r}; there are {', '.join(header)}")
    ignored = {objective, *options.ignore, *(others.values() if of_campaign else ())}
    names = [name for name in header if name not in ignored]
    if not names:
        raise UsageError(f"{options.data!r} needs a column for each parameter, besides {objective!r}")
    kept = [(line, row) for line, row in rows if not is_missing(row[header.index(objective)])]
    if len(kept) < len(rows):
        note(f"rows without a value, left out: {len(rows) - len(kept)}")
    _check_number(len(kept))
    columns = {name: [(line, row[i]) for line, row in kept] for i, name in enumerate(header)}
    y = np.array(_numbers(options.data, objective, columns[objective]))
    space, points = _space(
        {name: _parameter(options.data, name, columns[name]) for name in names}, options.bounds
    )
    _check_exact(options.data, [line for line, _ in kept], points, y)
    return _Data(space.encode(points), y, space)


def _check_exact(path: str, lines: Sequence[int], points: Sequence[Point], y: FloatArray) -> None:
    """Refuse a table that has two values for one point."""
    known: dict[tuple[Any, ...], tuple[int, float]] = {}
    for line, point, value in zip(lines, points, y.tolist(), strict=True):
        first, before = known.setdefault(tuple(point), (line, value))
        if value != before:
            raise UsageError(
                f"lines {first} and {line} of {path!r} have the same parameters and the values {before!r} and "
                f"{value!r}: keep one of them, or their mean"
            )


def _parameter(path: str, name: str, cells: Cells) -> list[Any]:
    """A column as numbers or, where no cell is one, as choices."""
    texts = [text.strip() for _, text in cells]
    if any(number(text) is not None or not text for text in texts):
        return list(_numbers(path, name, cells))
    if len(set(texts)) > MOST_CHOICES:
        raise UsageError(
            f"column {name!r} of {path!r} has {len(set(texts))} different texts, too many for a choice; "
            "leave it out with --ignore"
        )
    return texts


def _space(columns: dict[str, list[Any]], given: Sequence[str]) -> tuple[Space, list[Point]]:
    """The box of the data, or that which was given, and the points in it."""
    bounds = dict(_parse_bounds(text) for text in given)
    for name in bounds:
        if name not in columns:
            raise UsageError(f"--bounds {name}: there is no such parameter, only {', '.join(columns)}")
    dimensions: dict[str, Dimension] = {}
    for name, values in columns.items():
        if len(set(values)) == 1:
            note(f"the parameter {name!r} never varies and is left out")
        elif isinstance(values[0], str):
            dimensions[name] = Categorical(sorted(set(values)))
        else:
            dimensions[name] = _real(name, values, bounds.get(name))
    if not dimensions:
        raise UsageError("all rows have the same parameters, so there is nothing to compare")
    guessed = [name for name in dimensions if name not in bounds and isinstance(dimensions[name], Real)]
    if guessed:
        note(f"the box is the range of the data for {', '.join(guessed)}; give it with --bounds")
    return Space(dimensions), [list(point) for point in zip(*(columns[n] for n in dimensions), strict=True)]


def _real(name: str, values: Sequence[float], bounds: Real | None) -> Real:
    if bounds is None:
        return Real(min(values), max(values))
    if min(values) < bounds.low or max(values) > bounds.high:
        raise UsageError(
            f"--bounds {name}: the data range from {min(values):g} to {max(values):g}, beyond these bounds"
        )
    return bounds


def _numbers(path: str, column: str, cells: Cells) -> list[float]:
    return [_finite(path, line, column, text) for line, text in cells]


def _finite(path: str, line: int, column: str, text: str) -> float:
    value = number(text)
    if value is None or not math.isfinite(value):
        raise UsageError(
            f"line {line}, column {column!r} of {path!r} is not a finite number: {text.strip()[:40]!r}; "
            "fix it, or leave the column out with --ignore"
        )
    return value


def _check_number(n: int) -> None:
    if n < LEAST_ROWS:
        raise UsageError(f"at least {LEAST_ROWS} runs with a value are needed, there are {n}")


def _parse_bounds(text: str) -> tuple[str, Real]:
    name, _, interval = text.rpartition("=")
    low, high, *scale = interval.split(":") if interval.count(":") in (1, 2) else ("", "")
    numbers = number(low), number(high)
    if (
        not name
        or numbers[0] is None
        or numbers[1] is None
        or not numbers[0] < numbers[1]
        or scale not in ([], ["log"])
    ):
        raise UsageError(f"--bounds takes NAME=LOW:HIGH or NAME=LOW:HIGH:log with LOW < HIGH, got {text!r}")
    try:
        return name, Real(numbers[0], numbers[1], log=bool(scale))
    except ValueError as error:
        raise UsageError(f"--bounds {name}: {error}") from None
