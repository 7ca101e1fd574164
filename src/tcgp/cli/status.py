"""``tcgp status``: how a campaign stands."""

from __future__ import annotations

import argparse
import csv
import json
from typing import Any

from tcgp.cli.campaigns import Campaign, describe_counts, describe_failures, read_campaign
from tcgp.cli.console import DONE, UsageError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp status``."""
    campaign = read_campaign(options.journal)
    if options.csv is not None:
        _write_csv(campaign, options.csv)
    print(json.dumps(_facts(campaign)) if options.json else _in_words(campaign))
    return DONE


def _in_words(campaign: Campaign) -> str:
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
    return "\n".join(lines)


def _facts(campaign: Campaign) -> dict[str, Any]:
    """The same for machines."""
    best = campaign.best
    return {
        "n_told": len(campaign.told),
        "n_failed": sum(told.evaluation.failed for told in campaign.told),
        "best": None
        if best is None
        else {"id": best.id, "value": best.evaluation.y, "x": campaign.named(best.evaluation.x)},
        "failures": {reason: [told.id for told in group] for reason, group in campaign.failures.items()},
        "pending": [{"id": p.id, "x": campaign.named(p.x)} for p in campaign.pending],
    }


def _write_csv(campaign: Campaign, path: str) -> None:
    """One row per evaluation: the parameters and then the value, empty where it failed."""
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*campaign.names, "value"])
            for told in campaign.told:
                writer.writerow([*told.evaluation.x, told.evaluation.y])
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}") from None
