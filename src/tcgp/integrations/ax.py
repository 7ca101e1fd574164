"""Tail-calibrated Bayesian optimization as a generation node of Ax.

Importing this module registers the node with Ax, so that strategies which contain it can be loaded from JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp._arrays import check_noise
from tcgp.expressions import parse_constraint
from tcgp.integrations import _host
from tcgp.integrations._host import Status, Trials
from tcgp.integrations.stateless import as_seed, ask, seed_of
from tcgp.optimizer import Settings, SpaceExhausted
from tcgp.record.history import Evaluation
from tcgp.space import (
    LARGEST_RANGE,
    Categorical,
    Integer,
    Point,
    Real,
    parameter_names,
)

try:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.core.generator_run import GeneratorRun
    from ax.core.observation import ObservationFeatures
    from ax.core.outcome_constraint import OutcomeConstraint
    from ax.core.parameter import (
        ChoiceParameter,
        DerivedParameter,
        FixedParameter,
        Parameter,
        RangeParameter,
    )
    from ax.core.parameter_constraint import ParameterConstraint
    from ax.core.search_space import SearchSpace
    from ax.core.types import ComparisonOp, TParameterization
    from ax.exceptions.core import SearchSpaceExhausted, UnsupportedError
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
    from ax.storage.json_store.registry import CORE_DECODER_REGISTRY
except ImportError as error:
    raise ImportError("tcgp.integrations.ax needs Ax 1.3 or later: pip install 'ax-platform>=1.3'") from error

__all__ = ["TailCalibratedNode"]

SETTINGS = "method", "criterion", "n_initial", "maximizer", "epsilon", "options", "noise"

# Steps are often exactly at a bound, which the rounding of their sum must not forbid. Ax itself allows 1e-8 more.
_ROUNDING = 1e-9

# No point is proposed nearer to another than this share of the range: finer digits never make two points equal.
_FINE = 1e-5


@dataclass(init=False)
class TailCalibratedNode(ExternalGenerationNode):
    """Ax generation node based on Gaussian processes with tail calibration.

    The node creates its own initial design. It can be the only node of a generation strategy, or follow another one.

    Parameters
    ----------
    seed : int, optional
        Seed of all random choices; random if None.
    method, criterion, maximizer, epsilon, options
        As in `tcgp.Optimizer`: ``method="tcgp"`` is the method of the paper.
    n_initial : int, optional
        Number of trials, from any source, before the model is used. The default is two more than parameters for
        ``"auto"`` and 10 per parameter for other methods.
    noise : bool or float
        Whether the objective scatters: True, or its standard deviation; see `tcgp.minimize`. Points may then be
        repeated. Standard errors that come with the data (``sem``) are used where they are above 0; that of other
        values, and of constraints, is learned.
    state : dict, optional
        State of the last model, used by the next one; stored and loaded with the node.
    trace : list of dict, optional
        Method, beta, scale (lambda), threshold and log EI of each point that a model chose; None for quantities that
        the method does not have. Stored and loaded with the node.

    Notes
    -----
    The model is fitted to completed trials. Running, abandoned and early-stopped trials have no value. The model uses
    its own prediction instead, so that their neighbourhood is not proposed again. Failed trials lower the predicted
    probability of success nearby. Ordered numeric choices are treated as steps, other choices as categories. A float
    parameter with ``digits`` takes only the rounded values, to which those of other trials are rounded. Trials outside
    the search space are ignored.

    Proposed points always satisfy the parameter constraints. Outcome constraints are learned: each has its own model,
    and the criterion is weighted by the probability that all of them hold. A completed trial without the metrics of a
    constraint is used for the objective, but is not considered feasible.

    With two to four objectives, trials gain most for the volume that Ax's Pareto frontier dominates, up to the
    objective thresholds where there are any.

    Examples
    --------
    >>> from ax import Client, RangeParameterConfig
    >>> from ax.generation_strategy.generation_strategy import GenerationStrategy
    >>> from tcgp.integrations.ax import TailCalibratedNode
    >>> client = Client()
    >>> client.configure_experiment(
    ...     [RangeParameterConfig(name="x", bounds=(-2.0, 2.0), parameter_type="float")]
    ... )
    >>> client.configure_optimization(objective="-loss")
    >>> node = TailCalibratedNode(seed=0, n_initial=4)
    >>> client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tcgp"))
    >>> for _ in range(8):
    ...     for index, parameters in client.get_next_trials(max_trials=1).items():
    ...         _ = client.complete_trial(index, raw_data={"loss": (parameters["x"] - 1.0) ** 2})
    >>> len(node.trace)
    4
    """

    seed: int
    method: str
    criterion: str
    n_initial: int | None
    maximizer: str | None
    epsilon: float
    options: dict[str, Any]
    noise: bool | float
    state: dict[str, Any] | None
    trace: list[dict[str, Any]]

    def __init__(
        self,
        seed: int | None = None,
        method: str = "auto",
        criterion: str = "ei",
        n_initial: int | None = None,
        maximizer: str | None = None,
        epsilon: float = 0.1,
        options: dict[str, Any] | None = None,
        state: dict[str, Any] | None = None,
        trace: list[dict[str, Any]] | None = None,
        noise: bool | float = False,
    ) -> None:
        super().__init__(name="TailCalibrated", should_deduplicate=not noise)
        self.seed = as_seed(seed)
        self.state = state
        self.trace = list(trace or [])
        self._parameters: AxParameters | None = None
        self._n_limits, self._n_objectives = 0, 1
        self._reference: dict[str, float] | None = None
        self.evaluations: list[Evaluation] = []
        self._unanswered: list[Point] = []
        options = {} if options is None else options
        noise = check_noise(noise)
        given = Settings(method, criterion, n_initial, None, maximizer, epsilon, options, noise=noise)
        for name in SETTINGS:
            setattr(self, name, getattr(given, name))

    def _gen(
        self, *args: Any, fixed_features: ObservationFeatures | None = None, **kwargs: Any
    ) -> GeneratorRun:
        """Generate points, as Ax does; it would silently leave out values that a caller fixes."""
        if fixed_features is not None and fixed_features.parameters:
            raise UnsupportedError(
                "TailCalibratedNode chooses the values of all parameters, got fixed values of "
                f"{', '.join(map(repr, fixed_features.parameters))}: use another node, or attach the trial yourself"
            )
        return super()._gen(*args, **kwargs)

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Read the experiment: evaluated points, failures, and points without a value (yet)."""
        signs = _signs(experiment)
        limits = _limits(experiment)
        parameters = AxParameters(experiment.search_space)
        means: dict[tuple[int, str], dict[str, float]] = {}
        errors: dict[tuple[int, str], dict[str, float]] = {}
        for row in data.df.itertuples():
            means.setdefault((row.trial_index, row.arm_name), {})[row.metric_name] = row.mean
            errors.setdefault((row.trial_index, row.arm_name), {})[row.metric_name] = row.sem
        trials = Trials(parameters)
        for index, trial in experiment.trials.items():
            abandoned = {arm.name for arm in trial.abandoned_arms}  # of a batch that is completed, too
            for arm in trial.arms:
                outcomes = means.get((index, arm.name), {})
                if trial.status.is_failed:
                    trials.add(arm.parameters, Status.FAILED, reason="the trial failed")
                elif (
                    trial.status.is_completed
                    and signs.keys() <= outcomes.keys()
                    and arm.name not in abandoned
                ):
                    values = tuple(sign * outcomes[metric] for metric, sign in signs.items())
                    excesses = [_excess(limit, outcomes) for limit in limits]
                    sem, sd = errors[index, arm.name], []
                    if self.noise:
                        sd = [*(sem[metric] for metric in signs), *(_error(limit, sem) for limit in limits)]
                    trials.add(arm.parameters, Status.DONE, values, excesses, sd=sd)
                else:
                    trials.add(arm.parameters, Status.PENDING)
        self._parameters, self._n_limits = parameters, len(limits)
        self._n_objectives, self._reference = len(signs), _reference(experiment, signs)
        self.evaluations, self._unanswered = trials.evaluations, trials.pending

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """Return the next point, given the pending points."""
        if self._parameters is None:
            raise UnsupportedError(
                "get_next_candidate needs an experiment: call update_generator_state first"
            )
        parameters = self._parameters
        asked = [x for x in map(parameters.point_of, pending_parameters) if x is not None]
        pending = _distinct([*self._unanswered, *asked])
        settings = {name: getattr(self, name) for name in SETTINGS}
        try:
            proposal, state = ask(
                parameters.space,
                self.evaluations,
                pending,
                seed=seed_of(self.seed, len(self.evaluations) + len(pending)),
                state=self.state,
                settings={**settings, "reference": self._reference},
                n_limits=self._n_limits,
                n_objectives=self._n_objectives,
                known=parameters.constraints,
            )
        except SpaceExhausted as error:
            raise SearchSpaceExhausted(str(error)) from error
        self.state = state or self.state
        if proposal.trace is not None:
            self.trace.append(proposal.trace)
        return parameters.values_at(proposal.x)


CORE_DECODER_REGISTRY["TailCalibratedNode"] = TailCalibratedNode


class AxParameters(_host.Parameters):
    """An Ax search space as a `Space`: choices are numbered, fixed and derived parameters are omitted."""

    def __init__(self, search_space: SearchSpace) -> None:
        if search_space.is_hierarchical:
            raise UnsupportedError(
                "TailCalibratedNode handles no hierarchical search spaces: use another node"
            )
        self.search_space = search_space
        kinds = (RangeParameter, ChoiceParameter)
        self.free = {name: p for name, p in search_space.parameters.items() if isinstance(p, kinds)}
        super().__init__({name: _parameter(parameter) for name, parameter in self.free.items()})
        self.constraints = [
            c for constraint in search_space.parameter_constraints for c in self._known(constraint)
        ]

    def _known(self, constraint: ParameterConstraint) -> list[Any]:
        """Convert a parameter constraint to known constraints of the space."""
        if constraint.is_equality:
            raise UnsupportedError(
                f"TailCalibratedNode handles no equality constraints: leave one of the parameters of {constraint} "
                "out and compute it"
            )
        involved = [self.free[name] for name in constraint.constraint_dict]
        if not all(isinstance(parameter, RangeParameter) or _is_stepped(parameter) for parameter in involved):
            return [self._check(constraint)]
        order = list(self.free)
        terms = " + ".join(
            f"{float(weight)!r} * ({_formula(self.free[name], f'x{order.index(name)}')})"
            for name, weight in constraint.constraint_dict.items()
        )
        bound = float(constraint.bound)
        if any(isinstance(parameter, ChoiceParameter) or _step(parameter) for parameter in involved):
            bound += _ROUNDING
        parsed = parse_constraint(f"{terms} <= {bound!r}", parameter_names(self.space))
        known: list[Any] = [replace(part, text=str(constraint)) for part in parsed]
        if any(getattr(parameter, "digits", None) is not None for parameter in involved):
            known.append(self._check(constraint))  # rounding may violate the bound
        return known

    def _check(self, constraint: ParameterConstraint) -> Callable[[Point], bool]:
        """Ax's own check of a constraint at a point, given only the parameters that the constraint involves."""
        order = list(self.free)
        involved = [
            (name, order.index(name), self.parameters[name].value) for name in constraint.constraint_dict
        ]
        return lambda x: constraint.check({name: value(x[i]) for name, i, value in involved})

    def values_at(self, x: Point) -> TParameterization:
        """Return the complete parameterization at a point, in Ax's order."""
        values = super().values_at(x)
        for name, parameter in self.search_space.parameters.items():
            if isinstance(parameter, FixedParameter):
                values[name] = parameter.value
        for name, parameter in self.search_space.parameters.items():
            if isinstance(parameter, DerivedParameter):
                values[name] = parameter.compute(parameters=values)
        return {name: values[name] for name in self.search_space.parameters}


def _parameter(parameter: RangeParameter | ChoiceParameter) -> _host.Parameter:
    """Return what represents a parameter: choices are numbered."""
    if parameter.is_fidelity or getattr(parameter, "is_task", False):
        raise UnsupportedError(
            f"TailCalibratedNode handles no fidelity or task parameters: {parameter.name!r}"
        )
    if isinstance(parameter, ChoiceParameter):
        return _host.choice(parameter.values, ordered=_is_stepped(parameter))
    if parameter.logit_scale:
        raise UnsupportedError(f"TailCalibratedNode handles no logit scale: {parameter.name!r}")
    low, high, log, cast = parameter.lower, parameter.upper, parameter.log_scale, parameter.cast
    if parameter.python_type is int:
        return _host.Parameter(Integer(low, high, log=log), value=cast)
    if low == high:  # rounded to the same digits
        return _host.Parameter(Categorical([low]), cast)
    step = _step(parameter)
    # `cast` rounds to the digits, as Ax does.
    return _host.Parameter(Real(low, high, log=log, step=step), cast if step else _host.same, cast)


def _is_stepped(parameter: ChoiceParameter) -> bool:
    return bool(parameter.is_ordered and parameter.is_numeric)


def _step(parameter: RangeParameter) -> float | None:
    """Return the distance between the values of a float parameter with digits, which are multiples of it.

    None without digits, and where they are too fine to matter; on a logarithmic scale they matter at the lower end.
    """
    if parameter.digits is None or parameter.python_type is int:
        return None
    step, finest = float(f"1e{-parameter.digits}"), _FINE * (parameter.upper - parameter.lower)
    if step == 0.0 or max(abs(parameter.lower), abs(parameter.upper)) / step >= LARGEST_RANGE:
        return None
    return step if parameter.log_scale or step > finest else None


def _formula(parameter: Parameter, name: str) -> str:
    """Write the value of a parameter as an expression of its coordinate, with a kink where steps differ."""
    if not isinstance(parameter, ChoiceParameter):
        return name
    steps = np.diff(np.array(parameter.values, dtype=float))
    changes = np.diff(steps, prepend=0.0)
    terms = [
        f"{float(change)!r} * max({name} - {i}, 0)"
        for i, change in enumerate(changes)
        if abs(change) > 1e-9 * np.abs(steps).max()  # less is rounding
    ]
    return " + ".join([repr(float(parameter.values[0])), *terms])


def _signs(experiment: Experiment) -> dict[str, float]:
    """Return the signs that turn objectives into ones to minimize, by the names of their metrics."""
    config = experiment.optimization_config
    if config is None:
        raise UnsupportedError("the experiment has no optimization config: set an objective first")
    names, weights = config.objective.metric_names, config.objective.metric_weights
    if len(names) > 1 + config.objective.expression.count(","):
        raise UnsupportedError(
            "TailCalibratedNode optimizes one metric or several, and no sums of them, got the objective "
            f"{config.objective.expression!r}"
        )
    return {name: -math.copysign(1.0, weight) for name, (_, weight) in zip(names, weights, strict=True)}


def _reference(experiment: Experiment, signs: Mapping[str, float]) -> dict[str, float] | None:
    """Return the objective thresholds, of values to be minimized; None if there are none."""
    thresholds = _absolute(experiment.optimization_config.objective_thresholds)
    bounds = {threshold.metric_names[0]: float(threshold.bound) for threshold in thresholds}
    given = {f"objective{k}": signs[name] * bounds[name] for k, name in enumerate(signs) if name in bounds}
    return given or None


def _limits(experiment: Experiment) -> list[OutcomeConstraint]:
    """Return the outcome constraints."""
    return _absolute(experiment.optimization_config.outcome_constraints)


def _absolute(constraints: list[OutcomeConstraint]) -> list[OutcomeConstraint]:
    """Return the constraints, all of which must have absolute bounds."""
    for constraint in constraints:
        if constraint.relative:
            raise UnsupportedError(
                "TailCalibratedNode handles no outcome constraints relative to a baseline: give "
                f"{constraint.expression!r} a number"
            )
    return constraints


def _excess(constraint: OutcomeConstraint, outcomes: Mapping[str, float]) -> float:
    """Return the amount by which outcomes violate a constraint; NaN if not all of them are known."""
    weights = (weight for _, weight in constraint.metric_weights)
    terms = [
        w * outcomes.get(name, math.nan) for name, w in zip(constraint.metric_names, weights, strict=True)
    ]
    excess = float(sum(terms) - constraint.bound)
    return excess if constraint.op == ComparisonOp.LEQ else -excess


def _error(constraint: OutcomeConstraint, errors: Mapping[str, float]) -> float:
    """Return the standard error of that amount; NaN if not all are known."""
    weights = (weight for _, weight in constraint.metric_weights)
    return math.hypot(
        *(w * errors.get(name, math.nan) for name, w in zip(constraint.metric_names, weights, strict=True))
    )


def _distinct(points: Iterable[Point]) -> list[Point]:
    return list({tuple(x): x for x in points}.values())
