"""Pictures, where matplotlib is installed."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tcgp import __version__
from tcgp._files import write_atomically
from tcgp.cli.console import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["can_draw", "is_picture", "new_figure", "save"]

# The metadata key with which each format names the program that made a picture, and its bytes in the file.
_MAKER = {
    "png": ("Software", rb"Software\0tcgp "),
    "pdf": ("Creator", rb"/Creator \(tcgp "),
    "svg": ("Creator", rb"<dc:title>tcgp "),
    "ps": ("Creator", rb"%%Creator: tcgp "),
    "eps": ("Creator", rb"%%Creator: tcgp "),
}


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def is_picture(content: bytes) -> bool:
    """Return whether `save` wrote this."""
    return any(re.search(mark, content) for _, mark in _MAKER.values())


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file whose name says the format."""
    kind = Path(path).suffix[1:].lower() or "png"
    metadata = {_MAKER[kind][0]: f"tcgp {__version__}"} if kind in _MAKER else None
    stream = io.BytesIO()
    try:
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
        write_atomically(path, stream.getvalue())
    except (OSError, ValueError) as error:
        raise UsageError(f"the picture {str(path)!r} cannot be written: {error}") from None
