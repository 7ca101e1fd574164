"""What two learned constraints cost: the time of an iteration with them, relative to one without.

    python benchmarks/speed/constraints.py [--n 50 100] [--functions dixon-price ackley] [--states 3] [--repeats 5]

Both optimizers know the same n points in d = 4 and the same objective; one of them also has two outputs with limits,
each of which about half of the space keeps. The first iteration, "cold", fits from scratch; "warm" is the mean of the
``--iterations`` after it. Processor time on one thread: of each iteration the smallest of the repeats, which all do the
same. Ratios are geometric means over the states. "fits" counts the fits of a warm iteration, with and without.
"""

from __future__ import annotations

import argparse
import os
import time
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tcgp
from tcgp.methods import surrogate

DIM = 4
CONSTRAINTS = ["bend <= 0", "twist <= 0"]


def outputs(value: float, x: np.ndarray) -> dict[str, float]:
    """The objective, and two outputs whose limits are smooth surfaces through the unit cube."""
    return {
        "value": value,
        "bend": float(np.sin(4.0 * x[0]) + x[1] - 0.5 * x[2] - 0.5),
        "twist": float(x[2] ** 2 + np.cos(3.0 * x[3]) * x[0] - 0.3),
    }


def iterations(
    problem: tcgp.problems.Problem, n: int, constrained: bool, n_warm: int, method: str, state: int
) -> tuple[np.ndarray, float]:
    """Processor seconds of each iteration after n points, and the mean number of fits in a warm one."""
    low, width = problem.bounds[:, 0], problem.bounds[:, 1] - problem.bounds[:, 0]

    def answer(u: np.ndarray) -> float | dict[str, float]:
        value = float(problem(low + width * u))
        return outputs(value, u) if constrained else value

    goals = {"objective": "value", "constraints": CONSTRAINTS} if constrained else {}
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * DIM, method=method, n_initial=n, rng=state, **goals)
    for u in np.random.default_rng(state).random((n, DIM)):
        optimizer.tell(list(u), answer(u))
    seconds, fits = [], []
    with mock.patch.object(surrogate, "fit_model", wraps=surrogate.fit_model) as fit_model:
        for _ in range(1 + n_warm):
            start = time.process_time()
            x = optimizer.ask()
            seconds.append(time.process_time() - start)
            fits.append(fit_model.call_count)
            optimizer.tell(x, answer(np.array(x)))
    return np.array(seconds), (fits[-1] - fits[0]) / n_warm


def compare(
    problem: tcgp.problems.Problem, n: int, n_warm: int, method: str, state: int, repeats: int
) -> np.ndarray:
    """Cold and warm seconds and fits, of shape (2, 3): without constraints, and with."""
    times: list[list[np.ndarray]] = [[], []]
    fits = [0.0, 0.0]
    for _ in range(repeats):
        for constrained in (False, True):  # side by side
            seconds, fits[constrained] = iterations(problem, n, constrained, n_warm, method, state)
            times[constrained].append(seconds)
    smallest = [np.min(runs, axis=0) for runs in times]
    return np.array([[s[0], s[1:].mean(), f] for s, f in zip(smallest, fits, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--functions", nargs="+", default=["dixon-price", "ackley"])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--states", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=6)
    arguments = parser.parse_args()
    iterations(tcgp.problems.get(f"ackley{DIM}"), 10, True, 1, arguments.method, 0)  # imports, tables
    print("| function | n | cold, ms | with / without | warm, ms | with / without | fits |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.functions:
        problem = tcgp.problems.get(f"{name}{DIM}")
        for n in arguments.n:
            states = [
                compare(problem, n, arguments.iterations, arguments.method, state, arguments.repeats)
                for state in range(arguments.states)
            ]
            without, with_ = np.exp(np.log(states).mean(axis=0))
            cold, warm, _ = with_ / without
            print(
                f"| {name}{DIM} | {n} | {1e3 * without[0]:.1f} | {cold:.2f} | {1e3 * without[1]:.1f} | {warm:.2f} "
                f"| {with_[2]:.1f}, {without[2]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
