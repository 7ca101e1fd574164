"""Draw the pictures of the gallery from the code of its pages.

``python docs/gallery/make.py`` runs the code blocks of each page in a temporary directory and draws ``PAGE.svg`` from
what they computed; ``python docs/gallery/make.py beam yield`` draws only these. Needs matplotlib and scikit-learn.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter

import tcgp

HERE = Path(__file__).resolve().parent
BLACK, RED, BLUE, GREEN, GREY = "#000000", "#D55E00", "#0072B2", "#009E73", "0.65"
# The same file each time: without a date, and with identifiers that are not random.
matplotlib.rcParams.update({"svg.hashsalt": "gallery", "font.size": 10, "axes.spines.top": False})
matplotlib.rcParams.update({"axes.spines.right": False, "legend.frameon": False})


def new_axes(n: int = 1) -> Any:
    """Axes side by side, in a figure that can be read on a phone."""
    return Figure(figsize=(5.2 if n == 1 else 6.0, 3.0), layout="constrained").subplots(1, n)


def run_code(page: str) -> dict[str, Any]:
    """Run the code blocks of a page in the current directory, as a reader would; the names they define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    for kind, body in re.findall(r"^```(\S+)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if kind == "python":
            exec(compile(body, f"{page}.md", "exec"), names)
        elif kind == "{code-block}":
            caption, content = body.split("\n\n", 1)
            Path(caption.removeprefix(":caption: ")).write_text(content, encoding="utf-8")
        elif kind == "console":
            for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE):
                subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    return names


def draw_convergence(ax: Axes, values: np.ndarray, n_initial: int, *, largest: bool = False) -> None:
    """Values and the best so far against the number of evaluations."""
    number = np.arange(1, len(values) + 1)
    best = np.fmax.accumulate(values) if largest else np.fmin.accumulate(values)
    ax.axvspan(0.5, n_initial + 0.5, facecolor="0.94", edgecolor="0.8", label="initial design")
    ax.plot(number, values, "o", color=GREY, markersize=3.5, label="evaluations")
    ax.step(number, best, where="post", color=RED, label="best so far")
    ax.set_xlim(0.5, len(values) + 0.5)
    ax.set_xlabel("number of evaluations")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def beam(names: dict[str, Any]) -> Figure:
    outputs = [e.outputs for e in names["result"].optimizer.evaluations]
    ok = names["result"].feasible
    axes = new_axes(2)
    mass = np.array([o["mass"] for o in outputs])
    for ax, name, limit, unit in zip(
        axes, ("stress", "deflection"), (150.0, 8.0), ("MPa", "mm"), strict=True
    ):
        value = np.array([o[name] for o in outputs])
        ax.axvspan(limit, 2 * value.max(), color="0.94")
        ax.plot(value[~ok], mass[~ok], "D", color=GREY, markersize=4, label="violates a limit")
        ax.plot(value[ok], mass[ok], "o", color=BLUE, markersize=4, label="satisfies all")
        best = np.flatnonzero(ok)[np.argmin(mass[ok])]
        ax.plot(value[best], mass[best], "*", color=RED, markersize=13, label="best")
        ax.set(xscale="log", xlabel=f"{name}, {unit}", xlim=(value.min() / 1.2, value.max() * 1.2))
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("mass, kg")
    axes[1].legend()
    return axes[0].figure


def front(names: dict[str, Any]) -> Figure:
    result = names["result"]
    ax = new_axes()
    mass, sag = result.func_vals.T
    on = [point.index for point in result.front]
    ok = result.feasible
    ax.plot(mass[~ok], sag[~ok], "D", color=GREY, markersize=4, label="violates the limit")
    ax.plot(mass[ok], sag[ok], "o", color=BLUE, markersize=4, label="satisfies it")
    ax.step(mass[on], sag[on], where="post", color=RED, linewidth=1.0)
    ax.plot(mass[on], sag[on], "o", color=RED, markersize=5, label="front")
    knee = result.knee().index
    ax.plot(mass[knee], sag[knee], "*", color=RED, markersize=13, label="knee")
    ax.set(xlabel="mass, kg", ylabel="sag, mm", yscale="log")
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks([0.5, 1, 2, 4, 8])
    ax.legend()
    return ax.figure


def yield_(names: dict[str, Any]) -> Figure:
    ax = new_axes()
    draw_convergence(ax, names["result"].func_vals, 12, largest=True)
    ax.set_ylabel("yield, %")
    ax.legend(loc="lower right")
    return ax.figure


def controller(names: dict[str, Any]) -> Figure:
    result, respond = names["result"], names["step_response"]
    ax = new_axes()
    first = result.x_iters[int(np.argmin(result.func_vals[:12]))]
    time = 0.02 * np.arange(1, 501)
    ax.axhline(1.0, color=GREY, linestyle=":")
    ax.plot(time, respond(*first), color=BLACK, label="best of the initial design")
    ax.plot(time, respond(**result.x), color=RED, label="best after 40 evaluations")
    ax.set(xlabel="time, s", ylabel="position", xlim=(0.0, 6.0))
    ax.legend(loc="lower right")
    return ax.figure


def hyperparameters(names: dict[str, Any]) -> Figure:
    result = names["result"]
    axes = new_axes(2)
    for ax, kernel in zip(axes, ("rbf", "sigmoid"), strict=True):
        chosen = [i for i, x in enumerate(result.x_iters) if x[2] == kernel]
        x, y = np.array([result.x_iters[i][:2] for i in chosen]).T
        dots = ax.scatter(x, y, c=result.func_vals[chosen], cmap="viridis", vmin=54.0, vmax=78.0, s=25)
        if result.x["kernel"] == kernel:
            ax.plot(result.x["C"], result.x["gamma"], "*", color=RED, markersize=13)
        ax.set(xscale="log", yscale="log", xlabel="C", xlim=(0.07, 1.4e4), ylim=(7e-6, 14.0), title=kernel)
    axes[0].set_ylabel("gamma")
    axes[1].figure.colorbar(dots, ax=axes, label="root mean squared error", extend="max")
    return axes[0].figure


def monte_carlo(names: dict[str, Any]) -> Figure:
    ax, cost = new_axes(), names["cost"]
    reorder, _ = names["fixed"].x
    levels = np.linspace(60.0, 300.0, 60)
    fresh = [cost((reorder, level), seed) for seed, level in enumerate(levels, 5000)]
    mean = [np.mean([cost((reorder, level), seed) for seed in range(6000, 6040)]) for level in levels]
    ax.plot(levels, fresh, "o", color=GREY, markersize=3.5, label="fresh random numbers")
    ax.plot(
        levels, [cost((reorder, level), 0) for level in levels], color=BLUE, label="common random numbers"
    )
    ax.plot(levels, mean, color=BLACK, linestyle="--", label="mean of 40 simulations")
    ax.set(xlabel="order-up-to level", ylabel="cost per day")
    ax.legend()
    return ax.figure


def mixed(names: dict[str, Any]) -> Figure:
    result = names["result"]
    axes = new_axes(2)
    draw_convergence(axes[0], result.func_vals, 16)
    axes[0].set(ylabel="kelvins and euros", yscale="log")
    axes[0].yaxis.set_major_formatter(ScalarFormatter())
    axes[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0].set(yticks=[20, 50, 100, 200], title="best so far")
    for material, colour, marker in zip(
        ("aluminium", "copper", "steel"), (BLUE, RED, BLACK), "osD", strict=True
    ):
        points = [x for x in result.x_iters if x[0] == material]
        axes[1].plot(
            [x[1] for x in points],
            [1e3 * x[2] for x in points],
            marker,
            color=colour,
            markersize=4,
            label=material,
        )
    axes[1].plot(result.x["fins"], 1e3 * result.x["height"], "*", color=GREEN, markersize=13, label="best")
    axes[1].set(xlabel="fins", ylabel="height, mm")
    axes[1].legend(loc="upper center", ncols=2, fontsize="small", bbox_to_anchor=(0.45, 1.28))
    return axes[0].figure


def crashes(names: dict[str, Any]) -> Figure:
    result = names["result"]
    ax = new_axes()
    X, failed = np.array(result.x_iters), np.isnan(result.func_vals)
    speed = np.linspace(0.0, 9.0, 200)
    ax.fill_between(speed, 5.0 + 2.0 * np.sin(speed), 10.0, color="0.94")
    ax.axvspan(9.0, 10.0, color="0.94", label="fails")
    ax.plot(*X[failed].T, "x", color=BLACK, markersize=5, label="failed")
    ax.plot(*X[~failed].T, "o", color=BLUE, markersize=4, label="succeeded")
    ax.plot(*result.x, "*", color=RED, markersize=13, label="best")
    ax.set(xlabel="speed", ylabel="load", xlim=(-0.2, 10.2), ylim=(-0.2, 10.2))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax.figure


def parallel(names: dict[str, Any]) -> Figure:
    """The timeline of the page's function, in threads that record it.

    It is 80 times as slow as on the page, so that the time between evaluations is as small as it is in real life.
    """
    import threading
    import time
    import types
    from concurrent.futures import ThreadPoolExecutor

    code: dict[str, Any] = {"__name__": "wing"}
    exec(Path("wing.py").read_text(encoding="utf-8"), code)
    code["time"] = types.SimpleNamespace(sleep=lambda seconds: time.sleep(80.0 * seconds))
    spans: list[tuple[int, float, float]] = []
    threads: dict[int, int] = {}

    def timed(x: Any) -> float:
        row, start = threads.setdefault(threading.get_ident(), len(threads)), time.perf_counter()
        value: float = code["drag"](x)
        spans.append((row, start, time.perf_counter()))
        return value

    with ThreadPoolExecutor(4) as pool:
        tcgp.minimize(timed, [(-1.0, 1.0), (-1.0, 1.0)], n_evals=24, workers=pool, rng=0)
    ax, begin = new_axes(), min(start for _, start, _ in spans)
    for row, start, end in spans:
        ax.barh(
            row + 1, end - start, left=start - begin, height=0.6, color=BLUE, edgecolor="white", linewidth=0.6
        )
    ax.set(xlabel="time, s", ylabel="worker", yticks=range(1, 5))
    ax.invert_yaxis()
    return ax.figure


def restart(names: dict[str, Any]) -> Figure:
    ax = new_axes()
    draw_convergence(ax, names["result"].func_vals, 25)
    ax.patches[0].set_label("old runs")
    ax.set(yscale="log", ylabel="loss")
    ax.legend(loc="lower left")
    return ax.figure


def shell(names: dict[str, Any]) -> Figure:
    run = tcgp.Optimizer.read("flap.tcgp/journal.jsonl")
    ax = new_axes()
    draw_convergence(ax, run.result().func_vals, 8)
    ax.set_ylabel("drag")
    ax.legend()
    return ax.figure


PICTURES: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "beam": beam,
    "front": front,
    "yield": yield_,
    "controller": controller,
    "hyperparameters": hyperparameters,
    "monte_carlo": monte_carlo,
    "mixed": mixed,
    "crashes": crashes,
    "parallel": parallel,
    "restart": restart,
    "shell": shell,
}


def main() -> None:
    for page in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            figure = PICTURES[page](run_code(page))
            figure.savefig(HERE / f"{page}.svg", metadata={"Date": None})
            os.chdir(HERE)
        print(HERE / f"{page}.svg")


if __name__ == "__main__":
    main()
