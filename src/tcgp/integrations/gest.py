"""Tail-calibrated Bayesian optimization as a generator of the gest-api: for Xopt, libEnsemble and optimas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Real as Number
from typing import Any

import numpy as np

from tcgp._typing import RandomState
from tcgp.integrations._host import Campaign, Parameter, Parameters, Status, check_names, interval, limits_on
from tcgp.optimizer import Optimizer, SpaceExhausted, check_positive_integer
from tcgp.record.settings import wanted_outputs
from tcgp.space import Categorical, Dimension

try:
    from gest_api import Generator
    from gest_api.vocs import (
        VOCS,
        BaseVariable,
        BoundsConstraint,
        ContextualVariable,
        DiscreteVariable,
        ExploreObjective,
        GreaterThanConstraint,
        LessThanConstraint,
        MaximizeObjective,
    )
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.gest needs gest-api 0.2 or later: pip install 'gest-api>=0.2'"
    ) from error

__all__ = ["TailCalibratedGenerator"]

# What these hosts add to the values of a point whose evaluation failed.
FAILED = "xopt_error", "xopt_error_str"
DETERMINED = "space", "objective", "maximize"


class TailCalibratedGenerator(Generator):
    """Generator of the gest-api based on Gaussian processes with tail calibration.

    Parameters
    ----------
    vocs : VOCS
        Continuous and discrete variables, one to four objectives to minimize or maximize, constraints (each has its own
        model) and observables (recorded only). Discrete variables whose values are numbers are ordered.
    journal : str or os.PathLike, optional
        File that keeps the campaign. If it exists, the campaign in it is continued.
    rng : int, numpy.random.Generator or None
        Source of all randomness.
    constraints : sequence, optional
        Further constraints, such as ``"x1 <= 2 * x2"`` between variables, which no suggestion violates.
    settings
        Further arguments of `tcgp.Optimizer`, such as ``method="tcgp"`` or ``n_initial=10``.

    Attributes
    ----------
    vocs : VOCS
    optimizer : tcgp.Optimizer
        The campaign: ``generator.optimizer.result()`` is its result.

    Notes
    -----
    The generator has its own initial design. The result of an evaluation failed if its objective or a constraint is
    missing or not finite. Points outside of the domains, and points that were not suggested, may be ingested: the
    former are left out with a warning.

    A copied generator continues independently. If it has a journal, the copy continues the journal in the original's
    stead: a journal has one writer.

    Examples
    --------
    >>> from gest_api.vocs import VOCS
    >>> from tcgp.integrations.gest import TailCalibratedGenerator
    >>> vocs = VOCS(variables={"x": [-2.0, 2.0]}, objectives={"f": "MINIMIZE"}, constraints={"c": ["LESS_THAN", 0.5]})
    >>> generator = TailCalibratedGenerator(vocs, rng=0)
    >>> for _ in range(12):
    ...     points = generator.suggest(1)
    ...     generator.ingest([{**p, "f": (p["x"] - 1.0) ** 2, "c": p["x"]} for p in points])
    >>> result = generator.optimizer.result()
    >>> result.success, round(result.fun, 2)
    (True, 0.25)
    """

    def __init__(
        self,
        vocs: VOCS,
        *,
        journal: str | os.PathLike[str] | None = None,
        rng: RandomState = None,
        constraints: Sequence[Any] = (),
        **settings: Any,
    ) -> None:
        check_names(type(self).__name__, settings, DETERMINED)
        self.vocs = vocs
        self._rng, self._journal = rng, journal
        self._given = list(constraints)
        self._settings = settings
        self._campaign: Campaign | None = None
        super().__init__(vocs)

    def _validate_vocs(self, vocs: VOCS) -> None:
        if not vocs.variables:
            raise ValueError("the VOCS must have at least one variable")
        if not vocs.objectives:
            raise ValueError("the VOCS must have at least one objective")
        if any(isinstance(objective, ExploreObjective) for objective in vocs.objectives.values()):
            raise ValueError("the objective must be MINIMIZE or MAXIMIZE, got EXPLORE")
        # Whatever else is wrong with them is said here, not in the middle of a campaign.
        goals, constraints = self._goals(vocs)
        Optimizer(_parameters(vocs).space, **goals, constraints=constraints, **self._settings)

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer behind the generator."""
        return self._opened().optimizer

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return exactly so many points to evaluate, one by default; ValueError if a finite space has fewer left."""
        if num_points is not None:
            check_positive_integer("num_points", num_points)
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        try:
            return [{**values, **constants} for values in self._opened().ask(num_points or 1)]
        except SpaceExhausted as error:
            raise ValueError(str(error)) from error

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Take the results of evaluations, of suggested points or of others."""
        campaign = self._opened()
        for result in results:
            outputs = {name: result[name] for name in self.vocs.output_names if name in result}
            flag, reason = (result.get(name) for name in FAILED)
            values = {name: result.get(name) for name in self.vocs.variables}
            if isinstance(flag, bool | np.bool_) and flag:
                campaign.tell(values, {}, Status.FAILED, str(reason).strip() or None)
            else:
                campaign.tell(values, outputs)

    def add_data(self, new_data: Any) -> None:
        """Take results as a DataFrame, as Xopt passes those of an earlier session."""
        self.ingest(new_data.to_dict("records"))

    def finalize(self) -> None:
        """Close the journal. The next call opens it again."""
        if self._campaign is not None and self._journal is not None:
            self._campaign.close()
            self._campaign = None

    def _opened(self) -> Campaign:
        """The campaign, begun or continued by the first call: whoever copies a generator before uses the copy."""
        if self._campaign is None:
            goals, constraints = self._goals(self.vocs)
            self._campaign = Campaign(
                _parameters(self.vocs),
                journal=self._journal,
                rng=self._rng,
                constraints=constraints,
                **goals,
                **self._settings,
            )
        return self._campaign

    def _goals(self, vocs: VOCS) -> tuple[dict[str, Any], list[Any]]:
        """What is wanted of the outputs, and all constraints."""
        maximized = [name for name, item in vocs.objectives.items() if isinstance(item, MaximizeObjective)]
        limits = [text for item in vocs.constraints.items() for text in _limits(*item)]
        return wanted_outputs(list(vocs.objectives), maximized), [*limits, *self._given]

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: all but a campaign with a journal, which it continues when it is used."""
        return {**vars(self), **({} if self._journal is None else {"_campaign": None})}


def _parameters(vocs: VOCS) -> Parameters:
    items = vocs.variables.items()
    return Parameters({name: Parameter(_dimension(name, variable)) for name, variable in items}, named=True)


def _dimension(name: str, variable: BaseVariable) -> Dimension:
    """Return the dimension that represents a variable; ValueError if there is none."""
    if isinstance(variable, ContextualVariable):
        raise ValueError(
            f"the variable {name!r} is contextual: only variables that can be chosen are supported"
        )
    if isinstance(variable, DiscreteVariable):
        numeric = all(isinstance(v, Number) and not isinstance(v, bool) for v in variable.values)
        # The order of a set may be another one in the next process.
        return Categorical(sorted(variable.values, key=None if numeric else repr), ordered=numeric)
    low, high = variable.domain
    is_integer = variable.dtype is not None and np.issubdtype(np.dtype(variable.dtype), np.integer)
    return interval(name, low, high, is_integer)


def _limits(name: str, constraint: object) -> list[str]:
    """Return the constraints on an output as texts."""
    if isinstance(constraint, LessThanConstraint):
        return limits_on(name, upper=constraint.value)
    if isinstance(constraint, GreaterThanConstraint):
        return limits_on(name, lower=constraint.value)
    if isinstance(constraint, BoundsConstraint):
        return limits_on(name, *constraint.range)
    raise ValueError(f"the constraint {name!r} must be LESS_THAN, GREATER_THAN or BOUNDS, got {constraint!r}")
