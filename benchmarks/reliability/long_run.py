"""A long run: 2,000 iterations of ask and tell in three dimensions; how time and memory grow with n.

Prints, every 100 evaluations, the median time of an iteration since the last line, and the largest; the part of the fit
and of the maximiser; the memory of the process; the size of the journal; and the best value. The journal makes the run
resumable: the same command goes on where it stopped, and first says how long reading the journal took.

    python benchmarks/reliability/long_run.py 2000 --journal long.jsonl --csv long_run.csv
"""

from __future__ import annotations

import argparse
import csv
import logging
import os
import resource
import time
from pathlib import Path

import numpy as np

from tcgp import Optimizer, problems

EVERY = 100
COLUMNS = (
    "n",
    "median_ms",
    "largest_ms",
    "fit_ms",
    "maximize_ms",
    "memory_mib",
    "peak_mib",
    "journal_mib",
    "distinct",
    "best_minus_minimum",
)


def memory() -> tuple[float, float]:
    """Memory of this process now and at its peak, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, resource.getrusage(
        resource.RUSAGE_SELF
    ).ru_maxrss / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", type=int, help="number of evaluations in all")
    parser.add_argument("--journal", type=Path, default=Path("long_run.jsonl"))
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--method", default="tcgp")
    parser.add_argument("--problem", default="hartmann3")
    arguments = parser.parse_args()
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    problem = problems.get(arguments.problem)
    start = time.perf_counter()
    if arguments.journal.exists():
        optimizer = Optimizer.resume(arguments.journal)
        print(
            f"{len(optimizer.evaluations)} evaluations read in {time.perf_counter() - start:.2f} s",
            flush=True,
        )
    else:
        optimizer = Optimizer(problem.bounds, method=arguments.method, rng=0, journal=arguments.journal)
    times: list[float] = []
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    while (n := len(optimizer.evaluations)) < arguments.n:
        begin = time.process_time()
        x = optimizer.ask()
        optimizer.tell(x, problem(np.array(x)))
        times.append(time.process_time() - begin)
        n += 1
        if n % EVERY:
            continue
        traces = optimizer.trace[-len(times) :]
        codes = optimizer.space.encode([e.x for e in optimizer.evaluations])
        row = [
            n,
            round(1e3 * float(np.median(times)), 1),
            round(1e3 * max(times), 1),
            round(1e3 * float(np.median([t["t_fit"] for t in traces])), 1),
            round(1e3 * float(np.median([t["t_maximize"] for t in traces])), 1),
            *(round(value, 1) for value in memory()),
            round(arguments.journal.stat().st_size / 2**20, 2),
            len({tuple(code) for code in codes.tolist()}),
            f"{optimizer.result().fun - problem.minimum:.2e}",
        ]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        if arguments.csv is not None:
            new = not arguments.csv.exists()
            with arguments.csv.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([COLUMNS, row] if new else [row])
        times = []


if __name__ == "__main__":
    main()
