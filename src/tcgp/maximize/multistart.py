"""Multistart gradient search, the default maximizer: scan, choose diverse starts, climb from all at once."""

from __future__ import annotations

import functools

import numpy as np
from scipy.stats import qmc

from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from tcgp.maximize.ascent import Ascent, ascend
from tcgp.maximize.criterion import Criterion, Maximum, rank_distinct

__all__ = ["maximize"]

_N_STARTS = 64
_N_ANCHORS = 100
_RANK_POWER = (
    2.0  # of k anchors, draw the one of rank k u^2, u uniform: a tenth of the draws from the best percent
)
_STRETCH = 1.5  # of half of the Sobol' points about the centre: puts a third of their coordinates on faces
_ANYWHERE = 1.5  # coordinates, on average, that a point beside an anchor has anywhere
_POOL = 128  # scan points, the best, among which starts are chosen
_NEIGHBOURS = 8  # scan points that a start must beat around it
_RADII = (-4.5, -0.3)  # decades of the distance to an anchor: a clustered design has peaks this sharp
_PROBES = np.array([0.1, 0.01, 0.001])  # steps along a coordinate that seems flat
_TOLERANCE = 1e-9  # of the last gain; log EI has a natural scale of one


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

    A scan of Sobol' points and of clouds of many radii around the anchors gives the starts: the best points
    that also beat their neighbours, so that no single peak takes them all. A batched quasi-Newton method
    climbs from all of them at once and drops the laggards on the way; the best is then polished.

    Parameters
    ----------
    criterion : Criterion
        Function to maximize, for instance a `tcgp.criteria.LogExpectedImprovement`.
    dim : int
        Dimension d of the cube.
    rng : int, numpy.random.Generator or None
    anchors : array of shape (k, d), optional
        Points near which large values are likely, the likeliest first: the best points observed. Improvement
        is often confined to their close neighbourhood, which a uniform scan never hits.
    n_scan : int, optional
        Number of points scanned; 1024 + 32 d by default, and no more than 1536.
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
        raise ValueError(f"dim must be at least 1, got {dim!r}: a cube needs a coordinate")
    generator = np.random.default_rng(rng)
    n_scan = 1024 + 32 * min(dim, 16) if n_scan is None else n_scan
    n_starts = _N_STARTS if n_starts is None else n_starts
    if not 1 <= n_starts <= n_scan:
        raise ValueError(f"n_starts must lie between 1 and n_scan = {n_scan}, got {n_starts!r}")

    scan, steps = _scan_points(_check_anchors(anchors, dim), dim, n_scan, generator)
    values = criterion(scan)
    chosen, scale = _choose_starts(scan, values, n_starts)
    ascent = ascend(
        criterion,
        scan[chosen],
        first_step=steps[chosen],
        tolerance=_TOLERANCE * scale,
        halve_every=2.0 + 0.25 * dim,  # directions are learned one per iteration
    )
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


def _scan_points(
    anchors: FloatArray, dim: int, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Points of the cube, (n, dim), and the distance, (n,), over which each is about alone."""
    n_local = n // 2 if len(anchors) else 0
    n_global = n - n_local
    spread = _sobol(dim, n_global) + rng.random(dim)  # a random shift keeps the points evenly spread
    spread -= np.floor(spread)
    # Far from the data the criterion is largest on faces and in corners, where no Sobol' point lies.
    spread[::2] = np.clip(0.5 + _STRETCH * (spread[::2] - 0.5), 0.0, 1.0)
    steps = np.full(n_global, 0.5 * n_global ** (-1.0 / dim))
    if not n_local:
        return spread, steps
    cloud, radii = _clouds(anchors, n_local, rng)
    return np.concatenate([spread, cloud]), np.concatenate([steps, 0.5 * radii])


def _clouds(anchors: FloatArray, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Points around the anchors, most around the first, and their distances from them."""
    k, dim = anchors.shape
    centres = anchors[(k * rng.random(n) ** _RANK_POWER).astype(np.intp)]
    radii = 10.0 ** rng.uniform(*_RADII, size=n)
    offsets = rng.standard_normal((n, dim)) * (radii / np.sqrt(dim))[:, None]
    third = n // 3
    if k > 2:
        # Differences of good points have the scale and the direction of the valley they lie in.
        pairs = (k * rng.random((2, third)) ** _RANK_POWER).astype(np.intp)
        along = rng.uniform(-1.0, 1.0, size=(third, 1)) * (anchors[pairs[0]] - anchors[pairs[1]])
        offsets[:third] = along + 0.1 * offsets[:third]
    cloud = centres + offsets
    # A coordinate or two anywhere: along one that matters little, the best place may be far from all data.
    rest = cloud[third : 2 * third]
    anywhere = rng.random(rest.shape) < _ANYWHERE / dim
    rest[anywhere] = rng.random(int(anywhere.sum()))
    np.maximum(radii[: 2 * third], 0.01, out=radii[: 2 * third])
    if dim > 5:
        # In many dimensions a step along all coordinates mixes good and bad ones: half move about four.
        few = cloud[2 * third :: 2]
        few[...] = np.where(rng.random(few.shape) < 4.0 / dim, few, centres[2 * third :: 2])
    # Reflection at the faces, not projection: a cloud around a corner is then as dense as any.
    cloud = 1.0 - np.abs(1.0 - np.abs(cloud))
    np.maximum(cloud, 0.0, out=cloud)
    return cloud, radii


@functools.lru_cache(maxsize=16)
def _sobol(dim: int, n: int) -> FloatArray:
    """First n Sobol' points; kept, because drawing them costs more than a criterion call."""
    points: FloatArray = qmc.Sobol(dim, scramble=False).random_base2(max(n - 1, 1).bit_length())[:n]
    points.setflags(write=False)
    return points


def _choose_starts(scan: FloatArray, values: FloatArray, n: int) -> tuple[IntArray, float]:
    """Indices of the best points that beat their neighbours, then of the best others; and a scale of values.

    A point that is better than its k nearest neighbours is the seed of a peak (Törn and Viitanen,
    "Topographical global optimization", 1992); this adapts to clouds of any radius.
    """
    size = min(max(_POOL, n), len(values))
    order = np.argsort(-values, kind="stable")[:size]
    points = scan[order]
    squares = np.einsum("ij,ij->i", points, points)
    distances = squares[:, None] + squares - 2.0 * (points @ points.T)
    # Sorted by value: the points better than a row's are those before it. The row has fewer than k of its
    # neighbours among them if at least k points are closer than the closest of the better ones.
    closest_better = np.where(_before(size), distances, np.inf).min(axis=1)
    seed = (distances < closest_better[:, None]).sum(axis=1) > min(_NEIGHBOURS, size - 1)
    chosen = np.concatenate([np.flatnonzero(seed), np.flatnonzero(~seed)])[:n]
    top, middle = values[order[[0, size // 2]]]
    return order[chosen], min(float(top - middle), 1.0) if top > middle else 1.0


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
