"""Count the work of one iteration: numbers that do not depend on the machine.

Used here and in benchmarks/speed/counts.py.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

from tcgp import Optimizer, problems
from tcgp.criteria import LogExpectedImprovement
from tcgp.gp import interpolator
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.relaxed import RelaxedLikelihood
from tcgp.laws import GeneralizedNormal, Normal, RecalibratedNormal

FUNCTIONS = ("goldstein-price", "dixon-price4", "hartmann6")
SEEDS = (0, 1, 2)

LAWS = (Normal, GeneralizedNormal, RecalibratedNormal)


def count_iterations(method: str, n: int, n_more: int = 0) -> dict[str, dict[str, float]]:
    """Work of an iteration at n data, on average over fixed designs of three functions.

    Returns
    -------
    dict
        ``"cold"``: the first point that a model chooses; ``"warm"``: the next, from the last fit's lengthscales;
        ``"along"``: one of the ``n_more`` after it, if any. Each has the number of likelihoods (``"nll"``), of rough
        ones among them (``"rough nll"``), of those with gradient (``"nll gradient"``), of fits that start from the last
        one and look no further (``"warm fits"``) and of likelihoods with gradient in them, of calls of the criterion
        and of the points in them, with and without gradient, and of calls of a law's distribution functions and of the
        numbers in them.
    """
    labels = {"cold": 1, "warm": 1, "along": n_more}
    totals: dict[str, Counter[str]] = {label: Counter() for label in labels}
    for name in FUNCTIONS:
        problem = problems.get(name)
        low, high = np.array(problem.bounds, dtype=float).T
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            X = low + rng.random((n, len(low))) * (high - low)
            optimizer = Optimizer(problem.bounds, method=method, n_initial=n, rng=seed)
            optimizer.tell(X, problem.fun(X))
            for label, n_iterations in labels.items():
                for _ in range(n_iterations):
                    with counted(totals[label]):
                        x = optimizer.ask()
                    optimizer.tell(x, problem(np.array(x)))
    n_runs = len(FUNCTIONS) * len(SEEDS)
    return {
        label: {key: round(total / (n_runs * labels[label]), 1) for key, total in sorted(counts.items())}
        for label, counts in totals.items()
        if counts
    }


def count_in_runs(method: str, n_runs: int, windows: Sequence[tuple[int, int]]) -> list[dict[str, float]]:
    """Work of an iteration in runs that begin as they do by default, on average over windows [first, last) of n.

    Other than with `count_iterations`, models and members of a portfolio have their first fits when the run has few
    data. Points of the initial design do not count.
    """
    totals: list[Counter[str]] = [Counter() for _ in windows]
    for name in FUNCTIONS:
        problem = problems.get(name)
        for seed in range(n_runs):
            optimizer = Optimizer(problem.bounds, method=method, rng=seed)
            for n in range(max(last for _, last in windows)):
                counts: Counter[str] = Counter()
                with counted(counts):
                    x = optimizer.ask()
                optimizer.tell(x, problem(np.array(x)))
                for (first, last), total in zip(windows, totals, strict=True):
                    if first <= n < last and counts:
                        total.update(counts, iterations=1)
    return [{key: total / counts["iterations"] for key, total in counts.items()} for counts in totals]


@contextlib.contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Count into ``counts`` what happens in the block."""
    with contextlib.ExitStack() as stack:

        def watch(cls: type, name: str, note: Callable[..., None]) -> None:
            if name not in vars(cls):
                return
            original = vars(cls)[name]

            @functools.wraps(original)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                note(*args)
                return original(*args, **kwargs)

            setattr(cls, name, wrapper)
            stack.callback(setattr, cls, name, original)

        def note_likelihood(key: str) -> Callable[..., None]:
            return lambda *_: counts.update({key: 1})

        def note_points(key: str) -> Callable[..., None]:
            return lambda _, X: counts.update({f"{key} calls": 1, f"{key} points": np.size(X, 0)})

        def note_numbers(_: object, r: Any) -> None:
            counts.update({"cdf calls": 1, "cdf numbers": int(np.size(r))})

        select = interpolator.select_lengthscales

        def select_and_note(*args: Any, **options: Any) -> Any:
            before = counts["nll gradient"]
            selected = select(*args, **options)
            if options["start"] is not None and options["refine"] and not options["look_around"]:
                counts.update({"warm fits": 1, "nll gradient of warm fits": counts["nll gradient"] - before})
            return selected

        stack.enter_context(mock.patch.object(interpolator, "select_lengthscales", select_and_note))
        for cls in (ConcentratedLikelihood, RelaxedLikelihood):
            watch(cls, "value", note_likelihood("nll"))
            watch(cls, "rough_value", note_likelihood("rough nll"))
            watch(cls, "value_and_gradient", note_likelihood("nll gradient"))
        watch(LogExpectedImprovement, "__call__", note_points("log EI"))
        watch(LogExpectedImprovement, "value_and_gradient", note_points("log EI gradient"))
        for law in LAWS:
            for name in ("cdf", "logcdf", "improvement", "log_improvement", "log_improvement_and_slope"):
                watch(law, name, note_numbers)
        yield
