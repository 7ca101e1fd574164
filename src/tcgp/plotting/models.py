"""Views of a fitted model: is it calibrated, and what does calibration do?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import BoolArray
from tcgp.calibration import ks_deviation
from tcgp.laws import Law, Normal
from tcgp.models import Model
from tcgp.plotting._style import BLACK, BLUE, GREY, RED, add_legend, new_axes, padded
from tcgp.scoring import leave_one_out_prediction, thresholded_pit
from tcgp.scoring.diagnosis import base_label, method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_leave_one_out", "plot_pit", "plot_tpit"]


def plot_pit(model: Model, *, ax: Axes | None = None) -> Axes:
    """Weighted leave-one-out PIT: its distribution against the diagonal, for the GP and for the model.

    A curve above the diagonal at small u means that values fall into the lower tail more often than predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import fit_model
    >>> from tcgp.plotting import plot_pit
    >>> X = np.linspace(0.0, 1.0, 12)[:, None]
    >>> ax = plot_pit(fit_model(X, np.sin(9.0 * X[:, 0]), delta=0.3))
    >>> ax.get_xlabel()
    'u'
    """
    everywhere = np.ones(len(model.y), dtype=bool)
    ax = _plot_pits(model, np.inf, everywhere, "KS-PIT", new_axes(ax))
    ax.set(title=f"Leave-one-out PIT, {len(model.y)} points", ylabel="weighted share of PIT ≤ u")
    return ax


def plot_tpit(model: Model, *, ax: Axes | None = None) -> Axes:
    """Weighted leave-one-out PIT below the threshold: what the paper calibrates (Section 4.2).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import fit_model
    >>> from tcgp.plotting import plot_tpit
    >>> X = np.linspace(0.0, 1.0, 12)[:, None]
    >>> ax = plot_tpit(fit_model(X, np.sin(9.0 * X[:, 0]), delta=0.3))
    >>> ax.get_ylabel()
    'weighted share of tPIT ≤ u'
    """
    low = model.towards_low
    below = low.y <= low.threshold
    ax = _plot_pits(low, low.threshold, below, "tKS-PIT", new_axes(ax))
    side = "below" if low is model else "above"
    points = "1 point" if below.sum() == 1 else f"{below.sum()} points"
    ax.set(title=f"PIT {side} t = {model.threshold:.5g}, {points}", ylabel="weighted share of tPIT ≤ u")
    return ax


def plot_leave_one_out(model: Model, level: float = 0.9, *, ax: Axes | None = None) -> Axes:
    """Leave-one-out predictions with central intervals, against the true values.

    Intervals that miss the true value, which is on the diagonal, are red.

    Parameters
    ----------
    model : Model
        A fitted model.
    level : float
        Probability of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import fit_model
    >>> from tcgp.plotting import plot_leave_one_out
    >>> X = np.linspace(0.0, 1.0, 12)[:, None]
    >>> ax = plot_leave_one_out(fit_model(X, np.sin(9.0 * X[:, 0]), delta=0.3), level=0.5)
    >>> ax.get_xlabel()
    'true value'
    """
    ax = new_axes(ax)
    prediction = leave_one_out_prediction(model)
    lower, upper = prediction.interval(level)
    y = model.y
    missed = (y < lower) | (y > upper)
    for group, colour, label in ((~missed, BLUE, "hits"), (missed, RED, "misses")):
        if group.any():
            mean = prediction.mean[group]
            ax.errorbar(
                y[group],
                mean,
                yerr=np.stack((mean - lower[group], upper[group] - mean)),
                fmt="o",
                markersize=3.5,
                linewidth=1.0,
                color=colour,
                label=f"{level:.0%} interval that {label}",
            )
    ends = np.array([y.min(), y.max()])
    ax.plot(ends, ends, color=BLACK, linewidth=1.0, label="prediction = truth")
    ax.axvline(model.threshold, color=GREY, linestyle=":", linewidth=1.2, label="threshold t")
    ax.axhline(model.threshold, color=GREY, linestyle=":", linewidth=1.2)
    hits = int(np.count_nonzero(~missed))
    ax.set(
        xlabel="true value",
        ylabel="leave-one-out prediction",
        title=f"{method_label(model.method)}: {level:.0%} intervals hold {hits} of {len(y)} values",
    )
    # Extreme tails would squeeze everything else: the view follows predictions and values, not intervals.
    ax.set_ylim(*padded(np.concatenate((prediction.mean, y)), 0.15))
    add_legend(ax)
    return ax


def _plot_pits(model: Model, threshold: float, kept: BoolArray, name: str, ax: Axes) -> Axes:
    """Step functions of the weighted PIT of the kept points, for the Gaussian law and the model's."""
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle="--", linewidth=1.0, label="calibrated")
    laws: list[tuple[Law, str, str]] = [(Normal(), base_label(model), BLACK)]
    if not isinstance(model.law, Normal):
        laws.append((model.law, method_label(model.method), RED))
    weights = model.weights[kept] / model.weights[kept].sum()
    for law, label, colour in laws:
        pit = thresholded_pit(leave_one_out_prediction(model, law), model.y, threshold)[kept]
        order = np.argsort(pit)
        u = np.concatenate(([0.0], pit[order], [1.0]))
        share = np.concatenate(([0.0], np.cumsum(weights[order]), [1.0]))
        distance = float(ks_deviation(pit, weights)) if pit.size else np.nan
        ax.plot(u, share, drawstyle="steps-post", color=colour, label=f"{label} ({name} {distance:.2f})")
    ax.set(xlabel="u", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    add_legend(ax)
    return ax
