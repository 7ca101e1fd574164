"""Multistart against SMC + SLSQP on the criteria of 200 iterations of Bayesian optimization.

The runs are those of `tcgp.Optimizer`, from 10 d uniform points. Both maximizers
are timed on the first and on the last ten of its iterations, where the design is spread out and where it clusters.
SMC begins each of them with new particles, as in `tcgp.Optimizer`; the paper's keeps its own.

    python benchmarks/speed/maximizers.py [--iterations 60] [--seed 0]      (needs python-flint)

Prints, per problem and method: the share of iterations where multistart reaches the value of SMC + SLSQP, to 1e-6 of
log EI and to its rounding error, the mean shortfalls of either below the better of the two, the median CPU times of
both, and the ratio of their totals. All in one thread.

The values compared are computed with 40 digits. Late in a run the best points lie next to data, the predictive variance
is 1e-10 to 1e-14 of the process's, and what float64 leaves of 1 - k'K^-1 k is partly rounding: log EI has an error
of 1e-5 to 0.1 there, and no maximizer can tell two points apart that differ by less. What float64 says too much or too
little of log EI at either point, if that is more than 1e-6, is the rounding error meant above.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import flint
import numpy as np
from threadpoolctl import threadpool_limits

import tcgp
from tcgp.criteria import LogExpectedImprovement
from tcgp.laws.tabulated import tabulated
from tcgp.maximize import multistart, smc

PROBLEMS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4", "hartmann6")
METHODS = ("gp", "tcgp")
WINDOW = 10  # iterations recorded at either end of a run
REACHED = 1e-6  # of log EI


@dataclass(frozen=True)
class Iteration:
    """One iteration of a run: its data, best first, and the model fitted to them."""

    X: np.ndarray  # (n, d), in the unit cube
    y: np.ndarray  # (n,)
    model: tcgp.Model

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
            U, y = optimizer.history.data.successes
            order = np.argsort(y, kind="stable")
            yield Iteration(U[order], y[order], optimizer.model)
        optimizer.tell(x.tolist(), float(problem.fun(low + x * (high - low))))


def exact_log_ei(model: tcgp.Model, best: float, points: np.ndarray) -> np.ndarray:
    """Log EI at some points given the model's hyperparameters, its linear algebra done with 40 digits."""
    posterior, units = model.interpolator.posterior_, model.interpolator.units_
    X, U = ((A / posterior.covariance.lengthscales).tolist() for A in (posterior.X, points))
    n, flint.ctx.dps = len(X), 40
    K = flint.arb_mat([[_matern(x, other) for other in X] for x in X])
    for i, nugget in enumerate(posterior.nuggets):
        K[i, i] += posterior.factor.nugget + nugget
    k = flint.arb_mat([[_matern(x, u) for u in U] for x in X])
    residuals = flint.arb_mat(n, 1, (posterior.z - posterior.mean).tolist())
    means, reductions = k.transpose() * K.solve(residuals), k.transpose() * K.solve(k)
    values = []
    for i in range(len(U)):
        sd = (posterior.variance * (1 - reductions[i, i])).sqrt()
        gap = (float(units.y_to_unit(best)) - posterior.mean - means[i, 0]) / sd
        values.append(float(sd.log()) + np.log(units.y_unit) + float(model.law.log_improvement(float(gap))))
    return np.array(values)


def _matern(u: list[float], v: list[float]) -> flint.arb:
    """Matérn correlation of smoothness 5/2 at two scaled points."""
    h = (5 * sum((flint.arb(a) - b) ** 2 for a, b in zip(u, v, strict=True))).sqrt()
    return (1 + h + h * h / 3) * (-h).exp()


def compare(problem_name: str, method: str, n_iterations: int, seed: int) -> np.ndarray:
    """Exact values of multistart and SMC, their rounding error, and CPU seconds of both: shape (iterations, 5)."""
    rows = []
    for i, iteration in enumerate(iterations(problem_name, method, n_iterations, seed)):
        dim = iteration.X.shape[1]
        criterion = iteration.criterion
        fast = replace(criterion, improvement=tabulated(iteration.model.law))
        start = time.thread_time()
        ours = multistart.maximize(fast, dim, rng=i, anchors=iteration.X)
        middle = time.thread_time()
        target = smc.ImprovementProbability(iteration.model, iteration.y[-1], iteration.y[0])
        theirs = smc.maximize(criterion, dim, rng=i, target=target)
        end = time.thread_time()
        ends = np.array([ours.x, theirs.x])
        exact = exact_log_ei(iteration.model, iteration.y[0], ends)
        rounding = np.abs(criterion(ends) - exact).max()
        rows.append((*exact, rounding, middle - start, end - middle))
    return np.array(rows)


def report(name: str, rows: np.ndarray) -> str:
    """One line of the table."""
    ours, theirs, rounding, ours_seconds, theirs_seconds = rows.T
    lead = ours - theirs
    shares = "  ".join(
        f"{np.mean(lead >= -limit):8.1%}" for limit in (REACHED, np.maximum(rounding, REACHED))
    )
    return (
        f"{name:24s} {shares}  {np.maximum(-lead, 0).mean():10.2g}  {np.maximum(lead, 0).mean():10.2g}"
        f"  {1e3 * np.median(ours_seconds):8.1f}  {1e3 * np.median(theirs_seconds):8.1f}"
        f"  {theirs_seconds.sum() / ours_seconds.sum():6.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60, help="length of each run")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(
        f"{'problem, method':24s} {'to 1e-6':>8s}  {'rounding':>8s}"
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
