"""Reading the output of a program: the end of a file, its last line, JSON."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

__all__ = ["last_line", "parse_json", "read_tail"]

LONGEST_OUTPUT = 1 << 22  # bytes that are read at the end of a file


def read_tail(path: Path) -> str:
    """Read the end of a text file; "..." marks an omitted beginning."""
    if path.exists() and not path.is_file():  # a program may have put a pipe there, which would be waited for
        raise OSError(errno.EINVAL, "not a regular file")
    with path.open("rb") as file:
        start = max(os.fstat(file.fileno()).st_size - LONGEST_OUTPUT, 0)
        file.seek(start)
        text = file.read(LONGEST_OUTPUT).decode(errors="replace")
    return f"...{text}" if start else text.removeprefix("\ufeff")  # the byte order mark that Windows writes


def last_line(text: str) -> str:
    """Return the last nonempty line, or an empty string."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def parse_json(text: str) -> object:
    """Parse JSON; return None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
