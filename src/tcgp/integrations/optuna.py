"""Tail-calibrated Bayesian optimization as an Optuna sampler.

>>> import optuna
>>> from tcgp.integrations.optuna import TailCalibratedSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=TailCalibratedSampler(seed=0))
>>> study.optimize(lambda trial: (trial.suggest_float("x", -2.0, 2.0) - 1.0) ** 2, n_trials=15)
>>> study.best_value < 1e-3
True
"""

from __future__ import annotations

import json
import logging
import math
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tcgp._arrays import check_noise
from tcgp.integrations import _host
from tcgp.integrations._host import Parameter, Status, Trials
from tcgp.integrations._repeats import best_repeat
from tcgp.integrations.stateless import as_seed, ask, seed_of
from tcgp.optimizer import Settings, SpaceExhausted, check_positive_integer
from tcgp.record.history import SAME_POINT, Proposal
from tcgp.record.settings import MOST_OBJECTIVES
from tcgp.space import Categorical, Integer, Point, Real

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.optuna needs Optuna 4.0 or later: pip install 'optuna>=4.0'"
    ) from error

__all__ = ["TailCalibratedSampler"]

logger = logging.getLogger("tcgp")

# System attributes of a trial: its point, whether the point is final, and the state of the model.
POINT, SETTLED, STATE = "tcgp:point", "tcgp:settled", "tcgp:state"

# Source of a proposal that repeats the point of another trial.
REPEAT = "repeat"

# Optuna stores constraint values as a list under this key, or one value under "constraints:name".
CONSTRAINTS = "constraints"

# Relational storages limit attributes to 2045 characters.
_ATTRIBUTE_LENGTH = 2000

# Seconds to wait for a worker that is choosing the same point at the same time; it may have been killed.
PATIENCE = 5.0
_POLL = 0.02

# Threads of one process choose in turn; concurrently, they would choose the same point.
turn = threading.Lock()


def _forget_other_threads() -> None:
    """In a forked child there are none, and a lock that one of them held would never open."""
    global turn
    turn = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


class TailCalibratedSampler(BaseSampler):
    """Optuna sampler based on Gaussian processes with tail calibration.

    The sampler keeps no state of its own; it reads everything from the study. Any number of processes may share a
    study, and a stopped process can be restarted. Each trial records the model that chose it in user attributes:
    ``tcgp:method``, ``tcgp:log_ei`` and, depending on the method, ``tcgp:beta``, ``tcgp:lambda`` and
    ``tcgp:threshold``. With constraints, ``tcgp:log_feasible`` is the log probability that all of them hold.

    Parameters
    ----------
    seed : int, optional
        Seed of all random choices. Each trial number has its own random stream, so workers may share a seed.
    method, criterion, maximizer, epsilon, options
        As in `tcgp.Optimizer`: ``method="tcgp"`` is the method of the paper.
    n_startup_trials : int
        Number of random trials before the model is used. The paper uses 10 per parameter.
    noise : bool or float
        Whether the objective scatters: True, or its standard deviation; see `tcgp.minimize`. Trials may then repeat a
        point. That of constraints is learned.
    constraints_func : callable, optional
        As in Optuna's ``GPSampler``: a function of a finished trial that returns a sequence of numbers, which are
        stored with the trial. A constraint holds if its number is at most 0. Constraints that the objective sets
        itself (``trial.set_constraint``, Optuna 5.0 or later) need no function.

    Notes
    -----
    With two to four objectives (``directions``), trials gain most for the volume that ``study.best_trials`` dominate.

    The model is fitted to completed trials. Running, pruned and enqueued trials have no value. The model uses its own
    prediction instead, so that their neighbourhood is not proposed again. Failed trials and infinite values lower the
    predicted probability of success nearby.

    Each constraint has its own model, and the criterion is weighted by the probability that all constraints hold. A
    completed trial without constraint values is used for the objective, but is not considered feasible.
    ``study.best_trial`` is the best trial that Optuna considers feasible.

    Conditional parameters, which not all completed trials have, and parameters whose range changes are sampled at
    random, independently of the others. The value at a point of the common parameters then depends on chance. If there
    are finitely many such points, a trial may repeat one: the one with the largest expected improvement, given the mean
    and the spread of its values, unless the model expects more from a new point.

    Examples
    --------
    >>> import optuna
    >>> from tcgp.integrations.optuna import TailCalibratedSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 1e-3, 1.0, log=True)
    ...     k = trial.suggest_int("k", 1, 5)
    ...     return (x - 0.1) ** 2 + (k - 3) ** 2
    >>> study = optuna.create_study(sampler=TailCalibratedSampler(seed=0))
    >>> study.optimize(objective, n_trials=20)
    >>> "gp-nugget" in {trial.user_attrs["tcgp:method"] for trial in study.trials[10:]}
    True
    """

    def __init__(
        self,
        seed: int | None = None,
        method: str = "auto",
        criterion: str = "ei",
        *,
        n_startup_trials: int = 10,
        maximizer: str | None = None,
        epsilon: float = 0.1,
        options: Mapping[str, Any] | None = None,
        noise: bool | float = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        check_positive_integer("n_startup_trials", n_startup_trials)
        if constraints_func is not None and not callable(constraints_func):
            raise ValueError(f"constraints_func must be a function or None, got {constraints_func!r}")
        self._constraints_func = constraints_func
        self._settings: dict[str, Any] = {
            "method": method,
            "criterion": criterion,
            "n_initial": n_startup_trials,
            "maximizer": maximizer,
            "epsilon": epsilon,
            "options": {} if options is None else options,
            "noise": check_noise(noise),
        }
        Settings(**self._settings)  # report invalid settings here, not in the middle of a study
        self._seed = as_seed(seed)
        self._has_warned = False

    def reseed_rng(self) -> None:
        """Draw another seed."""
        self._seed = as_seed(None)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that all completed trials have in common, with their distributions."""
        _check_objectives(study)
        return common_space(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Choose the values of all parameters in ``search_space`` jointly."""
        _check_objectives(study)
        if not search_space:
            return {}
        with turn:
            return self._choose(study, trial, OptunaParameters(search_space))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Sample one parameter uniformly over its range, independently of the others."""
        _check_objectives(study)
        self._warn_of_random_parameter(study, trial, param_name)
        rng = np.random.default_rng([self.seed_for(trial), zlib.crc32(param_name.encode())])
        return _draw(param_distribution, rng)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the constraint values of a finished trial, unless it failed."""
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        answer = self._constraints_func(trial)
        try:
            excesses = tuple(float(value) for value in answer)
        except (TypeError, ValueError):
            raise ValueError(f"constraints_func must return a sequence of numbers, got {answer!r}") from None
        if any(math.isnan(excess) for excess in excesses):
            raise ValueError(f"constraints_func must return numbers, got {answer!r}")
        study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, excesses)

    def seed_for(self, trial: FrozenTrial) -> int:
        """Return the seed of a trial."""
        return seed_of(self._seed, trial.number)

    def _choose(self, study: Study, trial: FrozenTrial, parameters: OptunaParameters) -> dict[str, Any]:
        """Return parameter values that no other trial has, unless repeating them is worth more or none are left.

        With noise, two workers may choose one point: both values tell something.
        """
        log = TrialLog(study, trial)
        seed = self.seed_for(trial)
        settled = False
        while not settled:  # until no other worker has the point
            others = [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]
            try:
                proposal, state = self.propose_point(study, parameters, others, seed)
            except SpaceExhausted:
                logger.info("trial %d repeats a point: no other is left", trial.number)
                (x,) = parameters.space.sample(1, np.random.default_rng(seed))
                return parameters.values_at(x)
            log.write(POINT, parameters.to_internal(proposal.x))
            repeats = proposal.source == REPEAT or bool(self._settings["noise"])
            settled = repeats or self.settle(study, trial, parameters, proposal.x)
        log.write(SETTLED, True)
        if state is not None:
            log.write(STATE, state)
        # The user chose a part of an enqueued point, so that the diagnostics would be those of another.
        if not trial.system_attrs.get("fixed_params"):
            self._show(study, log, proposal)
        return parameters.values_at(proposal.x)

    def propose_point(
        self, study: Study, parameters: OptunaParameters, others: Sequence[FrozenTrial], seed: int
    ) -> tuple[Proposal, dict[str, Any] | None]:
        """Propose a point, given the other trials; return it with the new state of the model.

        The source of the proposal is ``REPEAT`` if it is a point of another trial.
        """
        signs = _signs(study)
        complete = [other for other in others if other.state == TrialState.COMPLETE]
        limits = sorted({key for other in complete for key in constraints_of(other)})
        trials = _trials_of(parameters, others, signs, limits)
        evaluations = trials.evaluations
        names = [*parameters.distributions, *(f"{CONSTRAINTS}:{key}" for key in limits)]
        state = latest_state(others, names, n=len(evaluations))
        again = None
        enough = (
            len(evaluations) >= self._settings["n_initial"]
            and len(signs) == 1
            and not self._settings["noise"]
        )
        if enough and parameters.may_repeat(complete):
            repeat = best_repeat(evaluations)
            if repeat is not None:
                x, log_ei = repeat
                trace = {"log_ei": log_ei} if math.isfinite(log_ei) else {}
                again = Proposal(len(others), x, REPEAT, trace)
        try:
            proposal, new = ask(
                parameters.space,
                evaluations,
                trials.pending,
                seed=seed,
                state=state,
                settings=self._settings,
                n_limits=len(limits),
                n_objectives=len(signs),
            )
        except SpaceExhausted:
            if again is None:
                raise
            return again, None
        if again is not None and _log_improvement(again) > _log_improvement(proposal):
            proposal = again
        return proposal, new and {"names": names, "told": len(evaluations), **new}

    def settle(self, study: Study, trial: FrozenTrial, parameters: OptunaParameters, x: Point) -> bool:
        """Return whether the point may be kept, because no other trial has it.

        Two workers may choose the same point at the same time. Each publishes its choice before it calls this method,
        so at least one of them sees the other. A worker gives way if the other trial is settled or has a smaller
        number. Otherwise it waits for the other one to give way.
        """
        code = parameters.space.encode([x])
        deadline = time.monotonic() + PATIENCE
        while True:
            rivals = [
                other
                for other in study.get_trials(deepcopy=False)
                if other.number != trial.number and parameters.is_at(other, code)
            ]
            if not rivals:
                return True
            undecided = all(
                other.state == TrialState.RUNNING
                and other.number > trial.number
                and SETTLED not in other.system_attrs
                for other in rivals
            )
            if not undecided or time.monotonic() > deadline:
                return False
            time.sleep(_POLL)

    def _warn_of_random_parameter(self, study: Study, trial: FrozenTrial, name: str) -> None:
        """Say once that the model does not choose all parameters."""
        if self._has_warned or name in self.infer_relative_search_space(study, trial):
            return
        if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            return
        self._has_warned = True
        logger.warning(
            "the parameter %r is sampled at random, because not all trials have it with the same range, or no model "
            "can represent that range; so are others like it",
            name,
        )

    def _show(self, study: Study, log: TrialLog, proposal: Proposal) -> None:
        """Store the diagnostics of the model with the trial."""
        trace = proposal.trace or {}
        names = {"scale": "lambda"}
        for name in ("method", "beta", "scale", "threshold", "log_ei", "log_feasible"):
            value = trace.get(name)
            if value is not None:
                value = _signs(study)[0] * value if name == "threshold" else value
                log.show(f"tcgp:{names.get(name, name)}", value)


class OptunaParameters(_host.Parameters):
    """A search space of Optuna as a `Space`; choices are represented by their index."""

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        pairs = ((name, d, parameter_of(d)) for name, d in sorted(search_space.items()))
        found = [(name, d, parameter) for name, d, parameter in pairs if parameter is not None]
        self.distributions = {name: distribution for name, distribution, _ in found}
        super().__init__({name: parameter for name, _, parameter in found})

    def to_internal(self, x: Point) -> dict[str, float]:
        """Return Optuna's internal representation of a point: plain numbers."""
        values = self.values_at(x)
        return {name: d.to_internal_repr(values[name]) for name, d in self.distributions.items()}

    def values_of(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the values of a trial: those it has suggested, and those that were assigned to it."""
        values: dict[str, Any] = {}
        if not trial.state.is_finished():
            for name, internal in (read_attribute(trial, POINT) or {}).items():
                if name in self.distributions and _holds(self.distributions[name], internal):
                    values[name] = self.distributions[name].to_external_repr(internal)
            values.update(trial.system_attrs.get("fixed_params", {}))
        return {**values, **trial.params}

    def may_repeat(self, complete: list[FrozenTrial]) -> bool:
        """Return whether there are finitely many points, and other parameters of completed trials are random.

        A common parameter outside this space is not: `PartialFixedSampler` fixes it.
        """
        if not math.isfinite(self.space.size):
            return False
        chosen = {*self.distributions, *common_space(complete)}
        return any(
            name not in chosen and not distribution.single()
            for trial in complete
            for name, distribution in trial.distributions.items()
        )

    def is_at(self, trial: FrozenTrial, code: Any) -> bool:
        """Return whether a trial is at the point with this code."""
        x = self.point_of(self.values_of(trial))
        return x is not None and bool(np.abs(self.space.encode([x]) - code).max() <= SAME_POINT)


class TrialLog:
    """Writes the attributes of a trial that is being sampled."""

    def __init__(self, study: Study, trial: FrozenTrial) -> None:
        # Optuna has no public API for this; its own samplers use the storage in the same way.
        self._storage, self._trial_id = study._storage, trial._trial_id

    def write(self, key: str, value: Any) -> None:
        """Store a value for the sampler, in pieces if it is long."""
        text = json.dumps(value)
        pieces = [text[i : i + _ATTRIBUTE_LENGTH] for i in range(0, len(text), _ATTRIBUTE_LENGTH)]
        # The first piece contains the number of pieces. It is written last, so that no reader sees half a value.
        for i in reversed(range(1, len(pieces))):
            self._storage.set_trial_system_attr(self._trial_id, f"{key}:{i}", pieces[i])
        self._storage.set_trial_system_attr(self._trial_id, key, [len(pieces), pieces[0]])

    def show(self, key: str, value: float | str) -> None:
        """Store a number or a string for the user."""
        self._storage.set_trial_user_attr(self._trial_id, key, value)


def read_attribute(trial: FrozenTrial, key: str) -> Any:
    """Return the value that `TrialLog.write` stored, or None."""
    attributes = trial.system_attrs
    if key not in attributes:
        return None
    n, text = attributes[key]
    return json.loads(text + "".join(attributes[f"{key}:{i}"] for i in range(1, n)))


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraint values of a trial by name; those of ``constraints_func`` are named 0, 1, ..."""
    attributes = trial.system_attrs
    values = {str(i): float(value) for i, value in enumerate(attributes.get(CONSTRAINTS) or ())}
    prefix = f"{CONSTRAINTS}:"
    named = {key[len(prefix) :]: float(v) for key, v in attributes.items() if key.startswith(prefix)}
    return {**values, **named}


def common_space(complete: list[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the parameters that all completed trials have in common and a model can handle."""
    return {
        name: distribution
        for name, distribution in sorted(intersection_search_space(complete).items())
        if not distribution.single() and parameter_of(distribution) is not None
    }


def _holds(distribution: BaseDistribution, internal: float) -> bool:
    """Return whether a categorical distribution has a choice with this internal representation."""
    if isinstance(distribution, CategoricalDistribution):
        return 0 <= internal < len(distribution.choices)
    return True


def _log_improvement(proposal: Proposal) -> float:
    """Return the log expected improvement of a proposal; infinite if it was not a question of improvement."""
    trace = proposal.trace or {}
    if proposal.source != REPEAT and trace.get("best") is None:
        return math.inf
    if trace.get("log_ei") is None:
        return -math.inf
    return float(trace["log_ei"]) + float(trace.get("log_feasible") or 0.0)


def latest_state(trials: Iterable[FrozenTrial], names: list[str], n: int) -> dict[str, Any] | None:
    """Return the newest state for the same parameters that was fitted to fewer than n evaluations."""
    return max(_states(trials, names, n), key=lambda state: int(state["told"]), default=None)


def _states(trials: Iterable[FrozenTrial], names: list[str], n: int) -> Iterator[dict[str, Any]]:
    for trial in trials:
        state = read_attribute(trial, STATE)
        if state is not None and state["names"] == names and state.get("told", n) < n:
            yield state


def parameter_of(distribution: BaseDistribution) -> Parameter | None:
    """Return the parameter that represents a distribution, or None if no model can handle it."""
    if isinstance(distribution, CategoricalDistribution):
        choices = distribution.choices
        return Parameter(
            Categorical(range(len(choices))),
            lambda value: int(distribution.to_internal_repr(value)),
            choices.__getitem__,
        )
    low, high, log = distribution.low, distribution.high, distribution.log
    kind = Integer if isinstance(distribution, IntDistribution) else Real
    try:
        return Parameter(kind(low, high, log=log, step=None if log else distribution.step))
    except ValueError:  # too wide, or with too many steps
        return None


def _draw(distribution: BaseDistribution, rng: np.random.Generator) -> Any:
    """Sample a distribution uniformly, including those that no model can handle."""
    if distribution.single():
        return distribution.to_external_repr(_only_value(distribution))
    parameter = parameter_of(distribution)
    if parameter is not None:
        return parameter.value(parameter.dimension.quantile(float(rng.random())))
    u, low, high = float(rng.random()), distribution.low, distribution.high
    if isinstance(distribution, FloatDistribution):
        return min(max((1.0 - u) * low + u * high, low), high)
    if distribution.log:
        return min(max(round(math.exp((1.0 - u) * math.log(low) + u * math.log(high))), low), high)
    return low + distribution.step * int(u * ((high - low) // distribution.step))


def _only_value(distribution: BaseDistribution) -> float:
    return 0.0 if isinstance(distribution, CategoricalDistribution) else float(distribution.low)


def _check_objectives(study: Study) -> None:
    if len(study.directions) > MOST_OBJECTIVES:
        raise ValueError(
            f"TailCalibratedSampler optimizes at most {MOST_OBJECTIVES} objectives, and the study has "
            f"{len(study.directions)}: use another sampler, or make some of them constraints"
        )


def _trials_of(
    parameters: OptunaParameters, others: Sequence[FrozenTrial], signs: Sequence[float], limits: Sequence[str]
) -> Trials:
    """The trials of a study, with small values good and NaN for a limit that one does not have."""
    trials = Trials(parameters)
    for other in others:
        values = parameters.values_of(other)
        if other.state == TrialState.COMPLETE:
            excesses = [constraints_of(other).get(key, math.nan) for key in limits]
            found = tuple(sign * value for sign, value in zip(signs, other.values, strict=True))
            trials.add(values, Status.DONE, found, excesses)
        else:
            trials.add(values, Status.FAILED if other.state == TrialState.FAIL else Status.PENDING)
    return trials


def _signs(study: Study) -> list[float]:
    return [-1.0 if direction == StudyDirection.MAXIMIZE else 1.0 for direction in study.directions]
