"""The parameters of a problem, and their representation in the unit cube, where the model works.

A point is a plain sequence with one value per parameter: a float, an int or a choice. The model sees the point's
code, a vector of [0, 1]^c:

- a `Real` is one coordinate, linear or logarithmic between its bounds;
- an `Integer`, a `Real` with a step and an ordered `Categorical` are one coordinate, cut into equal cells, and only the
  centres of the cells are codes;
- a `Categorical` of k > 2 choices is k coordinates, one of them 1 and the others 0, so that all choices are
  equally far from each other; two choices need one coordinate, 0 or 1. More than 64 choices are 64 coordinates, 0 or 1
  by a hash of the choice: about half of them differ between any two choices, and the cost no longer grows with k.

A fixed parameter has no coordinate.
"""

from __future__ import annotations

import bisect
import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from hashlib import sha256
from typing import Any, TypeAlias, cast

import numpy as np

from tcgp._text import plain, printable, shorten
from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray, IntArray

__all__ = [
    "ENUMERABLE",
    "Categorical",
    "Dimension",
    "Integer",
    "Point",
    "Real",
    "Space",
    "Value",
    "parameter_names",
]

Value: TypeAlias = Any  # float | int | str | bool | None, depending on the dimension
Point: TypeAlias = Sequence[Value]

_FIXED = (str, int, float, np.number, np.bool_)  # values that fix a parameter

ENUMERABLE = 10_000  # spaces with at most so many points are searched exhaustively
WIDEST = 64  # coordinates of a Categorical
ON_STEP = 1e-6  # share of a step by which a value may differ: decimals are not exact in binary
LARGEST_RANGE = 2**52  # of an Integer: beyond it, neighbours have the same code in float64


class _Parameter:
    """Common base of all parameters: a grid of equal cells, unless a kind overrides it.

    They are dataclasses, printed without default values.
    """

    @property
    def continuous(self) -> bool:
        """Whether every number between the bounds is a value."""
        return False

    @property
    def size(self) -> float:
        """Number of values."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Number of coordinates of the code."""
        return int(self.size > 1)

    def place(self, value: Value) -> int:
        """Number of the value, from 0."""
        raise NotImplementedError

    def at(self, i: int) -> Value:
        """Value number ``i``."""
        raise NotImplementedError

    def encode(self, value: Value) -> tuple[float, ...]:
        """Code of ``value``: the centre of its cell."""
        return ((self.place(value) + 0.5) / self.size,)[: self.width]

    def decode(self, code: Sequence[float]) -> Value:
        """Value nearest to ``code``."""
        return self.quantile(code[0]) if self.width else self.at(0)

    def quantile(self, u: float) -> Value:
        """Value below or at which lies the share ``u`` of the range."""
        return self.at(min(max(math.floor(u * self.size), 0), int(self.size) - 1))

    def nearest(self, codes: FloatArray) -> FloatArray:
        """Codes of the values at codes, (m, width): those that `encode` gives to what `decode` makes of them."""
        cells = np.minimum(np.floor(codes * self.size), self.size - 1.0)
        return np.asarray((np.maximum(cells, 0.0) + 0.5) / self.size)

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Codes, (m, width), at shares of the range, (m,)."""
        return shares[:, None] if self.continuous else self.nearest(shares[:, None][:, : self.width])

    def _nearest_one_by_one(self, codes: FloatArray) -> FloatArray:
        """As `nearest`; logarithms of NumPy round otherwise than those of single numbers."""
        return np.array([self.encode(self.decode(code)) for code in codes.tolist()]).reshape(codes.shape)

    def values(self) -> Iterator[Value]:
        """All values, in order; a ValueError if there are infinitely many."""
        if self.continuous:
            raise ValueError(f"{self!r} has infinitely many values and cannot be listed")
        return map(self.at, range(int(self.size)))

    def neighbours(self, value: Value) -> list[Value]:
        """Values one place away and at doubling distances, so that a local search also crosses a wide range.

        None of a continuous parameter, which is searched by gradient.
        """
        if self.continuous:
            return []
        i, n = self.place(value), int(self.size)
        steps = [2**k for k in range(max(n - 1, 1).bit_length())]
        return [self.at(j) for step in steps for j in (i - step, i + step) if 0 <= j < n]

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v, default in given if v != default)})"


@dataclass(frozen=True, repr=False)
class Real(_Parameter):
    """A real parameter between two finite bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included.
    log : bool
        Whether the scale is logarithmic; needs ``low > 0``.
    step : float, optional
        Only the values ``low``, ``low + step``, ``low + 2 * step``, ... up to ``high`` are allowed, as exact decimals.
    choices : sequence of float, optional
        Only these values are allowed, such as a series of resistors. Bounds are then optional.

    Examples
    --------
    >>> from tcgp import Real
    >>> list(Real(choices=[1.0, 2.2, 4.7, 10.0], log=True).values())
    [1.0, 2.2, 4.7, 10.0]
    >>> Real(1e-4, 1.0, log=True).encode(1e-2)
    (0.5,)
    >>> list(Real(0.0, 0.5, step=0.1).values())
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """

    low: float = math.nan
    high: float = math.nan
    log: bool = False
    step: float | None = None
    choices: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.choices is not None:
            self._check_choices()
        low, high = _as_float(self.low), _as_float(self.high)
        if low is None or high is None or not math.isfinite(high - low):
            raise ValueError(
                f"Real needs two finite bounds and a finite range, got low={plain(self.low)}, high={plain(self.high)}"
            )
        if not low < high:
            raise ValueError(
                f"Real needs low < high, got low={plain(self.low)}, high={plain(self.high)}; "
                "to fix a parameter, give a plain value"
            )
        if self.log and low <= 0.0:
            raise ValueError(f"Real with log=True needs low > 0, got low={plain(self.low)}")
        if self.log and not math.log(low) < math.log(high):
            raise ValueError(
                "Real with log=True needs bounds whose logarithms differ, got "
                f"low={plain(self.low)}, high={plain(self.high)}; leave log out"
            )
        step = None if self.step is None else _as_float(self.step)
        _check_step("Real", self.step, step, high - low)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "log", bool(self.log))
        object.__setattr__(self, "step", step)

    def _check_choices(self) -> None:
        """Sort the choices between the bounds, and make the outermost ones the bounds."""
        given = (
            self.choices if isinstance(self.choices, Iterable) and not isinstance(self.choices, str) else ()
        )
        numbers_given = [_as_float(choice) for choice in given]
        bounds = [_as_float(bound) for bound in (self.low, self.high)]
        if None in numbers_given or None in bounds or self.step is not None:
            raise ValueError(
                f"Real needs a sequence of numbers as choices, and no step, got choices={plain(self.choices)}, "
                f"step={plain(self.step)}"
            )
        low, high = (cast(float, bound) for bound in bounds)
        allowed = {c for c in cast(list[float], numbers_given) if not (c < low or c > high)}
        if len(allowed) < 2 or not all(map(math.isfinite, allowed)):
            raise ValueError(
                f"Real needs at least two finite choices between its bounds, got {plain(self.choices)}"
            )
        object.__setattr__(self, "choices", tuple(sorted(allowed)))
        object.__setattr__(self, "low", min(allowed))
        object.__setattr__(self, "high", max(allowed))

    @property
    def continuous(self) -> bool:
        """Whether every number between the bounds is a value."""
        return self.step is None and self.choices is None

    @property
    def size(self) -> float:
        """Number of values."""
        if self.choices is not None:
            return len(self.choices)
        return math.inf if self.step is None else _n_steps(self.high - self.low, self.step)

    def check(self, value: object) -> float:
        """``value`` as a float, if it lies between the bounds and on a step; ValueError if not."""
        number = _as_float(value)
        slack = ON_STEP * (self.step or 0.0)
        if number is None or not self.low - slack <= number <= self.high + slack:
            raise ValueError(
                f"{plain(value)} is not a number between {plain(self.low)} and {plain(self.high)}"
            )
        if self.continuous:
            return number
        nearest = self.at(self.place(number))
        if self.choices is not None:
            if not math.isclose(
                number, nearest, abs_tol=0.0 if nearest else ON_STEP * (self.high - self.low)
            ):
                raise ValueError(f"{plain(value)} is not one of the choices; the nearest is {nearest!r}")
            return nearest
        assert self.step is not None
        if abs(number - nearest) > max(ON_STEP * self.step, 4.0 * math.ulp(number)):  # sums are rounded
            raise ValueError(
                f"{value!r} is not {self.low!r} plus a multiple of the step {self.step!r}; the nearest is {nearest!r}"
            )
        return nearest

    def encode(self, value: float) -> tuple[float, ...]:
        """Code of ``value``."""
        if self.step is not None and not self.log:
            return super().encode(value)
        scale = math.log if self.log else float
        low = scale(self.low)
        return (min(max((scale(value) - low) / (scale(self.high) - low), 0.0), 1.0),)

    def quantile(self, u: float) -> float:
        """Quantile: the value below which the share ``u`` of the range lies."""
        if self.step is not None and not self.log:
            return float(super().quantile(u))
        if u <= 0.0 or u >= 1.0:  # exact, unlike logarithms
            x = self.high if u >= 1.0 else self.low
        elif self.log:
            x = math.exp((1.0 - u) * math.log(self.low) + u * math.log(self.high))
        else:
            x = (1.0 - u) * self.low + u * self.high
        x = min(max(x, self.low), self.high)
        return x if self.continuous else self.at(self.place(x))

    def nearest(self, codes: FloatArray) -> FloatArray:
        """Codes of the values at codes, (m, 1)."""
        if self.log or self.choices is not None:
            return self._nearest_one_by_one(codes)
        if self.step is not None:
            return super().nearest(codes)
        x = np.clip((1.0 - codes) * self.low + codes * self.high, self.low, self.high)
        x = np.where(codes <= 0.0, self.low, np.where(codes >= 1.0, self.high, x))
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """Description that `Space.from_json` reads."""
        description = {"type": "real", "low": self.low, "high": self.high, "log": self.log}
        if self.choices is not None:
            description["choices"] = list(self.choices)
        return description if self.step is None else {**description, "step": self.step}

    def place(self, value: float) -> int:
        """Number of the allowed value nearest to ``value``, from 0."""
        if self.choices is not None:
            scale = math.log if self.log else float
            after = min(max(bisect.bisect_left(self.choices, value), 1), len(self.choices) - 1)
            below, above = self.choices[after - 1 : after + 1]
            value = min(max(value, self.low), self.high)
            return after - 1 if scale(value) - scale(below) <= scale(above) - scale(value) else after
        assert self.step is not None
        return min(max(round((value - self.low) / self.step), 0), int(self.size) - 1)

    def at(self, i: int) -> float:
        """Value number ``i``: 0.3, not 0.1 + 0.1 + 0.1, and never outside the bounds."""
        if self.choices is not None:
            return self.choices[i]
        return min(float(Decimal(repr(self.low)) + i * Decimal(repr(self.step))), self.high)


@dataclass(frozen=True, repr=False)
class Integer(_Parameter):
    """An integer parameter between two bounds.

    Parameters
    ----------
    low, high : int
        Bounds, both included.
    log : bool
        Whether the scale is logarithmic; needs ``low >= 1``.
    step : int, optional
        Only the values ``low``, ``low + step``, ``low + 2 * step``, ... up to ``high`` are allowed.

    Examples
    --------
    >>> from tcgp import Integer
    >>> Integer(1, 4).encode(2)
    (0.375,)
    >>> list(Integer(8, 64, step=16).values())
    [8, 24, 40, 56]
    """

    low: int
    high: int
    log: bool = False
    step: int | None = None

    def __post_init__(self) -> None:
        low, high = _as_int(self.low), _as_int(self.high)
        if low is None or high is None or low > high:
            raise ValueError(
                f"Integer needs integers low <= high, got low={plain(self.low)}, high={plain(self.high)}"
            )
        if high - low >= LARGEST_RANGE or max(abs(low), abs(high)) > 2 * LARGEST_RANGE:
            raise ValueError(
                f"Integer must stay within 2**53 and span less than 2**52, got {low} to {high}; use a Real"
            )
        if self.log and low < 1:
            raise ValueError(f"Integer with log=True needs low >= 1, got low={plain(self.low)}")
        step = None if self.step is None else _as_int(self.step)
        _check_step("Integer", self.step, step, high - low)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "log", bool(self.log))
        object.__setattr__(self, "step", step)

    @property
    def size(self) -> float:
        """Number of values."""
        return (self.high - self.low) // (self.step or 1) + 1

    def check(self, value: object) -> int:
        """``value`` as an int, if it is one between the bounds and on a step; ValueError if not."""
        number = _as_int(value)
        if number is None or not self.low <= number <= self.high:
            raise ValueError(f"{value!r} is not an integer between {self.low} and {self.high}")
        if (number - self.low) % (self.step or 1):
            raise ValueError(f"{value!r} is not {self.low} plus a multiple of the step {self.step}")
        return number

    def place(self, value: float) -> int:
        """Number of the value, from 0; of a number in between, that of the nearest one."""
        return min(max(round((value - self.low) / (self.step or 1)), 0), int(self.size) - 1)

    def at(self, i: int) -> int:
        """Value number ``i``."""
        return self.low + (self.step or 1) * i

    def encode(self, value: int) -> tuple[float, ...]:
        """Code of ``value``: the centre of its cell."""
        if not self.log or not self.width:
            return super().encode(value)
        return ((math.log(value) - self._log_low) / (self._log_high - self._log_low),)

    def quantile(self, u: float) -> int:
        """Integer below or at which lies the share ``u`` of the range."""
        if not self.log:
            return int(super().quantile(u))
        return self.at(self.place(round(math.exp(self._log_low + u * (self._log_high - self._log_low)))))

    def nearest(self, codes: FloatArray) -> FloatArray:
        """Codes of the values at codes, (m, width)."""
        return self._nearest_one_by_one(codes) if self.log else super().nearest(codes)

    def to_json(self) -> dict[str, Any]:
        """Description that `Space.from_json` reads."""
        description = {"type": "integer", "low": self.low, "high": self.high, "log": self.log}
        return description if self.step is None else {**description, "step": self.step}

    @property
    def _log_low(self) -> float:
        return math.log(self.low - 0.5)

    @property
    def _log_high(self) -> float:
        return math.log(self.high + 0.5)


@dataclass(frozen=True, repr=False)
class Categorical(_Parameter):
    """A parameter that takes one of several choices.

    Parameters
    ----------
    choices : sequence of str, int, float, bool or None
        The choices, all different. For other objects, which a journal cannot store, use names and look up the objects
        in your function.
    ordered : bool
        Whether neighbouring choices are similar: ``["coarse", "medium", "fine"]``.

    Examples
    --------
    >>> from tcgp import Categorical
    >>> Categorical(["red", "green", "blue"]).encode("green")
    (0.0, 1.0, 0.0)
    >>> Categorical(["coarse", "medium", "fine"], ordered=True).encode("medium")
    (0.5,)
    """

    choices: tuple[Value, ...]
    ordered: bool = False

    def __init__(self, choices: Iterable[Value], ordered: bool = False) -> None:
        if not isinstance(ordered, bool):
            raise ValueError(f"ordered must be True or False, got {plain(ordered)}")
        if isinstance(choices, str) or not isinstance(choices, Iterable):
            raise ValueError(
                f"Categorical needs a sequence of choices, got {plain(choices)}; write [{plain(choices)}]"
            )
        values = tuple(c.item() if isinstance(c, np.generic) else c for c in choices)
        if not values:
            raise ValueError("Categorical needs at least one choice, got none")
        for choice in values:
            if (
                not isinstance(choice, str | int | float | None)
                or choice in (math.inf, -math.inf)
                or choice != choice
            ):
                raise ValueError(
                    f"a choice must be a string, a finite number, a bool or None, got {plain(choice)}; "
                    "use a name for it and look it up in your function"
                )
        if len(set(values)) < len(values):
            raise ValueError(
                f"the choices of a Categorical must all differ (1 equals True), got {plain(list(values))}"
            )
        object.__setattr__(self, "choices", values)
        object.__setattr__(self, "ordered", ordered)

    @property
    def width(self) -> int:
        """Number of coordinates of the code."""
        if self.ordered:
            return super().width
        return min(len(self.choices), WIDEST) if len(self.choices) > 2 else len(self.choices) - 1

    @property
    def size(self) -> float:
        """Number of values."""
        return len(self.choices)

    @property
    def numeric(self) -> bool:
        """Whether all choices are numbers."""
        return all(isinstance(choice, numbers.Real) for choice in self.choices)

    def check(self, value: object) -> Value:
        """The choice equal to ``value``; ValueError if there is none."""
        known = value.item() if isinstance(value, np.generic) else value
        for choice in self.choices:
            if choice == known:
                return choice
        raise ValueError(f"{plain(value)} is not one of the choices {plain(list(self.choices))}")

    def place(self, value: Value) -> int:
        """Number of ``value`` in the list of choices, from 0."""
        return self._places[value]

    @cached_property
    def _places(self) -> dict[Value, int]:
        return {choice: i for i, choice in enumerate(self.choices)}

    def at(self, i: int) -> Value:
        """Choice number ``i``."""
        return self.choices[i]

    def encode(self, value: Value) -> tuple[float, ...]:
        """Code of ``value``."""
        if self.ordered:
            return super().encode(value)
        if self.width <= 1:
            return (float(self.place(value)),)[: self.width]
        return tuple(self.codes[self.place(value)].tolist())

    @property
    def hashed(self) -> bool:
        """Whether the choices are too many for a coordinate each."""
        return not self.ordered and len(self.choices) > WIDEST

    @cached_property
    def codes(self) -> FloatArray:
        """Codes of all choices, where they need more than two coordinates: one in each row."""
        if not self.hashed:
            return np.eye(len(self.choices))
        hashes = b"".join(sha256(repr(choice).encode()).digest()[: WIDEST // 8] for choice in self.choices)
        bits = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8))
        return bits.reshape(-1, WIDEST).astype(np.float64)

    def places(self, codes: FloatArray) -> IntArray:
        """Numbers of the choices whose codes are nearest to the rows of ``codes``."""
        if self.ordered:
            return np.minimum((codes[:, 0] * len(self.choices)).astype(np.intp), len(self.choices) - 1)
        if self.width <= 1:
            return (codes[:, 0] >= 0.5).astype(np.intp)
        likeness = (codes - 0.5) @ (self.codes - 0.5).T if self.hashed else codes
        nearest: IntArray = np.argmax(likeness, axis=1)
        return nearest

    def decode(self, code: Sequence[float]) -> Value:
        """Choice whose code is nearest to ``code``."""
        if self.ordered or not self.width:
            return super().decode(code)
        return self.at(int(self.places(np.array([code]))[0]))

    def nearest(self, codes: FloatArray) -> FloatArray:
        """Codes of the choices nearest to codes, (m, width)."""
        if self.ordered or not self.width:
            return super().nearest(codes)
        return self._codes_at(self.places(codes))

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Codes, (m, width), at shares of the list of choices, (m,)."""
        n = len(self.choices)
        return super().at_shares(shares) if self.ordered else self._codes_at(np.minimum(shares * n, n - 1))

    def _codes_at(self, places: ArrayLike) -> FloatArray:
        """Codes of the choices at places in the list."""
        index = np.asarray(places).astype(np.intp)
        return self.codes[index] if self.width > 1 else index[:, None][:, : self.width].astype(np.float64)

    def neighbours(self, value: Value) -> list[Value]:
        """All other choices; of ordered ones those one place away and at doubling distances."""
        return super().neighbours(value) if self.ordered else [c for c in self.choices if c != value]

    def to_json(self) -> dict[str, Any]:
        """Description that `Space.from_json` reads."""
        description = {"type": "categorical", "choices": list(self.choices)}
        return {**description, "ordered": True} if self.ordered else description


Dimension: TypeAlias = Real | Integer | Categorical


class Space:
    """The parameters of a problem, in order, with names if they were given.

    Parameters
    ----------
    dimensions : sequence, mapping, scipy.optimize.Bounds or Space
        One `Real`, `Integer` or `Categorical` per parameter. A pair ``(low, high)`` is a `Real`; a plain number, string
        or bool is a fixed parameter. A mapping gives each parameter a name.

    Attributes
    ----------
    dimensions : tuple of Real, Integer or Categorical
    names : tuple of str or None
    dim : int
        Number of coordinates of the unit cube that the model sees.
    size : float
        Number of points, ``inf`` with a `Real` among the parameters.

    Examples
    --------
    >>> from tcgp import Categorical, Integer, Real, Space
    >>> scheme = Categorical(["explicit", "implicit"])
    >>> space = Space({"step": Real(0.25, 4.0, log=True), "order": Integer(1, 5), "scheme": scheme})
    >>> space.names, len(space), space.dim
    (('step', 'order', 'scheme'), 3, 3)
    >>> space.encode([[1.0, 3, "implicit"]])
    array([[0.5, 0.5, 1. ]])
    >>> space.decode([[0.5, 0.61, 0.2]])
    [[1.0, 4, 'explicit']]
    """

    def __init__(self, dimensions: object) -> None:
        self.names: tuple[str, ...] | None = None
        items: list[Any]
        if isinstance(dimensions, Space):
            self.names, items = dimensions.names, list(dimensions.dimensions)
        elif isinstance(dimensions, Mapping):
            if not all(isinstance(name, str) and name for name in dimensions):
                raise ValueError(
                    f"the names of parameters must be non-empty strings, got {plain(list(dimensions))}"
                )
            self.names, items = tuple(dimensions), list(dimensions.values())
        elif hasattr(dimensions, "lb") and hasattr(
            dimensions, "ub"
        ):  # scipy.optimize.Bounds, without importing it
            low, high = np.broadcast_arrays(np.atleast_1d(dimensions.lb), np.atleast_1d(dimensions.ub))
            items = list(zip(low.tolist(), high.tolist(), strict=True))
        elif isinstance(dimensions, Iterable) and not isinstance(dimensions, str):
            items = list(dimensions)
        else:
            raise TypeError(
                f"bounds must be a sequence of (low, high) pairs or a Space, got {plain(dimensions)}"
            )
        if not items:
            raise ValueError("a space needs at least one parameter, got none")
        if all(isinstance(item, _FIXED) for item in items):
            raise TypeError(
                f"bounds must have a (low, high) pair for each parameter that is not fixed, got {plain(items)}"
            )
        self.dimensions: tuple[Dimension, ...] = tuple(
            _as_dimension(item, self._label(i)) for i, item in enumerate(items)
        )
        self.dim = sum(d.width for d in self.dimensions)
        self.size = math.prod(d.size for d in self.dimensions)
        edges = np.concatenate([[0], np.cumsum([d.width for d in self.dimensions])])
        self._slices = [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]

    def __len__(self) -> int:
        return len(self.dimensions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.dimensions, self.names))

    def __repr__(self) -> str:
        if self.names is None:
            return f"Space({list(self.dimensions)!r})"
        return f"Space({dict(zip(self.names, self.dimensions, strict=True))!r})"

    @property
    def is_real(self) -> bool:
        """Whether every parameter is a `Real`, or fixed at a float."""
        return all(isinstance(d, Real) or _is_fixed_float(d) for d in self.dimensions)

    @property
    def real_coordinates(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of the ``dim`` coordinates belong to `Real` parameters without a step."""
        return np.repeat([d.continuous for d in self.dimensions], [d.width for d in self.dimensions])

    def check(self, point: object) -> Point:
        """The point as a list of valid values, from a sequence or a mapping of the names; ValueError if invalid."""
        if isinstance(point, Mapping):
            if self.names is None:
                raise ValueError(f"the parameters have no names: give a list of values, got {plain(point)}")
            if set(point) != set(self.names):
                raise ValueError(
                    f"a point needs exactly the parameters {list(self.names)!r}, got {plain(list(point))}"
                )
            point = [point[name] for name in self.names]
        elif isinstance(point, np.ndarray):
            point = np.atleast_1d(point).tolist()
        elif isinstance(point, numbers.Real) and len(self) == 1:
            point = [point]
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != len(self):
            raise ValueError(f"a point needs {len(self)} values, one per parameter, got {plain(point)}")
        values = []
        for i, (dimension, value) in enumerate(zip(self.dimensions, point, strict=True)):
            try:
                values.append(dimension.check(value))
            except ValueError as error:
                raise ValueError(f"{self._label(i)}: {error}") from None
        return values

    def contains(self, point: object) -> bool:
        """Whether `check` accepts the point."""
        try:
            self.check(point)
        except ValueError:
            return False
        return True

    def encode(self, points: Iterable[Sequence[Value]]) -> FloatArray:
        """Codes of points.

        Parameters
        ----------
        points : iterable of m points, as returned by `check`, `decode` or `from_unit`

        Returns
        -------
        array of shape (m, dim)
        """
        points = list(points)
        if not any(dimension.width > 2 for dimension in self.dimensions):
            rows = [self._encode_one(point) for point in points]
            return np.array(rows, dtype=np.float64).reshape(len(rows), self.dim)
        # Codes of choices are rows of a table: 20 times as fast as one list per point.
        codes = np.zeros((len(points), self.dim))
        for i, (dimension, part) in enumerate(zip(self.dimensions, self._slices, strict=True)):
            if isinstance(dimension, Categorical) and dimension.width > 2:
                codes[:, part] = dimension.codes[[dimension.place(point[i]) for point in points]]
            elif dimension.width:
                codes[:, part.start] = [dimension.encode(point[i])[0] for point in points]
        return codes

    def decode(self, codes: ArrayLike) -> list[Point]:
        """Points nearest to codes.

        Parameters
        ----------
        codes : array of shape (m, dim), in the unit cube

        Returns
        -------
        list of m points
        """
        rows = np.asarray(codes, dtype=np.float64).tolist()
        pairs = list(zip(self.dimensions, self._slices, strict=True))
        return [[dimension.decode(row[part]) for dimension, part in pairs] for row in rows]

    def nearest(self, codes: FloatArray) -> FloatArray:
        """Codes of the points nearest to codes, (m, dim)."""
        parts = zip(self.dimensions, self._slices, strict=True)
        return np.hstack([dimension.nearest(codes[:, part]) for dimension, part in parts])

    def distinct(self, codes: FloatArray) -> FloatArray:
        """The codes without those of a point that comes before, in order."""
        return codes[np.sort(np.unique(self.nearest(codes), axis=0, return_index=True)[1])]

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Codes, (m, dim), at shares of each parameter's range, (m, len(space)): see `from_unit`."""
        return np.hstack([dimension.at_shares(shares[:, i]) for i, dimension in enumerate(self.dimensions)])

    def from_unit(self, shares: ArrayLike) -> list[Point]:
        """Points at given shares of each parameter's range: uniform shares give uniform points.

        Parameters
        ----------
        shares : array of shape (m, len(space)), in [0, 1]

        Returns
        -------
        list of m points
        """
        rows = np.asarray(shares, dtype=np.float64).tolist()
        return [[d.quantile(u) for d, u in zip(self.dimensions, row, strict=True)] for row in rows]

    def sample(self, n: int, rng: np.random.Generator) -> list[Point]:
        """``n`` independent points, uniform in the unit cube."""
        return self.from_unit(rng.random((n, len(self))))

    def points(self) -> Iterator[Point]:
        """All points of a finite space."""
        return (list(values) for values in itertools.product(*(d.values() for d in self.dimensions)))

    def neighbours(self, code: FloatArray) -> FloatArray:
        """Codes, (m, dim), that differ from a code in one integer or categorical parameter."""
        point, real = self.decode(code[None])[0], self.real_coordinates
        others = [
            [*point[:i], value, *point[i + 1 :]]
            for i, dimension in enumerate(self.dimensions)
            for value in dimension.neighbours(point[i])
        ]
        codes = self.encode(others)
        codes[:, real] = code[real]
        return codes

    def as_argument(self, point: Point) -> Any:
        """The point for the user's function: a dict if there are names, an array if all are real, otherwise a list."""
        if self.names is None and self.is_real:
            return np.array(point, dtype=np.float64)
        return self.as_named(point)

    def as_named(self, point: Point) -> dict[str, Value] | list[Value]:
        """The point as a dict if the parameters have names, otherwise as a list."""
        return list(point) if self.names is None else dict(zip(self.names, point, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Description made of dicts, lists, strings and numbers; floats keep every bit through JSON."""
        return {
            "names": None if self.names is None else list(self.names),
            "dimensions": [d.to_json() for d in self.dimensions],
        }

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> Space:
        """The space that `to_json` described.

        Examples
        --------
        >>> from tcgp import Space
        >>> space = Space([(0, 1), (-5.0, 5.0)])
        >>> Space.from_json(space.to_json()) == space
        True
        """
        try:
            dimensions = [_dimension_from_json(item) for item in description["dimensions"]]
            names = description["names"]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a description of a space: {description!r}") from error
        return cls(dimensions if names is None else dict(zip(names, dimensions, strict=True)))

    def _encode_one(self, point: Sequence[Value]) -> list[float]:
        pairs = zip(self.dimensions, point, strict=True)
        return [u for dimension, value in pairs for u in dimension.encode(value)]

    def _label(self, i: int) -> str:
        return f"parameter {i}" if self.names is None else f"parameter {self.names[i]!r}"


def _as_dimension(item: object, label: str) -> Dimension:
    """A dimension from itself, a (low, high) pair, or a fixed value."""
    if isinstance(item, Real | Integer | Categorical):
        return item
    if isinstance(item, _FIXED):
        try:
            return Categorical([item])
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None
    try:
        low, high = cast(tuple[float, float], item)
    except (TypeError, ValueError):
        raise TypeError(
            f"{label} must be a Real, an Integer, a Categorical, a (low, high) pair or a fixed value, got {plain(item)}"
        ) from None
    try:
        return Real(low, high)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def parameter_names(space: Space) -> tuple[str, ...]:
    """Names of the parameters in constraints and tables: their own, or x0, x1, ... .

    Examples
    --------
    >>> from tcgp import Space
    >>> from tcgp.space import parameter_names
    >>> parameter_names(Space([(0, 1), (0, 1)]))
    ('x0', 'x1')
    """
    return space.names or tuple(f"x{i}" for i in range(len(space)))


def on_bounds(space: Space, x: Point) -> list[str]:
    """Which parameters of a point lie on a bound, to a thousandth of the range.

    Examples
    --------
    >>> from tcgp import Space
    >>> from tcgp.space import on_bounds
    >>> on_bounds(Space({"x": (0, 5), "y": (0, 1)}), (5.0, 0.5))
    ['x is at its upper bound 5']
    """
    found = []
    for name, dimension, value in zip(parameter_names(space), space.dimensions, x, strict=True):
        if isinstance(dimension, Categorical) or dimension.low == dimension.high:
            continue
        for side, bound in (("lower", dimension.low), ("upper", dimension.high)):
            code, end = dimension.encode(value)[0], dimension.encode(bound)[0]  # type: ignore[arg-type]
            if abs(code - end) <= 1e-3:
                found.append(f"{name} is at its {side} bound {bound:g}")
    return found


def described_kinds(space: Space) -> str:
    """The parameters and their kinds, in one line.

    Examples
    --------
    >>> from tcgp import Integer, Space
    >>> from tcgp.space import described_kinds
    >>> described_kinds(Space({"x": (0, 5), "n": Integer(1, 8), "alloy": "steel"}))
    'x: real from 0 to 5; n: integer from 1 to 8; alloy: fixed'
    """
    parts = zip(parameter_names(space), space.dimensions, strict=True)
    kinds = "; ".join(f"{name}: {_described_kind(dimension)}" for name, dimension in parts)
    return printable(shorten(kinds, 1000))


def _described_kind(dimension: Dimension) -> str:
    if isinstance(dimension, Categorical):
        return "fixed" if len(dimension.choices) == 1 else f"one of {len(dimension.choices)} choices"
    kind = "real" if isinstance(dimension, Real) else "integer"
    words = f"{kind} from {dimension.low:g} to {dimension.high:g}"
    words += f" in steps of {dimension.step:g}" if dimension.step is not None else ""
    words += f", {dimension.size} values" if isinstance(dimension, Real) and dimension.choices else ""
    return words + (", log" if dimension.log else "")


def _dimension_from_json(item: Mapping[str, Any]) -> Dimension:
    fields = dict(item)
    kind = {"real": Real, "integer": Integer, "categorical": Categorical}[fields.pop("type")]
    dimension: Dimension = kind(**fields)
    return dimension


def _as_float(value: object) -> float | None:
    """``value`` as a float, or None if it is not a number."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _as_int(value: object) -> int | None:
    """``value`` as an int, or None if it is not a whole number."""
    number = _as_float(value)
    if number is None or not number.is_integer():
        return None
    return int(value) if isinstance(value, numbers.Integral) else int(number)


def _is_fixed_float(dimension: Dimension) -> bool:
    return (
        isinstance(dimension, Categorical)
        and len(dimension.choices) == 1
        and type(dimension.choices[0]) is float
    )


def _check_step(kind: str, given: object, step: float | None, extent: float) -> None:
    """Refuse a step that leaves fewer than two values or too many."""
    if given is None:
        return
    if step is None or not 0.0 < step <= extent * (1.0 + ON_STEP) or extent / step >= LARGEST_RANGE:
        raise ValueError(
            f"{kind} needs a step between 0 and high - low = {extent!r}, got step={plain(given)}"
        )


def _n_steps(extent: float, step: float) -> int:
    """Number of values on steps; 10 steps of 0.1 reach 1."""
    return math.floor(extent / step + ON_STEP) + 1
