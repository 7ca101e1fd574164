"""How often do the values of a run look noisy, if they are and if they are not?

    python benchmarks/reliability/detection.py run [--seeds 22 23] [--store FILE]
    python benchmarks/reliability/detection.py report [--store FILE]

The default looks for noise in runs whose values are taken to be exact (`tcgp.methods.detection.noise_in`). Here its
runs end 30 evaluations after the first design. They are on all functions of `tcgp.problems` and BBOB's 24 in d = 2 and
5 (first seed only), and on thirteen functions with normal noise of 5 and 20 % of their standard deviation over the box.
A run that is in results/detection.csv already is not repeated.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import logging
import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "efficiency"))

import numpy as np

import functions
import tcgp
from tcgp.methods.detection import noise_in

NOISY = (
    "branin", "goldstein-price", "six-hump-camel", "hartmann3", "hartmann6", "rosenbrock6", "dixon-price4", "ackley4",
    "levy5", "styblinski-tang5", "griewank5", "michalewicz4", "borehole",
)  # fmt: skip
STORE = Path(__file__).parent / "results" / "detection.csv"
COLUMNS = ("function", "level", "seed", "n", "noise", "seen")


def tasks(seeds: Sequence[int]) -> Iterator[tuple[str, float, int]]:
    exact = (*tcgp.problems.names(), *(f"bbob:f{i}:d{d}:i12" for d in (2, 5) for i in range(1, 25)))
    yield from ((name, 0.0, seeds[0]) for name in exact)
    yield from itertools.product(NOISY, (0.05, 0.2), seeds)


def look(name: str, level: float, seed: int) -> dict[str, object]:
    """Make one run, and look for noise in it."""
    problem = functions.get(name)
    low, high = np.asarray(problem.bounds, dtype=float).T
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    noise = level * float(np.std(problem.fun(low + rng.random((2000, len(low))) * (high - low))))
    optimizer = tcgp.Optimizer(problem.bounds, rng=seed)
    X, y = [], []
    for _ in range(len(low) + 2 + 30):
        x = optimizer.ask()
        X.append((np.asarray(x) - low) / (high - low))
        y.append(float(problem.fun(np.atleast_2d(x))[0]) + noise * rng.standard_normal())
        optimizer.tell(x, y[-1])
    seen = noise_in(np.array(X), np.array(y))
    row = (name, level, seed, len(y), f"{noise:.4g}", "" if seen is None else f"{seen:.4g}")
    return dict(zip(COLUMNS, row, strict=True))


def run(seeds: Sequence[int], store: Path) -> None:
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    for name, level, seed in tasks(seeds):
        if (name, str(level), str(seed)) in {(r["function"], r["level"], r["seed"]) for r in load(store)}:
            continue
        row = look(name, level, seed)
        with store.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if not file.tell():
                writer.writeheader()
            writer.writerow(row)
        print(*row.values(), flush=True)


def load(store: Path) -> list[dict[str, str]]:
    if not store.exists():
        return []
    with store.open(newline="") as file:
        return list(csv.DictReader(file))


def report(store: Path) -> None:
    found = defaultdict(list)
    for row in load(store):
        found[float(row["level"])].append(row)
    print("| noise | runs | look noisy | of them |\n|---|---|---|---|")
    for level, rows in sorted(found.items()):
        seen = [row["function"] for row in rows if row["seen"]]
        names = ", ".join(sorted(set(seen))) if level == 0.0 else ""
        print(f"| {100 * level:g} % | {len(rows)} | {len(seen)} | {names} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[22, 23])
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.seeds, arguments.store)
    else:
        report(arguments.store)


if __name__ == "__main__":
    main()
