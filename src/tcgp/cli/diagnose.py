"""``tcgp diagnose``: is a Gaussian process overconfident about low values on these data?"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import FloatArray
from tcgp.cli.campaigns import read_campaign
from tcgp.cli.console import DONE, UsageError, note, relative

if TYPE_CHECKING:
    from tcgp.models import Model

__all__ = ["run"]

LEAST_ROWS = 3
MISSING = ("", "nan", "na", "none", "null", "inf", "-inf", "failed")


@dataclass(frozen=True)
class _Data:
    """Points (n, d), their values (n,), and the box (d, 2)."""

    X: FloatArray
    y: FloatArray
    bounds: FloatArray


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp diagnose``."""
    from tcgp.models import fit_model
    from tcgp.scoring import diagnose

    data = _data_of_journal(options) if _is_journal(options.data) else _data_of_csv(options)
    settings = {} if options.delta is None else {"delta": options.delta}
    try:
        model = fit_model(data.X, data.y, options.method, bounds=data.bounds, rng=0, **settings)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    print(diagnose(model))
    if options.plot is not None:
        _draw(model, options.plot)
    return DONE


def _draw(model: Model, path: str) -> None:
    """Leave-one-out predictions, and the distribution of the PIT over all data and below the threshold."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'tcgp[plot]'") from None
    from tcgp import plotting

    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plotting.plot_leave_one_out(model, ax=left)
    plotting.plot_pit(model, ax=middle)
    plotting.plot_tpit(model, ax=right)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"the picture {path!r} cannot be written: {error}") from None
    print(f"picture: {relative(path)}")


# ---- where the data come from ----


def _is_journal(path: str) -> bool:
    return path.endswith(".jsonl")


def _data_of_journal(options: argparse.Namespace) -> _Data:
    """The evaluations of a journal, in the unit cube where the optimizer models them."""
    if options.bounds or options.objective or options.ignore:
        raise UsageError(
            "a journal knows its bounds, its parameters and its values: these options are for CSV files"
        )
    campaign = read_campaign(options.data)
    done = [told.evaluation for told in campaign.told if not told.evaluation.failed]
    _check_number(len(done))
    X = campaign.space.encode([e.x for e in done])
    y = np.array([e.y for e in done], dtype=np.float64)
    return _Data(X, y, np.array([(0.0, 1.0)] * campaign.space.dim))


def _data_of_csv(options: argparse.Namespace) -> _Data:
    header, rows = _read_table(options.data)
    objective = header[-1] if options.objective is None else options.objective
    for name in [objective, *options.ignore]:
        if name not in header:
            raise UsageError(f"{options.data!r} has no column {name!r}; there are {', '.join(header)}")
    names = [name for name in header if name != objective and name not in options.ignore]
    if not names:
        raise UsageError(f"{options.data!r} needs a column for each parameter beside {objective!r}")
    points, values, n_missing = [], [], 0
    for number, row in rows:
        cells = dict(zip(header, row, strict=True))
        if cells[objective].strip().lower() in MISSING:
            n_missing += 1
            continue
        values.append(_cell(options.data, number, objective, cells[objective]))
        points.append([_cell(options.data, number, name, cells[name]) for name in names])
    if n_missing:
        note(f"{n_missing} rows without a value are left out")
    _check_number(len(values))
    X, y = np.array(points), np.array(values)
    names, X = _without_constant_columns(names, X)
    return _Data(X, y, _box(names, X, options.bounds))


def _read_table(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and rows with the line each stands on."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path!r} is not a CSV file: {error}") from None
    if not lines:
        raise UsageError(f"{path!r} is empty: a header and one row per run are needed")
    header = [cell.strip() for cell in lines[0][1]]
    _check_header(path, header)
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise UsageError(
                f"line {number} of {path!r} has {len(row)} cells, and the header has {len(header)}"
            )
    return header, lines[1:]


def _check_header(path: str, header: Sequence[str]) -> None:
    if all(_number(cell) is not None for cell in header):
        raise UsageError(f"{path!r} has no header: its first line must name the columns")
    if len(header) == 1:
        raise UsageError(f"{path!r} has one column only; the cells must be separated by commas")
    for i, name in enumerate(header):
        if not name or name in header[:i]:
            raise UsageError(f"column {i + 1} of {path!r} needs a name of its own, got {name!r}")


def _cell(path: str, line: int, column: str, text: str) -> float:
    value = _number(text)
    if value is None or not math.isfinite(value):
        raise UsageError(
            f"line {line}, column {column!r} of {path!r} is not a finite number: {text.strip()[:40]!r}; "
            "leave a column out with --ignore"
        )
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_number(n: int) -> None:
    if n < LEAST_ROWS:
        raise UsageError(f"at least {LEAST_ROWS} runs with a value are needed, there are {n}")


def _without_constant_columns(names: list[str], X: FloatArray) -> tuple[list[str], FloatArray]:
    """Leave out parameters that never vary: nothing can be learned about them."""
    varies = np.ptp(X, axis=0) > 0.0
    if not varies.any():
        raise UsageError("all rows have the same parameters: there is nothing to compare")
    for name in np.array(names)[~varies]:
        note(f"the parameter {str(name)!r} never varies and is left out")
    return [name for name, keep in zip(names, varies, strict=True) if keep], X[:, varies]


def _box(names: list[str], X: FloatArray, given: Sequence[str]) -> FloatArray:
    """Bounds (d, 2): those given, and the range of the data for the others."""
    bounds = np.stack([X.min(axis=0), X.max(axis=0)], axis=1)
    rest = list(names)
    for text in given:
        name, low, high = _parse_bounds(text)
        if name not in names:
            raise UsageError(f"--bounds {text}: there is no parameter {name!r}, only {', '.join(names)}")
        i = names.index(name)
        if not (low <= bounds[i, 0] and bounds[i, 1] <= high):
            raise UsageError(
                f"--bounds {text}: the data go from {bounds[i, 0]:g} to {bounds[i, 1]:g}, beyond these bounds"
            )
        bounds[i] = low, high
        rest.remove(name)
    if rest:
        note(f"the box is taken from the range of the data for {', '.join(rest)}; give it with --bounds")
    return bounds


def _parse_bounds(text: str) -> tuple[str, float, float]:
    name, _, interval = text.rpartition("=")
    low, _, high = interval.partition(":")
    numbers = _number(low), _number(high)
    if not name or numbers[0] is None or numbers[1] is None or not numbers[0] < numbers[1]:
        raise UsageError(f"--bounds takes NAME=LOW:HIGH with LOW < HIGH, got {text!r}")
    return name, numbers[0], numbers[1]
