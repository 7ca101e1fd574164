"""How a run is made: the settings that a journal keeps."""

from __future__ import annotations

import json
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tcgp._text import did_you_mean, plain
from tcgp.goals import Goals
from tcgp.methods.options import check_options
from tcgp.methods.portfolio import PORTFOLIOS, check_method, options_of
from tcgp.methods.published import check_choices, choices_of
from tcgp.space import Space

__all__ = [
    "Settings",
    "check_choice",
    "check_maximizer",
    "check_positive_integer",
    "check_seed",
    "default_size",
    "split_constraints",
    "wanted_output",
]

DESIGNS = ("uniform", "lhs", "sobol", "centre")

PER_PARAMETER = 10  # points of the paper's designs for each parameter


@dataclass(frozen=True)
class Settings:
    """How a run is made, apart from its space and its seed; journaled, and checked on resume.

    Attributes
    ----------
    method, criterion : str
    maximizer : str
        None when made is the paper's with the option ``as_published``, else ``"multistart"``.
    n_initial : int or None
    initial_design : str or None
        None until the size of the space is known, see `completed`.
    epsilon : float
    options : mapping
    objective : str or None
    constraints : tuple of str
    maximize : bool
        As in `tcgp.Optimizer`. Constraints that are no text are not settings: a journal cannot keep them.

    Examples
    --------
    >>> from tcgp.optimizer import Settings
    >>> Settings(method="tcgp", options={"delta": 2.0})
    Traceback (most recent call last):
        ...
    ValueError: delta must be a number in (0, 1], got 2.0
    """

    method: str = "auto"
    criterion: str = "ei"
    n_initial: int | None = None
    initial_design: str | None = None
    maximizer: str | None = None
    epsilon: float = 0.1
    options: Mapping[str, Any] = field(default_factory=dict)
    objective: str | None = None
    constraints: tuple[str, ...] = ()
    maximize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for text in self.constraints:
            if not isinstance(text, str):
                raise ValueError(f"constraints must be strings such as 'stress <= 250', got {plain(text)}")
        if self.objective is not None and not isinstance(self.objective, str):
            raise ValueError(f"objective must be the name of an output or None, got {plain(self.objective)}")
        if not isinstance(self.maximize, bool):
            raise ValueError(
                f"maximize must be True, False or the name of an output, got {plain(self.maximize)}"
            )
        check_method(self.method)
        check_choice("criterion", self.criterion, ("ei", "lcb"))
        if self.initial_design is not None:
            check_choice("initial_design", self.initial_design, DESIGNS)
        if self.n_initial is not None:
            check_positive_integer("n_initial", self.n_initial)
            object.__setattr__(self, "n_initial", int(self.n_initial))
        if not isinstance(self.epsilon, numbers.Real) or not 0.0 < self.epsilon < 1.0:
            raise ValueError(f"epsilon must be a number strictly between 0 and 1, got {plain(self.epsilon)}")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if not isinstance(self.options, Mapping):
            raise ValueError(f"options must be a mapping from names to values, got {plain(self.options)}")
        options = {name: v.item() if isinstance(v, np.generic) else v for name, v in self.options.items()}
        object.__setattr__(self, "options", options)
        try:
            check_options(self.method, options_of(self.method), self.options)
            check_choices(self.options)
            json.dumps(self.options, allow_nan=False)
        except TypeError as error:  # an unknown name, or a number that is none of Python's
            raise ValueError(f"options: {error}") from None
        if self.maximizer is None:
            object.__setattr__(self, "maximizer", choices_of(self.options).maximizer)
        check_choice("maximizer", self.maximizer, ("multistart", "smc"))

    def completed(self, space: Space, n_evals: int | None = None, n_workers: int = 1) -> Settings:
        """The settings with the default initial design, where none is given."""
        n_free = max(sum(dimension.size > 1 for dimension in space.dimensions), 1)
        n_initial = self.n_initial or default_size(self.method, n_free, n_evals, n_workers)
        kind = self.initial_design or ("centre" if self.method in PORTFOLIOS else "uniform")
        return replace(self, n_initial=n_initial, initial_design=kind)

    def goals(self, space: Space) -> Goals:
        """What is wanted of the outputs."""
        return Goals(space, self.objective, self.constraints, self.maximize)


def default_size(method: str, n_parameters: int, n_evals: int | None = None, n_workers: int = 1) -> int:
    """Size of the initial design where none is given: at most half of the evaluations, if their number is known.

    A portfolio begins with two points more than parameters, and lets no worker wait; a method of the paper begins as
    in the paper. Measured by benchmarks/efficiency/first_evaluation.py.

    Examples
    --------
    >>> from tcgp.record.settings import default_size
    >>> default_size("tcgp", 3), default_size("auto", 3), default_size("tcgp", 3, n_evals=20)
    (30, 5, 10)
    """
    most = max(n_parameters + 2, n_workers) if method in PORTFOLIOS else PER_PARAMETER * n_parameters
    return most if n_evals is None else max(min(most, int(n_evals) // 2), 1)


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices)
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {plain(value)}{hint}")


def check_maximizer(maximizer: str | None, known_constraints: Collection[object]) -> None:
    """Refuse SMC among constraints on parameters."""
    if maximizer != "multistart" and known_constraints:
        raise ValueError(
            "maximizer must be 'multistart' with constraints on parameters, among which SMC does not search, got "
            f"{maximizer!r}"
        )


def check_seed(name: str, value: object) -> int:
    """The seed as an int; refuse what is not a whole number of at least 0."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be an integer >= 0, got {plain(value)}")
    return int(value)


def check_positive_integer(name: str, value: object) -> None:
    """Refuse what is not a whole number of at least 1."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {plain(value)}")


def split_constraints(constraints: object) -> tuple[tuple[str, ...], list[Any]]:
    """Constraints that are text, which a journal keeps, and the others."""
    items = list(constraints) if isinstance(constraints, list | tuple) else [constraints]
    return tuple(c for c in items if isinstance(c, str)), [c for c in items if not isinstance(c, str)]


def wanted_output(objective: str | None, maximize: bool | str) -> dict[str, Any]:
    """The output to optimize and its sense; ``maximize`` may name it."""
    if isinstance(maximize, str):
        if objective not in (None, maximize):
            raise ValueError(
                f"objective and maximize must name one output, got {plain(objective)} and {plain(maximize)}"
            )
        return {"objective": maximize, "maximize": True}
    return {"objective": objective, "maximize": maximize}
