"""What has been asked and what was told: every proposal, every evaluation, and which answers which."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tcgp._text import shorten
from tcgp._typing import FloatArray
from tcgp.space import Point, Space

__all__ = ["SAME_POINT", "Evaluation", "History", "Proposal", "SpaceExhausted", "interpret"]

# Two points nearer than this in every coordinate of the unit cube count as one. At a smooth minimum they
# differ by about 1e-14 of the function's range, which is rounding; and the Matern correlation of such a pair
# still differs from 1 by 1e-14, which float64 resolves (at 1e-8 it no longer does: the matrix is singular).
SAME_POINT = 1e-7


class SpaceExhausted(RuntimeError):
    """Every point of the space has been evaluated or is being evaluated."""


@dataclass(frozen=True)
class Evaluation:
    """A point and what came of it: a value, or the reason why there is none.

    Attributes
    ----------
    x : tuple
    y : float or None
        None if the evaluation failed.
    reason : str or None
        Why it failed.
    seconds : float or None
        How long it took, if that is known; it tells the people who watch, and decides nothing.
    id : int or None
        Number of the proposal that it answers; None for a point that was not asked for.
    """

    x: Point
    y: float | None
    reason: str | None = None
    seconds: float | None = field(default=None, compare=False, repr=False)
    id: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", tuple(self.x))  # nobody can change what was told

    @property
    def failed(self) -> bool:
        """Whether the evaluation gave no finite value."""
        return self.y is None

    @classmethod
    def of(cls, x: Point, y: object, reason: str | None = None, seconds: float | None = None) -> Evaluation:
        """What a function's answer ``y`` at ``x`` means.

        Examples
        --------
        >>> from tcgp.optimizer.history import Evaluation
        >>> Evaluation.of([0.5], 2)
        Evaluation(x=(0.5,), y=2.0, reason=None)
        >>> Evaluation.of([0.5], "rubbish").reason
        "'rubbish' is not a number"
        """
        if reason is not None and not isinstance(reason, str):
            raise ValueError(f"reason must be a string or None, got {reason!r}")
        if seconds is not None and not (isinstance(seconds, numbers.Real) and 0.0 <= seconds < math.inf):
            raise ValueError(f"seconds must be a number >= 0 or None, got {seconds!r}")
        value, why = interpret(y)
        duration = None if seconds is None else float(seconds)
        return cls(x, value, None if value is not None else reason or why, duration)

    def same_outcome(self, other: Evaluation) -> bool:
        """Whether two evaluations of a point agree."""
        return self.y == other.y

    def outcome(self) -> str:
        """The value, or that it failed, in a word."""
        return "a failure" if self.y is None else repr(self.y)


@dataclass(frozen=True)
class Proposal:
    """A point to evaluate.

    Attributes
    ----------
    id : int
        Number of the proposal in the run, from 0.
    x : tuple
    source : {"design", "criterion", "exploration", "given"}
        Where it comes from: the initial design; the criterion; a search for a point far from all others, when
        no model can say more; or the user.
    trace : dict or None
        What the model was, if there was one: see `tcgp.Optimizer`.
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


class History:
    """Proposals and evaluations, and whether a point is new among them.

    Parameters
    ----------
    space : Space

    Attributes
    ----------
    proposals : list of Proposal
        All that was asked, in order: the number of a proposal is its place here.
    evaluations : list of Evaluation
        All that was told, in the order of the answers.
    pending : dict
        Proposals without an answer, by their number.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.proposals: list[Proposal] = []
        self.evaluations: list[Evaluation] = []
        self.pending: dict[int, Proposal] = {}
        self._by_point: dict[tuple[Any, ...], Evaluation] = {}
        self._codes: dict[tuple[Any, ...], list[float]] = {}  # of all points, evaluated or pending
        self._best: Evaluation | None = None
        # Made when they are asked for, of what has come since. Each is replaced at once: threads may look at any time.
        none = _frozen(np.empty((0, space.dim)))
        self._matrix = none
        self._made: tuple[int, FloatArray, FloatArray, FloatArray] = (0, none, _frozen(np.empty(0)), none)

    @property
    def n_done(self) -> int:
        """Number of proposals that have an answer."""
        return len(self.proposals) - len(self.pending)

    def add_proposal(self, proposal: Proposal) -> None:
        """Note that a point is being evaluated."""
        self.proposals.append(proposal)
        self.pending[proposal.id] = proposal
        self._remember(proposal.x)

    def add_evaluation(self, evaluation: Evaluation) -> None:
        """Note an evaluation, and that the proposal it answers is no longer pending."""
        self.evaluations.append(evaluation)
        self._by_point[tuple(evaluation.x)] = evaluation
        self._remember(evaluation.x)
        if evaluation.y is not None and (self._best is None or evaluation.y < self._best.y):  # type: ignore[operator]
            self._best = evaluation
        if evaluation.id is not None:
            del self.pending[evaluation.id]

    def find(self, x: Point) -> Evaluation | None:
        """The evaluation at exactly ``x``, if there is one."""
        return self._by_point.get(tuple(x))

    def unknown(self, told: Iterable[Evaluation]) -> list[Evaluation]:
        """The evaluations at points that are not known yet, each once; ValueError if one contradicts another."""
        new: dict[Any, Evaluation] = {}
        for evaluation in told:
            known = self.find(evaluation.x) or new.get(evaluation.x)
            if known is None:
                new[evaluation.x] = evaluation
            elif not known.same_outcome(evaluation):
                raise ValueError(
                    f"the point {list(evaluation.x)!r} gave {known.outcome()} and now {evaluation.outcome()}; "
                    "evaluations are exact, so tell each point once"
                )
        return list(new.values())

    def answering(self, told: Iterable[Evaluation]) -> list[Evaluation]:
        """The evaluations with the numbers of the pending proposals that they answer."""
        answers: list[Evaluation] = []
        taken: set[int | None] = set()
        for evaluation in told:
            number = self.answered_by(evaluation.x, taken)
            taken.add(number)
            answers.append(replace(evaluation, id=number))
        return answers

    def answered_by(self, x: Point, taken: Collection[int | None] = ()) -> int | None:
        """Number of the pending proposal, none of the ``taken``, that ``x`` is or is a rounded copy of."""
        waiting = {number: p for number, p in self.pending.items() if number not in taken}
        for number, proposal in waiting.items():
            if proposal.x == tuple(x):
                return number
        if not waiting or math.isfinite(self.space.size):
            return None
        numbers = list(waiting)
        codes = np.array([self._codes[tuple(proposal.x)] for proposal in waiting.values()])
        gaps = np.abs(codes - self.space.encode([x])).max(axis=1)
        return numbers[int(np.argmin(gaps))] if gaps.min() <= SAME_POINT else None

    def is_new(self, x: Point, *, spacing: float = SAME_POINT) -> bool:
        """Whether ``x`` repeats no evaluated, failed or pending point, nor is nearer to one than ``spacing``."""
        if tuple(x) in self._codes:
            return False
        if math.isfinite(self.space.size) or not self._codes:
            return True
        return bool(np.abs(self.codes - self.space.encode([x])).max(axis=1).min() > spacing)

    def remaining(self) -> list[Point]:
        """All points of a finite space that are neither evaluated nor pending."""
        points = [point for point in self.space.points() if self.is_new(point)]
        if not points:
            raise SpaceExhausted(f"all {self.space.size} points of the space are evaluated or pending")
        return points

    @property
    def codes(self) -> FloatArray:
        """Codes of all points, evaluated or pending, of shape (n, dim); not to be written to."""
        matrix, codes = self._matrix, list(self._codes.values())
        if len(matrix) < len(codes):
            self._matrix = matrix = _frozen(np.vstack([matrix, codes[len(matrix) :]]))
        return matrix

    def __len__(self) -> int:
        """Number of different points, evaluated or pending."""
        return len(self._codes)

    @property
    def best(self) -> Evaluation | None:
        """The first evaluation with the smallest value, or None if none has succeeded."""
        return self._best

    @property
    def successes(self) -> tuple[FloatArray, FloatArray]:
        """Codes (n, dim) and values (n,) of the evaluations that succeeded, in order; not to be written to."""
        return self._arrays()[1:3]

    @property
    def has_contrast(self) -> bool:
        """Whether at least two different values are known: without them there is nothing to model."""
        return len(np.unique(self.successes[1])) > 1

    @property
    def failures(self) -> FloatArray:
        """Codes of the evaluations that failed, of shape (m, dim); not to be written to."""
        return self._arrays()[3]

    def _arrays(self) -> tuple[int, FloatArray, FloatArray, FloatArray]:
        """Number of the evaluations; codes and values of those that succeeded; codes of those that failed."""
        n, U, y, F = self._made
        new = self.evaluations[n:]
        done, failed = [e for e in new if not e.failed], [e for e in new if e.failed]
        if done:
            values = np.array([e.y for e in done], dtype=np.float64)
            U, y = self._stacked(U, done), _frozen(np.concatenate([y, values]))
        if failed:
            F = self._stacked(F, failed)
        if new:
            self._made = n + len(new), U, y, F
        return self._made

    def _stacked(self, codes: FloatArray, evaluations: list[Evaluation]) -> FloatArray:
        """The codes, and those of the evaluations below them."""
        return _frozen(np.vstack([codes, [self._codes[tuple(e.x)] for e in evaluations]]))

    def _remember(self, x: Point) -> None:
        self._codes.setdefault(tuple(x), self.space.encode([x])[0].tolist())


def _frozen(array: FloatArray) -> FloatArray:
    """The array, which nobody can write to from here on."""
    array.setflags(write=False)
    return array


def interpret(answer: object) -> tuple[float | None, str | None]:
    """A function's answer as a finite float, or None and the reason why it is not one.

    Examples
    --------
    >>> from tcgp.optimizer.history import interpret
    >>> interpret(3), interpret(float("inf"))
    ((3.0, None), (None, 'the value is inf'))
    """
    if answer is None:
        return None, "there is no value"
    if isinstance(answer, np.ndarray) and answer.size == 1:
        answer = answer.item()
    try:
        # float("1e3") works, but a function that returns text has gone astray.
        value = None if isinstance(answer, str | bytes) else float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = None
    if value is None:
        return None, f"{shorten(repr(answer))} is not a number"
    return (value, None) if math.isfinite(value) else (None, f"the value is {value}")
