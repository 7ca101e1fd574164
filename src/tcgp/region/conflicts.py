"""Find constraints that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tcgp._text import printable, shorten
from tcgp._typing import FloatArray
from tcgp.space import Point, Space, parameter_names

__all__ = ["describe_closest", "join", "smallest_conflict"]


def smallest_conflict(n: int, is_empty: Callable[[list[int]], bool]) -> list[int]:
    """A smallest conflict among n constraints: none of them can be left out.

    Examples
    --------
    >>> from tcgp.region.conflicts import smallest_conflict
    >>> smallest_conflict(4, lambda some: 1 in some and 3 in some)
    [1, 3]
    """
    kept = list(range(n))
    for i in range(n):
        others = [j for j in kept if j != i]
        if others and is_empty(others):
            kept = others
    return kept


def join(labels: Sequence[str]) -> str:
    """The constraints in one phrase."""
    quoted = [f'"{printable(shorten(label, 80))}"' for label in labels]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def describe_closest(space: Space, point: Point, labels: Sequence[str], violations: FloatArray) -> str:
    """The point with the smallest violations, in words."""
    values = (f"{value:.6g}" if isinstance(value, float) else repr(value) for value in point)
    where = ", ".join(f"{name} = {value}" for name, value in zip(parameter_names(space), values, strict=True))
    broken = [(label, v) for label, v in zip(labels, violations.tolist(), strict=True) if v > 0.0]
    amounts = [f'"{printable(shorten(label, 80))}" by {v:.3g}' for label, v in broken]
    return f"the closest, {shorten(where, 200)}, violates {' and '.join(amounts)}"
