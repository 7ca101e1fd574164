"""What keeps the search away from where evaluations fail, and what that costs.

Functions that crash on a part of their box: a ball that covers the minimum, a half-space whose edge passes by it,
or stripes. Prints how many of the 40 evaluations after the initial design fail, and the best value found, with
neither, one or both of the measures in `tcgp.criteria.feasibility`.

    python benchmarks/reliability/failures.py --seeds 5
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from unittest import mock

import numpy as np

import tcgp
from tcgp.criteria import Criterion, LogExpectedImprovement
from tcgp.optimizer import Optimizer
from tcgp.search.acquisition import Acquisition, Models

N_INITIAL, N_EVALS = 20, 60


class Both(Acquisition):
    """What the package does."""


class WeightOnly(Acquisition):
    """The criterion is weighed by the share of successes nearby."""

    def informed(self, models: Models) -> Models:
        return models


class StandInOnly(Acquisition):
    """The model is conditioned on mediocre values at the failures."""

    def criterion(self, models: Models) -> Criterion:
        return LogExpectedImprovement(models.objective, float(self.history.data.successes[1].min()))


class Neither(StandInOnly, WeightOnly):
    """Failures are only not repeated."""


class Median(Acquisition):
    """Both, with stand-in values at the median instead of the lower quartile."""

    def informed(self, models: Models) -> Models:
        failed, model = self.history.data.failures, models.objective
        if not len(failed):
            return models
        median = np.median(self.history.data.successes[1])
        return Models((model.condition(failed, np.maximum(model.predict(failed).mean, median)),))


RULES = (Neither, WeightOnly, StandInOnly, Median, Both)


def crashing(name: str, kind: str) -> tuple[Callable[[list[float]], float | None], float]:
    """A problem on the unit cube that fails on a part of it, and the share of that part."""
    problem = tcgp.problems.get(name)
    low, high = np.array(problem.bounds, dtype=float).T
    centre = (np.atleast_2d(problem.minimizer)[0] - low) / (high - low)
    sample = np.random.default_rng(0).random((20_000, len(low)))

    def score(U: np.ndarray) -> np.ndarray:  # large where it fails
        if kind == "ball":
            return -np.linalg.norm(U - centre - 0.15 / np.sqrt(len(low)), axis=-1)
        if kind == "half":
            return U[..., 0] - centre[0]
        return np.sin(9.0 * U[..., 0] + 0.3)

    limit = {"ball": np.quantile(score(sample), 0.7), "half": 0.02, "stripes": 0.6}[kind]

    def fun(u: list[float]) -> float | None:
        if score(np.array(u)) > limit:
            return None
        return float(problem(low + np.array(u) * (high - low)))

    return fun, float(np.mean(score(sample) > limit))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", default="gp")
    arguments = parser.parse_args()
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    print(f"{'':24s}" + "".join(f"{rule.__name__:>22s}" for rule in RULES))
    for name, kind in [
        ("goldstein-price", "ball"),
        ("goldstein-price", "stripes"),
        ("hartmann3", "ball"),
        ("hartmann3", "half"),
        ("dixon-price4", "half"),
    ]:
        fun, share = crashing(name, kind)
        cells = []
        for rule in RULES:
            best, failed = [], []
            for seed in range(arguments.seeds):
                space = [(0, 1)] * (4 if name.endswith("4") else 3 if name.endswith("3") else 2)
                with mock.patch("tcgp.search.acquisition.Acquisition", rule):
                    optimizer = Optimizer(space, method=arguments.method, n_initial=N_INITIAL, rng=seed)
                    assert optimizer.surrogates[0].last is None  # made here, with the rule
                for _ in range(N_EVALS):
                    x = optimizer.ask()
                    optimizer.tell(x, fun(x))
                best.append(optimizer.result().fun)
                failed.append(sum(e.failed for e in optimizer.evaluations[N_INITIAL:]))
            cells.append(f"{np.mean(failed):5.1f} fail, {np.median(best):9.4g}")
        print(f"{name[:15]:15s} {kind:7s}{share:4.0%}" + "".join(f"{c:>22s}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
