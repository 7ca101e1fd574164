"""The data of the present space as one table: a row for each evaluation, a column for each quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tcgp._typing import BoolArray, FloatArray, IntArray
from tcgp.front import hypervolume, non_dominated, reference_point
from tcgp.goals import Goals, Margin
from tcgp.record.evaluation import Evaluation
from tcgp.space import Point

__all__ = ["Data"]


@dataclass(frozen=True)
class Data:
    """Evaluations as a read-only table, and views of it.

    Attributes
    ----------
    goals : Goals
        They say what the columns are: the objectives, and then the limits.
    evaluations : tuple of Evaluation
        Of each row, in the order of the answers.
    U : array of shape (n, dim)
        Codes of their points.
    Y : array of shape (n, q)
        The quantities: small values are good, and a limit is satisfied up to 0. NaN where one is not known, as in the
        whole row of an evaluation that failed.
    allowed : array of bool of shape (n,)
        Whether known constraints allow the point.
    """

    goals: Goals
    evaluations: tuple[Evaluation, ...]
    U: FloatArray
    Y: FloatArray
    allowed: BoolArray

    def __post_init__(self) -> None:
        for array in (self.U, self.Y, self.allowed):
            array.setflags(write=False)

    @classmethod
    def empty(cls, goals: Goals) -> Data:
        """A table without rows."""
        none = np.empty((0, len(goals.quantities)))
        return cls(goals, (), np.empty((0, goals.space.dim)), none, np.empty(0, dtype=bool))

    def extended(self, evaluations: tuple[Evaluation, ...], codes: FloatArray, allowed: BoolArray) -> Data:
        """The table with further rows."""
        values = np.array([self.goals.values(e.x, e.y, e.outputs) for e in evaluations], dtype=np.float64)
        return Data(
            self.goals,
            (*self.evaluations, *evaluations),
            np.vstack([self.U, codes]),
            np.vstack([self.Y, values]),
            np.concatenate([self.allowed, allowed]),
        )

    @property
    def n_objectives(self) -> int:
        """How many of the columns are objectives: the first ones."""
        return len(self.goals.objectives)

    @property
    def excesses(self) -> FloatArray:
        """How far each evaluation lies above each limit, of shape (n, k): the columns of the limits."""
        return self.Y[:, self.n_objectives :]

    @cached_property
    def succeeded(self) -> BoolArray:
        """Whether each evaluation has the values that are optimized."""
        return np.asarray(~np.isnan(self.Y[:, : self.n_objectives]).any(axis=1))

    @cached_property
    def feasible(self) -> BoolArray:
        """Whether each evaluation succeeded and satisfies all constraints."""
        return np.asarray(self.succeeded & (self.excesses <= 0.0).all(axis=1) & self.allowed)

    @cached_property
    def merits(self) -> list[float | None]:
        """Of each evaluation the value to be minimized; None if it failed or violated a constraint.

        With several objectives, minus the volume that all evaluations up to this one dominate.
        """
        values = -self.hypervolumes if self.goals.has_several else self.Y[:, 0]
        pairs = zip(values.tolist(), self.feasible.tolist(), strict=True)
        return [value if feasible else None for value, feasible in pairs]

    @cached_property
    def front(self) -> IntArray:
        """Rows that satisfy all constraints and that no other such row dominates, from one end to the other."""
        rows = np.flatnonzero(self.feasible)
        objectives = self.Y[rows, : self.n_objectives]
        kept = non_dominated(objectives)
        return rows[kept][np.lexsort(objectives[kept].T[::-1])]

    @cached_property
    def reference(self) -> FloatArray | None:
        """For several objectives the point up to which volumes count; None while no point satisfies all constraints."""
        if not len(self.front):
            return None
        given, m = self.goals.reference, self.n_objectives
        front = self.Y[self.front, :m]
        inside = ~(front > given).any(axis=1)
        found = reference_point(front[inside] if inside.any() else front, self.Y[self.succeeded, :m])
        return np.where(np.isnan(given), found, given)

    @cached_property
    def hypervolumes(self) -> FloatArray:
        """Of several objectives the volume dominated after each evaluation, up to the present reference, (n,)."""
        volumes = np.zeros(len(self.Y))
        if self.reference is None:
            return volumes
        known, volume = np.empty((0, self.n_objectives)), 0.0
        for i, y in enumerate(self.Y[:, : self.n_objectives]):
            if self.feasible[i] and (y < self.reference).all() and not (known <= y).all(axis=1).any():
                known = np.vstack([known[~(y <= known).all(axis=1)], y])
                volume = hypervolume(known, self.reference)
            volumes[i] = volume
        return volumes

    @cached_property
    def standing(self) -> FloatArray:
        """What orders successes that are equally feasible, (n,): their value.

        With several objectives it is the number of points by which one is dominated, among those that satisfy all
        constraints.
        """
        if not self.goals.has_several:
            return self.Y[:, 0]
        values = self.Y[:, : self.n_objectives]
        n_better = np.zeros(len(values))
        for y in values[self.feasible]:
            n_better += (y <= values).all(axis=1) & (y < values).any(axis=1)
        return n_better

    @cached_property
    def violations(self) -> FloatArray:
        """Distance of each evaluation from satisfying all limits, of shape (n,): zero if it does.

        Excesses over a limit are measured in units of their standard deviation over all evaluations; infinite at a
        point that known constraints do not allow, and for a failure.
        """
        excesses = self.excesses[self.succeeded]
        excess = np.maximum(excesses, 0.0)
        scale = np.ones(excess.shape[1])
        finite = np.where(np.isfinite(excesses), excesses, np.nan)
        known = np.isfinite(finite).any(axis=0)
        # Of a diverged run, 1e200 has no square: the deviations are computed in units of a power of two.
        size = np.frexp(np.nanmax(np.abs(finite[:, known]), axis=0, initial=0.0))[1]
        scale[known] = np.ldexp(np.nanstd(np.ldexp(finite[:, known], -size), axis=0), size)
        total = np.full(len(self.Y), np.inf)
        total[self.succeeded] = (excess / np.where(scale > 0.0, scale, 1.0)).sum(axis=1)
        return np.where(np.isnan(total) | ~self.allowed, np.inf, total)

    @cached_property
    def sd(self) -> FloatArray:
        """Noise of each quantity at each evaluation, of shape (n, q): see `tcgp.goals.Goals.deviations`."""
        rows = [self.goals.deviations(e.x, e.y, e.outputs, e.sd) for e in self.evaluations]
        return np.array(rows, dtype=np.float64).reshape(self.Y.shape)

    @property
    def successes(self) -> tuple[FloatArray, FloatArray]:
        """Codes (m, dim) of the evaluations that succeeded, and values (m,) of the first objective."""
        return self.U[self.succeeded], self.Y[self.succeeded, 0]

    @property
    def failures(self) -> FloatArray:
        """Codes of the evaluations that failed, of shape (m, dim)."""
        return self.U[~self.succeeded]

    @cached_property
    def best_value(self) -> float | None:
        """The smallest value that satisfies all constraints; None if there is none."""
        return None if self.best_row is None else float(self.Y[self.best_row, 0])

    @cached_property
    def best_row(self) -> int | None:
        """The first of the best evaluations that satisfy all limits; None with several objectives."""
        if self.goals.has_several or not self.feasible.any():
            return None
        return int(np.argmin(np.where(self.feasible, self.Y[:, 0], np.inf)))

    @property
    def best(self) -> Evaluation | None:
        """The evaluation of that row."""
        return None if self.best_row is None else self.evaluations[self.best_row]

    @cached_property
    def repeats_differ(self) -> bool | None:
        """Whether evaluations of one point differ; None if no point has been evaluated twice with success."""
        return _differ(self.U[self.succeeded], self.Y[self.succeeded])

    def repeats_differ_in(self, j: int) -> bool | None:
        """The same of one quantity."""
        known = ~np.isnan(self.Y[:, j])
        return _differ(self.U[known], self.Y[known, j : j + 1])

    @cached_property
    def without_repeats(self) -> Data:
        """The table of a function that repeats itself, with one success for each point.

        Of one that may be noisy: if there are repeats, all are equal, and no noise is known. Else the table itself.
        """
        if not self.goals.noisy or self.repeats_differ is not False or (self.sd > 0.0).any():
            return self
        first = np.zeros(len(self.U), dtype=bool)
        rows = np.flatnonzero(self.succeeded)
        first[rows[np.unique(self.U[rows], axis=0, return_index=True)[1]]] = True
        kept = np.flatnonzero(first | ~self.succeeded)
        return Data(
            self.goals,
            tuple(self.evaluations[row] for row in kept),
            self.U[kept],
            self.Y[kept],
            self.allowed[kept],
        )

    @property
    def least_violating(self) -> Evaluation | None:
        """The evaluation that comes closest to satisfying all limits, or None if none has succeeded."""
        rows = np.flatnonzero(self.succeeded)
        return self.evaluations[rows[np.argmin(self.violations[rows])]] if len(rows) else None

    @property
    def has_contrast(self) -> bool:
        """Whether at least two different values are known: without them there is nothing to model."""
        return len(np.unique(self.Y[self.succeeded, : self.n_objectives], axis=0)) > 1

    @property
    def ranking(self) -> IntArray:
        """Rows of the evaluations that succeeded, the best first: those that satisfy all limits, by their value."""
        rows = np.flatnonzero(self.succeeded)
        return rows[np.lexsort([self.standing[rows], self.violations[rows]])]

    @property
    def distinct(self) -> IntArray:
        """Rows of the successes that a model can tell apart, in order: of several with one code, the best.

        With noise it takes all of them: together they tell more than one.
        """
        rows = np.flatnonzero(self.succeeded)
        if self.goals.noisy or len(np.unique(self.U[rows], axis=0)) == len(rows):
            return rows
        order = self.ranking
        return np.sort(order[np.unique(self.U[order], axis=0, return_index=True)[1]])

    def sample(self, most: int) -> IntArray:
        """Of the `distinct` rows, at most ``most``: the best, a third, and others spread evenly over the run."""
        rows = self.distinct
        if len(rows) <= most:
            return rows
        order = self.ranking[np.isin(self.ranking, rows)]
        best, others = order[: most // 3], np.sort(order[most // 3 :])
        evenly = np.linspace(0, len(others) - 1, most - len(best)).astype(int)
        return np.sort(np.concatenate([best, others[evenly]]))

    def margins(self, evaluation: Evaluation) -> list[Margin]:
        """A successful evaluation compared with each limit."""
        spreads = [_spread(excesses) for excesses in self.excesses[self.moving].T]
        return self.goals.margins(evaluation.x, evaluation.y or 0.0, evaluation.outputs, spreads)

    def described_margins(self, evaluation: Evaluation) -> list[str]:
        """An evaluation compared with all constraints, those on parameters last, in words."""
        return [str(margin) for margin in (*self.margins(evaluation), *self.known_margins(evaluation.x))]

    def known_margins(self, x: Point) -> list[Margin]:
        """A point compared with each side of the constraints on parameters."""
        return self.goals.known_margins(x, [self.evaluations[row].x for row in self.moving])

    @cached_property
    def moving(self) -> IntArray:
        """Rows of the evaluations that were the best so far; with several objectives, the front.

        All successes where these are fewer than three.
        """
        merits = np.array([np.inf if merit is None else merit for merit in self.merits])
        earlier = np.minimum.accumulate(np.concatenate(([np.inf], merits)))[:-1]
        rows = self.front if self.goals.has_several else np.flatnonzero(merits < earlier)
        return rows if len(rows) > 2 else np.flatnonzero(self.succeeded)


def _differ(U: FloatArray, Y: FloatArray) -> bool | None:
    """Whether equal rows of U have different rows of Y; None if no rows of U are equal."""
    n = len(np.unique(U, axis=0))
    return None if n == len(U) else len(np.unique(np.hstack([U, np.nan_to_num(Y)]), axis=0)) > n


def _spread(values: FloatArray) -> float:
    """Range of values without a tenth at each end: one value at a pole must not make all others look alike."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan
    low, high = np.quantile(known, [0.1, 0.9])
    return float(high - low)
