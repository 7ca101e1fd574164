"""Proposition 5.3 at work: EI with tcGP laws fills the box when the hyperparameters of the GP are fixed.

    python benchmarks/calibration/dense_sequence.py [--iterations 300]

Zero-mean GP with fixed lengthscales and variance, expected improvement under the generalized normal law at each
corner of the box [0.1, 10] x [0.005, 10] of (beta, lambda), in 1-D (Forrester's function) and 2-D (Goldstein-Price,
standardised logarithm). EI is maximised over the points of a grid that are not evaluated yet: at beta = 10 and
lambda = 0.005 it is below exp(-1e20) almost everywhere, and on a continuum the rounding errors of the GP at points
1e-6 apart would decide. Prints the largest hole of the design, the greatest distance of a point of the box to its
nearest evaluation in units of the box, after the initial design and along the run.
"""

from __future__ import annotations

import argparse
import itertools
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.spatial import cKDTree

from tcgp import GaussianProcess, problems
from tcgp.criteria.formulas import log_expected_improvement
from tcgp.laws import GeneralizedNormal

SETTINGS = {"forrester": ([0.2], 5), "goldstein-price": ([0.4, 0.4], 10)}  # lengthscales, size of the design
CORNERS = tuple(itertools.product((0.1, 10.0), (0.005, 10.0)))


def objective(name: str):
    """The function on the unit cube, of moderate values."""
    problem = problems.get(name)
    low, width = problem.bounds[:, 0], np.ptp(problem.bounds, axis=1)
    if name == "forrester":
        return lambda U: problem.fun(low + width * U) / 5.0
    return lambda U: (np.log(problem.fun(low + width * U)) - 8.7) / 2.4


def grid(dim: int) -> np.ndarray:
    """Points at which EI is compared and holes are measured."""
    side = 2001 if dim == 1 else 101
    return np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, side)] * dim), axis=-1).reshape(-1, dim)


def holes(name: str, beta: float, scale: float, iterations: int, every: int, seed: int = 0) -> list[float]:
    """Largest hole after the initial design and after every so many iterations."""
    lengthscales, n0 = SETTINGS[name]
    dim = len(lengthscales)
    f, law, points = objective(name), GeneralizedNormal(beta, scale), grid(dim)
    chosen = list(np.random.default_rng(seed).choice(len(points), n0, replace=False))
    found = [largest_hole(points, chosen)]
    for i in range(iterations):
        U = points[chosen]
        y = f(U)
        gp = GaussianProcess(lengthscales=lengthscales, mean=0.0, variance=1.0).fit(
            U, y, bounds=[(0.0, 1.0)] * dim
        )
        log_ei = log_expected_improvement(*gp.predict(points), law, float(y.min()))
        log_ei[chosen] = -np.inf
        chosen.append(int(np.argmax(log_ei)))
        if (i + 1) % every == 0:
            found.append(largest_hole(points, chosen))
    return found


def largest_hole(points: np.ndarray, chosen: list[int]) -> float:
    """Greatest distance of a point to its nearest chosen one."""
    return float(cKDTree(points[chosen]).query(points)[0].max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=300)
    args = parser.parse_args()
    every = max(args.iterations // 6, 1)
    steps = range(0, args.iterations + 1, every)
    print("| function | beta | lambda | " + " | ".join(f"+{k}" for k in steps) + " |")
    print("|---" * (3 + len(steps)) + "|")
    for name in SETTINGS:
        for beta, scale in CORNERS:
            row = holes(name, beta, scale, args.iterations, every)
            print(f"| {name} | {beta} | {scale} | " + " | ".join(f"{h:.3f}" for h in row) + " |", flush=True)


if __name__ == "__main__":
    main()
