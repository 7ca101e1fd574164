"""Maximize a criterion over a space of real, integer and categorical parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcgp._typing import BoolArray, FloatArray
from tcgp.criteria.base import Criterion
from tcgp.maximize.ascent import ascend
from tcgp.maximize.maximum import Maximum
from tcgp.space import Point, Space

__all__ = ["Held", "distinct", "rank_all", "rank_candidates", "snap"]

N_SAMPLES = 1000  # random points of a mixed space that the search starts from
N_CLIMBERS = 12  # of them that are improved
# A point nearer to a face of the cube than this is put on it: a minimum is often there, and never just beside.
FACE = 1e-5
MAX_ROUNDS = 30  # of moves from one integer or choice to another
MAX_NEIGHBOURS = 200  # of a point that are looked at in a round


def rank_all(criterion: Criterion, space: Space, points: list[Point]) -> list[Point]:
    """The given points, the one with the largest criterion first."""
    values = criterion(space.encode(points))
    return [points[i] for i in np.argsort(-values, kind="stable")]


def rank_candidates(
    criterion: Criterion,
    space: Space,
    *,
    maximize: Callable[..., Maximum],
    anchors: FloatArray,
    rng: np.random.Generator,
    snaps: bool = True,
) -> list[Point]:
    """Points with a large criterion, the best first: distinct local maxima of the criterion over the space.

    Real parameters are searched by gradient. With integers or choices among them, the criterion is maximized
    over the whole cube as if they were real; the valid points nearest to the maxima found, and random points,
    then climb in turn over their real parameters (by gradient, all others held) and over the neighbours that
    differ in one integer or choice.

    Parameters
    ----------
    criterion : Criterion
        On the unit cube.
    space : Space
    maximize : callable
        Maximizer over a cube: ``maximize(criterion, dim, rng=rng, anchors=anchors)``.
    anchors : array of shape (n, dim)
        Codes of good points, the best first.
    rng : numpy.random.Generator
    snaps : bool
        Whether points that are all but on a face are put on it.

    Returns
    -------
    list of points
    """
    relaxed = maximize(criterion, space.dim, rng=rng, anchors=anchors).candidates
    if snaps:
        relaxed = snap(relaxed)
    if space.real_coordinates.all():
        return space.decode(relaxed)
    points = distinct(space.decode(relaxed) + space.decode(anchors[:4]) + space.sample(N_SAMPLES, rng))
    return _climb(criterion, space, rank_all(criterion, space, points)[:N_CLIMBERS], rng)


def snap(codes: FloatArray) -> FloatArray:
    """The points with the coordinates that are all but on a face put on it."""
    return np.where(codes < FACE, 0.0, np.where(codes > 1.0 - FACE, 1.0, codes))


def _climb(criterion: Criterion, space: Space, points: list[Point], rng: np.random.Generator) -> list[Point]:
    """Move each point uphill until neither its real parameters nor a single other change improves it."""
    real = space.real_coordinates
    values = criterion(space.encode(points))
    for _ in range(MAX_ROUNDS):
        if real.any():
            points, values = _polish(criterion, space, real, points)
        crowds = [_some(space.neighbours(point), rng) for point in points]
        flat = [point for crowd in crowds for point in crowd]
        flat_values = criterion(space.encode(flat))
        start, moved = 0, False
        for i, crowd in enumerate(crowds):
            crowd_values = flat_values[start : start + len(crowd)]
            start += len(crowd)
            if len(crowd) and crowd_values.max() > values[i]:
                best = int(np.argmax(crowd_values))
                points[i], values[i], moved = crowd[best], crowd_values[best], True
        if not moved:
            break
    return distinct([points[i] for i in np.argsort(-values, kind="stable")])


def _some(points: list[Point], rng: np.random.Generator) -> list[Point]:
    """All of the points, or as many as are looked at in a round, taken at random."""
    if len(points) <= MAX_NEIGHBOURS:
        return points
    return [points[i] for i in np.sort(rng.choice(len(points), MAX_NEIGHBOURS, replace=False))]


def _polish(
    criterion: Criterion, space: Space, real: BoolArray, points: list[Point]
) -> tuple[list[Point], FloatArray]:
    """Climb by gradient over the real parameters; the values are those at the points as decoded."""
    climbed = space.decode(ascend(Held(criterion, real), space.encode(points)).x)
    return climbed, criterion(space.encode(climbed))


@dataclass(frozen=True)
class Held:
    """A criterion that only its ``free`` coordinates can change: the gradient vanishes along the others."""

    criterion: Criterion
    free: BoolArray

    def __call__(self, X: FloatArray) -> FloatArray:
        return self.criterion(X)

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.criterion.value_and_gradient(X)
        return value, np.where(self.free, gradient, 0.0)


def distinct(points: list[Point]) -> list[Point]:
    """The points without repetitions, in order."""
    return list({tuple(point): point for point in points}.values())
