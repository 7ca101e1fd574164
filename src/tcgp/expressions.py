"""A small grammar of constraints: arithmetic on parameters and outputs, compared with limits.

A constraint is text such as ``"width <= 0.5 * height"`` or ``"0.2 <= a / b <= 3"``. The text is parsed here and never
executed as code. The grammar, with the precedence of Python:

- numbers (``2``, ``0.5``, ``1e-3``), and the constants ``pi`` and ``e``;
- names: letters, digits, ``_``, and dots between words; any other name stands between backticks, ``` `odd name` ```,
  where a backtick is written twice;
- ``+  -  *  /  **``, parentheses, and the functions ``abs sqrt exp log log10 sin cos tan min max``;
- one comparison or a chain of them, all in one direction: ``<=  <  >=  >``, where ``<`` means the same as ``<=``.

``pi`` and ``e`` are constants unless they stand between backticks or are names of a parameter or an output.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tcgp._text import plain, printable, shorten
from tcgp._typing import ArrayLike, FloatArray

__all__ = ["Constraint", "Expression", "parse_constraint", "quote_name"]

MAX_LENGTH = 20_000  # characters of a text
MAX_DEPTH = 50  # of parentheses, functions and powers inside each other

_CONSTANTS = {"pi": math.pi, "e": math.e}
# Instructions of a stack machine, in order: ("number", 2.0), ("name", "width"), ("*", 2), where 2 is the number of
# arguments. They are run by a loop, not by recursion.
Instruction: TypeAlias = tuple[str, float | str]
# A value and its derivatives with respect to the names on which it depends.
Dual: TypeAlias = tuple[FloatArray, dict[str, FloatArray]]


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of named numbers.

    Attributes
    ----------
    text : str
    program : tuple of instructions
    names : frozenset of str
        The names it uses.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.expressions import Expression
    >>> area = Expression.parse("pi * r ** 2")
    >>> area({"r": np.array([1.0, 2.0])}).round(2)
    array([ 3.14, 12.57])
    >>> value, gradient = area.value_and_gradient({"r": np.array([1.0, 2.0])}, ["r"])
    >>> gradient["r"].round(2)
    array([ 6.28, 12.57])
    """

    text: str
    program: tuple[Instruction, ...]
    names: frozenset[str]

    @property
    def names_in_order(self) -> list[str]:
        """The names, in order of first use."""
        return list(
            dict.fromkeys(str(argument) for operation, argument in self.program if operation == "name")
        )

    @classmethod
    def parse(cls, text: str, names: Collection[str] = ()) -> Expression:
        """Read an expression.

        Parameters
        ----------
        text : str
        names : collection of str
            Names of parameters and outputs; ``pi`` and ``e`` are constants unless they are among them.

        Raises
        ------
        ValueError
            With the column of the first character that does not fit.
        """
        parser = _Parser(text, names)
        expression = parser.expression()
        if parser.token.kind != "end":
            raise parser.unexpected("an operator or the end")
        return expression

    def __call__(self, values: Mapping[str, ArrayLike]) -> FloatArray:
        """Values, of the common shape of those of the names; NaN where the expression is not defined."""
        return self.evaluate(values, ())[0]

    def value_and_gradient(
        self, values: Mapping[str, ArrayLike], wrt: Sequence[str]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Values, and their derivatives with respect to the names in ``wrt``, by forward differentiation.

        Parameters
        ----------
        values : mapping from names to arrays of one shape
        wrt : sequence of str

        Returns
        -------
        value : array
        gradient : dict from the names in ``wrt`` to arrays of the shape of ``value``
        """
        value, derivatives = self.evaluate(values, wrt)
        zero = np.zeros_like(value)
        return value, {name: np.broadcast_to(derivatives.get(name, zero), value.shape) for name in wrt}

    def is_linear_in(self, names: Collection[str]) -> bool:
        """Whether it is visibly linear in ``names`` for fixed other names."""
        degrees: list[int] = []  # 0: does not depend on the names; 1: linear; 2: not, or unknown
        for operation, argument in self.program:
            if operation in ("number", "name"):
                degrees.append(int(operation == "name" and argument in names))
                continue
            n = int(argument)
            parts = degrees[-n:]
            del degrees[-n:]
            if operation in ("+", "-", "negative"):
                degree = max(parts)
            elif operation == "*" or (operation == "/" and not parts[1]):
                degree = sum(parts)
            else:
                degree = 2 * max(parts)
            degrees.append(min(degree, 2))
        return degrees[0] < 2

    def minus(self, other: Expression) -> Expression:
        """The difference of two expressions."""
        text = f"({other.text})" if other.program[-1][0] in ("+", "-") else other.text
        program = (*self.program, *other.program, ("-", 2))
        return Expression(f"{self.text} - {text}", program, self.names | other.names)

    def evaluate(self, values: Mapping[str, ArrayLike], wrt: Collection[str]) -> Dual:
        """Value, and derivatives with respect to ``wrt``."""
        stack: list[Dual] = []
        with np.errstate(all="ignore"):
            for operation, argument in self.program:
                if operation == "number":
                    stack.append((np.asarray(argument, dtype=np.float64), {}))
                elif operation == "name":
                    name = str(argument)
                    value = np.asarray(values[name], dtype=np.float64)
                    stack.append((value, {name: np.ones_like(value)} if name in wrt else {}))
                else:
                    n = int(argument)
                    arguments = stack[-n:]
                    del stack[-n:]
                    stack.append(_apply(operation, arguments))
        return stack[0]


@dataclass(frozen=True)
class Constraint:
    """An expression and its limits: ``lower <= expression <= upper``.

    Attributes
    ----------
    text : str
        What the user wrote, or the part of it that is this constraint.
    expression : Expression
    lower, upper : float
        Limits; infinite where there is none.
    """

    text: str
    expression: Expression
    lower: float
    upper: float

    @property
    def names(self) -> frozenset[str]:
        """The names it uses."""
        return self.expression.names

    def violation(self, values: Mapping[str, ArrayLike]) -> FloatArray:
        """Distance of the expression from its range: 0 inside, infinite where it is not defined."""
        value = self.expression(values)
        with np.errstate(invalid="ignore"):
            outside = np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0)
        return np.where(np.isnan(outside), np.inf, outside)

    def is_linear_in(self, names: Collection[str]) -> bool:
        """Whether the expression is visibly linear in ``names`` for fixed other names."""
        return self.expression.is_linear_in(names)


def parse_constraint(text: str, names: Collection[str] = ()) -> tuple[Constraint, ...]:
    """Read a constraint.

    Parameters
    ----------
    text : str
        One comparison, or a chain of them.
    names : collection of str
        Names of parameters and outputs; ``pi`` and ``e`` are constants unless they are among them.

    Returns
    -------
    tuple of Constraint
        One; two for a chain such as ``a <= b <= c``. If one side is a number, the other side is the expression;
        otherwise the expression is the difference of both, with the limit 0.

    Raises
    ------
    ValueError
        With the column of the first character that does not fit.

    Examples
    --------
    >>> from tcgp.expressions import parse_constraint
    >>> (stress,) = parse_constraint("stress <= 250")
    >>> stress.expression.text, stress.lower, stress.upper
    ('stress', -inf, 250.0)
    >>> (slim,) = parse_constraint("width <= 0.5 * height")
    >>> slim.expression.text, slim.upper, sorted(slim.names)
    ('width - 0.5 * height', 0.0, ['height', 'width'])
    >>> parse_constraint("stress <=")
    Traceback (most recent call last):
    ...
    ValueError: constraints: "stress <=" ends at column 10 where a number, a name or "(" was expected
    """
    return _Parser(text, names).constraints()


def quote_name(name: str) -> str:
    """The name as the grammar needs it: between backticks unless it is plain.

    Examples
    --------
    >>> from tcgp.expressions import quote_name
    >>> quote_name("width"), quote_name("odd name")
    ('width', '`odd name`')
    """
    if name not in _CONSTANTS and all(part.isidentifier() for part in name.split(".")):
        return name
    return "`" + name.replace("`", "``") + "`"


# ---- the operations: values and partial derivatives ----


class _Operation(NamedTuple):
    """A function of some numbers, and its partial derivatives from its value and these numbers."""

    value: Callable[..., FloatArray]
    partials: Callable[..., Sequence[FloatArray | float]]


def _apply(operation: str, arguments: Sequence[Dual]) -> Dual:
    """An operation on values with derivatives: the chain rule."""
    values = [value for value, _ in arguments]
    function = _OPERATIONS[operation]
    result = np.asarray(function.value(*values))
    names = {name for _, derivatives in arguments for name in derivatives}
    if not names:
        return result, {}
    partials = function.partials(result, *values)
    pairs = list(zip(partials, arguments, strict=True))
    return result, {
        name: sum((p * d[name] for p, (_, d) in pairs if name in d), start=np.zeros_like(result))
        for name in names
    }


def _defined(condition: FloatArray, value: FloatArray) -> FloatArray:
    """The value where the condition holds, and NaN elsewhere, where NumPy would give infinity."""
    return np.where(condition, value, np.nan)


def _power(x: FloatArray, y: FloatArray) -> FloatArray:
    if y.ndim == 0 and y >= 0.0:
        return np.asarray(x ** float(y))  # ten times faster for squares
    return _defined((x != 0.0) | (y >= 0.0), np.power(x, y))


def _power_partials(f: FloatArray, x: FloatArray, y: FloatArray) -> Sequence[FloatArray]:
    return np.where(y == 0.0, 0.0, y * np.power(x, y - 1.0)), f * np.log(x)


def _smallest(*values: FloatArray) -> FloatArray:
    return np.asarray(np.min(np.broadcast_arrays(*values), axis=0))


def _largest(*values: FloatArray) -> FloatArray:
    return np.asarray(np.max(np.broadcast_arrays(*values), axis=0))


def _chosen(f: FloatArray, *values: FloatArray) -> Sequence[FloatArray]:
    """1 for the first of the values that is the result, 0 for the others."""
    first = np.argmax([value == f for value in np.broadcast_arrays(*values)], axis=0)
    return [(first == i).astype(np.float64) for i in range(len(values))]


_OPERATIONS = {
    "+": _Operation(np.add, lambda f, x, y: (1.0, 1.0)),
    "-": _Operation(np.subtract, lambda f, x, y: (1.0, -1.0)),
    "*": _Operation(np.multiply, lambda f, x, y: (y, x)),
    "/": _Operation(lambda x, y: _defined(y != 0.0, x / y), lambda f, x, y: (1.0 / y, -f / y)),
    "**": _Operation(_power, _power_partials),
    "negative": _Operation(np.negative, lambda f, x: (-1.0,)),
    "abs": _Operation(np.abs, lambda f, x: (np.sign(x),)),
    "sqrt": _Operation(np.sqrt, lambda f, x: (0.5 / f,)),
    "exp": _Operation(np.exp, lambda f, x: (f,)),
    "log": _Operation(lambda x: _defined(x > 0.0, np.log(x)), lambda f, x: (1.0 / x,)),
    "log10": _Operation(lambda x: _defined(x > 0.0, np.log10(x)), lambda f, x: (1.0 / (x * math.log(10.0)),)),
    "sin": _Operation(np.sin, lambda f, x: (np.cos(x),)),
    "cos": _Operation(np.cos, lambda f, x: (-np.sin(x),)),
    "tan": _Operation(np.tan, lambda f, x: (1.0 + f**2,)),
    "min": _Operation(_smallest, _chosen),
    "max": _Operation(_largest, _chosen),
}
_FUNCTIONS = tuple(name for name in _OPERATIONS if name.isalnum() and name != "negative")
_ANY_NUMBER = ("min", "max")  # functions of any number of arguments


# ---- the parser: one method per rule of the grammar ----

_TOKEN = re.compile(
    r"""(?P<number> (?: [0-9]+ \.? [0-9]* | \. [0-9]+ ) (?: [eE] [+-]? [0-9]+ )? )
      | (?P<quoted> ` (?: [^`] | `` )* ` )
      | (?P<name> [^\W\d] \w* (?: \. [^\W\d] \w* )* )
      | (?P<symbol> \*\* | <= | >= | == | != | [-+*/()<>,^=≤≥] )""",
    re.VERBOSE,
)
_SMALLER, _GREATER = ("<=", "<", "≤"), (">=", ">", "≥")
_OPERAND = 'a number, a name or "("'
_INSTEAD = {
    "^": "write ** for a power",
    "=": "write <= or >=",
    "==": 'allow a tolerance, as in "abs(a - b) <= 0.01", or leave one of the parameters out and compute it',
    "!=": "leave it out, because it excludes only single points",
}


class _Token(NamedTuple):
    kind: str  # number, name, quoted, symbol or end
    text: str
    start: int

    def is_symbol(self, *texts: str) -> bool:
        return self.kind == "symbol" and self.text in texts


class _Operand(NamedTuple):
    expression: Expression
    start: int
    end: int


class _Parser:
    """Recursive descent over the tokens of one text; each rule appends its instructions to the program."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        if not isinstance(text, str):
            raise TypeError(f'constraints must be text such as "a <= 2 * b", got {plain(text)}')
        self.text, self.declared = text, names
        if len(text) > MAX_LENGTH:
            raise self.error("continues", MAX_LENGTH, f", but may have at most {MAX_LENGTH} characters")
        self.program: list[Instruction] = []
        self.depth = self.previous_end = 0
        self.tokens = self._tokens()
        self.token = next(self.tokens)

    # -- rules --

    def constraints(self) -> tuple[Constraint, ...]:
        """expression (comparison expression)+"""
        operands, comparisons = [self._operand()], []
        while self.token.is_symbol(*_SMALLER, *_GREATER):
            comparisons.append(self.take())
            operands.append(self._operand())
        if self.token.kind != "end" or not comparisons:
            raise self.unexpected("an operator or the end" if comparisons else 'an operator, "<=" or ">="')
        upward = comparisons[0].text in _SMALLER
        for other in comparisons[1:]:
            if (other.text in _SMALLER) != upward:
                raise self.error("changes direction", other.start, ", but a chain must have one direction")
        pairs = list(itertools.pairwise(operands))
        parts = [self._between(*(pair if upward else pair[::-1]), self._text_of(*pair)) for pair in pairs]
        if (
            len(parts) == 2 and parts[0].expression is parts[1].expression
        ):  # two limits of what is between them
            lower = max(part.lower for part in parts)
            upper = min(part.upper for part in parts)
            if lower > upper:
                limits = f"has the limits {lower:g} and {upper:g}"
                raise self.error(limits, operands[0].start, " in the wrong order")
            return (Constraint(self._text_of(operands[0], operands[2]), parts[0].expression, lower, upper),)
        return tuple(parts)

    def expression(self) -> Expression:
        """sum"""
        first, start = len(self.program), self.token.start
        self._sum()
        program = tuple(self.program[first:])
        names = frozenset(str(argument) for operation, argument in program if operation == "name")
        return Expression(self.text[start : self.previous_end], program, names)

    def _sum(self) -> None:
        """product (("+" | "-") product)*"""
        self._product()
        while self.token.is_symbol("+", "-"):
            operator = self.take().text
            self._product()
            self.program.append((operator, 2))

    def _product(self) -> None:
        """signed (("*" | "/") signed)*"""
        self._signed()
        while self.token.is_symbol("*", "/"):
            operator = self.take().text
            self._signed()
            self.program.append((operator, 2))

    def _signed(self) -> None:
        """("+" | "-")* atom ["**" signed]"""
        negative = False
        while self.token.is_symbol("+", "-"):
            negative ^= self.take().text == "-"
        self._atom()
        if self.token.is_symbol("**"):
            with self._deeper():
                self.take()
                self._signed()
            self.program.append(("**", 2))
        if negative:
            self.program.append(("negative", 1))

    def _atom(self) -> None:
        """number | name | function "(" arguments ")" | "(" sum ")" """
        token = self.token
        if token.kind == "number":
            number = float(token.text)
            if math.isinf(number):
                raise self.error(f"has {shorten(token.text, 20)}", token.start, ", which is too large")
            self.program.append(("number", number))
            self.take()
        elif token.kind == "quoted":
            self.program.append(("name", token.text[1:-1].replace("``", "`")))
            self.take()
        elif token.kind == "name":
            self.take()
            if self.token.is_symbol("("):
                self._call(token)
            elif token.text in _CONSTANTS and token.text not in self.declared:
                self.program.append(("number", _CONSTANTS[token.text]))
            else:
                self.program.append(("name", token.text))
        elif token.is_symbol("("):
            with self._deeper():
                self.take()
                self._sum()
                self._close('an operator or ")"')
        else:
            raise self.unexpected(_OPERAND)

    def _call(self, function: _Token) -> None:
        """ "(" sum ("," sum)* ")" after the name of a function"""
        if function.text not in _FUNCTIONS:
            known = ", ".join(_FUNCTIONS)
            raise self.error(
                f'has an unknown function "{function.text}"', function.start, f" (known are {known})"
            )
        with self._deeper():
            self.take()
            self._sum()
            n = 1
            while self.token.is_symbol(",") and function.text in _ANY_NUMBER:
                self.take()
                self._sum()
                n += 1
            self._close('an operator, "," or ")"' if function.text in _ANY_NUMBER else 'an operator or ")"')
        self.program.append((function.text, n))

    def _close(self, expected: str) -> None:
        if not self.token.is_symbol(")"):
            raise self.unexpected(expected)
        self.take()

    def _operand(self) -> _Operand:
        start = self.token.start
        return _Operand(self.expression(), start, self.previous_end)

    def _text_of(self, first: _Operand, last: _Operand) -> str:
        return self.text[first.start : last.end]

    def _between(self, low: _Operand, high: _Operand, text: str) -> Constraint:
        """low <= high as a constraint"""
        if low.expression.names and high.expression.names:
            return Constraint(text, low.expression.minus(high.expression), -math.inf, 0.0)
        if low.expression.names:
            return Constraint(text, low.expression, -math.inf, self._limit(high))
        if high.expression.names:
            return Constraint(text, high.expression, self._limit(low), math.inf)
        start = min(low.start, high.start)
        raise self.error("compares only numbers", start, " where a name was expected")

    def _limit(self, operand: _Operand) -> float:
        """The value of an expression without names."""
        limit = float(operand.expression({}))
        if not math.isfinite(limit):
            text = shorten(operand.expression.text, 60)
            raise self.error(f'has the limit "{text}"', operand.start, ", which is not a finite number")
        return limit

    # -- tokens --

    def _tokens(self) -> Iterator[_Token]:
        """The tokens one by one, so that the first error in the text is reported."""
        position = 0
        while True:
            while position < len(self.text) and self.text[position].isspace():
                position += 1
            if position == len(self.text):
                break
            match = _TOKEN.match(self.text, position)
            if match is None:
                if self.text[position] == "`":
                    raise self.error("opens a quoted name", position, " and never closes it")
                character = self.text[position]
                raise self.error(f'has "{character}"', position, ", which has no meaning here")
            token = _Token(str(match.lastgroup), match.group(), position)
            if token.kind == "name" and not all(part.isidentifier() for part in token.text.split(".")):
                what = f'has "{shorten(token.text, 60)}"'
                raise self.error(what, position, ", which must be between backticks")
            if token.kind == "quoted" and token.text == "``":
                raise self.error("has an empty name", position, " between backticks")
            if token.is_symbol(*_INSTEAD):
                raise self.error(f'has "{token.text}"', position, f": {_INSTEAD[token.text]}")
            position = match.end()
            yield token
        while True:
            yield _Token("end", "", len(self.text))

    def take(self) -> _Token:
        """Return the current token and advance."""
        token = self.token
        self.previous_end = token.start + len(token.text)
        self.token = next(self.tokens)
        return token

    # -- errors --

    def unexpected(self, expected: str) -> ValueError:
        """The error for an unexpected token."""
        what = "ends" if self.token.kind == "end" else f'has "{shorten(self.token.text, 60)}"'
        return self.error(what, self.token.start, f" where {expected} was expected")

    def error(self, what: str, position: int, why: str) -> ValueError:
        """One sentence with the column, which counts from 1."""
        text = shorten(self.text, 100)
        return ValueError(printable(f'constraints: "{text}" {what} at column {position + 1}{why}'))

    @contextlib.contextmanager
    def _deeper(self) -> Iterator[None]:
        """One level deeper inside the ``with`` block."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("is nested too deep", self.token.start, f": {MAX_DEPTH} levels are allowed")
        yield
        self.depth -= 1
