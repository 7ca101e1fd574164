"""``tcgp status``: how a campaign stands."""

from __future__ import annotations

import argparse
import csv
import json
from typing import Any

from tcgp.cli.campaigns import (
    describe_counts,
    describe_failures,
    failures_by_reason,
    named,
    parameter_names,
    read,
)
from tcgp.cli.console import DONE, UsageError, show
from tcgp.optimizer import Campaign

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp status``."""
    campaign = read(options.journal)
    if options.csv is not None:
        _write_csv(campaign, options.csv)
    for line in [json.dumps(_facts(campaign))] if options.json else _in_words(campaign):
        show(line)
    return DONE


def _in_words(campaign: Campaign) -> list[str]:
    lines = [f"evaluations  {describe_counts(campaign)}"]
    lines += [f"{'':<13}{line}" for line in describe_failures(campaign)]
    best = _facts(campaign)["best"]
    if best is None:
        lines.append("best value   none so far")
    else:
        which = "" if best["id"] is None else f"   (id {best['id']})"
        lines.append(f"best value   {best['value']!r}{which}")
        lines.append(f"at           {json.dumps(best['x'])}")
    for i, proposal in enumerate(_facts(campaign)["pending"]):
        lines.append(f"{'' if i else 'pending':<13}{json.dumps(proposal)}")
    return lines


def _facts(campaign: Campaign) -> dict[str, Any]:
    """The same for machines."""
    history = campaign.history
    best = history.best
    return {
        "n_told": len(history.evaluations),
        "n_failed": len(history.failures),
        "best": None if best is None else {"id": best.id, "value": best.y, "x": named(campaign, best.x)},
        "failures": {reason: [e.id for e in group] for reason, group in failures_by_reason(campaign).items()},
        "pending": [{"id": p.id, "x": named(campaign, p.x)} for p in history.pending.values()],
    }


def _write_csv(campaign: Campaign, path: str) -> None:
    """One row per evaluation: the parameters and then the value, empty where it failed."""
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*parameter_names(campaign), "value"])
            writer.writerows([*e.x, e.y] for e in campaign.history.evaluations)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}") from None
