"""Several objectives: what a user asks for, the points that are chosen, the front, and the choice of one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tcgp
from tcgp.front import hypervolume, non_dominated
from tcgp.goals import Goals
from tcgp.record.settings import Settings, wanted_outputs

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
BOTH = ["near", "far"]


def distances(p):
    """Squared distances from two places: the best compromises lie on the line between them."""
    return {
        "near": (p["x"] - 0.2) ** 2 + (p["y"] - 0.5) ** 2,
        "far": (p["x"] - 0.8) ** 2 + (p["y"] - 0.5) ** 2,
    }


def run(n=10, fun=distances, space=BOX, **options):
    return tcgp.minimize(fun, space, n_evals=n, rng=0, **{"objective": BOTH, **options})


def asked(optimizer, n, fun=distances):
    points = []
    for _ in range(n):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], fun(points[-1]))
    return points


@pytest.fixture(scope="module")
def result():
    return run(24)


@pytest.fixture(scope="module")
def few():
    return run(8)


# ---- the run ----


def test_front_lies_on_the_line_of_the_best_compromises(result):
    late = [point for point in result.front if point.index >= 12]
    assert len(late) >= 8
    assert max(abs(point.x["y"] - 0.5) for point in late) < 0.05


def test_volume_comes_near_that_of_the_exact_front(result):
    t = np.linspace(0.2, 0.8, 1001)
    exact = hypervolume(np.column_stack([(t - 0.2) ** 2, (t - 0.8) ** 2]), np.array([0.396, 0.396]))
    values = np.array([list(point.values.values()) for point in result.front])
    assert hypervolume(values, np.array([0.396, 0.396])) > 0.9 * exact


def test_result_has_a_front_in_the_place_of_a_best_point(result):
    assert (result.x, result.fun) == (None, None)
    assert result.success
    assert result.func_vals.shape == (24, 2)
    assert {point.index for point in result.front} == set(np.flatnonzero(non_dominated(result.func_vals)))
    assert all(distances(point.x) == point.values == point.outputs for point in result.front)
    assert repr(result).startswith("front:")


def test_volume_trace_is_that_of_the_evaluations_so_far(result):
    reference = np.array(list(result.reference.values()))
    again = [hypervolume(result.func_vals[: k + 1], reference) for k in range(24)]
    np.testing.assert_allclose(result.hypervolume, again, rtol=1e-12)


def test_one_point_of_the_front_is_chosen(result):
    near, far = (result.choose({name: 1.0}) for name in BOTH)
    assert near.values["near"] == min(point.values["near"] for point in result.front)
    assert far.values["far"] == min(point.values["far"] for point in result.front)
    assert near.values["near"] < result.knee().values["near"] < far.values["near"]
    with pytest.raises(
        ValueError, match=r"weights must be of 'near', 'far', got 'fra'; did you mean 'far'\?"
    ):
        result.choose({"fra": 1.0})
    with pytest.raises(ValueError, match="weights must not all be zero"):
        result.choose({})


def test_a_single_objective_has_no_front():
    with pytest.raises(ValueError, match="there is no front: the run has one objective"):
        run(4, objective="near").knee()


def test_maximized_objectives_are_the_negated_ones(few):
    negated = run(8, lambda p: {"near": distances(p)["near"], "far": -distances(p)["far"]}, maximize=["far"])
    assert negated.x_iters == few.x_iters
    np.testing.assert_array_equal(negated.func_vals, few.func_vals * [1.0, -1.0])
    assert negated.reference == {"near": few.reference["near"], "far": -few.reference["far"]}


def test_expressions_are_computed_from_outputs_and_parameters():
    result = run(8, objective=["near + 2 * far", "x * far"])
    for point in result.front:
        out, x = point.outputs, point.x["x"]
        expected = {"near + 2 * far": out["near"] + 2 * out["far"], "x * far": x * out["far"]}
        assert point.values == pytest.approx(expected)
    single = run(8, objective="near + 2 * far")
    assert single.fun == single.outputs["near"] + 2 * single.outputs["far"]
    assert single.to_dataframe()["near + 2 * far"].min() == single.fun


def test_output_with_the_name_of_an_expression_is_an_output():
    result = run(4, lambda p: {"drag-force": p["x"], "y1": p["y"]}, objective=["drag-force", "y1"])
    assert not result.failures


def test_limits_are_kept_and_failures_are_left_out():
    def fun(p):
        return distances(p) if p["x"] > 0.3 else None

    result = run(14, fun, constraints=["near >= 0.04", "x + y <= 1.2"])
    assert result.failures
    assert all(point.values["near"] >= 0.04 for point in result.front)
    assert all(point.x["x"] + point.x["y"] <= 1.2 + 1e-12 for point in result.front)
    assert sum(result.feasible[4:]) >= 6


def test_without_a_point_that_keeps_the_limits_there_is_no_front():
    result = run(8, constraints=["near + far <= -1"])
    assert not result.success
    assert len(result.front) == 0
    assert result.reference == {}
    assert "no evaluation satisfies all constraints" in result.message
    with pytest.raises(ValueError, match="the front has no point"):
        result.knee()


def test_integers_and_choices_are_chosen_too():
    space = {"x": (0.0, 1.0), "n": tcgp.Integer(0, 6), "kind": tcgp.Categorical(["good", "bad"])}

    def fun(p):
        bad = 0.5 * (p["kind"] == "bad")
        return {
            "near": (p["n"] - 3) ** 2 / 9 + p["x"] ** 2 + bad,
            "far": (p["x"] - 1.0) ** 2 + p["n"] / 5 + bad,
        }

    result = run(18, fun, space)
    assert all(point.x["kind"] == "good" and point.x["n"] <= 3 for point in result.front if point.index > 12)


def test_three_objectives():
    result = run(14, lambda p: {**distances(p), "side": p["y"] ** 2}, objective=[*BOTH, "side"])
    assert len(result.front) >= 10
    assert (np.diff(result.hypervolume) >= 0.0).all()


def test_constant_objective_leaves_a_front_of_one_point():
    result = run(8, lambda p: {"near": 1.0, "far": distances(p)["far"]})
    assert len(result.front) == 1
    assert result.front[0].values["far"] == result.func_vals[:, 1].min()


def test_units_change_nothing_but_units(few):
    scaled = run(8, lambda p: {"near": 1e6 * distances(p)["near"] - 3e5, "far": 1e-3 * distances(p)["far"]})
    np.testing.assert_allclose(
        [list(x.values()) for x in scaled.x_iters], [list(x.values()) for x in few.x_iters], atol=1e-4
    )


def test_points_of_a_batch_differ_and_go_on_where_the_front_is_open():
    optimizer = tcgp.Optimizer(BOX, objective=BOTH, rng=0)
    asked(optimizer, 8)
    batch = optimizer.ask(4)
    codes = np.array([list(x.values()) for x in batch])
    gaps = np.abs(codes[:, None] - codes).max(axis=2) + np.eye(4)
    assert gaps.min() > 0.01


def test_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path):
    goals = {
        "objective": ["near"],
        "maximize": ["-far"],
        "constraints": ["near <= 0.5"],
        "reference": {"near": 0.4},
    }
    whole = tcgp.Optimizer(BOX, rng=3, **goals)
    points = asked(whole, 9)
    optimizer = tcgp.Optimizer(BOX, rng=3, journal=tmp_path / "run.jsonl", **goals)
    assert asked(optimizer, 6) == points[:6]
    optimizer.close()
    with tcgp.Optimizer.resume(tmp_path / "run.jsonl") as resumed:
        assert resumed.settings == whole.settings
        assert asked(resumed, 3) == points[6:]
        assert resumed.result().reference["near"] == 0.4


def test_reference_leaves_out_what_lies_beyond_it():
    result = run(15, reference={"near": 0.1})
    assert result.reference["near"] == 0.1
    assert all(point.values["near"] < 0.1 for point in result.front if point.index >= 10)


def test_correction_moves_the_front(result):
    optimizer = tcgp.Optimizer(BOX, objective=BOTH, rng=0)
    optimizer.tell(
        [{"x": 0.1, "y": 0.1}, {"x": 0.9, "y": 0.9}], [{"near": 1, "far": 2}, {"near": 2, "far": 1}]
    )
    assert [point.index for point in optimizer.result().front] == [0, 1]
    optimizer.correct({"x": 0.1, "y": 0.1}, {"near": 3, "far": 2})
    assert [point.index for point in optimizer.result().front] == [1]


# ---- when a run stops ----


def test_target_is_a_point_to_be_as_good_as():
    result = run(24, target={"near": 0.12, "far": 0.12})
    assert result.status == 1
    assert result.nfev < 24
    assert any(max(point.values.values()) <= 0.12 for point in result.front)


def test_patience_counts_points_that_do_not_enlarge_the_volume():
    result = run(20, lambda p: {"near": float(p["x"] > 0.5), "far": float(p["y"] > 0.5)}, patience=3)
    assert result.status == 10


def test_share_of_the_space_that_is_not_dominated_shrinks(few, result):
    assert 0.0 <= result.optimizer.share_below() < few.optimizer.share_below() <= 1.0


# ---- what is refused ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": ["a", "b", "c", "d", "e"]}, "at most 4 outputs, got 5, .* give the others a limit"),
        ({"objective": ["a", "a"]}, "objective must name each output once"),
        (
            {"objective": ["a", 3]},
            "objective must be the name of an output, an expression of outputs, a list",
        ),
        ({"objective": ["a", "b"], "criterion": "lcb"}, "criterion must be 'ei' with several objectives"),
        (
            {"objective": ["a", "b"], "maximizer": "smc"},
            "maximizer must be 'multistart' with several objectives",
        ),
        (
            {"objective": ["a", "b"], "reference": {"c": 1}},
            "a name in reference must be one of 'a', 'b', got 'c'",
        ),
        ({"objective": ["a", "b"], "reference": {"a": math.nan}}, "reference of 'a' must be a finite number"),
        (
            {"objective": "a", "reference": {"a": 1}},
            "reference must be a mapping from some of several objectives",
        ),
        ({"objective": "a", "maximize": "b"}, "objective and maximize must name one output, or be lists"),
        ({"objective": ["x + ", "b"], "constraints": ["c <= x +"]}, "constraints"),
    ],
)
def test_goals_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        tcgp.Optimizer(BOX, **arguments)


def test_rules_that_need_one_objective_are_refused():
    with pytest.raises(ValueError, match=r"target must be a mapping from objectives \('near', 'far'\)"):
        run(target=3.0)
    with pytest.raises(ValueError, match="target: 'fra' is not an objective; did you mean 'far'"):
        run(target={"fra": 3.0})
    with pytest.raises(ValueError, match="target must be a number, got"):
        run(objective="near", target={"near": 3.0})
    with pytest.raises(ValueError, match="min_improvement must be None with several objectives"):
        run(patience=3, min_improvement=0.1)


def test_lists_of_one_are_one_objective():
    assert wanted_outputs(["a"], False) == {"objective": "a", "maximize": False, "reference": None}
    assert wanted_outputs([], ["a"]) == {"objective": "a", "maximize": True, "reference": None}
    assert wanted_outputs(["a", "b"], "b")["maximize"] == ("b",)
    assert Settings(objective=["a", "b"], maximize=["b"]) == Settings(objective=("a", "b"), maximize=("b",))


def test_an_answer_without_one_of_the_objectives_is_a_failure():
    goals = Goals(tcgp.Space(BOX), BOTH)
    assert goals.read((0.5, 0.5), {"near": 1.0})[2] == "the output 'far' is missing"
    assert (
        goals.read((0.5, 0.5), 1.0)[2] == "there is a number and no output ['near', 'far']: return a mapping"
    )
    ratio = Goals(tcgp.Space(BOX), ["near / far", "far"])
    assert ratio.read((0.5, 0.5), {"near": 1.0, "far": 0.0})[2] == "the value is nan: near / far"


def test_further_pieces_of_a_front_are_looked_for_when_it_is_level():
    """The front of ZDT3 is in five pieces; the next one lies beyond the reference of those that are known."""

    def zdt3(x):
        g = 1.0 + 9.0 * x[1]
        return {"a": x[0], "b": g - np.sqrt(x[0] * g) - x[0] * np.sin(10.0 * np.pi * x[0])}

    result = tcgp.minimize(zdt3, [(0.0, 1.0)] * 2, n_evals=30, objective=["a", "b"], rng=0)
    assert max(point.values["a"] for point in result.front) > 0.41
