"""Views of a fitted model: is it calibrated, and what does calibration do?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import BoolArray, FloatArray
from tcgp.calibration import ks_deviation
from tcgp.laws import Law, Normal
from tcgp.methods.fit import fit_model
from tcgp.models import Model
from tcgp.plotting._style import BLACK, BLUE, GREEN, GREY, RED, add_legend, new_axes, new_figure, padded
from tcgp.problems import get
from tcgp.scoring import leave_one_out_prediction, thresholded_pit
from tcgp.scoring.diagnosis import base_label, method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURE1_SEED", "plot_figure1", "plot_leave_one_out", "plot_pit", "plot_tpit"]

# A design of ten uniform points on [0, 1] as in the paper's Figure 1: none within 0.1 of the minimizer of
# Forrester's function, and a GP that sees no reason to look there.
FIGURE1_SEED = 1288


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


def plot_figure1(seed: int = FIGURE1_SEED, *, delta: float = 0.3) -> Figure:
    """The paper's Figure 1: what tail calibration does to the probability of improvement and to EI.

    Forrester's function, ten evaluations, none of them near the global minimizer; GP in black, tcGP in red.

    Parameters
    ----------
    seed : int
        Seed of the uniform design.
    delta : float
        Level of the threshold's quantile.

    Returns
    -------
    matplotlib.figure.Figure
        Three panels: data and predictions with 90 % intervals, probability of improvement, and EI, each
        rescaled by its maximum. The region around the minimizer without data is shaded.

    Examples
    --------
    >>> from tcgp.plotting import plot_figure1
    >>> [ax.get_ylabel() for ax in plot_figure1().axes]
    ['f(x)', 'probability of improvement', 'expected improvement / max']
    """
    problem = get("forrester")
    X = np.random.default_rng(seed).uniform(0.0, 1.0, (10, 1))
    y = np.asarray(problem.fun(X))
    models = {
        method: fit_model(X, y, method, bounds=problem.bounds, delta=delta) for method in ("gp", "tcgp")
    }
    grid = np.linspace(0.0, 1.0, 801)
    figure = new_figure((11.0, 3.4))
    prediction_ax, improvement_ax, ei_ax = figure.subplots(1, 3)
    prediction_ax.plot(
        grid, problem.fun(grid[:, None]), color=GREEN, linestyle="--", linewidth=1.3, label="f"
    )
    styles = {"gp": (BLACK, "GP"), "tcgp": (RED, "tcGP")}
    for method, (colour, label) in styles.items():
        prediction = models[method].predict(grid[:, None])
        lower, upper = prediction.interval(0.9)
        if method == "gp":
            prediction_ax.plot(grid, prediction.mean, color=colour, linewidth=1.3, label="prediction")
        prediction_ax.fill_between(
            grid, lower, upper, color=colour, alpha=0.15, linewidth=0.0, label=f"{label} 90 % interval"
        )
        improvement_ax.plot(grid, prediction.probability_of_improvement(y.min()), color=colour, label=label)
        ei = prediction.expected_improvement(y.min())
        ei_ax.plot(grid, ei / ei.max(), color=colour, label=label)
    prediction_ax.plot(X[:, 0], y, "o", color=BLACK, markersize=4, label="evaluations")
    prediction_ax.axhline(
        models["tcgp"].threshold, color=GREY, linestyle=":", linewidth=1.2, label="threshold t"
    )
    prediction_ax.set_ylim(*padded(np.append(np.asarray(problem.fun(grid[:, None])), y), 0.35))
    left, right = _gap_around(float(problem.minimizer[0]), X[:, 0])
    for ax, ylabel in (
        (prediction_ax, "f(x)"),
        (improvement_ax, "probability of improvement"),
        (ei_ax, "expected improvement / max"),
    ):
        ax.axvspan(left, right, color="0.93", zorder=0)
        ax.axvline(float(problem.minimizer[0]), color=GREEN, linestyle=":", linewidth=1.0)
        ax.set(xlabel="x", ylabel=ylabel, xlim=(0.0, 1.0))
        add_legend(ax)
    return figure


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


def _gap_around(x: float, points: FloatArray) -> tuple[float, float]:
    """The widest interval of [0, 1] around x without a point."""
    return float(np.max(points[points < x], initial=0.0)), float(np.min(points[points > x], initial=1.0))
