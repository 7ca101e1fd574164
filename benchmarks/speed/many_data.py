"""Many data at once: n values told, the first two proposals after them, a batch of 16, and the report of the run.

    python benchmarks/speed/many_data.py [--n 250 500 1000 1500 2000 5000 10000]

Prints processor seconds on one thread. A smooth function of two parameters, uniform points, the default method.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import tcgp
from tcgp.report import report_from_journal

BATCH = 16


def fun(x: list[float]) -> float:
    return (x[0] - 0.3) ** 2 + float(np.sin(5.0 * x[1]))


def seconds(step: Callable[[], object]) -> float:
    """Processor time of a step."""
    start = time.process_time()
    step()
    return time.process_time() - start


def measure(n: int, directory: Path) -> tuple[float, ...]:
    """Seconds of telling, of the first proposal, of the second, of a batch, and of the report."""
    X = np.random.default_rng(0).random((n, 2)).tolist()
    journal = directory / f"{n}.jsonl"
    with tcgp.Optimizer([(0.0, 1.0)] * 2, rng=0, journal=journal) as optimizer:
        values = [fun(x) for x in X]
        told = seconds(lambda: optimizer.tell(X, values))
        first = seconds(optimizer.ask)
        x = optimizer.pending[0].x
        optimizer.tell(x, fun(x))
        second = seconds(optimizer.ask)
        batch = seconds(lambda: optimizer.ask(BATCH))
    report = seconds(lambda: report_from_journal(journal, directory / f"{n}.html"))
    return told, first, second, batch, report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[250, 500, 1000, 1500, 2000, 5000, 10000])
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    print(f"| n | telling, s | first proposal, s | second, s | the next {BATCH} at once, s | report, s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n in parser.parse_args().n:
            cells = [f"{value:.1f}" for value in measure(n, Path(folder))]
            print(f"| {n} | {' | '.join(cells)} |", flush=True)
