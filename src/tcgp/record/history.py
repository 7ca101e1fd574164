"""What has been asked and what was told: every proposal, every evaluation, and which answers which."""

from __future__ import annotations

import math
import numbers
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import FloatArray
from tcgp.goals import Goals
from tcgp.record.data import Data
from tcgp.record.evaluation import Evaluation, Proposal
from tcgp.space import Point, Space

if TYPE_CHECKING:
    from tcgp.region import Region

__all__ = ["SAME_POINT", "Correction", "Evaluation", "History", "Proposal", "Retry", "SpaceExhausted"]

# Two points nearer than this in every coordinate of the unit cube count as one. At a smooth minimum they
# differ by about 1e-14 of the function's range, which is rounding; and the Matern correlation of such a pair
# still differs from 1 by 1e-14, which float64 resolves (at 1e-8 it no longer does: the matrix is singular).
SAME_POINT = 1e-7


class SpaceExhausted(RuntimeError):
    """Every point of the space has been evaluated or is being evaluated."""


@dataclass(frozen=True)
class Correction:
    """An evaluation that was reported wrongly, and what took its place."""

    before: Evaluation
    after: Evaluation


@dataclass(frozen=True)
class Retry:
    """An attempt at a proposal that failed for a reason outside it, and was to be followed by another.

    Attributes
    ----------
    id : int
        Number of the proposal.
    reason : str or None
        Why the attempt failed.
    seconds : float or None
        How long it took.
    """

    id: int
    reason: str | None
    seconds: float | None = field(default=None, compare=False)


class History:
    """Proposals and evaluations, and whether a point is new among them.

    Parameters
    ----------
    space : Space
    goals : Goals, optional
        What is wanted of the evaluations; by default a small value.

    Attributes
    ----------
    proposals : list of Proposal
        All that was asked, in order: the number of a proposal is its place here.
    evaluations : list of Evaluation
        All that was told, in the order of the answers.
    pending : dict
        Proposals without an answer, by their number.
    queue : deque of points
        Given by the user, to be proposed before any others.
    queue_outside : list of points
        Given by the user, and outside the space since it was changed: they wait until it has them again.
    corrections : list of Correction
        What was told and corrected since, in order: ``evaluations`` has what holds now.
    retries : list of Retry
        Attempts that failed and were tried again, in order.
    outside : list of Evaluation
        What was told of points that do not belong to the space any more, since it was changed.
    given_up : dict
        Proposals without an answer that do not belong to the space any more, by their number.
    former_spaces : list of Space
        What the space was before it was changed.
    n_stale : int
        Number of proposals made before the data were last changed: the states of their models are of no use.
    n_elsewhere : int
        Number of proposals made before the space was last changed.
    """

    def __init__(self, space: Space, goals: Goals | None = None) -> None:
        self.space = space
        self.goals = goals or Goals(space)
        self.proposals: list[Proposal] = []
        self.evaluations: list[Evaluation] = []
        self.pending: dict[int, Proposal] = {}
        self.queue: deque[Point] = deque()
        self.queue_outside: list[Point] = []
        self.corrections: list[Correction] = []
        self.retries: list[Retry] = []
        self.outside: list[Evaluation] = []
        self.given_up: dict[int, Proposal] = {}
        self.former_spaces: list[Space] = []
        self.n_stale = self.n_elsewhere = 0
        self._told: list[Evaluation] = []  # inside and outside, in order
        self._region: Region | None = None
        self._forget()

    def _forget(self) -> None:
        """Begin to index the points of the space."""
        self._by_point: dict[tuple[Any, ...], Evaluation] = {}
        self._codes: dict[tuple[Any, ...], list[float]] = {}  # of all points, evaluated or pending
        # Made when they are asked for, of what has come since. Each is replaced at once: threads may look at any time.
        self._matrix = self._no_codes()
        self._data = Data.empty(self.goals)

    @property
    def n_done(self) -> int:
        """Number of proposals that have an answer, inside the space or not."""
        return len(self.proposals) - len(self.pending) - len(self.given_up)

    def add_proposal(self, proposal: Proposal) -> None:
        """Note that a point is being evaluated."""
        self.proposals.append(proposal)
        self.pending[proposal.id] = proposal
        self._remember(proposal.x)

    def add_evaluation(self, evaluation: Evaluation) -> None:
        """Note an evaluation, and that the proposal it answers is no longer pending."""
        self._told.append(evaluation)
        if evaluation.id in self.given_up:
            del self.given_up[evaluation.id]
            self.outside.append(evaluation)
            return
        if evaluation.id is not None:
            asked = self.pending.pop(evaluation.id)
            if asked.x != evaluation.x and all(p.x != asked.x for p in self.pending.values()):
                del self._codes[tuple(asked.x)]  # what was told is a rounded copy of it: one point, not two
                self._matrix = self._no_codes()
        self._take_in(evaluation)

    def restrict(self, region: Region | None) -> None:
        """Count nothing outside the region as good: it has the known constraints that goals cannot express, too."""
        self._region = region
        self._data = Data.empty(self.goals)

    def _take_in(self, evaluation: Evaluation) -> None:
        """Use an evaluation inside the space."""
        self.evaluations.append(evaluation)
        self._by_point[tuple(evaluation.x)] = evaluation
        self._remember(evaluation.x)

    def change_space(self, space: Space, goals: Goals) -> None:
        """Search another space of the same parameters: what lies inside it is used, the rest is kept."""
        self.check_parameters(space)
        self.former_spaces.append(self.space)
        self.space, self.goals, self._region = space, goals, None
        self.n_stale = self.n_elsewhere = len(self.proposals)
        self._forget()
        self.evaluations, self.outside = [], []
        for evaluation in self._told:
            if space.contains(evaluation.x):
                self._take_in(replace(evaluation, x=space.check(evaluation.x)))
            else:
                self.outside.append(evaluation)
        given = [*self.queue, *self.queue_outside]
        self.queue = deque(tuple(space.check(x)) for x in given if space.contains(x))
        new = (x for x in given if not self.is_known(x) and self.find_outside(x) is None)
        self.queue_outside = [x for x in new if not space.contains(x)]
        waiting = sorted({**self.pending, **self.given_up}.items())
        self.pending, self.given_up = {}, {}
        for number, proposal in waiting:
            if space.contains(proposal.x):
                self.pending[number] = replace(proposal, x=space.check(proposal.x))
                self._remember(self.pending[number].x)
            else:
                self.given_up[number] = proposal

    def check_parameters(self, space: Space) -> None:
        """Refuse a space of other parameters than those of this one."""
        before, now = (list(s.names or range(len(s))) for s in (self.space, space))
        if before != now:
            raise ValueError(f"space must have the parameters that it had, {before!r}, got {plain(now)}")

    def add_retry(self, retry: Retry) -> None:
        """Note that a pending proposal is tried again."""
        if retry.id not in self.pending:
            raise ValueError(f"another attempt at ask number {retry.id!r}, which is not pending")
        self.retries.append(retry)

    def n_retries(self, number: int | None) -> int:
        """How many attempts at a proposal failed and were tried again."""
        return sum(retry.id == number for retry in self.retries)

    def correct(self, before: Evaluation, after: Evaluation) -> None:
        """Put an evaluation in the place of another at the same point."""
        self.corrections.append(Correction(before, after))
        self._data = Data.empty(self.goals)
        self.n_stale = len(self.proposals)
        for told in (self.evaluations, self.outside):
            if before in told:
                told[told.index(before)] = after
        for i, told_first in enumerate(self._told):  # on a step of the space, its point may have moved since
            if self._is_copy(told_first, before):
                self._told[i] = replace(after, x=told_first.x)
        if before.x in self._by_point:
            self._by_point[before.x] = after

    def _is_copy(self, told: Evaluation, evaluation: Evaluation) -> bool:
        """Whether an evaluation is what was told, its point moved onto a step of the space if need be."""
        if told == evaluation:
            return True
        if replace(told, x=evaluation.x) != evaluation or not self.space.contains(told.x):
            return False
        return tuple(self.space.check(told.x)) == evaluation.x

    def to_correct(self, x_or_id: object) -> Evaluation:
        """The evaluation at a point, or of the proposal with a number; ValueError if there is none."""
        if isinstance(x_or_id, numbers.Integral) and not isinstance(x_or_id, bool):
            found = next((e for e in self._told if e.id == x_or_id), None)
            what = f"proposal {int(x_or_id)}"
        elif (found := self.find_outside(x_or_id)) is None:
            point = self.space.check(x_or_id)
            found, what = self.find_near(point), f"the point {list(point)!r}"
        if found is None:
            raise ValueError(f"{what} has no value to correct: tell it")
        return found

    def check_told(self, x: object) -> Point:
        """A point of the space, or one that was asked for or told before the space was changed."""
        outside = self.asked_outside(x) or self.find_outside(x)
        return self.space.check(x) if outside is None else outside.x

    def find_outside(self, x: object) -> Evaluation | None:
        """The evaluation at a point outside the space, as it was told."""
        point = self._as_tuple(x)
        return next((e for e in self.outside if e.x == point), None)

    def asked_outside(self, x: object) -> Proposal | None:
        """The proposal of a point outside the space that has no answer."""
        point = self._as_tuple(x)
        return next((p for p in self.given_up.values() if p.x == point), None)

    def _as_tuple(self, x: object) -> object:
        """A point as evaluations have it, though it may lie outside the space."""
        if isinstance(x, Mapping) and set(x) == set(self.space.names or ()):
            return tuple(x[name] for name in self.space.names or ())
        if isinstance(x, numbers.Real) and len(self.space) == 1:
            return (x,)
        return tuple(x) if isinstance(x, list | tuple | np.ndarray) else x

    def former(self, evaluation: Evaluation) -> list[Evaluation]:
        """What was told at the point of an evaluation before its outcome was corrected, in order."""
        there = (c for c in self.corrections if c.before.x == evaluation.x)
        return [c.before for c in there if not c.before.same_outcome(c.after)]

    def find_near(self, x: Point) -> Evaluation | None:
        """The evaluation at ``x``, or at a point of which ``x`` is a rounded copy."""
        if (known := self.find(x)) is not None or math.isfinite(self.space.size) or not self.evaluations:
            return known
        codes = np.array([self._codes[tuple(e.x)] for e in self.evaluations])
        gaps = np.abs(codes - self.space.encode([x])).max(axis=1)
        return self.evaluations[int(np.argmin(gaps))] if gaps.min() <= SAME_POINT else None

    def find(self, x: Point) -> Evaluation | None:
        """The evaluation at exactly ``x``, if there is one."""
        return self._by_point.get(tuple(x))

    def is_known(self, x: Point) -> bool:
        """Whether exactly ``x`` was proposed or told; `is_new` is also False next to such a point."""
        proposals = (*self.proposals, *self.pending.values())  # those may have moved onto a step of the space
        return self.find(x) is not None or any(proposal.x == tuple(x) for proposal in proposals)

    def unknown(self, told: Iterable[Evaluation]) -> list[Evaluation]:
        """The evaluations at points that are not known yet, each once; ValueError if one contradicts another."""
        new: dict[Any, Evaluation] = {}
        for evaluation in told:
            known = self.find(evaluation.x) or self.find_outside(evaluation.x) or new.get(evaluation.x)
            if known is None:
                new[evaluation.x] = evaluation
            elif not known.same_outcome(evaluation):
                raise ValueError(
                    f"the point {plain(list(evaluation.x))} gave {known.outcome()} and now {evaluation.outcome()}; "
                    "evaluations are exact, so tell each point once, or correct it"
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
        for number, proposal in {**waiting, **self.given_up}.items():
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

    def remaining(self, region: Region | None = None) -> list[Point]:
        """All points of a finite space, or of the allowed part of it, that are neither evaluated nor pending."""
        points = [point for point in self.space.points() if self.is_new(point)]
        if region is not None:
            points = [point for point, ok in zip(points, region.allows(points), strict=True) if ok]
        if not points:
            which = "allowed points" if region is not None else f"{self.space.size} points"
            raise SpaceExhausted(f"all {which} of the space are evaluated or pending")
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
    def data(self) -> Data:
        """What is known of the space, as a table; that of the last call while nothing has come since."""
        known = self._data if self._data.goals is self.goals else Data.empty(self.goals)
        new = tuple(self.evaluations[len(known.evaluations) :])
        if new:
            codes = np.array([self._codes[tuple(e.x)] for e in new])
            known = known.extended(new, codes, np.array([self._allows(e.x) for e in new], dtype=bool))
        self._data = known
        return known

    @property
    def best(self) -> Evaluation | None:
        """The first of the best evaluations that keep all constraints, or None if there is none."""
        return self.data.best

    @property
    def least_violating(self) -> Evaluation | None:
        """The evaluation that comes nearest to keeping all limits, or None if none has succeeded."""
        return self.data.least_violating

    @property
    def output_names(self) -> list[str]:
        """All outputs that evaluations have: those that goals name first, the others in order of appearance."""
        seen = dict.fromkeys(name for e in self.evaluations for name in e.outputs or ())
        wanted = self.goals.outputs
        return [*(n for n in wanted if n in seen), *(n for n in seen if n not in wanted)]

    def _allows(self, x: Point) -> bool:
        return self.goals.allows(x) if self._region is None else bool(self._region.allows([x])[0])

    def _no_codes(self) -> FloatArray:
        """A matrix to which all codes are still to be added."""
        return _frozen(np.empty((0, self.space.dim)))

    def _remember(self, x: Point) -> None:
        self._codes.setdefault(tuple(x), self.space.encode([x])[0].tolist())


def _frozen(array: FloatArray) -> FloatArray:
    """The array, which nobody can write to from here on."""
    array.setflags(write=False)
    return array
