"""How good is the recommended point of a noisy function, and how well is its value known?

    python benchmarks/efficiency/noise.py run [--tool TOOL ...] [--seeds 0 1 ...] [--level 0.05 ...] [--match REGEX]
        [--longest 20] [--store FILE]
    python benchmarks/efficiency/noise.py report [--seeds 0 1 ...] [--level 0.05 ...] [--store FILE]

Functions of the paper and eight others have independent normal noise of 1, 5 or 20 % of their standard deviation over
the box. The k-th evaluation of a seed has the same noise for all tools. Runs have 20 d evaluations, or fewer with
``--longest``; after 5 d, 10 d and 20 d each tool says which point it recommends, and its regret is measured without
noise:

- ``noise``: `tcgp.Optimizer(noise=True)`, and ``known`` the same with the standard deviation given: `result().x`;
- ``auto``: the default for exact functions, best observed point;
- ``optuna``: TPE, Optuna's default, best trial;
- ``botorch``: `qLogNoisyExpectedImprovement` on a `SingleTaskGP`, as in its tutorials but with a quarter of their raw
  samples and half of their restarts, after 2 d Sobol' points; the evaluated point with the best posterior mean.

Of the first two, the error of the predicted value at that point and whether the interval has the truth are kept, too.
A run that is there already is not repeated, so that a stopped benchmark continues where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import t as student

import functions
import tcgp
from tools import quiet

FUNCTIONS = (
    "goldstein-price",
    "cross-in-tray",
    "ackley4:shifted",
    "dixon-price4",
    "michalewicz4",
    "shekel10",
    "hartmann6",
    "rosenbrock6",
    "branin",
    "six-hump-camel",
    "hartmann3",
    "griewank5:shifted",
    "levy5",
    "otl-circuit",
    "piston",
    "borehole",
)
LEVELS = (0.01, 0.05, 0.2)
BUDGETS = (5, 10, 20)  # evaluations per parameter
STORE = Path(__file__).parent / "results" / "noise.csv"
COLUMNS = (
    "function",
    "level",
    "tool",
    "seed",
    "evaluations",
    "regret",
    "error",
    "covered",
    "width",
    "seconds",
)
SMALLEST = 1e-4  # regrets below this share of the standard deviation of the function count as this


@dataclass
class Scattered:
    """A function with noise, what was evaluated, and its spread over the box."""

    name: str
    level: float
    seed: int
    X: list[np.ndarray] = field(default_factory=list)
    y: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.problem = functions.get(self.name)
        low, high = self.problem.bounds.T
        sample = self.problem.fun(np.random.default_rng(0).uniform(low, high, (10_000, len(low))))
        self.spread = float(np.std(sample))
        self.noise = self.level * self.spread
        self._stream = np.random.default_rng([self.seed, round(1e4 * self.level)])

    def __call__(self, x: np.ndarray) -> float:
        self.X.append(np.asarray(x, dtype=float))
        self.y.append(self.truth(x) + self.noise * float(self._stream.standard_normal()))
        return self.y[-1]

    def truth(self, x: np.ndarray) -> float:
        return float(self.problem.fun(np.atleast_2d(x))[0])


@dataclass(frozen=True)
class Advice:
    """The point that a tool recommends, and what it says of its value, if it does."""

    x: np.ndarray
    value: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


Tool = Callable[[Scattered], Iterator[Callable[[], Advice]]]


def tcgp_with(noise: Callable[[Scattered], bool | float]) -> Tool:
    def go(fun: Scattered) -> Iterator[Callable[[], Advice]]:
        optimizer = tcgp.Optimizer(fun.problem.bounds, rng=fun.seed, noise=noise(fun))

        def advice() -> Advice:
            result = optimizer.result()
            return Advice(np.array(result.x), result.fun, result.interval)

        while True:
            x = optimizer.ask()
            optimizer.tell(x, fun(x))
            yield advice

    return go


def auto(fun: Scattered) -> Iterator[Callable[[], Advice]]:
    optimizer = tcgp.Optimizer(fun.problem.bounds, rng=fun.seed)
    while True:
        x = optimizer.ask()
        optimizer.tell(x, fun(x))
        yield lambda: Advice(np.array(optimizer.result().x))


def optuna(fun: Scattered) -> Iterator[Callable[[], Advice]]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=fun.seed))
    bounds = fun.problem.bounds.tolist()
    while True:
        trial = study.ask()
        study.tell(
            trial, fun(np.array([trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(bounds)]))
        )
        yield lambda: Advice(fun.X[int(np.argmin(fun.y))])


def botorch(fun: Scattered) -> Iterator[Callable[[], Advice]]:
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf

    torch.manual_seed(fun.seed)
    torch.set_num_threads(1)
    low, high = fun.problem.bounds.T
    dim = len(low)
    cube = torch.tensor([[0.0] * dim, [1.0] * dim], dtype=torch.double)
    U = torch.quasirandom.SobolEngine(dim, scramble=True, seed=fun.seed).draw(2 * dim, dtype=torch.double)
    for i in range(2 * dim):
        fun(low + U[i].numpy() * (high - low))
        yield lambda: Advice(fun.X[int(np.argmin(fun.y))])
    while True:
        criterion = qLogNoisyExpectedImprovement(_botorch_model(U, fun), U, prune_baseline=True)
        new, _ = optimize_acqf(criterion, cube, q=1, num_restarts=5, raw_samples=128)
        fun(low + new[0].numpy() * (high - low))
        U = torch.cat([U, new])
        yield partial(_botorch_advice, U, fun)


def _botorch_model(U: Any, fun: Scattered) -> Any:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(U, -torch.tensor(fun.y, dtype=torch.double)[:, None])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _botorch_advice(U: Any, fun: Scattered) -> Advice:
    mean = _botorch_model(U, fun).posterior(U).mean[:, 0]
    return Advice(fun.X[int(mean.argmax())])


TOOLS: dict[str, Tool] = {
    "noise": tcgp_with(lambda fun: True),
    "known": tcgp_with(lambda fun: fun.noise),
    "auto": auto,
    "optuna": optuna,
    "botorch": botorch,
}


def make(fun: Scattered, tool: str, longest: int) -> list[dict[str, object]]:
    """One run: what is advised after each of the budgets up to the longest."""
    rows = []
    dim = len(fun.problem.bounds)
    stops = {k * dim for k in BUDGETS if k <= longest}
    start = time.process_time()
    with quiet():
        for n, advice in enumerate(itertools.islice(TOOLS[tool](fun), max(stops)), 1):
            if n not in stops:
                continue
            seconds = time.process_time() - start
            found = advice()
            truth = fun.truth(found.x)
            low, high = found.interval
            row = [
                fun.name,
                fun.level,
                tool,
                fun.seed,
                n,
                f"{(truth - fun.problem.minimum) / fun.spread:.6g}",
                f"{(found.value - truth) / fun.noise:.4g}",
                int(low <= truth <= high),
                f"{(high - low) / fun.noise:.4g}",
                f"{seconds / n:.4f}",
            ]
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def run(arguments: argparse.Namespace) -> None:
    names = [name for name in FUNCTIONS if re.search(arguments.match, name)]
    for seed, level, name, tool in itertools.product(arguments.seeds, arguments.level, names, arguments.tool):
        key = (name, str(level), tool, str(seed))
        if any((r["function"], r["level"], r["tool"], r["seed"]) == key for r in load(arguments.store)):
            continue
        rows = make(Scattered(name, level, seed), tool, arguments.longest)
        new = not arguments.store.exists()
        with arguments.store.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(rows)
        print(*key, *(row["regret"] for row in rows), flush=True)


def load(store: Path) -> list[dict[str, str]]:
    if not store.exists():
        return []
    with store.open(newline="") as file:
        return list(csv.DictReader(file))


def report(arguments: argparse.Namespace) -> None:
    """Tables: geometric means of the ratio of regrets, errors and coverage."""
    regrets: dict[tuple[str, str, str, int], dict[str, float]] = defaultdict(dict)
    said = defaultdict(list)
    for row in load(arguments.store):
        if int(row["seed"]) not in arguments.seeds or float(row["level"]) not in arguments.level:
            continue
        dim = len(functions.get(row["function"]).bounds)
        budget = int(row["evaluations"]) // dim
        key = (row["function"], row["level"], row["seed"], budget)
        regrets[key][row["tool"]] = math.log(max(float(row["regret"]), SMALLEST))
        if row["error"] != "nan":
            said[row["tool"], row["level"], budget].append(
                (float(row["error"]), int(row["covered"]), float(row["width"]))
            )
    print("| regret of `noise`, as a share of that of | noise | 5 d | 10 d | 20 d |\n|---|---|---|---|---|")
    for other, level in itertools.product(("auto", "optuna", "botorch", "known"), (*map(str, LEVELS), "all")):
        cells = [_ratio(regrets, other, level, budget) for budget in BUDGETS]
        if any(cells):
            print(f"| {other} | {level} | {' | '.join(cell or '–' for cell in cells)} |")
    print("\n| tool | noise | budget | runs | mean error / noise | coverage of 90 % | mean width / noise |")
    print("|---|---|---|---|---|---|---|")
    for (tool, level, budget), rows in sorted(said.items()):
        error, covered, width = np.array(rows).mean(axis=0)
        print(f"| {tool} | {level} | {budget} d | {len(rows)} | {error:+.2f} | {covered:.2f} | {width:.2f} |")


def _ratio(
    regrets: dict[tuple[str, str, str, int], dict[str, float]], other: str, level: str, budget: int
) -> str:
    """Geometric mean over functions and levels, with its one-sided 95 % limit; empty if there are no pairs."""
    cells = defaultdict(list)
    for (name, own, _, n), found in regrets.items():
        if n == budget and level in (own, "all") and {"noise", other} <= found.keys():
            cells[name, own].append(found["noise"] - found[other])
    means = np.array([np.mean(values) for values in cells.values()])
    if len(means) < 2:
        return ""
    limit = means.mean() + student.ppf(0.95, len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    return f"{math.exp(means.mean()):.2f} (< {math.exp(limit):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=["noise", "auto", "optuna", "botorch"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--level", type=float, nargs="+", default=list(LEVELS))
    parser.add_argument("--match", default="", help="only functions whose name this regular expression finds")
    parser.add_argument("--longest", type=int, default=max(BUDGETS), help="evaluations per parameter")
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    {"run": run, "report": report}[arguments.command](arguments)


if __name__ == "__main__":
    main()
