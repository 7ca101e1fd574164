"""The paper's Figure 1: what tail calibration does to the probability of improvement and to EI."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import tcgp
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.errors import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_figure1"]

# A design of ten uniform points on [0, 1] as in the paper: none within 0.1 of the minimizer of Forrester's function,
# and a GP that sees no reason to look there.
SEED = 1288
STYLES = {"gp": ("#000000", "GP"), "tcgp": ("#D55E00", "tcGP")}
GREEN, GREY = "#009E73", "0.6"


def plot_figure1(seed: int = SEED, *, delta: float = 0.3) -> Figure:
    """Forrester's function, ten evaluations, none of them near the global minimizer; GP in black, tcGP in red.

    Three panels: data and predictions with 90 % intervals, probability of improvement, and EI, each divided by its
    maximum. The region around the minimizer without data is shaded.

    Parameters
    ----------
    seed : int
        Seed of the uniform design.
    delta : float
        Level of the threshold's quantile.

    Examples
    --------
    >>> from tcgp_experiments.report.figure1 import plot_figure1
    >>> [ax.get_ylabel() for ax in plot_figure1().axes]
    ['f(x)', 'probability of improvement', 'expected improvement / max']
    """
    problem = tcgp.problems.get("forrester")
    X = np.random.default_rng(seed).uniform(0.0, 1.0, (10, 1))
    y, grid = np.asarray(problem.fun(X)), np.linspace(0.0, 1.0, 801)
    truth, minimizer = np.asarray(problem.fun(grid[:, None])), float(problem.minimizer[0])
    figure: Figure = require("matplotlib.figure", "figures need matplotlib", "matplotlib").Figure(
        figsize=(11.0, 3.4), layout="constrained"
    )
    panels = prediction_ax, improvement_ax, ei_ax = figure.subplots(1, 3)
    prediction_ax.plot(grid, truth, color=GREEN, linestyle="--", linewidth=1.3, label="f")
    for method, (colour, label) in STYLES.items():
        model = tcgp.fit_model(X, y, method, bounds=problem.bounds, delta=delta)
        prediction = model.predict(grid[:, None])
        if method == "gp":
            prediction_ax.plot(grid, prediction.mean, color=colour, linewidth=1.3, label="prediction")
        band = f"{label} 90 % interval"
        prediction_ax.fill_between(
            grid, *prediction.interval(0.9), color=colour, alpha=0.15, linewidth=0.0, label=band
        )
        improvement_ax.plot(grid, prediction.probability_of_improvement(y.min()), color=colour, label=label)
        ei = prediction.expected_improvement(y.min())
        ei_ax.plot(grid, ei / ei.max(), color=colour, label=label)
    prediction_ax.plot(X[:, 0], y, "o", color="#000000", markersize=4, label="evaluations")
    prediction_ax.axhline(model.threshold, color=GREY, linestyle=":", linewidth=1.2, label="threshold t")
    low, high = float(min(truth.min(), y.min())), float(max(truth.max(), y.max()))
    prediction_ax.set_ylim(low - 0.35 * (high - low), high + 0.35 * (high - low))
    gap = _gap_around(minimizer, X[:, 0])
    labels = ("f(x)", "probability of improvement", "expected improvement / max")
    for ax, ylabel in zip(panels, labels, strict=True):
        ax.axvspan(*gap, color="0.93", zorder=0)
        ax.axvline(minimizer, color=GREEN, linestyle=":", linewidth=1.0)
        ax.set(xlabel="x", ylabel=ylabel, xlim=(0.0, 1.0))
        ax.legend(frameon=False, fontsize="small")
    return figure


def _gap_around(x: float, points: FloatArray) -> tuple[float, float]:
    """The widest interval of [0, 1] around x without a point."""
    return float(np.max(points[points < x], initial=0.0)), float(np.min(points[points > x], initial=1.0))
