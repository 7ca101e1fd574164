"""The report of an Optuna study, with any sampler."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tcgp._files import write_atomically
from tcgp.optimizer import Evaluation, Optimizer
from tcgp.report.data import State, report_data
from tcgp.report.page import render
from tcgp.report.writer import check_place
from tcgp.space import Categorical, Dimension, Integer, Real, Space

__all__ = ["report_from_study"]

MOST_STEPS = 1000  # of a parameter with a step, which is shown with a label for each


def report_from_study(
    study: Any, path: str | os.PathLike[str], *, method: str = "tcgp", title: str | None = None
) -> None:
    """Write the report of an Optuna study, with a model fitted to its trials.

    The report shows the parameters that all complete trials share, and the trials that have them. Failed and pruned
    trials are failures. The values of constraints, if trials have any, are outputs with the limit 0.

    Parameters
    ----------
    study : optuna.Study
        With one objective.
    path : str or os.PathLike
        File to write: a new one, or an earlier report, which is replaced.
    method : str
        Model of the trials; see `tcgp.fit_model`. The default is the paper's, for any sampler.
    title : str, optional
        Title of the page; the name of the study by default.
    """
    from optuna.search_space import intersection_search_space

    from tcgp.integrations.optuna import constraints_of

    check_place(path)
    if len(study.directions) > 1:
        raise ValueError(f"study must have one objective, got one with {len(study.directions)}")
    trials = study.get_trials(deepcopy=False)
    distributions = {
        name: distribution
        for name, distribution in intersection_search_space(trials).items()
        if _dimension(distribution) is not None
    }
    if not distributions:
        raise ValueError("study must have complete trials with parameters in common, got none")
    constraints = [constraints_of(trial) if trial.state.name == "COMPLETE" else {} for trial in trials]
    keys = sorted({key for values in constraints for key in values})
    objective, *names = _output_names(["value", *(f"constraint_{key}" for key in keys)], distributions)
    outputs = dict(zip(keys, names, strict=True))
    optimizer = Optimizer(
        Space({name: _dimension(distribution) for name, distribution in distributions.items()}),
        method=method,
        maximize=study.directions[0].name == "MAXIMIZE",
        objective=objective if outputs else None,
        constraints=[f"{output} <= 0" for output in outputs.values()],
        n_initial=1,
        rng=0,
    )
    origins: list[tuple[int | None, str]] = []
    for trial, values in zip(trials, constraints, strict=True):
        limits = {output: values.get(key, math.nan) for key, output in outputs.items()}
        if trial.state.is_finished() and _tell(optimizer, trial, distributions, objective, limits):
            origins.append((trial.number, "Optuna"))
    data = report_data(
        optimizer,
        State(running=False, text="snapshot"),
        title=title or study.study_name,
        origins=origins,
        labels={
            i: labels for i, d in enumerate(distributions.values()) if (labels := _labels(d)) is not None
        },
        fit=True,
    )
    write_atomically(path, render(data))


def _output_names(wanted: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names that a constraint can mention, and that no parameter has."""
    names, known = [], set(taken)
    for text in wanted:
        name = re.sub(r"\W", "_", text, flags=re.ASCII)
        while name in known:
            name += "_"
        names.append(name)
        known.add(name)
    return names


def _tell(
    optimizer: Optimizer,
    trial: Any,
    distributions: Mapping[str, Any],
    objective: str,
    limits: Mapping[str, float],
) -> bool:
    """Add a trial to the optimizer; False if it does not belong to the space, or repeats a point."""
    if not set(distributions) <= set(trial.params):
        return False
    history = optimizer.history
    done = trial.state.name == "COMPLETE"
    value = trial.values[0] if done else None
    # A complete trial failed if its value is infinite, which is then the reason.
    reason = None if done else str(trial.system_attrs.get("fail_reason") or trial.state.name.lower())
    outcome = {objective: value, **limits} if limits and value is not None else value
    try:
        x = [_coordinate(d, trial.params[name]) for name, d in distributions.items()]
        seconds = None if trial.duration is None else trial.duration.total_seconds()
        told = Evaluation.of(history.check_told(x), outcome, reason, seconds, history.goals)
        new = history.unknown([told])
    except ValueError:  # other ranges, or another value at the same point
        return False
    for evaluation in new:  # not by `tell`, which logs failures: these are of the past, and the page has them
        history.add_evaluation(evaluation)
    return bool(new)


def _dimension(distribution: Any) -> Dimension | None:
    """The dimension that stands for a distribution; None if there is nothing to see."""
    if distribution.single():
        return None
    if hasattr(distribution, "choices"):
        return Categorical(range(len(distribution.choices)))
    if _n_steps(distribution) is not None:
        return Integer(0, _n_steps(distribution))  # type: ignore[arg-type]
    kind = Integer if isinstance(distribution.low, int) else Real
    return kind(distribution.low, distribution.high, log=distribution.log)


def _n_steps(distribution: Any) -> int | None:
    """Number of steps of a parameter that is shown by its labels; None for plain numbers."""
    step = distribution.step
    if step is None or (step == 1 and isinstance(distribution.low, int)):
        return None
    n = round((distribution.high - distribution.low) / step)
    return n if n <= MOST_STEPS else None


def _coordinate(distribution: Any, value: Any) -> Any:
    """A value in the units of its dimension."""
    if hasattr(distribution, "choices"):
        return int(distribution.to_internal_repr(value))
    if _n_steps(distribution) is not None:
        return round((value - distribution.low) / distribution.step)
    return value


def _labels(distribution: Any) -> list[str] | None:
    """What the integers of a dimension stand for; None where they are the values."""
    if hasattr(distribution, "choices"):
        return [str(choice) for choice in distribution.choices]
    n = _n_steps(distribution)
    return None if n is None else [f"{distribution.low + k * distribution.step:.10g}" for k in range(n + 1)]
