"""Points spread uniformly over the allowed part of the unit cube, however small it is.

Rejection comes first, because its points are independent and exactly uniform. If it finds too few, the points with the
smallest violations start subset simulation: the accepted violation falls step by step to zero, and the points follow by
Metropolis moves. If the constraints are linear, linear programming finds a point inside without a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tcgp._typing import FloatArray
from tcgp.region.polytope import Polytope

__all__ = ["AllowedPoints", "find_allowed_points"]

ENOUGH = 0.25  # share of the points that rejection must find, or subset simulation takes over
CHUNK = (8, 64)  # first and largest number of points drawn at once, for each wanted point
HOPELESS = 2e-5  # share of the cube below which rejection is given up early
KEPT = 0.25  # of the points, by each level of subset simulation
MAX_LEVELS = 300
STANDSTILL = 3e-3  # smallest relative fall of the level that counts as progress
N_SWEEPS = 10  # of Metropolis moves between a cloud and a sample made from it


@dataclass(frozen=True)
class AllowedPoints:
    """Points spread uniformly over the allowed part of the unit cube.

    Attributes
    ----------
    shares : array of shape (n, d)
    acceptance : float
        Share of the cube that is allowed, if rejection found it; 0 otherwise.
    """

    shares: FloatArray
    acceptance: float

    def move(self, violation: Callable[[FloatArray], FloatArray], rng: np.random.Generator) -> AllowedPoints:
        """New points, as uniform as these."""
        from tcgp.sampling import particles  # loads SciPy

        if len(self.shares) < 4:  # too few to learn a step from
            return self
        n, d = self.shares.shape
        scales = (2.38 / np.sqrt(d), 2.38 / np.sqrt(2 * d))
        cloud = particles.Cloud(self.shares, np.zeros(n), 0, scales)
        moved = particles.move(cloud, _log_indicator, violation, [(0.0, 1.0)] * d, rng, max_sweeps=N_SWEEPS)
        return replace(self, shares=moved.points)


def find_allowed_points(
    violation: Callable[[FloatArray], FloatArray],
    dim: int,
    *,
    n_points: int,
    max_draws: int,
    linear: Polytope | None,
    rest: Callable[[FloatArray], FloatArray],
) -> tuple[AllowedPoints | None, FloatArray]:
    """Points of the unit cube where a violation is zero; the same in every call.

    Parameters
    ----------
    violation : callable
        From points (m, dim) to numbers (m,): zero where a point is allowed, positive or infinite elsewhere.
    dim, n_points : int
    max_draws : int
        Largest number of points that rejection may draw.
    linear : Polytope, optional
        Linear inequalities that are part of the constraints.
    rest : callable
        Violation of all other constraints, infinite outside the polytope.

    Returns
    -------
    cloud : AllowedPoints or None
        None if no point was found.
    closest : array of shape (dim,)
        The point with the smallest violation found.
    """
    rng = np.random.default_rng(0)
    shares, values, n_allowed, n_draws = _reject(violation, dim, n_points, max_draws, rng)
    if n_allowed >= ENOUGH * n_points:
        return AllowedPoints(shares[:n_allowed], n_allowed / n_draws), shares[0]
    if linear is not None:
        start = linear.sample(n_points, rng)
        if start is not None:
            return _descend(rest, start, rest(start), rng)
    return _descend(violation, shares, values, rng)


def _reject(
    violation: Callable[[FloatArray], FloatArray],
    dim: int,
    n_points: int,
    max_draws: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, int, int]:
    """Uniform points with the smallest violations, sorted; these violations; numbers of allowed and of all points."""
    shares, values = np.empty((0, dim)), np.empty(0)
    n_draws = n_allowed = 0
    while n_allowed < n_points and n_draws < max_draws:
        size = min(max(n_draws, CHUNK[0] * n_points), CHUNK[1] * n_points, max_draws - n_draws)
        chunk = rng.random((size, dim))
        chunk_values = violation(chunk)
        n_draws += len(chunk)
        n_allowed += int((chunk_values == 0.0).sum())
        # Sorting points that cannot be among the best would take most of the time.
        some = chunk_values <= (values[-1] if len(values) else np.inf)
        values = np.concatenate([values, chunk_values[some]])
        best = np.argsort(values, kind="stable")[: max(n_points, n_allowed)]
        values, shares = values[best], np.concatenate([shares, chunk[some]])[best]
        if n_draws * HOPELESS > 20 > n_allowed:
            break
    return shares, values, n_allowed, n_draws


def _descend(
    violation: Callable[[FloatArray], FloatArray],
    shares: FloatArray,
    values: FloatArray,
    rng: np.random.Generator,
) -> tuple[AllowedPoints | None, FloatArray]:
    """Subset simulation from points that are uniform where the violation is below the largest of the values."""
    from tcgp.sampling import particles

    d = shares.shape[1]
    cloud = particles.Cloud(shares, values, 0, (2.38 / np.sqrt(d), 2.38 / np.sqrt(2 * d)))
    closest, smallest = shares[np.argmin(values)], float(values.min())
    level = float(values.max())
    for _ in range(MAX_LEVELS):
        if level == 0.0:
            return AllowedPoints(np.unique(cloud.points, axis=0), 0.0), closest
        last, level = level, _next_level(cloud.features, level)
        if not level < last * (1.0 - STANDSTILL):
            break
        below = partial(_log_indicator, level=level)
        cloud, _ = particles.advance(cloud, below(cloud.features), below, violation, [(0.0, 1.0)] * d, rng)
        if cloud.features.min() < smallest:
            closest, smallest = cloud.points[np.argmin(cloud.features)], float(cloud.features.min())
    return None, closest


def _next_level(values: FloatArray, level: float) -> float:
    """A quantile of the values, below the present level."""
    ordered = np.sort(values)
    quantile = float(ordered[int(KEPT * len(values))])
    if quantile < level:
        return quantile
    below = ordered[ordered < level]  # as with integers, where many points share one violation
    return float(below[-1]) if len(below) else level


def _log_indicator(values: FloatArray, level: float = 0.0) -> FloatArray:
    """0 where the value is at most the level, -inf elsewhere."""
    return np.where(values <= level, 0.0, -np.inf)
