"""Files that readers see whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under another name, and give it its own when it is complete. Text is written as UTF-8."""
    draft = path.with_name(f".{os.urandom(8).hex()}.draft")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # where a disk may say only now that it is full
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
