"""GP, tcGP and reGP on the paper's four main functions: best value after n0 + 60 evaluations.

    python benchmarks/efficiency/bo_comparison.py run [--seeds 20] [--jobs 2] [--methods gp tcgp regp] [--store FILE]
    python benchmarks/efficiency/bo_comparison.py report [--store FILE] [--picture FILE]

A method may carry options: tcgp:delta=0.1,search=paper. Every method gets the same initial designs (n0 = 10 d
uniform points) and expected improvement. Runs are kept in ``--store``, in the format of runs.py. The report gives
final medians and quartiles and a sign test of each method against the first; --picture draws that of docs/index.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binomtest

import tcgp
from runs import Key, Run, Task, load, make_runs
from tcgp_experiments.plan.methods import Method

PROBLEMS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4")
STORE = Path(__file__).parent / "results" / "bo_comparison.csv"
LABELS = {"gp": "GP", "tcgp": "tcGP", "regp": "reGP"}
COLORS = {"gp": "#555555", "tcgp": "#D55E00", "regp": "#0072B2"}  # safe for colour-blind readers
TITLES = {
    "goldstein-price": "Goldstein–Price, d = 2",
    "dixon-price4": "Dixon–Price, d = 4",
    "rosenbrock6": "Rosenbrock, d = 6",
    "ackley4": "Ackley, d = 4",
}

Gaps = dict[str, dict[str, np.ndarray]]  # function, method: best value minus minimum, (seeds, evaluations)


def optimize(task: Task) -> Run:
    """Make one run."""
    (name, label, seed, n0), iterations = task
    problem, method = tcgp.problems.get(name), Method.parse(label)
    X0 = np.random.default_rng([seed, problem.dim]).uniform(*problem.bounds.T, (n0, problem.dim))
    start = time.process_time()
    result = tcgp.minimize(
        problem,
        problem.bounds,
        n_evals=n0 + iterations,
        n_initial=n0,
        x0=X0,
        method=method.name,
        rng=seed,
        options=dict(method.options),
    )
    seconds = (time.process_time() - start) / iterations
    best = np.minimum.accumulate(result.func_vals)[n0 - 1 :]
    return Run(task.key, seconds, best - problem.minimum)


def collect(runs: Mapping[Key, Run], methods: Sequence[str]) -> Gaps:
    """The runs by function and method, in the order of the seeds."""
    gaps: Gaps = {}
    for key in sorted(runs, key=lambda key: (PROBLEMS.index(key.function), key.seed)):
        gaps.setdefault(key.function, {}).setdefault(key.method, []).append(runs[key].gaps)
    return {name: {m: np.array(row[m]) for m in methods if m in row} for name, row in gaps.items()}


def table(gaps: Gaps, methods: Sequence[str]) -> str:
    """Markdown: median (quartiles) of the final best value, and wins against the first method."""
    lines = ["| function | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name, row in gaps.items():
        minimum, cells = tcgp.problems.get(name).minimum, []
        final = {method: curves[:, -1] for method, curves in row.items()}
        for method in methods:
            low, median, high = np.quantile(final[method], [0.25, 0.5, 0.75]) + minimum
            cell = f"{median:.3g} ({low:.3g}, {high:.3g})"
            if method != methods[0]:
                wins = int((final[method] < final[methods[0]]).sum())
                cell += f", {wins}/{len(final[method])}, p = {binomtest(wins, len(final[method])).pvalue:.1g}"
            cells.append(cell)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(gaps: Gaps, picture: Path) -> None:
    """Median and quartiles of the best value minus the minimum, one panel per function."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 3.2), layout="constrained")
    axes = np.ravel(figure.subplots(1, len(gaps)))
    for ax, (name, row) in zip(axes, gaps.items(), strict=True):
        for method, curves in row.items():
            low, median, high = np.quantile(np.maximum(curves, 1e-8), [0.25, 0.5, 0.75], axis=0)
            n = np.arange(len(median))
            ax.plot(n, median, color=COLORS.get(method), label=LABELS.get(method, method), lw=1.8)
            ax.fill_between(n, low, high, color=COLORS.get(method), alpha=0.15, lw=0)
        ax.set(yscale="log", title=TITLES[name], xlabel="evaluations after the initial design")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("best value − minimum")
    axes[0].legend(frameon=False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=["gp", "tcgp", "regp"])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--picture", type=Path, help="for the documentation: docs/images/comparison.png")
    args = parser.parse_args()
    if args.command == "run":
        keys = [
            Key(name, method, seed, 10 * tcgp.problems.get(name).dim)
            for seed in range(args.seeds)
            for name in args.problems
            for method in args.methods
        ]
        make_runs(optimize, [Task(key, args.iterations) for key in keys], args.jobs, args.store)
        return
    gaps = collect(load(args.store), args.methods)
    print(table(gaps, args.methods))
    if args.picture:
        draw(gaps, args.picture)


if __name__ == "__main__":
    main()
