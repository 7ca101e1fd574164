"""One optimization run, with the measurements of the paper."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp import scoring
from tcgp.methods.published import Choices
from tcgp.models import Model
from tcgp.optimizer import Optimizer
from tcgp.problems import Problem
from tcgp.sampling import SubsetSimulation, subset_simulation
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.run import problems
from tcgp_experiments.run.bbob import is_bbob
from tcgp_experiments.run.peers import PEERS
from tcgp_experiments.run.tail_scores import tks_pit

__all__ = ["Levels", "optimize"]

EPSILON = 0.1  # of the lower confidence bound
N_PARTICLES = 1000
N_TAIL = 900  # particles that serve the tKS-PIT
N_TEST = 1000  # uniform points, for twCRPS and occurrence


@dataclass(frozen=True)
class _Step:
    """One iteration: the point, its value, the state of the model, and the seconds of processor time."""

    x: FloatArray
    y: float
    trace: dict[str, Any]
    model: Model | None
    seconds: float


def optimize(task: RunTask) -> dict[str, Any]:
    """Optimize from 10 d uniform points, with the paper's measurements after each evaluation.

    Returns
    -------
    dict
        ``iterations``; ``best`` and ``log10_p``, from the initial design on (iterations + 1 numbers): m_n and
        log10 of p_mn = P(f(X) <= m_n), None if subset simulation found nothing below m_n; ``y``, ``beta``,
        ``scale`` and ``threshold`` of each iteration; all points ``x``, of a run on a BBOB function;
        ``scores`` of the models on test sets, if the task asks for them; ``seconds`` of processor time of each
        iteration for ``model`` and ``maximize``, and those of all measuring, ``metrics``.
    """
    problem, streams = problems.get(task.problem), problems.streams(task.problem, task.replicate)
    X = problems.uniform_points(problem, task.points_per_dimension * problem.dim, streams.design)
    y = np.asarray(problem.fun(X), dtype=float)
    levels = Levels(problem, streams.levels)
    choices = task.method.choices
    examiner = (
        _Examiner(problem, streams.levels.spawn(1)[0], streams.test, choices) if task.diagnostics else None
    )
    best = float(y.min())
    metrics = _Stopwatch()
    with metrics:
        log10_p = [levels.log10_probability(best)]
    bests, scores, steps = [best], [], []
    for step in _steps(task, problem, X, y, streams.method):
        steps.append(step)
        with metrics:
            if examiner is not None and step.model is not None:
                scores.append(examiner.scores(step.model, best, levels.at(best)))
            best = min(best, step.y)
            bests.append(best)
            log10_p.append(levels.log10_probability(best))
    return {
        "iterations": len(steps),
        "best": bests,
        "log10_p": log10_p,
        "y": [step.y for step in steps],
        # Only COCO's post-processing needs points, and they would be most of a file.
        "x": [*X.tolist(), *(step.x.tolist() for step in steps)] if is_bbob(task.problem) else None,
        **{name: [step.trace.get(name) for step in steps] for name in ("beta", "scale", "threshold")},
        "scores": _columns(scores) if task.diagnostics else None,
        "seconds": {
            "model": [step.seconds * step.trace.get("share", 1.0) for step in steps],
            "maximize": [step.seconds * (1.0 - step.trace.get("share", 1.0)) for step in steps],
            "metrics": metrics.seconds,
        },
    }


def _steps(
    task: RunTask, problem: Problem, X: FloatArray, y: FloatArray, seed: np.random.SeedSequence
) -> Iterator[_Step]:
    """Iterations of the method of the task, from given data."""
    number = int(seed.generate_state(1)[0])
    run = _peer_steps if task.method.is_peer else _own_steps
    return run(task, problem, X, y, number)


def _own_steps(task: RunTask, problem: Problem, X: FloatArray, y: FloatArray, seed: int) -> Iterator[_Step]:
    """Iterations of a method of this package."""
    optimizer = Optimizer(
        problem.bounds,
        method=task.method.name,
        criterion=task.criterion,
        n_initial=len(X),
        rng=seed,
        epsilon=EPSILON,
        maximizer=task.maximizer,
        options=dict(task.method.options),
    )
    optimizer.tell(X, y)
    for _ in range(task.iterations):
        start = time.process_time()
        x = optimizer.ask()
        seconds = time.process_time() - start
        value = float(problem.fun(np.asarray(x)))
        optimizer.tell(x, value)
        trace = dict(optimizer.trace[-1])
        # The optimizer measures wall time, which other processes slow down: only the share of the model is used.
        trace["share"] = trace["t_fit"] / max(trace["t_fit"] + trace["t_maximize"], 1e-9)
        yield _Step(np.asarray(x), value, trace, optimizer.model, seconds)


def _peer_steps(task: RunTask, problem: Problem, X: FloatArray, y: FloatArray, seed: int) -> Iterator[_Step]:
    """Iterations of another library."""
    run = PEERS[task.method.name.partition(":")[2]]
    start = time.process_time()
    for x, value in run(problem, X, y, task.iterations, seed):
        yield _Step(np.asarray(x), float(value), {}, None, time.process_time() - start)
        start = time.process_time()


class Levels:
    """P(f(X) <= t) for the thresholds of a run, by subset simulation that continues from earlier thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import problems
    >>> from tcgp_experiments.run.optimization import Levels
    >>> levels = Levels(problems.get("ackley4"), np.random.SeedSequence(0))
    >>> levels.log10_probability(15.0) < levels.log10_probability(20.0) < 0.0
    True
    """

    def __init__(self, problem: Problem, seed: np.random.SeedSequence) -> None:
        self._problem, self._seed = problem, seed
        self._stages: list[SubsetSimulation] = []  # thresholds decrease

    def at(self, threshold: float) -> SubsetSimulation:
        """Particles and probability below a threshold; one above the last restarts from an earlier stage."""
        while self._stages and self._stages[-1].threshold < threshold:
            self._stages.pop()
        if not self._stages:
            rng = np.random.default_rng(self._seed)
            fun, bounds = self._problem.fun, self._problem.bounds
            simulation = subset_simulation(fun, bounds, threshold, n_particles=N_PARTICLES, rng=rng)
        else:
            simulation = self._stages[-1].continue_to(threshold)
        if not self._stages or simulation is not self._stages[-1]:
            self._stages.append(simulation)
        return simulation

    def log10_probability(self, threshold: float) -> float | None:
        """Decimal logarithm of the probability; None if nothing was found below the threshold."""
        value = self.at(threshold).log_probability / math.log(10.0)
        return value if math.isfinite(value) else None


class _Examiner:
    """Scores of a model on test sets, below the best value and below the threshold of its calibration."""

    def __init__(
        self,
        problem: Problem,
        levels: np.random.SeedSequence,
        test: np.random.SeedSequence,
        choices: Choices,
    ) -> None:
        self._choices, self._rng = choices, np.random.default_rng(levels.spawn(1)[0])
        self._low, high = problem.bounds.T
        self._width = high - self._low
        self._thresholds = Levels(
            problem, levels
        )  # separate from those of p_mn, which must not depend on them
        X = problems.uniform_points(problem, N_TEST, test)
        self._points, self._values = self._unit(X), np.asarray(problem.fun(X))

    def scores(self, model: Model, best: float, below_best: SubsetSimulation) -> dict[str, float | None]:
        """twCRPS, occurrence discrepancy and tKS–PIT at m_n and, with the suffix ``_t``, at t_n."""
        at_best = self._at(model, below_best)
        at_threshold = self._at(model, self._thresholds.at(model.threshold))
        return at_best | {f"{name}_t": value for name, value in at_threshold.items()}

    def _at(self, model: Model, tail: SubsetSimulation) -> dict[str, float | None]:
        prediction = model.predict(self._points)
        t = tail.threshold
        n = len(tail.values)
        chosen = (
            self._rng.choice(n, min(N_TAIL, n), replace=False)
            if self._choices.draws_particles
            else slice(N_TAIL)
        )
        particles, values = tail.particles[chosen], tail.values[chosen]
        return {
            "twcrps": float(np.mean(scoring.twcrps(prediction, self._values, t))),
            "occurrence": abs(tail.probability - scoring.predicted_probability(prediction, t)),
            "tks_pit": tks_pit(model.predict(self._unit(particles)), values, t, self._choices)
            if len(values)
            else None,
        }

    def _unit(self, X: FloatArray) -> FloatArray:
        """Points in the coordinates of the optimizer's models: the unit cube."""
        return np.asarray((X - self._low) / self._width)


class _Stopwatch:
    """Processor time spent inside its ``with`` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.process_time()

    def __exit__(self, *exc_info: object) -> None:
        self.seconds += time.process_time() - self._start


def _columns(rows: list[dict[str, float | None]]) -> dict[str, list[float | None]]:
    """Lists by name, from a list of dicts."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
