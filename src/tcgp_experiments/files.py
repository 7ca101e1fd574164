"""Write files atomically."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, under another name, and rename it when it is complete."""
    draft = path.with_name(f".{os.urandom(8).hex()}.draft")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # a full disk may be noticed only here
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
