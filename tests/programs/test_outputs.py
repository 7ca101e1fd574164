"""Programs with several outputs: what is read, what is kept, and what fails."""

from __future__ import annotations

import json

import pytest

import tcgp
from running import simulator as running_simulator
from tcgp.programs import Objective, ProgramCrew, RunFailed
from tcgp.running.crews import Outcome, evaluate

PLACES = {
    "mass": Objective(pattern=r"mass = (\S+)"),
    "stress": Objective(file="fem.json", key="stress.max"),
    "steps": Objective(),
}


def simulator(code, **options):
    """A program of a few lines of Python, in which braces are braces."""
    return running_simulator(code.replace("{", "{{").replace("}", "}}"), **options)


def outcome_file(folder):
    return json.loads((folder / "outcome.json").read_text())


def test_outputs_are_read_from_where_each_is_and_kept_in_the_record(tmp_path):
    code = (
        "import json; json.dump({'stress': {'max': 210.5}}, open('fem.json', 'w')); "
        "print('mass = 12.5 kg'); print('steps: 7')"
    )
    run = simulator(code, runs=tmp_path, outputs=PLACES).start({})
    assert run.finish() == {"mass": 12.5, "stress": 210.5, "steps": 7.0}
    assert run.reasons == {}
    kept = outcome_file(run.directory)
    assert (kept["outputs"], kept["reason"]) == ({"mass": 12.5, "stress": 210.5, "steps": 7.0}, None)
    assert "value" not in kept


def test_an_output_that_cannot_be_read_costs_no_other_and_says_why(tmp_path):
    run = simulator("print('mass = 12,5'); print('steps: 7')", runs=tmp_path, outputs=PLACES).start({})
    assert run.finish() == {"mass": None, "stress": None, "steps": 7.0}
    assert run.reasons == {
        "mass": "the pattern found no number: '12,5' is not a plain number",
        "stress": "the program wrote no file 'fem.json'",
    }
    assert outcome_file(run.directory)["reason"] == run.reasons


def test_a_program_that_fails_has_no_outputs(tmp_path):
    run = simulator("print('mass = 1'); raise SystemExit(3)", runs=tmp_path, outputs=PLACES).start({})
    with pytest.raises(RunFailed, match="exit code 3"):
        run.finish()
    kept = outcome_file(run.directory)
    assert (kept["outputs"], kept["reason"]) == (None, "exit code 3")


@pytest.mark.parametrize("before", ["", "print('step 1 of 2')\n"])
def test_all_numbers_of_a_json_object_are_outputs(before, tmp_path):
    code = before + (
        'print(\'{"mass": 3, "stress": 1e2, "note": "fine", "ok": true, "parts": [1], "lift": null, "drag": NaN}\')'
    )
    run = simulator(code, runs=tmp_path, outputs="json").start({})
    assert run.finish() == {"mass": 3.0, "stress": 100.0, "lift": None, "drag": None}
    assert run.reasons == {"lift": "there is no value", "drag": "the value is nan"}


@pytest.mark.parametrize("text", ["", "3.5", "[1, 2]", "{'mass': 3}"])
def test_output_that_is_no_json_object_fails_the_run(text, tmp_path):
    with pytest.raises(RunFailed, match="standard output is not a JSON object"):
        simulator(f"print({text!r})", runs=tmp_path, outputs="json")({})


def test_other_words_than_json_are_refused(tmp_path):
    with pytest.raises(ValueError, match="outputs must be a mapping, 'json' or None, got 'yaml'"):
        simulator("print(1)", runs=tmp_path, outputs="yaml")


def test_a_goal_that_needs_an_unread_output_fails_with_its_reason_and_keeps_the_others(tmp_path):
    code = (
        "import json; x = json.load(open('parameters.json'))['x']; print('mass =', x); "
        "print('stress =', 1 / x if x < 0.5 else 'diverged'); print('note = none')"
    )
    outputs = {name: Objective(pattern=rf"{name} = (\S+)") for name in ("mass", "stress", "note")}
    program = simulator(code, runs=tmp_path, outputs=outputs)
    result = tcgp.minimize(
        program,
        {"x": (0.0, 1.0)},
        n_evals=8,
        n_initial=8,
        initial_design="sobol",
        objective="mass",
        constraints=["stress <= 3"],
        workers=ProgramCrew(program, 2),
        rng=0,
    )
    failed = [e for e in result.optimizer.evaluations if e.x[0] >= 0.5]
    assert 0 < len(failed) < 8
    for evaluation in result.optimizer.evaluations:
        x = evaluation.x[0]
        if x >= 0.5:
            assert evaluation.reason == (
                "the output 'stress': the pattern found no number: 'diverged' is not a plain number"
            )
            assert evaluation.outputs == {"mass": pytest.approx(x), "stress": None, "note": None}
        else:
            assert evaluation.reason is None  # nobody needs the note
            assert evaluation.y == pytest.approx(x)
    assert result.x["x"] == min(e.x[0] for e in result.optimizer.evaluations if 1 / 3 <= e.x[0] < 0.5)


def test_a_function_says_why_an_output_is_no_number(tmp_path):
    outcome = evaluate(lambda x: {"mass": 2, "stress": x, "note": "fine"}, float("nan"))
    assert outcome == Outcome(
        {"mass": 2.0, "stress": None, "note": None},
        {"stress": "the value is nan", "note": "'fine' is not a number"},
    )
    result = tcgp.minimize(
        lambda x: {"mass": 1.0, "stress": float("nan")},
        [(0.0, 1.0)],
        n_evals=1,
        objective="mass",
        constraints=["stress <= 1"],
    )
    assert result.failures == [(0, "the output 'stress': the value is nan")]


@pytest.mark.parametrize("reason", [3, {"stress": 3}, ["no"]])
def test_a_reason_is_text(reason):
    optimizer = tcgp.Optimizer([(0.0, 1.0)], objective="mass")
    with pytest.raises(ValueError, match="reason must be a string"):
        optimizer.tell([0.5], {"mass": None}, reason=reason)
