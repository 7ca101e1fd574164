"""The journal of a run: an append-only file of JSON lines that survives a crash at any moment.

The first line is a header that says what is optimized and how; each further line is one event, an ``ask`` or
a ``tell``. Every line is written at once and synced to disk before the run goes on, so that a crash costs at
most the line being written. That torn line is cut off when the file is opened again; any other damage is
refused.
"""

from __future__ import annotations

import codecs
import itertools
import json
import logging
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcgp._files import sync_directory

__all__ = [
    "FORMAT",
    "VERSION",
    "DetachedJournal",
    "Journal",
    "JournalError",
    "JournalInUse",
    "Record",
    "read_journal",
    "uninterrupted",
]

FORMAT = "tcgp-journal"
VERSION = 1

_INTERRUPTS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

logger = logging.getLogger("tcgp")


class JournalError(ValueError):
    """A journal that cannot be used: corrupt, of another problem, or in use elsewhere."""


class JournalInUse(JournalError):
    """A journal that another process has open."""


@dataclass(frozen=True)
class Record:
    """What a journal says: its header, and its events with the line each stands on."""

    header: dict[str, Any]
    events: list[tuple[int, dict[str, Any]]]


class Journal:
    """An open journal, locked against other processes.

    A journal opened a second time in the same process passes to the one who opened it last; the earlier
    object refuses to write. That makes a crashed notebook cell easy to run again.

    Before each line the file is looked at. If it was replaced, deleted, or changed by anyone else, nothing more is
    written to it: all that is known goes to a rescue file beside it, a journal in its own right.

    Parameters
    ----------
    path : str or os.PathLike
        The file; created if it does not exist. It is empty, or a journal.

    Attributes
    ----------
    path : pathlib.Path
    record : Record or None
        What was in the file when it was opened; None if it was new or empty, and the first line to append is
        then the header.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from tcgp.optimizer.journal import Journal, read_journal
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> with Journal(path) as journal:
    ...     journal.start({"space": {}})
    ...     journal.append({"event": "tell", "x": [0.1], "y": 2.5})
    >>> read_journal(path).events
    [(2, {'event': 'tell', 'x': [0.1], 'y': 2.5})]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._fd: int | None = _open(self.path)
        try:
            self._key = _identity(os.fstat(self._fd))
            _take_over(self._key)
            if not _lock(self._fd):
                raise JournalInUse(
                    f"the journal {str(self.path)!r} is in use by another process; "
                    "wait for it to end, or choose another file"
                )
            self.record = self._read_and_repair()
            self._content = bytearray(_read_all(self._fd))  # what the file must hold, to the byte
        except BaseException:
            self.close()
            raise
        _HELD[self._key] = self

    def start(self, header: Mapping[str, Any]) -> None:
        """Write the first line of a new journal: format and version, then ``header``."""
        self.append({"format": FORMAT, "version": VERSION, **header})
        sync_directory(self.path.parent)

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one line and sync it to disk; on failure leave the file as it was.

        Raises
        ------
        OSError
            If the line cannot be written, as on a full disk. The event did not happen: the run can go on from here
            once there is space, or be resumed.
        """
        if self._fd is None:
            raise JournalError(
                f"the journal {str(self.path)!r} is no longer open here: it was closed, or opened anew; "
                "continue it with tcgp.Optimizer.resume"
            )
        line = (json.dumps(event, allow_nan=False) + "\n").encode()
        self._check_untouched(line)
        try:
            _write_all(self._fd, line)
            os.fsync(self._fd)
        except OSError as error:
            self._cut()
            words = f"the journal cannot be written ({error.strerror}), and what it holds is safe"
            raise OSError(error.errno, words, str(self.path)) from error
        except BaseException:
            self._cut()
            raise
        self._content += line

    def _check_untouched(self, line: bytes) -> None:
        """Stop if the file is no longer the one that was written so far; keep everything, ``line`` too, elsewhere."""
        assert self._fd is not None
        try:
            same = _identity(os.stat(self.path)) == _identity(os.fstat(self._fd))
            trouble = "" if same else "was replaced by another file"
        except OSError:
            trouble = "was deleted or moved away"
        if not trouble and os.lseek(self._fd, 0, os.SEEK_END) != len(self._content):
            trouble = "was changed by someone else"
        if not trouble:
            return
        rescue = self._rescue(line)
        self.close()
        raise JournalError(
            f"the journal {str(self.path)!r} {trouble} while it was in use; nothing is lost: all that is known is in "
            f"{str(rescue)!r}, and tcgp.Optimizer.resume continues from there"
        )

    def _rescue(self, line: bytes) -> Path:
        """Write all that is known, with one more line, to a new file beside the journal."""
        for i in itertools.count(1):
            rescue = self.path.with_name(f"{self.path.name}.rescue-{i}")
            try:
                fd = os.open(rescue, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            except FileExistsError:
                continue
            try:
                _write_all(fd, bytes(self._content) + line)
                os.fsync(fd)
            finally:
                os.close(fd)
            sync_directory(rescue.parent)
            return rescue
        raise AssertionError("numbers do not end")

    def _cut(self) -> None:
        """Take back a line: half of one, with others after it, would be damage that no one could repair."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, len(self._content))
        except OSError:
            self.close()  # the half line stays the last, and is cut off when the file is opened again

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", None) is not None:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy would share the descriptor, and close it under the original when it dies: it gets none."""
        return DetachedJournal, (self.path,)

    def _read_and_repair(self) -> Record | None:
        assert self._fd is not None
        raw = _read_all(self._fd)
        record, n_sound = _parse(raw, self.path)
        if n_sound < len(raw):
            torn = raw[n_sound:]
            logger.warning(
                "the last line of the journal %s was torn by a crash and is dropped: %r", self.path, torn[:80]
            )
            os.ftruncate(self._fd, n_sound)
            os.fsync(self._fd)
        elif raw and not raw.endswith(b"\n"):
            os.lseek(self._fd, 0, os.SEEK_END)
            os.write(self._fd, b"\n")
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

    def append(self, event: Mapping[str, Any]) -> None:
        """Refuse to write."""
        raise JournalError(
            f"this is a copy, and the journal {str(self.path)!r} stays with the original: ask and tell there, or "
            "continue the journal with tcgp.Optimizer.resume"
        )

    def close(self) -> None:
        """Do nothing."""


def read_journal(path: str | os.PathLike[str]) -> Record:
    """Read a journal without opening it for writing; a torn last line is passed over.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    Record
    """
    record, _ = _parse(Path(path).read_bytes(), Path(path))
    if record is None:
        raise JournalError(f"the journal {str(path)!r} is empty")
    return record


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C, and the signals that the command treats like it, back until the block is done.

    An event is written to disk and then noted in memory. An interrupt in between would leave two histories, and a
    run that goes on with one of them would spoil the other.
    """
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # interrupts only ever reach the main thread
        yield
        return
    received: list[tuple[int, Any]] = []
    before: dict[int, Callable[[int, Any], Any]] = {}
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
    for number, frame in received:
        before[number](number, frame)


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
            if number == len(lines) and (number > 1 or _is_torn_header(text)):
                break
            if number == 1:
                raise JournalError(f"{str(path)!r} is not a journal of tcgp: choose another file")
            raise JournalError(
                f"the journal {str(path)!r} is damaged: line {number} is not a JSON object; "
                "restore the file from a backup, or delete that line and those after it"
            )
        parsed.append((number, item))
        n_sound += len(line)
    if not parsed:
        return None, n_sound
    (_, header), *events = parsed
    if header.get("format") != FORMAT:
        raise JournalError(f"{str(path)!r} is not a journal of tcgp: choose another file")
    if header.get("version") != VERSION:
        raise JournalError(
            f"the journal {str(path)!r} has version {header.get('version')!r}, "
            f"and this tcgp reads version {VERSION}; install the tcgp that wrote it"
        )
    return Record(header, events), n_sound


def _loads(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None if there is none."""
    try:
        item = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # a hostile line may be nested too deep
        return None
    return item if isinstance(item, dict) else None


def _refuse_constant(name: str) -> None:
    """JSON has no NaN and no Infinity."""
    raise ValueError(name)


def _is_torn_header(line: bytes) -> bool:
    """Whether a sole broken line is the start of a header, and not some other file given by mistake."""
    opening = json.dumps({"format": FORMAT}).encode()[:-1]
    return line.startswith(opening) or opening.startswith(line)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise JournalError(f"the journal {str(path)!r} cannot be opened: {error.strerror}") from error


def _read_all(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    chunks = []
    while chunk := os.read(fd, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


def _write_all(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


# ---- the lock ----

_HELD: weakref.WeakValueDictionary[tuple[int, int], Journal] = weakref.WeakValueDictionary()


def _identity(status: os.stat_result) -> tuple[int, int]:
    """What tells a file from all others."""
    return status.st_dev, status.st_ino


def _take_over(key: tuple[int, int]) -> None:
    """Close the journal that this process holds on the same file."""
    held = _HELD.pop(key, None)
    if held is not None:
        held.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> bool:
        """Lock a byte that no journal reaches: a locked byte cannot be read by others."""
        os.lseek(fd, 2**31 - 2, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(fd: int) -> bool:
        """Lock the open file, until it is closed or the process ends."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks: better a run without one than no run.
            logger.warning("the journal could not be locked (%s): let only one process use it", error)
        return True

    def _close_in_child() -> None:
        """Close the copies a forked child has got: a lock lives as long as any copy is open."""
        for journal in list(_HELD.values()):
            journal.close()

    os.register_at_fork(after_in_child=_close_in_child)
