"""Maximize a criterion over a space of real, integer and categorical parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcgp._typing import BoolArray, FloatArray
from tcgp.criteria.base import Criterion
from tcgp.maximize.ascent import ascend
from tcgp.maximize.maximum import Maximum
from tcgp.space import Space

__all__ = ["Held", "order", "rank_everywhere", "snap"]

N_SAMPLES = 1000  # random points of a mixed space that the search starts from
N_CLIMBERS = 12  # of them that are improved
# A point nearer to a face of the cube than this is put on it: a minimum is often there, and never just beside.
FACE = 1e-5
MAX_ROUNDS = 30  # of moves from one integer or choice to another
MAX_NEIGHBOURS = 200  # of a point that are looked at in a round


def order(criterion: Criterion, space: Space, codes: FloatArray) -> FloatArray:
    """The codes, (m, dim), that with the largest criterion first."""
    return codes[np.argsort(-criterion(space.nearest(codes)), kind="stable")]


def rank_everywhere(
    criterion: Criterion,
    space: Space,
    *,
    maximize: Callable[..., Maximum],
    anchors: FloatArray,
    rng: np.random.Generator,
    snaps: bool = True,
) -> FloatArray:
    """Codes with a large criterion, the best first: distinct local maxima of the criterion over the space.

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
    array of shape (k, dim)
    """
    relaxed = maximize(criterion, space.dim, rng=rng, anchors=anchors).candidates
    if snaps:
        relaxed = snap(relaxed)
    if space.real_coordinates.all():
        return relaxed
    sample = space.at_shares(rng.random((N_SAMPLES, len(space))))
    codes = space.distinct(np.concatenate([relaxed, anchors[:4], sample]))
    return _climb(criterion, space, order(criterion, space, codes)[:N_CLIMBERS], rng)


def snap(codes: FloatArray) -> FloatArray:
    """The points with the coordinates that are all but on a face put on it."""
    return np.where(codes < FACE, 0.0, np.where(codes > 1.0 - FACE, 1.0, codes))


def _climb(criterion: Criterion, space: Space, codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Move each code uphill until neither its real coordinates nor a single other change improves it."""
    real = space.real_coordinates
    values = criterion(space.nearest(codes))
    for _ in range(MAX_ROUNDS):
        if real.any():
            codes = ascend(Held(criterion, real), space.nearest(codes)).x
            values = criterion(space.nearest(codes))
        crowds = [_some(space.neighbours(code), rng) for code in codes]
        ends = np.cumsum([len(crowd) for crowd in crowds])[:-1]
        crowd_values = np.split(criterion(space.nearest(np.concatenate(crowds))), ends)
        moved = False
        for i, (crowd, gains) in enumerate(zip(crowds, crowd_values, strict=True)):
            if len(crowd) and gains.max() > values[i]:
                codes[i], values[i], moved = crowd[np.argmax(gains)], gains.max(), True
        if not moved:
            break
    return space.distinct(codes[np.argsort(-values, kind="stable")])


def _some(codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """All of the codes, or as many as are looked at in a round, taken at random."""
    if len(codes) <= MAX_NEIGHBOURS:
        return codes
    return codes[np.sort(rng.choice(len(codes), MAX_NEIGHBOURS, replace=False))]


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
