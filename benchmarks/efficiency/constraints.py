"""Learned constraints: which model of an output with a limit finds the best feasible point soonest.

Runs the default method on classical problems from uniform designs of 3 d points, with each composition of the models
of the limits, and prints for each the median over seeds of the best feasible value after n0 + 20 and n0 + 50
evaluations, the worst after n0 + 50, and the evaluations after the design until the first feasible point.

    python benchmarks/efficiency/constraints.py [--problems spring beam] [--models gp tcgp regp auto] [--seeds 10]

Functions of COCO's suite with constraints are problems too: bbob-constrained:f8:d5:i1, for instance.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tcgp
from functions import bbob_minimizer
from tcgp.experiments.run.bbob import constrained_bbob_problem, is_constrained_bbob

# Of an output with a limit: the method and its options.
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "gp": ("gp", {"selection": "pooled"}),
    "tcgp": ("tcgp", {"selection": "pooled"}),
    "occ": ("tcgp-occ", {"selection": "pooled"}),
    "regp": ("regp", {"selection": "pooled"}),
    "auto": ("auto", {}),
}


class Problem(NamedTuple):
    """A function with the outputs f, g1, g2, ..., whose limits are g <= 0."""

    fun: Callable[[np.ndarray], dict[str, float]]
    bounds: list[tuple[float, float]]
    minimum: float


def named(f: float, *limits: float) -> dict[str, float]:
    return {"f": f, **{f"g{i}": g for i, g in enumerate(limits, start=1)}}


def spring(x: np.ndarray) -> dict[str, float]:
    """Weight of a tension spring: wire diameter, coil diameter, number of coils."""
    d, D, n = x
    return named(
        (n + 2.0) * D * d**2,
        1.0 - D**3 * n / (71785.0 * d**4),
        (4.0 * D**2 - d * D) / (12566.0 * (D * d**3 - d**4)) + 1.0 / (5108.0 * d**2) - 1.0,
        1.0 - 140.45 * d / (D**2 * n),
        (d + D) / 1.5 - 1.0,
    )


def beam(x: np.ndarray) -> dict[str, float]:
    """Cost of a welded beam: weld thickness and length, bar height and thickness."""
    h, length, t, b = x
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    moment = load * (span + length / 2.0)
    radius = math.sqrt(length**2 / 4.0 + ((h + t) / 2.0) ** 2)
    polar = 2.0 * math.sqrt(2.0) * h * length * (length**2 / 12.0 + ((h + t) / 2.0) ** 2)
    first, second = load / (math.sqrt(2.0) * h * length), moment * radius / polar
    stress = math.sqrt(first**2 + first * second * length / radius + second**2)
    buckling = (
        4.013 * young * t * b**3 / 6.0 / span**2 * (1.0 - t / (2.0 * span) * math.sqrt(young / (4.0 * shear)))
    )
    return named(
        1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length),
        stress - 13600.0,
        6.0 * load * span / (b * t**2) - 30000.0,
        h - b,
        4.0 * load * span**3 / (young * t**3 * b) - 0.25,
        load - buckling,
    )


def g9(x: np.ndarray) -> dict[str, float]:
    """Hock and Schittkowski's problem 100."""
    a, b, c, d, e, f, g = x
    return named(
        (a - 10) ** 2
        + 5 * (b - 12) ** 2
        + c**4
        + 3 * (d - 11) ** 2
        + 10 * e**6
        + 7 * f**2
        + g**4
        - 4 * f * g
        - 10 * f
        - 8 * g,
        -127 + 2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e,
        -282 + 7 * a + 3 * b + 10 * c**2 + d - e,
        -196 + 23 * a + b**2 + 6 * f**2 - 8 * g,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
    )


def g24(x: np.ndarray) -> dict[str, float]:
    """Two disconnected feasible parts, in two dimensions."""
    a, b = x
    return named(
        -a - b,
        -2 * a**4 + 8 * a**3 - 8 * a**2 + b - 2,
        -4 * a**4 + 32 * a**3 - 88 * a**2 + 96 * a + b - 36,
    )


PROBLEMS = {
    "spring": Problem(spring, [(0.05, 0.2), (0.25, 1.3), (2.0, 15.0)], 0.012665),
    "beam": Problem(beam, [(0.125, 10.0), (0.1, 10.0), (0.1, 10.0), (0.1, 10.0)], 1.724852),
    "g9": Problem(g9, [(-10.0, 10.0)] * 7, 680.6301),
    "g24": Problem(g24, [(0.0, 3.0), (0.0, 4.0)], -5.508013),
}


def get(name: str) -> Problem:
    """A problem of this file, or of COCO's suite with constraints."""
    if not is_constrained_bbob(name):
        return PROBLEMS[name]
    problem = constrained_bbob_problem(name)
    return Problem(problem.fun, problem.bounds.tolist(), problem.fun(bbob_minimizer(name))["f"])


def run(problem: Problem, model: str, seed: int) -> tuple[float, float, float]:
    """Best feasible values after n0 + 20 and n0 + 50, and evaluations until the first feasible point."""
    n0 = 3 * len(problem.bounds)
    n_limits = len(problem.fun(np.mean(problem.bounds, axis=1))) - 1
    method, options = MODELS[model]
    home = "tcgp.optimizer.acquisition"
    with mock.patch.multiple(home, LIMIT_METHOD=method, LIMIT_OPTIONS=options):
        result = tcgp.minimize(
            problem.fun,
            problem.bounds,
            n_evals=n0 + 50,
            n_initial=n0,
            objective="f",
            constraints=[f"g{i + 1} <= 0" for i in range(n_limits)],
            rng=seed,
        )
    best = np.minimum.accumulate(np.where(result.feasible, result.func_vals, np.inf))
    first = float(np.argmax(result.feasible)) - n0 + 1 if result.feasible.any() else math.inf
    return float(best[n0 + 19]), float(best[-1]), max(first, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    unknown = [p for p in arguments.problems if p not in PROBLEMS and not is_constrained_bbob(p)]
    if unknown:
        parser.error(
            f"--problems must be among {', '.join(PROBLEMS)}, bbob-constrained:fF:dD:iI, got {unknown[0]}"
        )
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    print(f"{'':36s}{'n0 + 20':>12s}{'n0 + 50':>12s}{'worst':>12s}{'first':>8s}{'minimum':>12s}")
    for name in arguments.problems:
        problem = get(name)
        for model in arguments.models:
            runs = np.array([run(problem, model, seed) for seed in range(arguments.seeds)])
            early, late, first = np.median(runs, axis=0)
            cells = f"{early:12.5g}{late:12.5g}{runs[:, 1].max():12.5g}{first:8.3g}"
            print(f"{name:28s}{model:8s}{cells}{problem.minimum:12.5g}", flush=True)


if __name__ == "__main__":
    main()
