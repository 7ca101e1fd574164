"""The journal of a run: an append-only file of JSON lines that survives a crash at any moment.

The first line is a header that says what is optimized and how; each further line is one event: an ``ask``, a
``tell``, or a ``correct`` that takes the place of a ``tell``. Every line is written at once and synced to disk
before the run goes on, so that a crash costs at most the line being written. That torn line has no line end, or zero
bytes in it. It is moved to a file of its own when the journal is opened again; any other damage is refused.
"""

from __future__ import annotations

import codecs
import json
import logging
import math
import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcgp._files import read_regular
from tcgp._text import plain
from tcgp.record.file import GuardedFile, JournalError, JournalInUse, JournalRescued

__all__ = [
    "FORMAT",
    "VERSION",
    "DetachedJournal",
    "Journal",
    "JournalError",
    "JournalInUse",
    "JournalRescued",
    "Record",
    "check_path",
    "held_back",
    "is_journal",
    "read_journal",
    "uninterrupted",
]

FORMAT = "tcgp-journal"
LARGEST = 1 << 32  # bytes of a journal that is read
VERSION = 1

# With the spaces that whoever reformats JSON may leave out.
_BEGINNING = re.compile(rb"(?:%b)?" % codecs.BOM_UTF8 + rb'\s*\{\s*"format"\s*:\s*"tcgp-journal"')

_INTERRUPTS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

logger = logging.getLogger("tcgp")


@dataclass(frozen=True)
class Record:
    """The contents of a journal: its header, and its events with their line numbers."""

    header: dict[str, Any]
    events: list[tuple[int, dict[str, Any]]]


class Journal:
    """An open journal, locked against other processes.

    A journal opened a second time in the same process passes to the one who opened it last. A journal that someone
    else changes goes on in a rescue file next to it, itself a journal: see ``GuardedFile``.

    Parameters
    ----------
    path : str or os.PathLike
        The file; created if it does not exist. It is empty, or a journal.

    Attributes
    ----------
    record : Record or None
        What was in the file when it was opened; None if it was new or empty, and the first line to append is
        then the header.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from tcgp.record.journal import Journal, read_journal
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> with Journal(path) as journal:
    ...     journal.start({"space": {}})
    ...     journal.append({"event": "tell", "x": [0.1], "y": 2.5})
    >>> read_journal(path).events
    [(2, {'event': 'tell', 'x': [0.1], 'y': 2.5})]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = GuardedFile(check_path("journal", path))
        try:
            self.record = self._read_and_repair()
        except BaseException:
            self._file.close()
            raise

    @property
    def path(self) -> Path:
        """The file, or the rescue file that has taken its place."""
        return self._file.path

    def start(self, header: Mapping[str, Any]) -> None:
        """Write the first line of a new journal: format and version, then ``header``."""
        self.append({"format": FORMAT, "version": VERSION, **header})
        self._file.sync_name()

    def append(self, *events: Mapping[str, Any]) -> None:
        """Write one line for each event and sync them to disk: all or, on failure, none.

        Raises
        ------
        OSError
            If they cannot be written, as on a full disk. The events did not happen: the run can go on from here
            once there is space, or be resumed.
        JournalRescued
            If the file was changed by someone else. The events are in the rescue file, with all before them.
        """
        lines = [json.dumps(event, allow_nan=False) + "\n" for event in events]
        self._file.append("".join(lines).encode())

    def check_open(self) -> None:
        """Refuse, with a JournalError, if the journal was closed or taken over."""
        self._file.check_open()

    def hold(self) -> None:
        """Let nobody else in this process open the journal, until it is closed."""
        self._file.is_at_work = True

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy would share the descriptor, and close it under the original when it dies: it gets none."""
        return DetachedJournal, (self.path,)

    def _read_and_repair(self) -> Record | None:
        raw = self._file.content
        record, n_sound = _parse(raw, self.path)
        if n_sound < len(raw):
            torn = raw[n_sound:]
            place = self._file.cut(n_sound)
            kept = "dropped" if place is None else f"moved to {str(place)!r}"
            logger.warning(
                "the last line of the journal %s was torn by a crash and is %s: %r",
                self.path,
                kept,
                torn[:80],
            )
        elif raw and not raw.endswith(b"\n"):
            self._file.append(b"\n")
        return record


class DetachedJournal:
    """What a copy of an open journal is: a name, and no file.

    Parameters
    ----------
    path : pathlib.Path
        The journal of the original.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_open(self) -> None:
        """Refuse."""
        raise JournalError(
            f"this is a copy, and the journal {str(self.path)!r} stays with the original: ask and tell there, or "
            "continue the journal with tcgp.Optimizer.resume"
        )

    def append(self, *events: Mapping[str, Any]) -> None:
        """Refuse."""
        self.check_open()

    def hold(self) -> None:
        """Refuse."""
        self.check_open()

    def close(self) -> None:
        """Do nothing."""


def check_path(name: str, path: object) -> str | os.PathLike[str]:
    """Refuse anything but the name of a file: an integer would be taken for a descriptor."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the name of a file, got {plain(path)}")
    return path


def read_journal(path: str | os.PathLike[str]) -> Record:
    """Read a journal without opening it for writing; a torn last line is passed over.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    Record
    """
    record, _ = _parse(read_regular(check_path("journal", path), LARGEST), Path(path))
    if record is None:
        raise JournalError(f"the journal {str(path)!r} is empty")
    return record


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a journal; False if it is not a file or cannot be read."""
    if not os.path.isfile(path):  # to look into a pipe would take from it
        return False
    try:
        with open(path, "rb") as file:
            return _BEGINNING.match(file.read(256)) is not None
    except OSError:
        return False


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C, and signals treated like it, until the block is done or has failed.

    An event is written to disk and then noted in memory. An interrupt in between would leave two histories, and a
    run that goes on with one of them would spoil the other.
    """
    received: list[tuple[int, Any]] = []
    handlers = {number: signal.getsignal(number) for number in _INTERRUPTS}
    try:
        with held_back(received):
            yield
    finally:
        _deliver(received, handlers)


@contextmanager
def held_back(received: list[tuple[int, Any]]) -> Iterator[None]:
    """Note what would interrupt the block, and do no more about it."""
    if threading.current_thread() is not threading.main_thread():  # the only one that interrupts reach
        yield
        return
    before: dict[int, Any] = {}
    try:
        for number in _INTERRUPTS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda *call: received.append(call))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _deliver(received: list[tuple[int, Any]], handlers: Mapping[int, Any]) -> None:
    """Deliver the delayed interrupts; of several, the most specific exception is raised."""
    errors = []
    for number, frame in received:
        try:
            handlers[number](number, frame)
        except BaseException as error:
            errors.append(error)
    if errors:
        raise max(errors, key=lambda error: len(type(error).__mro__))


def _parse(raw: bytes, path: Path) -> tuple[Record | None, int]:
    """The record in ``raw``, and the number of bytes before a torn last line."""
    lines = raw.splitlines(keepends=True)
    parsed: list[tuple[int, dict[str, Any]]] = []
    n_sound = 0
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line  # an editor may have put it there
        if not text.strip() and number > 1:
            n_sound += len(line)
            continue
        item = _loads(text)
        if item is None:
            if number == len(lines) and _is_torn(line) and (number > 1 or _is_torn_header(text)):
                break
            if number == 1 and _BEGINNING.match(text) is None:
                raise JournalError(f"{str(path)!r} is not a tcgp journal: choose another file")
            raise JournalError(
                f"the journal {str(path)!r} is damaged: line {number} is not a JSON object; "
                "correct it, restore the file from a backup, or delete that line and those after it"
            )
        parsed.append((number, item))
        n_sound += len(line)
    if not parsed:
        return None, n_sound
    (_, header), *events = parsed
    if header.get("format") != FORMAT:
        raise JournalError(f"{str(path)!r} is not a tcgp journal: choose another file")
    if header.get("version") != VERSION:
        raise JournalError(
            f"the journal {str(path)!r} has version {header.get('version')!r}, "
            f"and this tcgp reads version {VERSION}; install the tcgp that wrote it"
        )
    return Record(header, events), n_sound


def _loads(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None."""
    try:
        item = json.loads(line.decode(), parse_constant=_refuse_constant, parse_int=_integer)
    except (ValueError, RecursionError):  # a hostile line may be nested too deep
        return None
    return item if isinstance(item, dict) else None


def _integer(text: str) -> int:
    """An integer that is no larger than floats can be."""
    if len(text) > 308 and not math.isfinite(float(text)):
        raise ValueError(text)
    return int(text)


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(name)


def _is_torn(line: bytes) -> bool:
    """Whether a broken line was left by a crash: it has no end, or zeros written by the file system."""
    return not line.endswith((b"\n", b"\r")) or b"\0" in line


def _is_torn_header(line: bytes) -> bool:
    """Whether a sole broken line is the start of a header, and not some other file given by mistake."""
    opening = json.dumps({"format": FORMAT}).encode()[:-1]
    return line.startswith(opening) or opening.startswith(line)
