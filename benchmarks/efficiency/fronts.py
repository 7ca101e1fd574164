"""How much of the volume of the front does each tool dominate, from the first evaluation on?

    python benchmarks/efficiency/fronts.py run --set SET --tool TOOL... [--seeds 0 1 ...] [--match REGEX] [--budget 10]
    python benchmarks/efficiency/fronts.py volumes --set SET [--match REGEX]
    python benchmarks/efficiency/fronts.py report --set SET [--tool TOOL...] [--seeds 0 1 ...]

Problems are those of front_problems.py. Tools are started as their own documentation starts them, and but for BoTorch
they know nothing of the problem's reference point:

- ``auto``: `tcgp.minimize` with its defaults.
- ``calibrated``: the same with calibrated laws in the first and the last of its three models.
- ``optuna``: `GPSampler` for deterministic objectives; ``nsga2``: `NSGAIISampler`.
- ``egobox``: `Belfegor`, which maximizes the expected improvement of the volume.
- ``botorch``: 2 (d + 1) Sobol' points, then `SingleTaskGP` and `qLogExpectedHypervolumeImprovement`, as in BoTorch's
  tutorial: with the problem's reference point. One that `infer_reference_point` finds in the data is useless as long as
  a few points make up the front: on DTLZ2 the run stays at its first design. Likelihoods are computed by
  quick_botorch.py. Not for integers.

Runs have 20 d evaluations unless ``--budget`` says how many for each parameter, and at most 100. They are kept as in
runs.py, with the volume in the place of the gap, in results/fronts.csv; a run that is there already is not repeated.
``volumes`` finds the volume of the whole front, where it is not known, by long runs of pymoo's NSGA-II, for
results/front_volumes.json. ``report`` prints the table of README.md: the share of it that is missing, in percent; how
many runs of the first tool are better, level or worse than those of the others with the same seed; and by how much the
worst of its seeds is behind the median.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import wilcoxon

import front_problems
import quick_botorch
from front_problems import Problem
from runs import LEVEL, Key, Run, append, load
from tcgp.front import hypervolume, non_dominated
from tcgp.methods.portfolio import PORTFOLIOS
from tools import Recorder, Spent, quiet

SETS = {
    "tuning": front_problems.TUNING,
    "validation": front_problems.VALIDATION,
    "biobj": front_problems.BIOBJ,
}
RESULTS = Path(__file__).parent / "results"
STORE, VOLUMES = RESULTS / "fronts.csv", RESULTS / "front_volumes.json"
BUDGETS = (5, 10, 20)  # evaluations for each parameter
MOST = 100
FLOOR = 1e-3  # shares below this count as this, where their ratios are averaged


# ---- tools ----


def auto(record: Recorder, problem: Problem, seed: int, **options: Any) -> None:
    import tcgp

    m = len(problem.reference)
    space = [
        tcgp.Integer(int(low), int(high)) if i in problem.integers else (low, high)
        for i, (low, high) in enumerate(problem.bounds.tolist())
    ]
    tcgp.minimize(
        lambda x: {f"f{i}": value for i, value in enumerate(record(x).tolist())},
        space,
        n_evals=record.budget,
        rng=seed,
        objective=[f"f{i}" for i in range(m)],
        constraints=[f"f{i} <= 0" for i in range(m, m + problem.n_limits)],
        **options,
    )


def calibrated(record: Recorder, problem: Problem, seed: int) -> None:
    plain = PORTFOLIOS["auto-front"]
    members = tuple(
        replace(member, method="tcgp") if member.method == "gp" else member for member in plain.members
    )
    PORTFOLIOS["calibrated"] = replace(plain, members=members)
    auto(record, problem, seed, method="calibrated", n_initial=problem.dim + 2, initial_design="centre")


def optuna(record: Recorder, problem: Problem, seed: int, kind: str = "GPSampler") -> None:
    import optuna
    from optuna.distributions import FloatDistribution, IntDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {
        f"x{i}": IntDistribution(int(low), int(high))
        if i in problem.integers
        else FloatDistribution(low, high)
        for i, (low, high) in enumerate(problem.bounds.tolist())
    }
    m = len(problem.reference)
    options: dict[str, Any] = {"deterministic_objective": True} if kind == "GPSampler" else {}
    if problem.n_limits:
        options["constraints_func"] = lambda trial: trial.user_attrs["limits"]
    sampler = getattr(optuna.samplers, kind)(seed=seed, **options)
    study = optuna.create_study(directions=["minimize"] * m, sampler=sampler)
    while True:
        trial = study.ask(space)
        row = record([trial.params[name] for name in space]).tolist()
        trial.set_user_attr("limits", row[m:])
        study.tell(trial, row[:m])


def nsga2(record: Recorder, problem: Problem, seed: int) -> None:
    optuna(record, problem, seed, "NSGAIISampler")


def egobox(record: Recorder, problem: Problem, seed: int) -> None:
    import egobox as egx

    specs = [
        egx.XSpec(egx.XType.INT if i in problem.integers else egx.XType.FLOAT, list(bounds))
        for i, bounds in enumerate(problem.bounds.tolist())
    ]
    limits = [egx.CstrSpec.leq(0.0) for _ in range(problem.n_limits)]
    optimizer = egx.Belfegor(specs, n_obj=len(problem.reference), cstr_specs=limits or None, seed=seed)
    n_design = max(problem.dim + 1, 5)  # the size it chooses: an exception would not end it
    optimizer.minimize(
        lambda rows: np.array([record(x) for x in np.atleast_2d(rows)]), max_iters=record.budget - n_design
    )


def botorch(record: Recorder, problem: Problem, seed: int) -> None:
    import torch
    from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
    from botorch.utils.sampling import draw_sobol_samples
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    if problem.integers:
        raise NotImplementedError("this recipe has no integers")
    d, m = problem.dim, len(problem.reference)
    cube = torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double)
    reference = -torch.tensor(problem.reference)
    X = draw_sobol_samples(cube, n=2 * (d + 1), q=1, seed=seed).squeeze(1)
    Y = -torch.tensor(np.array([record.at(u) for u in X.numpy()]))
    while True:
        models = [SingleTaskGP(X, y[:, None], outcome_transform=Standardize(1)) for y in Y.T]
        for one in models:
            mll = ExactMarginalLogLikelihood(one.likelihood, one)
            fit_gpytorch_mll(mll, closure=quick_botorch.loss(mll))
        model = ModelListGP(*models)
        feasible = (Y[:, m:] >= 0.0).all(dim=1)
        criterion = qLogExpectedHypervolumeImprovement(
            model,
            ref_point=reference,
            partitioning=FastNondominatedPartitioning(ref_point=reference, Y=Y[feasible, :m]),
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=seed),
            objective=IdentityMCMultiOutputObjective(outcomes=list(range(m))),
            constraints=[lambda Z, i=i: -Z[..., i] for i in range(m, Y.shape[1])] or None,
        )
        found, _ = optimize_acqf(criterion, cube, q=1, num_restarts=10, raw_samples=512)
        X = torch.cat([X, found])
        Y = torch.cat([Y, -torch.tensor(record.at(found[0].numpy()))[None]])


TOOLS = {
    "auto": auto,
    "calibrated": calibrated,
    "optuna": optuna,
    "nsga2": nsga2,
    "egobox": egobox,
    "botorch": botorch,
}


# ---- runs ----


def main() -> None:
    arguments = _arguments()
    names = [name for name in SETS[arguments.set] if re.search(arguments.match, name)]
    if arguments.command == "volumes":
        volumes(names, arguments.store)
    elif arguments.command == "run":
        run(arguments, names)
    else:
        print(report(names, arguments.tool, arguments.store, arguments.seeds))


def run(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Make the runs that the store lacks; each is written when it is done."""
    for seed in arguments.seeds or [0]:
        for name in names:
            problem = front_problems.get(name)
            budget = min(arguments.budget * problem.dim, MOST)
            for tool in arguments.tool:
                key, known = Key(name, tool, seed, 1), load(arguments.store)
                is_known = key in known and len(known[key].gaps) >= budget
                if is_known or (tool == "botorch" and problem.integers):
                    continue
                found = optimize(key, budget)
                append(arguments.store, found, 7)
                print(*key[:3], f"{found.seconds * len(found.gaps):.0f} s", flush=True)


def optimize(key: Key, budget: int) -> Run:
    """Make one run; a tool that stops early keeps its volume."""
    problem = front_problems.get(key.function)
    m = len(problem.reference)
    record = Recorder(problem.fun, problem.bounds, budget)
    start = time.process_time()
    try:
        with quiet():
            TOOLS[key.method](record, problem, key.seed)
    except Spent:
        pass
    except Exception:  # what a tool raises is its own end
        traceback.print_exc()
    seconds = (time.process_time() - start) / budget
    V = np.array(record.rows)
    if len(V) < budget:
        print(*key[:3], f"stopped after {len(V)} of {budget}", flush=True)
    if problem.volumes is not None:
        return Run(key, seconds, problem.volumes(budget))
    kept, volume, curve = np.empty((0, m)), 0.0, []
    for row in V:
        y = row[:m]
        if (row[m:] <= 0.0).all() and (y < problem.reference).all() and not (kept <= y).all(axis=1).any():
            kept = np.vstack([kept[~(y <= kept).all(axis=1)], y])
            volume = hypervolume(kept, problem.reference)
        curve.append(volume)
    return Run(key, seconds, np.pad(curve, (0, budget - len(curve)), mode="edge"))


def volumes(names: Sequence[str], store: Path) -> None:
    """Find the volume of each whole front that is not known yet; a larger one than before is kept."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.optimize import minimize

    known = json.loads(VOLUMES.read_text()) if VOLUMES.exists() else {}
    for name in (name for name in names if name not in front_problems.VOLUMES):
        problem = front_problems.get(name)
        m, integers = len(problem.reference), list(problem.integers)

        class Wrapped(ElementwiseProblem):
            def __init__(self, problem: Problem = problem, m: int = m) -> None:
                super().__init__(
                    n_var=problem.dim,
                    n_obj=m,
                    n_ieq_constr=problem.n_limits,
                    xl=problem.bounds[:, 0],
                    xu=problem.bounds[:, 1],
                )

            def _evaluate(
                self,
                x: np.ndarray,
                out: dict[str, Any],
                *_: Any,
                problem: Problem = problem,
                m: int = m,
                integers: list[int] = integers,
                **__: Any,
            ) -> None:
                x = x.copy()
                x[integers] = np.round(x[integers])
                row = problem.fun(x)
                out["F"], out["G"] = row[:m], row[m:]

        size, rounds = (20, 20) if name == "penicillin" else (200, 200)
        found = minimize(Wrapped(), NSGA2(pop_size=size), ("n_gen", rounds), seed=0)
        best = max((run.gaps[-1] for key, run in load(store).items() if key.function == name), default=0.0)
        front = found.F[non_dominated(found.F)] if found.F is not None else np.empty((0, m))
        known[name] = max(known.get(name, 0.0), float(best), hypervolume(front, problem.reference))
        VOLUMES.write_text(json.dumps(known, indent=1) + "\n")
        print(name, known[name], flush=True)


# ---- report ----


# By tool and seed, what is missing after each budget: NaN if that was not run.
Shares = dict[str, dict[int, np.ndarray]]


def report(names: Sequence[str], tools: Sequence[str], store: Path, seeds: Sequence[int] | None) -> str:
    """Medians over the seeds of the share of the volume that is missing, in percent, after 5 d, 10 d and 20 d."""
    missing = _missing(names, tools, store, seeds)
    lines = [f"| problem | {' | '.join(tools)} |", "|---" * (len(tools) + 1) + "|"]
    for name, shares in missing.items():
        cells = [f"{_median(shares[tool])} ({len(shares[tool])})" if shares[tool] else "" for tool in tools]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    ratios = ["", *(_ratios(missing, tools[0], tool) for tool in tools[1:])]
    counts = ["", *(_counts(missing, tools[0], tool) for tool in tools[1:])]
    lines.append(f"| {tools[0]} against it | {' | '.join(ratios)} |")
    lines.append(f"| better : level : worse (p) | {' | '.join(counts)} |")
    spreads = {name: _spread(list(shares[tools[0]].values())) for name, shares in missing.items()}
    return "\n".join(
        [*lines, "", f"largest over median of {tools[0]}:", *(f"{n} {s}" for n, s in spreads.items() if s)]
    )


def _missing(
    names: Sequence[str], tools: Sequence[str], store: Path, seeds: Sequence[int] | None
) -> dict[str, Shares]:
    """What is missing of the volume, by problem."""
    whole, runs = {**json.loads(VOLUMES.read_text()), **front_problems.VOLUMES}, load(store)
    found: dict[str, Shares] = {}
    for name in (name for name in names if name in whole):
        own = {key: run.gaps for key, run in runs.items() if key.function == name}
        ends = [min(budget * front_problems.get(name).dim, MOST) - 1 for budget in BUDGETS]
        best = max([whole[name], *(curve[-1] for curve in own.values())])
        found[name] = {tool: {} for tool in tools}
        for key, curve in own.items():
            if key.method in tools and (seeds is None or key.seed in seeds):
                values = [curve[end] if end < len(curve) else np.nan for end in ends]
                found[name][key.method][key.seed] = np.maximum(1.0 - np.array(values) / best, 0.0)
    return found


def _median(shares: dict[int, np.ndarray]) -> str:
    values = np.median(list(shares.values()), axis=0)
    return ", ".join(f"{100 * value:.1f}" for value in values if np.isfinite(value))


def _ratios(missing: dict[str, Shares], first: str, other: str) -> str:
    """Geometric means over the problems of the ratio of the medians, after each budget."""
    pairs = [
        [np.median(list(shares[tool].values()), axis=0) for tool in (first, other)]
        for shares in missing.values()
        if shares[first] and shares[other]
    ]
    logs = np.log(np.maximum(np.array(pairs).reshape(-1, 2, len(BUDGETS)), FLOOR))
    kept = [column[np.isfinite(column)] for column in (logs[:, 0] - logs[:, 1]).T]
    return ", ".join(f"{np.exp(column.mean()):.2f} of {len(column)}" for column in kept if len(column))


def _counts(missing: dict[str, Shares], first: str, other: str) -> str:
    """Runs with the same seed, as log10 of what is missing; p-values of signed-rank tests."""
    pairs = [
        [shares[first][seed], shares[other][seed]]
        for shares in missing.values()
        for seed in shares[first].keys() & shares[other].keys()
    ]
    logs = np.log10(np.maximum(np.array(pairs).reshape(-1, 2, len(BUDGETS)), FLOOR))
    cells = []
    for column in (logs[:, 0] - logs[:, 1]).T:
        gains = column[np.isfinite(column)]
        if len(gains):
            level = int((np.abs(gains) <= LEVEL).sum())
            p = wilcoxon(gains).pvalue if np.any(gains) else 1.0
            cells.append(f"{(gains < -LEVEL).sum()}:{level}:{(gains > LEVEL).sum()} ({p:.1g})")
    return ", ".join(cells)


def _spread(shares: Sequence[np.ndarray]) -> str:
    """How many times more the worst seed misses than the median, after each budget; nothing below three seeds."""
    if len(shares) < 3:
        return ""
    values = np.maximum(np.array(shares), FLOOR)
    ratios = values.max(axis=0) / np.median(values, axis=0)
    return ", ".join(f"{ratio:.1f}" for ratio in ratios if np.isfinite(ratio))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "volumes", "report"))
    parser.add_argument("--set", choices=SETS, default="tuning")
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seeds", type=int, nargs="+", help="of runs, 0 by default; of the report, all")
    parser.add_argument("--budget", type=int, default=BUDGETS[-1], help="evaluations for each parameter")
    parser.add_argument("--match", default="")
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
