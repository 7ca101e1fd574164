"""Views of a run over its parameters: its samples, and the predictions of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike, BoolArray, FloatArray
from tcgp.goals import parameter_names
from tcgp.methods.fit import fit_model
from tcgp.models import Model
from tcgp.plotting._style import BLACK, GREY, RED, label, new_figure, padded, scale_values
from tcgp.space import Categorical, Dimension, Integer, Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "INFEASIBLE",
    "RunView",
    "best_of",
    "draw_samples",
    "feasible_of",
    "fit_to_run",
    "grid_size",
    "of_one_output",
    "output_of",
    "partial_dependence",
    "plot_partial_dependence",
    "plot_samples",
    "sign_of",
    "values_of",
]

ORDER_MAP = "cividis_r"
INFEASIBLE = "D"  # the marker of evaluations that violate a constraint
MAX_PARAMETERS = 8  # more are unreadable
MAX_CHOICES = 10  # that are named on an axis; of more, every second or third is


def plot_samples(
    result: Any, *, parameters: Sequence[int | str] | None = None, output: str | None = None
) -> Figure:
    """Where a run evaluated the function: a pair plot, coloured by the order of the evaluations.

    On the diagonal each parameter against the value; below it each pair of parameters. Failed evaluations are
    crosses, those that violate a constraint on outputs are diamonds, and the best is a star.

    Parameters
    ----------
    result : Result
        What `tcgp.minimize` returned: ``x_iters``, ``func_vals`` and, where it has them, ``feasible`` and
        ``optimizer``.
    parameters : sequence of int or str, optional
        Which parameters to show, by place or name; the first eight by default.
    output : str, optional
        Which objective or other output to show; the first objective by default.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.plotting import plot_samples
    >>> result = tcgp.minimize(lambda x: x[0] ** 2 + x[1] ** 2, [(-1, 1), (-1, 1)], n_evals=12, rng=0)
    >>> len(plot_samples(result).axes)  # three panels and the colour bar
    4
    """
    view = RunView.of(of_one_output(result, output), parameters)
    figure = new_figure(grid_size(view.n_shown))
    draw_samples(figure, view)
    return figure


def plot_partial_dependence(
    result: Any,
    *,
    parameters: Sequence[int | str] | None = None,
    n_grid: int = 25,
    n_samples: int = 100,
    model: Model | None = None,
    output: str | None = None,
) -> Figure:
    """How the predicted value depends on each parameter, and on each pair, averaged over all others.

    Parameters
    ----------
    result : Result
        What `tcgp.minimize` returned.
    parameters : sequence of int or str, optional
        Which parameters to show, by place or name; the first eight by default.
    n_grid : int
        Grid points per parameter.
    n_samples : int
        Points of the space over which the other parameters are averaged.
    model : Model, optional
        Model of the codes ``result.optimizer.space.encode(x)``, of the negated values if the run maximizes; by default
        one is fitted to all evaluations with the settings of the run.
    output : str, optional
        Which objective or other output to show; the first objective by default.

    Returns
    -------
    matplotlib.figure.Figure
        Curves on the diagonal, contours below it, evaluated points as dots, the best as a star.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.plotting import plot_partial_dependence
    >>> result = tcgp.minimize(lambda x: x[0] ** 2 + x[1] ** 2, [(-1, 1), (-1, 1)], n_evals=12, rng=0)
    >>> len(plot_partial_dependence(result).axes)  # three panels and the colour bar
    4
    """
    result = of_one_output(result, output)
    view = RunView.of(result, parameters)
    if view.space is None:
        raise ValueError("result must hold its optimizer, whose space the partial dependence averages over.")
    model = fit_to_run(result) if model is None else model
    rng = np.random.default_rng(0)  # the same average for every panel, and for every call
    shares = rng.random((n_samples, len(view.space)))
    figure = new_figure(grid_size(view.n_shown))
    axes = _pair_axes(figure, view, "mean prediction" if output is None else label(f"mean {output}"))
    grids = {j: _shares_of(view.space.dimensions[j], n_grid) for j in view.shown}
    surfaces = {}
    for (row, column), ax in axes.items():
        j, k = view.shown[row], view.shown[column]
        if row == column:
            curve = view.sign * partial_dependence(model, view.space, shares, {j: grids[j]})
            style = "o" if isinstance(view.space.dimensions[j], Categorical) else "-"
            ax.plot(_positions(view.space.dimensions[j], grids[j]), curve, style, color=RED)
            scale_values(ax, curve)
        else:
            across, up = np.meshgrid(grids[k], grids[j])
            flat = partial_dependence(model, view.space, shares, {k: across.ravel(), j: up.ravel()})
            surfaces[row, column] = view.sign * flat.reshape(across.shape)
    if surfaces:
        _draw_surfaces(figure, axes, view, grids, surfaces)
    return figure


@dataclass(frozen=True)
class RunView:
    """The parts of a run that pair plots need.

    Attributes
    ----------
    coordinates : (n, d) array
        Positions on the axes: the values themselves, or the places of categorical choices.
    values : (n,) array
        Function values, NaN where the evaluation failed.
    output : str
        Their name, as a label.
    shown : list of int
        Parameters to show.
    names : list of str
        Names of all parameters.
    space : Space or None
    feasible : (n,) array of bool
        Whether each evaluation succeeded and satisfies all constraints.
    sign : {1.0, -1.0}
        -1 if large values are good.
    best : int or None
        Place of the best evaluation that satisfies all constraints, if there is one; with noise that of the answer,
        whose prediction is best.
    """

    coordinates: FloatArray
    values: FloatArray
    output: str
    shown: list[int]
    names: list[str]
    space: Space | None
    feasible: BoolArray
    sign: float
    best: int | None

    @property
    def n_shown(self) -> int:
        return len(self.shown)

    @classmethod
    def of(cls, result: Any, parameters: Sequence[int | str] | None) -> RunView:
        """Read a result, with its space if it has one."""
        space = getattr(getattr(result, "optimizer", None), "space", None)
        points = [_values(x) for x in result.x_iters]
        d = len(space) if space is not None else len(points[0])
        names = [f"x{j}" for j in range(d)] if space is None else list(parameter_names(space))
        if space is None:
            coordinates = np.array(points, dtype=float)
        else:
            columns = [_column(space.dimensions[j], [x[j] for x in points]) for j in range(d)]
            coordinates = np.stack(columns, axis=1)
        shown = (
            list(range(min(d, MAX_PARAMETERS)))
            if parameters is None
            else [_place(p, names) for p in parameters]
        )
        if not shown:
            raise ValueError("parameters must name at least one parameter.")
        known = shown, names, space, feasible_of(result), sign_of(result), best_of(result)
        return cls(coordinates, values_of(result), output_of(result), *known)


def best_of(run: Any) -> int | None:
    """Place of the best evaluation of a run that satisfies all constraints; with noise, that of its answer."""
    if hasattr(run, "best"):
        return None if run.best is None else int(run.best)
    if getattr(run, "noise", 0.0):
        return next((i for i, x in enumerate(run.x_iters) if _values(x) == _values(run.x)), None)
    merit = np.where(feasible_of(run), sign_of(run) * values_of(run), np.inf)
    return int(np.argmin(merit)) if feasible_of(run).any() else None


def values_of(run: Any) -> FloatArray:
    """Values of a run, in order, from a result or an array."""
    values = np.asarray(run.func_vals if hasattr(run, "func_vals") else run, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"a run must be a result or an array of shape (n,), n ≥ 1, got shape {values.shape}")
    return values


def feasible_of(run: Any) -> BoolArray:
    """Whether each evaluation of a run succeeded and satisfies all constraints."""
    ok = np.isfinite(values_of(run))
    return ok if getattr(run, "feasible", None) is None else ok & np.asarray(run.feasible)


def of_one_output(result: Any, output: str | None = None) -> Any:
    """A result as that of one of its objectives or other outputs; one of a single objective as it is."""
    history = getattr(getattr(result, "optimizer", None), "history", None)
    if history is None or (output is None and not history.goals.has_several):
        return result
    goals, several = history.goals, history.goals.has_several
    objectives = [quantity.text for quantity in goals.objectives]
    names = list(dict.fromkeys([*objectives, *history.output_names]))
    if output is not None and output not in names:
        raise ValueError(f"output must be one of {names}, got {plain(output)}")
    name = output or names[0]
    if name in objectives:
        if not several:
            return result
        j = objectives.index(name)
        values, sign, best = result.func_vals[:, j], goals.objectives[j].sign, {}
    else:
        given = [(e.outputs or {}).get(name) for e in history.evaluations[: len(result.x_iters)]]
        values, sign = np.array([np.nan if value is None else value for value in given], dtype=float), 1.0
        # A design is best by its objective, and no method is needed that predicts low values.
        best = {"best": None if several else best_of(result), "method": "gp"}
    shared = {"x_iters": result.x_iters, "feasible": result.feasible, "optimizer": result.optimizer}
    return SimpleNamespace(func_vals=values, sign=sign, output=name, **shared, **best)


def output_of(run: Any) -> str:
    """The name of the output whose values a run shows, or a word for it."""
    if hasattr(run, "output"):
        return label(run.output)
    goals = getattr(getattr(getattr(run, "optimizer", None), "history", None), "goals", None)
    return "value" if goals is None or goals.objective is None else label(goals.objectives[0].text)


def sign_of(run: Any) -> float:
    """-1 for a run that maximizes."""
    if hasattr(run, "sign"):
        return float(run.sign)
    settings = getattr(getattr(run, "optimizer", None), "settings", None)
    return -1.0 if settings is not None and settings.maximize else 1.0


def _values(x: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """Values of a point, whether they have names or not."""
    return list(x.values() if isinstance(x, Mapping) else x)


def _place(parameter: int | str, names: Sequence[str]) -> int:
    """The place of a parameter, by place or name."""
    if isinstance(parameter, str) and parameter in names:
        return names.index(parameter)
    if isinstance(parameter, int) and 0 <= parameter < len(names):
        return parameter
    raise ValueError(
        f"parameters must be places below {len(names)} or names among {list(names)}, got {plain(parameter)}"
    )


def _column(dimension: Dimension, values: Sequence[Any]) -> FloatArray:
    """Positions of a parameter's values on its axis."""
    if isinstance(dimension, Categorical):
        return np.array([dimension.place(value) for value in values], dtype=float)
    return np.array(values, dtype=float)


def grid_size(n_shown: int) -> tuple[float, float]:
    """Size of a pair plot in inches."""
    side = max(2.1 * n_shown, 3.6)
    return side + 1.2, side


def _pair_axes(figure: Any, view: RunView, diagonal: str) -> dict[tuple[int, int], Any]:
    """Axes of a pair plot by row and column: values on the diagonal, pairs below it, nothing above."""
    last = view.n_shown - 1
    grid = figure.add_gridspec(view.n_shown, view.n_shown)
    axes = {}
    for row in range(view.n_shown):
        for column in range(row + 1):
            ax = axes[row, column] = figure.add_subplot(grid[row, column])
            _scale_axis(ax, view, view.shown[column], "x")
            if row == last:
                ax.set_xlabel(label(view.names[view.shown[column]]))
            else:
                ax.tick_params(labelbottom=False)
            if row == column:
                ax.yaxis.tick_right()
                ax.set_title(diagonal, loc="right", fontsize="small")
                continue
            _scale_axis(ax, view, view.shown[row], "y")
            if column == 0:
                ax.set_ylabel(label(view.names[view.shown[row]]))
            else:
                ax.tick_params(labelleft=False)
    return axes


def _scale_axis(ax: Any, view: RunView, j: int, which: str) -> None:
    """Scale, limits and ticks of a parameter's axis."""
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
    )  # an optional dependency

    if view.space is None:
        return
    dimension = view.space.dimensions[j]
    axis = ax.xaxis if which == "x" else ax.yaxis
    set_limits = ax.set_xlim if which == "x" else ax.set_ylim
    if isinstance(dimension, Categorical):
        places = range(0, len(dimension.choices), -(-len(dimension.choices) // MAX_CHOICES))
        axis.set_ticks(places, [label(dimension.choices[i]) for i in places])
        if which == "x":
            ax.tick_params(axis="x", labelrotation=30)
        set_limits(-0.5, len(dimension.choices) - 0.5)
    elif dimension.log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        # Four ticks at most, and labels for them alone: two inches hold no more.
        wide = dimension.high > 30.0 * dimension.low
        axis.set_major_locator(
            LogLocator(numticks=4) if wide else LogLocator(subs=(1.0, 2.0, 5.0), numticks=4)
        )
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())  # they would take half of the time of drawing
        margin = (dimension.high / dimension.low) ** 0.03
        set_limits(dimension.low / margin, dimension.high * margin)
    else:
        axis.set_major_locator(MaxNLocator(nbins=5, integer=isinstance(dimension, Integer)))
        set_limits(*padded(np.array([dimension.low, dimension.high], dtype=float), 0.03))


def draw_samples(figure: Any, view: RunView) -> None:
    """The pair plot of `plot_samples`, into a figure or a subfigure."""
    from matplotlib.lines import Line2D

    axes = _pair_axes(figure, view, view.output)
    order = np.arange(1, len(view.values) + 1)
    for (row, column), ax in axes.items():
        points = _scatter(ax, view, column, row, c=order, cmap=ORDER_MAP, s=14)
        if row == column:
            scale_values(ax, view.values)
    figure.colorbar(points, ax=list(axes.values()), label="evaluation", shrink=0.7)
    if (np.isfinite(view.values) & ~view.feasible).any():
        kinds = (("o", "satisfies all constraints"), (INFEASIBLE, "violates a constraint"))
        handles = [
            Line2D([], [], linestyle="", marker=m, color=GREY, markersize=5, label=text) for m, text in kinds
        ]
        figure.legend(handles=handles, loc="upper right", frameon=False, fontsize="small")


def _scatter(ax: Any, view: RunView, column: int, row: int, **style: Any) -> Any:
    """Evaluated points on one panel; marked are failures, what violates a constraint, and the best."""
    x = view.coordinates[:, view.shown[column]]
    y = view.values if row == column else view.coordinates[:, view.shown[row]]
    ok = np.isfinite(view.values)
    colours = style.pop("c")
    if not isinstance(colours, str):
        style |= {"vmin": 1, "vmax": len(view.values)}

    def scatter(which: BoolArray, marker: str) -> Any:
        c = colours if isinstance(colours, str) else colours[which]
        return ax.scatter(x[which], y[which], c=c, marker=marker, **style)

    drawn, infeasible = scatter(view.feasible, "o"), ok & ~view.feasible
    if infeasible.any():
        scatter(infeasible, INFEASIBLE)
    if row != column and not ok.all():
        ax.scatter(x[~ok], y[~ok], marker="x", color=RED, s=20)
    if view.best is not None:
        ax.scatter(
            x[view.best],
            y[view.best],
            marker="*",
            s=110,
            color=RED,
            edgecolors="white",
            linewidths=0.7,
            zorder=3,
        )
    return drawn


def fit_to_run(result: Any) -> Model:
    """A model of all successful evaluations of a run, made with its settings; of negated values if it maximizes."""
    optimizer = result.optimizer
    values = values_of(result)
    ok = np.isfinite(values)
    if ok.sum() < 2:
        raise ValueError(f"result must hold at least two successful evaluations, got {ok.sum()}")
    codes = optimizer.space.encode([_values(x) for x, kept in zip(result.x_iters, ok, strict=True) if kept])
    bounds = [(0.0, 1.0)] * optimizer.space.dim
    settings = optimizer.settings
    y = sign_of(result) * values[ok]
    method = getattr(result, "method", settings.method)
    options = settings.options if method == settings.method else {}
    noise = bool(getattr(result, "noise", 0.0))
    return fit_model(codes, y, method, bounds=bounds, rng=0, noise=noise, **options)


def _draw_surfaces(figure: Any, axes: Any, view: RunView, grids: Any, surfaces: Any) -> None:
    """Contours, or cells where a parameter has choices, with one colour scale for all panels."""
    from matplotlib.colors import BoundaryNorm  # an optional dependency

    assert view.space is not None
    # Levels at quantiles: a few huge values would leave one colour for everything that matters.
    values = np.concatenate([surface.ravel() for surface in surfaces.values()])
    levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, 16)))
    levels = levels if levels.size > 1 else np.linspace(*padded(values, 0.1), 16)
    norm = BoundaryNorm(levels, ncolors=256, extend="neither")
    for (row, column), surface in surfaces.items():
        dimensions = [view.space.dimensions[view.shown[i]] for i in (column, row)]
        x, y = (_positions(d, grids[view.shown[i]]) for d, i in zip(dimensions, (column, row), strict=True))
        if any(isinstance(d, Categorical) for d in dimensions):
            drawn = axes[row, column].pcolormesh(x, y, surface, shading="nearest", norm=norm, cmap="cividis")
        else:
            drawn = axes[row, column].contourf(x, y, surface, levels=levels, norm=norm, cmap="cividis")
        _scatter(axes[row, column], view, column, row, c="white", s=9, edgecolors=BLACK, linewidths=0.5)
    figure.colorbar(
        drawn, ax=list(axes.values()), label="predicted value", spacing="uniform", format="%.3g", shrink=0.7
    )


def _shares_of(dimension: Dimension, n_grid: int) -> FloatArray:
    """Shares of a parameter's range that a panel shows: a grid, or one per value where there are few."""
    size = dimension.size
    if isinstance(dimension, Categorical) or size <= n_grid:
        centres: FloatArray = (np.arange(int(size), dtype=float) + 0.5) / size
        return centres
    grid: FloatArray = np.linspace(0.0, 1.0, n_grid)
    return grid


def _positions(dimension: Dimension, shares: FloatArray) -> FloatArray:
    """Positions on the axis of the values at given shares of a parameter."""
    return _column(dimension, [dimension.quantile(float(u)) for u in shares])


def partial_dependence(
    model: Model, space: Space, shares: FloatArray, fixed: Mapping[int, ArrayLike]
) -> FloatArray:
    """Mean prediction over the shares (s, d) with some parameters fixed at m values each; (m,)."""
    m = len(np.asarray(next(iter(fixed.values()))))
    codes = np.empty((m, len(shares), space.dim))
    # A code is made of those of the parameters: encoding each of their values once is 10 times as fast.
    start = 0
    for j, dimension in enumerate(space.dimensions):
        part = slice(start, start := start + dimension.width)
        if j in fixed:
            codes[:, :, part] = _codes(dimension, np.asarray(fixed[j], dtype=float))[:, None, :]
        else:
            codes[:, :, part] = _codes(dimension, shares[:, j])
    mean = model.predict(codes.reshape(-1, space.dim)).mean
    out: FloatArray = mean.reshape(m, -1).mean(axis=1)
    return out


def _codes(dimension: Dimension, shares: FloatArray) -> FloatArray:
    """Codes of the values at given shares of a parameter, one row for each."""
    values: list[Any] = [dimension.quantile(u) for u in shares.tolist()]
    rows = [dimension.encode(value) for value in values]
    return np.array(rows, dtype=np.float64).reshape(len(rows), dimension.width)
