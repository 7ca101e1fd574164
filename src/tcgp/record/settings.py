"""The settings of a run, which a journal keeps."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tcgp._text import did_you_mean, plain
from tcgp.goals import Goals, Noise
from tcgp.methods.options import Option, check_options
from tcgp.methods.portfolio import PORTFOLIOS, check_method, noisy_method, options_of
from tcgp.methods.published import check_choices, choices_of
from tcgp.space import Space

__all__ = [
    "GOALS",
    "MOST_OBJECTIVES",
    "Settings",
    "check_choice",
    "check_maximizer",
    "check_positive_integer",
    "check_seed",
    "default_size",
    "split_constraints",
    "wanted_outputs",
]

# Of the settings, those that may change in a run.
GOALS = ("objective", "constraints", "maximize", "reference", "noise", "n_initial")

EPSILON = Option(0.1, "level of the lower bound", low=0.0, high=1.0, open_low=True, open_high=True)

DESIGNS = ("uniform", "lhs", "sobol", "centre")

MOST_OBJECTIVES = 4  # of five, nearly all points are on the front

PER_PARAMETER = 10  # points of the paper's designs for each parameter


@dataclass(frozen=True)
class Settings:
    """Settings of a run, apart from its space and its seed; journaled, and checked on resume.

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
    objective : str, tuple of str or None
        Several as a tuple.
    constraints : tuple of str
    maximize : bool or tuple of str
        Of several objectives, those that are maximized.
    reference : mapping or None
    noise : bool, float or mapping
        As in `tcgp.Optimizer`. Constraints not given as text are not settings: a journal cannot keep them.

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
    objective: str | tuple[str, ...] | None = None
    constraints: tuple[str, ...] = ()
    maximize: bool | tuple[str, ...] = False
    reference: Mapping[str, float] | None = None
    noise: Noise = False

    @classmethod
    def given(
        cls, objective: object, constraints: object, maximize: object, reference: object, **others: Any
    ) -> tuple[Settings, list[Any]]:
        """The settings of a user, who may write goals in several ways; and the constraints not given as text."""
        texts, functions = split_constraints(constraints)
        goals = wanted_outputs(objective, maximize, reference)
        return cls(**goals, constraints=texts, **others), functions

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for name in ("objective", "maximize"):  # JSON knows no tuples
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for text in self.constraints:
            if not isinstance(text, str):
                raise ValueError(f"constraints must be strings such as 'stress <= 250', got {plain(text)}")
        self._check_objectives()
        check_method(self.method)
        if self.noise is not False:
            noisy_method(self.method)
        if isinstance(self.noise, Mapping):
            object.__setattr__(self, "noise", dict(self.noise))
        check_choice("criterion", self.criterion, ("ei", "lcb"))
        if self.initial_design is not None:
            check_choice("initial_design", self.initial_design, DESIGNS)
        if self.n_initial is not None:
            check_positive_integer("n_initial", self.n_initial)
            object.__setattr__(self, "n_initial", int(self.n_initial))
        EPSILON.check("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if not isinstance(self.options, Mapping):
            raise ValueError(f"options must be a mapping from names to values, got {plain(self.options)}")
        options = {name: v.item() if isinstance(v, np.generic) else v for name, v in self.options.items()}
        object.__setattr__(self, "options", options)
        try:
            check_options(self.method, options_of(self.method), self.options)
            check_choices(self.options)
            json.dumps(self.options, allow_nan=False)
        except TypeError as error:  # an unknown name, or a number of another type than Python's
            raise ValueError(f"options: {error}") from None
        if self.maximizer is None:
            object.__setattr__(self, "maximizer", choices_of(self.options).maximizer)
        check_choice("maximizer", self.maximizer, ("multistart", "smc"))
        if self.has_several:
            for name, only in (("criterion", "ei"), ("maximizer", "multistart")):
                if getattr(self, name) != only:
                    raise ValueError(
                        f"{name} must be {only!r} with several objectives, got {getattr(self, name)!r}"
                    )

    @property
    def has_several(self) -> bool:
        """Whether there are several objectives."""
        return isinstance(self.objective, tuple)

    def _check_objectives(self) -> None:
        """Refuse objectives that are not names, too many, or maximized without being objectives."""
        given = self.objective if isinstance(self.objective, tuple) else (self.objective,)
        are_names = all(isinstance(name, str) or (name is None and not self.has_several) for name in given)
        if not are_names or (self.has_several and len(set(given)) < max(2, len(given))):
            raise ValueError(
                "objective must be the name of an output, an expression of outputs, a list of these, or None, got "
                f"{plain(self.objective)}"
            )
        if len(given) > MOST_OBJECTIVES:
            raise ValueError(
                f"objective must name at most {MOST_OBJECTIVES} outputs, got {len(given)}, for which nearly all "
                "points are on the front; keep those that matter most, and give the others a limit in constraints, "
                "such as "
                "'cost <= 100'"
            )
        if not isinstance(self.maximize, bool) and not (
            isinstance(self.maximize, tuple) and self.has_several and set(self.maximize) <= set(given)
        ):
            raise ValueError(
                "maximize must be True, False or the name of an output, or a list of some of several objectives, got "
                f"{plain(self.maximize)}"
            )
        self._check_reference([name for name in given if name is not None])

    def _check_reference(self, objectives: Collection[str]) -> None:
        """Refuse a reference of anything but several objectives."""
        if self.reference is None:
            return
        if not isinstance(self.reference, Mapping) or not self.has_several:
            raise ValueError(
                "reference must be a mapping from some of several objectives to numbers, got "
                f"{plain(self.reference)}"
            )
        for name, value in self.reference.items():
            check_choice("a name in reference", name, objectives)
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise ValueError(f"reference of {name!r} must be a finite number, got {plain(value)}")
        object.__setattr__(self, "reference", {name: float(value) for name, value in self.reference.items()})

    def completed(self, space: Space, n_evals: int | None = None, n_workers: int = 1) -> Settings:
        """The settings with the default initial design, where none is given."""
        n_free = max(sum(dimension.size > 1 for dimension in space.dimensions), 1)
        n_initial = self.n_initial or default_size(self.method, n_free, n_evals, n_workers)
        kind = self.initial_design or ("centre" if self.method in PORTFOLIOS else "uniform")
        return replace(self, n_initial=n_initial, initial_design=kind)

    @property
    def goals_given(self) -> dict[str, Any]:
        """The settings that may change during a run."""
        return {name: getattr(self, name) for name in GOALS}

    def to_json(self) -> dict[str, Any]:
        """The JSON of the settings; unused ones are left out, for versions that do not know them."""
        unused = {"reference": None, "noise": False}
        return {k: v for k, v in asdict(self).items() if k not in unused or v is not unused[k]}

    def goals(self, space: Space) -> Goals:
        """The goals."""
        return Goals(space, self.objective, self.constraints, self.maximize, self.reference, self.noise)


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
    """Refuse SMC with constraints on parameters."""
    if maximizer != "multistart" and known_constraints:
        raise ValueError(
            "maximizer must be 'multistart' with constraints on parameters, which SMC does not support, got "
            f"{maximizer!r}"
        )


def check_seed(name: str, value: object) -> int:
    """The seed as an int; refuse what is not a whole number of at least 0."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be an integer >= 0, got {plain(value)}")
    return int(value)


def check_positive_integer(name: str, value: object) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {plain(value)}")


def split_constraints(constraints: object) -> tuple[tuple[str, ...], list[Any]]:
    """Constraints given as text, which a journal keeps, and the others."""
    items = list(constraints) if isinstance(constraints, list | tuple) else [constraints]
    return tuple(c for c in items if isinstance(c, str)), [c for c in items if not isinstance(c, str)]


def wanted_outputs(objective: object, maximize: object, reference: object = None) -> dict[str, Any]:
    """What to optimize, and in which sense; ``maximize`` may name objectives that ``objective`` does not.

    Examples
    --------
    >>> from tcgp.record.settings import wanted_outputs
    >>> wanted_outputs(["mass"], ["gain"])
    {'objective': ('mass', 'gain'), 'maximize': ('gain',), 'reference': None}
    >>> wanted_outputs(None, "gain")
    {'objective': 'gain', 'maximize': True, 'reference': None}
    """
    if (
        isinstance(maximize, str)
        and objective not in (None, maximize)
        and not isinstance(objective, list | tuple)
    ):
        raise ValueError(
            "objective and maximize must name one output, or be lists of several, got "
            f"{plain(objective)} and {plain(maximize)}"
        )
    high = [maximize] if isinstance(maximize, str) else maximize
    if not isinstance(objective, list | tuple) and not isinstance(high, list | tuple):
        return {"objective": objective, "maximize": maximize, "reference": reference}
    low = list(objective) if isinstance(objective, list | tuple) else [objective] * (objective is not None)
    if len(set(map(plain, low))) < len(low):
        raise ValueError(f"objective must name each output once, got {plain(low)}")
    if not isinstance(high, list | tuple):
        names, maximized = tuple(low), maximize
    else:
        names = (*low, *(name for name in dict.fromkeys(high) if name not in low))
        maximized = tuple(dict.fromkeys(high))
    if len(names) == 1:
        return {"objective": names[0], "maximize": bool(maximized), "reference": reference}
    return {"objective": names or None, "maximize": maximized, "reference": reference}
