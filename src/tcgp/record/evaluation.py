"""A proposal, and the evaluation that answers it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tcgp._arrays import check_noise
from tcgp._text import plain
from tcgp.goals import Goals, interpret
from tcgp.space import Point

__all__ = ["Evaluation", "Proposal"]


@dataclass(frozen=True)
class Evaluation:
    """A point and its outcome: a value, or the reason why there is none.

    Attributes
    ----------
    x : tuple
    y : float or None
        The value that is optimized, with the user's sign; None if the evaluation failed.
    reason : str or None
        Why it failed.
    seconds : float or None
        How long it took, if known; only for display.
    id : int or None
        Number of the proposal that it answers; None for a point that was not asked for.
    outputs : dict or None
        All outputs by name, if the function has several; None for one that is missing or not finite.
    sd : float or None
        Standard deviation of the noise in y, if it is known of this evaluation. That of a named output is an output.
    """

    x: Point
    y: float | None
    reason: str | None = None
    seconds: float | None = field(default=None, compare=False, repr=False)
    id: int | None = field(default=None, repr=False)
    outputs: dict[str, float | None] | None = field(default=None, repr=False)
    sd: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", tuple(self.x))  # what was told cannot be changed

    @property
    def failed(self) -> bool:
        """Whether the evaluation gave no finite value."""
        return self.y is None

    @classmethod
    def of(
        cls,
        x: Point,
        y: object,
        reason: str | Mapping[str, str] | None = None,
        seconds: float | None = None,
        goals: Goals | None = None,
        sd: float | Mapping[str, float] | None = None,
    ) -> Evaluation:
        """Interpret a function's answer ``y`` at ``x``, with the standard deviation of its noise if known.

        Examples
        --------
        >>> from tcgp.record.evaluation import Evaluation
        >>> Evaluation.of([0.5], 2)
        Evaluation(x=(0.5,), y=2.0, reason=None)
        >>> Evaluation.of([0.5], "rubbish").reason
        "'rubbish' is not a number"
        """
        reasons = reason if isinstance(reason, Mapping) else {}
        given = None if isinstance(reason, Mapping) else reason
        if not all(isinstance(text, str) for text in (given or "", *reasons.values())):
            raise ValueError(
                f"reason must be a string, a mapping from outputs to strings, or None, got {plain(reason)}"
            )
        if seconds is not None and not (isinstance(seconds, numbers.Real) and 0.0 <= seconds < math.inf):
            raise ValueError(f"seconds must be a number >= 0 or None, got {plain(seconds)}")
        if goals is None:
            (value, why), outputs = interpret(y), None
        else:
            value, outputs, why = goals.read(x, y, reasons)
        duration = None if seconds is None else float(seconds)
        of_value, of_outputs = _deviations(sd, goals)
        if outputs is not None:
            outputs |= of_outputs
        why = None if value is not None else given or why
        return cls(x, value, why, duration, outputs=outputs, sd=None if value is None else of_value)

    def under(self, goals: Goals) -> Evaluation:
        """The evaluation under other goals: its value is computed from all its outputs again.

        Examples
        --------
        >>> from tcgp import Space
        >>> from tcgp.goals import Goals
        >>> from tcgp.record.evaluation import Evaluation
        >>> beam = Evaluation.of([0.5], {"mass": 2.0, "stress": 9.0}, goals=Goals(Space([(0, 1)]), "mass"))
        >>> beam.y, beam.under(Goals(Space([(0, 1)]), "stress")).y
        (2.0, 9.0)
        """
        answer = self.y if self.outputs is None else self.outputs
        if answer is None:
            return self
        value, _, why = goals.read(self.x, answer)
        return replace(self, y=value, reason=None if value is not None else self.reason or why)

    def same_outcome(self, other: Evaluation, *, rounded: bool = False) -> bool:
        """Whether two evaluations of a point agree up to rounding; outputs without a value are ignored."""
        ours, theirs = self._numbers, other._numbers
        if not rounded:
            return ours == theirs
        return ours.keys() == theirs.keys() and all(math.isclose(ours[name], theirs[name]) for name in ours)

    def says_the_same(self, other: Evaluation) -> bool:
        """Whether two evaluations of a point agree in outcome, reason and duration."""
        return self.same_outcome(other) and (self.reason, self.seconds) == (other.reason, other.seconds)

    @property
    def _numbers(self) -> dict[str, float]:
        """The value, under an empty name, and the outputs; empty for a failure."""
        found = {"": self.y, **(self.outputs or {})}
        return {name: number for name, number in found.items() if number is not None}

    def outcome(self) -> str:
        """The value, or that it failed, in a word; and the outputs, if there are some."""
        value = "a failure" if self.y is None else repr(self.y)
        return value if self.outputs is None else f"{value} with the outputs {self.outputs!r}"


def _deviations(sd: object, goals: Goals | None) -> tuple[float | None, dict[str, float | None]]:
    """The given noise: that of a value without a name, and those of outputs, as further outputs."""
    if sd is None:
        return None, {}
    if goals is None or not goals.noisy:
        raise ValueError(f"sd needs noise, which is False, got {plain(sd)}")
    objective = goals.outputs[0] if goals.outputs else None
    given = dict(sd) if isinstance(sd, Mapping) else {objective: sd}
    found: dict[str | None, float | None] = {}
    for name, value in given.items():
        if name not in (goals.outputs or (None,)):
            raise ValueError(f"sd must be for the outputs {plain(list(goals.outputs))}, got {plain(name)}")
        if isinstance(value, bool):
            raise ValueError(f"sd must be a standard deviation above 0, got {plain(value)}")
        found[name] = check_noise(value, "sd")
    return found.get(None), {f"{name}_sd": value for name, value in found.items() if name is not None}


@dataclass(frozen=True)
class Proposal:
    """A point to evaluate.

    Attributes
    ----------
    id : int
        Number of the proposal in the run, from 0.
    x : tuple
    source : {"design", "criterion", "exploration", "given", "repeat"}
        Its origin: the initial design; the criterion; a search for a point far from all others, if no model can help;
        the user; or the repetition of a noisy evaluation.
    trace : dict or None
        Description of the model, if there was one: see `tcgp.Optimizer`.
    fit : dict or None
        States of the models that were fitted for it: see ``tcgp.methods.surrogate.Surrogate``.
    """

    id: int
    x: Point
    source: str
    trace: dict[str, Any] | None = None
    fit: dict[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", tuple(self.x))
