"""Journals as the commands use them: open one, read one, compare one with a spec, say what is in it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcgp._text import printable, shorten
from tcgp.cli.console import UsageError
from tcgp.cli.spec import Spec
from tcgp.history import Evaluation, Proposal
from tcgp.journal import JournalError, Record, read_journal
from tcgp.optimizer import Optimizer
from tcgp.space import Point, Space

__all__ = [
    "Campaign",
    "Told",
    "check_spec",
    "describe_counts",
    "describe_failures",
    "open_optimizer",
    "read_campaign",
]

PATIENCE = 60.0  # seconds to wait for a journal in use: jobs of a scheduler may all end at once
LONGEST_LIST = 12  # of reasons, and of run numbers after a reason


@dataclass(frozen=True)
class Told:
    """An evaluation, and the number of the proposal it answers if it was asked for."""

    id: int | None
    evaluation: Evaluation


@dataclass(frozen=True)
class Campaign:
    """What a journal says, for reading only."""

    path: Path
    space: Space
    header: dict[str, Any]
    told: list[Told]
    pending: list[Proposal]

    @property
    def best(self) -> Told | None:
        """The first evaluation with the smallest value."""
        values = [told for told in self.told if told.evaluation.y is not None]
        return min(values, key=lambda told: told.evaluation.y or 0.0, default=None)

    @property
    def failures(self) -> dict[str, list[Told]]:
        """Failed evaluations by reason, in order of appearance."""
        groups: dict[str, list[Told]] = {}
        for told in self.told:
            if told.evaluation.failed:
                groups.setdefault(told.evaluation.reason or "no reason given", []).append(told)
        return groups

    @property
    def names(self) -> list[str]:
        """Names of the parameters: x1, x2, ... if they have none."""
        return list(self.space.names or [f"x{i + 1}" for i in range(len(self.space))])

    def named(self, x: Point) -> dict[str, Any]:
        """A point as a mapping from names."""
        return dict(zip(self.names, x, strict=True))


def read_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Read a journal without locking it, also while somebody else writes to it."""
    record = _read(path)
    try:
        space = Space.from_json(record.header["space"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the header of the journal {str(path)!r} cannot be used: {error}") from None
    told: list[Told] = []
    pending: dict[int, Proposal] = {}
    for line, event in record.events:
        try:
            x = space.check(event["x"])
            if event["event"] == "ask":
                if type(event["id"]) is not int:
                    raise ValueError(f"id must be a number, got {event['id']!r}")
                pending[event["id"]] = Proposal(event["id"], x, event["source"], event["trace"])
            else:
                pending.pop(event["id"], None)
                told.append(Told(event["id"], Evaluation.of(x, event["y"], event["reason"])))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"line {line} of the journal {str(path)!r} cannot be used: {error}") from None
    return Campaign(Path(path), space, record.header, told, list(pending.values()))


def describe_counts(campaign: Campaign) -> str:
    """How many evaluations there are, and of which kind."""
    n_failed = sum(told.evaluation.failed for told in campaign.told)
    text = f"{len(campaign.told)}: {len(campaign.told) - n_failed} succeeded, {n_failed} failed"
    return text + (f"; {len(campaign.pending)} pending" if campaign.pending else "")


def describe_failures(campaign: Campaign) -> list[str]:
    """One line for each reason."""
    groups = sorted(campaign.failures.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{len(group)} x {printable(shorten(reason, 200))}{_numbers(group)}"
        for reason, group in groups[:LONGEST_LIST]
    ]
    n_more = sum(len(group) for _, group in groups[LONGEST_LIST:])
    return lines + ([f"{n_more} x other reasons, which the journal has"] if n_more else [])


def _numbers(group: list[Told]) -> str:
    numbers = [str(told.id) for told in group if told.id is not None]
    if not numbers:
        return ""
    shown = ", ".join(numbers[:LONGEST_LIST]) + (", ..." if len(numbers) > LONGEST_LIST else "")
    return f"   (run{'s' if len(numbers) > 1 else ''} {shown})"


@contextmanager
def open_optimizer(path: str, spec: Spec | None = None) -> Iterator[Optimizer]:
    """The optimizer of a journal; a new one if the spec is given and the journal is not there.

    Pending points stay pending: they are being evaluated somewhere.
    """
    exists = os.path.exists(path) and os.path.getsize(path) > 0
    if not exists and spec is None:
        raise UsageError(f"there is no journal {path!r}; begin one with tcgp ask {path} --spec SPEC.toml")
    if exists:
        _read(path)
        if spec is not None:
            check_spec(spec, path)
    try:
        if exists or spec is None:
            optimizer = _patiently(lambda: Optimizer.resume(path, reoffer=False))
        else:
            settings = {**spec.settings, "n_initial": spec.n_initial}
            optimizer = Optimizer(spec.space, rng=spec.seed, journal=path, **settings)
    except JournalError as error:
        raise UsageError(str(error)) from None
    with optimizer:
        yield optimizer


def check_spec(spec: Spec, path: str | os.PathLike[str]) -> None:
    """Refuse to continue a journal that was begun with another spec."""
    header = _read(path).header
    for what, before, now in _differences(spec, header):
        raise UsageError(
            f"the journal {str(path)!r} was begun with another spec: {what} was {before} and is now {now}; "
            "give another --journal, or move the old one away"
        )


def _differences(spec: Spec, header: Mapping[str, Any]) -> Iterator[tuple[str, object, object]]:
    """What a journal and a spec disagree about: its name, the journal's value, the spec's."""
    try:
        space, settings = Space.from_json(header["space"]), dict(header["settings"])
    except (KeyError, TypeError, ValueError):
        return  # the optimizer, which reads the journal next, says what is wrong with it
    before, now = list(space.names or ()), list(spec.space.names or ())
    if before != now:
        yield "the list of parameters", before, now
        return
    for name, theirs, ours in zip(now, space.dimensions, spec.space.dimensions, strict=True):
        if theirs != ours:
            yield f"parameter {name!r}", theirs, ours
    for name, value in spec.settings.items():
        if value is not None and settings.get(name) != value:
            yield f"{name!r}", repr(settings.get(name)), repr(value)
    if spec.seed is not None and header.get("seed") != spec.seed:
        yield "'seed'", header.get("seed"), spec.seed


def _read(path: str | os.PathLike[str]) -> Record:
    try:
        return read_journal(path)
    except OSError as error:
        raise UsageError(f"the journal {str(path)!r} cannot be read: {error.strerror}") from None
    except JournalError as error:
        raise UsageError(str(error)) from None
    except RecursionError:
        raise UsageError(f"{str(path)!r} is not a journal of tcgp: choose another file") from None


def _patiently(open_journal: Any) -> Any:
    """Wait for a journal that another process holds, as long as is reasonable."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return open_journal()
        except JournalError as error:
            if "in use by another process" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
