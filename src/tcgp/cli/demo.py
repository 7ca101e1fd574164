"""``tcgp demo``: what tail calibration gains, on Goldstein-Price."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import FloatArray
from tcgp.cli.console import DONE, UsageError, format_table, note, relative, show
from tcgp.cli.pictures import can_draw, is_picture, new_figure, save
from tcgp.cli.replacing import check_replaceable

if TYPE_CHECKING:
    from tcgp.optimizer.result import Result

__all__ = ["run"]

PROBLEM = "goldstein-price"
METHODS = {"GP": "gp", "tcGP": "tcgp", "auto": "auto"}

STATUS_INTERRUPTED = 6  # of tcgp.minimize


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp demo``."""
    from tcgp.problems import get

    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no directory {folder!r} for the picture; choose another --output")
    check_replaceable(options.output, "the picture", is_picture, force=options.force)
    problem = get(PROBLEM)
    print(
        f"Goldstein-Price, 2 parameters, minimum {problem.minimum:g}: {options.n_evals} evaluations, "
        f"{options.seeds} seeds.\nA plain GP, tcGP, and the default, auto, where tcGP takes turns with other "
        "models. Their initial designs start with the same points."
    )
    results: dict[str, list[Result]] = {label: [] for label in METHODS}
    for seed in range(options.seeds):
        for label, method in METHODS.items():
            result = _minimize(method, options.n_evals, seed)
            if result.status == STATUS_INTERRUPTED:
                raise KeyboardInterrupt
            results[label].append(result)
        values = ", ".join(f"{label} {runs[-1].fun:.5g}" for label, runs in results.items())
        note(f"seed {seed + 1} of {options.seeds}: {values}")
    print()
    print(_table(results, options.n_evals))
    _draw(results, options.output, problem.minimum)
    return DONE


def _minimize(method: str, n_evals: int, seed: int) -> Result:
    from tcgp.problems import get
    from tcgp.running.minimize import minimize

    problem = get(PROBLEM)
    return minimize(problem, problem.bounds, n_evals=n_evals, method=method, rng=seed)


def _table(results: dict[str, list[Result]], n_evals: int) -> str:
    """Median and quartiles of the best value during the run."""
    stages = sorted({max(round(share * n_evals), 1) for share in (0.25, 0.5, 0.75, 1.0)})
    rows = [["best value after", *(f"{n} evaluations" for n in stages)]]
    for label, runs in results.items():
        best = np.minimum.accumulate([r.func_vals for r in runs], axis=1)  # (seeds, n_evals)
        rows.append([label, *(_quartiles(best[:, n - 1]) for n in stages)])
    return format_table(rows) + "\nmedian over the seeds (and quartiles)"


def _quartiles(values: FloatArray) -> str:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.4g} ({low:.4g} to {high:.4g})"


def _draw(results: dict[str, list[Result]], path: str, minimum: float) -> None:
    if not can_draw():
        note("the picture needs matplotlib: pip install matplotlib")
        return
    from tcgp.plotting import plot_convergence

    figure = new_figure(6.0, 4.4)
    ax = plot_convergence(results, minimum=minimum, ax=figure.subplots())
    ax.set_title("Goldstein-Price: median and quartiles")
    save(figure, path)
    show(f"picture: {relative(path)}")
