"""``tcgp tradeoff``: what another limit would cost, from the recorded runs and the models of all of them."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp._typing import IntArray
from tcgp.cli.campaigns import find_journal, labelled, named, read
from tcgp.cli.console import DONE, WITHOUT_SUCCESS, UsageError, note, show
from tcgp.front import non_dominated
from tcgp.goals import Goals
from tcgp.optimizer import Campaign, JournalError, Optimizer
from tcgp.optimizer.outlook import Forecast, Outlook

__all__ = ["run"]


@dataclass(frozen=True)
class _Row:
    """The best for one value of the limit: of the recorded runs, and as predicted."""

    bound: float
    run: int | None
    value: float
    predicted: Forecast


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp tradeoff``."""
    journal = find_journal(options.journal)
    campaign = read(journal)
    goals = campaign.history.goals
    k = _place(goals, options.limit)
    front = _recorded(campaign, k)
    if not len(front):
        note("no run satisfies the other constraints: there is nothing to trade off yet")
        return WITHOUT_SUCCESS
    try:
        rows = _rows(campaign, Outlook(Optimizer.read(journal)), k, front, options.n)
    except (ValueError, JournalError) as error:
        raise UsageError(str(error)) from None
    if options.json:
        show(json.dumps([_facts(campaign, row) for row in rows]))
        return DONE
    for line in _in_words(campaign, k, rows):
        show(line)
    return DONE


def _place(goals: Goals, name: str) -> int:
    """Find a limit by its text or by an output that it mentions."""
    if goals.has_several:
        raise UsageError("the campaign has several objectives: tcgp status shows their front")
    found = [k for k, limit in enumerate(goals.limits) if name == limit.text or name in limit.names]
    if len(found) == 1:
        return found[0]
    there = ", ".join(repr(limit.text) for limit in goals.limits) or "none"
    what = "names several constraints" if found else "is in no constraint on outputs"
    raise UsageError(f"--limit {name!r} {what}; there are {there}")


def _recorded(campaign: Campaign, k: int) -> IntArray:
    """Rows that satisfy all other limits and are not dominated in value and excess."""
    data = campaign.history.data
    others = np.delete(data.excesses, k, axis=1)
    rows = np.flatnonzero(
        data.succeeded & data.allowed & (others <= 0.0).all(axis=1) & ~np.isnan(data.excesses[:, k])
    )
    both = np.column_stack([data.excesses[rows, k], data.Y[rows, 0]])
    kept = non_dominated(both)
    return rows[kept][np.argsort(both[kept, 0], kind="stable")]


def _rows(campaign: Campaign, outlook: Outlook, k: int, front: IntArray, n: int) -> list[_Row]:
    """Values of the limit, from the tightest that a run satisfies to the loosest that has an effect, and the present
    one."""
    data, goals = campaign.history.data, campaign.history.goals
    excesses = data.excesses[front, k]
    levels = [*np.linspace(excesses[0], excesses[-1], n), *([0.0] if excesses[0] <= 0.0 else [])]
    rows = []
    for level in np.unique(levels).tolist():
        row = front[np.flatnonzero(excesses <= level)[-1]]
        bound = goals.limits[k].shown_bound + goals.limits[k].sign * level
        value = goals.objectives[0].sign * float(data.Y[row, 0])
        rows.append(_Row(bound, data.evaluations[row].id, value, outlook.best({k: level})))
    return rows


def _in_words(campaign: Campaign, k: int, rows: list[_Row]) -> list[str]:
    goals = campaign.history.goals
    limit, objective = goals.limits[k], goals.objectives[0]
    sense, comparison = "least" if objective.sign > 0.0 else "most", "<=" if limit.sign > 0.0 else ">="
    name = limit.expression.text if limit.expression is not None else limit.text
    lines = [f"{sense} {objective.text} for each limit; all other constraints are satisfied"]
    for row in rows:
        now = " (the present limit)" if row.bound == limit.shown_bound else ""
        which = "" if row.run is None else f" (run {row.run})"
        lines.append(f"{name} {comparison} {row.bound:.6g}{now}: recorded {row.value:.6g}{which}")
        (low, high), at = row.predicted.interval, json.dumps(named(campaign, row.predicted.x))
        lines.append(f"  predicted {row.predicted.value:.6g}, 90 % between {low:.6g} and {high:.6g}, at {at}")
    return labelled("trade-off", lines)


def _facts(campaign: Campaign, row: _Row) -> dict[str, Any]:
    """The same for machines."""
    x, forecast = named(campaign, row.predicted.x), row.predicted
    predicted = {
        "value": forecast.value,
        "interval": list(forecast.interval),
        "chance": forecast.chance,
        "x": x,
    }
    return {"limit": row.bound, "recorded": {"value": row.value, "id": row.run}, "predicted": predicted}
