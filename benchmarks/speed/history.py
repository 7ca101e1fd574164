"""The history of speed: the work of an iteration of each commit, and its time in units of a fixed amount of arithmetic.

    make bench
    python benchmarks/speed/history.py [--methods tcgp auto] [--n 50 100] [--iterations 12]

Writes a line for each case to results/history.csv, in the place of one of the same commit, and draws
docs/images/history.png. Counts are those of `counting.count_iterations`, of the iterations "along", and the calls of
Python functions in an iteration. The unit of time is the Cholesky factor of n data, its inverse, its product with the
correlations of 2048 points, and the exponentials of all of them: LAPACK and NumPy take as long for them whatever tcgp
does. It is measured after every iteration, in processor time on one thread, so that other work on the machine slows
both. States are those of peers.py in d = 4.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

from peers import state  # sets the number of threads, so it comes before numpy

# isort: split
import numpy as np
from counting import count_iterations
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

import tcgp

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "results" / "history.csv"
PICTURE = ROOT / "docs" / "images" / "history.png"
DIM, N_POINTS = 4, 2048
FUNCTIONS = ("dixon-price", "ackley")
COUNTS = ("nll gradient", "log EI points", "log EI gradient points")
FIELDS = ("date", "commit", "method", "n", "time / unit", "unit, ms", "calls", *COUNTS)


def unit(n: int) -> Callable[[], object]:
    """The fixed amount of arithmetic for n data."""
    K = np.asfortranarray(np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n)))))
    h = np.linspace(-20.0, 0.0, n * (n - 1) // 2 + n * N_POINTS)
    k = np.empty_like(h)  # new memory would take as long as the arithmetic

    def compute() -> object:
        inverse = dtrtri(dpotrf(K, lower=1)[0], lower=1)[0]
        np.exp(h, out=k)
        return dtrmm(1.0, inverse, k[-n * N_POINTS :].reshape(N_POINTS, n).T, lower=1, overwrite_b=1)

    return compute


def seconds(step: Callable[[], object]) -> float:
    """Processor time of a step."""
    start = time.process_time()
    step()
    return time.process_time() - start


def measure(method: str, n: int, n_iterations: int) -> dict[str, float]:
    """Time of an iteration, the unit, and calls of functions; means over functions and iterations."""
    compute, times, units, calls = unit(n), [], [], []
    for function in FUNCTIONS:
        problem, X, y = state(function, DIM, n)
        optimizer = tcgp.Optimizer(problem.bounds, method=method, n_initial=1, rng=0)
        optimizer.tell(X.tolist(), y.tolist())
        for i in range(2 * n_iterations):
            profile = cProfile.Profile()
            spent = seconds(optimizer.ask if i % 2 else lambda: profile.runcall(optimizer.ask))  # noqa: B023
            point = optimizer.pending[0].x
            optimizer.tell(point, problem.fun(point))
            if i == 0:  # the first fits, from scratch
                continue
            if i % 2:
                times.append(spent)
                units.append(min(seconds(compute) for _ in range(3)))
            else:
                calls.append(sum(entry.callcount for entry in profile.getstats()))
    mean_unit = float(np.mean(units))
    return {
        "time / unit": float(np.mean(times)) / mean_unit,
        "unit, ms": 1e3 * mean_unit,
        "calls": float(np.mean(calls)),
    }


def commit() -> str:
    """Short name of the commit, with a plus if files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain", "src"))


def draw(rows: list[dict[str, str]]) -> None:
    """Time and calls of an iteration against the commits."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained")
    commits = list(dict.fromkeys(row["commit"] for row in rows))
    for axis, name in zip(axes, ("time / unit", "calls"), strict=True):
        for method, n in dict.fromkeys((row["method"], row["n"]) for row in rows):
            own = [row for row in rows if (row["method"], row["n"]) == (method, n)]
            places = [commits.index(row["commit"]) for row in own]
            axis.plot(places, [float(row[name]) for row in own], "o-", label=f"{method}, n = {n}")
        axis.set(title=f"{name}, an iteration in d = {DIM}", ylim=(0, None))
        axis.set_xticks(range(len(commits)), commits, rotation=45)
    axes[0].legend()
    figure.savefig(PICTURE, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["tcgp", "auto"])
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--iterations", type=int, default=12)
    arguments = parser.parse_args()
    name, rows = commit(), list(csv.DictReader(FILE.open())) if FILE.exists() else []
    print(f"| {' | '.join(FIELDS)} |\n{'|---' * len(FIELDS)}|")
    for method in arguments.methods:
        for n in arguments.n:
            along = count_iterations(method, n, 10)["along"]
            numbers = measure(method, n, arguments.iterations) | {key: along.get(key, 0) for key in COUNTS}
            case = {"date": time.strftime("%Y-%m-%d"), "commit": name, "method": method, "n": str(n)}
            row = case | {key: f"{number:.5g}" for key, number in numbers.items()}
            same = [(other["commit"], other["method"], other["n"]) for other in rows]
            place = same.index((name, method, str(n))) if (name, method, str(n)) in same else len(rows)
            rows[place : place + 1] = [row]
            print(f"| {' | '.join(row[field] for field in FIELDS)} |", flush=True)
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw(rows)


if __name__ == "__main__":
    main()
