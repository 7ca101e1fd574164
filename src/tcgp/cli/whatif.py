"""``tcgp whatif``: the effect of other limits, from the recorded runs and models of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tcgp.cli.campaigns import describe_goals_at, describe_value, find_journal, labelled, named, read
from tcgp.cli.console import DONE, UsageError, show
from tcgp.expressions import parse_constraint
from tcgp.goals import parameter_names
from tcgp.optimizer import JournalError, Optimizer

__all__ = ["run", "what_if"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp whatif``."""
    for line in what_if(find_journal(options.journal), options.limit):
        show(line)
    return DONE


def what_if(journal: Path, new: Sequence[str]) -> list[str]:
    """The effect of new limits, in words; ``mass <= 5`` replaces another upper limit on ``mass``."""
    from tcgp.optimizer.outlook import Outlook

    campaign = read(journal)
    if campaign.history.goals.objective is None or campaign.history.goals.has_several:
        raise UsageError("whatif needs one objective that is a named output: other limits are about outputs")
    try:
        optimizer = Optimizer.read(journal)
        before = list(optimizer.settings.constraints)
        limits = _with_limits(before, new, optimizer)
        optimizer.change_goals(constraints=limits)
        outlook = Outlook(optimizer)
    except (ValueError, JournalError) as error:
        raise UsageError(str(error)) from None
    data = optimizer.history.data
    best = data.best or data.least_violating
    assert best is not None
    campaign = replace(campaign, history=optimizer.history)
    n = f"{int(data.feasible.sum())} of {len(data.Y)} runs satisfy all constraints"
    forecast = outlook.forecast
    low, high = forecast.interval
    chance = f"; all limits are satisfied with probability {forecast.chance:.2g}" if limits else ""
    goals = optimizer.history.goals
    relaxed = [
        f"{goals.limits[j].text} to {to:.6g}: {goals.objective} is {gain:.3g} better"
        for j, to, gain in outlook.gains()
    ]
    return [
        *labelled("limits", [f"{text}{'' if text in before else '   (new)'}" for text in limits]),
        f"recorded     {describe_value(campaign, best)}   ({n})",
        f"at           {json.dumps(named(campaign, best.x))}",
        *describe_goals_at(campaign, best),
        f"predicted    {forecast.value:.6g}, 90 % between {low:.6g} and {high:.6g}{chance}",
        f"at           {json.dumps(named(campaign, forecast.x))}",
        *labelled("relaxing", relaxed),
        "Nothing was run, and the journal is unchanged.",
    ]


def _with_limits(before: Sequence[str], new: Sequence[str], optimizer: Optimizer) -> list[str]:
    """The constraints with new ones, each replacing one on the same side of the same expression."""
    names = [*parameter_names(optimizer.space), *optimizer.history.output_names]
    sides = [_side(text, names) for text in new]
    return [*(text for text in before if _side(text, names) not in sides), *new]


def _side(text: str, names: Sequence[str]) -> tuple[object, ...]:
    """The expression of a constraint, and the sides that it bounds."""
    parts = parse_constraint(text, names)
    return tuple((part.expression.program, bool(np.isfinite(part.upper))) for part in parts)
