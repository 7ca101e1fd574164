"""One question to an optimizer that remembers nothing: for hosts that keep the memory themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tcgp.optimizer import Optimizer
from tcgp.optimizer.history import Evaluation, Proposal
from tcgp.space import Point, Space

__all__ = ["ask", "merge", "told"]


def told(x: Point, y: object, excesses: Sequence[float] = (), reason: str | None = None) -> Evaluation:
    """An evaluation, and how far it lies above its limits; NaN where that is not known.

    Like an infinite value, an infinite excess is a failure: no model can hold it.
    """
    if any(math.isinf(excess) for excess in excesses):
        return Evaluation.of(x, None, "a constraint is infinite")
    evaluation = Evaluation.of(x, y, reason)
    if evaluation.failed or not len(excesses):
        return evaluation
    return replace(evaluation, outputs={_limit(k): float(excess) for k, excess in enumerate(excesses)})


def ask(
    space: Space,
    evaluations: Iterable[Evaluation],
    pending: Iterable[Point],
    *,
    seed: int,
    state: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    n_limits: int = 0,
    known: Sequence[Any] = (),
) -> tuple[Proposal, dict[str, Any] | None]:
    """The next point to evaluate, given all that a host knows.

    Parameters
    ----------
    space : Space
    evaluations : iterable of Evaluation
        All that is known. A point may come several times: its values are averaged where they differ, and a
        failure counts only if the point never succeeded.
    pending : iterable of points
        Being evaluated, or not to be evaluated again.
    seed : int
        Where all randomness comes from.
    state : mapping or None
        What the last call returned: a warm start, and the threshold's memory.
    settings : mapping
        Of `tcgp.Optimizer`.
    n_limits : int
        Number of learned limits; `told` gives the evaluations their excesses.
    known : sequence
        Known constraints: see `tcgp.region.Region`.

    Returns
    -------
    proposal : Proposal
    state : dict or None
        State of the model, as JSON; None if none was fitted.

    Raises
    ------
    SpaceExhausted
        If every point of a finite space is evaluated or pending.
    """
    limits = [f"{_limit(k)} <= 0" for k in range(n_limits)]
    objective = "objective" if limits else None
    optimizer = Optimizer(space, rng=seed, objective=objective, constraints=[*limits, *known], **settings)
    history, states = optimizer.history, optimizer.surrogate.states
    for evaluation in merge(evaluations):
        history.add_evaluation(evaluation)
    for x in pending:
        if history.is_new(x):
            history.add_proposal(Proposal(len(history.proposals), x, "given"))
    if state is not None and len(state["lengthscales"]) == space.dim:
        states += [(-1, dict(old)) for old in (*state.get("others", ()), state)]
        if len(state.get("limits", ())) == n_limits:
            for surrogate, old in zip(optimizer.limit_surrogates, state.get("limits", ()), strict=True):
                surrogate.states += [(-1, dict(old))] if old else []
    proposal = _propose(optimizer)
    if not states or optimizer.model is None:
        return proposal, None
    # One state for each member of a portfolio: the last one's, with the others' inside it.
    latest = {old.get("member", 0): old for _, old in states}
    newest = latest.pop(states[-1][1].get("member", 0))
    others = [{k: v for k, v in old.items() if k not in ("others", "limits")} for old in latest.values()]
    of_limits = [s.states[-1][1] if s.states else None for s in optimizer.limit_surrogates]
    more = {"others": others, "limits": of_limits}
    kept = {k: v for k, v in newest.items() if k not in more}
    return proposal, {**kept, **{k: v for k, v in more.items() if v}}


def _propose(optimizer: Optimizer) -> Proposal:
    """The next point; among known constraints a design goes on from the points known, and does not begin anew."""
    region, history = optimizer.region, optimizer.history
    if region is not None and len(history) < (optimizer.settings.n_initial or 0):
        (x,) = region.design(1, np.random.default_rng(optimizer.seed), history.codes)
        if history.is_new(x):
            return Proposal(len(history.proposals), x, "design")
    return optimizer.propose()


def _limit(k: int) -> str:
    return f"limit{k}"


def merge(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """One evaluation per point."""
    groups: dict[tuple[Any, ...], list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(tuple(evaluation.x), []).append(evaluation)
    return [_merge_one(group) for group in groups.values()]


def _merge_one(group: Sequence[Evaluation]) -> Evaluation:
    done = [evaluation for evaluation in group if not evaluation.failed]
    if len(done) <= 1:
        return (done or group)[0]
    values = [evaluation.y or 0.0 for evaluation in done]
    y = values[0] if len(set(values)) == 1 else sum(values) / len(values)
    return Evaluation(group[0].x, y, outputs=_mean_outputs(done))


def _mean_outputs(group: Sequence[Evaluation]) -> dict[str, float | None] | None:
    """Means of the outputs that are known; NaN where none is."""
    names = list(group[0].outputs or ())
    table = np.array(
        [[(evaluation.outputs or {})[name] for name in names] for evaluation in group], dtype=float
    )
    columns = [column[np.isfinite(column)] for column in table.T]
    means = [float(column.mean()) if len(column) else math.nan for column in columns]
    return dict(zip(names, means, strict=True)) or None
