"""Is the default ever far from the best? Our methods and their peers from the same initial designs.

    python benchmarks/efficiency/auto.py run SET METHOD... [--seeds 5] [--iterations 60] [--n0 PER_DIMENSION]
    python benchmarks/efficiency/auto.py report SET METHOD... [--at 30 60 100] [--reference auto]
    python benchmarks/efficiency/auto.py groups SET METHOD... [--at 30 60 100] [--reference auto]

SET is ``tuning`` (the paper's functions, n0 = 10 d), ``validation`` (others, n0 = 3 d), ``second-tuning`` or
``second-validation`` (BBOB and classics, n0 = 3 d), ``many-parameters`` or ``many-tuning`` (n0 = 2 d), or names of
functions. A method is one of `tcgp.fit_model`, with options as in ``tcgp:delta=0.1``, or ``peer:botorch``,
``peer:optuna``, ``peer:egobox``, ``peer:trego``, ``peer:hebo``. Runs are kept in ``--store``, in the format of runs.py;
a run that is there already is not repeated unless more iterations are asked for, so that a stopped benchmark continues
where it was. Seeds 0, 1, ... give each function the same designs whatever the method. ``groups`` compares by the groups
of BBOB, with tests over the functions and seeds of each.

HEBO pins old versions of NumPy and GPy, which it does not need: install it with ``pip install --no-deps``, and what it
then misses.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import rankdata, wilcoxon

import functions
import tcgp
from quick_botorch import quick_botorch
from runs import LEVEL, SOLVED, Key, Run, Task, load, make_runs, shares_of_evaluations, shares_table, verdict
from tcgp.methods import PORTFOLIOS, Member
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.run.peers import PEERS, check_installed

# What was tried in the place of auto, apart from its rules for turns: see docs/tried.md. The first is what it was
# before members with free lengthscales joined it, the second before high values were compressed, the third before
# lengthscales were pooled, which the others vary.
SHORTER = tuple(
    replace(member, options={name: value for name, value in member.options.items() if value is not None})
    for member in PORTFOLIOS["auto"].members
)
THREE = SHORTER[:3]
RELAXED = {"selection": "ml", "shortest": 1.0, "least": 5}
VARIANTS = {
    "auto-three": THREE,
    "auto-raw": tuple(replace(member, compressed=False) for member in THREE),
    "auto-ml": (Member("tcgp"), Member("regp", RELAXED), Member("gp-nugget")),
    "auto-without-additive": (*THREE, Member("tcgp")),
}
PORTFOLIOS.update(
    {
        name: replace(
            PORTFOLIOS["auto"], members=members, turns=tuple((number,) for number in range(len(members)))
        )
        for name, members in VARIANTS.items()
    }
)
# Before the shortest lengthscale depended on the dimension (and free ones waited for data), and before there was a
# rotated tcGP.
PORTFOLIOS["auto-shorter"] = replace(PORTFOLIOS["auto"], members=SHORTER)
PORTFOLIOS["auto-unrotated"] = replace(
    PORTFOLIOS["auto"], members=SHORTER[:5], turns=((0,), (1,), (2,), (3, 4))
)

SETS = {
    "tuning": (functions.TUNING, 10),
    "validation": (functions.VALIDATION, 3),
    "second-tuning": (functions.SECOND_TUNING, 3),
    "second-validation": (functions.SECOND_VALIDATION, 3),
    "many-parameters": (functions.MANY_PARAMETERS, 2),
    "many-tuning": (functions.MANY_TUNING, 2),
}
STORE = Path(__file__).parent / "results" / "auto.csv"
Runs = Mapping[Key, Run]


def main() -> None:
    arguments = _arguments()
    names, per_dimension = [], arguments.n0
    for name in arguments.sets:
        members, default = SETS.get(name, ((name,), 10))
        names += members
        per_dimension = per_dimension or default
    if arguments.command == "run":
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        tasks = plan(names, arguments.methods, seeds, arguments.iterations, per_dimension)
        make_runs(optimize, tasks, arguments.jobs, arguments.store)
    else:
        show = report if arguments.command == "report" else groups
        runs = load(arguments.store)
        print(show(runs, names, arguments.methods, arguments.at, arguments.reference, per_dimension))


# ---- runs ----


def plan(
    names: Sequence[str], methods: Sequence[str], seeds: Iterable[int], iterations: int, per_dimension: int
) -> list[Task]:
    """The runs of all methods on all functions, seed by seed."""
    for method in methods:
        if Method.parse(method).is_peer:
            check_installed(method.partition(":")[2])
    return [
        Task(Key(name, method, seed, per_dimension * functions.get(name).dim), iterations)
        for seed in seeds
        for name in names
        for method in methods
    ]


def initial_design(name: str, seed: int, n0: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and values that all methods of a seed begin with."""
    problem = functions.get(name)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    X = rng.uniform(*problem.bounds.T, (n0, problem.dim))
    return X, np.asarray(problem.fun(X))


def optimize(task: Task) -> Run:
    """Make one run."""
    (name, label, seed, n0), iterations = task
    problem, method = functions.get(name), Method.parse(label)
    X, y = initial_design(name, seed, n0)
    start = time.process_time()
    if method.is_peer:
        peer = label.partition(":")[2]
        with quick_botorch() if peer == "botorch" else contextlib.nullcontext():
            values = [value for _, value in PEERS[peer](problem, X, y, iterations, seed)]
    else:
        result = tcgp.minimize(
            problem.fun,
            problem.bounds,
            n_evals=iterations,  # those of y0 do not count
            n_initial=n0,
            x0=X,
            y0=y,
            method=method.name,
            options=dict(method.options),
            rng=seed,
        )
        values = result.func_vals[n0:].tolist()
    seconds = (time.process_time() - start) / iterations
    return Run(task.key, seconds, np.minimum.accumulate([y.min(), *values]) - problem.minimum)


# ---- report ----


def report(
    runs: Runs,
    names: Sequence[str],
    methods: Sequence[str],
    budgets: Sequence[int],
    reference: str,
    per_dimension: int,
) -> str:
    """Markdown: log regrets, comparisons with the reference, ranks, evaluations needed, cost."""
    parts = []
    for budget in budgets:
        table = {name: _regrets(runs, name, methods, budget, per_dimension) for name in names}
        table = {name: common_seeds(row) for name, row in table.items() if len(row) == len(methods)}
        table = {name: row for name, row in table.items() if all(row.values())}
        if table:
            counts = [len(values) for row in table.values() for values in row.values()]
            parts += [
                f"### n0 + {budget}: {len(table)} functions, {min(counts)} to {max(counts)} seeds\n",
                regret_table(table, methods),
                _summary(table, methods, reference),
            ]
    parts += [_speed_table(runs, names, methods, reference, per_dimension), _cost_line(runs, names, methods)]
    return "\n".join(parts)


def groups(
    runs: Runs,
    names: Sequence[str],
    methods: Sequence[str],
    budgets: Sequence[int],
    reference: str,
    per_dimension: int,
) -> str:
    """Markdown: runs that the reference wins and loses against each other method, by group of functions."""
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(functions.group_of(name), []).append(name)
    others = [method for method in methods if method != reference]
    lines = [f"| runs won : lost by {reference} (p) | budget | " + " | ".join(others) + " |"]
    lines.append("|---" * (len(others) + 2) + "|")
    for group, functions_ in {**members, "all": list(names)}.items():
        for budget in budgets:
            cells = [
                _won_and_lost(runs, functions_, method, reference, budget, per_dimension) for method in others
            ]
            lines.append(f"| {group} | n0 + {budget} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _won_and_lost(
    runs: Runs, names: Sequence[str], method: str, reference: str, budget: int, per_dimension: int
) -> str:
    """Runs won and lost by more than LEVEL, with p of a signed-rank test over all of them."""
    differences: list[float] = []
    for name in names:
        row = _regrets(runs, name, (method, reference), budget, per_dimension)
        if len(row) == 2:
            row = common_seeds(row)
            differences += [row[method][seed] - row[reference][seed] for seed in row[method]]
    found = np.array(differences)
    p = wilcoxon(found).pvalue if len(found) > 5 and np.any(found) else np.nan
    return f"{(found > LEVEL).sum()} : {(found < -LEVEL).sum()} of {len(found)} (p = {p:.1g})"


def _regrets(
    runs: Runs, name: str, methods: Sequence[str], budget: int, per_dimension: int
) -> dict[str, dict[int, float]]:
    """log10 of the regret by method and seed, as a share of that of a random point, after n0 + budget."""
    n0 = per_dimension * functions.get(name).dim
    found: dict[str, dict[int, float]] = {}
    for method in methods:
        values = {s: float(c[budget]) for s, c in curves(runs, name, method, n0).items() if len(c) > budget}
        if values:
            found[method] = values
    return found


def common_seeds(row: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Only the seeds that all methods have run."""
    seeds = set.intersection(*(set(values) for values in row.values()))
    return {method: {seed: values[seed] for seed in seeds} for method, values in row.items()}


def curves(runs: Runs, name: str, method: str, n0: int) -> dict[int, np.ndarray]:
    """log10 regret after each evaluation from n0 on, by seed."""
    scale = functions.random_regret(name)
    return {
        key.seed: np.log10(np.maximum(run.gaps / scale, SOLVED))
        for key, run in runs.items()
        if (key.function, key.method, key.n0) == (name, method, n0)
    }


def regret_table(table: dict[str, dict[str, dict[int, float]]], methods: Sequence[str]) -> str:
    lines = [
        "| log10 regret, median (quartiles) | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for name, row in table.items():
        medians = {m: np.median(list(row[m].values())) for m in methods}
        best = min(medians.values())
        cells = []
        for method in methods:
            low, high = np.quantile(list(row[method].values()), [0.25, 0.75])
            text = f"{medians[method]:.2f}"
            cells.append((f"**{text}**" if medians[method] <= best else text) + f" ({low:.2f}, {high:.2f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _summary(table: dict[str, dict[str, dict[int, float]]], methods: Sequence[str], reference: str) -> str:
    """Mean ranks, distance to the best method, and paired comparisons with the reference."""
    medians = np.array([[np.median(list(row[m].values())) for m in methods] for row in table.values()])
    ranks = np.mean([rankdata(np.round(row, 2)) for row in medians], axis=0)
    behind = medians - medians.min(axis=1, keepdims=True)
    header = (
        "| | mean rank | mean log regret | mean and worst distance to the best | "
        f"functions where {reference} is better : level : worse (all seeds pooled: p) |"
    )
    lines = [header, "|---|---|---|---|---|"]
    for j, method in enumerate(methods):
        versus = "–" if method == reference else _versus(table, method, reference)
        lines.append(
            f"| {method} | {ranks[j]:.2f} | {medians[:, j].mean():.2f} | "
            f"{behind[:, j].mean():.2f}, {behind[:, j].max():.2f} ({list(table)[behind[:, j].argmax()]}) | {versus} |"
        )
    return "\n".join(lines) + "\n"


def _versus(table: dict[str, dict[str, dict[int, float]]], method: str, reference: str) -> str:
    """Functions where the reference is better, level and worse; p of a signed-rank test on function means."""
    better = worse = 0
    means = []
    for row in table.values():
        seeds = sorted(set(row[method]) & set(row[reference]))
        difference = np.array([row[method][s] - row[reference][s] for s in seeds])
        if not len(difference):
            continue
        means.append(difference.mean())
        sign = verdict(difference)
        better, worse = better + (sign > 0), worse + (sign < 0)
    p = wilcoxon(means).pvalue if len(means) > 5 and np.any(means) else np.nan
    return f"{better} : {len(means) - better - worse} : {worse} (p = {p:.2g})"


def _speed_table(
    runs: Runs, names: Sequence[str], methods: Sequence[str], reference: str, per_dimension: int
) -> str:
    """Evaluations after n0 that the reference needs for what another reaches at the end, as shares of its."""
    shares: dict[str, dict[str, tuple[float, float, bool]]] = {m: {} for m in methods if m != reference}
    for method, found in shares.items():
        for name in names:
            n0 = per_dimension * functions.get(name).dim
            both = [curves(runs, name, m, n0) for m in (reference, method)]
            seeds = set.intersection(*map(set, both))
            if seeds:
                length = min(len(by_seed[seed]) for by_seed in both for seed in seeds)
                medians = (np.median([by_seed[s][:length] for s in seeds], axis=0) for by_seed in both)
                found[name] = shares_of_evaluations(*medians)
    return shares_table(reference, shares)


def _cost_line(runs: Runs, names: Sequence[str], methods: Sequence[str]) -> str:
    ours = [m for m in methods if not m.startswith("peer:")]  # BoTorch's time would be that of quick_botorch
    cost = {m: [r.seconds for k, r in runs.items() if k.method == m and k.function in names] for m in ours}
    return "Milliseconds of CPU an iteration: " + ", ".join(
        f"{m} {1e3 * np.mean(c):.0f}" for m, c in cost.items() if c
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report", "groups"))
    parser.add_argument(
        "sets", help="tuning, validation, or names with commas between", type=lambda s: s.split(",")
    )
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--n0", type=int, default=None, help="points of the initial design per dimension")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at", type=int, nargs="+", default=[30, 60])
    parser.add_argument("--reference", default="auto")
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
