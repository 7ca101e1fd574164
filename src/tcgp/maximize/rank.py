"""Maximize a criterion over a space, or the part of it that known constraints allow."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used: it takes a fifth of a second
from scipy.spatial.distance import cdist

from tcgp._threads import single_threaded
from tcgp._typing import BoolArray, FloatArray
from tcgp.criteria.base import Criterion
from tcgp.maximize.ascent import ascend
from tcgp.maximize.maximum import Maximum, rank_distinct
from tcgp.maximize.mixed import Held, order, rank_everywhere, snap
from tcgp.maximize.multistart import Compressed, choose_starts, clouds, top_and_spread
from tcgp.maximize.multistart import maximize as multistart
from tcgp.region import Region
from tcgp.space import Integer, Space

__all__ = ["rank"]

# Points scanned: anywhere, towards the limits, around the anchors.
N_SPREAD, N_STRETCHED, N_NEAR = 1000, 500, 1000
N_ANCHORS = 100
N_STARTS = 48  # of the ascents that stay inside
N_POLISHED = 3  # of their ends, which then follow the limits
N_RUNNERS_UP = 20  # points of the scan that are offered after them
STRETCH = 1.5  # times the difference of two points, added to the first: beyond the limits, mostly
MAX_ROUNDS = 20  # of moves from one integer or choice to another
MAX_RESTORED = 24  # points with another integer or choice that are moved back inside
MARGIN = 1e-9  # distance to the limits, in the unit cube, so that rounding does not end beyond them
BARRIER, TINY = 1e-3, 1e-100  # weight of the barrier at the limits, in these units; smallest slack
TOLERANCE = 1e-8  # of the last gain of an ascent, in units of the spread of the best values


@single_threaded
def rank(
    criterion: Criterion,
    region: Region,
    *,
    maximize: Callable[..., Maximum] = multistart,
    anchors: FloatArray,
    rng: np.random.Generator,
    snaps: bool = True,
) -> FloatArray:
    """Codes of allowed points with a large criterion, the best first.

    A small space is searched exhaustively, and one without constraints as `rank_everywhere` says. Otherwise a scan of
    the allowed part gives the starts. Batched ascents climb from them and stop at the limits; the best ends then follow
    the limits by sequential quadratic programming (SLSQP) with the gradients of the constraints, linear ones exactly,
    and by moves to other integers and choices. Each point is checked as it is decoded.

    Parameters
    ----------
    criterion : Criterion
        On the unit cube.
    region : Region
    maximize, snaps
        For a space without constraints: see `rank_everywhere`.
    anchors : array of shape (n, dim)
        Codes of good points, the best first; those that are not allowed are not used.
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (k, dim)
        At least one code; those after the first need not be local maxima.

    Raises
    ------
    EmptyRegionError
        If no allowed point is found.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import Space
    >>> from tcgp.maximize.rank import rank
    >>> from tcgp.region import Region
    >>> class Plane:
    ...     def __call__(self, X):
    ...         return X @ [1.0, 2.0]
    ...     def value_and_gradient(self, X):
    ...         return self(X), np.tile([1.0, 2.0], (len(X), 1))
    >>> region = Region(Space([(0, 1), (0, 1)]), ["x0 ** 2 + x1 ** 2 <= 0.5"])
    >>> rank(Plane(), region, anchors=np.empty((0, 2)), rng=np.random.default_rng(0))[0].round(6)
    array([0.316228, 0.632456])
    """
    space = region.space
    if region.codes is not None:
        return order(criterion, space, region.codes)
    if region.allows_all:
        return rank_everywhere(criterion, space, maximize=maximize, anchors=anchors, rng=rng, snaps=snaps)
    sample = region.sample(N_SPREAD, rng)
    scan, n_far = _scan(region, space.nearest(sample), anchors, rng)
    values = criterion(scan)
    far = choose_starts(scan[:n_far], values[:n_far], N_STARTS // 3)
    chosen = np.union1d(choose_starts(scan, values, N_STARTS), far)
    top, spread = top_and_spread(values)
    ends, end_values = _climb(criterion, region, scan[chosen], top, spread)
    search = _Search(criterion, region, min(spread, 1.0), rng)
    best, _ = rank_distinct(ends, end_values, distance=1e-2)
    polished = [search.improve(u) for u in best[:N_POLISHED]]
    first = np.argsort(-values, kind="stable")[: 10 * N_RUNNERS_UP]
    runners_up, _ = rank_distinct(scan[first], values[first])
    codes = np.concatenate([polished, ends, runners_up[:N_RUNNERS_UP]])
    snapped = snap(codes)
    codes = space.distinct(np.where(region.allows_codes(snapped)[:, None], snapped, codes))
    allowed = codes[region.allows(space.decode(codes))]
    return order(criterion, space, allowed if len(allowed) else sample)


def _scan(
    region: Region, sample: FloatArray, anchors: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, int]:
    """Allowed codes: spread evenly, at the limits, and around the anchors; and how many are not around them."""
    real = region.space.real_coordinates
    if not real.any():
        return sample, len(sample)
    some = sample[rng.integers(len(sample), size=(2, N_STRETCHED))]
    beyond = np.clip(some[0] + STRETCH * (some[0] - some[1]), 0.0, 1.0)
    limits = _pull_back(region, some[0], np.where(real, beyond, some[0]))
    far = np.concatenate([sample, limits])
    good = anchors[region.allows(region.space.decode(anchors))][:N_ANCHORS]
    if not len(good):
        return far, len(far)
    cloud, _ = clouds(good, N_NEAR, rng)
    nearest = good[np.argmin(cdist(cloud[:, real], good[:, real]), axis=1)]
    return np.concatenate([far, _pull_back(region, nearest, np.where(real, cloud, nearest))]), len(far)


def _pull_back(region: Region, inside: FloatArray, targets: FloatArray, n_halvings: int = 12) -> FloatArray:
    """The targets, or points before them on the way from allowed points, (m, dim), where a target is not allowed."""
    outside = ~region.allows_codes(targets)
    start, way = inside[outside], (targets - inside)[outside]
    low, high = np.zeros((len(start), 1)), np.ones((len(start), 1))
    for _ in range(n_halvings):
        middle = 0.5 * (low + high)
        good = region.allows_codes(start + middle * way)[:, None]
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    result = targets.copy()
    result[outside] = start + low * way
    return result


def _climb(
    criterion: Criterion, region: Region, starts: FloatArray, top: float, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Ends of ascents over the real coordinates that stay inside, and the criterion there."""
    real = region.space.real_coordinates
    if not real.any():
        return starts, criterion(starts)
    scale = min(spread, 1.0)
    inside = _Inside(Compressed(criterion, top, 10.0 * spread), region, BARRIER * scale)
    ascent = ascend(
        Held(inside, real),
        starts,
        tolerance=TOLERANCE * scale,
        halve_every=2.0 * (2.0 + 0.25 * region.space.dim),
    )
    return ascent.x, criterion(ascent.x)


@dataclass(frozen=True)
class _Inside:
    """A criterion that falls to minus infinity towards the limits: a barrier, along which an ascent can turn."""

    criterion: Criterion
    region: Region
    weight: float  # of the logarithms of the slacks

    def __call__(self, X: FloatArray) -> FloatArray:
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.criterion.value_and_gradient(X)
        slacks, slopes = self.region.slacks(X)
        slacks = np.where(slacks > 0.0, slacks, TINY)
        value = value + self.weight * np.log(slacks).sum(axis=1)
        gradient = gradient + self.weight * np.nan_to_num(slopes / slacks[:, :, None]).sum(axis=1)
        return np.where(self.region.allows_codes(X), value, -np.inf), gradient


@dataclass(frozen=True)
class _Search:
    """Local search from allowed codes to better ones."""

    criterion: Criterion
    region: Region
    scale: float  # of the criterion
    rng: np.random.Generator

    @property
    def space(self) -> Space:
        return self.region.space

    def improve(self, u: FloatArray) -> FloatArray:
        """The best that is found from a code by following the limits and by changing integers and choices."""
        real = self.space.real_coordinates
        value = self._value(u)
        for _ in range(MAX_ROUNDS):
            if real.any():
                u, value = self._follow_limits(u, value)
            if real.all():
                break
            others = self._neighbours(u)
            values = self.criterion(others) if len(others) else np.empty(0)
            if not len(others) or values.max() <= value:
                break
            u, value = others[np.argmax(values)], float(values.max())
        return u

    def _value(self, u: FloatArray) -> float:
        return float(self.criterion(u[None])[0])

    def _allows(self, u: FloatArray) -> bool:
        return bool(self.region.allows(self.space.decode(u[None]))[0])

    def _follow_limits(self, u: FloatArray, value: float) -> tuple[FloatArray, float]:
        """SLSQP over the real coordinates, then a random search where a function without gradient is in the way."""
        target = self._slsqp(u)
        end = self._pull_back(u, target)
        end_value = self._value(end)
        if not end_value > value:
            end, end_value = u, value
        if self.region.is_smooth or end is target:
            return end, end_value
        return self._wander(end, end_value)

    def _slsqp(self, start: FloatArray) -> FloatArray:
        """A local maximum near the limits, which it may leave by the tolerance of SLSQP."""
        real = self.space.real_coordinates
        limits = _Limits(self.region, start, real)
        slope = np.linalg.norm(np.nan_to_num(self.criterion.value_and_gradient(start[None])[1][0, real]))
        scale = max(float(slope), self.scale)  # SLSQP takes the curvature to be one at first

        def negated(z: FloatArray) -> tuple[float, FloatArray]:
            u = limits.code(z)
            value, gradient = self.criterion.value_and_gradient(u[None])
            if not np.isfinite(value[0]):
                return 1e100, np.zeros(len(z))
            return -float(value[0]) / scale, -np.nan_to_num(gradient[0, real]) / scale

        found = scipy.optimize.minimize(
            negated,
            start[real],
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * int(real.sum()),
            constraints=[{"type": "ineq", "fun": limits.values, "jac": limits.jacobian}] if limits.n else [],
            options={"ftol": 1e-12, "maxiter": 100},
        )
        return limits.code(found.x) if np.isfinite(found.x).all() else start

    def _pull_back(self, inside: FloatArray, target: FloatArray) -> FloatArray:
        """The target, or the last allowed point before it on the way from an allowed one, as it is decoded."""
        if self._allows(target):
            return target
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            if self._allows(inside + middle * (target - inside)):
                low = middle
            else:
                high = middle
        return inside + low * (target - inside)

    def _wander(self, u: FloatArray, value: float) -> tuple[FloatArray, float]:
        """Random steps, shorter after a failure and longer after a success, each pulled back to the limits."""
        real = self.space.real_coordinates
        step, n = 0.1, 12
        for _ in range(50):
            steps = step * self.rng.standard_normal((n, len(u))) * self.rng.random((n, 1))
            trials = np.clip(np.where(real, u + steps, u), 0.0, 1.0)
            trials = _pull_back(self.region, np.tile(u, (n, 1)), trials, n_halvings=6)
            values = self.criterion(trials)
            best = int(np.argmax(values))
            better = values[best] > value and self._allows(trials[best])
            if better:
                u, value = trials[best], float(values[best])
            step *= 1.5 if better else 0.7
        return u, value

    def _neighbours(self, u: FloatArray) -> FloatArray:
        """Allowed codes with one integer or choice changed, or two integers by one; other limits are made to hold."""
        codes = self.space.nearest(np.concatenate([self.space.neighbours(u), self._exchanges(u)]))
        allowed = self.region.allows(self.space.decode(codes))
        return np.concatenate([codes[allowed], self._restore(codes[~allowed][:MAX_RESTORED])])

    def _exchanges(self, u: FloatArray) -> FloatArray:
        """Codes with two integers changed by one: along a limit on their sum no single change is allowed."""
        point, moves = self.space.decode(u[None])[0], []
        whole = [(i, d) for i, d in enumerate(self.space.dimensions) if isinstance(d, Integer)]
        for (i, first), (j, second) in itertools.combinations(whole, 2):
            for a, b in itertools.product((-1, 1), repeat=2):
                moved = list(point)
                moved[i], moved[j] = point[i] + a * (first.step or 1), point[j] + b * (second.step or 1)
                if first.low <= moved[i] <= first.high and second.low <= moved[j] <= second.high:
                    moves.append(moved)
        return self.space.encode(moves)

    def _restore(self, codes: FloatArray) -> FloatArray:
        """Allowed codes near to some that are not: those that Newton steps over the real coordinates reach."""
        real = self.space.real_coordinates
        if not real.any():
            return codes[:0]
        codes = codes.copy()
        for _ in range(5):
            slacks, gradients = self.region.slacks(codes)
            J = gradients[:, :, real]
            missing = np.maximum(MARGIN * np.linalg.norm(J, axis=2) - slacks, 0.0)
            missing[~np.isfinite(missing).all(axis=1) | ~np.isfinite(J).all(axis=(1, 2))] = 0.0  # lost
            broken = missing > 0.0
            if not broken.any():
                break
            steps = np.linalg.pinv(np.where(broken[:, :, None], J, 0.0)) @ missing[:, :, None]
            codes[:, real] = np.clip(codes[:, real] + steps[:, :, 0], 0.0, 1.0)
        return codes[self.region.allows(self.space.decode(codes))]


class _Limits:
    """The constraints as functions of the real coordinates, not negative where they hold, in units of the cube."""

    def __init__(self, region: Region, start: FloatArray, real: BoolArray) -> None:
        self.region, self.start, self.real = region, start, real
        slacks, gradients = (array[0] for array in region.slacks(start[None]))
        self.n = len(slacks)
        # Where a gradient vanishes, as in the middle of a ball, the slack says how large the constraint is.
        size = np.maximum(np.linalg.norm(gradients, axis=1), np.abs(slacks))
        self.size = np.where(np.isfinite(size) & (size > 0.0), size, 1.0)
        self.margin = np.clip(0.5 * slacks / self.size, 0.0, MARGIN)
        self.at_start = self._scaled(slacks, gradients)
        self.is_linear = self.n == len(region.straight) and bool(region.straight.all())
        self._known: tuple[bytes, tuple[FloatArray, FloatArray]] | None = None

    def code(self, z: FloatArray) -> FloatArray:
        """The code with these real coordinates."""
        u = self.start.copy()
        u[self.real] = np.clip(z, 0.0, 1.0)
        return u

    def values(self, z: FloatArray) -> FloatArray:
        return self._at(z)[0]

    def jacobian(self, z: FloatArray) -> FloatArray:
        return self._at(z)[1]

    def _at(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (k,) and Jacobian, kept for the next call, which is for the same coordinates."""
        if self.is_linear:
            values, jacobian = self.at_start
            return values + jacobian @ (z - self.start[self.real]), jacobian
        if self._known is None or self._known[0] != z.tobytes():
            slacks, gradients = self.region.slacks(self.code(z)[None])
            self._known = z.tobytes(), self._scaled(slacks[0], gradients[0])
        return self._known[1]

    def _scaled(self, slacks: FloatArray, gradients: FloatArray) -> tuple[FloatArray, FloatArray]:
        values = np.nan_to_num(slacks / self.size - self.margin, nan=-1.0)
        return values, np.nan_to_num(gradients[:, self.real] / self.size[:, None])
