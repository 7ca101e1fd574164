"""Multistart gradient search, the default maximizer: scan, choose diverse starts, climb from all at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from tcgp._arrays import as_generator
from tcgp._text import plain
from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from tcgp.criteria.base import Criterion
from tcgp.maximize.ascent import Ascent, ascend
from tcgp.maximize.maximum import Maximum, rank_distinct
from tcgp.sampling.sobol import sobol

__all__ = ["Compressed", "choose_starts", "clouds", "maximize", "top_and_spread"]

_N_STARTS = 64
_N_ANCHORS = 100
_STRETCH = 1.5  # of half of the Sobol' points about the centre: puts a third of their coordinates on faces
_RADII = (-4.5, -0.3)  # decades of the distance to an anchor
_SPACINGS = (-1.5, 1.0)  # decades of that distance over the distance to the next anchor
_ANYWHERE = 1.5  # coordinates, on average, that a point beside an anchor has anywhere
_POOL = 128  # scan points, the best, among which starts are chosen
_NEIGHBOURS = 8  # scan points that a start must beat around it
_KNEE = 10.0  # depth, in units of the spread of the best values, below which the criterion is compressed
_PROBES = np.array([0.1, 0.01, 0.001])  # steps along a coordinate that seems flat
_TOLERANCE = 1e-8  # of the last gain; log EI has a natural scale of one


@single_threaded
def maximize(
    criterion: Criterion,
    dim: int,
    *,
    rng: RandomState = None,
    anchors: ArrayLike | None = None,
    n_scan: int | None = None,
    n_starts: int | None = None,
) -> Maximum:
    """Maximize a criterion over the unit cube by gradient search from many starts.

    The starts are chosen from Sobol' points and from clouds around the anchors: the best points that are also
    better than their neighbours, so that they are not all on one peak. A batched quasi-Newton method ascends from
    all of them at once and drops those that fall behind; the best result is then refined.

    A calibrated law may have so light a tail that log EI falls to minus a million between its peaks. One
    start in three is therefore chosen among the Sobol' points alone and races apart, and the climb is one of a
    criterion compressed logarithmically far below the best value of the scan.

    Parameters
    ----------
    criterion : Criterion
        Function to maximize, for instance a `tcgp.criteria.LogExpectedImprovement`.
    dim : int
        Dimension d of the cube.
    rng : int, numpy.random.Generator or None
    anchors : array of shape (k, d), optional
        Points near which large values are likely, the likeliest first: the best observed points. Improvement is often
        confined to their close neighbourhood, which a uniform scan misses.
    n_scan : int, optional
        Number of points scanned; 1920 + 32 d by default, and no more than 2432.
    n_starts : int, optional
        Number of starts; 64 by default.

    Returns
    -------
    Maximum
        ``candidates`` are distinct end points. Those after the first need not be local maxima: the race
        stops most of them on their way up.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.maximize import multistart
    >>> class Waves:
    ...     def __call__(self, X):
    ...         return np.sum(np.cos(9.0 * X) - X, axis=1)
    ...     def value_and_gradient(self, X):
    ...         return self(X), -9.0 * np.sin(9.0 * X) - 1.0
    >>> multistart.maximize(Waves(), 2, rng=0).x
    array([0., 0.])
    """
    if dim < 1:
        raise ValueError(f"dim must be at least 1, got {plain(dim)}: a cube needs a coordinate")
    generator = as_generator(rng)
    n_scan = 1920 + 32 * min(dim, 16) if n_scan is None else n_scan
    n_starts = _N_STARTS if n_starts is None else n_starts
    if not 1 <= n_starts <= n_scan:
        raise ValueError(f"n_starts must lie between 1 and n_scan = {n_scan}, got {plain(n_starts)}")

    points = _check_anchors(anchors, dim)
    n_local = n_scan // 2 if len(points) else 0
    scan, steps = _scan_points(points, dim, n_scan - n_local, n_local, generator)
    values = criterion(scan)
    n_far = n_starts // 3 if n_local else 0
    near = choose_starts(scan, values, n_starts - n_far)
    far = choose_starts(scan[:-n_local], values[:-n_local], n_far) if n_far else near[:0]
    chosen = np.concatenate([near, np.setdiff1d(far, near)])

    top, spread = top_and_spread(values)
    scale = min(spread, 1.0)
    compressed = Compressed(criterion, top, _KNEE * spread)
    ascent = ascend(
        compressed,
        scan[chosen],
        first_step=steps[chosen],
        tolerance=_TOLERANCE * scale,
        # Curvature is learned along one direction per iteration; the far starts have to find the slope first.
        halve_every=np.where(np.arange(len(chosen)) < len(near), 1.0, 2.0) * (2.0 + 0.25 * dim),
    )
    ascent = replace(ascent, values=compressed.expand(ascent.values))
    best = int(np.argmax(ascent.values))
    ascent.x[best], ascent.values[best], n_polish = _polish(criterion, ascent, best, scale)
    candidates, candidate_values = rank_distinct(ascent.x, ascent.values)
    return Maximum(
        x=candidates[0],
        value=float(candidate_values[0]),
        n_evaluations=n_scan + ascent.n_evaluations + n_polish,
        candidates=candidates,
        candidate_values=candidate_values,
    )


def _check_anchors(anchors: ArrayLike | None, dim: int) -> FloatArray:
    """The first anchors, as an array of shape (k, dim)."""
    if anchors is None:
        return np.empty((0, dim))
    points = np.asarray(anchors, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != dim:
        raise ValueError(f"anchors must have shape (k, {dim}), got {points.shape}")
    if not ((points >= 0.0) & (points <= 1.0)).all():
        raise ValueError("anchors must lie in the unit cube: scale them by the bounds first")
    return points[:_N_ANCHORS]


@dataclass(frozen=True)
class Compressed:
    """A criterion f as it is above ``top``, and as top - knee log(1 + (top - f) / knee) below."""

    criterion: Criterion
    top: float
    knee: float

    def __call__(self, X: FloatArray) -> FloatArray:
        return self._compress(self.criterion(X))[0]

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        f, g = self.criterion.value_and_gradient(X)
        h, slope = self._compress(f)
        return h, g * slope[:, None]

    def _compress(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compressed values, and their derivatives with respect to the criterion."""
        depth = np.maximum(self.top - f, 0.0) / self.knee
        return np.where(depth > 0.0, self.top - self.knee * np.log1p(depth), f), 1.0 / (1.0 + depth)

    def expand(self, h: FloatArray) -> FloatArray:
        """Values of the criterion, from compressed ones."""
        depth = np.maximum(self.top - h, 0.0) / self.knee
        return np.where(depth > 0.0, self.top - self.knee * np.expm1(depth), h)


def top_and_spread(values: FloatArray) -> tuple[float, float]:
    """Largest finite value (0 if there is none), and how far the next few good ones lie below it."""
    finite = np.sort(values[np.isfinite(values)])[::-1]
    if not len(finite):
        return 0.0, 1.0
    top = float(finite[0])
    # On a face the best few may be equal.
    depths = (top - float(finite[min(rank, len(finite) - 1)]) for rank in (8, 64, len(finite)))
    return top, next((depth for depth in depths if depth > 0.0), 1.0)


def _scan_points(
    anchors: FloatArray, dim: int, n_global: int, n_local: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Points of the cube, (n, dim), global ones first, and the distance, (n,), over which each is about alone."""
    spread = _sobol(dim, n_global) + rng.random(dim)  # a random shift keeps the points evenly spread
    spread -= np.floor(spread)
    # Far from the data the criterion is largest on faces and in corners, where no Sobol' point lies.
    spread[::2] = np.clip(0.5 + _STRETCH * (spread[::2] - 0.5), 0.0, 1.0)
    steps = np.full(n_global, 0.5 * n_global ** (-1.0 / dim))
    if not n_local:
        return spread, steps
    cloud, radii = clouds(anchors, n_local, rng)
    return np.concatenate([spread, cloud]), np.concatenate([steps, 0.5 * radii])


def clouds(anchors: FloatArray, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Points around the anchors, most around the first, and their distances from what they are near to."""
    k, dim = anchors.shape
    third = n // 3
    # Rank k u^2, u uniform: a tenth of the draws come from the best percent.
    rank = (k * rng.random(n) ** 2).astype(np.intp)
    radii = 10.0 ** rng.uniform(*_RADII, size=n)
    if k > 1:
        # Between data the criterion varies on the scale of their spacing, however fine it has become.
        spacing = np.sort(cdist(anchors, anchors), axis=1)[:, 1]
        radii[::2] = (spacing[rank] * 10.0 ** rng.uniform(*_SPACINGS, size=n))[::2]
        np.clip(radii, 1e-9, 1.0, out=radii)
    cloud = anchors[rank] + rng.standard_normal((n, dim)) * (radii / np.sqrt(dim))[:, None]

    if k > 2:
        # Differences of good points have the scale and the direction of the valley they lie in.
        triples = anchors[(k * rng.random((3, third)) ** 3).astype(np.intp)]
        along = rng.uniform(-1.0, 1.0, size=(third, 1)) * (triples[1] - triples[2])
        length = np.sqrt(np.einsum("ij,ij->i", along, along))
        radii[:third] = np.maximum(0.1 * length, 1e-9)
        across = rng.standard_normal((third, dim)) * (radii[:third] / np.sqrt(dim))[:, None]
        cloud[:third] = triples[0] + along + across

    # A coordinate or two anywhere: along one that matters little, the best place may be far from all data.
    some = cloud[third : 2 * third]
    anywhere = rng.random(some.shape) < _ANYWHERE / dim
    some[anywhere] = rng.random(int(anywhere.sum()))
    np.maximum(radii[third : 2 * third], 0.01, out=radii[third : 2 * third])

    if dim > 5:
        # In many dimensions a step along all coordinates mixes good and bad ones: half move about four.
        few = cloud[2 * third :: 2]
        few[...] = np.where(rng.random(few.shape) < 4.0 / dim, few, anchors[rank[2 * third :: 2]])
    # Reflection at the faces, not projection: a cloud around a corner is then as dense as any.
    cloud = 1.0 - np.abs(1.0 - np.abs(cloud))
    np.maximum(cloud, 0.0, out=cloud)
    return cloud, radii


@functools.lru_cache(maxsize=16)
def _sobol(dim: int, n: int) -> FloatArray:
    """First n Sobol' points; kept, because drawing them costs more than a criterion call."""
    points = sobol(n, dim)
    points.setflags(write=False)
    return points


def choose_starts(scan: FloatArray, values: FloatArray, n: int) -> IntArray:
    """Indices of the n best points that beat their neighbours, or of the best others if these are fewer.

    A point that is better than its k nearest neighbours is the seed of a peak (Törn and Viitanen,
    "Topographical global optimization", 1992); this adapts to clouds of any radius.
    """
    size = min(max(_POOL, n), len(values))
    order = np.argsort(-values, kind="stable")[:size]
    points = scan[order]
    distances = cdist(points, points, "sqeuclidean")
    # Sorted by value: the points better than a row's are those before it. All of its k nearest neighbours are
    # worse if at least k points are closer than the closest of the better ones.
    closest_better = np.where(_before(size), distances, np.inf).min(axis=1)
    seed = (distances < closest_better[:, None]).sum(axis=1) > min(_NEIGHBOURS, size - 1)
    chosen: IntArray = order[np.concatenate([np.flatnonzero(seed), np.flatnonzero(~seed)])[:n]]
    return chosen


@functools.lru_cache(maxsize=16)
def _before(n: int) -> BoolArray:
    """Entry (i, j) says whether j < i."""
    return np.tri(n, k=-1, dtype=bool)


def _polish(criterion: Criterion, ascent: Ascent, best: int, scale: float) -> tuple[FloatArray, float, int]:
    """Climb on from the best end point: the point, its value and the number of evaluations."""
    x, value = ascent.x[best], float(ascent.values[best])
    flat, n_evaluations = _probe_flat(criterion, x, value, ascent.gradients[best], scale)
    if ascent.converged[best] and not flat.any():
        return x, value, n_evaluations
    H = ascent.inverse_hessians[best] + np.diag(flat)
    last = ascend(criterion, x[None], inverse_hessians=H[None], tolerance=_TOLERANCE * scale)
    return last.x[0], float(last.values[0]), n_evaluations + last.n_evaluations


def _probe_flat(
    criterion: Criterion, x: FloatArray, value: float, gradient: FloatArray, scale: float
) -> tuple[FloatArray, int]:
    """Inverse curvature, (d,), of the coordinates along which a long step still climbs, and evaluations made.

    Where lengthscales differ by orders of magnitude, curvature learned along the steep coordinates makes a
    flat one look climbed when it is not: its gradient is small, but holds over a long way.
    """
    inverse_curvature = np.zeros_like(x)
    room = np.where(gradient > 0.0, 1.0 - x, x)
    promise = np.abs(gradient) * np.minimum(room, _PROBES[0])
    j = np.flatnonzero(promise > 100.0 * _TOLERANCE * scale)
    if not len(j):
        return inverse_curvature, 0
    steps = np.minimum(_PROBES[:, None], room[j])  # (3, k)
    probes = np.tile(x, (*steps.shape, 1))
    each = np.arange(len(j))
    probes[:, each, j] = np.clip(x[j] + np.sign(gradient[j]) * steps, 0.0, 1.0)
    values = criterion(probes.reshape(-1, len(x))).reshape(steps.shape)
    highest = values.argmax(axis=0)
    climbs = values[highest, each] > value + 10.0 * _TOLERANCE * scale
    inverse_curvature[j] = np.where(climbs, steps[highest, each] / np.abs(gradient[j]), 0.0)
    return inverse_curvature, values.size
