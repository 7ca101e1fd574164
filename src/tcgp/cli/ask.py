"""``tcgp ask``: points to evaluate."""

from __future__ import annotations

import argparse
import json

from tcgp.cli.campaigns import open_optimizer
from tcgp.cli.console import DONE, WITHOUT_SUCCESS, note
from tcgp.cli.spec import load_spec
from tcgp.optimizer import SpaceExhausted

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp ask``."""
    spec = None if options.spec is None else load_spec(options.spec)
    with open_optimizer(options.journal, spec) as optimizer:
        for _ in range(options.n):
            try:
                proposal = optimizer.propose(repeat=options.confirm)
            except SpaceExhausted as error:
                note(str(error))
                return WITHOUT_SUCCESS
            print(json.dumps({"id": proposal.id, "x": optimizer.space.as_named(proposal.x)}), flush=True)
    return DONE
