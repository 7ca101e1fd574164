"""``tcgp tell``: what a point gave."""

from __future__ import annotations

import argparse
import json

from tcgp.cli.campaigns import open_optimizer
from tcgp.cli.console import DONE, UsageError
from tcgp.optimizer import Optimizer

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp tell``."""
    number, value = _number_and_value(options)
    with open_optimizer(options.journal) as optimizer:
        x = _point(options.x) if number is None else _proposed(optimizer, options.journal, number)
        try:
            optimizer.tell(x, value, reason=options.failed, seconds=options.took)
        except ValueError as error:
            raise UsageError(str(error)) from None
        best = optimizer.history.best
        so_far = (
            "no value so far" if best is None else f"the best of {len(optimizer.evaluations)} is {best.y!r}"
        )
        print(f"noted; {so_far}, {len(optimizer.pending)} pending")
    return DONE


def _number_and_value(options: argparse.Namespace) -> tuple[int | None, float | None]:
    """The proposal (None with --x) and its value (None with --failed)."""
    rest = list(options.rest)
    expected = (options.x is None) + (options.failed is None)
    if len(rest) != expected:
        form = ("" if options.x is not None else "ID ") + ("" if options.failed is not None else "VALUE")
        raise UsageError(
            f"after the journal, {form.strip() or 'nothing'} is expected, got {' '.join(rest) or 'nothing'}; "
            "see tcgp tell --help"
        )
    number = None
    if options.x is None:
        text = rest.pop(0).strip()
        if not text.isdecimal():
            raise UsageError(f"ID must be the number that tcgp ask gave, got {text!r}")
        number = int(text)
    if options.failed is not None:
        return number, None
    try:
        return number, float(rest[0])
    except ValueError:
        raise UsageError(f"VALUE must be a number, got {rest[0]!r}; for a failed run use --failed") from None


def _point(text: str) -> object:
    try:
        point: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'--x must be JSON such as {{"a": 1.5}}, got {text!r} ({error})') from None
    return point


def _proposed(optimizer: Optimizer, path: str, number: int) -> object:
    """The point that was proposed under a number, told already or not."""
    proposals, pending = optimizer.history.proposals, optimizer.history.pending
    if number >= len(proposals):
        waiting = ", ".join(map(str, pending)) or "none"
        raise UsageError(f"no point {number} was asked for in {path!r}; pending are: {waiting}")
    return proposals[number].x
