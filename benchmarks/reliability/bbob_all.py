"""All 24 BBOB functions in dimensions 2 and 5, three instances, through every method: does anything fail?

A few iterations each, after a design of 5 d points; EI and LCB in turn. Every value must be finite, every point in the
box and new. Needs coco-experiment. Prints the problems that failed, and how far the methods came.

    python benchmarks/reliability/bbob_all.py --iterations 4
"""

from __future__ import annotations

import argparse
import itertools
import logging
import time
import warnings
from collections import Counter

import numpy as np

from tcgp import Optimizer
from tcgp.methods import METHODS
from tcgp_experiments.run import problems


def trouble(name: str, method: str, criterion: str, n_iterations: int, seed: int) -> str | None:
    """What goes wrong in a short run, if anything does."""
    problem = problems.get(name)
    dim = len(problem.bounds)
    optimizer = Optimizer(problem.bounds, method=method, criterion=criterion, n_initial=5 * dim, rng=seed)
    low, high = np.array(problem.bounds, dtype=float).T
    seen: set[tuple[float, ...]] = set()
    for i in range(5 * dim + n_iterations):
        proposal = optimizer.propose()
        x = np.array(proposal.x)
        if not (np.isfinite(x).all() and (x >= low).all() and (x <= high).all()):
            return f"evaluation {i} at {x}, outside the box"
        if tuple(proposal.x) in seen:
            return f"evaluation {i} at {x}, a second time"
        seen.add(tuple(proposal.x))
        optimizer.tell(proposal.x, problem(x))
    model = optimizer.model
    if model is None or not np.isfinite(model.predict(model.X).mean).all():
        return "no finite prediction"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    arguments = parser.parse_args()
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    warnings.simplefilter("error", RuntimeWarning)
    start, failed, n_runs = time.process_time(), Counter(), 0
    for function, dim, instance in itertools.product(range(1, 25), (2, 5), (1, 2, 3)):
        name = f"bbob:f{function}:d{dim}:i{instance}"
        for k, method in enumerate(arguments.methods):
            criterion = ("ei", "lcb")[(k + instance) % 2]
            try:
                found = trouble(name, method, criterion, arguments.iterations, instance)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            n_runs += 1
            if found:
                failed[method] += 1
                print(f"{name}, {method}, {criterion}: {found}", flush=True)
    seconds = time.process_time() - start
    print(
        f"{n_runs} runs of {arguments.iterations} iterations, {sum(failed.values())} failed, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
