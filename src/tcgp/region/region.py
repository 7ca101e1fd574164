"""A space and its known constraints: which points are allowed, and samples and designs of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tcgp._threads import cached_property
from tcgp._typing import BoolArray, FloatArray, IntArray
from tcgp.expressions import Constraint
from tcgp.region.allowed import AllowedPoints, find_allowed_points
from tcgp.region.checks import Check, Numbers, Predicate, as_checks, slope
from tcgp.region.conflicts import describe_closest, join, smallest_conflict
from tcgp.region.polytope import Polytope, linear_rows
from tcgp.region.tables import Columns, table_of_codes, table_of_points, table_of_shares
from tcgp.space import ENUMERABLE, Integer, Point, Real, Space, parameter_names

__all__ = ["EmptyRegionError", "Region"]

# For constraints computed for many points at once, and for those computed one by one: points that a search for the
# allowed part keeps, points that it may draw, and the allowed share from which rejection is efficient.
N_POINTS, N_POINTS_SLOW = 2000, 500
MAX_DRAWS, MAX_DRAWS_SLOW = 2**23, 2**17
MAX_DRAWS_LINEAR = 2**20  # with linear constraints, whose part of the space is entered without a search
EFFICIENT, EFFICIENT_SLOW = 0.01, 0.1
REFUSED = 1e-300  # violation of a point that only a yes-or-no function refuses
MAX_SUBSETS = 8  # largest number of constraints among which conflicts are searched one by one
N_CANDIDATES = 1000  # points, at least, among which a design is chosen
PER_POINT = 20  # so many, at least, for each point of the design


class EmptyRegionError(ValueError):
    """No point that satisfies all known constraints was found."""


class Region:
    """The part of a space that known constraints allow: all of it if there are none.

    Parameters
    ----------
    space : Space
    constraints : sequence, optional
        Each is text or a `tcgp.expressions.Constraint` about parameters (x0, x1, ... if they have no names), a function
        that takes a point like the user's function and returns True or False, or a `scipy.optimize.LinearConstraint`
        or `NonlinearConstraint`, in spaces without a `Categorical`.

    Attributes
    ----------
    space : Space
    checks : list of Constraint, Numbers or Predicate
        The constraints, one by one.
    labels : tuple of str
        Their names in messages.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import Space
    >>> from tcgp.region import Region
    >>> region = Region(Space({"width": (0, 1), "height": (0, 1)}), ["width <= 0.5 * height"])
    >>> region.allows([[0.2, 0.5], [0.3, 0.5]])
    array([ True, False])
    >>> codes = region.design(5, np.random.default_rng(0))
    >>> len(codes), bool(region.allows(region.space.decode(codes)).all())
    (5, True)
    """

    def __init__(self, space: Space, constraints: Sequence[object] = ()) -> None:
        self.space = space
        self.checks: list[Check] = as_checks(space, constraints)
        self.labels = tuple(check.text for check in self.checks)
        self._expressions = [check for check in self.checks if isinstance(check, Constraint)]
        self._numbers = [check for check in self.checks if isinstance(check, Numbers)]
        self._predicates = [check for check in self.checks if isinstance(check, Predicate)]

    @property
    def allows_all(self) -> bool:
        """Whether there are no constraints."""
        return not self.checks

    @cached_property
    def straight(self) -> BoolArray:
        """Which of the `slacks` of expressions are linear in the real coordinates."""
        curved = {name for name, dimension in self._real.items() if dimension.log}
        linear = [not c.names & curved and c.is_linear_in(list(self._real)) for c in self._expressions]
        limits = [int(math.isfinite(c.lower)) + int(math.isfinite(c.upper)) for c in self._expressions]
        return np.repeat(np.array(linear, dtype=bool), limits)

    @property
    def is_smooth(self) -> bool:
        """Whether all constraints give numbers, and thus a direction to search in."""
        return not self._predicates

    def allows(self, points: Sequence[Point]) -> BoolArray:
        """Which points satisfy all the constraints, exactly."""
        if self.allows_all:
            return np.ones(len(points), dtype=bool)
        allowed = self._holds(table_of_points(self.space, points), len(points))
        rows = np.flatnonzero(allowed).tolist()
        allowed[rows] = self._accepted([points[i] for i in rows])
        return allowed

    def broken(self, point: Point) -> list[str]:
        """The constraints that a point violates."""
        violations = self.violations([point])[0]
        return [label for label, violation in zip(self.labels, violations, strict=True) if violation > 0.0]

    def check(self, point: Point) -> None:
        """Refuse a point that violates a constraint."""
        if broken := self.broken(point):
            names = ", ".join(map(repr, broken))
            raise ValueError(f"the point {list(point)!r} violates the known constraint {names}")

    def allows_codes(self, codes: FloatArray) -> BoolArray:
        """Which codes, of shape (m, dim), belong to allowed points, up to the rounding of decoding: fast."""
        if self.allows_all:
            return np.ones(len(codes), dtype=bool)
        allowed = self._holds(table_of_codes(self.space, codes), len(codes))
        if self._is_slow:
            allowed[allowed] = self._accepted(self.space.decode(codes[allowed]))
        return allowed

    def violations(self, points: Sequence[Point]) -> FloatArray:
        """Violation of each constraint at each of m points, (m, len(labels)).

        Zero where a constraint holds, positive where it does not, and infinite where it gives no number.
        """
        table = table_of_points(self.space, points)
        columns = [
            check.violation(table)
            if isinstance(check, Constraint)
            else np.array([check.violation(point) for point in points])
            for check in self.checks
        ]
        return np.array(columns, dtype=np.float64).reshape(len(columns), len(points)).T

    def slacks(self, codes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distances of the constraints to their limits, and their gradients, up to the rounding of decoding.

        Constraints that give no number are left out.

        Returns
        -------
        slacks : array of shape (m, k)
            Not negative where the constraints hold, and NaN where they are not defined.
        gradients : array of shape (m, k, dim)
            Zero along coordinates that are not real.
        """
        table = table_of_codes(self.space, codes)
        names = list(self._real)
        columns = [np.broadcast_to(slope(d, table[name]), len(codes)) for name, d in self._real.items()]
        slopes = np.column_stack([np.empty((len(codes), 0)), *columns])
        slacks = [np.empty((len(codes), 0))]
        gradients = [np.empty((len(codes), 0, len(names)))]
        for constraint in self._expressions:
            value, derivatives = constraint.expression.value_and_gradient(table, names)
            gradient = np.column_stack([slopes[:, :0], *derivatives.values()]) * slopes
            for limit, sign in ((constraint.lower, 1.0), (constraint.upper, -1.0)):
                if math.isfinite(limit):
                    slacks.append(sign * (value - limit)[:, None])
                    gradients.append(sign * gradient[:, None])
        if self._numbers:
            points = self.space.decode(codes)
            real = [dimension.continuous for dimension in self.space.dimensions]
            for numbers in self._numbers:
                slacks.append(np.array([numbers.slacks(point) for point in points]))
                jacobians = np.array([numbers.slack_gradients(point)[:, real] for point in points])
                gradients.append(jacobians * slopes[:, None])
        all_slacks = np.concatenate(slacks, axis=1)
        all_gradients = np.zeros((*all_slacks.shape, self.space.dim))
        all_gradients[:, :, self.space.real_coordinates] = np.concatenate(gradients, axis=1)
        return all_slacks, all_gradients

    @cached_property
    def codes(self) -> FloatArray | None:
        """Codes of all allowed points of a small space; None for a large one.

        Raises
        ------
        EmptyRegionError
            If there are none.
        """
        if self.space.size > ENUMERABLE:
            return None
        points = list(self.space.points())
        allowed = self.allows(points)
        if not allowed.any():
            holds = self.violations(points) == 0.0
            conflict = smallest_conflict(len(self.checks), lambda some: not holds[:, some].all(axis=1).any())
            raise EmptyRegionError(f"constraints: no point of the space satisfies {self._join(conflict)}")
        return self.space.encode(points)[allowed]

    @property
    def is_empty(self) -> bool:
        """Whether no allowed point is found."""
        try:
            return not self.allows_all and self.codes is None and self._search[0] is None
        except EmptyRegionError:
            return True

    def check_not_empty(self) -> None:
        """Raise EmptyRegionError if no allowed point is found."""
        if not self.allows_all and self.codes is None:
            self._cloud  # noqa: B018  (found once, and kept)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Codes, (n, dim), spread uniformly over the allowed part of the unit cube.

        They are drawn by rejection where that is efficient. Otherwise a cloud of points is found once, the same for
        every sample, and moved at random: see `tcgp.region.allowed`.

        Raises
        ------
        EmptyRegionError
            If no allowed point is found.
        """
        if self.allows_all:
            return self.space.at_shares(rng.random((n, len(self.space))))
        if self.codes is not None:
            weights = np.array([_weight(self.space, point) for point in self.space.decode(self.codes)])
            return self.codes[rng.choice(len(self.codes), n, p=weights / weights.sum())]
        cloud = self._cloud
        found = np.empty((0, self.space.dim))
        while len(found) < n:
            missing = n - len(found)
            if cloud.acceptance >= (EFFICIENT_SLOW if self._is_slow else EFFICIENT):
                n_draws = min(int(1.2 * missing / cloud.acceptance) + 16, 2**17)
                shares = rng.random((n_draws, len(self.space)))
                shares = shares[self._violation(shares) == 0.0]
            else:
                cloud = cloud.move(self._violation, rng)
                shares = rng.permutation(cloud.shares)
            codes = self.space.at_shares(shares[:missing])
            found = np.concatenate([found, codes[self.allows(self.space.decode(codes))]])
        return found

    def design(self, n: int, rng: np.random.Generator, known: FloatArray | None = None) -> FloatArray:
        """Codes, (n, dim), of different points that fill the allowed part evenly, or all if there are fewer.

        Parameters
        ----------
        n : int
        rng : numpy.random.Generator
        known : array of shape (m, dim), optional
            Codes of existing points, which the new ones complement.

        Raises
        ------
        EmptyRegionError
            If no allowed point is found.
        """
        if self.codes is not None and len(self.codes) <= N_CANDIDATES:
            codes = self.codes
        else:
            codes = self.space.distinct(self.sample(max(N_CANDIDATES, PER_POINT * n), rng))
        return codes[spread_evenly(self.space.nearest(codes), min(n, len(codes)), known)]

    @property
    def _is_slow(self) -> bool:
        """Whether some constraints are computed point by point."""
        return bool(self._numbers or self._predicates)

    def _holds(self, table: Columns, m: int) -> BoolArray:
        """Where all expressions are within their limits."""
        allowed = np.ones(m, dtype=bool)
        for constraint in self._expressions:
            allowed &= constraint.violation(table) == 0.0
        return allowed

    def _accepted(self, points: list[Point]) -> list[bool]:
        """Which points satisfy everything; functions are called only where the expressions hold."""
        slow: list[Numbers | Predicate] = [*self._numbers, *self._predicates]
        return [all(check.violation(point) == 0.0 for check in slow) for point in points]

    @cached_property
    def _search(self) -> tuple[AllowedPoints | None, FloatArray]:
        """Points of the allowed part, if any are found, and the point closest to it."""
        return find_allowed_points(
            self._violation,
            len(self.space),
            linear=Polytope(*linear_rows(self.space, self._linear)[:2]) if self._linear else None,
            rest=partial(self._violation, enter=self._linear),
            n_points=N_POINTS_SLOW if self._is_slow else N_POINTS,
            max_draws=MAX_DRAWS_SLOW if self._is_slow else MAX_DRAWS_LINEAR if self._linear else MAX_DRAWS,
        )

    @cached_property
    def _cloud(self) -> AllowedPoints:
        """The points found, without those that are allowed only by rounding."""
        cloud, closest = self._search
        shares = (
            closest[:0] if cloud is None else cloud.shares[self.allows(self.space.from_unit(cloud.shares))]
        )
        if cloud is None or not len(shares):
            raise EmptyRegionError(f"constraints: {self._why_empty(closest)}")
        return AllowedPoints(shares, cloud.acceptance)

    @cached_property
    def _real(self) -> dict[str, Real]:
        """The real parameters."""
        named = zip(parameter_names(self.space), self.space.dimensions, strict=True)
        return {
            name: dimension
            for name, dimension in named
            if isinstance(dimension, Real) and dimension.continuous
        }

    @cached_property
    def _linear(self) -> list[Constraint]:
        """The constraints that are linear in the coordinates of the unit cube."""
        straight = {name for name, dimension in self._real.items() if not dimension.log}
        return [c for c in self._expressions if c.names <= straight and c.is_linear_in(c.names)]

    @cached_property
    def _scales(self) -> list[float]:
        """A typical violation of each expression and each function that gives numbers."""
        points = self.space.sample(N_CANDIDATES // 2, np.random.default_rng(0))
        table = table_of_points(self.space, points)
        columns = [constraint.violation(table) for constraint in self._expressions]
        columns += [np.array([check.violation(point) for point in points]) for check in self._numbers]
        usual = [column[(column > 0.0) & (column < np.inf)] for column in columns]
        return [float(np.median(column)) if len(column) else 1.0 for column in usual]

    def _violation(self, shares: FloatArray, enter: Sequence[Constraint] = ()) -> FloatArray:
        """Sum of the violations, in units of typical ones, at shares (m, len(space)); infinite outside ``enter``."""
        table = table_of_shares(self.space, shares)
        total = np.zeros(len(shares))
        scales = iter(self._scales)
        for constraint in self._expressions:
            violation = constraint.violation(table) / next(scales)
            total += np.where(violation > 0.0, np.inf, 0.0) if constraint in enter else violation
        for numbers in self._numbers:
            scale = next(scales)
            for i in np.flatnonzero(total < np.inf):
                total[i] += numbers.violation(self.space.from_unit(shares[i : i + 1])[0]) / scale
        for predicate in self._predicates:
            for i in np.flatnonzero(total == 0.0):
                if predicate.violation(self.space.from_unit(shares[i : i + 1])[0]):
                    total[i] = REFUSED
        return total

    def _why_empty(self, closest: FloatArray) -> str:
        """Which constraints exclude each other, by linear programming or because the search found nothing."""
        linear = [c for c in self._expressions if c.is_linear_in(c.names)]
        A, b, owners = linear_rows(self.space, linear)

        def excluded(some: list[int]) -> bool:
            return Polytope(A, b).is_empty([row for row, owner in enumerate(owners) if owner in some])

        if linear and excluded(list(range(len(linear)))):
            conflict = [linear[i].text for i in smallest_conflict(len(linear), excluded)]
            verb = "exclude each other" if len(conflict) > 1 else "holds nowhere"
            return f"{join(conflict)} {verb} within the bounds"

        def not_found(some: list[int]) -> bool:
            return Region(self.space, [self.checks[i] for i in some]).is_empty

        n = len(self.checks)
        few = smallest_conflict(n, not_found) if n <= MAX_SUBSETS else list(range(n))
        point = self.space.from_unit(closest[None])[0]
        amounts = describe_closest(self.space, point, self.labels, self.violations([point])[0])
        return f"no point was found that satisfies {self._join(few)}; {amounts}"

    def _join(self, some: list[int]) -> str:
        return join([self.labels[i] for i in some])


def spread_evenly(points: FloatArray, n: int, known: FloatArray | None = None) -> IntArray:
    """Indices of n of the points, of shape (m, d), chosen to be spread, with those known, as all of them are.

    Each new point brings the energy distance between the chosen points and all points down as far as it can:
    it is near to many, and far from those chosen before (Mak and Joseph, "Support points", 2018).
    """
    some = points[:: max(len(points) // N_CANDIDATES, 1)]
    loneliness = np.mean([np.linalg.norm(points - point, axis=1) for point in some], axis=0)
    to_chosen = np.zeros(len(points))
    for point in points[:0] if known is None else known:
        to_chosen += np.linalg.norm(points - point, axis=1)
    n_known = 0 if known is None else len(known)
    chosen: list[int] = []
    for i in range(n_known, n_known + n):
        score = loneliness - to_chosen / (i + 1)
        score[chosen] = np.inf
        chosen.append(int(np.argmin(score)))
        to_chosen += np.linalg.norm(points - points[chosen[-1]], axis=1)
    return np.array(chosen, dtype=np.intp)


def _weight(space: Space, point: Point) -> float:
    """Volume of the unit cube that belongs to a point of a finite space, up to a constant."""
    logs = zip(space.dimensions, point, strict=True)
    return math.prod(math.log((v + 0.5) / (v - 0.5)) for d, v in logs if isinstance(d, Integer) and d.log)
