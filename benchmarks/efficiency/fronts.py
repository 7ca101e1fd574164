"""How much of the volume of the front does each tool dominate, from the first evaluation on?

    python benchmarks/efficiency/fronts.py run --set tuning|validation --tool TOOL... [--seeds 0 1 ...] [--match REGEX]
    python benchmarks/efficiency/fronts.py volumes --set tuning|validation [--match REGEX]
    python benchmarks/efficiency/fronts.py report [--set tuning|validation] [--tool TOOL...]

Problems are those of front_problems.py. Tools are started as their own documentation starts them, and know nothing of
the problem's reference point:

- ``auto``: `tcgp.minimize` with its defaults.
- ``calibrated``: the same with tcGP in the place of the three models, so with calibrated laws.
- ``optuna``: `GPSampler` for deterministic objectives; ``nsga2``: `NSGAIISampler`.
- ``botorch``: 2 (d + 1) Sobol' points, then `SingleTaskGP` and `qLogExpectedHypervolumeImprovement`, the reference by
  `infer_reference_point`; not for integers.

Runs have 20 d evaluations, at most 100. They are kept as in runs.py, with the volume in the place of the gap, in
results/fronts.csv; a run that is there already is not repeated. ``volumes`` finds the volume of the whole front, where
it is not known, by long runs of pymoo's NSGA-II, for results/front_volumes.json. ``report`` prints the table of
README.md: the share of it that is missing, in percent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import front_problems
from front_problems import Problem
from runs import Key, Run, append, load
from tcgp.front import hypervolume, non_dominated
from tools import Recorder, Spent, quiet

SETS = {"tuning": front_problems.TUNING, "validation": front_problems.VALIDATION}
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
    options = {"selection": "pooled", "shortest": None}
    auto(
        record,
        problem,
        seed,
        method="tcgp",
        options=options,
        n_initial=problem.dim + 2,
        initial_design="centre",
    )


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


def botorch(record: Recorder, problem: Problem, seed: int) -> None:
    import torch
    from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
    from botorch.utils.multi_objective.hypervolume import infer_reference_point
    from botorch.utils.multi_objective.pareto import is_non_dominated
    from botorch.utils.sampling import draw_sobol_samples
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    if problem.integers:
        raise NotImplementedError("this recipe has no integers")
    d, m = problem.dim, len(problem.reference)
    bounds = torch.tensor(problem.bounds.T, dtype=torch.double)
    X = draw_sobol_samples(bounds, n=2 * (d + 1), q=1, seed=seed).squeeze(1)
    Y = -torch.tensor(np.array([record(x) for x in X.numpy()]))
    while True:
        models = [
            SingleTaskGP(
                X,
                Y[:, i : i + 1],
                input_transform=Normalize(d, bounds=bounds),
                outcome_transform=Standardize(1),
            )
            for i in range(Y.shape[1])
        ]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        feasible = (Y[:, m:] >= 0.0).all(dim=1)
        F = Y[feasible, :m] if feasible.any() else Y[:, :m]
        reference = (
            infer_reference_point(F[is_non_dominated(F)], scale=0.1) if len(F) else F.min(dim=0).values
        )
        criterion = qLogExpectedHypervolumeImprovement(
            model,
            ref_point=reference,
            partitioning=FastNondominatedPartitioning(ref_point=reference, Y=Y[feasible, :m]),
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=seed),
            objective=IdentityMCMultiOutputObjective(outcomes=list(range(m))),
            constraints=[lambda Z, i=i: -Z[..., i] for i in range(m, Y.shape[1])] or None,
        )
        found, _ = optimize_acqf(criterion, bounds, q=1, num_restarts=10, raw_samples=512)
        X = torch.cat([X, found.detach()])
        Y = torch.cat([Y, -torch.tensor(record(found[0].detach().numpy()))[None]])


TOOLS = {"auto": auto, "calibrated": calibrated, "optuna": optuna, "nsga2": nsga2, "botorch": botorch}


# ---- runs ----


def main() -> None:
    arguments = _arguments()
    names = [name for name in SETS[arguments.set] if re.search(arguments.match, name)]
    if arguments.command == "volumes":
        volumes(names, arguments.store)
    elif arguments.command == "run":
        run(arguments, names)
    else:
        print(report(names, arguments.tool, arguments.store))


def run(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Make the runs that the store lacks; each is written when it is done."""
    for seed in arguments.seeds:
        for name in names:
            for tool in arguments.tool:
                key = Key(name, tool, seed, 1)
                if key in load(arguments.store) or (tool == "botorch" and front_problems.get(name).integers):
                    continue
                found = optimize(key)
                append(arguments.store, found, 7)
                print(*key[:3], f"{found.seconds * len(found.gaps):.0f} s", flush=True)


def optimize(key: Key) -> Run:
    """Make one run; a tool that stops early keeps its volume."""
    problem = front_problems.get(key.function)
    budget, m = min(BUDGETS[-1] * problem.dim, MOST), len(problem.reference)
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

    known = {**(json.loads(VOLUMES.read_text()) if VOLUMES.exists() else {}), **front_problems.VOLUMES}
    VOLUMES.write_text(json.dumps(known, indent=1) + "\n")
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


def report(names: Sequence[str], tools: Sequence[str], store: Path) -> str:
    """Medians over the seeds of the share of the volume that is missing, in percent, after 5 d, 10 d and 20 d."""
    whole, runs = json.loads(VOLUMES.read_text()), load(store)
    lines = [f"| problem | {' | '.join(tools)} |", "|---" * (len(tools) + 1) + "|"]
    medians: dict[str, list[np.ndarray]] = {tool: [] for tool in tools}
    for name in (name for name in names if name in whole):
        d = front_problems.get(name).dim
        best = max([whole[name], *(run.gaps[-1] for key, run in runs.items() if key.function == name)])
        cells = []
        for tool in tools:
            curves = [run.gaps for key, run in runs.items() if key.function == name and key.method == tool]
            ends = [min(budget * d, MOST) - 1 for budget in BUDGETS]
            missing = 1.0 - np.median([curve[ends] for curve in curves], axis=0) / best if curves else None
            medians[tool].append(np.full(len(BUDGETS), np.nan) if missing is None else missing)
            text = "" if missing is None else ", ".join(f"{100 * share:.1f}" for share in missing)
            cells.append(f"{text} ({len(curves)})" if curves else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append(
        f"| {tools[0]} against it | {' | '.join(_ratios(medians, tools[0], tool) for tool in tools)} |"
    )
    return "\n".join(lines)


def _ratios(medians: dict[str, list[np.ndarray]], first: str, other: str) -> str:
    """Geometric means over the problems of the ratio of what is missing, after each budget."""
    ours, theirs = (np.maximum(np.array(medians[tool]), FLOOR) for tool in (first, other))
    both = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    if first == other or not both.any():
        return ""
    return ", ".join(f"{ratio:.2f}" for ratio in np.exp(np.log(ours[both] / theirs[both]).mean(axis=0)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "volumes", "report"))
    parser.add_argument("--set", choices=SETS, default="tuning")
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--match", default="")
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
