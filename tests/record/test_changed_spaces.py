"""Bounds that change in the course of a campaign: what lies inside is used, what lies outside is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tcgp
from tcgp.optimizer import JournalError, read_campaign
from tcgp.optimizer.result import rows_of

WIDE = {"width": (0.0, 2.0), "height": (0.0, 1.0)}
NARROW = {"width": (0.5, 1.5), "height": (0.0, 1.0)}


def cost(p):
    return (p["width"] - 1.8) ** 2 + (p["height"] - 0.25) ** 2


def run(journal, bounds, n_evals, **options):
    return tcgp.minimize(cost, bounds, n_evals=n_evals, n_initial=6, rng=0, journal=journal, **options)


def test_narrowed_bounds_keep_what_is_inside_in_use_and_the_rest_in_the_record(tmp_path, caplog):
    journal = tmp_path / "run.jsonl"
    before = run(journal, WIDE, 12)
    after = run(journal, NARROW, 18)
    history = after.optimizer.history
    assert after.nfev == 18
    assert len(history.evaluations) + len(history.outside) == 18
    inside = [e for e in before.optimizer.evaluations if 0.5 <= e.x[0] <= 1.5]
    assert 0 < len(inside) < 12
    assert history.evaluations[: len(inside)] == inside
    assert all(0.5 <= e.x[0] <= 1.5 for e in history.evaluations)
    assert after.x["width"] == pytest.approx(1.5, abs=0.05)
    assert f"of 12 evaluations {len(inside)} lie inside and are used" in caplog.text
    kinds = [json.loads(line).get("event") for line in journal.read_text().splitlines()]
    assert kinds.count("space") == 1
    assert kinds.count("tell") == 18


@pytest.mark.parametrize("initial_design", ["uniform", "lhs", "sobol"])
def test_a_resumed_run_goes_on_alike_after_the_change(initial_design, tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    run(whole, WIDE, 8, initial_design=initial_design)
    cut.write_bytes(whole.read_bytes())
    run(whole, NARROW, 14, initial_design=initial_design)
    for n in (9, 11, 14):
        last = run(cut, NARROW, n, initial_design=initial_design)
    assert last.optimizer.evaluations == read_campaign(whole).history.evaluations


def test_a_parameter_is_fixed_and_let_go_again(tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, WIDE, 10)
    fixed = run(journal, {"width": (0.0, 2.0), "height": 0.45}, 18)
    assert fixed.x["height"] == 0.45
    assert fixed.x["width"] == pytest.approx(1.8, abs=0.05)
    assert len(fixed.optimizer.history.outside) == 10
    free = run(journal, WIDE, 24)
    assert len(free.optimizer.evaluations) == 24
    assert free.fun < 0.01


def test_reals_may_get_a_step_or_a_logarithmic_scale(tmp_path):
    optimizer = tcgp.Optimizer([(0.5, 2.0)], rng=0, journal=tmp_path / "run.jsonl")
    optimizer.tell([[0.5], [1.0], [1.23]], [1.0, 2.0, 3.0])
    optimizer.change_space([tcgp.Real(0.5, 2.0, step=0.5)])
    assert [e.x for e in optimizer.evaluations] == [(0.5,), (1.0,)]
    optimizer.change_space([tcgp.Real(0.25, 4.0, log=True)])
    np.testing.assert_allclose(
        optimizer.history.data.successes[0][:, 0], [0.25, 0.5, np.log2(1.23 / 0.25) / 4]
    )


def test_points_to_be_evaluated_outside_wait_for_wider_bounds(tmp_path, caplog):
    journal = tmp_path / "run.jsonl"
    with tcgp.Optimizer(WIDE, rng=0, journal=journal) as optimizer:
        for width in (0.2, 1.0, 1.9):
            optimizer.enqueue([width, 0.5])
        asked = optimizer.ask()
        optimizer.change_space(NARROW)
        assert "wait for wider bounds: [[1.9, 0.5]]" in caplog.text
        assert optimizer.ask() == {"width": 1.0, "height": 0.5}
    with tcgp.Optimizer.resume(journal, space=WIDE) as optimizer:
        offered = [optimizer.ask() for _ in range(3)]
    assert offered == [{"width": 1.0, "height": 0.5}, asked, {"width": 1.9, "height": 0.5}]


def test_the_only_parameter_of_a_point_outside_may_be_told_as_a_number():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    (x,) = optimizer.ask()
    optimizer.change_space([(0.0, 0.5 * x)])
    optimizer.tell(x, 7.0)
    optimizer.correct(x, 8.0)
    assert [(e.x, e.y) for e in optimizer.history.outside] == [((x,), 8.0)]


def test_constraints_go_on_in_the_new_space(tmp_path):
    optimizer = tcgp.Optimizer(
        WIDE, objective="mass", constraints=["stress <= 1", "width <= 1.2 + height"], n_initial=4, rng=0
    )
    for _ in range(6):
        x = optimizer.ask()
        optimizer.tell(x, {"mass": x["width"], "stress": 1.0 / (0.1 + x["width"])})
    optimizer.change_space(NARROW)
    for _ in range(6):
        x = optimizer.ask()
        assert 0.5 <= x["width"] <= min(1.5, 1.2 + x["height"])
        optimizer.tell(x, {"mass": x["width"], "stress": 1.0 / (0.1 + x["width"])})
    assert optimizer.result().fun == pytest.approx(0.9, abs=0.02)


def test_bounds_that_constraints_leave_nothing_of_are_refused_and_nothing_is_written(tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, WIDE, 4, constraints=["width <= 1"])
    before = journal.read_bytes()
    with pytest.raises(ValueError, match='"width <= 1" holds nowhere within the bounds'):
        run(journal, {**WIDE, "width": (1.25, 2.0)}, 6, constraints=["width <= 1"])
    assert journal.read_bytes() == before


@pytest.mark.parametrize("bounds", [{"width": (0.0, 1.0)}, {"height": (0.0, 1.0), "width": (0.0, 2.0)}])
def test_other_parameters_are_refused_and_nothing_is_written(bounds, tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, WIDE, 4)
    before = journal.read_bytes()
    with pytest.raises(JournalError, match="belongs to another run: its bounds"):
        run(journal, bounds, 6)
    with pytest.raises(
        ValueError, match=r"space must have the parameters that it had, \['width', 'height'\]"
    ):
        tcgp.Optimizer.resume(journal, space=bounds)
    assert journal.read_bytes() == before
    tcgp.Optimizer.resume(journal).close()


def test_without_names_a_box_that_holds_nothing_is_taken_for_another_problem(tmp_path):
    journal = tmp_path / "run.jsonl"
    tcgp.minimize(sum, [(0.0, 1.0)], n_evals=4, rng=0, journal=journal)
    with pytest.raises(JournalError, match="belongs to another run"):
        tcgp.minimize(sum, [(5.0, 6.0)], n_evals=6, journal=journal)
    assert tcgp.minimize(sum, [(-1.0, 1.0)], n_evals=6, journal=journal).nfev == 6


def test_exports_have_the_evaluations_outside_the_present_bounds_too():
    optimizer = tcgp.Optimizer({"width": (0.0, 1.0)}, rng=0)
    optimizer.tell([[0.25], [0.75], [0.9]], [2.0, 1.0, None])
    optimizer.change_space({"width": (0.0, 0.5)})
    rows = rows_of(optimizer.history)
    assert [(row["width"], row["value"], row["feasible"]) for row in rows] == [
        (0.25, 2.0, True),
        (0.75, 1.0, False),
        (0.9, None, False),
    ]
    assert [row["reason"] for row in rows] == [
        None,
        "outside the present bounds",
        "there is no value",
    ]


def test_a_campaign_of_many_choices_goes_on_where_each_had_a_coordinate_before(tmp_path, monkeypatch):
    journal = tmp_path / "run.jsonl"
    space = {"alloy": tcgp.Categorical([f"a{i}" for i in range(70)]), "x": (0.0, 1.0)}

    def deviation(p):
        return (p["x"] - 0.3) ** 2 + int(p["alloy"][1:])

    with monkeypatch.context() as before:
        before.setattr("tcgp.space.WIDEST", 100)
        tcgp.minimize(deviation, space, n_evals=7, n_initial=5, rng=0, journal=journal, method="gp")
    result = tcgp.minimize(deviation, space, n_evals=9, n_initial=5, rng=0, journal=journal, method="gp")
    assert result.nfev == 9
    fits = [proposal.fit for proposal in result.optimizer.history.proposals[5:]]
    assert [fit and len(fit["state"]["lengthscales"]) for fit in fits] == [None, None, 65, 65]
