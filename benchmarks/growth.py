"""Time and memory of an iteration with many data, against one evaluation of the likelihood and against BoTorch.

    python benchmarks/growth.py [--n 1000 2000] [--iterations 20] [--botorch]      (needs torch==2.13.0, botorch)

Rosenbrock in d = 10, n uniform points, then iterations of tcGP on one thread, in processor time: the first fits from
scratch; of the others most keep the lengthscales and some refine them. Memory is the largest that Python's allocator
saw during the iterations after the first, in units of n^2 doubles. BoTorch: `SingleTaskGP`, `fit_gpytorch_mll`, LogEI,
`optimize_acqf` with 10 restarts and 512 raw samples, one iteration.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import tcgp
from tcgp.gp.likelihood import ConcentratedLikelihood

PROBLEM = tcgp.problems.get("rosenbrock10")


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform points of the unit cube, and their values."""
    X = np.random.default_rng(0).random((n, PROBLEM.dim))
    return X, PROBLEM.fun(_in_box(X))


def _in_box(X: np.ndarray) -> np.ndarray:
    low, high = np.asarray(PROBLEM.bounds, dtype=float).T
    return low + X * (high - low)


def likelihood_seconds(X: np.ndarray, y: np.ndarray) -> float:
    """Processor seconds of one evaluation of the likelihood and its gradient, the faster of three."""
    likelihood = ConcentratedLikelihood(X, (y - y.mean()) / y.std(), 2)
    theta = np.zeros(X.shape[1])
    times = []
    for _ in range(3):
        start = time.process_time()
        likelihood.value_and_gradient(theta)
        times.append(time.process_time() - start)
    return min(times)


def ours(X: np.ndarray, y: np.ndarray, n_iterations: int) -> tuple[float, np.ndarray, float]:
    """Seconds of the first iteration, of each other, and the peak memory in doubles."""
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * X.shape[1], method="tcgp", n_initial=1, rng=0)
    for x, value in zip(X, y, strict=True):
        optimizer.tell(list(x), value)
    start = time.process_time()
    x = optimizer.ask()
    first = time.process_time() - start
    times = []
    tracemalloc.start()
    for _ in range(n_iterations):
        optimizer.tell(x, float(PROBLEM.fun(_in_box(np.array([x])))[0]))
        start = time.process_time()
        x = optimizer.ask()
        times.append(time.process_time() - start)
    peak = tracemalloc.get_traced_memory()[1] / 8.0
    tracemalloc.stop()
    return first, np.array(times), peak


def botorch(X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of one iteration of BoTorch."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    inputs, outputs = torch.tensor(X), -torch.tensor(y)[:, None]
    start = time.process_time()
    model = SingleTaskGP(inputs, outputs, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    box = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    optimize_acqf(LogExpectedImprovement(model, outputs.max()), box, q=1, num_restarts=10, raw_samples=512)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[1000])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--botorch", action="store_true")
    args = parser.parse_args()
    columns = "n, likelihood s, first iteration s, median iteration s, mean iteration s, memory n^2 doubles"
    print(columns + (", BoTorch s" if args.botorch else ""))
    for n in args.n:
        X, y = data(n)
        evaluation = likelihood_seconds(X, y)
        first, times, peak = ours(X, y, args.iterations)
        cells = [n, *(f"{s:.3f}" for s in (evaluation, first, np.median(times), times.mean()))]
        cells.append(f"{peak / n**2:.1f}")
        if args.botorch:
            cells.append(f"{botorch(X, y):.1f}")
        print(", ".join(map(str, cells)), flush=True)


if __name__ == "__main__":
    main()
