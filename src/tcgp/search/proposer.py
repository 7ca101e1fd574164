"""Where the next point comes from: the user's queue, the initial design, the criterion, or unexplored space."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tcgp._text import plain
from tcgp._threads import cached_property, single_threaded
from tcgp._typing import FloatArray
from tcgp.goals import describe_point
from tcgp.methods.portfolio import PORTFOLIOS
from tcgp.record.history import SAME_POINT, History, Proposal, SpaceExhausted
from tcgp.record.settings import Settings
from tcgp.record.streams import DESIGN, SPREAD, Streams
from tcgp.region import Region
from tcgp.search.design import initial_design
from tcgp.space import Point

if TYPE_CHECKING:
    from tcgp.search.acquisition import Acquisition

__all__ = ["Proposer"]

logger = logging.getLogger("tcgp")

# Repeats that show how large noise is, if it is to be learned: one, one more for so many evaluations, at most three.
EVALUATIONS_FOR_EACH, MOST_REPEATS = 10, 3
MOST_LOOKED_AT = 300  # values, as long as looking takes no more than a fit
LOOK_EVERY = 30  # evaluations after which values that are taken to be exact are looked at for noise
N_SPREAD = 1000  # random points among which the one farthest from all others is taken


class Proposer:
    """Makes the proposals of a run.

    Parameters
    ----------
    settings, history, streams, region
        As in `tcgp.search.acquisition.Acquisition`.

    Attributes
    ----------
    improvement : float or None
        If given, traces have the share of the space that promises such an improvement.
    """

    def __init__(self, settings: Settings, history: History, streams: Streams, region: Region) -> None:
        self.settings, self.history, self.streams = settings, history, streams
        self.region, self.space = region, region.space
        self.improvement: float | None = None
        self._next_look: int | None = None  # number of values at which to look for noise
        self._left_out: set[Point] = set()  # points of the user of which that was said

    def say_left_out(self, x: Point) -> None:
        """Warn if a point of the user is not evaluated because a known point is too close."""
        if not self.history.is_known(x):
            logger.warning(
                "the point %s is left out: a known point differs from it by less than %g of the range of each "
                "parameter",
                plain(list(x)),
                SAME_POINT,
            )

    @cached_property
    def acquisition(self) -> Acquisition:
        """The model and its criterion."""
        from tcgp.search.acquisition import Acquisition  # loads SciPy: the design begins without it

        return Acquisition(self.settings, self.history, self.streams, self.region)

    def continue_from(self, other: Proposer) -> None:
        """Continue from another proposer, of another space."""
        self.improvement = other.improvement

    def forget_models(self) -> None:
        """Start afresh from the history, whose data have changed."""
        self.__dict__.pop("acquisition", None)

    def propose(self, *, repeat: bool = False) -> Proposal:
        """The next point to evaluate.

        Parameters
        ----------
        repeat : bool
            Whether it is to be one that has been evaluated, if models see noise.

        Raises
        ------
        SpaceExhausted
            If no point is left.
        """
        number, history = len(self.history.proposals), self.history
        for x in history.queue:
            if history.is_new(x):
                return Proposal(number, x, "given")
            if x not in self._left_out:
                self.say_left_out(x)
                self._left_out.add(x)
        assert self.settings.n_initial is not None
        if len(history) < self.settings.n_initial:
            return Proposal(number, self._design_point(), "design")
        if history.goals.noisy and (again := self._due_repeat()) is not None:
            return Proposal(number, again, "repeat")
        # One datum, or equal data, tell a model nothing about the scale of the function.
        if not history.data.has_contrast:
            return Proposal(number, self._far_point(), "exploration")
        return single_threaded(self._from_criterion)(number, repeat)

    def _due_repeat(self) -> Point | None:
        """The best point, to be repeated if noise is learned and there are too few repeats.

        With several objectives it is the middle one of the front.

        A single difference may be small by luck: the model would then take noise for detail, and ask for no more. One
        repeat that is equal says that the function repeats itself.
        """
        data, history = self.history.data, self.history
        row = data.front[len(data.front) // 2] if len(data.front) else None
        if row is None or not np.isnan(data.sd[row]).any() or data.repeats_differ is False:
            return None
        n = int(data.succeeded.sum())
        evaluated = {evaluation.x for evaluation in data.evaluations}
        pending = sum(proposal.x in evaluated for proposal in history.pending.values())
        n_repeats = n - len(np.unique(data.U[data.succeeded], axis=0)) + pending
        return (
            data.evaluations[row].x if n_repeats < min(1 + n // EVALUATIONS_FOR_EACH, MOST_REPEATS) else None
        )

    def _design_point(self) -> Point:
        kind, n, width = self.settings.initial_design, self.settings.n_initial, len(self.space)
        assert kind is not None
        assert n is not None
        i = self._n_designed(kind)
        if not self.region.allows_all:
            points = self._allowed_design
            return points[i] if i < len(points) and self.history.is_new(points[i]) else self._far_point()
        if kind == "uniform":  # one at a time, so that a longer design continues a shorter one
            share = initial_design(kind, 1, width, self.streams.rng(DESIGN, i))[0]
        else:
            share = initial_design(kind, n, width, self.streams.rng(DESIGN))[i]
        point = self.space.from_unit([share])[0]
        return point if self.history.is_new(point) else self._far_point()

    def _n_designed(self, kind: str) -> int:
        """How many points of the design have had their turn: points of the user take the place of the first ones."""
        if kind == "centre":
            return len(self.history)
        begun = self.history.n_elsewhere if not self.region.allows_all or kind != "uniform" else 0
        return sum(proposal.source == "design" for proposal in self.history.proposals[begun:])

    @cached_property
    def _allowed_design(self) -> list[Point]:
        """Points that fill the allowed part evenly: as many as the design can need, or fewer if no more are allowed."""
        n, rng, space = self.settings.n_initial, self.streams.rng(DESIGN), self.space
        assert n is not None
        centre = space.at_shares(np.full((1, len(space)), 0.5))
        if self.settings.initial_design != "centre" or not self.region.allows(space.decode(centre))[0]:
            return space.decode(self.region.design(n, rng))
        others = self.region.design(n - 1, rng, space.nearest(centre)) if n > 1 else centre[:0]
        return space.decode(np.vstack([centre, others]))

    def _from_criterion(self, number: int, repeat: bool) -> Proposal:
        start = time.perf_counter()
        models, fit = self.acquisition.fit(answers=repeat)
        self._look_for_noise()
        t_fit = time.perf_counter() - start
        with np.errstate(
            over="ignore"
        ):  # of values near the largest float, differences and bounds may be infinite
            x: Point | None
            if repeat and models.noisy:
                x, source = self.acquisition.best_known_point(models), "repeat"
            else:
                x, source = self.acquisition.best_point(models), "criterion"
            if x is None:
                x, source = self._far_point(), "exploration"
            self.acquisition.improvement = self.improvement
            trace = self.acquisition.trace(models, x)
        trace |= {"t_fit": t_fit, "t_maximize": time.perf_counter() - start - t_fit}
        return Proposal(number, x, source, trace, fit)

    def _look_for_noise(self) -> None:
        """Warn once if the values of a run look noisy, though they are taken to be exact."""
        data = self.history.data
        U, y = data.successes
        if self._next_look is None:
            self._next_look = (self.settings.n_initial or 0) + LOOK_EVERY
        if self.settings.method not in PORTFOLIOS or data.goals.noisy or data.goals.has_several:
            return
        if data.best is None or not self._next_look <= len(y) <= MOST_LOOKED_AT:
            return
        self._next_look = len(y) + LOOK_EVERY
        from tcgp.methods.detection import noise_in  # loads SciPy

        noise = noise_in(U, y) if len(np.unique(U, axis=0)) == len(y) else None
        if noise is not None:
            self._next_look = MOST_LOOKED_AT + 1
            logger.warning(
                "the values look noisy, with a standard deviation of about %.2g, and are taken to be exact: evaluate "
                "the best point again, %s; if it gives another value, continue with noise=True and the same journal",
                noise,
                describe_point(self.space, data.best.x),
            )

    def _far_point(self) -> Point:
        """A new point far from all others: the farthest of many random ones, or of all that are left."""
        history = self.history
        if self.region.codes is not None:
            return next(self._farthest_first(history.remaining(repeats=history.goals.noisy)))
        some = self.region.sample(N_SPREAD, self.streams.rng(SPREAD, self.acquisition.number))
        x = next(filter(history.is_new, self._farthest_first(some)), None)
        if x is None and math.isfinite(self.space.size):
            first = list(itertools.islice(self.space.points(), len(history) + 1))
            allowed = self.space.encode(first)[self.region.allows(first)]
            x = next(filter(history.is_new, self._farthest_first(allowed)), None)
        if x is None:
            raise SpaceExhausted(
                "every point of the space has been evaluated or is pending"
                if math.isfinite(self.space.size)
                else "no point is left: all allowed points differ from evaluated ones by less than "
                f"{SAME_POINT:g} of the ranges"
            )
        return x

    def _farthest_first(self, codes: FloatArray) -> Iterator[Point]:
        """The points, by their distance from all that are evaluated or pending."""
        order = np.arange(len(codes))
        if len(codes) and len(self.history):
            distances = _squared_distance_to_nearest(self.space.nearest(codes), self.history.codes)
            order = np.argsort(-distances, kind="stable")
        return (self.space.decode(codes[[i]])[0] for i in order)


def _squared_distance_to_nearest(U: FloatArray, V: FloatArray) -> FloatArray:
    """Square of the distance from each row of U to the nearest row of V."""
    square = np.sum(U**2, axis=1)[:, None] + np.sum(V**2, axis=1) - 2.0 * (U @ V.T)
    return np.asarray(square.min(axis=1))
