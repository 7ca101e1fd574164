"""Open a run: with a new optimizer, or with the one that its journal records."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import RandomState
from tcgp.optimizer.optimizer import Optimizer
from tcgp.record.journal import JournalError
from tcgp.record.settings import GOALS, Settings
from tcgp.space import Space

__all__ = ["start_or_resume", "take_goals"]


def start_or_resume(
    space: Space,
    journal: str | os.PathLike[str] | None,
    wanted: Settings,
    completed: Settings,
    others: list[Any],
    rng: RandomState,
) -> Optimizer:
    """A new optimizer, or the one its journal records if that is of the same problem."""
    if journal is None or not os.path.exists(journal) or os.path.getsize(journal) == 0:
        given = asdict(completed)
        given["constraints"] = [*given["constraints"], *others]
        return Optimizer(space, rng=rng, journal=journal, **given)
    optimizer = Optimizer.resume(journal, constraints=others)
    try:
        _check_same_problem(optimizer, space, wanted, rng, journal)
        optimizer.change_space(space)
        take_goals(optimizer, wanted)
    except BaseException:
        optimizer.close()
        raise
    return optimizer


def take_goals(optimizer: Optimizer, wanted: Settings) -> None:
    """Continue with other goals than those of the journal; JournalError if that is impossible."""
    try:
        optimizer.take_goals(wanted)
    except JournalError:
        raise
    except ValueError as error:
        raise JournalError(
            f"the journal {str(optimizer.journal)!r} cannot be continued with other goals: {error}; choose another "
            "file, or "
            "the same goals"
        ) from error


def _check_same_problem(
    optimizer: Optimizer,
    space: Space,
    wanted: Settings,
    rng: RandomState,
    journal: str | os.PathLike[str],
) -> None:
    """Refuse a journal with other parameters, method or seed; arguments that were not given are not compared."""
    pairs: list[tuple[str, Any, Any]] = []
    if not _same_parameters(optimizer, space):
        pairs.append(("bounds", optimizer.space, space))
    names = (field.name for field in fields(Settings) if field.name not in GOALS)
    pairs += [(name, getattr(optimizer.settings, name), getattr(wanted, name)) for name in names]
    if isinstance(rng, int | np.integer):
        pairs.append(("rng", optimizer.seed, int(rng)))
    for name, theirs, ours in pairs:
        if ours is not None and theirs != ours:
            raise JournalError(
                f"the journal {str(journal)!r} belongs to another run: its {name} is {plain(theirs)}, not "
                f"{plain(ours)}; "
                "choose another file, or the same arguments"
            )


def _same_parameters(optimizer: Optimizer, space: Space) -> bool:
    """Whether the space is that of the optimizer, perhaps with other bounds.

    Without names that is believed only if an evaluation lies in it: the journal may be of another function.
    """
    before, told = optimizer.space, optimizer.evaluations
    if before == space or before.names is not None or space.names is not None:
        return before.names == space.names
    return len(before) == len(space) and (not told or any(space.contains(e.x) for e in told))
