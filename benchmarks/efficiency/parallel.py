"""What to suppose about evaluations under way: which rule loses least against a serial run.

Keeps ``--pending`` evaluations going (first in, first out) and prints, for each rule, the median over seeds of the
best value after the budget, its upper quartile, and the mean rank among the rules.

    python benchmarks/efficiency/parallel.py --seeds 8 --pending 4
"""

from __future__ import annotations

import argparse
from collections import deque
from unittest import mock

import numpy as np

import tcgp
from tcgp.criteria import Criterion, LogExpectedImprovement
from tcgp.optimizer import Optimizer
from tcgp.search.acquisition import Acquisition, Models

PROBLEMS = {"goldstein-price": 60, "hartmann3": 60, "ackley4": 80, "dixon-price4": 80}


class Sceptic(Acquisition):
    """The prediction, or the best value so far where that is larger: what the package does."""


class Believer(Acquisition):
    """The model's own prediction."""

    def informed(self, models: Models) -> Models:
        pending, model = self.space.encode([p.x for p in self.history.pending.values()]), models.objective
        return Models((model.condition(pending, model.predict(pending).mean),)) if len(pending) else models


class Liar(Acquisition):
    """A constant: a quantile of the values so far."""

    level = 0.0

    def informed(self, models: Models) -> Models:
        pending = self.space.encode([p.x for p in self.history.pending.values()])
        if not len(pending):
            return models
        lie = np.quantile(self.history.data.successes[1], self.level)
        return Models((models.objective.condition(pending, np.full(len(pending), lie)),))


class LiarMin(Liar):
    """The best value so far."""


class LiarMedian(Liar):
    """The median of the values so far."""

    level = 0.5


class LiarMax(Liar):
    """The worst value so far."""

    level = 1.0


class Faithful(Believer):
    """The prediction, which also counts as the best value so far if it is lower."""

    def criterion(self, models: Models) -> Criterion:
        return LogExpectedImprovement(models.objective, float(models.objective.y.min()))


RULES = (Sceptic, Believer, Faithful, LiarMin, LiarMedian, LiarMax)


def run(rule: type[Acquisition], name: str, n_evals: int, n_pending: int, seed: int, method: str) -> float:
    """Best value of one run."""
    problem = tcgp.problems.get(name)
    with mock.patch("tcgp.search.acquisition.Acquisition", rule):
        optimizer = Optimizer(problem.bounds, method=method, n_initial=n_evals // 3, rng=seed)
        assert optimizer.surrogates[0].last is None  # made here, with the rule
    under_way: deque[list[float]] = deque()
    for _ in range(n_evals):
        if len(under_way) == n_pending:
            x = under_way.popleft()
            optimizer.tell(x, problem(np.array(x)))
        under_way.append(optimizer.ask())
    for x in under_way:
        optimizer.tell(x, problem(np.array(x)))
    return float(optimizer.result().fun - problem.minimum)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--pending", type=int, default=4)
    parser.add_argument("--method", default="tcgp")
    parser.add_argument("--rules", nargs="+", default=[rule.__name__ for rule in RULES])
    arguments = parser.parse_args()
    rules = [rule for rule in RULES if rule.__name__ in arguments.rules]
    ranks = []
    for name, n_evals in PROBLEMS.items():
        print(f"{name}: regret after {n_evals} evaluations, {arguments.pending} at a time")
        columns = {
            "serial": [run(Sceptic, name, n_evals, 1, s, arguments.method) for s in range(arguments.seeds)]
        }
        for rule in rules:
            columns[rule.__name__] = [
                run(rule, name, n_evals, arguments.pending, s, arguments.method)
                for s in range(arguments.seeds)
            ]
        for label, regrets in columns.items():
            print(
                f"  {label:11s} median {np.median(regrets):9.3g}   upper quartile {np.quantile(regrets, 0.75):9.3g}"
            )
        table = np.array([columns[rule.__name__] for rule in rules])
        ranks.append(table.argsort(axis=0).argsort(axis=0).mean(axis=1) + 1)
    print(
        "mean rank: "
        + ", ".join(f"{r.__name__} {m:.2f}" for r, m in zip(rules, np.mean(ranks, axis=0), strict=True))
    )


if __name__ == "__main__":
    main()
