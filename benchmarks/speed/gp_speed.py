"""Fit and prediction of the Gaussian process beside BoTorch's, on one thread, in one run.

    python benchmarks/speed/gp_speed.py [--repeats 10]          (needs torch==2.13.0 and botorch)

Data: n = 30 d uniform points of the paper's functions. Every time is the median over designs of the fastest of three
runs; what counts are the ratios. BoTorch: `SingleTaskGP` + `fit_gpytorch_mll` with its defaults (double precision,
standardised outcomes). The limit of a prediction at m points is a plain matrix product of the same size, (m, n) by
(n, n), plus m n exponentials.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood

from tcgp import GaussianProcess, problems

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

PROBLEMS = ("goldstein-price", "dixon-price4", "ackley4", "hartmann6")


def fastest(function, runs: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def botorch_model(U: np.ndarray, y: np.ndarray) -> SingleTaskGP:
    return SingleTaskGP(torch.tensor(U), -torch.tensor(y)[:, None], outcome_transform=Standardize(1))


def fit_botorch(U: np.ndarray, y: np.ndarray, state: dict | None = None) -> SingleTaskGP:
    """A cold fit, or one that starts from the parameters of an earlier fit."""
    model = botorch_model(U, y)
    if state is not None:
        model.load_state_dict(state)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def prediction_limit(m: int, n: int) -> float:
    """Seconds of a matrix product (m, n) by (n, n) and of m n exponentials."""
    rng = np.random.default_rng(0)
    A, B = rng.random((m, n)), rng.random((n, n))
    return fastest(lambda: A @ B, 20) + fastest(lambda: np.exp(-A), 20)


def times(problem: problems.Problem, n: int, seed: int) -> list[float]:
    """Seconds of our cold and warm fit, BoTorch's cold and warm fit, and our prediction at 1000 points."""
    rng = np.random.default_rng(seed)
    U = rng.random((n + 1, problem.dim))
    y = problem.fun(problem.bounds[:, 0] + U * np.ptp(problem.bounds, axis=1))
    box = [(0.0, 1.0)] * problem.dim
    start = GaussianProcess().fit(U[:-1], y[:-1], bounds=box).lengthscales_
    learned = {
        k: v for k, v in fit_botorch(U[:-1], y[:-1]).state_dict().items() if "outcome_transform" not in k
    }
    state = {**botorch_model(U, y).state_dict(), **learned}
    gp = GaussianProcess().fit(U, y, bounds=box)
    new = rng.random((1000, problem.dim))
    return [
        fastest(lambda: GaussianProcess().fit(U, y, bounds=box)),
        fastest(lambda: GaussianProcess().fit(U, y, bounds=box, start=start)),
        fastest(lambda: fit_botorch(U, y)),
        fastest(lambda: fit_botorch(U, y, state)),
        fastest(lambda: gp.predict(new), 10),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    columns = (
        "function", "n", "cold fit, ms", "BoTorch / ours, cold", "warm refit, ms", "BoTorch cold / ours warm",
        "BoTorch warm / ours warm", "limit / prediction at 1000 points",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in PROBLEMS:
        problem = problems.get(name)
        n = 30 * problem.dim
        rows = [times(problem, n, seed) for seed in range(args.repeats)]
        cold, warm, botorch_cold, botorch_warm, predict = np.median(rows, axis=0)
        print(
            f"| {name} | {n + 1} | {1e3 * cold:.1f} | {botorch_cold / cold:.1f} | {1e3 * warm:.1f} | "
            f"{botorch_cold / warm:.0f} | {botorch_warm / warm:.0f} | {prediction_limit(1000, n + 1) / predict:.2f} |"
        )


if __name__ == "__main__":
    main()
