"""The linear part of a region: whether it is empty, and uniform points in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcgp._typing import FloatArray
from tcgp.expressions import Constraint
from tcgp.region.tables import value_range
from tcgp.space import Space, parameter_names

__all__ = ["Polytope", "linear_rows"]


@dataclass(frozen=True, eq=False)
class Polytope:
    """The points u of the unit cube with A u <= b."""

    A: FloatArray  # (k, d)
    b: FloatArray  # (k,)

    def is_empty(self, rows: Sequence[int] | None = None) -> bool:
        """Whether no point of the cube satisfies all inequalities, or the given rows."""
        from scipy.optimize import linprog  # slow to import

        some = slice(None) if rows is None else list(rows)
        d = self.A.shape[1]
        return bool(
            linprog(np.zeros(d), A_ub=self.A[some], b_ub=self.b[some], bounds=[(0.0, 1.0)] * d).status == 2
        )

    def center(self) -> FloatArray | None:
        """Centre of the largest ball inside, or None if linear programming finds none."""
        from scipy.optimize import linprog

        d = self.A.shape[1]
        # The radius is the last variable. The faces of the cube are rows too.
        A = np.vstack([self.A, np.eye(d), -np.eye(d)])
        b = np.concatenate([self.b, np.ones(d), np.zeros(d)])
        A = np.column_stack([A, np.linalg.norm(A, axis=1)])
        found = linprog(-np.eye(d + 1)[d], A_ub=A, b_ub=b, bounds=[(0.0, 1.0)] * d + [(0.0, None)])
        if found.status != 0:
            return None
        u: FloatArray = found.x[:d]
        inside = (self.A @ u < self.b).all() and (u > 0.0).all() and (u < 1.0).all()
        return u if inside else None

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray | None:
        """``n`` points, uniform in the polytope, or None if it has no visible volume.

        All points start in the centre and move by hit-and-run: to a uniform point of the chord along a direction,
        which is random at first and then mostly the difference of two other points. Such directions adapt to the shape
        of the polytope, so that a long and thin one takes no more steps than a cube.
        """
        center = self.center()
        if center is None:
            return None
        points = np.tile(center, (n, 1))
        for sweep in range(40 + 10 * len(center)):
            directions = rng.standard_normal(points.shape)
            if sweep % 4:
                others = (np.arange(n) + rng.integers(1, n, size=(2, n))) % n
                directions = points[others[0]] - points[others[1]] + 1e-12 * directions
            shortest, longest = self._chords(points, directions)
            points = points + rng.uniform(shortest, longest)[:, None] * directions
        return np.clip(points, 0.0, 1.0)

    def _chords(self, points: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distances from points to the boundary along directions: backwards (negative) and forwards."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = directions @ self.A.T
            ends = (self.b - points @ self.A.T) / rates
            to_zero, to_one = -points / directions, (1.0 - points) / directions
        forwards = np.fmin(
            np.where(rates > 0.0, ends, np.inf).min(axis=1), np.fmax(to_zero, to_one).min(axis=1)
        )
        backwards = np.fmax(
            np.where(rates < 0.0, ends, -np.inf).max(axis=1), np.fmin(to_zero, to_one).max(axis=1)
        )
        # A point may be outside by rounding.
        return np.minimum(backwards, 0.0), np.maximum(forwards, 0.0)


def linear_rows(space: Space, constraints: Sequence[Constraint]) -> tuple[FloatArray, FloatArray, list[int]]:
    """Linear constraints as inequalities A t <= b, where each parameter is low + t (high - low).

    Parameters
    ----------
    space : Space
    constraints : sequence of Constraint
        Each linear in the parameters that it mentions.

    Returns
    -------
    A : array of shape (k, len(space))
    b : array of shape (k,)
    owners : list of k ints
        The constraint of each row; a constraint with two limits has two rows.
    """
    names = parameter_names(space)
    low, width = {}, {}
    for name, dimension in zip(names, space.dimensions, strict=True):
        low[name], high = value_range(dimension)
        width[name] = high - low[name]
    A, b, owners = [], [], []
    for i, constraint in enumerate(constraints):
        value, gradient = constraint.expression.value_and_gradient(low, sorted(constraint.names))
        row = np.array([float(gradient[name]) * width[name] if name in gradient else 0.0 for name in names])
        size = float(np.abs(row).max()) or 1.0
        if not np.isfinite(size) or not np.isfinite(value):
            continue
        for limit, sign in ((constraint.upper, 1.0), (constraint.lower, -1.0)):
            if np.isfinite(limit):
                A.append(sign * row / size)
                b.append(sign * (limit - float(value)) / size)
                owners.append(i)
    return np.array(A).reshape(len(A), len(names)), np.array(b), owners
