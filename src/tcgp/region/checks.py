"""The kinds of known constraints: expressions, yes-or-no functions, and SciPy's."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tcgp._text import plain, printable, shorten
from tcgp._threads import cached_property
from tcgp._typing import BoolArray, FloatArray
from tcgp.expressions import Constraint, parse_constraint, quote_name
from tcgp.space import Categorical, Point, Real, Space, parameter_names

__all__ = ["Check", "Numbers", "Predicate", "as_checks", "slope"]

_STEP = 1e-7  # of finite differences, in shares of the range


def slope(dimension: Real, value: Any) -> Any:
    """Derivative of a real parameter with respect to its code, at a value or at many."""
    if dimension.log:
        return value * math.log(dimension.high / dimension.low)
    return dimension.high - dimension.low


@dataclass(frozen=True)
class Predicate:
    """A function that says whether a point is allowed."""

    space: Space
    function: Callable[[Any], object]

    @property
    def text(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__name__", None) or shorten(repr(self.function), 60))

    def violation(self, point: Point) -> float:
        """0 if the point is allowed, infinite if not."""
        answer = self.function(self.space.as_argument(point))
        if not isinstance(answer, bool | np.bool_):
            raise ValueError(
                f"constraints: {self.text} must return True or False, got {shorten(repr(answer), 60)}; "
                "use scipy.optimize.NonlinearConstraint for numbers"
            )
        return 0.0 if answer else np.inf


@dataclass(frozen=True)
class Numbers:
    """A `scipy.optimize.NonlinearConstraint`: some numbers, each between two limits."""

    space: Space
    constraint: Any

    @property
    def text(self) -> str:
        """Name of the function."""
        function = self.constraint.fun
        return str(getattr(function, "__name__", None) or shorten(repr(function), 60))

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits of the numbers."""
        lower, upper = (np.asarray(limit, dtype=float) for limit in (self.constraint.lb, self.constraint.ub))
        return lower, upper

    def violation(self, point: Point) -> float:
        """Largest distance of the numbers to their ranges; infinite where one is not a number."""
        values = self._values(np.array(point, dtype=np.float64))
        lower, upper = self.limits
        largest = float(np.maximum(lower - values, values - upper).max(initial=0.0))
        return math.inf if math.isnan(largest) else largest

    def slacks(self, point: Point) -> FloatArray:
        """Distances of the numbers to their finite limits, negative outside."""
        return self._slacks(np.array(point, dtype=np.float64))

    def slack_gradients(self, point: Point) -> FloatArray:
        """Derivatives of `slacks` with respect to the parameters, of shape (k, len(space))."""
        x = np.array(point, dtype=np.float64)
        jac = getattr(self.constraint, "jac", None)
        if callable(jac):
            answer = jac(x)
            jacobian = np.atleast_2d(answer.toarray() if hasattr(answer, "toarray") else answer)
            return np.concatenate([sign * jacobian[rows] for _, sign, rows in self._rows(len(jacobian))])
        slacks = self._slacks(x)
        gradients = np.zeros((len(slacks), len(x)))
        for i, dimension in enumerate(self.space.dimensions):
            if isinstance(dimension, Real) and dimension.continuous:
                step = _STEP * slope(dimension, x[i])
                moved = x.copy()
                moved[i] += step if x[i] + step <= dimension.high else -step
                gradients[:, i] = (self._slacks(moved) - slacks) / (moved[i] - x[i])
        return gradients

    def _values(self, x: FloatArray) -> FloatArray:
        values = np.atleast_1d(np.asarray(self.constraint.fun(x), dtype=np.float64))
        if values.ndim != 1:
            raise ValueError(
                f"constraints: {self.text} must return a number or a list of numbers, got {plain(values)}"
            )
        return values

    def _slacks(self, x: FloatArray) -> FloatArray:
        values = self._values(x.copy())
        return np.concatenate(
            [sign * (values - limit)[rows] for limit, sign, rows in self._rows(len(values))]
        )

    def _rows(self, n: int) -> list[tuple[FloatArray, float, BoolArray]]:
        """Lower and upper limits of n numbers, the signs of their slacks, and which limits are finite."""
        limits = [np.broadcast_to(limit, (n,)) for limit in self.limits]
        return [(limit, sign, np.isfinite(limit)) for limit, sign in zip(limits, (1.0, -1.0), strict=True)]


Check: TypeAlias = Constraint | Numbers | Predicate


def as_checks(space: Space, constraints: Sequence[object]) -> list[Check]:
    """The constraints as checks; ValueError for those that do not fit the space."""
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        raise TypeError(f"constraints must be a list, got {plain(constraints)}; write [{plain(constraints)}]")
    return [check for item in constraints for check in _as_checks(space, item)]


def _as_checks(space: Space, item: object) -> Sequence[Check]:
    if isinstance(item, Numbers | Predicate):
        return (item,)
    if isinstance(item, str):
        item = parse_constraint(item, parameter_names(space))
    if isinstance(item, Constraint):
        item = (item,)
    if isinstance(item, tuple) and item and all(isinstance(part, Constraint) for part in item):
        for constraint in item:
            _check_names(space, constraint)
        return item
    if hasattr(item, "lb") and hasattr(item, "ub"):
        _check_numeric(space, item)
        if hasattr(item, "A"):
            return _rows(space, item)
        if hasattr(item, "fun"):
            if not space.size < np.inf and np.any(np.asarray(item.lb) == np.asarray(item.ub)):
                raise _equality(Numbers(space, item).text)
            return (Numbers(space, item),)
    if callable(item):
        return (Predicate(space, item),)
    raise TypeError(
        'constraints must be text such as "a <= 2 * b", functions that return True or False, or '
        f"scipy.optimize.LinearConstraint or NonlinearConstraint, got {shorten(plain(item), 100)}"
    )


def _rows(space: Space, linear: Any) -> list[Constraint]:
    """The rows of a `scipy.optimize.LinearConstraint` as expressions."""
    dense = linear.A.toarray() if hasattr(linear.A, "toarray") else linear.A
    matrix = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] != len(space) or not np.isfinite(matrix).all():
        raise ValueError(
            f"constraints: the matrix of a LinearConstraint must have {len(space)} columns of finite numbers, one "
            f"for each parameter, got the shape {matrix.shape}"
        )
    lower, upper = (np.broadcast_to(limit, (len(matrix),)) for limit in (linear.lb, linear.ub))
    names = parameter_names(space)
    found: list[Constraint] = []
    for row, low, high in zip(matrix.tolist(), lower.tolist(), upper.tolist(), strict=True):
        text = " + ".join(f"{a!r} * {quote_name(name)}" for a, name in zip(row, names, strict=True) if a)
        if not text or not (np.isfinite(low) or np.isfinite(high)):
            if text or low <= 0.0 <= high:
                continue
            raise ValueError(
                f"constraints: a row of zeros in a LinearConstraint must allow 0, got {low} to {high}"
            )
        text = text if high == np.inf else f"{text} <= {high!r}"
        text = text if low == -np.inf else f"{low!r} <= {text}"
        for constraint in parse_constraint(text, names):
            _check_names(space, constraint)
            found.append(constraint)
    return found


def _check_names(space: Space, constraint: Constraint) -> None:
    """Refuse unknown names, parameters that are not numbers, and equalities."""
    dimensions = dict(zip(parameter_names(space), space.dimensions, strict=True))
    text = printable(shorten(constraint.text, 100))
    for name in sorted(constraint.names):
        if name not in dimensions:
            near = difflib.get_close_matches(name, dimensions, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(dimensions)}"
            raise ValueError(f'constraints: "{text}" mentions {name!r}, which is not a parameter: {hint}')
        dimension = dimensions[name]
        if isinstance(dimension, Categorical) and not dimension.numeric:
            raise ValueError(
                f'constraints: "{text}" computes with {name!r}, whose choices are not all numbers; '
                f"use a function that returns True or False, such as lambda x: x[{name!r}] != "
                f"{dimension.choices[0]!r}"
            )
    real = {name for name, dimension in dimensions.items() if dimension.continuous}
    if constraint.lower == constraint.upper and constraint.names & real:
        raise _equality(text)


def _check_numeric(space: Space, item: object) -> None:
    """Refuse SciPy's constraints if points are not vectors of numbers."""
    for name, dimension in zip(parameter_names(space), space.dimensions, strict=True):
        if isinstance(dimension, Categorical) and not _is_fixed_number(dimension):
            raise ValueError(
                f"constraints: a {type(item).__name__} needs numbers only, and {name!r} is a Categorical; "
                'use text such as "a <= 2 * b", or a function that returns True or False'
            )


def _is_fixed_number(dimension: Categorical) -> bool:
    return len(dimension.choices) == 1 and dimension.numeric


def _equality(text: str) -> ValueError:
    return ValueError(
        f'constraints: "{text}" is an equality, which leaves nothing to search: allow a tolerance, or leave one of '
        "the parameters out and compute it"
    )
