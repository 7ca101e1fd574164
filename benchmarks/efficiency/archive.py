"""How far is a method from the best of the COCO archive?

    python benchmarks/efficiency/archive.py METHOD... [--set validation] [--n0 3] [--seeds 2] [--iterations 60]
        [--store FILE] [--picture FILE]

For every BBOB function of the set and every target that ``best09-16``, the best of the archive's algorithms for each
target, reaches with more evaluations than the design has and no more than the stored runs have: the expected running
time (evaluations of all runs up to the target, over the number of runs that reach it), as a multiple of the archive's.
A target that no run reaches counts as 20. Prints the geometric mean and the number of targets reached, of all targets
and of those down to 1e-6 of the regret of a random point, below which a function counts as solved in the other reports.
The picture shows the share of targets reached against evaluations, by group of functions. Targets are 10^2 to 10^-8,
five for each decade. Needs ``pip install cocopp six matplotlib``, which ships the archive's data.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import auto
import functions
from runs import SOLVED, Key, Run, load

ARCHIVE = "best09-16"
UNREACHED = 20.0
TARGETS = 10.0 ** np.arange(2.0, -8.1, -0.2)
NAME = re.compile(r"bbob:f(\d+):d(\d+):i\d+")


def main() -> None:
    arguments = _arguments()
    names, per_dimension = auto.SETS[arguments.set]
    names = [name for name in names if NAME.fullmatch(name)]
    runs = load(arguments.store)
    # Methods are compared after as many evaluations, and with as many chances to reach a target.
    if arguments.seeds is not None:
        runs = {key: run for key, run in runs.items() if key.seed < arguments.seeds}
    if arguments.iterations is not None:
        runs = {key: replace(run, gaps=run.gaps[: arguments.iterations + 1]) for key, run in runs.items()}
    best = archive()
    found = {}
    for method in arguments.methods:
        found[method] = ratios(runs, best, names, method, arguments.n0 or per_dimension)
    print("| | ratio to best09-16 | reached | ratio until solved | reached | worst functions |")
    print("|---|---|---|---|---|---|")
    for method, rows in found.items():
        until_solved = [row for row in rows if row[1] >= SOLVED * functions.random_regret(row[0])]
        print(f"| {method} | {summary(rows)} | {summary(until_solved)} | {', '.join(worst(rows))} |")
    if arguments.picture:
        draw(runs, best, names, arguments.methods, arguments.n0 or per_dimension, arguments.picture)


def archive() -> Mapping[tuple[int, int], Any]:
    """Data of best09-16, by dimension and function."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            import cocopp
            from cocopp import bestalg
        except ModuleNotFoundError as error:
            raise SystemExit(f"there is no {error.name}: pip install cocopp six matplotlib") from None

        folder = os.path.join(os.path.dirname(cocopp.__file__), "refalgs")
        found = bestalg.load_reference_algorithm(os.path.join(folder, "best09-16-bbob.tar.gz"))
    return found  # type: ignore[no-any-return]


def ratios(
    runs: Mapping[Key, Run], best: Mapping[tuple[int, int], Any], names: Sequence[str], method: str, n0: int
) -> list[tuple[str, float, float]]:
    """Function, target and ratio of expected running times, for all targets in reach of the archive."""
    rows = []
    for name in names:
        curves, first = _curves(runs, name, method, n0)
        if not curves:
            continue
        longest = first + max(map(len, curves)) - 1
        for target, theirs in zip(TARGETS, _running_times(best, name), strict=True):
            if first < theirs <= longest:
                ours = expected_running_time(curves, first, target)
                rows.append((name, float(target), min(ours / theirs, UNREACHED)))
    return rows


def summary(rows: Sequence[tuple[str, float, float]]) -> str:
    """Geometric mean of the ratios, and the number of targets reached."""
    values = np.array([ratio for _, _, ratio in rows])
    mean = np.exp(np.log(values).mean()) if len(values) else np.nan
    return f"{mean:.2f} | {int((values < UNREACHED).sum())} of {len(values)}"


def expected_running_time(curves: Sequence[np.ndarray], first: int, target: float) -> float:
    """Evaluations of all runs up to the target, over the number of runs that reach it."""
    spent, reached = 0, 0
    for gaps in curves:
        below = np.flatnonzero(gaps <= target)
        spent += first + (int(below[0]) if len(below) else len(gaps) - 1)
        reached += bool(len(below))
    return spent / reached if reached else np.inf


def worst(rows: Sequence[tuple[str, float, float]], n: int = 4) -> list[str]:
    """The functions with the largest ratios, and these."""
    means = {
        name: np.exp(np.mean([np.log(ratio) for other, _, ratio in rows if other == name]))
        for name in dict.fromkeys(row[0] for row in rows)
    }
    return [f"{name} {means[name]:.1f}" for name in sorted(means, key=lambda name: -means[name])[:n]]


def draw(
    runs: Mapping[Key, Run],
    best: Mapping[tuple[int, int], Any],
    names: Sequence[str],
    methods: Sequence[str],
    n0: int,
    path: Path,
) -> None:
    """By group of BBOB and in all: the share of the archive's targets that are reached, against evaluations."""
    import matplotlib.pyplot as plt

    panels = {
        group: [n for n in names if functions.group_of(n) == group]
        for group in functions.BBOB_GROUPS.values()
    }
    panels["all"] = list(names)
    budgets = np.geomspace(3.0, 60.0, 200)  # evaluations per dimension
    figure, axes = plt.subplots(2, 3, figsize=(10.0, 6.0), layout="constrained", sharex=True, sharey=True)
    for (group, some), ax in zip(panels.items(), axes.flat, strict=True):
        for method in (ARCHIVE, *methods):
            times = np.array(_times(runs, best, some, method, methods[0], n0))
            shares = [np.mean(times <= budget) for budget in budgets]
            style = {"color": "0.5", "linestyle": "--"} if method == ARCHIVE else {}
            ax.plot(budgets, shares, label=method.removeprefix("peer:"), **style)
        ax.set_title(group)
    axes[0, 0].set(xscale="log", ylim=(0.0, 1.0))
    axes[0, 0].set_xticks((3, 5, 10, 20, 50), (3, 5, 10, 20, 50))
    axes[0, 0].set_xticks((), minor=True)
    axes[0, 0].legend(frameon=False)
    figure.supxlabel("evaluations / d")
    figure.supylabel("share of targets reached")
    figure.savefig(path, dpi=150)


def _times(
    runs: Mapping[Key, Run],
    best: Mapping[tuple[int, int], Any],
    names: Sequence[str],
    method: str,
    reference: str,
    n0: int,
) -> list[float]:
    """Evaluations per dimension until each target in reach of the archive, run by run; infinite for one not reached."""
    times = []
    for name in names:
        curves, first = _curves(runs, name, reference if method == ARCHIVE else method, n0)
        if not curves:
            continue
        dim, longest = functions.get(name).dim, first + max(map(len, curves)) - 1
        for target, theirs in zip(TARGETS, _running_times(best, name), strict=True):
            if not first < theirs <= longest:
                continue
            if method == ARCHIVE:
                times.append(theirs / dim)
                continue
            for gaps in curves:
                below = np.flatnonzero(gaps <= target)
                times.append((first + below[0]) / dim if len(below) else np.inf)
    return times


def _running_times(best: Mapping[tuple[int, int], Any], name: str) -> np.ndarray:
    """Expected running times of the archive for all targets."""
    match = NAME.fullmatch(name)
    assert match is not None
    number, dim = map(int, match.groups())
    return np.array(best[dim, number].detERT(TARGETS), dtype=float)


def _curves(
    runs: Mapping[Key, Run], name: str, method: str, per_dimension: int
) -> tuple[list[np.ndarray], int]:
    """Gaps of all stored runs from the end of the design on, and the size of the design."""
    n0 = per_dimension * functions.get(name).dim
    kept = [r.gaps for k, r in runs.items() if (k.function, k.method, k.n0) == (name, method, n0)]
    return kept, n0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--set", default="validation", choices=auto.SETS)
    parser.add_argument("--n0", type=int, default=None, help="points of the initial design per dimension")
    parser.add_argument("--seeds", type=int, default=None, help="the first so many; by default all")
    parser.add_argument("--iterations", type=int, default=None, help="of each run that count; by default all")
    parser.add_argument("--store", type=Path, default=auto.STORE)
    parser.add_argument("--picture", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
