"""The events of a run, and their JSON in a journal.

The effect of an event is defined in one place, `tcgp.record.history.History.apply`, for live runs and for those read
back from a journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

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


class _Event:
    """The JSON of an event, by default its fields under their names."""

    kind: ClassVar[str]

    def to_json(self) -> Json:
        """For a journal."""
        return {"event": self.kind, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        """From a journal."""
        raise NotImplementedError


@dataclass(frozen=True)
class Asked(_Event):
    """A point was proposed."""

    kind = "ask"
    proposal: Proposal

    def to_json(self) -> Json:
        return {"event": self.kind, **asdict(self.proposal)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        check_choice("source", item["source"], SOURCES)
        return cls(Proposal(item["id"], item["x"], item["source"], _trace(item["trace"]), item["fit"]))


@dataclass(frozen=True)
class _OfEvaluation(_Event):
    """An event that is an evaluation."""

    evaluation: Evaluation

    def to_json(self) -> Json:
        fields = {"event": self.kind, "id": self.evaluation.id, **vars(self.evaluation)}
        return {k: v for k, v in fields.items() if v is not None or k not in ("outputs", "sd")}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        y, outputs = _number("y", item["y"]), item.get("outputs")
        if not isinstance(outputs, dict | None):
            raise ValueError(f"outputs must be a mapping to numbers, got {plain(outputs)}")
        if outputs is not None:
            outputs = {name: _number(f"the output {name!r}", value) for name, value in outputs.items()}
        evaluation = Evaluation.of(item["x"], y, item["reason"], item.get("seconds"))
        return cls(replace(evaluation, id=item["id"], outputs=outputs, sd=_number("sd", item.get("sd"))))


class Told(_OfEvaluation):
    """An evaluation was reported."""

    kind = "tell"


class Corrected(_OfEvaluation):
    """An evaluation that had been reported wrongly was corrected."""

    kind = "correct"


@dataclass(frozen=True)
class Retry(_Event):
    """An attempt at a proposal failed for an external reason, and is to be repeated.

    Attributes
    ----------
    id : int
        Number of the proposal.
    reason : str or None
        Why the attempt failed.
    seconds : float or None
        How long it took.
    """

    kind = "retry"
    id: int
    reason: str | None
    seconds: float | None = field(default=None, compare=False)

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        number, reason, seconds = item["id"], item["reason"], _number("seconds", item.get("seconds"))
        if type(number) is not int or not isinstance(reason, str | None):
            raise ValueError(
                f"a retry must have a number and a reason, got {plain(number)} and {plain(reason)}"
            )
        return cls(number, reason, seconds)


@dataclass(frozen=True)
class Enqueued(_Event):
    """The user wants a point to be evaluated before any others."""

    kind = "enqueue"
    x: Point

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        return cls(item["x"])


@dataclass(frozen=True)
class SpaceChanged(_Event):
    """Another space of the same parameters is searched from here on."""

    kind = "space"
    space: Space

    def to_json(self) -> Json:
        return {"event": self.kind, "space": self.space.to_json()}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        return cls(Space.from_json(item["space"]))


@dataclass(frozen=True)
class GoalsChanged(_Event):
    """The goals are changed from here on; names as in `tcgp.Optimizer`."""

    kind = "goals"
    objective: str | tuple[str, ...] | None
    constraints: tuple[str, ...]
    maximize: bool | tuple[str, ...]
    reference: Mapping[str, float] | None
    n_initial: int | None
    noise: Noise = False

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        return cls(**{name: item[name] for name in GOALS if name in item or name != "noise"})


Event: TypeAlias = Asked | Told | Corrected | Retry | Enqueued | SpaceChanged | GoalsChanged
EVENTS: dict[str, Any] = {
    event.kind: event for event in (Asked, Told, Corrected, Retry, Enqueued, SpaceChanged, GoalsChanged)
}


def event_from_json(item: Mapping[str, Any]) -> Event:
    """The event in a line of a journal; KeyError, TypeError or ValueError if it is invalid."""
    event: Event = EVENTS[item["event"]].from_json(item)
    return event


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
