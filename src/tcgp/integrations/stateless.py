"""Stateless proposals, for hosts that store the evaluations themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tcgp.methods.members import State
from tcgp.optimizer import Optimizer, check_seed
from tcgp.record.events import Asked, Told
from tcgp.record.history import Evaluation, Proposal
from tcgp.space import Point, Space

__all__ = ["as_seed", "ask", "merge", "seed_of", "told"]


def as_seed(seed: int | None) -> int:
    """Return the seed if it is a valid one, or a random one for None."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return check_seed("seed", seed)


def seed_of(seed: int, number: int) -> int:
    """Return the seed of one proposal: each has its own random stream."""
    return int(np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(1, np.uint64)[0])


def told(
    x: Point,
    y: object,
    excesses: Sequence[float] = (),
    reason: str | None = None,
    sd: Sequence[float] = (),
) -> Evaluation:
    """Return an evaluation with the amounts by which it exceeds its limits; NaN where an amount is unknown.

    The value may be a tuple of one or several values, all to be minimized. An infinite excess counts as a failure, like
    an infinite value, because no model can represent it. ``sd`` has the standard deviations of the noise of the values
    and of the excesses; those that are not above 0 are unknown.
    """
    if any(math.isinf(excess) for excess in excesses):
        return Evaluation.of(x, None, "a constraint is infinite")
    values = y if isinstance(y, tuple) else (y,)
    several = values if len(values) > 1 else ()
    evaluation = Evaluation.of(x, values[0], reason)
    if not all(math.isfinite(value) for value in several):
        return Evaluation.of(x, None, "an objective is not finite")
    known = {k: float(value) for k, value in enumerate(sd) if value > 0.0}
    if evaluation.failed or not (len(excesses) or several):
        return replace(evaluation, sd=known.get(0))
    outputs: dict[str, float | None] = {_objective(k): float(value) for k, value in enumerate(several)}
    outputs |= {_limit(k): float(excess) for k, excess in enumerate(excesses)}
    names = [*map(_objective, range(len(several))), *map(_limit, range(len(excesses)))]
    names = names if several else ["objective", *names]
    return replace(evaluation, outputs=outputs | {f"{names[k]}_sd": value for k, value in known.items()})


def ask(
    space: Space,
    evaluations: Iterable[Evaluation],
    pending: Iterable[Point],
    *,
    seed: int,
    state: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    n_limits: int = 0,
    n_objectives: int = 1,
    known: Sequence[Any] = (),
) -> tuple[Proposal, dict[str, Any] | None]:
    """Return the next point to evaluate, given everything that the host knows.

    Parameters
    ----------
    space : Space
    evaluations : iterable of Evaluation
        All known evaluations. A point may occur several times: without noise different values are averaged, and a
        failure counts only if the point never succeeded.
    pending : iterable of points
        Points that are being evaluated or must not be evaluated again.
    seed : int
        Seed of all random choices.
    state : mapping or None
        The state that the previous call returned. It provides a warm start and the previous threshold.
    settings : mapping
        Settings of `tcgp.Optimizer`. A number as ``noise`` is that of the objectives; that of limits is learned.
    n_limits : int
        Number of learned limits; the evaluations contain their excesses, see `told`.
    n_objectives : int
        Number of values of each evaluation, see `told`.
    known : sequence
        Known constraints: see `tcgp.region.Region`.

    Returns
    -------
    proposal : Proposal
    state : dict or None
        State of the model, JSON-serializable; None if no model was fitted.

    Raises
    ------
    SpaceExhausted
        If every point of a finite space has been evaluated or is pending.
    """
    limits = [f"{_limit(k)} <= 0" for k in range(n_limits)]
    names = [_objective(k) for k in range(n_objectives)] if n_objectives > 1 else ["objective"]
    objective: Any = names if n_objectives > 1 else names[0] if limits else None
    noise = settings.get("noise", False)
    if limits and noise not in (False, True):
        of_limits = {_limit(k): True for k in range(n_limits)}
        settings = {**settings, "noise": dict.fromkeys(names, noise) | of_limits}
    optimizer = Optimizer(space, rng=seed, objective=objective, constraints=[*limits, *known], **settings)
    history, (first, *others) = optimizer.history, optimizer.surrogates
    states = first.states
    for evaluation in evaluations if noise else merge(evaluations):
        history.apply(Told(evaluation))
    for x in pending:
        if noise or history.is_new(x):
            history.apply(Asked(Proposal(len(history.proposals), x, "given")))
    if state is not None and len(state["lengthscales"]) == space.dim:
        states += _unpacked(state)
        if len(state.get("limits", ())) == len(others):
            for surrogate, old in zip(others, state.get("limits", ()), strict=True):
                surrogate.states += _unpacked(old) if old else []
    proposal = _propose(optimizer)
    if not states or optimizer.model is None:
        return proposal, None
    of_others = [_packed(s.states) if s.states else None for s in others]
    return proposal, {**_packed(states), **({"limits": of_others} if of_others else {})}


def _packed(states: Sequence[tuple[int, State]]) -> State:
    """One state per member of a portfolio and scale: the newest state contains those of the others."""
    latest = {_kind(old): old for _, old in states}
    newest = latest.pop(_kind(states[-1][1]))
    rest, kept = ([_plain(old) for old in olds] for olds in (latest.values(), [newest]))
    return {**kept[0], **({"others": rest} if rest else {})}


def _unpacked(state: Mapping[str, Any]) -> list[tuple[int, State]]:
    return [(-1, dict(old)) for old in (*state.get("others", ()), state)]


def _kind(state: State) -> tuple[Any, ...]:
    return state.get("member", 0), state.get("scale")


def _plain(state: State) -> State:
    return {k: v for k, v in state.items() if k not in ("others", "limits")}


def _propose(optimizer: Optimizer) -> Proposal:
    """Return the next point; with known constraints, the design continues from the known points."""
    region, history = optimizer.region, optimizer.history
    if not region.allows_all and len(history) < (optimizer.settings.n_initial or 0):
        rng = np.random.default_rng(optimizer.seed)
        (x,) = optimizer.space.decode(region.design(1, rng, history.codes))
        if history.is_new(x):
            return Proposal(len(history.proposals), x, "design")
    return optimizer.propose()


def _limit(k: int) -> str:
    return f"limit{k}"


def _objective(k: int) -> str:
    return f"objective{k}"


def merge(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Merge the evaluations at each point into one."""
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
    """Return the mean of the known values of each output; NaN if there are none."""
    names = list(group[0].outputs or ())
    table = np.array(
        [[(evaluation.outputs or {})[name] for name in names] for evaluation in group], dtype=float
    )
    columns = [column[np.isfinite(column)] for column in table.T]
    means = [float(column.mean()) if len(column) else math.nan for column in columns]
    return dict(zip(names, means, strict=True)) or None
