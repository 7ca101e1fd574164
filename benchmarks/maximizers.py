"""Multistart against SMC + SLSQP on the criteria of 200 iterations of Bayesian optimization.

The runs are those of `tcgp.Optimizer`, from 10 d uniform points. Both maximizers
are timed on the first and on the last ten of its iterations, where the design is spread out and where it clusters.
SMC keeps its particles from each of these iterations to the next, as in the paper.

    python benchmarks/maximizers.py [--iterations 60] [--seed 0]

Prints, per problem and method: the share of iterations where multistart reaches the value of SMC + SLSQP to 1e-6,
the mean shortfalls of either below the better of the two (in log EI), the median CPU times of both, and the ratio of
their totals. All in one thread.

The share is given for all iterations, and for those where the standard deviation at both maximizers is at least
1e-7 of the process's. Below that the run has converged, and what is left of 1 - k'K^-1 k is partly rounding.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import tcgp
from tcgp.criteria import LogExpectedImprovement
from tcgp.maximize import multistart, smc

PROBLEMS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4", "hartmann6")
METHODS = ("gp", "tcgp")
WINDOW = 10  # iterations recorded at either end of a run
REACHED = 1e-6  # of log EI
ROUNDING = 1e-7  # standard deviation, relative to the process's, below which it is rounding error


@dataclass(frozen=True)
class Iteration:
    """One iteration of a run: its data, best first, and the model fitted to them."""

    X: np.ndarray  # (n, d), in the unit cube
    y: np.ndarray  # (n,)
    model: tcgp.Model
    first_of_window: bool

    @property
    def criterion(self) -> LogExpectedImprovement:
        return LogExpectedImprovement(self.model, self.y[0])


def iterations(problem_name: str, method: str, n_iterations: int, seed: int) -> Iterator[Iteration]:
    """Yield the iterations of one run of the optimizer that fall in the two windows."""
    problem = tcgp.problems.get(problem_name)
    low, high = np.asarray(problem.bounds, dtype=float).T
    dim = len(low)
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * dim, method=method, n_initial=10 * dim, rng=seed)
    for i in range(-10 * dim, n_iterations):
        x = np.array(optimizer.ask())
        if 0 <= i < WINDOW or i >= n_iterations - WINDOW:
            U, y = optimizer.history.successes
            order = np.argsort(y, kind="stable")
            yield Iteration(U[order], y[order], optimizer.model, i in (0, n_iterations - WINDOW))
        optimizer.tell(x.tolist(), float(problem.fun(low + x * (high - low))))


def compare(problem_name: str, method: str, n_iterations: int, seed: int) -> np.ndarray:
    """Values and CPU seconds of multistart and SMC, and the smaller relative sd: shape (iterations, 5)."""
    rows = []
    particles = None
    for i, iteration in enumerate(iterations(problem_name, method, n_iterations, seed)):
        dim = iteration.X.shape[1]
        criterion = iteration.criterion
        start = time.thread_time()
        ours = multistart.maximize(criterion, dim, rng=i, anchors=iteration.X)
        middle = time.thread_time()
        target = smc.ImprovementProbability(iteration.model, iteration.y[-1], iteration.y[0])
        kept = None if iteration.first_of_window else particles
        theirs = smc.maximize(criterion, dim, rng=i, target=target, particles=kept)
        end = time.thread_time()
        particles = theirs.particles
        sd = iteration.model.predict_arrays(np.array([ours.x, theirs.x]))[1].min()
        relative = sd / np.sqrt(iteration.model.interpolator.variance_)
        rows.append((ours.value, theirs.value, middle - start, end - middle, relative))
    return np.array(rows)


def report(name: str, rows: np.ndarray) -> str:
    """One line of the table."""
    reached = rows[:, 0] >= rows[:, 1] - REACHED
    sound = rows[:, 4] >= ROUNDING
    ours, theirs, ours_seconds, theirs_seconds, _ = rows.T
    lead = ours - theirs
    share = f"{reached[sound].mean():7.1%}" if sound.any() else f"{'-':>7s}"
    return (
        f"{name:24s} {reached.mean():7.1%}  {len(rows) - sound.sum():8d}  {share}"
        f"  {np.maximum(-lead, 0).mean():10.2g}  {np.maximum(lead, 0).mean():10.2g}"
        f"  {1e3 * np.median(ours_seconds):8.1f}  {1e3 * np.median(theirs_seconds):8.1f}"
        f"  {theirs_seconds.sum() / ours_seconds.sum():6.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60, help="length of each run")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(
        f"{'problem, method':24s} {'reached':>7s}  {'rounding':>8s}  {'others':>7s}"
        f"  {'shortfall':>10s}  {'SMC short':>10s}"
        f"  {'ms':>8s}  {'SMC ms':>8s}  {'ratio':>6s}"
    )
    tables = []
    with threadpool_limits(1):
        for problem in PROBLEMS:
            for method in METHODS:
                tables.append(compare(problem, method, arguments.iterations, arguments.seed))
                print(report(f"{problem}, {method}", tables[-1]), flush=True)
    everything = np.concatenate(tables)
    print(report(f"all {len(everything)}", everything))


if __name__ == "__main__":
    main()
