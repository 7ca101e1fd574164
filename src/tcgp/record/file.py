"""An append-only file: locked against other processes, synced, and checked for changes by others."""

from __future__ import annotations

import contextlib
import glob
import itertools
import logging
import os
import re
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

from tcgp._files import short_name, sync_directory

__all__ = ["GuardedFile", "JournalError", "JournalInUse", "JournalRescued", "check_not_rescued", "is_in_use"]

logger = logging.getLogger("tcgp")

# Appending is left to the system: what others cut off just before a line is written then shows in the size.
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


ROOM = len(".rescue-9999")  # in the name of a file, for those next to it


class JournalError(ValueError):
    """A journal that cannot be used: corrupt, of another problem, or in use elsewhere."""


class JournalInUse(JournalError):
    """A journal that another process has open."""


class JournalRescued(JournalError):
    """A journal that was changed by someone else while it was open, and continues in a file next to it."""


class GuardedFile:
    """An open file to which bytes are appended, each time synced to disk.

    A file opened a second time in the same process passes to the one who opened it last; the earlier object refuses to
    write. That makes a crashed notebook cell easy to run again.

    The file is checked before each append. If it was replaced, deleted, or changed by anyone else, nothing more is
    written to it: its whole content goes to a rescue file, and so do all further lines.

    Threads may share the object.

    Parameters
    ----------
    path : str or os.PathLike
        The file; created if it does not exist.

    Attributes
    ----------
    path : pathlib.Path
        The file as it was named, or the rescue file.
    content : bytes
        What the file must hold, to the byte.
    is_at_work : bool
        Whether it stays with this object if it is opened again.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.is_at_work = False
        self._place = Path(os.path.abspath(path))  # the user's function may change the directory
        self._guard = threading.RLock()
        self._fd: int | None = _open(self.path)
        self._key = _identity(os.fstat(self._fd))
        try:
            _take_over(self._key)
            if not _locked_soon(self._fd):
                raise JournalInUse(
                    f"the journal {str(self.path)!r} is in use by another process; "
                    "wait for it to end, or choose another file"
                )
            self._content = bytearray(_read_all(self._fd))
        except BaseException:
            self.close()
            raise
        self._changed = os.fstat(self._fd).st_mtime_ns
        _HELD[self._key] = self

    @property
    def content(self) -> bytes:
        """What the file must hold."""
        return bytes(self._content)

    def check_open(self) -> None:
        """Refuse, with a JournalError, if the file was closed or taken over."""
        if self._fd is None:
            raise JournalError(
                f"the journal {str(self.path)!r} is no longer open here: it was closed, or opened again; "
                "continue it with tcgp.Optimizer.resume"
            )

    def append(self, content: bytes) -> None:
        """Write ``content`` at the end and sync it; on failure leave the file as it was.

        Raises
        ------
        OSError
            If it cannot be written, as on a full disk. Nothing has changed, and it can be tried again.
        JournalRescued
            If the file was changed by someone else. ``content`` and all before it are in the rescue file, which takes
            the place of the file from here on.
        """
        with self._guard:
            self.check_open()
            assert self._fd is not None
            self._rescue_if_changed(content)
            try:
                _write_all(self._fd, content)
                os.fsync(self._fd)
            except OSError as error:
                self._cut()
                words = f"the journal cannot be written ({error.strerror}), and its contents are safe"
                raise OSError(error.errno, words, str(self.path)) from error
            except BaseException:
                self._cut()
                raise
            self._content += content
            self._changed = os.fstat(self._fd).st_mtime_ns
            # A line reported as written can be relied on: it is in the file with this name.
            self._rescue_if_changed(b"")

    def cut(self, size: int) -> Path | None:
        """Cut the file to its first ``size`` bytes, and move the others to a file of their own.

        Returns
        -------
        pathlib.Path or None
            That file; None if there is nothing but zeros and blanks to move, or if no file can be made.
        """
        with self._guard:
            self.check_open()
            assert self._fd is not None
            place = self._set_aside(self.content[size:])
            os.ftruncate(self._fd, size)
            os.fsync(self._fd)
            del self._content[size:]
            self._changed = os.fstat(self._fd).st_mtime_ns
            return place

    def _set_aside(self, content: bytes) -> Path | None:
        """Keep what is cut off in a new file, if it may be of use and a file can be made."""
        if not content.strip(b"\0\r\n\t "):
            return None
        try:
            fd, place = _new_beside(self._place, content, "torn")
        except OSError:
            return None
        os.close(fd)
        return place

    def sync_name(self) -> None:
        """Make the name of a new file survive a power cut too, where the system can."""
        sync_directory(self._place.parent)

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        with self._guard:
            if self._fd is not None and self._is_ours():
                os.close(self._fd)
            self._fd = None
            if _HELD.get(self._key) is self:
                del _HELD[self._key]

    def abandon(self) -> None:
        """Release the file in a forked child, in which a lock may be held by a thread that is not there."""
        self._guard = threading.RLock()
        self.close()

    def _is_ours(self) -> bool:
        """Whether the descriptor still leads to the file: a program that closes all of them frees ours for others."""
        assert self._fd is not None
        try:
            return _identity(os.fstat(self._fd)) == self._key
        except OSError:
            return False

    def _trouble(self) -> str:
        """What has happened to the file, in words; empty if it is unchanged."""
        assert self._fd is not None
        if not self._is_ours():
            return "was closed by someone else"
        try:
            status = os.stat(self._place)
        except OSError:
            return "was deleted or moved away"
        if _identity(status) != self._key:
            return "was replaced by another file"
        # The size tells most changes. Of the others the time of the last one tells, where it is not a mere touch.
        if status.st_size == len(self._content) and (
            status.st_mtime_ns == self._changed or _read_all(self._fd) == self._content
        ):
            return ""
        return "was changed by someone else"

    def _rescue_if_changed(self, content: bytes) -> None:
        """If someone else changed the file, continue in a new one with all that is known, and raise JournalRescued."""
        trouble = self._trouble()
        if not trouble:
            return
        words = f"the journal {str(self.path)!r} {trouble} while it was in use"
        try:
            fd, rescue = _new_beside(self._place, bytes(self._content) + content)
        except OSError as error:
            if (
                not content
            ):  # it is written, if only to a file without a name; the next content will ask again
                return
            raise JournalError(
                f"{words}, and its contents could not be rescued to another file ({error.strerror})"
            ) from error
        self.close()
        self._fd, self._key, self.path, self._place = fd, _identity(os.fstat(fd)), rescue, rescue
        self._content += content
        self._changed = os.fstat(fd).st_mtime_ns
        _HELD[self._key] = self
        raise JournalRescued(
            f"{words}; nothing is lost: all that is known is in {str(rescue)!r}, and tcgp.Optimizer.resume continues "
            "from there"
        )

    def _cut(self) -> None:
        """Take back a line: half of one, followed by others, could not be repaired."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, len(self._content))
        except OSError:
            self.close()  # the half line stays the last, and is cut off when the file is opened again
        else:
            self._changed = os.fstat(self._fd).st_mtime_ns

    def __del__(self) -> None:
        if getattr(self, "_fd", None) is not None:
            self.close()


def _open(path: Path) -> int:
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
            raise ValueError("it is not a regular file")
        return os.open(path, _FLAGS, 0o666)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise JournalError(f"the journal {str(path)!r} cannot be opened: {reason}") from error


def _new_beside(place: Path, content: bytes, kind: str = "rescue") -> tuple[int, Path]:
    """A new file with this content, open and locked: next to another or, if that fails, where temporary files go."""
    failure: OSError | None = None
    for directory in (place.parent, Path(tempfile.gettempdir())):
        try:
            return _new_file((directory / name for name in _names_beside(place.name, kind)), content)
        except OSError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def check_not_rescued(path: str | os.PathLike[str]) -> None:
    """Refuse to begin a journal in the place of one that continues in a rescue file: all runs would be repeated."""
    place = Path(path)
    rescued = list(place.parent.glob(f"{glob.escape(short_name(place.name, ROOM))}.rescue-*"))
    if rescued:
        last = max(rescued, key=lambda path: path.stat().st_mtime_ns)
        raise JournalError(
            f"the journal {str(path)!r} is gone, and its contents are in {str(last)!r}: rename that file to continue "
            "it, or move it away to start again"
        )


def _names_beside(name: str, kind: str) -> Iterator[str]:
    """Names for files of a kind; for a rescue file of a rescue file, those after its own."""
    match = re.fullmatch(rf"(.*)\.{kind}-(\d+)", name, re.DOTALL)
    base, number = (match[1], int(match[2])) if match else (short_name(name, ROOM), 0)
    return (f"{base}.{kind}-{i}" for i in itertools.count(number + 1))


def _new_file(names: Iterable[Path], content: bytes) -> tuple[int, Path]:
    """A new file with this content, under the first of the names that is free."""
    for path in names:
        try:
            fd = os.open(path, _FLAGS | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        try:
            _lock(fd)
            _write_all(fd, content)
            os.fsync(fd)
            sync_directory(path.parent)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return fd, path
    raise AssertionError("numbers do not end")


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

LONGEST_LOOK = 0.05  # seconds for which somebody who only looks may hold a lock


def is_in_use(path: str | os.PathLike[str]) -> bool:
    """Whether a process has the file open to write to it; False also where locks cannot tell."""
    fd = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        return not _lock(fd, look=True)
    finally:
        os.close(fd)


def _locked_soon(fd: int) -> bool:
    """Lock the open file, also if somebody just looks whether it is locked."""
    end = time.monotonic() + LONGEST_LOOK
    while not (locked := _lock(fd)) and time.monotonic() < end:
        time.sleep(0.005)
    return locked


_HELD: weakref.WeakValueDictionary[tuple[int, int], GuardedFile] = weakref.WeakValueDictionary()


def _identity(status: os.stat_result) -> tuple[int, int]:
    """What tells a file from all others."""
    return status.st_dev, status.st_ino


def _take_over(key: tuple[int, int]) -> None:
    """Close the object that holds the same file in this process, unless a run is at work with it."""
    held = _HELD.get(key)
    if held is None:
        return
    if held.is_at_work:
        raise JournalInUse(
            f"the journal {str(held.path)!r} is in use by tcgp.minimize in this process, in another thread or below "
            "this call; to look at it, use tcgp.Optimizer.read"
        )
    held.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int, look: bool = False) -> bool:
        """Lock a byte that no journal reaches: a locked byte cannot be read by others."""
        os.lseek(fd, 2**31 - 2, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(fd: int, look: bool = False) -> bool:
        """Lock the open file, until it is closed or the process ends; those who look do not see each other."""
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if look else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks: better a run without one than no run.
            if look:
                return True
            logger.warning("the journal could not be locked (%s): let only one process use it", error)
        return True

    def _close_in_child() -> None:
        """Close the copies a forked child has got: a lock lives as long as any copy is open."""
        for held in list(_HELD.values()):
            held.abandon()

    os.register_at_fork(after_in_child=_close_in_child)
