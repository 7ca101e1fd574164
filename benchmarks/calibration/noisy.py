"""Is the law of a noisy function calibrated below a threshold, compared with a Gaussian process with noise?

    python benchmarks/calibration/noisy.py run [--repetitions 20] [--sizes 50 150] [--match REGEX] [--store FILE]
    python benchmarks/calibration/noisy.py report [--store FILE]

The paper's functions at n uniform points, with normal noise of 5 and 20 % of their standard deviation over the box. To
these values `tcgp.fit_model` fits ``"gp"`` and ``"tcgp"`` with learned noise (``noise=True``), calibrated below the
quantile of the values at level 0.05 or 0.25. Scores are those of the function without noise, which only a simulation
knows, below t, its own quantile at this level: that of the values may be lower than the minimum.

- twCRPS over 1,000 uniform points of the box;
- tKS-PIT: the distance of U = F(f) / F(t) from uniform, over 900 of 20,000 uniform points with f <= t;
- r: by how much the predicted probability of f <= t misses the share of such points.

A data set that is there already is not repeated, so that a stopped benchmark continues where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import os
import re
import zlib
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import t as student

import tcgp
from tcgp import scoring

FUNCTIONS = ("goldstein-price", "rosenbrock6", "hartmann6", "dixon-price4", "ackley4")
LEVELS, DELTAS, METHODS = (0.05, 0.2), (0.05, 0.25), ("gp", "tcgp")
SCORES = ("twcrps", "tks_pit", "r")
N_TEST, N_BELOW, N_SCORED = 20_000, 900, 1000
STORE = Path(__file__).parent / "results" / "noisy.csv"
COLUMNS = ("function", "noise", "n", "delta", "seed", "method", *SCORES, "beta", "scale")


def data_set(name: str, level: float, n: int, seed: int) -> list[dict[str, object]]:
    """The scores of both methods, on one data set."""
    problem = tcgp.problems.get(name)
    low, high = np.asarray(problem.bounds, dtype=float).T
    rng = np.random.default_rng([seed, n, round(100 * level), zlib.crc32(name.encode())])
    test = low + rng.random((N_TEST, len(low))) * (high - low)
    truth = np.asarray(problem.fun(test), dtype=float)
    X = low + rng.random((n, len(low))) * (high - low)
    y = np.asarray(problem.fun(X)) + level * truth.std() * rng.standard_normal(n)
    rows = []
    for delta, method in itertools.product(DELTAS, METHODS):
        model = tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=seed, noise=True, delta=delta)
        t = float(np.quantile(truth, delta))
        below = np.flatnonzero(truth <= t)[:N_BELOW]
        scores = (
            float(
                scoring.twcrps(model.predict(test[:N_SCORED]), truth[:N_SCORED], t, negligible=1e-8).mean()
            ),
            scoring.tks_pit(model.predict(test[below]), truth[below], t),
            scoring.occurrence_discrepancy(model.predict(test), t, float(np.mean(truth <= t))),
        )
        law = (getattr(model.law, "beta", 2.0), getattr(model.law, "scale", math.sqrt(2.0)))
        row = (name, level, n, delta, seed, method, *(f"{number:.5g}" for number in (*scores, *law)))
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def run(arguments: argparse.Namespace) -> None:
    names = [name for name in FUNCTIONS if re.search(arguments.match, name)]
    for seed, n, level, name in itertools.product(
        range(arguments.repetitions), arguments.sizes, LEVELS, names
    ):
        key = (name, str(level), str(n), str(seed))
        if any((r["function"], r["noise"], r["n"], r["seed"]) == key for r in load(arguments.store)):
            continue
        rows = data_set(name, level, n, seed)
        with arguments.store.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if not file.tell():
                writer.writeheader()
            writer.writerows(rows)
        print(*key, flush=True)


def load(store: Path) -> list[dict[str, str]]:
    if not store.exists():
        return []
    with store.open(newline="") as file:
        return list(csv.DictReader(file))


def report(arguments: argparse.Namespace) -> None:
    """Ratios of tcgp's scores to those of gp: of means over data sets, geometric means over functions."""
    found: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in load(arguments.store):
        for score in SCORES:
            cell = (row["n"], row["delta"], row["noise"], score)
            found[(*cell, row["function"])][row["method"]].append(float(row[score]))
    print("| n | delta | noise | twCRPS | tKS-PIT | r | data sets |\n|---|---|---|---|---|---|---|")
    for n, delta, level in sorted({key[:3] for key in found}, key=lambda key: [*map(float, key)]):
        cells, sizes = [], []
        for score in SCORES:
            logs = []
            for name in FUNCTIONS:
                both = found.get((n, delta, level, score, name))
                if both:
                    means = [np.mean(both[method]) for method in METHODS]
                    logs.append(math.log(means[1] / means[0]))
                    sizes.append(len(both["gp"]))
            limit = (
                student.ppf(0.95, len(logs) - 1) * np.std(logs, ddof=1) / math.sqrt(len(logs))
                if len(logs) > 1
                else math.nan
            )
            cells.append(f"{math.exp(np.mean(logs)):.2f} (< {math.exp(np.mean(logs) + limit):.2f})")
        print(f"| {n} | {delta} | {float(level):.0%} | {' | '.join(cells)} | {min(sizes)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 150])
    parser.add_argument("--match", default="", help="only functions whose name this regular expression finds")
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    {"run": run, "report": report}[arguments.command](arguments)


if __name__ == "__main__":
    main()
