"""Cold fits of many data: what scanning a part of them saves, and what it costs in log-likelihood.

    python benchmarks/speed/cold_fits.py run [--n 400 800 1600] [--d 2 4 10] [--minutes 9]
    python benchmarks/speed/cold_fits.py report

Ackley, Rosenbrock and Michalewicz in d dimensions, with n points: uniform ones, or half of them in clusters of 1e-3 to
0.3 about the five best, as a run has them. Fitted are the members of auto: the GP, reGP and the GP that smooths. Each
is fitted cold as it is, cold with a scan of all data, and warm from the lengthscales found with n - 1 data. Times are
processor times. ``run`` adds what is missing to results/cold_fits.csv until its time is over.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import tcgp
from tcgp import GaussianProcess, RelaxedGaussianProcess
from tcgp.gp import selection
from tcgp.gp.interpolator import Interpolator
from tcgp.methods.portfolio import compress

RESULTS = Path(__file__).parent / "results" / "cold_fits.csv"
FUNCTIONS, DESIGNS, MODELS = (
    ("ackley", "rosenbrock", "michalewicz"),
    ("uniform", "run"),
    ("gp", "regp", "nugget"),
)
COLUMNS = ("function", "d", "n", "design", "model", "warm_s", "part_s", "all_s", "part", "all")

Case = tuple[str, int, int, str, str]


def data(function: str, d: int, n: int, design: str) -> tuple[np.ndarray, np.ndarray]:
    """Points of the unit cube, and their values."""
    problem = tcgp.problems.get(f"{function}{d}")
    low, high = np.transpose(problem.bounds)
    rng = np.random.default_rng([0, n, d])
    U = rng.random((n, d))
    if design == "run":
        m = n // 2
        best = U[:m][np.argsort(problem.fun(low + U[:m] * (high - low)))[:5]]
        scale = 10 ** rng.uniform(-3.0, -0.5, (n - m, 1))
        U[m:] = np.clip(best[rng.integers(5, size=n - m)] + scale * rng.normal(size=(n - m, d)), 0.0, 1.0)
    return U, problem.fun(low + U * (high - low))


def fit(model: str, U: np.ndarray, y: np.ndarray, start: np.ndarray | None = None) -> Interpolator:
    """A member of auto, fitted."""
    n, d = U.shape
    gp: Interpolator
    if model == "regp":
        threshold = float(np.quantile(y, min(max(0.05, 5 * d / n), 1.0)))
        gp = RelaxedGaussianProcess(threshold, selection="pooled", shortest=1.0)
    else:
        nugget = None if model == "nugget" else 0.0
        gp, y = GaussianProcess(selection="pooled", shortest=None, nugget=nugget), compress(y, y)
    return gp.fit(U, y, bounds=[(0.0, 1.0)] * d, start=start)


def timed(function: Callable[[], Interpolator]) -> tuple[Interpolator, float]:
    """What a function gives, and its processor seconds."""
    start = time.process_time()
    fitted = function()
    return fitted, time.process_time() - start


def measure(function: str, d: int, n: int, design: str, model: str) -> tuple[object, ...]:
    """A row of the results."""
    U, y = data(function, d, n, design)
    part, part_s = timed(lambda: fit(model, U, y))
    start = np.append(part.lengthscales_, [part.nugget_] * (model == "nugget"))
    before = fit(model, U[:-1], y[:-1], start)
    start = np.append(before.lengthscales_, [before.nugget_] * (model == "nugget"))
    _, warm_s = timed(lambda: fit(model, U, y, start))
    with mock.patch.object(selection, "SCAN_DATA", n):
        whole, all_s = timed(lambda: fit(model, U, y))
    numbers = (warm_s, part_s, all_s, part.objective_, whole.objective_)
    return (function, d, n, design, model, *(round(number, 3) for number in numbers))


def known() -> dict[Case, dict[str, str]]:
    """The rows that there are."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["function"], int(r["d"]), int(r["n"]), r["design"], r["model"]): r for r in rows}


def run(cases: list[Case], minutes: float) -> None:
    """Add the cases that are missing, until the time is over."""
    end = time.monotonic() + 60.0 * minutes
    done = known()
    if not done:
        RESULTS.write_text(",".join(COLUMNS) + "\n")
    for case in cases:
        if case not in done and time.monotonic() < end:
            row = measure(*case)
            print(*row, flush=True)
            with RESULTS.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(row)


def report() -> None:
    """Times in units of a warm fit, and losses of log-likelihood, over functions, dimensions and designs."""
    rows = known()
    print(
        "| n | model | cases | warm, s | cold, warm fits | largest | all, warm fits | lost > 0.5 | gained > 0.5 |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n, model in itertools.product(sorted({case[2] for case in rows}), MODELS):
        these = [row for case, row in rows.items() if case[2] == n and case[4] == model]
        warm, part, whole = (np.array([float(r[c]) for r in these]) for c in ("warm_s", "part_s", "all_s"))
        loss = np.array([float(r["all"]) - float(r["part"]) for r in these])
        cells = (np.median(warm), np.median(part / warm), np.max(part / warm), np.median(whole / warm))
        counts = (int((loss > 0.5).sum()), int((loss < -0.5).sum()))
        print(
            f"| {n} | {model} | {len(these)} | {' | '.join(f'{c:.3g}' for c in cells)} | {counts[0]} | {counts[1]} |"
        )
    for case, row in rows.items():
        lost = float(row["all"]) - float(row["part"])
        if lost > 0.5:
            print(*case, "lost", round(lost, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--n", type=int, nargs="+", default=[400, 800, 1600])
    parser.add_argument("--d", type=int, nargs="+", default=[2, 4, 10])
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    if options.command == "run":
        product = itertools.product(options.n, FUNCTIONS, options.d, DESIGNS, MODELS)
        run([(function, d, n, design, model) for n, function, d, design, model in product], options.minutes)
    report()
