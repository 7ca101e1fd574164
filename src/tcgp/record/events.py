"""What can happen in a run: each event, and the JSON that a journal keeps of it.

What an event does to a run is said in one place, `tcgp.record.history.History.apply`, for live runs and for those that
are read back from a journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from tcgp._text import plain
from tcgp.goals import Noise
from tcgp.record.evaluation import Evaluation, Proposal
from tcgp.record.settings import GOALS, check_choice
from tcgp.space import Point, Space

__all__ = [
    "EVENTS",
    "Asked",
    "Corrected",
    "Enqueued",
    "Event",
    "GoalsChanged",
    "Retry",
    "SpaceChanged",
    "Told",
    "event_from_json",
]

Json: TypeAlias = dict[str, Any]

SOURCES = ("design", "criterion", "exploration", "given", "repeat")


@dataclass(frozen=True)
class Asked:
    """A point was proposed."""

    kind: ClassVar = "ask"
    proposal: Proposal

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, **asdict(self.proposal)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Asked:
        """From a journal."""
        check_choice("source", item["source"], SOURCES)
        return cls(Proposal(item["id"], item["x"], item["source"], _trace(item["trace"]), item["fit"]))


@dataclass(frozen=True)
class Told:
    """An evaluation was reported."""

    kind: ClassVar = "tell"
    evaluation: Evaluation

    def to_json(self) -> Json:
        """For a journal."""
        return _evaluation_to_json(self.kind, self.evaluation)

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Told:
        """From a journal."""
        return cls(_evaluation_from_json(item))


@dataclass(frozen=True)
class Corrected:
    """An evaluation that had been reported wrongly was reported anew."""

    kind: ClassVar = "correct"
    evaluation: Evaluation

    def to_json(self) -> Json:
        """For a journal."""
        return _evaluation_to_json(self.kind, self.evaluation)

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Corrected:
        """From a journal."""
        return cls(_evaluation_from_json(item))


@dataclass(frozen=True)
class Retry:
    """An attempt at a proposal failed for a reason outside it, and was to be followed by another.

    Attributes
    ----------
    id : int
        Number of the proposal.
    reason : str or None
        Why the attempt failed.
    seconds : float or None
        How long it took.
    """

    kind: ClassVar = "retry"
    id: int
    reason: str | None
    seconds: float | None = field(default=None, compare=False)

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, **asdict(self)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Retry:
        """From a journal."""
        number, reason, seconds = item["id"], item["reason"], _number("seconds", item.get("seconds"))
        if type(number) is not int or not isinstance(reason, str | None):
            raise ValueError(
                f"a retry must have a number and a reason, got {plain(number)} and {plain(reason)}"
            )
        return cls(number, reason, seconds)


@dataclass(frozen=True)
class Enqueued:
    """The user wants a point to be evaluated before any others."""

    kind: ClassVar = "enqueue"
    x: Point

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, "x": self.x}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Enqueued:
        """From a journal."""
        return cls(item["x"])


@dataclass(frozen=True)
class SpaceChanged:
    """Another space of the same parameters is searched from here on."""

    kind: ClassVar = "space"
    space: Space

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, "space": self.space.to_json()}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> SpaceChanged:
        """From a journal."""
        return cls(Space.from_json(item["space"]))


@dataclass(frozen=True)
class GoalsChanged:
    """Something else is wanted from here on: what `tcgp.Optimizer` calls so."""

    kind: ClassVar = "goals"
    objective: str | tuple[str, ...] | None
    constraints: tuple[str, ...]
    maximize: bool | tuple[str, ...]
    reference: Mapping[str, float] | None
    n_initial: int | None
    noise: Noise = False

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, **asdict(self)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> GoalsChanged:
        """From a journal."""
        return cls(**{name: item[name] for name in GOALS if name in item or name != "noise"})


Event: TypeAlias = Asked | Told | Corrected | Retry | Enqueued | SpaceChanged | GoalsChanged
EVENTS: dict[str, Any] = {
    event.kind: event for event in (Asked, Told, Corrected, Retry, Enqueued, SpaceChanged, GoalsChanged)
}


def event_from_json(item: Mapping[str, Any]) -> Event:
    """The event that a line of a journal keeps; KeyError, TypeError or ValueError if it is none."""
    event: Event = EVENTS[item["event"]].from_json(item)
    return event


def _evaluation_to_json(kind: str, evaluation: Evaluation) -> Json:
    fields = {"event": kind, "id": evaluation.id, **vars(evaluation)}
    return {k: v for k, v in fields.items() if v is not None or k not in ("outputs", "sd")}


def _evaluation_from_json(item: Mapping[str, Any]) -> Evaluation:
    y, outputs = _number("y", item["y"]), item.get("outputs")
    if not isinstance(outputs, dict | None):
        raise ValueError(f"outputs must be a mapping to numbers, got {plain(outputs)}")
    if outputs is not None:
        outputs = {name: _number(f"the output {name!r}", value) for name, value in outputs.items()}
    evaluation = Evaluation.of(item["x"], y, item["reason"], item.get("seconds"))
    return replace(evaluation, id=item["id"], outputs=outputs, sd=_number("sd", item.get("sd")))


def _trace(trace: object) -> Json | None:
    if not isinstance(trace, dict | None):
        raise ValueError(f"trace must be a mapping to numbers, got {plain(trace)}")
    if trace is None:
        return None
    return {k: v if k == "method" else _number(f"{k!r} of the trace", v) for k, v in trace.items()}


def _number(name: str, value: object) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number or null, got {plain(value)}")
    return value
