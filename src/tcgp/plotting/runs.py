"""Views of a run against the number of evaluations."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.calibration import BETA_RANGE, SCALE_RANGE
from tcgp.plotting._style import (
    BLACK,
    BLUE,
    COLOURS,
    CYCLE,
    GREY,
    ORANGE,
    RED,
    add_legend,
    new_axes,
    new_figure,
    scale_values,
)
from tcgp.plotting.fronts import plot_front
from tcgp.plotting.pairs import (
    INFEASIBLE,
    RunView,
    best_of,
    draw_samples,
    feasible_of,
    grid_size,
    of_one_output,
    output_of,
    sign_of,
    values_of,
)
from tcgp.scoring.diagnosis import method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_calibration_history", "plot_convergence", "plot_result"]

LOG_FROM = 20.0  # ratio of the values of a run from which on a linear axis shows a flat line


def plot_convergence(
    results: Any, *, minimum: float | None = None, labels: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Best value so far against the number of evaluations.

    The best is the largest value if the run maximizes, and one that satisfies all limits on outputs; for a single run,
    the evaluations that violate one are shown too. For a noisy run the line is the best observed value, which is partly
    luck, and a mark with an interval shows the predicted one. Of several objectives the first is shown; see
    `plot_front`.

    Parameters
    ----------
    results : Result, array, sequence of these, or mapping
        One run, as the result of `tcgp.minimize` or the array of its values (NaN where one failed); a
        sequence of runs, each with a line of its own; or a mapping from labels to a run or to a sequence of
        repeated runs, of which the median and the quartiles are drawn.
    minimum : float, optional
        Known minimum, or maximum if the runs maximize: the difference from it is drawn, on a logarithmic scale.
    labels : sequence of str, optional
        Names of the runs of a sequence.

    Examples
    --------
    >>> from tcgp.plotting import plot_convergence
    >>> ax = plot_convergence({"random": [[3.0, 4.0, 1.0], [2.0, 5.0, 0.5]]})
    >>> ax.get_lines()[0].get_ydata().tolist()
    [2.5, 2.5, 0.75]
    """
    ax, results = new_axes(ax), of_one_output(results)
    groups = _labelled_runs(results, labels)
    sign = sign_of(groups[0][1][0]) if groups else 1.0
    for i, (label, runs) in enumerate(groups):
        best = _best_so_far(runs)  # (number of runs, evaluations)
        shown = best if minimum is None else sign * (best - minimum)
        n = np.arange(1, shown.shape[1] + 1)
        colour = COLOURS.get(label.lower(), CYCLE[i % len(CYCLE)])
        ax.plot(n, _quantile(shown, 0.5), color=colour, drawstyle="steps-post", label=label)
        if len(runs) > 1:
            ax.fill_between(
                n,
                _quantile(shown, 0.25),
                _quantile(shown, 0.75),
                step="post",
                color=colour,
                alpha=0.2,
                linewidth=0.0,
            )
    n_design = _design_size(results)
    if n_design is not None:
        ax.axvline(n_design, color=GREY, linestyle=":", linewidth=1.2, label="end of the initial design")
    if _is_run(results):
        _draw_evaluations(ax, results, minimum, sign)
        if getattr(results, "noise", 0.0):
            _draw_answer(ax, results, minimum, sign)
    difference = "best value − minimum" if sign > 0.0 else "maximum − best value"
    ax.set(xlabel="evaluations", ylabel=f"best {output_of(results)}" if minimum is None else difference)
    if minimum is not None:
        ax.set_yscale("log", nonpositive="mask")
    elif _is_run(results):
        known = values_of(results)[np.isfinite(values_of(results))]
        if known.size and known.min() > 0.0 and known.max() > LOG_FROM * known.min():
            ax.set_yscale("log")
    if any(not str(line.get_label()).startswith("_") for line in ax.get_lines()):
        add_legend(ax)
    return ax


def plot_calibration_history(result: Any) -> Figure:
    """Threshold, best value and residual law along a run.

    Parameters
    ----------
    result : Result or sequence of dict
        What `tcgp.minimize` returned, or its ``optimizer.trace``: for each model ``n``, ``threshold``,
        ``best``, ``beta`` and ``scale``, where known.

    Returns
    -------
    matplotlib.figure.Figure
        Values above, parameters of the generalized normal law below; the Gaussian law is (2, √2).

    Examples
    --------
    >>> from tcgp.plotting import plot_calibration_history
    >>> trace = [{"n": 5, "threshold": 2.0, "best": 1.0, "beta": 0.5, "scale": 0.1}, {"n": 6, "best": 0.9}]
    >>> len(plot_calibration_history(trace).axes)
    3
    """
    figure = new_figure((7.0, 6.0))
    _draw_calibration_history(figure, _trace(result))
    return figure


def plot_result(
    result: Any, *, minimum: float | None = None, parameters: Sequence[int | str] | None = None
) -> Figure:
    """A run in one picture: convergence and calibration on the left, samples on the right.

    Of several objectives it is `plot_front`.

    Parameters
    ----------
    result : Result
        What `tcgp.minimize` returned.
    minimum : float, optional
        Known minimum (or maximum): convergence is then drawn as the difference from it, on a logarithmic scale.
    parameters : sequence of int or str, optional
        Which parameters to show, by place or name; the first eight by default.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.plotting import plot_result
    >>> result = tcgp.minimize(lambda x: x[0] ** 2 + x[1] ** 2, [(-1, 1), (-1, 1)], n_evals=12, rng=0)
    >>> figure = plot_result(result)
    """
    if "front" in result:
        return plot_front(result)
    view = RunView.of(result, parameters)
    width, height = grid_size(view.n_shown)
    figure = new_figure((6.0 + width, max(height, 7.0)))
    halves: Any = figure.subfigures(1, 2, width_ratios=(6.0, width))
    trace = _trace(result)
    if trace:
        parts: Any = halves[0].subfigures(2, 1, height_ratios=(1.0, 1.6))
        plot_convergence(result, minimum=minimum, ax=parts[0].subplots())
        _draw_calibration_history(parts[1], trace)
    else:
        plot_convergence(result, minimum=minimum, ax=halves[0].subplots())
    draw_samples(halves[1], view)
    return figure


def _is_run(item: Any) -> bool:
    """Whether this is one run, and not a sequence or a mapping of runs; a result is a mapping itself."""
    if hasattr(item, "func_vals"):
        return True
    return not isinstance(item, Mapping) and isinstance(next(iter(item), None), numbers.Real)


def _draw_evaluations(ax: Axes, run: Any, minimum: float | None, sign: float) -> None:
    """Every value at the number of its evaluation: those that satisfy all constraints, and those that violate one."""
    values, feasible = values_of(run), feasible_of(run)
    infeasible = np.isfinite(values) & ~feasible
    marks = [
        (feasible, ".", BLUE, "satisfies all constraints"),
        (infeasible, INFEASIBLE, ORANGE, "violates a constraint"),
    ]
    for which, marker, colour, words in marks if infeasible.any() else ():
        ax.plot(
            1 + np.flatnonzero(which),
            values[which] if minimum is None else sign * (values[which] - minimum),
            marker=marker,
            markersize=4.0,
            markerfacecolor="none",
            linestyle="",
            color=colour,
            label=words,
        )


def _draw_answer(ax: Axes, run: Any, minimum: float | None, sign: float) -> None:
    """The predicted value of a noisy run, where it was evaluated, and the interval that holds it."""
    ends = np.array([run.interval[0], run.fun, run.interval[1]])
    low, value, high = np.sort(ends if minimum is None else sign * (ends - minimum))
    ax.axhspan(low, high, color=RED, alpha=0.12, linewidth=0.0)
    place = best_of(run)
    ax.errorbar(
        [1 + (place or 0)],
        [value],
        yerr=[[value - low], [high - value]],
        marker="*",
        markersize=11,
        color=RED,
        markeredgecolor="white",
        linestyle="",
        label="predicted best, with its 90 % interval",
    )


def _labelled_runs(results: Any, labels: Sequence[str] | None) -> list[tuple[str, list[Any]]]:
    """Labels and runs; labels that begin with an underscore stay out of the legend."""
    if isinstance(results, Mapping) and not _is_run(results):
        return [(str(label), [runs] if _is_run(runs) else list(runs)) for label, runs in results.items()]
    runs = [results] if _is_run(results) else list(results)
    names = [_name(run, i, len(runs)) for i, run in enumerate(runs)] if labels is None else list(labels)
    if len(names) != len(runs):
        raise ValueError(f"labels must name each of the {len(runs)} runs, got {len(names)}")
    return [(name, [run]) for name, run in zip(names, runs, strict=True)]


def _name(run: Any, i: int, n_runs: int) -> str:
    """A label for a run without one: its method, numbered where there are several runs."""
    settings = getattr(getattr(run, "optimizer", None), "settings", None)
    if n_runs == 1 and getattr(run, "noise", False):
        return "best observed"
    method = method_label(settings.method) if settings is not None else "run"
    return f"{method} {i + 1}" if n_runs > 1 else method if settings is not None else "_run"


def _best_so_far(runs: Sequence[Any]) -> FloatArray:
    """Best value so far of each run that satisfies all constraints; shorter runs keep their last value."""
    best = []
    for run in runs:
        merit = np.where(feasible_of(run), sign_of(run) * values_of(run), np.nan)
        best.append(sign_of(run) * np.fmin.accumulate(merit))
    length = max(len(b) for b in best)
    return np.array([np.concatenate((b, np.full(length - len(b), b[-1]))) for b in best])


def _quantile(values: FloatArray, level: float) -> FloatArray:
    """Quantile over runs; NaN as long as a run has no value."""
    out: FloatArray = np.quantile(values, level, axis=0)
    return out


def _design_size(results: Any) -> int | None:
    """Size of the initial design of a single run that knows it."""
    settings = getattr(getattr(results, "optimizer", None), "settings", None)
    return None if settings is None else int(settings.n_initial)


def _trace(result: Any) -> list[Mapping[str, Any]]:
    """The history of the models of a run; empty if it has none."""
    if not hasattr(result, "func_vals"):
        return list(result)
    trace, sign = getattr(getattr(result, "optimizer", None), "trace", ()), sign_of(result)
    turned = ("threshold", "best")  # what a model has seen of a run that maximizes is negated
    return [{k: sign * v if k in turned and v is not None else v for k, v in step.items()} for step in trace]


def _series(trace: Sequence[Mapping[str, Any]], key: str) -> tuple[FloatArray, FloatArray]:
    """Numbers of evaluations and values of one entry of the trace, where it is known."""
    known = [(step.get("n", i), step[key]) for i, step in enumerate(trace) if step.get(key) is not None]
    array = np.array(known, dtype=float).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def _draw_calibration_history(figure: Any, trace: Sequence[Mapping[str, Any]]) -> None:
    """Three panels with one axis of evaluations: values, beta, lambda."""
    values_ax, beta_ax, scale_ax = figure.subplots(3, 1, sharex=True)
    for key, label, colour, style in (
        ("threshold", "threshold t", BLUE, "-"),
        ("best", "best value", BLACK, "--"),
    ):
        values_ax.plot(
            *_series(trace, key), color=colour, linestyle=style, drawstyle="steps-post", label=label
        )
    values_ax.set_ylabel("value")
    scale_values(values_ax, np.concatenate([_series(trace, key)[1] for key in ("threshold", "best")]))
    add_legend(values_ax)
    for ax, key, symbol, gaussian, (low, high) in (
        (beta_ax, "beta", "beta", 2.0, BETA_RANGE),
        (scale_ax, "scale", "lambda", np.sqrt(2.0), SCALE_RANGE),
    ):
        n, values = _series(trace, key)
        ax.plot(n, values, color=RED, marker="o", markersize=2.5, linewidth=1.0)
        ax.axhline(gaussian, color=GREY, linestyle="--", linewidth=1.0, label="Gaussian")
        ax.set(yscale="log", ylabel=symbol)
        # The whole range of the search, so that a law at its edge is seen to be there.
        ax.set_ylim(np.min(values, initial=low) / 1.3, np.max(values, initial=high) * 1.3)
        ax.yaxis.set_major_formatter("{x:g}")
    add_legend(beta_ax)
    scale_ax.set_xlabel("evaluations")
