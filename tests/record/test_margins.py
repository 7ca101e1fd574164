"""How evaluations stand with limits: kept, active, violated, or not known."""

from __future__ import annotations

import math

import pytest

from tcgp.optimizer import Optimizer


def told(constraints, outputs):
    """The history of evaluations with these outputs."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, objective="mass", constraints=constraints, rng=0)
    for i, values in enumerate(outputs):
        optimizer.tell([i / 10], {"mass": 1.0, **values})
    return optimizer.history


def test_a_chain_of_bounds_has_a_margin_on_each_side_with_the_sign_of_the_user():
    history = told(["0.2 <= gap <= 0.5"], [{"gap": gap} for gap in (0.3, 0.1, 0.9)])
    kept, low, high = ({m.limit.sign: m for m in history.data.margins(e)} for e in history.evaluations)
    assert (kept[1.0].value, kept[1.0].bound, kept[-1.0].bound) == (0.3, 0.5, 0.2)
    assert kept[1.0].distance == "0.2 below the limit"
    assert kept[-1.0].distance == "0.1 above the limit"
    assert (low[-1.0].distance, low[1.0].distance) == ("violated by 0.1", "0.4 below the limit")
    assert (high[-1.0].distance, high[1.0].distance) == ("0.7 above the limit", "violated by 0.4")


def test_a_limit_is_active_where_little_is_left_of_the_way_that_the_design_went():
    """Not where the distance is a small share of a spread that one outlier makes."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, objective="mass", constraints=["stress <= 160"], rng=0)
    told = [(9.0, 40.0), (2.0, 11000.0), (7.0, 90.0), (6.0, 131.4), (5.0, 159.0), (8.0, 30.0)]
    for i, (mass, stress) in enumerate(told):
        optimizer.tell([i / 10], {"mass": mass, "stress": stress})
    margins = [str(optimizer.history.data.margins(e)[0]) for e in optimizer.evaluations]
    assert margins[3] == "stress <= 160: 131.4, 28.6 below the limit"
    assert margins[4] == "stress <= 160: 159, 1 below the limit (active)"  # the way was from 40 to 159


def test_an_expression_that_is_not_defined_keeps_no_limit_and_is_nearest_to_none():
    history = told(["log(stress) <= 0"], [{"stress": v} for v in (-1.0, 3.0, 2.0)])
    (margin,) = history.data.margins(history.evaluations[0])
    assert math.isnan(margin.excess)
    assert (margin.kept, margin.active, margin.distance) == (False, False, "not known")
    assert history.data.violations[0] == math.inf
    assert history.least_violating is history.evaluations[2]


def test_a_run_that_has_diverged_leaves_the_others_in_order():
    history = told(["stress <= 1"], [{"stress": v} for v in (50.0, 1e200, 2.0)])
    assert history.least_violating is history.evaluations[2]
    assert (history.data.violations > 0.0).all()


def test_without_limits_there_are_no_margins():
    history = told([], [{"stress": 1.0}])
    assert history.data.margins(history.evaluations[0]) == []
    assert history.data.violations.tolist() == [0.0]


def test_outputs_that_goals_name_come_first():
    history = told(["stress <= 2"], [{"lift": 1.0, "stress": 1.0}, {"drag": 2.0, "stress": 3.0}])
    assert history.output_names == ["mass", "stress", "lift", "drag"]


def test_an_answer_that_differs_in_an_output_is_refused_with_both():
    optimizer = Optimizer({"x": (0.0, 1.0)}, objective="mass", rng=0)
    optimizer.tell([0.5], {"mass": 1.0, "stress": 2.0})
    with pytest.raises(
        ValueError, match=r"gave 1.0 with the outputs .*2.0} and now 1.0 with the outputs .*3.0}"
    ):
        optimizer.tell([0.5], {"mass": 1.0, "stress": 3.0})


@pytest.mark.filterwarnings("error")
def test_a_limit_that_was_never_computable_has_a_margin_all_the_same() -> None:
    optimizer = Optimizer([(0.0, 1.0)], objective="mass", constraints=["sqrt(stress) <= 2"], rng=0)
    optimizer.tell([0.5], {"mass": 1.0, "stress": -1.0})
    (margin,) = optimizer.history.data.margins(optimizer.history.evaluations[0])
    assert math.isnan(margin.value)
