"""Location of the value or the outputs of a run."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcgp._text import plain, printable, quote, shorten
from tcgp.goals import NOT_FINITE, read_outputs
from tcgp.programs.numerals import last_number, parse_number
from tcgp.programs.output import last_line, parse_json, read_tail

__all__ = ["OUTCOME", "STDOUT", "Objective", "RunFailed", "RunLost", "outputs_of_run"]

STDOUT, OUTCOME = "stdout.txt", "outcome.json"


class RunFailed(RuntimeError):
    """A run has no value; the message contains the reason."""


class RunLost(RuntimeError):
    """What a run has written cannot be believed, for no fault of its own; it is made again."""


@dataclass(frozen=True)
class Objective:
    """Location of the value of a run.

    The default is the last number on the last nonempty line of standard output.

    Parameters
    ----------
    file : str, optional
        File in the run's directory to read instead of standard output.
    pattern : str, optional
        Regular expression; the value is the last match, or its first group if there are groups.
    key : str, optional
        Key in a JSON object, which is the whole output or its last line; dots separate the keys of nested objects.

    Notes
    -----
    A number consists of digits, a decimal point and an exponent with the letter e, d or (with a sign) q. It may be
    enclosed in brackets or quotation marks, and followed by a space and a unit. Numbers next to other characters are
    rejected, because they are ambiguous: ``1,5``, ``1'000.5``, ``12 345.6``, ``12:30``, ``10ms``, ``0.1234-102``. NaN
    and infinity in all spellings, Fortran's asterisks, ``NA``, ``None`` and ``null`` are failures. Only the last four
    megabytes of an output are read, and the last 10,000 characters of its last line.

    Examples
    --------
    >>> from tcgp.programs import Objective
    >>> Objective().value("step 1\\ncost: 2.5e-3\\n")
    0.0025
    >>> Objective(pattern=r"drag=(\\S+)").value("drag=0.31 lift=2")
    0.31
    >>> Objective(key="loss.total").value('{"loss": {"total": 7}}')
    7.0
    """

    file: str | None = None
    pattern: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None and self.key is not None:
            raise ValueError("a value has a pattern or a key, not both")
        if self.file is not None:
            _check_inside(self.file)
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(f"{_as_typed(self.pattern)} is not a regular expression: {error}") from None

    @property
    def where(self) -> str:
        """Description of the source: standard output or a file."""
        return "standard output" if self.file is None else f"the file {self.file!r}"

    @property
    def described(self) -> str:
        """Description of the location of the value."""
        if self.key is not None:
            return f"the key {self.key!r} of the JSON object in {self.where}"
        if self.pattern is not None:
            return f"the last match of {_as_typed(self.pattern)} in {self.where}"
        return f"the last number on the last line of {self.where}"

    def read(self, directory: Path) -> float:
        """Return the value of the run in ``directory``; raise RunFailed if there is none."""
        return self.value(self.text(directory))

    def text(self, directory: Path) -> str:
        """Return the text that contains the value; raise RunFailed if it cannot be read."""
        path = directory / (self.file or STDOUT)
        try:
            if not path.is_file():
                missing = (
                    f"deleted its standard output, {STDOUT!r}"
                    if self.file is None
                    else f"wrote no file {self.file!r}"
                )
                raise RunFailed(f"the program {missing}")
            if not path.resolve().is_relative_to(directory.resolve()):
                raise RunFailed(f"{self.where} leads out of the run's directory")
            return read_tail(path)
        except OSError as error:  # also if the directory may not be searched, or the name is too long
            raise RunFailed(f"{self.where} cannot be read: {error.strerror}") from None

    def value(self, text: str) -> float:
        """Return the value in a text; raise RunFailed if there is none."""
        if not text.strip():
            raise RunFailed(f"{self.where} is empty")
        if self.key is not None:
            value = self._number_at_key(text, self.key)
        elif self.pattern is not None:
            value = self._number_of_match(text, self.pattern)
        else:
            value = self._number_on_last_line(text)
        if not math.isfinite(value):
            raise RunFailed(f"{NOT_FINITE}{value}")
        return value

    def _number_on_last_line(self, text: str) -> float:
        line = last_line(text)
        shown = quote(line if len(line) <= 200 else f"...{line[-190:]}")  # the end matters
        try:
            number = last_number(line)
        except ValueError as error:
            raise RunFailed(f"{error}, in the last line of {self.where}: {shown}") from None
        if number is None:
            raise RunFailed(f"the last line of {self.where} has no number: {shown}")
        return number

    def _number_of_match(self, text: str, pattern: str) -> float:
        match = None
        lines = text.replace("\r\n", "\n")  # at Windows' line ends, $ would match nothing
        for match in re.finditer(pattern, lines, re.MULTILINE):  # noqa: B007  (the last one counts)
            pass
        if match is None:
            raise RunFailed(f"{self.where} has nothing that matches the pattern {_as_typed(pattern)}")
        found = match.group(1 if match.re.groups else 0) or ""
        try:
            return parse_number(found.strip())
        except ValueError as error:
            raise RunFailed(f"the pattern found no number: {error}") from None

    def json_object(self, text: str) -> dict[str, Any]:
        """Parse the text, or its last line, as a JSON object; raise RunFailed if that fails."""
        for part in (text, last_line(text)):
            content = parse_json(part)
            if isinstance(content, dict):
                return content
        raise RunFailed(f"{self.where} is not a JSON object: {quote(last_line(text))}")

    def _number_at_key(self, text: str, key: str) -> float:
        content = self.json_object(text)
        found: object = content
        for part in [key] if key in content else key.split("."):
            if not isinstance(found, dict) or part not in found:
                close = difflib.get_close_matches(key, list(_keys(content)), n=1)
                hint = f"; did you mean {quote(close[0])}?" if close else ""
                raise RunFailed(f"the JSON in {self.where} has no key {key!r}{hint}")
            found = found[part]
        if found is None:
            raise RunFailed("there is no value")
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise RunFailed(f"{printable(shorten(json.dumps(found), 200))} is not a number")
        try:
            return float(found)
        except OverflowError:
            return math.inf


def outputs_of_run(
    places: Mapping[str, Objective] | str, directory: Path
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return the outputs of the run in ``directory``, and the reasons why some of them are None.

    Parameters
    ----------
    places : mapping, or "json"
        Location of each output. With "json", the outputs are all numbers at the top level of a JSON object, which is
        the whole standard output or its last line.
    directory : pathlib.Path

    Raises
    ------
    RunFailed
        If there is no JSON object.
    """
    if isinstance(places, str):
        stdout = Objective()
        content = stdout.json_object(stdout.text(directory))
        return read_outputs({name: v for name, v in content.items() if _is_number_or_null(v)})
    values: dict[str, float | None] = {}
    reasons = {}
    for name, place in places.items():
        try:
            values[name] = place.read(directory)
        except RunFailed as error:
            values[name], reasons[name] = None, str(error)
    return values, reasons


def _keys(content: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the keys of all numbers in a JSON object, with dots for nested objects."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{name}.")
        elif _is_number_or_null(value):
            yield prefix + name


def _as_typed(pattern: str) -> str:
    """A pattern in quotation marks, without a second backslash for each that it has."""
    return f"'{printable(pattern)}'"


def _is_number_or_null(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _check_inside(file: str) -> None:
    """Raise an error for a file outside the run's directory."""
    path = Path(file)
    if not file or path.is_absolute() or ".." in path.parts or "\0" in file:
        raise ValueError(f"the file of a value must lie in the run's directory, got {plain(file)}")
    if path == Path(OUTCOME):  # a run that is read again, or adopted, would have no value any more
        raise ValueError(
            f"the file of a value must have another name than {OUTCOME!r}, which tcgp writes itself"
        )
