"""Common parts of all pictures: figures independent of pyplot, the palette, and axes that suit the values."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._text import printable, shorten
from tcgp._typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: distinct under every common colour blindness, and in grey.
BLACK, RED, BLUE, GREEN = "#000000", "#D55E00", "#0072B2", "#009E73"
ORANGE, PURPLE, SKY = "#E69F00", "#CC79A7", "#56B4E9"
CYCLE = (BLACK, RED, BLUE, GREEN, PURPLE, ORANGE, SKY)
# As in the paper, the GP is black and tcGP red, in whatever order they come.
COLOURS = {"gp": BLACK, "tcgp": RED, "regp": BLUE, "bcrgp": GREEN, "ongp": PURPLE, "tcregp": ORANGE}
GREY = "0.6"
LONGEST_LABEL = 20  # characters of a name beside a panel of two inches


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure independent of pyplot; a notebook shows it once, as the last line of a cell."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install matplotlib") from error

    class ShownFigure(Figure):
        """A figure that a notebook shows even if matplotlib is not set up for notebooks."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png")
            return stream.getvalue()

    return ShownFigure(figsize=size, layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    return new_figure((5.2, 3.9)).subplots() if ax is None else ax


def label(text: object) -> str:
    """A user's text as it is, but short and on one line; to matplotlib a pair of dollar signs would be a formula."""
    return shorten(printable(str(text)), LONGEST_LABEL).replace("$", r"\$")


def add_legend(ax: Axes) -> None:
    ax.legend(frameon=False, fontsize="small")


def padded(values: FloatArray, share: float) -> tuple[float, float]:
    """The range of values, widened by a share of itself at each end."""
    low, high = float(np.min(values)), float(np.max(values))
    margin = share * (high - low) or 1.0
    return low - margin, high + margin


def scale_values(ax: Any, values: FloatArray) -> None:
    """A logarithmic axis where values are positive and span three decades, short numbers elsewhere."""
    known = values[np.isfinite(values)]
    if known.size and known.min() > 0.0 and known.max() > 1e3 * known.min():
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useOffset=False)
