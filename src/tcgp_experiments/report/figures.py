"""Figures in the layout of the paper."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.errors import require
from tcgp_experiments.plan.published import METRICS
from tcgp_experiments.report.blocks import Picture
from tcgp_experiments.report.curves import Curves
from tcgp_experiments.report.titles import METRIC_TITLES, problem_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LAYOUTS", "draw", "picture"]

# Colours for the colour-blind (Okabe and Ito); GP in black and tcGP in red as in the paper.
FIXED_COLOURS = {
    "GP": "#000000",
    "tcGP": "#d7301f",
    "bcrGP": "#0072b2",
    "onGP": "#009e73",
    "reGP": "#e69f00",
    "tcGP-occ": "#56b4e9",
    "tcGP-thres": "#cc79a7",
}
OTHER_COLOURS = ("#d7301f", "#0072b2", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#999999", "#f0e442")

PANEL = (3.1, 2.5)  # inches
FAINTEST_SCORE = 1e-12  # share of the largest, below which a score is not shown


def draw(layout: str, curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float]) -> Figure:
    """A figure of optimization runs.

    Parameters
    ----------
    layout : str
        A key of `LAYOUTS`.
    curves : mapping
        For each problem, the curves of its methods.
    targets : mapping
        For each problem, the level-set probability that counts as reaching the target.
    """
    return LAYOUTS[layout](curves, targets)


def picture(name: str, caption: str, figure: Figure) -> Picture:
    """A figure as PNG and SVG; equal figures give equal files."""
    matplotlib = require("matplotlib", "figures need matplotlib", "matplotlib")
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=110, metadata={"Software": None})
    with matplotlib.rc_context({"svg.hashsalt": "tcgp", "svg.fonttype": "none"}):
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, caption, png.getvalue(), svg.getvalue())


def _levels(curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float]) -> Figure:
    """p_mn alone, one panel for each problem, four in a row."""
    figure, axes = _grid(len(curves), 4)
    for ax, (problem, methods) in zip(axes, curves.items(), strict=False):
        _draw_levels(ax, problem, methods)
    return _finish(figure, axes, curves)


def _targets(curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float]) -> Figure:
    """For each problem p_mn and the share of runs that have reached the target, two problems in a row."""
    figure, axes = _grid(2 * len(curves), 4)
    for i, (problem, methods) in enumerate(curves.items()):
        _draw_levels(axes[2 * i], problem, methods)
        ax, target = axes[2 * i + 1], targets[problem]
        for colour, curve in _coloured(methods):
            ax.plot(curve.n, curve.reached(target), color=colour, linewidth=1.3, drawstyle="steps-post")
        axes[2 * i].axhline(target, color="#999999", linewidth=0.7, linestyle=":")
        ax.set(ylim=(-0.03, 1.03), title=f"share with p ≤ {target:g}", xlabel="evaluations")
    return _finish(figure, axes, curves)


def _calibration(curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float]) -> Figure:
    """A row for each problem: p_mn, and the medians of the scores at m_n."""
    figure, axes = _grid(4 * len(curves), 4)
    for i, (problem, methods) in enumerate(curves.items()):
        _draw_levels(axes[4 * i], problem, methods)
        for ax, score in zip(axes[4 * i + 1 : 4 * i + 4], METRICS, strict=True):
            for colour, curve in _coloured(methods):
                ax.plot(curve.n[:-1], curve.median_score(score), color=colour, linewidth=1.3)
            ax.set(title=f"{METRIC_TITLES[score]} at m_n, median", xlabel="evaluations")
            if score != "tks_pit":
                ax.set_yscale("log")
                # A light tail gives scores of 1e-300, which are not shown.
                shown = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines])
                highest = float(np.nanmax(shown, initial=0.0))
                if np.nanmin(shown, initial=np.inf) < FAINTEST_SCORE * highest:
                    ax.set_ylim(FAINTEST_SCORE * highest, 3.0 * highest)
    return _finish(figure, axes, curves)


def _seconds(curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float]) -> Figure:
    """Median processor time of the model at each iteration."""
    figure, axes = _grid(len(curves), 4)
    for ax, (problem, methods) in zip(axes, curves.items(), strict=False):
        for colour, curve in _coloured(methods):
            ax.plot(curve.n[:-1], curve.median_seconds(), color=colour, linewidth=1.3)
        ax.set(title=problem_title(problem), xlabel="evaluations", ylabel="seconds", yscale="log")
    return _finish(figure, axes, curves)


LAYOUTS: dict[str, Callable[..., Figure]] = {
    "levels": _levels,
    "targets": _targets,
    "calibration": _calibration,
    "seconds": _seconds,
}


def _draw_levels(ax: Axes, problem: str, methods: Sequence[Curves]) -> None:
    """Median of p_mn with its 10 % and 90 % quantiles."""
    for colour, curve in _coloured(methods):
        middle, low, high = (10.0**values for values in curve.levels())
        ax.fill_between(curve.n, low, high, color=colour, alpha=0.12, linewidth=0)
        ax.plot(curve.n, middle, color=colour, linewidth=1.3)
    ax.set(title=problem_title(problem), xlabel="evaluations", ylabel="p(m_n)", yscale="log")


def _coloured(methods: Sequence[Curves]) -> list[tuple[str, Curves]]:
    return list(zip(_colours([curve.label for curve in methods]), methods, strict=True))


def _colours(labels: Sequence[str]) -> list[str]:
    """Fixed colours for known methods, others in turn."""
    free = [c for c in OTHER_COLOURS if c not in {FIXED_COLOURS.get(label) for label in labels}]
    others = [label for label in labels if label not in FIXED_COLOURS]
    chosen = FIXED_COLOURS | {label: free[i % len(free)] for i, label in enumerate(others)}
    return [chosen[label] for label in labels]


def _grid(n_panels: int, n_columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with panels in rows."""
    Figure = require("matplotlib.figure", "figures need matplotlib", "matplotlib").Figure
    columns = min(n_panels, n_columns)
    rows = -(-n_panels // columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    axes: FloatArray = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for ax in axes[n_panels:]:
        ax.set_visible(False)
    return figure, list(axes[:n_panels])


def _finish(figure: Figure, axes: Sequence[Axes], curves: Mapping[str, Sequence[Curves]]) -> Figure:
    """Small type, and one legend for all panels."""
    from matplotlib.lines import Line2D  # optional, as all of matplotlib

    labels = list(dict.fromkeys(curve.label for methods in curves.values() for curve in methods))
    handles = [
        Line2D([], [], color=colour, label=label)
        for colour, label in zip(_colours(labels), labels, strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    for ax in axes:
        ax.tick_params(which="both", labelsize=8)
        ax.title.set_fontsize(9)
        ax.xaxis.label.set_fontsize(8)
        ax.yaxis.label.set_fontsize(8)
    return figure
