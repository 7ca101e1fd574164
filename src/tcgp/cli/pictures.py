"""Pictures, where matplotlib is installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tcgp.cli.console import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["can_draw", "new_figure", "save"]


def can_draw() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file whose name says the format."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"the picture {str(path)!r} cannot be written: {error}") from None
