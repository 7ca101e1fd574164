"""Write files atomically: whole or absent, also after a crash."""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

__all__ = ["may_replace", "read_regular", "short_name", "sync_directory", "write_atomically"]

LONGEST_NAME = 255  # bytes of the name of a file, on all common file systems


def short_name(name: str, room: int) -> str:
    """Return the name of a file or, if ``room`` bytes cannot be added to it, its beginning and a checksum.

    Examples
    --------
    >>> from tcgp._files import short_name
    >>> short_name("run.jsonl", 12), len(short_name(250 * "a", 12))
    ('run.jsonl', 243)
    """
    raw = os.fsencode(name)
    if len(raw) + room <= LONGEST_NAME:
        return name
    return f"{raw[: LONGEST_NAME - room - 9].decode(errors='ignore')}-{zlib.crc32(raw):08x}"


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes; a device may have no end, and a pipe no writer.

    Raises
    ------
    OSError
        If it cannot be read, is another kind of file, or is larger.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        with open(fd, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(fd)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", os.fspath(path))
    return content


def may_replace(path: str | os.PathLike[str], is_ours: Callable[[bytes], bool]) -> bool:
    """Return whether a file may be written there: nothing is there, or an empty file, or one that tcgp wrote.

    A link is none of these, wherever it leads, and neither is a device or a pipe.

    Parameters
    ----------
    path : path
    is_ours : callable
        Whether tcgp wrote a file with this content.
    """
    try:
        status = os.lstat(path)
    except OSError:  # nothing is there, or whoever writes there will say what is wrong
        return True
    if not stat.S_ISREG(status.st_mode):
        return False
    try:
        return not status.st_size or is_ours(Path(path).read_bytes())
    except OSError:
        return False


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that readers, and whoever comes after a power cut, see the old one or the new one, never a part.

    Text is written as UTF-8. If ``path`` is a link, the link is replaced and what it leads to is left alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tcgp._files import write_atomically
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result.txt"
    >>> write_atomically(path, "5\\n")
    >>> path.read_text()
    '5\\n'
    """
    target = Path(path)
    # A name that nobody can foresee, and "x": a link that a program has left is never written through.
    draft = target.with_name(f".{os.urandom(8).hex()}.draft")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Make the names of new files survive a power cut too, where the system can."""
    if sys.platform == "win32":
        return
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:  # a directory that may be written to and not read
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync a directory
            raise
    finally:
        os.close(fd)
