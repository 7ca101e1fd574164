"""Calibration on a fixed data set (appendix "Calibration on a Fixed Dataset"), for the two tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tcgp import scoring
from tcgp.calibration import empirical_quantile
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.selection import LONGEST, SHORTEST
from tcgp.methods import RECIPES
from tcgp.methods.fit import calibrate, fit_model
from tcgp.methods.published import Choices
from tcgp.models import Prediction
from tcgp.problems import Problem
from tcgp.sampling import SubsetSimulation, subset_simulation
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.tasks import FixedTask, Row
from tcgp_experiments.run import problems
from tcgp_experiments.run.tail_scores import tks_pit

__all__ = ["score_rows"]

N_TEST = 4000  # uniform points, for twCRPS, occurrence and KS-PIT
N_TAIL = 4000  # particles below the threshold, for tKS-PIT


def score_rows(problem_name: str, replicate: int, rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the models of all rows to one data set of 30 d uniform points, and score them on test points.

    Parameters
    ----------
    problem_name : str
    replicate : int
        Which data set.
    rows : sequence of Row
        Methods, each with the level of the quantile of the data at which it is scored.

    Returns
    -------
    dict
        ``rows``, a list with the scores of each row: ``threshold``, ``twcrps``, ``occurrence``, ``tks_pit``,
        ``ks_pit``, ``occurrence_same_points`` (see Notes), ``kappa``, and ``beta`` and ``scale`` of its law; and the
        ``seconds`` of processor time.

    Notes
    -----
    The discrepancy r = |p_t − E F(t | X)| needs p_t. ``occurrence`` takes it from subset simulation, as in the runs of
    the paper (Appendix E.4). The error of E F(t | X), about sqrt(p_t (1 − p_t) / 4000), is then part of r and dominates
    if the model is nearly right. ``occurrence_same_points`` takes p_t from the same 4000 test points, so that the two
    errors cancel.

    Examples
    --------
    >>> from tcgp_experiments.run.fixed_data import score_rows
    >>> from tcgp_experiments.plan.methods import Method
    >>> from tcgp_experiments.plan.tasks import Row
    >>> result = score_rows("goldstein-price", 0, [Row(0.25, Method("GP", "gp"))])
    >>> 0.0 < result["rows"][0]["tks_pit"] < 1.0
    True
    """
    start = time.process_time()
    problem, streams = problems.get(problem_name), problems.streams(problem_name, replicate)
    X = problems.uniform_points(problem, FixedTask.points_per_dimension * problem.dim, streams.design)
    y = np.asarray(problem.fun(X))
    thresholds = {row.level: _threshold(y, row.level) for row in rows}
    tails = _tails(problem, thresholds, streams.levels)
    X_test = problems.uniform_points(problem, N_TEST, streams.test)
    y_test = np.asarray(problem.fun(X_test))

    interpolators: dict[Any, Interpolator] = {}  # fitting them takes most of the time
    predicted: dict[Any, tuple[FloatArray, FloatArray]] = {}
    results = []
    for row, rng in zip(rows, _generators(streams.method, len(rows)), strict=True):
        name, options = row.method.name, dict(row.method.options)
        key, tail = _interpolator_key(row.method), tails[row.level]
        if key not in interpolators:
            interpolators[key] = fit_model(X, y, name, bounds=problem.bounds, rng=rng, **options).interpolator
            predicted[key] = interpolators[key].predict(X_test)
        if (key, row.level) not in predicted:
            predicted[key, row.level] = interpolators[key].predict(tail.particles)
        law = calibrate(interpolators[key], name, rng=rng, **options).law
        everywhere = Prediction(*predicted[key], law)
        below = Prediction(*predicted[key, row.level], law)
        results.append(_scores(everywhere, y_test, below, tail, row.method.choices))
    return {"rows": results, "seconds": time.process_time() - start}


def _scores(
    everywhere: Prediction, y_test: FloatArray, below: Prediction, tail: SubsetSimulation, choices: Choices
) -> dict[str, Any]:
    """Scores below a threshold, from predictions at uniform points and at points below it."""
    t, law = tail.threshold, everywhere.law
    expected = scoring.predicted_probability(everywhere, t)
    return {
        "threshold": t,
        "twcrps": float(np.mean(scoring.twcrps(everywhere, y_test, t))),
        "occurrence": abs(tail.probability - expected),
        "occurrence_same_points": abs(float(np.mean(y_test <= t)) - expected),
        "tks_pit": tks_pit(below, tail.values, t, choices),
        "ks_pit": scoring.ks_pit(everywhere, y_test),
        "kappa": expected / tail.probability,
        "beta": getattr(law, "beta", None),
        "scale": getattr(law, "scale", None),
    }


def _threshold(y: FloatArray, level: float) -> float:
    """Empirical quantile of the level; the smallest value at level 0."""
    return float(y.min()) if level == 0.0 else empirical_quantile(y, level)


def _tails(
    problem: Problem, thresholds: dict[float, float], seed: np.random.SeedSequence
) -> dict[float, SubsetSimulation]:
    """For each level, points uniform on {f <= t}: one subset simulation, continued downwards."""
    tails: dict[float, SubsetSimulation] = {}
    simulation: SubsetSimulation | None = None
    for level in sorted(thresholds, reverse=True):
        if simulation is None:
            rng = np.random.default_rng(seed)
            simulation = subset_simulation(
                problem.fun, problem.bounds, thresholds[level], n_particles=N_TAIL, rng=rng
            )
        else:
            simulation = simulation.continue_to(thresholds[level])
        tails[level] = simulation
    return tails


def _interpolator_key(method: Method) -> tuple[Any, ...]:
    """Methods with equal keys have the same interpolator."""
    if method.name not in RECIPES:  # a portfolio, whose members have interpolators of their own
        return (method.name, *sorted(method.settings.items()))
    recipe, settings = RECIPES[method.name], method.settings
    level = settings.get("relax_delta", settings["delta"]) if recipe.relaxed else None
    return (
        settings["smoothness"],
        level,
        settings.get("selection", "ml"),
        settings.get("least"),
        settings.get("shortest", SHORTEST),
        settings.get("longest", LONGEST),
        recipe.learns_nugget,
    )


def _generators(seed: np.random.SeedSequence, n: int) -> list[np.random.Generator]:
    return [np.random.default_rng(child) for child in seed.spawn(n)]
