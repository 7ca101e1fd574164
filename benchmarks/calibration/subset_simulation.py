"""Bias and scatter of subset simulation, against plain Monte Carlo, known volumes and larger runs.

    python benchmarks/calibration/subset_simulation.py [--repeats 50] [--particles 1000]

Each row repeats the simulation with seeds 0, 1, ... and compares log p with the reference: its mean error with
standard error, its standard deviation, and the standard deviation that independent particles would give,
sqrt(log p / log p0 · (1 - p0) / (p0 n)). Numbers are natural logarithms: 0.2 means 20 %.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tcgp import problems
from tcgp.sampling import subset_simulation

P0 = 0.2
# Levels that good optimizers reach. Where the set is one well, not too narrow, plain Monte Carlo in a box around
# it is the better reference: a run with ten times the particles still has a third of the scatter.
ONE_WELL = (
    ("goldstein-price", 3.001),
    ("ackley4", 0.1),
    ("hartmann6", -3.32),
    ("michalewicz4", -3.69),
    ("shekel10", -10.5),
)
LARGER_RUN = (
    ("rosenbrock6", 1.0),
    ("rosenbrock6", 1e-3),
    ("ackley4", 1e-3),
    ("dixon-price4", 0.01),
    ("perm6", 0.1),
    ("cross-in-tray", -2.06261),
)


@dataclass(frozen=True)
class Case:
    """A probability with a reference for it."""

    name: str
    fun: Callable[[np.ndarray], np.ndarray]
    bounds: np.ndarray
    threshold: float
    reference: float  # log p
    oracle: str


def squared_radius(x: np.ndarray) -> np.ndarray:
    """Squared distance to the centre of the unit cube."""
    return np.asarray(np.sum((x - 0.5) ** 2, axis=1))


def log_ball_volume(d: int) -> float:
    """Logarithm of the volume of the unit ball."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def monte_carlo_cases(name: str, probabilities: tuple[float, ...], n: int = 4_000_000) -> Iterator[Case]:
    """Thresholds that are quantiles of n plain Monte Carlo values: relative error 1/sqrt(n p)."""
    problem = problems.get(name)
    rng = np.random.default_rng(12345)
    values = np.concatenate(
        [problem.fun(rng.uniform(*problem.bounds.T, (n // 20, problem.dim))) for _ in range(20)]
    )
    for p in probabilities:
        yield Case(
            name, problem.fun, problem.bounds, float(np.quantile(values, p)), math.log(p), "Monte Carlo"
        )


def ball_case(d: int, p: float) -> Case:
    """Ball in the unit cube of dimension d whose volume is p."""
    radius = math.exp((math.log(p) - log_ball_volume(d)) / d)
    assert radius <= 0.5
    return Case(
        f"ball{d}", squared_radius, np.tile([0.0, 1.0], (d, 1)), radius**2, math.log(p), "exact volume"
    )


def enclosing_box_case(name: str, threshold: float, n: int = 2_000_000) -> Case:
    """Plain Monte Carlo in a box 1.4 times that of the particles of one run."""
    problem = problems.get(name)
    particles = subset_simulation(problem.fun, problem.bounds, threshold, rng=98).particles
    low, high = particles.min(axis=0), particles.max(axis=0)
    low, high = low - 0.2 * (high - low), high + 0.2 * (high - low)
    rng = np.random.default_rng(12345)
    fraction = np.mean(
        [np.mean(problem.fun(rng.uniform(low, high, (n // 20, problem.dim))) <= threshold) for _ in range(20)]
    )
    log_volume = np.sum(np.log((high - low) / np.ptp(problem.bounds, axis=1)))
    reference = float(np.log(fraction) + log_volume)
    return Case(name, problem.fun, problem.bounds, threshold, reference, "Monte Carlo, box")


def larger_run_case(name: str, threshold: float, n_particles: int) -> Case:
    """Reference from one run with more particles."""
    problem = problems.get(name)
    reference = subset_simulation(problem.fun, problem.bounds, threshold, n_particles=n_particles, rng=99)
    return Case(
        name, problem.fun, problem.bounds, threshold, reference.log_probability, f"{n_particles} particles"
    )


def cases(n_particles: int) -> Iterator[Case]:
    """All rows; references are computed as they are needed."""
    for name in ("goldstein-price", "ackley4", "hartmann6", "rosenbrock6"):
        yield from monte_carlo_cases(name, (1e-2, 1e-3))
    for d in (4, 10, 20):
        yield ball_case(d, 1e-8)
    for name, threshold in ONE_WELL:
        yield enclosing_box_case(name, threshold)
    for name, threshold in LARGER_RUN:
        yield larger_run_case(name, threshold, 10 * n_particles)


def report(case: Case, repeats: int, n_particles: int) -> str:
    """One row of the table."""
    start = time.process_time()
    runs = [
        subset_simulation(case.fun, case.bounds, case.threshold, n_particles=n_particles, p0=P0, rng=seed)
        for seed in range(repeats)
    ]
    seconds = (time.process_time() - start) / repeats
    errors = np.array([run.log_probability for run in runs]) - case.reference
    ideal = math.sqrt(case.reference / math.log(P0) * (1 - P0) / (P0 * n_particles))
    return (
        f"{case.name:16s} {case.threshold:12.5g} {math.exp(case.reference):9.2e} {case.oracle:16s} "
        f"{errors.mean():+7.3f} ± {errors.std(ddof=1) / math.sqrt(repeats):5.3f} "
        f"{errors.std(ddof=1):7.3f} {ideal:7.3f} {np.mean([run.n_evaluations for run in runs]):11.0f} {seconds:7.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--particles", type=int, default=1000)
    arguments = parser.parse_args()
    n = arguments.particles
    print(
        f"{'function':16s} {'threshold':>12s} {'p':>9s} {'reference':16s} {'mean error':>15s} "
        f"{'scatter':>7s} {'ideal':>7s} {'evaluations':>11s} {'CPU s':>7s}"
    )
    for case in cases(n):
        print(report(case, arguments.repeats, n), flush=True)


if __name__ == "__main__":
    main()
