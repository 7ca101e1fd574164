"""Options of the methods: meanings, defaults, and allowed values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tcgp._text import plain

__all__ = ["Option", "check_options"]


@dataclass(frozen=True)
class Option:
    """One option of a method.

    Attributes
    ----------
    default : object
    meaning : str
    choices : tuple
        The values it takes, if they are few.
    low, high : float
        The range of a number, ends included unless ``open_low`` or ``open_high``.
    open_low, open_high : bool
    integer : bool
        Whether the number is whole.
    optional : bool
        Whether None is a value too.

    Examples
    --------
    >>> from tcgp.methods.options import Option
    >>> level = Option(0.05, "level of a quantile", low=0.0, high=1.0, open_low=True)
    >>> level.values
    'a number in (0, 1]'
    >>> level.check("delta", 2.0)
    Traceback (most recent call last):
        ...
    ValueError: delta must be a number in (0, 1], got 2.0
    """

    default: Any
    meaning: str
    choices: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False
    optional: bool = False

    @property
    def values(self) -> str:
        """The values it takes, in words."""
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        text = "a whole number" if self.integer else "a number"
        if math.isfinite(self.high):
            ends = ("(" if self.open_low else "[") + f"{self.low:g}, {self.high:g}"
            text += f" in {ends}{')' if self.open_high else ']'}"
        elif math.isfinite(self.low):
            text += f" {'above' if self.open_low else 'of at least'} {self.low:g}"
        return f"{text}, or None" if self.optional else text

    def check(self, name: str, value: object) -> None:
        """Refuse a value that the option does not allow."""
        if not (value is None and self.optional) and not self._takes(value):
            raise ValueError(f"{name} must be {self.values}, got {plain(value)}")

    def with_default(self, default: Any) -> Option:
        """The same option with another default."""
        return replace(self, default=default)

    def _takes(self, value: object) -> bool:
        if isinstance(value, bool) or isinstance(self.default, bool):
            return any(value is choice for choice in self.choices)
        if self.choices:
            return isinstance(value, str | numbers.Real) and value in self.choices
        if not isinstance(value, numbers.Integral if self.integer else numbers.Real):
            return False
        number = float(value)
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below and math.isfinite(number)


def check_options(method: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all options of a method: those given, checked, and the defaults of the others.

    Raises
    ------
    TypeError
        If the method has no option of a given name.
    ValueError
        If an option does not take the value given.
    """
    for name, value in given.items():
        if name not in known:
            raise TypeError(
                f"method {method!r} has no option {plain(name)}: it takes {', '.join(sorted(known))}"
            )
        known[name].check(name, value)
    return {name: given.get(name, option.default) for name, option in known.items()}
