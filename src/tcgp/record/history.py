"""The ledger of a run: what was asked and told, event by event, and the resulting state for the present space."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tcgp._arrays import rows_in
from tcgp._text import plain
from tcgp._typing import FloatArray
from tcgp.methods.states import check_record
from tcgp.record.data import Data
from tcgp.record.evaluation import Evaluation, Proposal
from tcgp.record.events import Asked, Corrected, Enqueued, Event, GoalsChanged, Retry, SpaceChanged, Told
from tcgp.record.settings import Settings
from tcgp.region import Region
from tcgp.space import Categorical, Point, Space

__all__ = ["SAME_POINT", "Correction", "Evaluation", "History", "Proposal", "SpaceExhausted"]

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


class History:
    """Everything that happened in a run, and what is known of the present space.

    `apply` is the only way to change it. What depends on the space and the goals (which evaluations lie inside, what is
    pending, the best) is derived from the events, and derived again when these change.

    Parameters
    ----------
    space : Space
    settings : Settings, optional
        They define the goals; by default small values are wanted.

    Attributes
    ----------
    goals : Goals
        The goals of the run.
    region : Region
        The part of the space that known constraints allow.
    proposals : list of Proposal
        All that was asked, in order: the number of a proposal is its place here.
    corrections : list of Correction
        What was told and corrected since, in order.
    retries : list of Retry
        Attempts that failed and were tried again, in order.
    former_spaces : list of Space
        What the space was before it was changed.
    former_settings : list of Settings
        What the settings were before the goals were changed.
    evaluations : list of Evaluation
        What was told of points of the space, as it holds now, in the order of the answers.
    outside : list of Evaluation
        What was told of points that do not belong to the space any more, since it was changed.
    queue : list of points
        Points that the user wants evaluated before any others, whether they have been or not.
    pending : dict
        Proposals without an answer, by their number.
    given_up : dict
        Proposals without an answer that a change of the space or of the constraints has ruled out, by their number.
    n_stale : int
        Number of proposals made before the data were last changed: the states of their models are of no use.
    n_elsewhere : int
        Number of proposals made before the space was last changed.
    """

    def __init__(self, space: Space, settings: Settings | None = None) -> None:
        self.space, self.settings = space, settings or Settings()
        self.proposals: list[Proposal] = []
        self.corrections: list[Correction] = []
        self.retries: list[Retry] = []
        self.former_spaces: list[Space] = []
        self.former_settings: list[Settings] = []
        self.n_elsewhere = 0
        self._told: list[Evaluation] = []  # as they were told, or corrected
        self._enqueued: list[Point] = []
        self.region = Region(space, self.settings.goals(space).known)
        self._derive()

    # ---- events ----

    def settle(self, event: Event) -> Event | None:
        """The event, completed, or None if it contains nothing new; ValueError if it cannot happen now."""
        match event:
            case Asked(proposal):
                if type(proposal.id) is not int or proposal.id != len(self.proposals):
                    raise ValueError(f"ask number {proposal.id!r} where number {len(self.proposals)} was due")
                return Asked(replace(proposal, x=self.space.check(proposal.x), fit=self._fit_of(proposal)))
            case Told(evaluation) if self.goals.noisy:  # a journal has each as often as it was told
                told = replace(evaluation, x=self.check_told(evaluation.x))
                return Told(replace(told, id=self._answered(told, ())))
            case Told(evaluation):
                return next(iter(self.settle_all([evaluation])), None)
            case Corrected(evaluation):
                x = self.check_told(evaluation.x)
                before = next((e for e in self._seen if (e.x, e.id) == (x, evaluation.id)), None)
                if before is None:
                    raise ValueError(
                        f"a correction at {list(evaluation.x)!r}, where ask number {evaluation.id!r} was not told"
                    )
                return (
                    None if evaluation.says_the_same(before) else Corrected(replace(evaluation, x=before.x))
                )
            case Retry(number):
                if number not in self.pending and not any(e.failed and e.id == number for e in self._seen):
                    raise ValueError(
                        f"number must be that of a pending or failed proposal, got {plain(number)}"
                    )
            case Enqueued(x):
                return Enqueued(tuple(self.space.check(x)))
            case SpaceChanged(space):
                self._check_parameters(space)
            case GoalsChanged():
                settings = replace(self.settings, **asdict(event))
                noisy = settings.goals(self.space).noisy  # refuses what cannot be
                if self.goals.noisy and not noisy and self.data.repeats_differ:
                    raise ValueError("noise must not be False: evaluations of one point differ")
                self._check_size(settings)
                return None if settings == self.settings else event
        return event

    def _fit_of(self, proposal: Proposal) -> dict[str, Any] | None:
        """The record of a proposal's fit; ValueError if it cannot be one."""
        try:
            check_record(proposal.fit, self.space.dim)
        except ValueError:
            # Up to version 0.2 each of many choices had a coordinate of its own: the next fit starts afresh.
            if not any(isinstance(d, Categorical) and d.hashed for d in self.space.dimensions):
                raise
            return None
        return proposal.fit

    def settle_all(self, told: Iterable[Evaluation]) -> list[Told]:
        """The evaluations that are new, each once, with the numbers of the proposals that they answer.

        ValueError if one contradicts another, or if one says that it answers a proposal that it does not answer.

        With noise a point may have several values. One that was not asked for, and was told before, is not told again.
        """
        if self.goals.noisy:
            return self._settle_repeats(told)
        new: dict[Any, Evaluation] = {}
        taken: set[int | None] = set()
        for evaluation in (replace(e, x=self.check_told(e.x)) for e in told):
            known = self.at(evaluation.x) or new.get(evaluation.x)
            if known is None:
                new[evaluation.x] = replace(evaluation, id=self._answered(evaluation, taken))
                taken.add(new[evaluation.x].id)
            elif not known.same_outcome(evaluation):
                raise ValueError(
                    f"the point {plain(list(evaluation.x))} gave {known.outcome()} and now {evaluation.outcome()}; "
                    "evaluations are exact, so tell each point once, or correct it"
                )
        return [Told(evaluation) for evaluation in new.values()]

    def _settle_repeats(self, told: Iterable[Evaluation]) -> list[Told]:
        """The evaluations that are new, where a point may have several: as many of each as were not told before."""
        said = list(self._seen)
        new: list[Evaluation] = []
        for evaluation in (replace(e, x=self.check_told(e.x)) for e in told):
            number, taken = evaluation.id, {e.id for e in new}
            own = [e for e in said if number is not None and e.id == number]
            if not own and self._answered(evaluation, taken) is not None:
                new.append(replace(evaluation, id=self._answered(evaluation, taken)))
                continue
            same = [e for e in own or said if e.x == evaluation.x and e.same_outcome(evaluation)]
            if same:
                said.remove(same[0])
            elif own:
                raise ValueError(
                    f"proposal {number} gave {own[0].outcome()} and now {evaluation.outcome()}; correct it, or tell "
                    "another evaluation by its point"
                )
            else:
                new.append(evaluation)
        return [Told(evaluation) for evaluation in new]

    def apply(self, event: Event) -> None:
        """Let a settled event happen."""
        match event:
            case Asked(proposal):
                self.proposals.append(proposal)
                self._add_proposal(proposal)
            case Told(evaluation):
                self._told.append(evaluation)
                self._add_evaluation(evaluation)
            case Corrected(evaluation):
                keys = ((e.x, e.id) for e in self._seen)
                row = next(i for i, key in enumerate(keys) if key == (evaluation.x, evaluation.id))
                before, self._seen[row] = self._seen[row], evaluation
                self.corrections.append(Correction(before, evaluation))
                self._told[row] = replace(evaluation, x=self._told[row].x)
                # All else is as it was, and a journal may have many corrections.
                for told in (self.evaluations, self.outside):
                    told[:] = [evaluation if e is before else e for e in told]
                self._renew_data()
            case Retry(number):
                self.retries.append(event)
                if number not in self.pending:  # it was told as a failure, and is pending again
                    self._told = [e for e in self._told if e.id != number]
                    self._derive()
            case Enqueued(x):
                self._enqueued.append(x)
                self._add_queued(x)
            case SpaceChanged(space):
                self.former_spaces.append(self.space)
                self.space, self.n_elsewhere = space, len(self.proposals)
                self.region = Region(space, self.settings.goals(space).known)
                self._derive()
            case GoalsChanged():
                self.former_settings.append(self.settings)
                known = [constraint.text for constraint in self.goals.known]
                self.settings = replace(self.settings, **asdict(event))
                self.region = Region(self.space, self.settings.goals(self.space).known)
                self._derive()
                if known != [constraint.text for constraint in self.goals.known]:
                    self.n_elsewhere = len(self.proposals)

    def _answered(self, evaluation: Evaluation, taken: Collection[int | None]) -> int | None:
        """Number of the proposal that an evaluation answers, which must be the one that it names, if it does."""
        number, x, waiting = evaluation.id, evaluation.x, {**self.pending, **self.given_up}
        if number is None:
            return self._answered_by(x, taken)
        if type(number) is not int or number not in waiting:
            raise ValueError(f"a value for ask number {number!r}, which is not pending")
        asked = waiting[number].x
        if asked != x and (number in self.given_up or self._nearest([asked], x) is None):
            raise ValueError(f"a value at {list(x)!r} for ask number {number}, which was {list(asked)!r}")
        return number

    def _answered_by(self, x: Point, taken: Collection[int | None]) -> int | None:
        """Number of the proposal without an answer, none of the ``taken``, that ``x`` is or is a rounded copy of."""
        waiting = {number: p for number, p in self.pending.items() if number not in taken}
        for number, proposal in {**waiting, **self.given_up}.items():
            if proposal.x == x:
                return number
        near = self._nearest([p.x for p in waiting.values()], x)
        return None if near is None else list(waiting)[near]

    def _check_parameters(self, space: Space) -> None:
        """Refuse a space of other parameters than those of this one."""
        before, now = (list(s.names or range(len(s))) for s in (self.space, space))
        if before != now:
            raise ValueError(f"space must have the parameters that it had, {before!r}, got {plain(now)}")

    def _check_size(self, settings: Settings) -> None:
        """Refuse another size of an initial design that is over."""
        before, now = self.settings.n_initial, settings.n_initial
        if before != now and before is not None and len(self) >= before:
            raise ValueError(
                f"n_initial must stay {before}, because the initial design is over, got {plain(now)}"
            )

    # ---- what is derived from them ----

    def _derive(self) -> None:
        """Derive everything again from what was asked and told, after a change of the space, the goals or an
        evaluation."""
        self._renew_data()
        self.evaluations: list[Evaluation] = []
        self.outside: list[Evaluation] = []
        self.queue: list[Point] = []
        self.pending: dict[int, Proposal] = {}
        self.given_up: dict[int, Proposal] = {}
        self._seen: list[Evaluation] = []  # what was told, as the present space has it
        self._rows: dict[Point, int] = {}  # places in it
        self._codes: dict[Point, list[float]] = {}  # of all points of the space, evaluated or pending
        # Made when they are asked for, of what has come since. Each is replaced at once: threads may look at any time.
        self._matrix = self._no_codes()
        for evaluation in self._told:
            self._add_evaluation(evaluation)
        answered = {evaluation.id for evaluation in self._told}
        for proposal in self.proposals:
            if proposal.id not in answered:
                self._add_proposal(proposal)
        for x in self._enqueued:
            self._add_queued(x)

    def _renew_data(self) -> None:
        """Begin another table: what is in it has changed."""
        # Another object: it tells a table of before from the present one.
        self.goals = self.settings.goals(self.space)
        self._data = Data.empty(self.goals)
        self.n_stale = len(self.proposals)

    def _add_proposal(self, proposal: Proposal) -> None:
        """A proposal without an answer."""
        x = self._wanted(proposal.x)
        if x is None:
            self.given_up[proposal.id] = proposal
        else:
            self.pending[proposal.id] = proposal if proposal.x == x else replace(proposal, x=x)
            self._remember(x)

    def _add_evaluation(self, evaluation: Evaluation) -> None:
        """An evaluation, whose proposal is no longer pending."""
        if evaluation.id is not None:
            self.given_up.pop(evaluation.id, None)
            asked = self.pending.pop(evaluation.id, None)
            if asked is not None and asked.x != evaluation.x and asked.x not in self._rows:
                self._forget(asked.x)  # what was told is a rounded copy of it: one point, not two
        if self.former_settings:
            evaluation = evaluation.under(self.goals)
        x = self._inside(evaluation.x)
        if x is not None:
            evaluation = replace(evaluation, x=x)
            self._remember(evaluation.x)
        (self.outside if x is None else self.evaluations).append(evaluation)
        self._rows[evaluation.x] = len(self._seen)
        self._seen.append(evaluation)

    def _add_queued(self, x: Point) -> None:
        """A point that the user wants."""
        inside = self._wanted(x)
        if inside is not None:
            self.queue.append(inside)

    def _inside(self, x: Point) -> Point | None:
        """The point as the space has it, on a step if there are steps; None if it lies outside."""
        try:
            return tuple(self.space.check(x))
        except ValueError:
            return None

    def _wanted(self, x: Point) -> Point | None:
        """The point as the space has it; None if it lies outside, or if constraints rule it out by now."""
        inside = self._inside(x)
        return (
            inside
            if inside is not None and (not self.former_settings or self.region.allows([inside])[0])
            else None
        )

    def restrict(self, region: Region) -> None:
        """Count nothing outside the region as good: it has the known constraints that goals cannot express, too."""
        self.region = region
        self._data = Data.empty(self.goals)

    @property
    def told(self) -> list[Evaluation]:
        """All evaluations, inside the space or not, in the order of the answers."""
        return list(self._seen)

    @property
    def n_done(self) -> int:
        """Number of proposals that have an answer, inside the space or not."""
        return len(self.proposals) - len(self.pending) - len(self.given_up)

    @property
    def queue_outside(self) -> list[Point]:
        """Points that the user wants evaluated, and that wait until the space has them again."""
        return [x for x in self._enqueued if self._wanted(x) is None and not self.is_known(x)]

    def n_retries(self, number: int | None) -> int:
        """How many attempts at a proposal failed and were tried again."""
        return sum(retry.id == number for retry in self.retries)

    # ---- looking for points ----

    def to_correct(self, x_or_id: object) -> Evaluation:
        """The evaluation at a point, or of the proposal with a number; ValueError if there is none."""
        if isinstance(x_or_id, numbers.Integral) and not isinstance(x_or_id, bool):
            found = next((e for e in self._seen if e.id == x_or_id), None)
            what = f"proposal {int(x_or_id)}"
        else:
            point = self.check_told(x_or_id)
            found, what = self.at(point) or self.find_near(point), f"the point {list(point)!r}"
            n = sum(found is not None and e.x == found.x for e in self._seen)
            if n > 1:
                raise ValueError(f"{what} has {n} values: give the number of the proposal to correct")
        if found is None:
            raise ValueError(f"{what} has no value to correct: tell it")
        return found

    def check_told(self, x: object) -> Point:
        """A point of the space, or one that was asked for or told before the space was changed."""
        point = self._as_tuple(x)
        outside = [*(proposal.x for proposal in self.given_up.values()), *(e.x for e in self.outside)]
        return next((known for known in outside if known == point), None) or tuple(self.space.check(x))

    def find_outside(self, x: object) -> Evaluation | None:
        """The evaluation at a point outside the space, as it was told."""
        point = self._as_tuple(x)
        return next((e for e in self.outside if e.x == point), None)

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

    def at(self, x: Point) -> Evaluation | None:
        """The evaluation at exactly ``x``, inside the space or not."""
        row = self._rows.get(tuple(x))
        return None if row is None else self._seen[row]

    def find(self, x: Point) -> Evaluation | None:
        """The evaluation at exactly ``x`` in the space, if there is one."""
        return self.at(x) if tuple(x) in self._codes else None

    def find_near(self, x: Point) -> Evaluation | None:
        """The evaluation at ``x``, or at a point of which ``x`` is a rounded copy."""
        if (known := self.find(x)) is not None:
            return known
        near = self._nearest([e.x for e in self.evaluations], x)
        return None if near is None else self.evaluations[near]

    def _nearest(self, points: list[Point], x: Point) -> int | None:
        """Place of the one among evaluated or pending points of which ``x`` is a rounded copy, if there is one."""
        if math.isfinite(self.space.size) or not points or self._inside(x) is None:
            return None
        gaps = np.abs(np.array([self._codes[p] for p in points]) - self.space.encode([x])).max(axis=1)
        return int(np.argmin(gaps)) if gaps.min() <= SAME_POINT else None

    def is_known(self, x: Point) -> bool:
        """Whether exactly ``x`` was proposed or told; `is_new` is also False next to such a point."""
        proposals = (*self.proposals, *self.pending.values())  # those may have moved onto a step of the space
        return self.at(x) is not None or any(proposal.x == tuple(x) for proposal in proposals)

    def is_new(self, x: Point, *, spacing: float = SAME_POINT) -> bool:
        """Whether ``x`` repeats no evaluated, failed or pending point, nor is nearer to one than ``spacing``."""
        if tuple(x) in self._codes:
            return False
        if math.isfinite(self.space.size) or not self._codes:
            return True
        return bool(np.abs(self.codes - self.space.encode([x])).max(axis=1).min() > spacing)

    def remaining(self, *, repeats: bool = False) -> FloatArray:
        """Codes of all allowed points of a small space that are neither evaluated nor pending.

        With ``repeats`` the others, too.
        """
        codes = self.region.codes
        assert codes is not None
        codes = codes if repeats else codes[~rows_in(codes, self.codes)]
        if not len(codes):
            which = "point" if self.region.allows_all else "allowed point"
            raise SpaceExhausted(f"every {which} of the space has been evaluated or is pending")
        return codes

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
            known = known.extended(new, codes, self.region.allows([e.x for e in new]))
        self._data = known
        return known

    @property
    def best(self) -> Evaluation | None:
        """The first of the best evaluations that satisfy all constraints, or None if there is none."""
        return self.data.best

    @property
    def least_violating(self) -> Evaluation | None:
        """The evaluation that comes closest to satisfying all limits, or None if none has succeeded."""
        return self.data.least_violating

    @property
    def output_names(self) -> list[str]:
        """All outputs that evaluations have: those that goals name first, the others in order of appearance."""
        seen = dict.fromkeys(name for e in self.evaluations for name in e.outputs or ())
        wanted = self.goals.outputs
        return [*(n for n in wanted if n in seen), *(n for n in seen if n not in wanted)]

    def _no_codes(self) -> FloatArray:
        """A matrix to which all codes are still to be added."""
        return _frozen(np.empty((0, self.space.dim)))

    def _remember(self, x: Point) -> None:
        if x not in self._codes:
            self._codes[x] = self.space.encode([x])[0].tolist()

    def _forget(self, x: Point) -> None:
        """Leave out the point of a proposal that is no longer pending, unless it is that of another one."""
        if all(proposal.x != x for proposal in self.pending.values()):
            del self._codes[x]
            self._matrix = self._no_codes()


def _frozen(array: FloatArray) -> FloatArray:
    """The array, made read-only."""
    array.setflags(write=False)
    return array
