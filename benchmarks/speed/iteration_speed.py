"""One iteration (fit, calibration, maximisation) beside BoTorch and Optuna, on one thread, in one run.

    python benchmarks/speed/iteration_speed.py [--n 100] [--states 8]      (needs torch==2.13.0, botorch, optuna)

States: the data of a tcGP run, 10 d uniform points and then its own choices, so that designs cluster as they do in
practice. Ours: the mean of twenty asks, each after a tell, of which one
refits from scratch. BoTorch: `SingleTaskGP`, `fit_gpytorch_mll`, `LogEI`,
`optimize_acqf` with 10 restarts and 512 raw samples. Optuna: the mean of ten `study.ask` with `GPSampler`, each after a
`study.tell`.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import optuna
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

import tcgp

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
torch.set_num_threads(1)

METHODS = ("gp", "tcgp", "regp", "bcrgp", "ongp")
PROBLEMS = ("dixon-price4", "ackley4")
WINDOW = 20


def ours(function: Callable[[np.ndarray], float], X: np.ndarray, y: np.ndarray, method: str) -> list[float]:
    """Mean seconds of an ask, of its fit and of its maximisation, over the iterations that end with len(y) data."""
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * X.shape[1], method=method, n_initial=1, rng=0)
    for x, value in zip(X[:-WINDOW], y[:-WINDOW], strict=True):
        optimizer.tell(list(x), value)
    x = optimizer.ask()
    times = []
    for _ in range(WINDOW):
        optimizer.tell(x, function(np.array(x)))
        start = time.perf_counter()
        x = optimizer.ask()
        times.append(time.perf_counter() - start)
    parts = [[trace[key] for trace in optimizer.trace[-WINDOW:]] for key in ("t_fit", "t_maximize")]
    return [float(np.mean(part)) for part in (times, *parts)]


def botorch(X: np.ndarray, y: np.ndarray) -> float:
    inputs, outputs = torch.tensor(X), -torch.tensor(y)[:, None]
    start = time.perf_counter()
    model = SingleTaskGP(inputs, outputs, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    criterion = LogExpectedImprovement(model, best_f=outputs.max())
    box = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    optimize_acqf(criterion, box, q=1, num_restarts=10, raw_samples=512)
    return time.perf_counter() - start


def optuna_gp(function: Callable[[np.ndarray], float], X: np.ndarray, y: np.ndarray) -> float:
    """Mean seconds of an ask, each after a tell, over the ten iterations that end with len(y) trials."""
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0, n_startup_trials=1))
    names = [f"x{j}" for j in range(X.shape[1])]
    box = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
    for x, value in zip(X[:-10], y[:-10], strict=True):
        study.add_trial(
            optuna.trial.create_trial(params=dict(zip(names, x, strict=True)), distributions=box, value=value)
        )
    trial = study.ask(box)  # this one fits from scratch
    times = []
    for _ in range(10):
        study.tell(trial, function(np.array([trial.params[name] for name in names])))
        start = time.perf_counter()
        trial = study.ask(box)
        times.append(time.perf_counter() - start)
    return float(np.mean(times))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--states", type=int, default=8)
    args = parser.parse_args()
    print(f"n = {args.n}, medians over {args.states} states\n")
    columns = (
        "function", *(f"{method}, ms" for method in METHODS), "fit + calibration of tcgp, ms",
        "maximisation of tcgp, ms", "BoTorch / tcgp", "Optuna / tcgp",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    everything = []
    for name in PROBLEMS:
        problem = tcgp.problems.get(name)
        rows = []
        for seed in range(args.states):
            result = tcgp.minimize(
                problem, problem.bounds, n_evals=args.n, n_initial=10 * problem.dim, method="tcgp", rng=seed
            )
            X = (np.array(result.x_iters) - problem.bounds[:, 0]) / np.ptp(problem.bounds, axis=1)
            y = result.func_vals
            low, width = problem.bounds[:, 0], np.ptp(problem.bounds, axis=1)

            def function(u, p=problem, a=low, w=width):
                return float(p(a + w * u))

            times = {method: ours(function, X, y, method) for method in METHODS}
            split = times["tcgp"][1:]
            rows.append(
                [times[method][0] for method in METHODS] + [*split, botorch(X, y), optuna_gp(function, X, y)]
            )
        *mine, fit, maximise, theirs, optunas = np.median(rows, axis=0)
        tc = mine[METHODS.index("tcgp")]
        cells = [f"{1e3 * t:.1f}" for t in [*mine, fit, maximise]] + [
            f"{theirs / tc:.1f}",
            f"{optunas / tc:.1f}",
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        everything.append((tc, theirs, optunas))
    tc, theirs, optunas = np.sum(everything, axis=0)
    print(f"\nall functions together: BoTorch / tcgp {theirs / tc:.1f}, Optuna / tcgp {optunas / tc:.1f}")


if __name__ == "__main__":
    main()
