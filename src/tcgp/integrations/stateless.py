"""One question to an optimizer that remembers nothing: for hosts that keep the memory themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tcgp.optimizer import Optimizer
from tcgp.optimizer.history import Evaluation, Proposal
from tcgp.space import Point, Space

__all__ = ["ask"]


def ask(
    space: Space,
    evaluations: Iterable[Evaluation],
    pending: Iterable[Point],
    *,
    seed: int,
    state: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
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
    optimizer = Optimizer(space, rng=seed, **settings)
    history, states = optimizer.history, optimizer.surrogate.states
    for evaluation in _merge(evaluations):
        history.add_evaluation(evaluation)
    for x in pending:
        if history.is_new(x):
            history.add_proposal(Proposal(len(history.proposals), x, "given"))
    if state is not None and len(state["lengthscales"]) == space.dim:
        states += [(-1, dict(old)) for old in (*state.get("others", ()), state)]
    proposal = optimizer.propose()
    if not states or optimizer.model is None:
        return proposal, None
    # One state for each member of a portfolio: the last one's, with the others' inside it.
    latest = {old.get("member", 0): old for _, old in states}
    newest = latest.pop(states[-1][1].get("member", 0))
    others = [{k: v for k, v in old.items() if k != "others"} for old in latest.values()]
    return proposal, {**newest, **({"others": others} if others else {})}


def _merge(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """One evaluation per point."""
    groups: dict[tuple[Any, ...], list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(tuple(evaluation.x), []).append(evaluation)
    return [_merge_one(group) for group in groups.values()]


def _merge_one(group: Sequence[Evaluation]) -> Evaluation:
    values = [evaluation.y for evaluation in group if evaluation.y is not None]
    if len(set(values)) <= 1:
        return next((evaluation for evaluation in group if not evaluation.failed), group[0])
    return Evaluation(group[0].x, sum(values) / len(values))
