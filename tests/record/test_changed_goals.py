"""Goals that change in the course of a run: all that was recorded is read anew, and nothing is evaluated again."""

from __future__ import annotations

import json

import pytest

import tcgp
from tcgp.optimizer import JournalError, read_campaign

BOX = {"width": (0.0, 2.0), "height": (0.0, 1.0)}
GOALS = {"objective": "mass", "constraints": ["stress <= 3"]}


def beam(p):
    return {"mass": p["width"] + p["height"], "stress": 1.0 / (0.1 + p["width"]), "noise": p["height"]}


def run(journal, n_evals, **goals):
    return tcgp.minimize(beam, BOX, n_evals=n_evals, rng=0, journal=journal, **{**GOALS, **goals})


def told(*values, **goals):
    """An optimizer that knows a value for each of some widths."""
    optimizer = tcgp.Optimizer({"width": (0.0, 1.0)}, rng=0, **goals)
    for i, value in enumerate(values):
        optimizer.tell([i / 8], value)
    return optimizer


@pytest.mark.parametrize(
    ("goals", "best"),
    [
        ({"constraints": ["stress <= 1", "noise >= 0.5"]}, 1.4),
        ({"objective": "stress", "constraints": ["mass <= 1", "width >= 2 * height"]}, 1 / 1.1),
        ({"constraints": [], "maximize": True}, 3.0),
    ],
)
def test_a_run_goes_on_with_other_goals_and_finds_what_they_want(goals, best, tmp_path, caplog):
    journal = tmp_path / "run.jsonl"
    before = run(journal, 8)
    after = run(journal, 16, **goals)
    assert after.nfev == 16
    assert [e.x for e in after.optimizer.evaluations[:8]] == [e.x for e in before.optimizer.evaluations]
    assert after.success
    assert after.fun == pytest.approx(best, abs=0.03)
    assert "the goals have changed" in caplog.text
    kinds = [json.loads(line).get("event") for line in journal.read_text().splitlines()]
    assert kinds.count("goals") == 1
    assert read_campaign(journal).history.best == after.optimizer.history.best
    assert run(journal, 16, **goals).fun == after.fun


def test_an_evaluation_without_a_needed_output_fails_until_it_is_not_needed():
    optimizer = told({"a": 3.0}, {"a": 2.0, "b": 1.0}, {"b": 5.0}, None, objective="a")
    optimizer.change_goals(objective="b")
    assert [e.y for e in optimizer.evaluations] == [None, 1.0, 5.0, None]
    assert optimizer.evaluations[0].reason == "the output 'b' is missing"
    optimizer.change_goals(objective="a", maximize=True)
    assert [e.y for e in optimizer.evaluations] == [3.0, 2.0, None, None]
    assert optimizer.evaluations[0].reason is None
    assert optimizer.result().fun == 3.0


def test_goals_under_which_nothing_has_a_value_are_refused_and_nothing_is_written(tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, 4)
    before = journal.read_bytes()
    with pytest.raises(
        JournalError, match=r"cannot be continued with other goals: no evaluation .* 'mas' is missing; did"
    ):
        run(journal, 6, objective="mas")
    with pytest.raises(JournalError, match="objective must name one of the outputs"):
        run(journal, 6, objective=None, constraints=[])
    assert journal.read_bytes() == before


def test_a_name_for_the_objective_saves_evaluations_that_had_none():
    optimizer = told({"a": 3.0}, {"a": 2.0})
    assert optimizer.history.best is None
    optimizer.change_goals(objective="a")
    assert optimizer.result().fun == 2.0


def test_the_size_of_the_design_changes_while_it_goes_on(tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, 3, n_initial=6)
    run(journal, 5, n_initial=4)
    sources = [proposal.source for proposal in read_campaign(journal).history.proposals]
    assert sources == ["design"] * 4 + ["criterion"]
    assert read_campaign(journal).settings.n_initial == 4
    with pytest.raises(
        JournalError, match="n_initial must stay 4, because the initial design is over, got 6"
    ):
        run(journal, 8, n_initial=6)


def test_constraints_that_leave_nothing_are_refused(tmp_path):
    optimizer = told({"a": 3.0}, objective="a")
    with pytest.raises(ValueError, match='"width <= -1" holds nowhere'):
        optimizer.change_goals(constraints=["width <= -1"])
    with pytest.raises(ValueError, match="constraints must be strings"):
        optimizer.change_goals(constraints=[lambda x: True])
    assert optimizer.settings.constraints == ()


def test_the_same_goals_are_no_change(tmp_path, caplog):
    journal = tmp_path / "run.jsonl"
    run(journal, 4)
    before = journal.read_bytes()
    run(journal, 4)
    assert journal.read_bytes() == before
    assert "goals have changed" not in caplog.text


def test_a_second_objective_may_come_and_go(tmp_path):
    journal = tmp_path / "run.jsonl"
    run(journal, 6)
    both = run(journal, 8, objective=["mass", "stress"], reference={"mass": 2.5})
    assert len(both.front) > 1
    optimizer = tcgp.Optimizer.resume(journal)
    assert optimizer.settings.reference == {"mass": 2.5}
    optimizer.change_goals(objective="mass")
    assert optimizer.settings.reference is None
    assert optimizer.result().fun == min(
        e.outputs["mass"] for e in both.optimizer.evaluations if e.outputs["stress"] <= 3
    )
