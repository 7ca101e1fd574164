"""Learned constraints: which model of a limit finds the best feasible point soonest, and are others sooner?

    python benchmarks/efficiency/constraints.py run SET METHOD... [--seeds 10] [--iterations 60]
    python benchmarks/efficiency/constraints.py report SET METHOD... [--at 30 60] [--reference ours]

SET is ``tuning`` or ``validation`` (see constrained_problems.py), or names of problems with commas between. A method
is ``ours``, the default; ``ours:MODEL`` with another model of the limits (``MODELS`` below); or ``peer:NAME``
(constrained_peers.py). All methods of a seed begin with the same uniform design of 3 d points. Runs are kept in the
format of runs.py, with an infinite gap until a point is feasible; a stopped benchmark continues where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import wilcoxon

import constrained_problems as problems
import tcgp
from constrained_peers import PEERS
from runs import Key, Run, Task, load, make_runs, shares_of_evaluations, shares_table, verdict
from tcgp.methods.portfolio import PORTFOLIOS, Member, Portfolio
from tcgp.search.acquisition import LIMIT_OPTIONS

STORE = Path(__file__).parent / "results" / "constraints.csv"
PER_DIMENSION = 3  # points of the design
SOLVED = 1e-6  # regrets below this share of that of a random point count as this
NEVER = 3.0  # log10 of the regret of a run without a feasible point: worse than any other

# Of an output with a limit: the method and its options.
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "gp": ("gp", LIMIT_OPTIONS),
    "long": ("gp", {"selection": "pooled"}),
    "tcgp": ("tcgp", LIMIT_OPTIONS),
    "occ": ("tcgp-occ", LIMIT_OPTIONS),
    "regp": ("regp", LIMIT_OPTIONS),
    "auto": ("auto", {}),
    "turns": ("limit-turns", {}),
}
PORTFOLIOS["limit-turns"] = Portfolio(
    members=(
        Member("gp", LIMIT_OPTIONS),
        Member("regp", {**LIMIT_OPTIONS, "shortest": 1.0, "least": 5}),
    ),
    turns=((0,), (1,)),
    options={},
)


def main() -> None:
    arguments = _arguments()
    names = [name for given in arguments.sets for name in problems.SETS.get(given, (given,))]
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    if arguments.command == "run":
        tasks = [
            Task(Key(name, method, seed, PER_DIMENSION * problems.get(name).dim), arguments.iterations)
            for seed in range(arguments.seeds)
            for name in names
            for method in arguments.methods
        ]
        make_runs(optimize, tasks, arguments.jobs, arguments.store)
    else:
        print(report(load(arguments.store), names, arguments.methods, arguments.at, arguments.reference))


# ---- runs ----


def optimize(task: Task) -> Run:
    """Make one run."""
    (name, method, seed, n0), iterations = task
    problem = problems.get(name)
    X = problem.draw(np.random.default_rng([seed, zlib.crc32(name.encode())]), n0)
    V = np.array([problem(x) for x in X])
    start = time.process_time()
    if method.startswith("peer:"):
        values = PEERS[method.removeprefix("peer:")](problem, X, V, iterations, seed)
    else:
        values = _ours(problem, X, V, iterations, seed, method.partition(":")[2])
    seconds = (time.process_time() - start) / iterations
    V = np.vstack([V, values])
    best = np.minimum.accumulate(np.where(problems.is_feasible(V), V[:, 0], np.inf))[n0 - 1 :]
    best = np.concatenate(
        [best, np.repeat(best[-1:], iterations + 1 - len(best))]
    )  # of a peer that stopped early
    return Run(task.key, seconds, best - problem.minimum)


def _ours(
    problem: problems.Problem, X: np.ndarray, V: np.ndarray, iterations: int, seed: int, model: str
) -> list[np.ndarray]:
    outputs = ["f", *(f"g{i}" for i in range(1, V.shape[1]))]
    space = [
        tcgp.Integer(int(low), int(high)) if i in problem.integers else (low, high)
        for i, (low, high) in enumerate(problem.bounds)
    ]
    values: list[np.ndarray] = []

    def fun(x: Sequence[float]) -> dict[str, float]:
        values.append(problem(np.array(x, dtype=float)))
        return _named(outputs, values[-1])

    home = "tcgp.search.acquisition"
    chosen = dict(zip(("LIMIT_METHOD", "LIMIT_OPTIONS"), MODELS[model], strict=True)) if model else {}
    with mock.patch.multiple(home, **chosen) if chosen else contextlib.nullcontext():
        tcgp.minimize(
            fun,
            space,
            n_evals=iterations,
            n_initial=len(X),
            x0=X.tolist(),
            y0=[_named(outputs, row) for row in V],
            objective="f",
            constraints=[f"{output} <= 0" for output in outputs[1:]],
            rng=seed,
        )
    return values


def _named(outputs: Sequence[str], values: np.ndarray) -> dict[str, float]:
    return dict(zip(outputs, values.tolist(), strict=True))


# ---- report ----


def report(
    runs: Mapping[Key, Run],
    names: Sequence[str],
    methods: Sequence[str],
    budgets: Sequence[int],
    reference: str,
) -> str:
    """Markdown: medians of log10 regret, paired comparisons with the reference, first feasible points."""
    curves = {name: _common(runs, name, methods) for name in names}
    parts = []
    for budget in budgets:
        table = {
            name: {m: np.array([c[budget] for c in row[m]]) for m in methods}
            for name, row in curves.items()
            if all(len(row[m]) and min(map(len, row[m])) > budget for m in methods)
        }
        if table:
            parts += [_regrets(table, methods, budget), _verdicts(table, methods, reference)]
    parts += [_evaluations(curves, methods, reference), _first(curves, methods)]
    return "\n".join(parts)


def _common(runs: Mapping[Key, Run], name: str, methods: Sequence[str]) -> dict[str, list[np.ndarray]]:
    """Curves of log10 regret by method, for the seeds that all methods have run."""
    problem = problems.get(name)
    found = {
        method: {key.seed: run.gaps for key, run in runs.items() if key[:2] == (name, method)}
        for method in methods
    }
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in found.values())))
    return {method: [_log_regret(found[method][s] / problem.random_gap) for s in seeds] for method in methods}


def _log_regret(share: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(share), np.log10(np.clip(share, SOLVED, 1e2)), NEVER)


def _regrets(table: dict[str, dict[str, np.ndarray]], methods: Sequence[str], budget: int) -> str:
    seeds = [len(row[methods[0]]) for row in table.values()]
    lines = [
        f"### n0 + {budget}: {len(table)} problems, {min(seeds)} to {max(seeds)} seeds\n",
        "| log10 regret, median (worst) | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for name, row in table.items():
        best = min(np.median(row[m]) for m in methods)
        cells = []
        for method in methods:
            text = f"{np.median(row[method]):.2f}"
            cells.append(
                (f"**{text}**" if np.median(row[method]) <= best else text) + f" ({row[method].max():.1f})"
            )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    means = [np.mean([np.median(row[m]) for row in table.values()]) for m in methods]
    lines.append("| mean | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    return "\n".join(lines) + "\n"


def _verdicts(table: dict[str, dict[str, np.ndarray]], methods: Sequence[str], reference: str) -> str:
    lines = [
        f"| {reference} compared with | better : level : worse, by problem | runs better : worse | p, all runs |",
        "|---|---|---|---|",
    ]
    for method in methods:
        if method == reference:
            continue
        differences = [row[method] - row[reference] for row in table.values()]
        signs = [verdict(difference) for difference in differences]
        pooled = np.concatenate(differences)
        p = wilcoxon(pooled).pvalue if np.any(pooled) else 1.0
        counts = f"{signs.count(1)} : {signs.count(0)} : {signs.count(-1)}"
        lines.append(f"| {method} | {counts} | {np.sum(pooled > 0)} : {np.sum(pooled < 0)} | {p:.2g} |")
    return "\n".join(lines) + "\n"


def _evaluations(
    curves: dict[str, dict[str, list[np.ndarray]]], methods: Sequence[str], reference: str
) -> str:
    """Evaluations after the design that the reference needs for the final median of another, as shares of its."""
    shares: dict[str, dict[str, tuple[float, float, bool]]] = {m: {} for m in methods if m != reference}
    for method, found in shares.items():
        for name, row in curves.items():
            if row[method]:
                length = min(map(len, (*row[method], *row[reference])))
                medians = (np.median([c[:length] for c in row[m]], axis=0) for m in (reference, method))
                found[name] = shares_of_evaluations(*medians)
    return shares_table(reference, shares)


def _first(curves: dict[str, dict[str, list[np.ndarray]]], methods: Sequence[str]) -> str:
    """Evaluations after the design until the first feasible point, where designs have none."""
    lines = [
        "| evaluations until feasible, mean (never) | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for name, row in curves.items():
        cells, counted = [], 0
        for method in methods:
            late = [c for c in row[method] if c[0] == NEVER]
            counted = len(late)
            firsts = [int(np.argmax(c < NEVER)) if np.any(c < NEVER) else len(c) for c in late]
            never = sum(np.all(c == NEVER) for c in late)
            cells.append((f"{np.mean(firsts):.1f}" if firsts else "") + (f" ({never})" if never else ""))
        if counted:
            lines.append(f"| {name}, {counted} designs | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("sets", type=lambda text: text.split(","))
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at", type=int, nargs="+", default=[30, 60])
    parser.add_argument("--reference", default="ours")
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
