"""Users' tables of runs: CSV files with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tcgp._files import read_regular
from tcgp.cli.console import UsageError
from tcgp.goals import parameter_names
from tcgp.programs.numerals import parse_number
from tcgp.running.arguments import point_of_row
from tcgp.space import Categorical, Dimension, Space

__all__ = [
    "Table",
    "bookkeeping",
    "column_of",
    "is_missing",
    "number",
    "parse_cell",
    "points_of_table",
    "read_table",
    "read_usable_rows",
]

LARGEST_TABLE = 1 << 28  # bytes
MISSING = ("", "na", "n/a", "nan", "none", "null", "failed")
BOOKKEEPING = ("id", "status", "feasible", "reason", "seconds")  # columns of tcgp status that are no data
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Table:
    """A table with a header.

    Attributes
    ----------
    path : str
        As the user wrote it.
    header : list of str
    rows : list of (int, list of str)
        Cells, with the line of the file that they stand on.
    uneven : list of (int, str)
        Rows that have more or fewer cells than the header: their line, and what is wrong in words.
    """

    path: str
    header: list[str]
    rows: list[tuple[int, list[str]]]
    uneven: list[tuple[int, str]] = field(default_factory=list)

    def cell(self, row: Sequence[str], column: str) -> str:
        """The cell of a row in a column."""
        return row[self.header.index(column)].strip()


def read_table(path: str) -> Table:
    """Read a CSV file whose cells are separated by commas, semicolons or tabs.

    With semicolons or tabs a decimal comma is understood, if no number of the file has a decimal point.
    """
    table = read_usable_rows(path)
    for line, trouble in table.uneven:
        raise UsageError(f"line {line} of {path!r} {trouble}")
    return table


def read_usable_rows(path: str) -> Table:
    """Read a CSV file as `read_table` does, and set rows aside that have more or fewer cells than the header."""
    file = io.StringIO(_read(path), newline="")
    delimiter = _delimiter(file.readline())
    file.seek(0)
    reader = csv.reader(file, delimiter=delimiter)
    try:
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise UsageError(f"{path!r} is not a CSV file: {error}") from None
    if not lines:
        raise UsageError(f"{path!r} is empty: a header and one row per run are needed")
    header = [cell.strip() for cell in lines[0][1]]
    _check_header(path, header)
    rows = [(line, row) for line, row in lines[1:] if len(row) == len(header)]
    uneven = [
        (line, f"has {len(row)} cells, and the header has {len(header)}")
        for line, row in lines[1:]
        if len(row) != len(header)
    ]
    return Table(path, header, rows if delimiter == "," else _with_points(rows), uneven)


def _read(path: str) -> str:
    try:
        text = read_regular(path, LARGEST_TABLE).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path!r} is not a text file in UTF-8; save it as UTF-8") from None
    if "\0" in text:  # half of the bytes of UTF-16 are zeros
        raise UsageError(f"{path!r} contains zero bytes and is not a text file in UTF-8; save it as UTF-8")
    return text


def _delimiter(header: str) -> str:
    """The separator of the cells of a header: the most frequent one outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t", key=bare.count)


def _with_points(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The rows with decimal points for decimal commas, unless points are used as well."""
    cells = [cell.strip() for _, row in rows for cell in row]
    if any("." in cell and number(cell) is not None for cell in cells):
        return rows
    return [
        (line, [c.replace(",", ".") if DECIMAL_COMMA.fullmatch(c.strip()) else c for c in row])
        for line, row in rows
    ]


def _check_header(path: str, header: Sequence[str]) -> None:
    if all(number(cell) is not None for cell in header):
        raise UsageError(f"{path!r} has no header: its first line must name the columns")
    if len(header) == 1:
        raise UsageError(
            f"{path!r} has one column only; the cells must be separated by commas, semicolons or tabs"
        )
    for i, name in enumerate(header):
        if not name or name in header[:i]:
            raise UsageError(f"column {i + 1} of {path!r} needs a name of its own, got {name!r}")


def column_of(name: str, header: Collection[str], taken: Collection[str | None] = ()) -> str:
    """What tcgp status calls a column: if a parameter or an output has its name, it gets a line below.

    Examples
    --------
    >>> from tcgp.cli.tables import column_of
    >>> column_of("seconds", ["id", "seconds", "value", "seconds_"]), column_of("id", ["id", "value"])
    ('seconds_', 'id')
    """
    while name in taken or f"{name}_" in header:
        name += "_"
    return name


def bookkeeping(header: Collection[str], taken: Collection[str | None] = ()) -> dict[str, str]:
    """The columns of tcgp status that are not data."""
    return {name: column_of(name, header, taken) for name in BOOKKEEPING}


def is_missing(text: str) -> bool:
    """Whether a cell stands for no value."""
    value = number(text)
    return text.strip().lower() in MISSING or (value is not None and not math.isfinite(value))


def number(text: str) -> float | None:
    """The number in a cell; None if it is not a number or is ambiguous, such as ``1_5``."""
    try:
        return parse_number(text.strip())
    except ValueError:
        return None


def parse_cell(dimension: Dimension, text: str) -> Any:
    """The value of a parameter in a cell: a choice by its name, or a number; checked later, with its column named."""
    text = text.strip()
    if isinstance(dimension, Categorical):
        named = {str(choice): choice for choice in dimension.choices}
        lowered = {
            str(choice).lower(): choice for choice in dimension.choices if isinstance(choice, bool | None)
        }
        if text in named or text.lower() in lowered:
            return named.get(text, lowered.get(text.lower()))
    value = number(text)
    return text if value is None else value


def points_of_table(space: Space, table: Table) -> list[Any]:
    """The points of a CSV file, a row each."""
    parameters = dict(zip(parameter_names(space), space.dimensions, strict=True))
    points = []
    for line, row in table.rows:
        cells = {n: parse_cell(d, table.cell(row, n)) for n, d in parameters.items() if n in table.header}
        try:
            points.append(point_of_row(space, cells))
        except ValueError as error:
            raise UsageError(f"line {line} of {table.path!r}: {error}") from None
    return points
