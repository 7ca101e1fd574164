"""Tail-calibrated Bayesian optimization as a generation node of Ax.

Importing this module makes Ax able to read strategies with the node back from JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp.expressions import parse_constraint
from tcgp.integrations.stateless import ask, told
from tcgp.optimizer import Settings, SpaceExhausted, check_positive_integer, check_seed
from tcgp.optimizer.history import Evaluation
from tcgp.space import Categorical, Dimension, Integer, Point, Real, Space, parameter_names

try:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
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


@dataclass(init=False)
class TailCalibratedNode(ExternalGenerationNode):
    """Generation node of Ax: Bayesian optimization with Gaussian processes calibrated in the tail.

    It makes its own initial design, and may stand alone in a generation strategy or follow another node.

    Parameters
    ----------
    seed : int, optional
        Source of all randomness; drawn if None.
    method : str
        As for `tcgp.minimize`: ``"auto"``, where three models take turns, or one model, such as ``"tcgp"``, the
        paper's method.
    criterion : {"ei", "lcb"}
        Expected improvement, or the lower confidence bound of level ``epsilon``.
    n_initial : int, optional
        Number of trials, of whatever origin, before the model chooses; by default 4 per parameter with
        ``"auto"`` and 10 with other methods.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized; see `tcgp.Optimizer`.
    epsilon : float
        Level of the lower confidence bound.
    options : dict, optional
        Options of the method, such as ``{"delta": 0.1}``; see `tcgp.fit_model`.
    state : dict, optional
        What the last model leaves to the next; stored with the node, and given back when it is loaded.
    trace : list of dict, optional
        What the models were, likewise: method, beta, scale (lambda), threshold and log EI of each point a model
        chose; None for what the method does not have.

    Notes
    -----
    Completed trials make the model. Trials under way, abandoned or stopped early have no value: the model
    takes its own prediction for it, so that nobody goes there again. Failed trials lower the probability that
    a trial nearby will succeed. Ordered numeric choices are treated as steps, others as categories.

    No point is proposed that violates a parameter constraint. Outcome constraints are learned: each gets a model of its
    own, and the criterion is weighed by the probability that all hold. A completed trial
    without the metrics of a constraint counts for the objective; whether it is feasible is not known.

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
    maximizer: str
    epsilon: float
    options: dict[str, Any]
    state: dict[str, Any] | None
    trace: list[dict[str, Any]]

    def __init__(
        self,
        seed: int | None = None,
        method: str = "auto",
        criterion: str = "ei",
        n_initial: int | None = None,
        maximizer: str = "multistart",
        epsilon: float = 0.1,
        options: dict[str, Any] | None = None,
        state: dict[str, Any] | None = None,
        trace: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(name="TailCalibrated", should_deduplicate=True)
        if n_initial is not None:
            check_positive_integer("n_initial", n_initial)
        self.seed = (
            int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else check_seed("seed", seed)
        )
        self.method = method
        self.criterion = criterion
        self.n_initial = n_initial
        self.maximizer = maximizer
        self.epsilon = epsilon
        self.state = state
        self.trace = list(trace or [])
        self._parameters: Parameters | None = None
        self._n_limits = 0
        self.evaluations: list[Evaluation] = []
        self._unanswered: list[Point] = []
        given = {} if options is None else options
        settings = Settings(
            method, criterion, n_initial or 1, maximizer=maximizer, epsilon=epsilon, options=given
        )
        self.options = dict(settings.options)

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Read the experiment: what was evaluated, what failed, and what has no value (yet)."""
        sign, metric = _objective(experiment)
        limits = _limits(experiment)
        parameters = Parameters(experiment.search_space)
        means: dict[tuple[int, str], dict[str, float]] = {}
        for row in data.df.itertuples():
            means.setdefault((row.trial_index, row.arm_name), {})[row.metric_name] = row.mean
        evaluations, unanswered = [], []
        for index, trial in experiment.trials.items():
            for arm in trial.arms:
                x = parameters.point_of(arm.parameters)
                if x is None:
                    continue
                outcomes = means.get((index, arm.name), {})
                if trial.status.is_failed:
                    evaluations.append(told(x, None, reason="the trial failed"))
                elif trial.status.is_completed and metric in outcomes:
                    excesses = [_excess(limit, outcomes) for limit in limits]
                    evaluations.append(told(x, sign * outcomes[metric], excesses))
                else:
                    unanswered.append(x)
        self._parameters, self._n_limits = parameters, len(limits)
        self.evaluations, self._unanswered = evaluations, unanswered

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """The next point, given also what Ax says is pending."""
        if self._parameters is None:
            raise UnsupportedError(
                "get_next_candidate needs an experiment: call update_generator_state first"
            )
        parameters = self._parameters
        asked = [x for x in map(parameters.point_of, pending_parameters) if x is not None]
        pending = _distinct([*self._unanswered, *asked])
        n_known = len(self.evaluations) + len(pending)
        seed = np.random.SeedSequence(self.seed, spawn_key=(n_known,)).generate_state(1, np.uint64)[0]
        settings = {
            "method": self.method,
            "criterion": self.criterion,
            "n_initial": self.n_initial,
            "maximizer": self.maximizer,
            "epsilon": self.epsilon,
            "options": self.options,
        }
        try:
            proposal, state = ask(
                parameters.space,
                self.evaluations,
                pending,
                seed=int(seed),
                state=self.state,
                settings=settings,
                n_limits=self._n_limits,
                known=parameters.constraints,
            )
        except SpaceExhausted as error:
            raise SearchSpaceExhausted(str(error)) from error
        self.state = state or self.state
        if proposal.trace is not None:
            self.trace.append(proposal.trace)
        return parameters.from_point(proposal.x)


CORE_DECODER_REGISTRY["TailCalibratedNode"] = TailCalibratedNode


class Parameters:
    """A search space of Ax as a `Space`: choices are numbered, fixed and derived parameters left out."""

    def __init__(self, search_space: SearchSpace) -> None:
        if search_space.is_hierarchical:
            raise UnsupportedError(
                "TailCalibratedNode handles no hierarchical search spaces: use another node"
            )
        self.search_space = search_space
        kinds = (RangeParameter, ChoiceParameter)
        self.free = {name: p for name, p in search_space.parameters.items() if isinstance(p, kinds)}
        self.space = Space([_dimension(parameter) for parameter in self.free.values()])
        self.constraints = [
            c for constraint in search_space.parameter_constraints for c in self._known(constraint)
        ]

    def _known(self, constraint: ParameterConstraint) -> list[Any]:
        """A parameter constraint as known constraints of the space."""
        if constraint.is_equality:
            raise UnsupportedError(
                f"TailCalibratedNode handles no equality constraints: leave one of the parameters of {constraint} "
                "out and compute it"
            )
        weights = {name: float(weight) for name, weight in constraint.constraint_dict.items()}
        involved = [self.free[name] for name in weights]
        if not all(isinstance(parameter, RangeParameter) for parameter in involved):
            return [self._check(constraint)]  # steps need not be equal
        order = list(self.free)
        terms = " + ".join(f"{weight!r} * x{order.index(name)}" for name, weight in weights.items())
        parsed = parse_constraint(f"{terms} <= {float(constraint.bound)!r}", parameter_names(self.space))
        known: list[Any] = [replace(part, text=str(constraint)) for part in parsed]
        if any(parameter.digits is not None for parameter in involved):  # rounding may lead across the bound
            known.append(self._check(constraint))
        return known

    def _check(self, constraint: ParameterConstraint) -> Callable[[Point], bool]:
        """Ax's own check of a constraint at a point, given only the parameters that the constraint involves."""
        order = list(self.free)
        involved = [(name, order.index(name), self.free[name]) for name in constraint.constraint_dict]
        return lambda x: constraint.check({name: _value(parameter, x[i]) for name, i, parameter in involved})

    def point_of(self, values: Mapping[str, Any]) -> Point | None:
        """The point of a parameterization, or None if it is outside of the space."""
        try:
            return self.space.check([_coordinate(p, values[name]) for name, p in self.free.items()])
        except (KeyError, TypeError, ValueError):
            return None

    def from_point(self, x: Point) -> TParameterization:
        """The parameterization at a point, complete and in Ax's order."""
        pairs = zip(self.free.items(), x, strict=True)
        values = {name: _value(parameter, coordinate) for (name, parameter), coordinate in pairs}
        for name, parameter in self.search_space.parameters.items():
            if isinstance(parameter, FixedParameter):
                values[name] = parameter.value
        for name, parameter in self.search_space.parameters.items():
            if isinstance(parameter, DerivedParameter):
                values[name] = parameter.compute(parameters=values)
        return {name: values[name] for name in self.search_space.parameters}


def _dimension(parameter: Parameter) -> Dimension:
    """The dimension that stands for a parameter."""
    if parameter.is_fidelity or getattr(parameter, "is_task", False):
        raise UnsupportedError(
            f"TailCalibratedNode handles no fidelity or task parameters: {parameter.name!r}"
        )
    if isinstance(parameter, ChoiceParameter):
        n = len(parameter.values)
        return Integer(0, n - 1) if _is_stepped(parameter) else Categorical(range(n))
    if parameter.logit_scale:
        raise UnsupportedError(f"TailCalibratedNode handles no logit scale: {parameter.name!r}")
    if parameter.python_type is int:
        return Integer(parameter.lower, parameter.upper, log=parameter.log_scale)
    return Real(parameter.lower, parameter.upper, log=parameter.log_scale)


def _is_stepped(parameter: ChoiceParameter) -> bool:
    return bool(parameter.is_ordered and parameter.is_numeric)


def _coordinate(parameter: Parameter, value: Any) -> Any:
    """The value in the units of its dimension: inverse of `_value`."""
    return parameter.values.index(value) if isinstance(parameter, ChoiceParameter) else value


def _value(parameter: Parameter, coordinate: Any) -> Any:
    """Ax's value for a coordinate."""
    if isinstance(parameter, ChoiceParameter):
        return parameter.values[coordinate]
    return parameter.cast(coordinate)  # to its number of digits


def _objective(experiment: Experiment) -> tuple[float, str]:
    """Sign that makes the objective one to minimize, and the name of its metric."""
    config = experiment.optimization_config
    if config is None:
        raise UnsupportedError("the experiment has no optimization config: set an objective first")
    if not config.objective.is_single_objective:
        raise UnsupportedError(
            f"TailCalibratedNode optimizes one metric, got the objective {config.objective.expression!r}"
        )
    return (1.0 if config.objective.minimize else -1.0), config.objective.metric_names[0]


def _limits(experiment: Experiment) -> list[OutcomeConstraint]:
    """The outcome constraints, all with a bound that is a number."""
    constraints: list[OutcomeConstraint] = experiment.optimization_config.outcome_constraints
    for constraint in constraints:
        if constraint.relative:
            raise UnsupportedError(
                "TailCalibratedNode handles no outcome constraints relative to a baseline: give "
                f"{constraint.expression!r} a number"
            )
    return constraints


def _excess(constraint: OutcomeConstraint, outcomes: Mapping[str, float]) -> float:
    """How far outcomes lie beyond a constraint; NaN where they are not all known."""
    weights = (weight for _, weight in constraint.metric_weights)
    terms = [
        w * outcomes.get(name, math.nan) for name, w in zip(constraint.metric_names, weights, strict=True)
    ]
    excess = float(sum(terms) - constraint.bound)
    return excess if constraint.op == ComparisonOp.LEQ else -excess


def _distinct(points: Iterable[Point]) -> list[Point]:
    return list({tuple(x): x for x in points}.values())
