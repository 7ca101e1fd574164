"""Some forty short runs whose points are recorded: what a change of the code must not change.

``python tests/recorded/runs.py`` records them anew, in ``points.json`` beside this file. That is right after a change
that is meant to choose other points, and after no other.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tcgp

FILE = Path(__file__).with_name("points.json")
JOURNALS = Path(__file__).with_name("journals")  # written by version 0.1.0

METHODS = (
    "gp",
    "tcgp",
    "tcgp-occ",
    "tcgp-thres",
    "bcrgp",
    "ongp",
    "regp",
    "tcregp",
    "gp-nugget",
    "tcgp-additive",
    "tcgp-rotated",
    "auto",
)

Points = list[Any]
MIXED = {
    "size": tcgp.Real(0.1, 10.0, log=True),
    "count": tcgp.Integer(1, 9),
    "kind": tcgp.Categorical(["a", "b", "c"]),
}
FINITE = [tcgp.Integer(0, 9), tcgp.Categorical([True, False]), tcgp.Categorical(["u", "v", "w"])]


def fingerprint() -> str:
    """How this machine rounds: two machines with the same fingerprint should choose the same points."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((61, 61))
    K = A @ A.T + np.eye(61)
    values = [np.linalg.cholesky(K), np.linalg.solve(K, A[0]), np.exp(A), np.log1p(np.abs(A)), A @ A[1]]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:16]


# ---- functions ----


def mixed(x: dict[str, Any]) -> float:
    return (
        (math.log(x["size"]) - 0.5) ** 2
        + (x["count"] - 4) ** 2 / 8
        + {"a": 0.5, "b": 0.0, "c": 1.0}[x["kind"]]
    )


def finite(x: list[Any]) -> float:
    return (x[0] - 6) ** 2 + (2.0 if x[1] else 0.0) + {"u": 1.0, "v": 0.0, "w": 3.0}[x[2]]


def failing(x: Any) -> float | None:
    """A bowl that cannot be evaluated in a quarter of the square."""
    return None if x[0] > 0.5 and x[1] > 0.5 else float((x[0] - 0.55) ** 2 + (x[1] - 0.45) ** 2)


def _minimum(problem: str, n_evals: int = 20, **options: Any) -> Points:
    chosen = tcgp.problems.get(problem)
    result = tcgp.minimize(
        chosen, chosen.bounds, **{"n_evals": n_evals, "n_initial": 10, "rng": 1, **options}
    )
    return result.x_iters


def _asked(optimizer: tcgp.Optimizer, fun: Callable[[Any], Any], n: int) -> Points:
    points = []
    for _ in range(n):
        x = optimizer.space.check(optimizer.ask())  # values in order, where ask gives a mapping
        points.append(list(x))
        optimizer.tell(x, fun(x))
    return points


# ---- runs that need more than a call of minimize ----


def _batches(method: str) -> Points:
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * 2, method=method, n_initial=6, rng=2)
    points = []
    for _ in range(5):
        batch = optimizer.ask(3)
        points += [list(x) for x in batch]
        for x in reversed(batch):
            optimizer.tell(x, float((x[0] - 0.3) ** 2 + math.sin(5.0 * x[1])))
    return points


def _asynchronous() -> Points:
    """Two evaluations always under way, told in another order than asked."""
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * 2, n_initial=5, rng=8)
    points, waiting = [], [list(x) for x in optimizer.ask(2)]
    points += waiting
    for i in range(14):
        x = waiting.pop(i % 2)
        optimizer.tell(x, float(np.cos(7.0 * x[0]) + (x[1] - 0.4) ** 2))
        waiting.append(list(optimizer.ask()))
        points.append(waiting[-1])
    return points


def _resumed(method: str, reoffer: bool) -> Points:
    """A run that is dropped twice with a point pending, and resumed from its journal."""
    fun = tcgp.problems.get("hartmann3")
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / "run.jsonl"
        optimizer = tcgp.Optimizer(fun.bounds, method=method, n_initial=8, rng=4, journal=journal)
        points = _asked(optimizer, fun, 10)
        for _ in range(2):
            points.append(list(optimizer.ask()))
            optimizer.close()
            optimizer = tcgp.Optimizer.resume(journal, reoffer=reoffer)
            points += _asked(optimizer, fun, 4)
        optimizer.close()
    return points


def _journal_of_version_0_1(name: str) -> Points:
    """A journal that version 0.1.0 wrote, resumed."""
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / name
        journal.write_bytes((JOURNALS / name).read_bytes())
        with tcgp.Optimizer.resume(journal) as optimizer:
            fun = {"auto.jsonl": tcgp.problems.get("hartmann3"), "mixed.jsonl": mixed, "regp.jsonl": failing}[
                name
            ]
            return _asked(optimizer, lambda x: fun(optimizer.space.as_argument(x)), 5)


def _continued() -> Points:
    """`minimize` with a journal, called twice, with a larger budget the second time."""
    fun = tcgp.problems.get("goldstein-price")
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / "run.jsonl"
        for n_evals in (14, 20):
            result = tcgp.minimize(fun, fun.bounds, n_evals=n_evals, n_initial=8, rng=0, journal=journal)
    return result.x_iters


def _given() -> Points:
    """Points of the user's own: told before, enqueued, and told in the middle."""
    fun = tcgp.problems.get("hartmann3")
    optimizer = tcgp.Optimizer(fun.bounds, n_initial=6, rng=5)
    optimizer.tell([0.1, 0.2, 0.3], fun([0.1, 0.2, 0.3]))
    optimizer.enqueue([0.5, 0.5, 0.5])
    points = _asked(optimizer, fun, 9)
    optimizer.tell([[0.9, 0.1, 0.4], [0.2, 0.6, 0.8]], [fun([0.9, 0.1, 0.4]), None])
    return points + _asked(optimizer, fun, 5)


def _optuna(**options: Any) -> Points:
    import optuna

    from tcgp.integrations.optuna import TailCalibratedSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
        share = trial.suggest_float("share", 0.0, 1.0, step=0.05)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        if trial.number == 11:
            raise ArithmeticError
        return (math.log10(rate) + 1.5) ** 2 + (share - 0.4) ** 2 + (kind == "a")

    study = optuna.create_study(sampler=TailCalibratedSampler(seed=3, n_startup_trials=6, **options))
    study.optimize(objective, n_trials=16, catch=(ArithmeticError,))
    return [list(trial.params.values()) for trial in study.trials]


def _ax(**options: Any) -> Points:
    from ax import Client, RangeParameterConfig
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    from tcgp.integrations.ax import TailCalibratedNode

    client = Client()
    names = ("x", "y")
    client.configure_experiment(
        [RangeParameterConfig(name=name, bounds=(-2.0, 2.0), parameter_type="float") for name in names]
    )
    client.configure_optimization(objective="-loss")
    node = TailCalibratedNode(seed=0, n_initial=6, **options)
    client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tcgp"))
    points = []
    for _ in range(7):
        for index, values in client.get_next_trials(max_trials=2).items():
            points.append([values[name] for name in names])
            loss = (values["x"] - 1.0) ** 2 + (values["y"] + 0.5) ** 2
            client.complete_trial(index, raw_data={"loss": float(loss)})
    return points


def _coco() -> Points:
    from tcgp.integrations import coco

    class Problem:
        """A problem as COCO presents it."""

        id = "bowl"
        number_of_objectives, number_of_constraints, number_of_integer_variables = 1, 0, 1
        lower_bounds, upper_bounds = np.array([0.0, -5.0]), np.array([20.0, 5.0])
        final_target_hit = False

        def __call__(self, x: Any) -> float:
            return float((x[0] - 7.0) ** 2 + (x[1] - 1.0) ** 2)

    return coco.solve(Problem(), 20, rng=0).x_iters


# ---- all of them ----


def runs() -> Iterator[tuple[str, Callable[[], Points]]]:
    """Every run by its name."""
    for method in METHODS:
        yield f"{method}, EI", lambda method=method: _minimum("goldstein-price", 22, method=method)
    for method in ("gp", "tcgp", "regp", "auto"):
        yield f"{method}, LCB", lambda method=method: _minimum("hartmann3", method=method, criterion="lcb")
    yield "Latin hypercube", lambda: _minimum("ackley4", 24, initial_design="lhs")
    yield "Sobol' points", lambda: _minimum("ackley4", 24, initial_design="sobol", method="tcgp")
    yield "default sizes", lambda: _minimum("hartmann3", 24, n_initial=None)
    yield "six parameters", lambda: _minimum("hartmann6", 34, n_initial=24)
    yield "SMC, EI", lambda: _minimum("goldstein-price", 15, method="tcgp", maximizer="smc")
    yield "SMC, LCB", lambda: _minimum("goldstein-price", 14, method="gp", maximizer="smc", criterion="lcb")
    for method in ("auto", "tcgp"):
        yield (
            f"failures, {method}",
            lambda method=method: (
                tcgp.minimize(
                    failing, [(0.0, 1.0)] * 2, n_evals=22, n_initial=8, method=method, rng=3
                ).x_iters
            ),
        )
        yield f"batches, {method}", lambda method=method: _batches(method)
        yield (
            f"finite space, {method}",
            lambda method=method: (
                tcgp.minimize(finite, FINITE, n_evals=25, n_initial=6, method=method, rng=6).x_iters
            ),
        )
        yield (
            f"mixed space, {method}",
            lambda method=method: (
                tcgp.minimize(mixed, MIXED, n_evals=20, n_initial=8, method=method, rng=7).x_iters
            ),
        )
        yield f"resumed, {method}", lambda method=method: _resumed(method, reoffer=True)
        yield f"Optuna, {method}", lambda method=method: _optuna(method=method)
        yield f"Ax, {method}", lambda method=method: _ax(method=method)
    yield (
        "failures, LCB",
        lambda: (
            tcgp.minimize(
                failing, [(0.0, 1.0)] * 2, n_evals=20, n_initial=8, criterion="lcb", epsilon=0.2, rng=3
            ).x_iters
        ),
    )
    yield "resumed, pending left", lambda: _resumed("auto", reoffer=False)
    yield "continued", _continued
    yield "asynchronous", _asynchronous
    yield "through a map", lambda: _minimum("goldstein-price", workers=map, n_parallel=3)
    yield "points given", _given
    yield (
        "equal values",
        lambda: (
            tcgp.minimize(
                lambda x: 1.0 if x[0] < 0.7 else float(x[1]), [(0.0, 1.0)] * 2, n_evals=14, n_initial=3, rng=0
            ).x_iters
        ),
    )
    yield (
        "a parameter without effect",
        lambda: (
            tcgp.minimize(
                lambda x: float((x[0] - 0.3) ** 2), [(0.0, 1.0)] * 2, n_evals=16, n_initial=6, rng=0
            ).x_iters
        ),
    )
    yield (
        "options, tcgp",
        lambda: _minimum(
            "goldstein-price", 18, method="tcgp", options={"delta": 0.1, "rule": 2, "search": "paper"}
        ),
    )
    yield (
        "options, regp",
        lambda: _minimum("goldstein-price", 18, method="regp", options={"selection": "pooled", "least": 3}),
    )
    yield "options, auto", lambda: _minimum("goldstein-price", 18, options={"delta": 0.2, "p_min": 0.03})
    yield "COCO", _coco
    for journal in sorted(JOURNALS.iterdir()):
        yield f"journal {journal.name}", lambda name=journal.name: _journal_of_version_0_1(name)


def plain(points: Points) -> Points:
    """Points as JSON gives them back."""
    values = (point.values() if isinstance(point, dict) else point for point in points)
    return json.loads(json.dumps([[_plain(value) for value in point] for point in values]))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


if __name__ == "__main__":
    import time

    recorded = {}
    for name, run in runs():
        start = time.perf_counter()
        recorded[name] = plain(run())
        print(f"{time.perf_counter() - start:6.2f} s  {name}")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(points)}" for name, points in recorded.items())
    FILE.write_text(f'{{"fingerprint": "{fingerprint()}",\n"runs": {{\n{lines}\n}}}}\n')
