"""The Ax bridge: parameters of all kinds, trials in all states, storage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from ax import ChoiceParameterConfig, Client, RangeParameterConfig
from ax.adapter.registry import Generators
from ax.core.arm import Arm
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.generator_run import GeneratorRun
from ax.core.metric import Metric
from ax.core.objective import Objective
from ax.core.optimization_config import OptimizationConfig
from ax.core.parameter import ChoiceParameter, ParameterType, RangeParameter
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.search_space import SearchSpace
from ax.exceptions.core import UnsupportedError
from ax.generation_strategy.generation_node import GenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import MinTrials

from tcgp.integrations.ax import AxParameters, TailCalibratedNode
from tcgp.methods.portfolio import members_of
from tcgp.region import Region
from tcgp.space import Space

FLOATS = [
    RangeParameterConfig(name="x", bounds=(-2.0, 2.0), parameter_type="float"),
    RangeParameterConfig(name="y", bounds=(-2.0, 2.0), parameter_type="float"),
]


def _client(parameters=FLOATS, objective="-loss", constraints=(), outcomes=(), **options):
    client = Client()
    client.configure_experiment(parameters, parameter_constraints=list(constraints))
    client.configure_optimization(objective=objective, outcome_constraints=list(outcomes))
    node = TailCalibratedNode(**{"seed": 0, "n_initial": 6, **options})
    client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tcgp"))
    return client, node


def _bowl(values):
    return (values["x"] - 1.0) ** 2 + (values["y"] + 0.5) ** 2


def _run(client, objective, n, metric="loss"):
    """Run n trials; what was asked, in order."""
    asked = []
    for _ in range(n):
        for index, values in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, raw_data={metric: float(objective(values))})
            asked.append(values)
    return asked


def _distinct(asked):
    return len({tuple(values.items()) for values in asked})


def test_with_noise_points_are_repeated_and_standard_errors_are_used():
    client, node = _client(noise=True, outcomes=["stress <= 1.0"])
    rng, asked = np.random.default_rng(0), []
    for _ in range(20):
        for index, values in client.get_next_trials(max_trials=1).items():
            loss = _bowl(values) + 0.3 * rng.standard_normal()
            stress = values["x"] + values["y"] + 0.1 * rng.standard_normal()
            client.complete_trial(index, raw_data={"loss": (loss, 0.3), "stress": (stress, 0.1)})
            asked.append(values)
    assert {(e.outputs["objective_sd"], e.outputs["limit0_sd"]) for e in node.evaluations} == {(0.3, 0.1)}
    assert node.trace[-1]["noise"] == pytest.approx(0.3)
    assert min(_bowl(values) for values in asked[10:]) < 0.2


def test_a_node_of_noisy_trials_proposes_a_point_again():
    client, node = _client(noise=True)
    rng = np.random.default_rng(0)
    asked = _run(client, lambda values: _bowl(values) + 0.3 * rng.standard_normal(), 16)
    assert _distinct(asked) < 16
    assert len(node.evaluations) == 15  # when the last one was proposed


def test_finds_the_minimum_of_a_bowl():
    client, node = _client()
    asked = _run(client, _bowl, 18)
    assert _distinct(asked) == 18
    assert min(map(_bowl, asked)) < 1e-2
    assert len(node.trace) == 12
    methods = {entry["method"] for entry in node.trace}
    assert {"gp-nugget"} < methods <= {member.method for member in members_of("auto")}
    assert all(entry["threshold"] > 0.0 for entry in node.trace)
    assert all(0.1 <= entry["beta"] <= 10.0 for entry in node.trace if entry["method"] == "tcgp")


def test_maximizing_is_minimizing_the_negative():
    low, high = _client()[0], _client(objective="gain")[0]
    a = _run(low, _bowl, 8)
    b = _run(high, lambda values: -_bowl(values), 8, metric="gain")
    assert a == b


def test_parameters_of_all_kinds_are_proposed_as_ax_wants_them():
    parameters = [
        RangeParameterConfig(name="rate", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"),
        RangeParameterConfig(name="depth", bounds=(1, 9), parameter_type="int"),
        RangeParameterConfig(name="width", bounds=(1, 128), parameter_type="int", scaling="log"),
        RangeParameterConfig(name="share", bounds=(0.0, 1.0), parameter_type="float", step_size=0.25),
        ChoiceParameterConfig(name="kind", values=["a", "b", "c"], parameter_type="str", is_ordered=False),
        ChoiceParameterConfig(name="size", values=[1, 4, 16], parameter_type="int", is_ordered=True),
        ChoiceParameterConfig(name="flag", values=[True, False], parameter_type="bool"),
        ChoiceParameterConfig(name="fixed", values=["only"], parameter_type="str"),
    ]

    def objective(values):
        return (
            (np.log10(values["rate"]) + 2.0) ** 2
            + 0.1 * (values["depth"] - 3) ** 2
            + (np.log2(values["width"]) - 4.0) ** 2
            + (values["share"] - 0.5) ** 2
            + {"a": 1.0, "b": 0.0, "c": 2.0}[values["kind"]]
            + abs(values["size"] - 4) / 4
            + values["flag"]
        )

    client, _ = _client(parameters, n_initial=15)
    asked = _run(client, objective, 28)
    space = client._experiment.search_space
    assert all(space.check_membership(values, raise_error=True) for values in asked)
    assert all(type(values["depth"]) is int and type(values["flag"]) is bool for values in asked)
    assert {values["fixed"] for values in asked} == {"only"}
    assert _distinct(asked) == 28
    best = min(asked, key=objective)
    assert best["kind"] == "b"
    assert objective(best) < 1.0


def test_pending_trials_are_never_proposed_again():
    client, _ = _client()
    _run(client, _bowl, 8)
    batch = client.get_next_trials(max_trials=4)
    more = client.get_next_trials(max_trials=2)
    points = [tuple(v.values()) for v in (*batch.values(), *more.values())]
    assert len(set(points)) == 6


def test_failed_abandoned_and_stopped_trials_do_not_enter_the_model_and_are_not_repeated():
    client, node = _client()
    asked = _run(client, _bowl, 6)
    for end in (client.mark_trial_failed, client.mark_trial_abandoned, client.mark_trial_early_stopped):
        for index, values in client.get_next_trials(max_trials=1).items():
            asked.append(values)
            if end == client.mark_trial_early_stopped:
                client.attach_data(index, raw_data={"loss": 1e6}, progression=1)
            end(index)
    asked += _run(client, _bowl, 6)
    assert _distinct(asked) == 15
    assert [evaluation.y for evaluation in node.evaluations].count(None) == 1
    assert max(evaluation.y or 0.0 for evaluation in node.evaluations) < 1e6
    assert min(map(_bowl, asked)) < 0.1


@pytest.mark.filterwarnings("ignore:Passing `metric` to Objective is deprecated")
def test_an_abandoned_arm_of_a_completed_batch_does_not_enter_the_model():
    """As in Ax's own nodes: whoever abandons an arm does not trust what was measured there."""
    x = RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0)
    goal = OptimizationConfig(Objective(metric=Metric("loss"), minimize=True))
    experiment = Experiment(SearchSpace([x]), optimization_config=goal)
    batch = experiment.new_batch_trial(GeneratorRun([Arm({"x": 0.1}), Arm({"x": 0.2})]))
    rows = [
        {"trial_index": 0, "arm_name": arm.name, "metric_name": "loss", "metric_signature": "loss"}
        | {"mean": arm.parameters["x"], "sem": 0.0}
        for arm in batch.arms
    ]
    experiment.attach_data(Data(df=pd.DataFrame(rows)))
    batch.mark_arm_abandoned(batch.arms[1].name).mark_running(no_runner_required=True).mark_completed()
    node = TailCalibratedNode(seed=0)
    node.update_generator_state(experiment, experiment.lookup_data())
    assert [(evaluation.x, evaluation.y) for evaluation in node.evaluations] == [((0.1,), 0.1)]


def test_an_experiment_stored_and_loaded_goes_on_where_it_was(tmp_path):
    path = str(tmp_path / "client.json")
    client, node = _client()
    asked = _run(client, _bowl, 9)
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)
    copy = loaded._generation_strategy._nodes[0]
    assert isinstance(copy, TailCalibratedNode)
    assert copy == node
    assert copy.state == node.state
    assert len(copy.trace) == 3
    (expected,), (found,) = _run(client, _bowl, 1), _run(loaded, _bowl, 1)
    # Ax keeps ten decimals of the data: a Gaussian process makes of 1e-10 in y some 1e-6 in x.
    assert found == pytest.approx(expected, abs=1e-4)
    assert found not in asked


def test_settings_are_stored_with_the_node(tmp_path):
    settings = {
        "noise": 0.3,
        "epsilon": 0.2,
        "options": {"delta": 0.1},
        "maximizer": "smc",
        "n_initial": None,
    }
    client, node = _client(**settings)
    client.save_to_json_file(str(tmp_path / "client.json"))
    copy = Client.load_from_json_file(str(tmp_path / "client.json"))._generation_strategy._nodes[0]
    assert copy == node
    assert {name: getattr(copy, name) for name in settings} == settings


def test_a_node_of_ax_may_make_the_initial_design():
    client = Client()
    client.configure_experiment(FLOATS)
    client.configure_optimization(objective="-loss")
    sobol = GenerationNode(
        name="Sobol",
        generator_specs=[GeneratorSpec(Generators.SOBOL, generator_kwargs={"seed": 0})],
        transition_criteria=[MinTrials(threshold=6, transition_to="TailCalibrated")],
    )
    node = TailCalibratedNode(seed=0, n_initial=6)
    client.set_generation_strategy(GenerationStrategy(nodes=[sobol, node], name="mixed"))
    _run(client, _bowl, 9)
    assert len(node.trace) == 3


def test_same_seed_same_points():
    runs = [_run(_client(seed=seed)[0], _bowl, 8) for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_a_finite_space_is_searched_to_its_end():
    parameters = [RangeParameterConfig(name="i", bounds=(0, 4), parameter_type="int")]
    client, _ = _client(parameters, n_initial=2)
    asked = _run(client, lambda values: (values["i"] - 3) ** 2, 5)
    assert sorted(values["i"] for values in asked) == [0, 1, 2, 3, 4]
    with pytest.raises(Exception, match="every point"):
        client.get_next_trials(max_trials=1)


# ---- constraints ----


def _run_outcomes(client, n, **metrics):
    """Run n trials with several metrics; what was asked, in order."""
    asked = []
    for _ in range(n):
        for index, values in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, raw_data={name: float(f(values)) for name, f in metrics.items()})
            asked.append(values)
    return asked


def _sum(values):
    return values["x"] + values["y"]


def test_parameter_constraints_are_never_violated():
    client, _ = _client(constraints=["x + y <= -1.5", "x - 2*y <= 4"])
    asked = _run(client, _bowl, 14)
    assert _distinct(asked) == 14
    assert all(_sum(values) <= -1.5 and values["x"] - 2 * values["y"] <= 4 for values in asked)
    assert min(map(_bowl, asked)) == pytest.approx(2.0, abs=1e-2)  # at (0, -1.5)
    design = np.array([list(values.values()) for values in asked[:6]])
    assert design.std(axis=0).min() > 0.3  # not six times the middle


def test_parameter_constraints_on_steps_and_integers_are_never_violated():
    parameters = [
        RangeParameterConfig(name="share", bounds=(0.0, 1.0), parameter_type="float", step_size=0.25),
        RangeParameterConfig(name="count", bounds=(0, 9), parameter_type="int"),
        RangeParameterConfig(name="x", bounds=(0.0, 10.0), parameter_type="float"),
        ChoiceParameterConfig(name="size", values=[1, 2, 3, 5], parameter_type="int", is_ordered=True),
    ]
    constraints = ["8*share + count <= 6", "count + x <= 8", "size - 2*x <= 0"]
    client, _ = _client(parameters, constraints=constraints)
    asked = _run(client, lambda v: -v["share"] - v["count"] - v["size"] + 0.1 * v["x"], 13)
    space = client._experiment.search_space
    assert all(space.check_membership(values, raise_error=True) for values in asked)
    assert _distinct(asked) == 13


def test_constraints_on_steps_of_any_size_are_those_of_ax():
    shares = ChoiceParameter("share", ParameterType.FLOAT, [i / 10 for i in range(11)], is_ordered=True)
    sizes = ChoiceParameter("size", ParameterType.INT, [1, 2, 3, 5, 40], is_ordered=True)
    constraint = ParameterConstraint("10*share + size <= 7")
    read = AxParameters(SearchSpace([shares, sizes], [constraint]))
    points = list(read.space.points())
    allowed = Region(read.space, read.constraints).allows(points)
    assert allowed.tolist() == [constraint.check(read.values_at(x)) for x in points]
    assert 0 < allowed.sum() < len(points) == 55


def test_rounding_to_digits_does_not_lead_across_a_parameter_constraint():
    parameters = [RangeParameter(name, ParameterType.FLOAT, 0.0, 1.0, digits=1) for name in "xy"]
    read = AxParameters(SearchSpace(parameters, [ParameterConstraint("x + y <= 0.55")]))
    region = Region(read.space, read.constraints)
    points = [read.values_at(x) for x in region.sample(200, np.random.default_rng(0))]
    assert all(point["x"] + point["y"] <= 0.55 for point in points)
    assert {point["x"] for point in points} == {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}


def _rounded(lower, upper, digits, log_scale=False):
    return RangeParameter("x", ParameterType.FLOAT, lower, upper, digits=digits, log_scale=log_scale)


@pytest.mark.parametrize("log_scale", [False, True])
def test_parameters_with_digits_are_never_repeated(log_scale):
    """Ax would put a Sobol point in the place of a repeated one."""
    client, node = _client()
    space = SearchSpace([_rounded(0.1, 2.0, 1, log_scale)])
    experiment = Experiment(search_space=space, optimization_config=client._experiment.optimization_config)
    client.set_experiment(experiment)
    client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tcgp"))
    asked = _run(client, lambda values: (values["x"] - 0.34) ** 2, 16)
    assert _distinct(asked) == 16
    assert {0.3, 0.4} <= {values["x"] for values in asked[:10]}
    nodes = {trial.generator_run._generation_node_name for trial in experiment.trials.values()}
    assert nodes == {"TailCalibrated"}
    assert len(node.trace) == 10


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (_rounded(0.1, 0.5, 1), [0.1, 0.2, 0.3, 0.4, 0.5]),
        (_rounded(0.16, 0.47, 1), [0.2, 0.3, 0.4, 0.5]),  # Ax rounds the bounds, too
        (_rounded(-13.0, 21.0, -1), [-10.0, 0.0, 10.0, 20.0]),
        (_rounded(0.28, 0.33, 1), [0.3]),
        (_rounded(0.1, 0.4, 1, log_scale=True), [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_digits_leave_the_rounded_values_only(parameter, values):
    read = AxParameters(SearchSpace([parameter]))
    points = list(read.space.points())
    assert [read.values_at(x)["x"] for x in points] == values
    assert [read.point_of({"x": value}) for value in values] == points
    assert (
        read.point_of({"x": values[0] + 0.04}) == points[0]
    )  # attached with more digits: rounded, as Ax does


@pytest.mark.parametrize("digits", [6, 20, 400])
def test_fine_digits_leave_a_range(digits):
    read = AxParameters(SearchSpace([_rounded(0.1, 0.5, digits)]))
    assert read.space == Space([(0.1, 0.5)])


def test_constraints_on_rounded_values_are_those_of_ax():
    parameters = [RangeParameter(name, ParameterType.FLOAT, 0.0, 1.0, digits=1) for name in "xy"]
    constraint = ParameterConstraint("x + y <= 0.7")
    read = AxParameters(SearchSpace(parameters, [constraint]))
    points = list(read.space.points())
    allowed = Region(read.space, read.constraints).allows(points)
    assert allowed.tolist() == [constraint.check(read.values_at(x)) for x in points]
    assert allowed.sum() == 36


def test_outcome_constraints_are_learned():
    client, node = _client(outcomes=["total <= 0", "twice >= -3.9"])
    asked = _run_outcomes(client, 22, loss=_bowl, total=_sum, twice=lambda v: 2.0 * v["x"])
    best = min(_bowl(values) for values in asked if _sum(values) <= 0.0)
    assert best == pytest.approx(0.125, abs=5e-3)  # at (0.75, -0.75)
    assert all(entry["log_feasible"] <= 0.0 for entry in node.trace)
    assert len(node.state["limits"]) == 2
    parameters, outcome, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert outcome["loss"][0] == pytest.approx(best)
    assert _sum(parameters) <= 0.0


def test_an_outcome_constraint_may_weigh_several_metrics():
    client, node = _client(outcomes=["a + 2*b <= 0"])
    _run_outcomes(client, 7, loss=_bowl, a=lambda v: v["x"], b=lambda v: v["y"])
    client.get_next_trials(max_trials=1)
    for evaluation in node.evaluations:
        x, y = evaluation.x
        assert evaluation.outputs["limit0"] == pytest.approx(x + 2.0 * y, abs=1e-9)


def test_a_trial_without_the_metric_of_a_constraint_counts_for_the_objective():
    client, node = _client(outcomes=["total <= 0"])
    _run(client, _bowl, 3)  # without the sum: these trials fail in Ax's eyes, or are incomplete
    _run_outcomes(client, 6, loss=_bowl, total=_sum)
    client.get_next_trials(max_trials=1)
    known = [
        np.isfinite(evaluation.outputs["limit0"]) for evaluation in node.evaluations if evaluation.outputs
    ]
    assert known.count(True) == 6


def test_both_kinds_of_constraints_survive_storage(tmp_path):
    path = str(tmp_path / "client.json")
    client, node = _client(constraints=["x + y <= 1"], outcomes=["total <= 0"])
    _run_outcomes(client, 9, loss=_bowl, total=_sum)
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)
    assert loaded._generation_strategy._nodes[0].state == node.state
    (expected,) = _run_outcomes(client, 1, loss=_bowl, total=_sum)
    (found,) = _run_outcomes(loaded, 1, loss=_bowl, total=_sum)
    assert found == pytest.approx(
        expected, abs=0.1
    )  # ten decimals of the data are kept, and both lie at the limit


def _two(values):
    """A distance to be kept short, and the negative of another: the front is the line between both points."""
    loss = _bowl(values)
    return {"loss": loss, "gain": -((values["x"] + 1.0) ** 2) - (values["y"] + 0.5) ** 2}


def _run_two(client, n, noise=None):
    rng = np.random.default_rng(0)
    for _ in range(n):
        for index, values in client.get_next_trials(max_trials=1).items():
            data = _two(values)
            if noise:
                data = {name: (v + noise * rng.standard_normal(), noise) for name, v in data.items()}
            client.complete_trial(index, raw_data=data)


def test_several_objectives_are_a_front_up_to_the_thresholds():
    client, node = _client(objective="-loss, gain", outcomes=["loss <= 1.5", "gain >= -3.0"])
    _run_two(client, 18)
    points = [e.x for e in node.evaluations]
    assert node.evaluations[0].outputs == {
        "objective0": pytest.approx(_bowl(dict(zip("xy", points[0], strict=True)))),
        "objective1": pytest.approx(-_two(dict(zip("xy", points[0], strict=True)))["gain"]),
    }
    found = np.array([list(_two(dict(zip("xy", x, strict=True))).values()) for x in points[6:]])
    inside = (found[:, 0] < 1.5) & (found[:, 1] > -3.0)
    assert inside.sum() >= 8  # without the thresholds there are five
    front = client.get_pareto_frontier(use_model_predictions=False)
    assert len(front) >= 6


def test_several_noisy_objectives_have_standard_errors_of_their_own():
    client, node = _client(objective="-loss, gain", outcomes=["loss <= 1.5"], noise=True)
    _run_two(client, 9, noise=0.2)
    assert {(e.outputs["objective0_sd"], e.outputs["objective1_sd"]) for e in node.evaluations} == {
        (0.2, 0.2)
    }
    assert node.trace[-1]["noise"] == pytest.approx(0.2)


def test_what_cannot_be_handled_is_refused_with_a_sentence():
    client, _ = _client(objective="gain - loss")
    with pytest.raises(UnsupportedError, match="no sums of them"):
        client.get_next_trials(max_trials=1)
    client, _ = _client(objective="a, b", outcomes=["a >= 0.9 * baseline"])
    with pytest.raises(UnsupportedError, match="relative to a baseline"):
        client.get_next_trials(max_trials=1)
    client, _ = _client(outcomes=["total <= 0.9 * baseline"])
    with pytest.raises(UnsupportedError, match="no outcome constraints relative to a baseline"):
        client.get_next_trials(max_trials=1)
    client, _ = _client()
    with pytest.raises(UnsupportedError, match="got fixed values of 'x'"):
        client.get_next_trials(max_trials=1, fixed_parameters={"x": 0.25})
    parameters = [RangeParameter(name, ParameterType.FLOAT, 0.0, 1.0) for name in "xy"]
    with pytest.raises(UnsupportedError, match="no equality constraints"):
        AxParameters(SearchSpace(parameters, [ParameterConstraint(equality="x + y == 1")]))
    with pytest.raises(ValueError, match="method must be one of"):
        TailCalibratedNode(method="forest")
    with pytest.raises(UnsupportedError, match="call update_generator_state first"):
        TailCalibratedNode().get_next_candidate([])
