"""Views of several objectives: the front, and the volume it dominates."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.plotting._style import BLACK, BLUE, GREY, ORANGE, RED, add_legend, label, new_figure, scale_values
from tcgp.plotting.pairs import INFEASIBLE, ORDER_MAP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_front"]


def plot_front(result: Any, *, weights: dict[str, float] | None = None) -> Figure:
    """The evaluations in the space of the objectives, with the front and its knee; and the growth of its volume.

    Parameters
    ----------
    result : Result
        Of a run with several objectives.
    weights : dict, optional
        The point ``result.choose(weights)`` is marked instead of the knee.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each pair of objectives, and one for the volume.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.plotting import plot_front
    >>> def simulate(p):
    ...     return {"mass": p["width"], "deflection": 1.0 / p["width"]}
    >>> goals = {"objective": ["mass", "deflection"]}
    >>> result = tcgp.minimize(simulate, {"width": (0.1, 2.0)}, n_evals=10, rng=0, **goals)
    >>> len(plot_front(result).axes)  # two panels and the colour bar
    3
    """
    names = [quantity.text for quantity in result.optimizer.history.goals.objectives]
    pairs = list(itertools.combinations(range(len(names)), 2))
    n_rows = 1 if len(pairs) == 1 else 2
    n_columns = -(-(len(pairs) + 1) // n_rows)
    figure = new_figure((4.6 * n_columns + 0.6, 3.8 * n_rows))
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    marked = None
    if len(result.front):
        marked = result.knee() if weights is None else result.choose(weights)
    for ax, (j, k) in zip(axes, pairs, strict=False):
        dots = _draw_pair(ax, result, j, k)
        if marked is not None:
            place = [marked.values[names[i]] for i in (j, k)]
            what = "knee" if weights is None else "chosen"
            ax.plot(
                *place,
                marker="*",
                markersize=13,
                color=RED,
                markeredgecolor="white",
                linestyle="",
                label=what,
            )
        ax.set(xlabel=label(names[j]), ylabel=label(names[k]))
    add_legend(axes[0])
    figure.colorbar(dots, ax=axes[: len(pairs)], label="evaluation", shrink=0.7)
    _draw_growth(axes[len(pairs)], result)
    for ax in axes[len(pairs) + 1 :]:
        ax.remove()
    return figure


def _draw_pair(ax: Axes, result: Any, j: int, k: int) -> Any:
    """All evaluations in two of the objectives, those on the front connected where there are no others."""
    values: FloatArray = result.func_vals
    order, known = np.arange(1, len(values) + 1), np.isfinite(values).all(axis=1)
    front = [point.index for point in result.front]
    if values.shape[1] == 2 and front:
        ends = np.array(list(result.reference.values()))
        # What is dominated has a corner between two neighbours: the worse of both in each objective.
        corners = np.vstack([values[front][:1], values[front], values[front][-1:]])
        corners[0, 1], corners[-1, 0] = ends[1], ends[0]
        ax.plot(corners[:, 0], corners[:, 1], color=GREY, linewidth=1.0, drawstyle="steps-post", zorder=1)
    broken = known & ~result.feasible
    if broken.any():
        ax.plot(
            values[broken, j],
            values[broken, k],
            marker=INFEASIBLE,
            markersize=4.0,
            markerfacecolor="none",
            color=ORANGE,
            linestyle="",
            label="violates a constraint",
        )
    kept = known & result.feasible
    style: dict[str, Any] = {"cmap": ORDER_MAP, "vmin": 1, "vmax": len(values)}
    dots = ax.scatter(values[kept, j], values[kept, k], c=order[kept], s=14, **style)
    ax.scatter(
        values[front, j],
        values[front, k],
        c=order[front],
        s=34,
        edgecolors=BLACK,
        linewidths=1.0,
        label="front",
        zorder=2,
        **style,
    )
    if known.any():
        scale_values(ax, values[known, k])
    return dots


def _draw_growth(ax: Axes, result: Any) -> None:
    """The volume after each evaluation, as a share of the last."""
    volume = result.hypervolume
    n = np.arange(1, len(volume) + 1)
    ax.plot(
        n,
        volume / (volume[-1] if len(volume) and volume[-1] > 0.0 else 1.0),
        color=BLUE,
        drawstyle="steps-post",
    )
    ax.axvline(result.optimizer.settings.n_initial, color=GREY, linestyle=":", linewidth=1.2)
    ax.set(xlabel="evaluations", ylabel="share of the volume dominated now", ylim=(0.0, 1.03))
