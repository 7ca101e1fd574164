"""Read values again from the runs of a campaign, after its spec has changed their place."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tcgp._files import write_atomically
from tcgp.cli.campaigns import open_optimizer
from tcgp.cli.console import UsageError, note
from tcgp.cli.spec import Spec, places_of
from tcgp.optimizer import Evaluation, History, Optimizer
from tcgp.programs import Simulator
from tcgp.programs.crew import outcome_again, run_name
from tcgp.running.crews import Outcome
from tcgp.running.opening import take_goals

__all__ = ["keep_spec", "read_again"]


@dataclass(frozen=True)
class _Reading:
    """An evaluation, and the value now read from its run."""

    before: Evaluation
    outcome: Outcome
    after: Evaluation

    @property
    def differs(self) -> bool:
        return not self.before.same_outcome(self.after)

    @property
    def is_gone(self) -> bool:
        """Whether there was a value, and none is found now."""
        return self.after.failed and not self.before.failed


def read_again(spec: Spec, journal: Path, simulator: Simulator, copy: Path) -> None:
    """If the spec has changed the place of values, read them from the runs and correct the journal.

    Nothing is run. A failure may become a value, and the reverse; the journal keeps both. Values corrected by hand
    stay, and so, without a copy of the spec, do values that are not found. If no run has a value in the new place,
    nothing is changed, and a UsageError says so.
    """
    before = _places_before(copy)
    is_known = before is not None
    if before == places_of(spec.path):
        return
    with open_optimizer(str(journal)) as optimizer:
        if optimizer.unreadable(spec.settings) is None:  # else the outputs that they need may be found now
            take_goals(optimizer, spec.settings)
        readings, n_by_hand, n_without_run = _readings(optimizer, simulator, before)
        gone = [] if is_known else [reading for reading in readings if reading.is_gone]
        readings = [reading for reading in readings if reading not in gone]
        if is_known:
            _refuse_if_nothing_is_read(spec, readings)
        for reading in readings:
            if reading.differs:
                assert reading.before.id is not None
                optimizer.correct(reading.before.id, reading.outcome.value, reason=reading.outcome.reason)
        # Last: whoever is killed before reads them once more, and finds nothing to correct.
        is_something_read = any(not reading.after.failed for reading in readings)
        if is_something_read or not gone:  # else the spec may be what is wrong
            keep_spec(spec.path, copy)
    has_changed = is_known or any(reading.differs for reading in readings)
    if readings and has_changed:
        note(f"the spec has changed the place of values: {_summary(readings)}")
    if n_without_run and has_changed:
        note(f"{n_without_run} values are kept, because their runs are not here")
    if gone:  # it is not known what was read before: a file may be missing that was there
        reason = gone[-1].after.reason
        note(f"{len(gone)} values are kept, because they were not found in the new place: {reason}")
    if n_by_hand:
        note(f"{n_by_hand} values are kept, because they were reported or corrected by hand")


def _readings(
    optimizer: Optimizer, simulator: Simulator, places: dict[str, Any] | None
) -> tuple[list[_Reading], int, int]:
    """New readings of the runs that ended normally; the number of values that no run gave, and of those without a
    run."""
    readings = _read_runs(optimizer.history, simulator)
    corrected = {correction.after.id for correction in optimizer.history.corrections}
    if places is None:  # it is not known what was read before
        untouched = [r for r in readings if r.before.id not in corrected]
    else:
        before = {r.before.id: r.after for r in _read_runs(optimizer.history, replace(simulator, **places))}
        untouched = [r for r in readings if not r.differs or r.before.same_outcome(before[r.before.id])]
    values = [e for e in optimizer.history.told if not e.failed]
    n_without_run = len(values) - sum(not r.before.failed for r in readings)
    return untouched, len(readings) - len(untouched), n_without_run


def _places_before(copy: Path) -> dict[str, Any] | None:
    """Place of values in the copy of the spec; None if there is no copy, or a crash has damaged it."""
    try:
        return places_of(copy)
    except (UsageError, ValueError):
        return None


def _read_runs(history: History, simulator: Simulator) -> list[_Reading]:
    """A new reading of each run that ended normally."""
    readings = []
    for evaluation in history.told:  # what a changed space has left out, too
        if evaluation.id is None:
            continue
        argument = history.space.as_argument(evaluation.x)
        name = run_name(evaluation.id, history.n_retries(evaluation.id))
        outcome = outcome_again(simulator, argument, name)
        if outcome is not None:
            value, reason, seconds = outcome.value, outcome.reason, evaluation.seconds
            now = Evaluation.of(evaluation.x, value, reason, seconds, history.goals)
            readings.append(_Reading(evaluation, outcome, now))
    return readings


def _refuse_if_nothing_is_read(spec: Spec, readings: Sequence[_Reading]) -> None:
    if readings and all(reading.after.failed for reading in readings):
        raise UsageError(
            f"the spec {str(spec.path)!r} has changed the place of values, and none of the {len(readings)} runs has "
            f"one there: {readings[-1].after.reason}; the journal is unchanged"
        )


def _summary(readings: Sequence[_Reading]) -> str:
    """The changes, in words."""
    changed = [reading for reading in readings if reading.differs]
    kinds = {
        "failures have a value now": [r for r in changed if r.before.failed],
        "values are missing now": [r for r in changed if r.is_gone],
        "values are different": [r for r in changed if not r.before.failed and not r.after.failed],
    }
    words = [f"{len(group)} {kind}" for kind, group in kinds.items() if group]
    return (
        f"{len(readings)} runs were read again, {', '.join(words) or 'all unchanged'}; the journal keeps both"
    )


def keep_spec(spec: Path, copy: Path) -> None:
    """Put the spec in the place of its copy; another file there is kept under another name."""
    content = spec.read_text(encoding="utf-8-sig").encode()
    if os.path.lexists(copy):
        if copy.is_file() and not copy.is_symlink() and copy.read_bytes() == content:
            return
        names = (f"{copy.stem}-{i}.toml" for i in itertools.count(1))
        former = next(path for name in names if not os.path.lexists(path := copy.with_name(name)))
        if copy.is_symlink():
            copy.rename(former)
        else:  # without a moment in which there is no copy
            shutil.copyfile(copy, former)
    write_atomically(copy, content)
