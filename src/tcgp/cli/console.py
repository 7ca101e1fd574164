"""Output and exit codes of the command."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from tcgp._text import printable

__all__ = [
    "DONE",
    "INTERRUPTED",
    "MAX_FAILURES_TOLD",
    "UNUSABLE",
    "WITHOUT_SUCCESS",
    "UsageError",
    "complain",
    "format_table",
    "note",
    "parse_duration",
    "prepare_streams",
    "relative",
    "show",
    "signals_interrupt",
    "warnings_on_stderr",
]

DONE, WITHOUT_SUCCESS, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

ERASE_LINE = "\r\x1b[K"  # a progress line may stand there
MAX_FAILURES_TOLD = 5  # while the search goes on; the summary has them all

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def prepare_streams() -> None:
    """Make standard streams usable that are closed, or whose encoding lacks characters."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the next file would get its number, and whatever a library prints
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class UsageError(Exception):
    """Something that the user can fix; the message is one sentence that says how."""


def show(line: str) -> None:
    """Print a line on standard output, without control characters from names and programs."""
    print(printable(line))


def complain(message: str) -> None:
    """Say on standard error why the command ends."""
    _say(f"tcgp: error: {message}")


def note(message: str) -> None:
    """Say on standard error what the user should know."""
    _say(f"tcgp: {message}")


def _say(line: str) -> None:
    # Names of files and what stands in them may hold line breaks and the codes of a terminal.
    line = printable(line)
    with contextlib.suppress(OSError):  # nobody reads it any more
        print((ERASE_LINE if sys.stderr.isatty() else "") + line, file=sys.stderr, flush=True)


class _StandardError(logging.Handler):
    """Warnings of the library, above the progress line. Only the first failed evaluations are reported."""

    def __init__(self, max_failures: int) -> None:
        super().__init__(logging.WARNING)
        self._n_failures, self._max_failures = 0, max_failures

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if hasattr(record, "failed_evaluation"):
            self._n_failures += 1
            if self._n_failures > self._max_failures:
                return
            if self._n_failures == self._max_failures:
                message += " (further failures are only counted until the end)"
        note(message)


@contextlib.contextmanager
def warnings_on_stderr(max_failures: int) -> Iterator[None]:
    """Show the library's warnings as lines of this command, those of failures up to a number."""
    logger, handler = logging.getLogger("tcgp"), _StandardError(max_failures)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


@contextlib.contextmanager
def signals_interrupt(exception: type[KeyboardInterrupt] = KeyboardInterrupt) -> Iterator[None]:
    """Treat the signals by which schedulers and terminals end a program like Ctrl-C, or as this kind of it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise exception(signal.Signals(number).name)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    for name in names:
        number = getattr(signal, name)
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP: leave that
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, the first one to the left and the others to the right.

    Examples
    --------
    >>> from tcgp.cli.console import format_table
    >>> print(format_table([["", "best"], ["GP", "12.5"]]))
        best
    GP  12.5
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def parse_duration(value: object) -> float:
    """Seconds, from a number or from text such as ``"90"``, ``"10m"``, ``"2h"`` or ``"1d"``.

    Examples
    --------
    >>> from tcgp.cli.console import parse_duration
    >>> parse_duration("1.5h")
    5400.0
    """
    text = str(value).strip()
    number, unit = (text[:-1], text[-1]) if text[-1:].isalpha() else (text, "")
    try:
        seconds = float(number) * SECONDS[unit]
    except (ValueError, KeyError):
        seconds = -1.0
    if isinstance(value, bool) or not 0.0 < seconds < float("inf"):
        raise ValueError(
            f"a time must be a positive number of seconds, or text such as '10m' or '2h', got {value!r}"
        )
    return seconds


def relative(path: str | os.PathLike[str]) -> str:
    """The shortest form of a path: relative to the current directory if that is shorter."""
    whole = os.path.abspath(path)
    short = os.path.relpath(whole)
    return whole if short.startswith("..") else short
