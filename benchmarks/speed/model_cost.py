"""What calibration and relaxation cost beside the fit of the plain GP, on one thread, in one run.

    python benchmarks/speed/model_cost.py [--n 100] [--designs 10]

For uniform designs of n points: the cold fit of the GP, the calibration of each method given that fit (weights,
threshold, leave-one-out and law), and the cold fit of reGP, as ratios to the cold fit of the GP. Medians over
functions and designs of the fastest of five runs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tcgp import GaussianProcess, RelaxedGaussianProcess, problems
from tcgp.models import calibrate

PROBLEMS = ("goldstein-price", "dixon-price4", "ackley4", "hartmann6", "rosenbrock6")
METHODS = ("tcgp", "tcgp-occ", "tcgp-thres", "bcrgp", "ongp")


def fastest(function: Callable[[], object], runs: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def costs(name: str, n: int, seed: int) -> dict[str, float]:
    """Seconds of the GP fit, of each calibration and of the reGP fit."""
    problem = problems.get(name)
    X = np.random.default_rng(seed).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, problem.dim))
    y = problem.fun(X)
    gp = GaussianProcess().fit(X, y, bounds=problem.bounds)
    level = float(np.quantile(y, 0.25))
    return {
        "gp": fastest(lambda: GaussianProcess().fit(X, y, bounds=problem.bounds)),
        **{method: fastest(lambda method=method: calibrate(gp, method, rng=0)) for method in METHODS},
        "regp": fastest(lambda: RelaxedGaussianProcess(level).fit(X, y, bounds=problem.bounds)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--designs", type=int, default=10)
    args = parser.parse_args()
    print(f"n = {args.n}, {args.designs} designs a function\n")
    columns = ("function", "GP cold fit, ms", *(f"{m} / GP" for m in METHODS), "reGP cold fit / GP")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    everything = []
    for name in PROBLEMS:
        rows = [costs(name, args.n, seed) for seed in range(args.designs)]
        everything += rows
        print(_row(name, rows), flush=True)
    print(_row("all", everything))


def _row(label: str, rows: list[dict[str, float]]) -> str:
    """One line of the table: medians of the ratios."""
    ratios = [np.median([row[m] / row["gp"] for row in rows]) for m in (*METHODS, "regp")]
    fit = 1e3 * np.median([row["gp"] for row in rows])
    return f"| {label} | {fit:.1f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |"


if __name__ == "__main__":
    main()
