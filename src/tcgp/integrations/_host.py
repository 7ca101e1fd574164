"""What the adapters of hosts have in common: values of parameters by name, named outputs, and what became of a trial.

A host keeps its own trials (`Trials` reads them, for each proposal afresh) or leaves that to us (`Campaign`).
"""

from __future__ import annotations

import inspect
import logging
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from tcgp._text import did_you_mean, plain
from tcgp._typing import RandomState
from tcgp.expressions import quote_name
from tcgp.integrations.stateless import told
from tcgp.optimizer import Evaluation, Optimizer, Settings
from tcgp.record.settings import split_constraints
from tcgp.running.opening import start_or_resume
from tcgp.space import Categorical, Dimension, Integer, Point, Real, Space

__all__ = [
    "Campaign",
    "Parameter",
    "Parameters",
    "Status",
    "Trials",
    "check_names",
    "choice",
    "flat",
    "flat_all",
    "interval",
    "limits_on",
    "same",
]

logger = logging.getLogger("tcgp")


class Status(Enum):
    """What became of a trial."""

    DONE = "done"
    FAILED = "failed"
    PENDING = "pending"  # it runs, or has ended without a value, and is not to be proposed again


def same(value: Any) -> Any:
    """Return the value itself: the host and the dimension have the same ones."""
    return value


@dataclass(frozen=True)
class Parameter:
    """A parameter of a host.

    Attributes
    ----------
    dimension : Real, Integer or Categorical
        What represents it.
    coordinate : callable
        Value of the dimension for a value of the host; ValueError, TypeError or OverflowError if there is none.
    value : callable
        The reverse.
    """

    dimension: Dimension
    coordinate: Callable[[Any], Any] = same
    value: Callable[[Any], Any] = same


def choice(values: Sequence[Any], ordered: bool = False) -> Parameter:
    """Return a parameter that takes one of several values of any kind: their numbers are the dimension."""
    n = len(values)
    dimension = Integer(0, n - 1) if ordered else Categorical(range(n))
    return Parameter(dimension, list(values).index, list(values).__getitem__)


def interval(name: str, low: float, high: float, is_integer: bool) -> Real | Integer:
    """Return a continuous or integer dimension; ValueError if a bound is infinite."""
    if not math.isfinite(high - low):
        raise ValueError(f"the variable {name!r} must have finite bounds, got {(low, high)}")
    return Integer(math.ceil(low), math.floor(high)) if is_integer else Real(low, high)


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return the elements of a variable by their names: its own if there is one, and else ``z[0]``, ``z[1]``, ..."""
    elements = np.ravel(value).tolist()
    return {name: elements[0]} if len(elements) == 1 else {f"{name}[{i}]": e for i, e in enumerate(elements)}


def flat_all(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the elements of several variables by their names."""
    return {element: e for name, value in values.items() for element, e in flat(name, value).items()}


class Parameters:
    """The parameters of a host, as a `Space`.

    Parameters
    ----------
    parameters : mapping from names to Parameter
    named : bool
        Whether the space has these names, too.

    Examples
    --------
    >>> from tcgp import Real
    >>> from tcgp.integrations._host import Parameter, Parameters, choice
    >>> parameters = Parameters({"x": Parameter(Real(0.0, 1.0)), "solver": choice([min, max])})
    >>> parameters.point_of({"x": 0.5, "solver": max}), parameters.point_of({"x": 2.0, "solver": max})
    ([0.5, 1], None)
    >>> parameters.values_at([0.5, 1])
    {'x': 0.5, 'solver': <built-in function max>}
    """

    def __init__(self, parameters: Mapping[str, Parameter], named: bool = False) -> None:
        self.parameters = dict(parameters)
        dimensions = {name: parameter.dimension for name, parameter in self.parameters.items()}
        self.space = Space(dimensions if named else list(dimensions.values()))

    def point_of(self, values: Mapping[str, Any]) -> Point | None:
        """Return the point with these values, or None if it is not one of the space."""
        try:
            return self.space.check([p.coordinate(values[name]) for name, p in self.parameters.items()])
        except (KeyError, OverflowError, TypeError, ValueError):
            return None

    def values_at(self, x: Point) -> dict[str, Any]:
        """Return the host's values at a point."""
        pairs = zip(self.parameters.items(), x, strict=True)
        return {name: parameter.value(coordinate) for (name, parameter), coordinate in pairs}


@dataclass
class Trials:
    """The trials that a host keeps, as evaluations and pending points; those outside of the space are left out."""

    parameters: Parameters
    evaluations: list[Evaluation] = field(default_factory=list)
    pending: list[Point] = field(default_factory=list)

    def add(
        self,
        values: Mapping[str, Any],
        status: Status,
        y: object = None,
        excesses: Sequence[float] = (),
        reason: str | None = None,
        sd: Sequence[float] = (),
    ) -> None:
        """Add a trial: with a value to minimize, and the amounts by which it exceeds its limits, if it is done.

        ``sd`` is as in `tcgp.integrations.stateless.told`.
        """
        x = self.parameters.point_of(values)
        if x is None:
            return
        if status is Status.PENDING:
            self.pending.append(x)
        elif status is Status.FAILED:
            self.evaluations.append(told(x, None, reason=reason))
        else:
            self.evaluations.append(told(x, y, excesses, sd=sd))


class Campaign:
    """A campaign that speaks the language of a host: values by name, named outputs and a status.

    Parameters
    ----------
    parameters : Parameters
    journal : str or os.PathLike, optional
        File that keeps the campaign. If it exists, the campaign in it is continued.
    rng : int, numpy.random.Generator or None
    constraints : sequence
        As in `tcgp.Optimizer`.
    n_evals : int, optional
        Number of all evaluations, if it is known: at most half of them are the initial design.
    settings
        Further arguments of `tcgp.Optimizer`.

    Attributes
    ----------
    optimizer : Optimizer

    Examples
    --------
    >>> from tcgp import Real
    >>> from tcgp.integrations._host import Campaign, Parameter, Parameters, Status
    >>> parameters = Parameters({"x": Parameter(Real(0.0, 1.0))}, named=True)
    >>> campaign = Campaign(parameters, objective="cost", constraints=["stress <= 2"], rng=0)
    >>> (values,) = campaign.ask(1)
    >>> campaign.tell(values, {"cost": values["x"], "stress": 1.0})
    >>> campaign.tell({"x": 0.25}, {}, Status.FAILED, "the mesh was bad")
    >>> [evaluation.reason for evaluation in campaign.optimizer.evaluations]
    [None, 'the mesh was bad']
    """

    def __init__(
        self,
        parameters: Parameters,
        *,
        journal: str | os.PathLike[str] | None = None,
        rng: RandomState = None,
        constraints: Iterable[Any] = (),
        n_evals: int | None = None,
        **settings: Any,
    ) -> None:
        self.parameters = parameters
        texts, others = split_constraints(list(constraints))
        wanted = Settings(constraints=texts, **settings)
        completed = wanted.completed(parameters.space, n_evals)
        self.optimizer = start_or_resume(parameters.space, journal, wanted, completed, others, rng)
        self._held: list[Point] = []

    def ask(self, n: int) -> list[dict[str, Any]]:
        """Return the values of exactly n new points; ValueError if a finite space has fewer left."""
        found, self._held = self._held, []
        while len(found) < n:
            try:
                found.append(self.optimizer.propose().x)
            except Exception:
                self._held = found  # nobody has been given them
                raise
        return [self.parameters.values_at(x) for x in found]

    def tell(
        self,
        values: Mapping[str, Any],
        outputs: Mapping[str, Any],
        status: Status = Status.DONE,
        reason: str | None = None,
    ) -> None:
        """Report the outputs of a trial. One outside of the space is left out, with a warning."""
        x = self.parameters.point_of(values)
        if x is None:
            logger.warning("left out, because it lies outside of the bounds: %s", plain(dict(values)))
            return
        self.optimizer.tell(x, None if status is Status.FAILED else dict(outputs), reason=reason)

    def close(self) -> None:
        """Release the journal."""
        self.optimizer.close()


def limits_on(name: str, lower: float = -math.inf, upper: float = math.inf) -> list[str]:
    """Return constraints that keep an output, whatever its name, between two bounds, each of which may be infinite.

    Examples
    --------
    >>> from tcgp.integrations._host import limits_on
    >>> limits_on("stress", upper=250.0), limits_on("beam:charge", 1.0, 2.0)
    (['stress <= 250.0'], ['`beam:charge` >= 1.0', '`beam:charge` <= 2.0'])
    """
    bounds = [(">=", float(lower)), ("<=", float(upper))]
    return [f"{quote_name(name)} {sign} {bound!r}" for sign, bound in bounds if math.isfinite(bound)]


def check_names(who: str, given: Iterable[str], determined: Collection[str]) -> None:
    """Refuse names that are no arguments of `tcgp.Optimizer`, and those that the host's problem determines."""
    known = set(inspect.signature(Optimizer).parameters) - set(determined)
    for name in given:
        if name in determined:
            raise TypeError(f"{who} takes no {name!r}: the problem determines it")
        if name not in known:
            raise TypeError(f"{who} has no argument {name!r}{did_you_mean(name, known)}")
