"""What a program has written: the end of a file, its last line, JSON in it."""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = ["last_line", "parse_json", "read_tail"]

LONGEST_OUTPUT = 1 << 22  # bytes from the end of a file that are read


def read_tail(path: Path) -> str:
    """The end of a text file; "..." stands for what is left out."""
    with path.open("rb") as file:
        start = max(os.fstat(file.fileno()).st_size - LONGEST_OUTPUT, 0)
        file.seek(start)
        text = file.read(LONGEST_OUTPUT).decode(errors="replace")
    return f"...{text}" if start else text.removeprefix("\ufeff")  # Windows marks UTF-8 so


def last_line(text: str) -> str:
    """The last line that is not empty, or nothing."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def parse_json(text: str) -> object:
    """What the JSON says; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
