"""How well a GP predicts from few data, by the rule that selects its lengthscales.

    python benchmarks/calibration/lengthscales.py [--designs 5]

n uniform points in d dimensions. The first two functions use all parameters, an ellipsoid and Ackley's; the others the
first few only, log(1 + f − min f) of Hartmann 6 and of Dixon–Price 4. Each cell: share of the variance at 500 other
points that the prediction explains (below 0 it is worse than the mean of the function), and the root mean square of the
errors in units of the predicted standard deviation (above 1: overconfident). Medians over designs.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tcgp import GaussianProcess, problems

SELECTIONS = ("ml", "pooled")
SIZES = ((5, 20), (10, 40), (10, 100), (20, 60), (50, 60))
Function = Callable[[np.ndarray], np.ndarray]  # of rows of the unit cube


def ellipsoid(U: np.ndarray) -> np.ndarray:
    return ((4.0 * U - 2.3) ** 2) @ np.linspace(1.0, 10.0, U.shape[1])


def ackley(U: np.ndarray) -> np.ndarray:
    X = 25.0 * U - 10.0
    ripples = np.exp(np.cos(2.0 * np.pi * X).mean(axis=1))
    return -20.0 * np.exp(-0.2 * np.sqrt((X**2).mean(axis=1))) - ripples


def embedded(name: str) -> Function:
    """A function of the first coordinates, on a log scale; the others have no effect."""
    problem = problems.get(name)
    low, high = problem.bounds.T

    def function(U: np.ndarray) -> np.ndarray:
        X = low + (high - low) * U[:, : problem.dim]
        return np.log1p(np.asarray(problem.fun(X)) - problem.minimum)

    return function


FUNCTIONS: dict[str, tuple[Function, int]] = {  # with the smallest dimension
    "ellipsoid": (ellipsoid, 1),
    "Ackley": (ackley, 1),
    "Hartmann 6": (embedded("hartmann6"), 6),
    "Dixon–Price 4": (embedded("dixon-price4"), 4),
}


def quality(function: Function, d: int, n: int, selection: str, seed: int) -> tuple[float, float]:
    """Share of variance explained, and error in units of the predicted standard deviation."""
    rng = np.random.default_rng(seed)
    X, new = rng.random((n, d)), rng.random((500, d))
    model = GaussianProcess(selection=selection).fit(X, function(X), bounds=[(0.0, 1.0)] * d)
    mean, sd = model.predict(new)
    truth = function(new)
    error = mean - truth
    return 1.0 - float(np.mean(error**2) / truth.var()), float(np.sqrt(np.mean((error / sd) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--designs", type=int, default=5)
    designs = parser.parse_args().designs
    print("| function | d | n | " + " | ".join(SELECTIONS) + " |\n" + "|---" * (3 + len(SELECTIONS)) + "|")
    for name, (function, smallest) in FUNCTIONS.items():
        for d, n in SIZES:
            if d < smallest:
                continue
            cells = []
            for selection in SELECTIONS:
                runs = [quality(function, d, n, selection, seed) for seed in range(designs)]
                explained, ratio = np.median(runs, axis=0)
                cells.append(f"{explained:.2f}, {ratio:.2f}")
            print(f"| {name} | {d} | {n} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
