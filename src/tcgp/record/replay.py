"""Read a journal back: the one place that knows what its events mean."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tcgp._text import plain
from tcgp.methods.states import check_record
from tcgp.record.history import Evaluation, History, Proposal, Retry
from tcgp.record.journal import JournalError, Record, read_journal
from tcgp.record.settings import Settings, check_choice, check_seed
from tcgp.space import Point, Space

__all__ = ["Campaign", "read_campaign", "replay"]

KINDS = ("ask", "tell", "correct", "retry", "space", "enqueue")
SOURCES = ("design", "criterion", "exploration", "given")


@dataclass(frozen=True)
class Campaign:
    """A run as its journal records it.

    Attributes
    ----------
    header : dict
        First line of the journal.
    space : Space
        What is searched now: the header has what was searched first.
    settings : Settings
    seed : int
    history : History
        All that was asked and told.
    """

    header: dict[str, Any]
    space: Space
    settings: Settings
    seed: int
    history: History


def read_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Read a journal without locking it, also while somebody else writes to it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tcgp
    >>> from tcgp.optimizer import read_campaign
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=path)
    >>> optimizer.tell([0.5], 2.0)
    >>> read_campaign(path).history.best
    Evaluation(x=(0.5,), y=2.0, reason=None)
    """
    return replay(read_journal(path), str(path))


def replay(record: Record, path: str) -> Campaign:
    """The campaign that a journal records.

    Parameters
    ----------
    record : Record
        What the journal says.
    path : str
        Its name, for messages.

    Raises
    ------
    JournalError
        If a line cannot be used; the message says which.
    """
    header = record.header
    try:
        space = Space.from_json(header["space"])
        settings = Settings(**_renamed(header["settings"])).completed(space)
        seed = check_seed("seed", header["seed"])
        check_seed("constraints_not_kept", header.get("constraints_not_kept", 0))
        history = History(space, settings.goals(space))
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise JournalError(f"the header of the journal {path!r} cannot be used: {what}") from error
    for line, event in record.events:
        if "event" in event and event["event"] not in KINDS:  # to delete the line would lose what it says
            raise JournalError(
                f"the journal {path!r} is not understood: line {line} cannot be used "
                f"(unknown event {plain(event['event'])}); "
                "install the newer tcgp that wrote it, or restore the file from a backup"
            )
        try:
            _add(history, settings, event)
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise JournalError(
                f"the journal {path!r} is damaged: line {line} cannot be used ({what}); "
                "restore the file from a backup, or delete that line and those after it"
            ) from error
    return Campaign(header, history.space, settings, seed, history)


def _add(history: History, settings: Settings, event: Mapping[str, Any]) -> None:
    """Add what one event says."""
    kind = event["event"]
    if kind == "retry":
        history.add_retry(_retry(event))
        return
    if kind == "space":
        space = Space.from_json(event["space"])
        history.change_space(space, settings.goals(space))
        return
    if kind == "enqueue":
        history.queue.append(tuple(history.space.check(event["x"])))
        return
    number = event["id"]
    x = _point(history, kind, number, event["x"])
    if kind == "ask":
        if type(number) is not int or number != len(history.proposals):
            raise ValueError(f"ask number {number!r} where number {len(history.proposals)} was due")
        check_choice("source", event["source"], SOURCES)
        check_record(event["fit"], history.space.dim)
        history.add_proposal(Proposal(number, x, event["source"], _check_trace(event["trace"]), event["fit"]))
    else:
        outputs = _check_outputs(event.get("outputs"))
        y = _check_number("y", event["y"])
        evaluation = replace(Evaluation.of(x, y, event["reason"], event.get("seconds")), outputs=outputs)
        known = history.find(x) or history.find_outside(x)
        if kind == "correct":
            _correct(history, known, replace(evaluation, id=number))
        elif known is None:
            answered = number if number in history.given_up else _answered(history, number, x)
            history.add_evaluation(replace(evaluation, id=answered))
        elif not known.same_outcome(evaluation):
            raise ValueError(f"one point gave {known.outcome()} and {evaluation.outcome()}")


def _retry(event: Mapping[str, Any]) -> Retry:
    """The attempt that an event says has failed."""
    number, reason, seconds = event["id"], event["reason"], _check_number("seconds", event.get("seconds"))
    if type(number) is not int or not isinstance(reason, str | None):
        raise ValueError(f"a retry must have a number and a reason, got {plain(number)} and {plain(reason)}")
    return Retry(number, reason, seconds)


def _point(history: History, kind: str, number: object, x: object) -> Point:
    """The point of an event: of the space, or one that left it when the space was changed."""
    if kind == "tell" and type(number) is int and number in history.given_up:
        asked = history.given_up[number].x
        if list(asked) != x:
            raise ValueError(f"a value at {x!r} for ask number {number}, which was {list(asked)!r}")
        return asked
    outside = history.find_outside(x) if kind != "ask" else None
    return history.space.check(x) if outside is None else outside.x


def _correct(history: History, known: Evaluation | None, evaluation: Evaluation) -> None:
    """Correct the evaluation that is known; a line that says it again changes nothing."""
    if known is None or known.id != evaluation.id:
        raise ValueError(
            f"a correction at {list(evaluation.x)!r}, where ask number {evaluation.id!r} was not told"
        )
    if not known.says_the_same(evaluation):
        history.correct(known, evaluation)


def _answered(history: History, number: object, x: Point) -> int | None:
    """Number of the proposal that a value answers, which must be what the event says."""
    answered = history.answered_by(x)
    if number is None:
        return answered
    if type(number) is not int or number not in history.pending:
        raise ValueError(f"a value for ask number {number!r}, which is not pending")
    if answered != number:
        raise ValueError(
            f"a value at {x!r} for ask number {number}, which was {list(history.pending[number].x)!r}"
        )
    return number


def _renamed(settings: object) -> dict[str, Any]:
    """Settings of version 0.1, in which an option of bcrGP had a name that now means the lengthscales' selection."""
    if not isinstance(settings, Mapping):
        raise ValueError(f"settings must be a mapping from names to values, got {plain(settings)}")
    options = dict(settings.get("options", {}))
    if options.get("selection") in ("cross-ks", "conservative"):
        options["draw"] = options.pop("selection")
    return {**settings, "options": options}


def _check_number(name: str, value: object) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number or null, got {plain(value)}")
    return value


def _check_outputs(outputs: object) -> dict[str, float | None] | None:
    """The outputs of an evaluation, if they are some."""
    if outputs is None:
        return None
    if not isinstance(outputs, dict):
        raise ValueError(f"outputs must be a mapping to numbers, got {plain(outputs)}")
    return {name: _check_number(f"the output {name!r}", value) for name, value in outputs.items()}


def _check_trace(trace: object) -> dict[str, Any] | None:
    """The trace of a proposal, if it is one."""
    if trace is None:
        return None
    if not isinstance(trace, dict):
        raise ValueError(f"trace must be a mapping to numbers, got {plain(trace)}")
    return {k: v if k == "method" else _check_number(f"{k!r} of the trace", v) for k, v in trace.items()}
