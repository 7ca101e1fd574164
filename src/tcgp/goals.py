"""The goals of a run: an objective, its sense, and limits on other outputs."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from tcgp._arrays import check_noise
from tcgp._text import did_you_mean, plain, shorten
from tcgp._typing import FloatArray
from tcgp.expressions import Constraint, Expression, parse_constraint, quote_name
from tcgp.space import Categorical, Point, Space, parameter_names

__all__ = [
    "NOT_FINITE",
    "SEVERAL_VALUES",
    "Goals",
    "Margin",
    "Quantity",
    "describe_point",
    "interpret",
    "parameter_names",
    "read_outputs",
]

Outputs = Mapping[str, float | None]
Noise = bool | float | Mapping[str, bool | float]

# Beginnings of reasons: for a value that is not a result, and for a function that returns several.
NOT_FINITE = "the value is "
SEVERAL_VALUES = "there are several values"

# A limit is active if its margin is less than this share of the change of its value as the design improved.
ACTIVE = 0.02


@dataclass(frozen=True)
class Quantity:
    """A number computed from each evaluation, of which small values are good: an objective, or the excess over a limit.

    Attributes
    ----------
    text : str
        As the user wrote it.
    sign : {1.0, -1.0}
        -1 where large values are good: what is maximized, and lower limits.
    expression : Expression or None
        Of outputs and parameters; None for the one value that is optimized.
    bound : float or None
        The limit on ``sign * expression``, which is satisfied where the quantity is at most 0; None for an objective.
    noisy : bool
        Whether evaluations of it have noise.
    """

    text: str
    sign: float = 1.0
    expression: Expression | None = None
    bound: float | None = None
    noisy: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The outputs and parameters that its expression mentions."""
        return frozenset() if self.expression is None else self.expression.names

    @property
    def is_limit(self) -> bool:
        """Whether it is the excess over a limit."""
        return self.bound is not None

    def read(self, y: float, numbers: Mapping[str, FloatArray]) -> float:
        """Its value at an evaluation, as the user wrote it; NaN where it cannot be computed.

        Parameters
        ----------
        y : float
            The value that is optimized.
        numbers : mapping
            Parameters and outputs by name.
        """
        if self.expression is None:
            return y
        return _value(self.text, self.expression, numbers)

    def turned(self, value: float) -> float:
        """The quantity for a value with the user's sign: small is good, and a limit is at 0."""
        return self.sign * value - (self.bound or 0.0)

    @property
    def shown_bound(self) -> float:
        """The limit with the sign that the user gave it."""
        return self.sign * (self.bound or 0.0)


@dataclass(frozen=True)
class Margin:
    """An evaluation compared with a limit; ``str`` says it in words.

    Attributes
    ----------
    limit : Quantity
    value : float
        Of the limit's expression, as the user wrote it.
    excess : float
        How far it lies beyond the limit; negative where the limit is satisfied.
    spread : float
        Typical difference between such values.

    Examples
    --------
    >>> from tcgp import Space
    >>> from tcgp.goals import Goals, Margin
    >>> (limit,) = Goals(Space([(0, 1)]), "mass", ["stress <= 250"]).limits
    >>> print(Margin(limit, value=249.5, excess=-0.5, spread=100.0))
    stress <= 250: 249.5, 0.5 below the limit (active)
    """

    limit: Quantity
    value: float
    excess: float
    spread: float

    @property
    def bound(self) -> float:
        """The limit, with the sign that the user gave it."""
        return self.limit.shown_bound

    @property
    def kept(self) -> bool:
        """Whether the limit is satisfied."""
        return self.excess <= 0.0

    @property
    def active(self) -> bool:
        """Whether the limit is satisfied with hardly any margin."""
        return self.kept and -self.excess <= ACTIVE * self.spread

    @property
    def distance(self) -> str:
        """How far the value is from the limit, in words."""
        if math.isnan(self.excess):
            return "not known"
        if not self.kept:
            return f"violated by {self.excess:.3g}"
        side = "below" if self.limit.sign > 0.0 else "above"
        return f"{abs(self.excess):.3g} {side} the limit{' (active)' if self.active else ''}"

    def __str__(self) -> str:
        return f"{self.limit.text}: {self.value:.6g}, {self.distance}"


class Goals:
    """The goals of a run, and what an evaluation means for them.

    Parameters
    ----------
    space : Space
    objective : str, sequence of str or None
        What to optimize: an output or an expression of outputs and parameters, or several; None if the function returns
        a number.
    constraints : sequence of str
        Those that mention parameters only are known; the others are limits on outputs.
    maximize : bool or collection of str
        Whether large values of the objective are good; of several objectives, those of which they are.
    reference : mapping, optional
        Of several objectives, values beyond which nothing counts.
    noise : bool, float or mapping
        Whether outputs have noise: False, True (to be learned) or its standard deviation; of all, or by their names.

    Attributes
    ----------
    known : list of Constraint
        Constraints on parameters alone.
    objectives : list of Quantity
        What is optimized.
    reference : array of shape (m,)
        For each objective the value up to which it counts, small being good; NaN where none is given.
    limits : list of Quantity
        Constraints on outputs: a double bound makes two.
    outputs : tuple of str
        The outputs that the goals name, those of objectives first.

    Examples
    --------
    >>> from tcgp import Space
    >>> from tcgp.goals import Goals
    >>> goals = Goals(Space({"width": (0, 1), "height": (0, 2)}), "mass", ["stress <= 250", "width <= 0.5 * height"])
    >>> goals.outputs, [limit.text for limit in goals.limits], [known.text for known in goals.known]
    (('mass', 'stress'), ['stress <= 250'], ['width <= 0.5 * height'])
    """

    def __init__(
        self,
        space: Space,
        objective: str | Sequence[str] | None = None,
        constraints: Sequence[str] = (),
        maximize: bool | Collection[str] = False,
        reference: Mapping[str, float] | None = None,
        noise: Noise = False,
    ) -> None:
        self.space, self.objective, self.maximize, self.noise = space, objective, maximize, noise
        self.known: list[Constraint] = []
        self.limits: list[Quantity] = []
        parameters = parameter_names(space)
        texts = [objective] if isinstance(objective, str) else list(objective or ())
        self._expressions = {text: _expression(space, text) for text in texts}
        self.objectives = [
            Quantity(
                text,
                -1.0 if maximize is True or (maximize and text in maximize) else 1.0,
                self._expressions[text] if len(texts) > 1 else None,
            )
            for text in texts or ["value"]
        ]
        self.reference = np.array(
            [q.turned((reference or {}).get(q.text, math.nan)) for q in self.objectives]
        )
        names = [*parameters, *texts, *self.needed()]
        for constraint in (part for text in constraints for part in parse_constraint(text, names)):
            if constraint.names <= set(parameters):
                self.known.append(constraint)
            else:
                _check_numeric(space, "constraints", constraint)
                self.limits += _sides(constraint)
        if self.limits and objective is None:
            raise self._no_objective()
        self.outputs = tuple(self.needed())
        self._check_noise()
        self.objectives = [self._with_noise(quantity) for quantity in self.objectives]
        self.limits = [self._with_noise(quantity) for quantity in self.limits]

    def _no_objective(self) -> ValueError:
        """The error for a limit on an output where none is optimized: the name may be that of a parameter, misspelt."""
        text, output = self.limits[0].text, self.needed()[0]
        close = difflib.get_close_matches(output, parameter_names(self.space), 1)
        hint = f"; did you mean the parameter {close[0]!r}?" if close else ""
        return ValueError(
            f"constraints: {text!r} is about the output {output!r}, so objective must name the output to optimize, "
            f"got None{hint}"
        )

    def _check_noise(self) -> None:
        if not isinstance(self.noise, Mapping):
            check_noise(self.noise)
        else:
            for name, value in self.noise.items():
                if name not in self.outputs:
                    wanted = ", ".join(map(repr, self.outputs)) or "none: objective must name one"
                    raise ValueError(
                        f"noise must name outputs in use ({wanted}), got {plain(name)}"
                        f"{did_you_mean(name, self.outputs)}"
                    )
                check_noise(value, f"noise of {name!r}")

    def _with_noise(self, quantity: Quantity) -> Quantity:
        return replace(quantity, noisy=any(self.noise_of(name) for name in self._outputs_of(quantity)))

    @property
    def noisy(self) -> bool:
        """Whether any of the quantities has noise: points may then be evaluated again."""
        return any(quantity.noisy for quantity in self.quantities)

    def noise_of(self, output: str | None) -> bool | float:
        """The noise of an output, or of the value without a name, as given by the user."""
        return self.noise.get(output or "", False) if isinstance(self.noise, Mapping) else self.noise

    def _outputs_of(self, quantity: Quantity, available: Collection[str] = ()) -> list[str | None]:
        """The outputs from which a quantity is computed; None is a value without a name."""
        if quantity.is_limit:
            return [name for name in self.outputs if name in quantity.names]
        return [*self.outputs_of_objectives(available).get(quantity.text, [None])]

    def deviations(self, x: Point, y: float | None, outputs: Outputs | None, sd: float | None) -> list[float]:
        """Standard deviations of the noise of the quantities at an evaluation: 0 if exact, NaN if not known.

        That of an output ``mass`` is the output ``mass_sd`` if there is one, and otherwise that given for all
        evaluations. To a quantity of several outputs, errors contribute in proportion to its slopes.

        Parameters
        ----------
        x, y, outputs
            See `values`.
        sd : float or None
            Of ``y``, if it has no name.

        Examples
        --------
        >>> from tcgp import Space
        >>> from tcgp.goals import Goals
        >>> goals = Goals(Space([(0, 1)]), "gain", ["2 * stress <= 250"], noise={"gain": True, "stress": 1.5})
        >>> [round(sd, 6) for sd in goals.deviations((0.5,), 3.0, {"gain": 3.0, "gain_sd": 0.1, "stress": 240.0}, None)]
        [0.1, 3.0]
        """
        if y is None:
            return [math.nan] * len(self.quantities)
        numbers = self._numbers(x, outputs or {})
        return [self._deviation(quantity, y, numbers, outputs or {}, sd) for quantity in self.quantities]

    def _deviation(
        self,
        quantity: Quantity,
        y: float,
        numbers: Mapping[str, FloatArray],
        outputs: Outputs,
        sd: float | None,
    ) -> float:
        """The noise of a quantity at an evaluation."""

        def read(numbers: Mapping[str, FloatArray]) -> float:
            formula = None if quantity.is_limit else self._expressions.get(quantity.text)
            return quantity.read(y, numbers) if formula is None else _value(quantity.text, formula, numbers)

        square = 0.0
        for name in self._outputs_of(quantity, outputs):
            noise, own = self.noise_of(name), sd if name is None else outputs.get(f"{name}_sd")
            if noise is False:
                continue
            own = own if own is not None and own > 0.0 else math.nan if noise is True else noise
            if name is not None and name in numbers:
                low, high = (read({**numbers, name: numbers[name] + step}) for step in (-own, own))
                own = 0.5 * (high - low)
            square += own**2
        return math.sqrt(square)

    @property
    def has_several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.objectives) > 1

    def outputs_of_objectives(self, available: Collection[str] = ()) -> dict[str, list[str]]:
        """The outputs from which each objective is computed.

        Parameters
        ----------
        available : collection of str
            Outputs that there are: an objective that is the name of one is no expression.
        """
        parameters, found = parameter_names(self.space), {}
        for text, expression in self._expressions.items():
            is_name = text in available or (expression.names == {text} and not self.has_several)
            found[text] = [text] if is_name else [n for n in expression.names_in_order if n not in parameters]
        return found

    def needed(self, available: Collection[str] = ()) -> list[str]:
        """The outputs without which there is no value, where these are available; those of objectives first."""
        parameters = set(parameter_names(self.space))
        of_limits = (name for limit in self.limits for name in sorted(limit.names - parameters))
        of_objectives = (name for names in self.outputs_of_objectives(available).values() for name in names)
        return list(dict.fromkeys((*of_objectives, *of_limits)))

    def read(
        self, x: Point, answer: object, reasons: Mapping[str, str] | None = None
    ) -> tuple[float | None, dict[str, float | None] | None, str | None]:
        """Interpret a function's answer: the objective's value, the outputs, and the reason if there is no value.

        Of several objectives it is the value of the first, and there is none unless all have one.

        Parameters
        ----------
        x : point
        answer : float, mapping or anything else
        reasons : mapping, optional
            Why outputs have no value, where that is known.

        Examples
        --------
        >>> from tcgp import Space
        >>> from tcgp.goals import Goals
        >>> goals = Goals(Space([(0, 1)]), "gain", maximize=True)
        >>> goals.read((0.5,), {"gain": 3, "cost": 1.5})
        (3.0, {'gain': 3.0, 'cost': 1.5}, None)
        >>> goals.read((0.5,), {"cost": 1.5})
        (None, {'cost': 1.5}, "the output 'gain' is missing")
        """
        if not isinstance(answer, Mapping):
            value, reason = interpret(answer)
            if value is not None and self.objective is not None:
                return (
                    None,
                    None,
                    f"there is a number and no output {plain(self.objective)}: return a mapping",
                )
            return value, None, reason
        outputs, found = read_outputs(answer)
        why = {**found, **(reasons or {})}
        if self.objective is None:
            names = ", ".join(map(repr, outputs))
            return None, outputs, f"objective must name one of the outputs {names}, got None"
        for name in self.needed(outputs):
            if outputs.get(name) is None:
                missing = f" is missing{did_you_mean(name, outputs)}"
                trouble = f": {why[name]}" if name in why else missing
                return None, outputs, f"the output {name!r}{trouble}"
        numbers = self._numbers(x, outputs)
        values = {
            text: outputs[text] if text in outputs else _value(text, expression, numbers)
            for text, expression in self._expressions.items()
        }
        for text, value in values.items():
            if value is None or not math.isfinite(value):
                return None, outputs, f"{NOT_FINITE}{value}: {text}"
        return next(iter(values.values())), outputs, None

    @property
    def quantities(self) -> list[Quantity]:
        """The modelled quantities: the objectives, then the limits."""
        return [*self.objectives, *self.limits]

    def values(self, x: Point, y: float | None, outputs: Outputs | None) -> list[float]:
        """The quantities at an evaluation; NaN where they cannot be computed, as everywhere if it failed.

        Examples
        --------
        >>> from tcgp import Space
        >>> from tcgp.goals import Goals
        >>> goals = Goals(Space([(0, 1)]), "gain", ["stress <= 250"], maximize=True)
        >>> goals.values((0.5,), 3.0, {"gain": 3.0, "stress": 240.0})
        [-3.0, -10.0]
        """
        if y is None:
            return [math.nan] * len(self.quantities)
        numbers = self._numbers(x, outputs or {})
        return [quantity.turned(quantity.read(y, numbers)) for quantity in self.quantities]

    def objective_values(self, x: Point, y: float | None, outputs: Outputs | None) -> dict[str, float | None]:
        """The objectives at an evaluation, by name and as the user wrote them; None if it failed."""
        if y is None:
            return {quantity.text: None for quantity in self.objectives}
        numbers = self._numbers(x, outputs or {})
        return {quantity.text: quantity.read(y, numbers) for quantity in self.objectives}

    def margins(self, x: Point, y: float, outputs: Outputs | None, spreads: Sequence[float]) -> list[Margin]:
        """A successful evaluation compared with each limit, given typical differences of the excesses."""
        numbers = self._numbers(x, outputs or {})
        values = [limit.read(y, numbers) for limit in self.limits]
        return [
            Margin(limit, value, limit.turned(value), spread)
            for limit, value, spread in zip(self.limits, values, spreads, strict=True)
        ]

    def known_margins(self, x: Point, others: Sequence[Point]) -> list[Margin]:
        """A point compared with each side of the constraints on parameters; the others show typical values."""
        found = []
        for side in (side for constraint in self.known for side in _sides(constraint)):
            values = [side.read(0.0, self._numbers(point, {})) for point in (x, *others)]
            found.append(Margin(side, values[0], side.turned(values[0]), float(np.ptp(values))))
        return found

    def _numbers(self, x: Point, outputs: Outputs) -> dict[str, FloatArray]:
        """The parameters and outputs that are numbers, by name."""
        values = {**outputs, **dict(zip(parameter_names(self.space), x, strict=True))}
        return {name: np.array([float(v)]) for name, v in values.items() if isinstance(v, int | float)}


def _expression(space: Space, text: str) -> Expression:
    """An objective as an expression: of one name where it cannot be read as anything else."""
    try:
        expression = Expression.parse(text, parameter_names(space))
    except ValueError:
        expression = None
    if expression is None or not expression.names:
        return Expression.parse(quote_name(text))
    if expression.names != {text}:
        _check_numeric(space, "objective", expression)
    return expression


def _value(text: str, expression: Expression, numbers: Mapping[str, FloatArray]) -> float:
    """The value of an expression; NaN where it cannot be computed. An output may have a text such as "a-b" as name."""
    if text in numbers:
        return float(numbers[text][0])
    return float(expression(numbers)[0]) if expression.names <= numbers.keys() else math.nan


def _sides(constraint: Constraint) -> list[Quantity]:
    """A constraint as one limit or two."""
    sides = [(1.0, constraint.upper), (-1.0, -constraint.lower)]
    return [Quantity(constraint.text, s, constraint.expression, b) for s, b in sides if math.isfinite(b)]


def _check_numeric(space: Space, argument: str, formula: Constraint | Expression) -> None:
    """Refuse expressions that compute with choices that are not numbers."""
    for name, dimension in zip(parameter_names(space), space.dimensions, strict=True):
        if name in formula.names and isinstance(dimension, Categorical) and not dimension.numeric:
            raise ValueError(
                f"{argument}: {formula.text!r} computes with {name!r}, whose choices are not all numbers; "
                "let your function return what depends on it as an output"
            )


def interpret(answer: object) -> tuple[float | None, str | None]:
    """An answer as a finite float, or None and the reason why it is not one.

    Examples
    --------
    >>> from tcgp.goals import interpret
    >>> interpret(3), interpret([3]), interpret(float("inf"))
    ((3.0, None), (3.0, None), (None, 'the value is inf'))
    """
    if answer is None:
        return None, "there is no value"
    if np.ma.is_masked(answer):
        return None, "the value is masked"
    if isinstance(answer, list | tuple) and len(answer) == 1:
        answer = answer[0]
    if getattr(answer, "size", None) == 1 and hasattr(answer, "item"):  # an array of one number, or a Series
        answer = answer.item()
    if (isinstance(answer, list | tuple | np.ndarray) or _is_series(answer)) and len(answer) > 1:
        shown = shorten(plain(list(answer)), 100)
        return None, (
            f"{SEVERAL_VALUES}, {shown}: return one number, or a mapping of named outputs, and name one of them as "
            "objective"
        )
    try:
        # float("1e3") works, but a function that returns text is wrong; float of NumPy's 1 + 2j is 1.
        astray = isinstance(answer, str | bytes | np.complexfloating)
        value = None if astray else float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = None
    if value is None:
        return None, f"{shorten(plain(answer))} is not a number"
    return (value, None) if math.isfinite(value) else (None, f"{NOT_FINITE}{value}")


def _is_series(answer: object) -> TypeGuard[Sequence[object]]:
    """Whether an answer is a pandas Series, without importing pandas."""
    return all(hasattr(answer, name) for name in ("iloc", "to_dict", "tolist"))


def read_outputs(answer: Mapping[Any, object]) -> tuple[dict[str, float | None], dict[str, str]]:
    """The outputs in a mapping as finite floats, and why some of them are None.

    Examples
    --------
    >>> from tcgp.goals import read_outputs
    >>> read_outputs({"mass": 3, "stress": float("nan")})
    ({'mass': 3.0, 'stress': None}, {'stress': 'the value is nan'})
    """
    read = {str(name): interpret(item) for name, item in answer.items()}
    values = {name: value for name, (value, _) in read.items()}
    return values, {name: reason for name, (_, reason) in read.items() if reason is not None}


def describe_point(space: Space, x: Point) -> str:
    """A point with the names of its parameters, in one line.

    Examples
    --------
    >>> from tcgp import Categorical, Space
    >>> from tcgp.goals import describe_point
    >>> describe_point(Space({"width": (0, 1), "alloy": Categorical(["steel", "brass"])}), (0.5, "steel"))
    "width = 0.5, alloy = 'steel'"
    """
    pairs = zip(parameter_names(space), x, strict=True)
    return shorten(", ".join(f"{name} = {plain(value)}" for name, value in pairs))
