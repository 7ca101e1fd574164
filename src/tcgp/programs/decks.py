"""Input files of a program, with placeholders for parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp.expressions import Expression
from tcgp.programs.command import as_text

__all__ = ["Deck"]

_HOLE = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Deck:
    """The text of an input file, with placeholders such as ``{{ width }}`` for parameters.

    A placeholder holds a name or an expression of names, and may end with a format of Python: ``{{ width:.3e }}``,
    ``{{ 2 * width + gap :g }}``. See ``tcgp.expressions`` for the grammar. Single braces are text.

    Examples
    --------
    >>> from tcgp.programs import Deck
    >>> text = ".param w={{ width:.2e }} area={{ width * length }} type={{kind}}"
    >>> deck = Deck.parse(text, ["width", "length", "kind"])
    >>> deck.fill({"width": 5e-6, "length": 2, "kind": "nmos"})
    '.param w=5.00e-06 area=1e-05 type=nmos'
    """

    text: str
    holes: Mapping[str, tuple[Expression, str]]  # by the words between braces: an expression, and a format
    names: frozenset[str]

    @classmethod
    def parse(cls, text: str, names: Collection[str]) -> Deck:
        """Read a text; ValueError with the number of the line if a placeholder cannot be understood."""
        holes = {}
        for number, line in enumerate(text.splitlines(), start=1):
            for words in _HOLE.findall(line):
                inside, _, style = words.rpartition(":") if ":" in words else (words, "", "")
                try:
                    holes[words] = Expression.parse(inside.strip(), names), style.strip()
                except ValueError as error:
                    raise ValueError(
                        f"line {number} has the placeholder '{{{{{words}}}}}': {error}"
                    ) from None
            rest = _HOLE.sub("", line)
            if "{{" in rest:
                raise ValueError(f"line {number} has '{{{{' without '}}}}': {rest.strip()[:60]}")
        return cls(
            text, holes, frozenset(name for expression, _ in holes.values() for name in expression.names)
        )

    def fill(self, values: Mapping[str, Any]) -> str:
        """The text with all placeholders replaced; ValueError if one has no value for these parameters."""
        filled = {words: _filled(words, *hole, values) for words, hole in self.holes.items()}
        return _HOLE.sub(lambda hole: filled[hole[1]], self.text)


def _filled(words: str, expression: Expression, style: str, values: Mapping[str, Any]) -> str:
    """A placeholder filled: a parameter alone as it is, an expression as a number."""
    name = expression.names_in_order[0] if len(expression.program) == 1 and expression.names else None
    value: Any = values.get(name) if name is not None else None
    if name is None:
        wrong = [n for n in sorted(expression.names) if not isinstance(values.get(n), int | float)]
        if wrong:
            raise ValueError(
                f"the placeholder '{{{{{words}}}}}' computes with {wrong[0]!r}, which is no number"
            )
        value = float(expression({n: np.array([float(values[n])]) for n in expression.names}).ravel()[0])
        if not math.isfinite(value):
            given = ", ".join(f"{n} = {values[n]!r}" for n in sorted(expression.names))
            raise ValueError(f"the placeholder '{{{{{words}}}}}' has no value at {given}")
    try:
        return format(value, style) if style else as_text(value)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"the placeholder '{{{{{words}}}}}' has a format that does not fit: {error}"
        ) from None
