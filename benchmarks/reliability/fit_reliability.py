"""How often does the default fit reach the best likelihood that 50 starts find?

    python benchmarks/reliability/fit_reliability.py [--designs 5] [--starts 50] [--jobs 2] [--output FILE.csv]
    python benchmarks/reliability/fit_reliability.py --reference FILE.csv      (compare with references found before)
    python benchmarks/reliability/fit_reliability.py --delta 0.05 0.1 0.25     (the relaxed GP)

For each function-dimension pair of the paper and n in {10 d, 30 d}: the gap between the log-likelihood of a
50-start reference and that of the default fit, both noiseless Matérn 5/2 with a constant mean and the same bounds
on the lengthscales. With --delta, both are of the relaxed GP, its threshold at these quantiles. A gap of at most 1e-2
counts as reached. A fit that fails stops the script.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tcgp import GaussianProcess, RelaxedGaussianProcess, problems
from tcgp.gp.descent import descend
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.selection import log_rho_bounds

PAIRS = (
    "goldstein-price", "cross-in-tray", "ackley4", "dixon-price4", "michalewicz4", "shekel10", "hartmann6",
    "rosenbrock6", "perm6", "ackley10", "dixon-price10", "rosenbrock10", "rosenbrock15", "dixon-price20",
)  # fmt: skip
TOLERANCE = 1e-2


def reference(X: np.ndarray, y: np.ndarray, bounds: np.ndarray, n_starts: int, seed: int) -> float:
    """Best log-likelihood of ``n_starts`` descents from log-uniform lengthscales."""
    unit = (X - bounds[:, 0]) / np.ptp(bounds, axis=1)
    z = (y - y.mean()) / y.std()
    likelihood = ConcentratedLikelihood(unit, z, 2)
    rng = np.random.default_rng([seed, 12345])
    starts = rng.uniform(np.log(0.03), np.log(100.0), (n_starts, X.shape[1]))
    box = [log_rho_bounds(*X.shape)] * X.shape[1]
    best = min(descend(likelihood.value_and_gradient, start, box).value for start in starts)
    return -best - len(y) * float(np.log(y.std()))


def relaxed_reference(
    X: np.ndarray, y: np.ndarray, bounds: np.ndarray, threshold: float, n_starts: int, seed: int
) -> float:
    """Best log-likelihood of ``n_starts`` descents of a relaxed GP, the best of them refined."""
    rng = np.random.default_rng([seed, 12345])
    width = np.ptp(bounds, axis=1)
    starts = np.exp(rng.uniform(np.log(0.03), np.log(100.0), (n_starts, X.shape[1]))) * width

    def descend_from(start: np.ndarray) -> RelaxedGaussianProcess:
        return RelaxedGaussianProcess(threshold).fit(X, y, bounds=bounds, start=start)

    best = max(map(descend_from, starts), key=lambda model: model.log_likelihood_)
    return max(best.log_likelihood_, descend_from(best.lengthscales_).log_likelihood_)


def case(task: tuple[str, int, int, int, float | None, float | None]) -> dict[str, object]:
    """One design: the gap and the nugget of the default fit, and the seconds it took."""
    name, factor, seed, n_starts, delta, known = task
    problem = problems.get(name)
    rng = np.random.default_rng([seed, factor, len(name)])
    n = factor * problem.dim
    X = rng.uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, problem.dim))
    y = problem.fun(X)
    threshold = np.inf if delta is None else float(np.quantile(y, delta))
    gp = GaussianProcess() if delta is None else RelaxedGaussianProcess(threshold)
    start = time.process_time()
    gp.fit(X, y, bounds=problem.bounds)
    seconds = time.process_time() - start
    if known is None and delta is None:
        known = reference(X, y, problem.bounds, n_starts, seed)
    elif known is None:
        known = relaxed_reference(X, y, problem.bounds, threshold, n_starts, seed)
    return {
        "problem": name,
        "n": n,
        "delta": "" if delta is None else delta,
        "seed": seed,
        "reference": known,
        "gap": known - gp.log_likelihood_,
        "nugget": gp.nugget_,
        "longest": float(np.max(gp.lengthscales_ / np.ptp(problem.bounds, axis=1))),
        "seconds": seconds,
    }


def read_references(path: str | None) -> dict[tuple[str, int, str, int], float]:
    """Log-likelihoods of an earlier run, by problem, size, delta and seed."""
    if path is None:
        return {}
    with open(path) as file:
        rows = csv.DictReader(file)
        return {
            (r["problem"], int(r["n"]), r.get("delta", ""), int(r["seed"])): float(r["reference"])
            for r in rows
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--designs", type=int, default=5)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--problems", nargs="*", default=PAIRS)
    parser.add_argument("--delta", nargs="*", type=float, default=[], help="of the relaxed GP")
    parser.add_argument("--output", default=None)
    parser.add_argument("--reference", default=None, help="CSV of an earlier run")
    args = parser.parse_args()
    known = read_references(args.reference)
    tasks = []
    for name in args.problems:
        for factor in (10, 30):
            for delta in args.delta or [None]:
                for seed in range(args.designs):
                    key = (name, factor * problems.get(name).dim, "" if delta is None else str(delta), seed)
                    tasks.append((name, factor, seed, args.starts, delta, known.get(key)))
    with ProcessPoolExecutor(args.jobs) as pool:
        rows = []
        for row in pool.map(case, tasks):
            rows.append(row)
            print(f"\r{len(rows)}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(
        "| problem | n | delta | reached | largest gap | largest nugget | seconds |\n|---|---|---|---|---|---|---|"
    )
    for key in dict.fromkeys((r["problem"], r["n"], r["delta"]) for r in rows):
        group = [r for r in rows if (r["problem"], r["n"], r["delta"]) == key]
        reached = sum(r["gap"] <= TOLERANCE for r in group)
        worst, nugget = max(r["gap"] for r in group), max(r["nugget"] for r in group)
        seconds = np.mean([r["seconds"] for r in group])
        print(
            f"| {key[0]} | {key[1]} | {key[2]} | {reached}/{len(group)} | {worst:.2g} | {nugget:.0e} | {seconds:.2f} |"
        )
    share = np.mean([r["gap"] <= TOLERANCE for r in rows])
    print(f"\nreached in {100 * share:.1f} % of {len(rows)} cases, no fit failed")
    if args.output:
        with open(args.output, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
