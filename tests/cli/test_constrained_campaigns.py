"""Outputs and constraints on the command line: real programs, real files."""

from __future__ import annotations

import csv
import json
import shutil
import sys

import pytest

import tcgp
from tcgp.cli import main
from tcgp.cli.spec import EXAMPLE, KEYS, load_spec
from tcgp.optimizer import read_campaign
from tcgp.record.journal import read_journal

# -I -S: an interpreter that reads no site-packages starts in a few milliseconds.
PYTHON = [sys.executable, "-I", "-S", "{spec_dir}/beam.py"]

# The mass of a bar is width times height; it breaks where width times height squared is below 1/2.
BEAM = """\
import json, sys
width, height = map(float, sys.argv[1:])
print("mass =", width * height)
json.dump({"stress": {"max": 1 / (width * height**2)}}, open("fem.json", "w"))
print(json.dumps({"mass": width * height, "stress": 1 / (width * height**2), "note": "fine"}))
"""
TOP = """
budget = 10
seed = 1
objective = "mass"
constraints = ["stress <= 2"]
"""
PARAMETERS = """
[parameters]
width = {low = 0.1, high = 2.0}
height = {low = 0.1, high = 2.0}
"""
OUTPUTS = """
[outputs]
mass = {pattern = 'mass = (\\S+)'}
stress = {file = "fem.json", key = "stress.max"}
"""


def write_spec(folder, top=TOP, tables=PARAMETERS + OUTPUTS, code=BEAM):
    (folder / "beam.py").write_text(code)
    path = folder / "spec.toml"
    path.write_text(f"command = {json.dumps([*PYTHON, '{width}', '{height}'])}\n{top}{tables}")
    return path


def said(capsys):
    """What was said on standard error since the last look, as lines."""
    return capsys.readouterr().err.splitlines()


def tells(journal):
    return [event for _, event in read_journal(journal).events if event["event"] == "tell"]


# ---- the spec ----


def test_the_example_spec_explains_goals_and_is_valid_with_them(tmp_path):
    (tmp_path / "simulate").write_text("#!/bin/sh\n")
    (tmp_path / "deck.inp.in").write_text("{{ width }}\n")
    (tmp_path / "simulate").chmod(0o755)
    wanted = ("# objective = ", "# constraints = ", "# [outputs]", "# mass = ", "# stress = ")
    lines = [line[2:] if line.startswith(wanted) else line for line in EXAMPLE.splitlines()]
    path = tmp_path / "spec.toml"
    path.write_text("\n".join(lines))
    spec = load_spec(str(path))
    assert spec.settings.objective == "mass"
    assert spec.settings.constraints == ("stress <= 250", "width <= 2 * layers")
    assert spec.program.outputs["stress"].key == "max"
    assert {"objective", "outputs", "constraints", "maximize"} <= set(KEYS)


@pytest.mark.parametrize(
    ("top", "tables", "words"),
    [
        ("objective = 'mass'", PARAMETERS, "so 'outputs' must say where the outputs are"),
        ("maximize = 'mass'", PARAMETERS, "so 'outputs' must say where the outputs are"),
        ("", PARAMETERS + OUTPUTS, "'outputs' needs 'objective', the name of the output to minimize"),
        ("outputs = 'json'", PARAMETERS, "'outputs' needs 'objective'"),
        ("objective = 'mess'", PARAMETERS + OUTPUTS, "'mess' is not among the outputs; did you mean 'mass'?"),
        (
            "objective = 'mass'\nconstraints = ['strees <= 2']",
            PARAMETERS + OUTPUTS,
            "names 'strees', which is neither an output nor a parameter; did you mean 'stress'?",
        ),
        (
            "objective = 'mass'\nconstraints = ['widht <= 2']",
            PARAMETERS + OUTPUTS,
            "names 'widht', which is neither an output nor a parameter; did you mean 'width'?",
        ),
        (
            "objective = 'mass'\nconstraints = [3]",
            PARAMETERS + OUTPUTS,
            "'constraints' must be a list of strings",
        ),
        (
            "objective = 'mass'\nmaximize = 3",
            PARAMETERS + OUTPUTS,
            "maximize must be True, False or the name",
        ),
        ("objective = 'mass'\nmaximize = 'stress'", PARAMETERS + OUTPUTS, "must name one output"),
        ("constraints = ['stress <= 2']", PARAMETERS, "is about the output 'stress', so objective must name"),
        ("objective = 'width'\noutputs = 'json'", PARAMETERS, "must be an output, got the parameter 'width'"),
        (
            "objective = 'mass'",
            PARAMETERS + OUTPUTS + "width = {}",
            "output 'width' has the name of a parameter",
        ),
        ("objective = 'mass'\noutputs = 'yaml'", PARAMETERS, "'outputs' must be a table"),
        ("objective = 'mass'\noutputs = 'JSON'", PARAMETERS, "got 'JSON'; did you mean 'json'?"),
        (
            "constraints = ['width <= 1']\nmaximizer = 'smc'",
            PARAMETERS,
            "maximizer must be 'multistart' with",
        ),
        ("objective = 'mass'\noutputs = {mass = 'x'}", PARAMETERS, "'outputs' must be a table"),
        ("objective = 'mass'\noutputs = {}", PARAMETERS, "'outputs' must be a table"),
        (
            "objective = 'mass'",
            PARAMETERS + "[outputs]\nmass = {regex = 'x'}",
            "unknown key of output 'mass' 'regex'; did you mean 'pattern'?",
        ),
        (
            "objective = 'mass'",
            PARAMETERS + "[outputs]\nmass = {key = 3}",
            "'key' in output 'mass' must be a string",
        ),
        (
            "objective = 'mass'",
            PARAMETERS + "[outputs]\nmass = {pattern = '('}",
            "output 'mass': '(' is not a regular",
        ),
        ("objective = 3", PARAMETERS, "'objective' must be a table with file, pattern or key, or the name"),
        ("constraints = ['width <=']", PARAMETERS, "constraint"),
        ("constraints = ['width <= 1', 'width >= 1.5']", PARAMETERS, "exclude"),
        ("maximise = true", PARAMETERS, "unknown key 'maximise'; did you mean 'maximize'?"),
    ],
)
def test_bad_goals_are_refused_in_one_sentence(top, tables, words, tmp_path, capsys):
    path = write_spec(tmp_path, top + "\nbudget = 3\n", tables)
    assert main(["minimize", str(path)]) == 2
    (line,) = said(capsys)
    assert line.startswith("tcgp: error: ")
    assert words in line
    assert not (tmp_path / "spec.tcgp").exists()


def test_the_words_for_one_value_mean_what_they_did(tmp_path):
    for top in ("", "objective = 'stdout'", "objective = {key = 'mass'}", "maximize = true"):
        spec = load_spec(str(write_spec(tmp_path, top + "\n", PARAMETERS)))
        assert (spec.settings.objective, spec.program.outputs) == (None, None)
        assert spec.settings.maximize == (top == "maximize = true")


def test_a_dry_run_says_what_is_wanted_and_where_it_is_read(tmp_path, capsys):
    assert main(["minimize", str(write_spec(tmp_path)), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "objective   minimize mass" in shown
    assert "constraint  stress <= 2   (on outputs: learned during the run)" in shown
    assert "output      mass: the last match of 'mass = (\\S+)' in standard output" in shown
    assert "output      stress: the key 'stress.max' of the JSON object in the file 'fem.json'" in shown
    path = write_spec(tmp_path, "budget = 3\nmaximize = 'mass'\noutputs = 'json'\n", PARAMETERS)
    assert main(["minimize", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "objective   maximize mass" in shown
    assert "outputs     all numbers of the JSON object in standard output" in shown


# ---- minimize ----

# With 30 evaluations eight seeds of eight end below a mass of 0.3; with 14, half of them above 0.4.
BUDGET = 20


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign with outputs, and what it said in the end."""
    folder = tmp_path_factory.mktemp("beam")
    path = write_spec(folder, TOP.replace("budget = 10", f"budget = {BUDGET}"))
    return folder, path


@pytest.fixture(scope="module")
def journal(finished):
    folder, path = finished
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    return folder / "spec.tcgp" / "journal.jsonl"


def feasible_best(journal):
    kept = [event for event in tells(journal) if event["outputs"]["stress"] <= 2.0]
    return min(kept, key=lambda event: event["y"])


def test_minimize_keeps_all_outputs_and_finds_the_lightest_that_holds(finished, journal, capsys):
    for event in tells(journal):
        width, height = event["x"]
        assert event["outputs"] == {
            "mass": pytest.approx(width * height),
            "stress": pytest.approx(1 / (width * height**2)),
        }
        run = journal.parent / "runs" / f"{event['id']:04d}"
        assert json.loads((run / "outcome.json").read_text())["outputs"] == event["outputs"]
    # The lightest bar that holds is as high as it may be: 0.125 wide, of mass 0.25.
    assert 0.25 <= feasible_best(journal)["y"] < 0.4


def test_the_summary_has_outputs_and_constraints_at_the_best_point(finished, journal, capsys):
    capsys.readouterr()
    assert (
        main(["minimize", str(finished[1]), "--no-plots", "--quiet"]) == 0
    )  # the budget is spent: nothing is run
    shown, best = capsys.readouterr().out, feasible_best(journal)
    assert f"best value   {best['y']!r}   (run {best['id']}, " in shown
    assert f"outputs      mass = {best['outputs']['mass']!r}" in shown
    assert f"             stress = {best['outputs']['stress']!r}" in shown
    assert f"constraints  stress <= 2: {best['outputs']['stress']:.6g}, " in shown
    n = sum(event["outputs"]["stress"] <= 2.0 for event in tells(journal))
    assert f"evaluations  {BUDGET}: {BUDGET} succeeded, 0 failed; {n} satisfy all constraints" in shown


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"stress <= 2"', '"stress <= 3"', "constraints was ('stress <= 2',) and is now ('stress <= 3',)"),
        ('objective = "mass"', 'objective = "stress"', "objective was 'mass' and is now 'stress'"),
        ("seed = 1", "seed = 1\nmaximize = true", "maximize was False and is now True"),
    ],
)
def test_a_campaign_goes_on_when_its_spec_has_other_goals(
    old, new, words, finished, journal, tmp_path, capsys
):
    before = tells(journal)
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    spec = tmp_path / "spec.toml"
    spec.write_text(
        spec.read_text().replace(old, new, 1).replace(f"budget = {BUDGET}", f"budget = {BUDGET + 1}")
    )
    capsys.readouterr()
    assert main(["minimize", str(spec), "--no-plots", "--quiet"]) == 0
    assert words in capsys.readouterr().err
    assert tells(tmp_path / "spec.tcgp" / "journal.jsonl")[:-1] == before


def test_goals_without_a_value_are_refused_and_the_journal_left_alone(finished, journal, capsys):
    before = journal.read_bytes()
    changed = finished[0] / "changed.toml"
    text = finished[1].read_text().replace(OUTPUTS, "")
    changed.write_text(text.replace('objective = "mass"', "").replace('constraints = ["stress <= 2"]', ""))
    capsys.readouterr()
    assert main(["minimize", str(changed), "--journal", str(journal)]) == 2
    assert "no output 'mass'" in " ".join(said(capsys))
    assert journal.read_bytes() == before


def test_an_output_that_was_printed_and_not_recorded_can_be_limited_later_and_let_go_again(tmp_path, capsys):
    stress = 'stress = {file = "fem.json", key = "stress.max"}\n'
    top = TOP.replace('constraints = ["stress <= 2"]\n', "")
    path = write_spec(tmp_path, top, PARAMETERS + OUTPUTS.replace(stress, ""))
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    command = ["minimize", str(path), "--no-plots", "--quiet"]
    assert main(command) == 0
    before = tells(journal)
    assert all(set(event["outputs"]) == {"mass"} for event in before)
    free = min(event["y"] for event in before)
    write_spec(tmp_path)
    assert main(command) == 0
    assert "stress <= 2" in capsys.readouterr().out
    limited = read_campaign(journal).history
    assert limited.best.outputs["stress"] <= 2.0
    assert limited.best.y > free
    write_spec(tmp_path, top, PARAMETERS + OUTPUTS.replace(stress, ""))
    assert main(command) == 0
    assert read_campaign(journal).history.best.y == free
    assert tells(journal) == before  # no run was made again


def test_no_run_violates_a_constraint_on_parameters(tmp_path, capsys):
    top = TOP.replace('["stress <= 2"]', '["stress <= 2", "width <= 0.25 * height"]')
    path = write_spec(tmp_path, top)
    assert main(["minimize", str(path), "--dry-run"]) == 0
    assert (
        "constraint  width <= 0.25 * height   (on parameters: no run violates it)" in capsys.readouterr().out
    )
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    points = [event["x"] for event in tells(tmp_path / "spec.tcgp" / "journal.jsonl")]
    assert len(points) == 10
    assert all(width <= 0.25 * height for width, height in points)


def test_a_maximum_keeps_its_sign(tmp_path, capsys):
    code = (
        'import sys; w, h = map(float, sys.argv[1:]); print(f\'{{"gain": {5 - (w - 1) ** 2}, "cost": {h}}}\')'
    )
    top = "budget = 9\nseed = 1\nmaximize = 'gain'\nconstraints = 'cost <= 1.5'\noutputs = 'json'\n"
    path = write_spec(tmp_path, top, PARAMETERS, code)
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    kept = [e for e in tells(tmp_path / "spec.tcgp" / "journal.jsonl") if e["outputs"]["cost"] <= 1.5]
    assert f"best value   {max(event['y'] for event in kept)!r}" in capsys.readouterr().out


def test_where_no_run_keeps_all_constraints_the_nearest_is_shown(tmp_path, capsys):
    path = write_spec(tmp_path, TOP.replace("stress <= 2", "stress <= 0.01").replace("10", "6"))
    assert main(["minimize", str(path), "--no-plots"]) == 1
    captured = capsys.readouterr()
    nearest = min(
        tells(tmp_path / "spec.tcgp" / "journal.jsonl"), key=lambda event: event["outputs"]["stress"]
    )
    assert "best value   none: no run satisfies all constraints" in captured.out
    assert f"nearest      {nearest['y']!r}   (run {nearest['id']}, " in captured.out
    assert f"violated by {nearest['outputs']['stress'] - 0.01:.3g}" in captured.out
    assert "no value that satisfies all constraints yet" in captured.err
    assert "fix it and move the journal away" not in captured.err
    assert main(["status", str(tmp_path / "spec.tcgp" / "journal.jsonl")]) == 0
    assert "no run satisfies all constraints so far\nnearest      " in capsys.readouterr().out
    assert main(["status", str(tmp_path / "spec.tcgp" / "journal.jsonl"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["best"], facts["n_feasible"], facts["nearest"]["id"]) == (None, 0, nearest["id"])
    assert not facts["nearest"]["feasible"]


def test_an_output_that_a_goal_needs_fails_the_run_by_name(tmp_path, capsys):
    code = BEAM.replace('"stress": {"max"', '"stress": {"least"')
    path = write_spec(tmp_path, TOP.replace("10", "3"), code=code)
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 1
    reason = "the output 'stress': the JSON in the file 'fem.json' has no key 'stress.max'"
    reason += "; did you mean 'stress.least'?"
    assert f"3 x {reason}   (runs 0, 1, 2)" in capsys.readouterr().out
    for event in tells(tmp_path / "spec.tcgp" / "journal.jsonl"):
        assert (event["y"], event["reason"], event["outputs"]["stress"]) == (None, reason, None)
        assert event["outputs"]["mass"] == pytest.approx(event["x"][0] * event["x"][1])


# ---- ask, tell and status ----


@pytest.fixture
def campaign(tmp_path, capsys):
    """A campaign whose runs are made by hand, with three points asked for."""
    path, journal = tmp_path / "spec.toml", tmp_path / "run.jsonl"
    path.write_text("objective = 'mass'\nconstraints = ['stress <= 2']\nseed = 3" + PARAMETERS)
    assert main(["ask", str(journal), "--spec", str(path), "-n", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    return str(journal)


def test_outputs_are_told_by_name(campaign, capsys):
    assert main(["tell", campaign, "0", "mass=12.5", "stress=-3e0", "lift=1"]) == 0
    assert capsys.readouterr().out == "noted; the best of 1 that satisfy all constraints is 12.5, 2 pending\n"
    assert main(["tell", campaign, "1", "mass=2.5", "stress=7"]) == 0
    assert main(["tell", campaign, "stress=nan", "mass=1", "--x", '{"width": 0.5, "height": 0.25}']) == 0
    assert "the best of 1 that satisfy all constraints is 12.5" in capsys.readouterr().out
    assert [event["outputs"] for event in tells(campaign)] == [
        {"mass": 12.5, "stress": -3.0, "lift": 1.0},
        {"mass": 2.5, "stress": 7.0},
        {"stress": None, "mass": 1.0},
    ]
    assert tells(campaign)[2]["reason"] == "the output 'stress': the value is nan"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0", "3.5"], "the campaign has outputs: give them as mass=VALUE stress=VALUE, got 3.5"),
        (["0", "mass=1"], "the output 'stress' must be given, as mass=VALUE stress=VALUE, got mass=1.0"),
        (
            ["0", "mass=1", "strss=2"],
            "the output 'stress' must be given, as mass=VALUE stress=VALUE, got mass=1.0 strs",
        ),
        (["0", "mass=1", "strss=2"], "did you mean 'strss'?"),
        (["0", "mass=1", "mass=2"], "each output must be given once, as NAME=VALUE, got 'mass=2'"),
        (["0", "=1"], "each output must be given once, as NAME=VALUE, got '=1'"),
        (["0", "mass=heavy", "stress=1"], "the output 'mass' must be a number, got 'heavy'"),
        (["0", "mass=1", "2"], "ID VALUE is expected, got 0 mass=1 2"),
        (["mass=1", "stress=2"], "ID must be a number printed by tcgp ask, got 'mass=1'"),
        (["0", "mass=1", "--failed", "no"], "ID is expected, got 0 mass=1"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(campaign, arguments, words, capsys):
    assert main(["tell", campaign, *arguments]) == 2
    (line,) = said(capsys)
    assert words in line
    assert tells(campaign) == []


def test_outputs_for_a_campaign_with_one_value_are_refused(tmp_path, capsys):
    journal = tmp_path / "run.jsonl"
    (tmp_path / "spec.toml").write_text(PARAMETERS)
    assert main(["ask", str(journal), "--spec", str(tmp_path / "spec.toml")]) == 0
    capsys.readouterr()
    assert main(["tell", str(journal), "0", "mass=1"]) == 2
    assert "the campaign has one value and no outputs: give VALUE, got mass=1.0" in said(capsys)[0]


def test_another_output_at_a_known_point_is_refused(campaign, capsys):
    assert main(["tell", campaign, "0", "mass=1", "stress=1"]) == 0
    assert main(["tell", campaign, "0", "mass=1", "stress=1"]) == 0
    capsys.readouterr()
    assert main(["tell", campaign, "0", "mass=1", "stress=2"]) == 2
    (line,) = said(capsys)
    assert "{'mass': 1.0, 'stress': 1.0} and now 1.0 with the outputs {'mass': 1.0, 'stress': 2.0}" in line


def test_status_shows_the_best_that_keeps_all_constraints(campaign, tmp_path, capsys):
    for i, (mass, stress) in enumerate([(3.0, 1.0), (1.0, 5.0), (2.0, 1.999)]):
        assert main(["tell", campaign, str(i), f"mass={mass}", f"stress={stress}", "--took", "60"]) == 0
    capsys.readouterr()
    table = tmp_path / "runs.csv"
    assert main(["status", campaign, "--csv", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "3: 3 succeeded, 0 failed; 2 satisfy all constraints" in shown
    assert "best value   2.0   (id 2)" in shown
    assert "outputs      mass = 2.0\n             stress = 1.999\n" in shown
    assert "constraints  stress <= 2: 1.999, 0.001 below the limit (active)" in shown
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "width", "height", "mass", "stress", "feasible", "reason", "seconds"]
    assert [row["mass"] for row in rows] == ["3.0", "1.0", "2.0"]
    assert [row["feasible"] for row in rows] == ["True", "False", "True"]
    assert main(["status", campaign, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["best"]["outputs"] == {"mass": 2.0, "stress": 1.999}
    assert facts["best"]["constraints"] == [
        {"text": "stress <= 2", "value": 1.999, "limit": 2.0, "kept": True, "active": True}
    ]
    assert (facts["n_feasible"], facts["nearest"], facts["objective"], facts["maximize"]) == (
        2,
        None,
        "mass",
        False,
    )


def test_the_table_of_a_campaign_with_one_value_has_its_columns_also_before_the_first(tmp_path):
    table = tmp_path / "runs.csv"
    with tcgp.Optimizer(
        {"id": (0.0, 1.0), "seconds": (0.0, 1.0)}, journal=tmp_path / "run.jsonl", rng=0
    ) as optimizer:
        assert main(["status", str(tmp_path / "run.jsonl"), "--csv", str(table)]) == 0
        # Parameters keep their names; the table's own columns give way.
        assert table.read_text() == "id_,id,seconds,value,feasible,reason,seconds_\n"
        optimizer.tell([0.5, 0.25], None, reason="broke", seconds=3.0)
    assert main(["status", str(tmp_path / "run.jsonl"), "--csv", str(table)]) == 0
    assert table.read_text().splitlines()[1] == ",0.5,0.25,,False,broke,3.0"


# ---- diagnose ----


def test_diagnose_says_of_each_limit_whether_the_model_is_right_about_it(journal, tmp_path, capsys):
    assert main(["diagnose", str(journal), "--method", "gp"]) == 0
    shown = capsys.readouterr().out
    n = sum(event["outputs"]["stress"] <= 2.0 for event in tells(journal))
    assert f"stress <= 2: The limit is satisfied by {n} of the {BUDGET} evaluations; " in shown
    table = str(tmp_path / "runs.csv")
    assert main(["status", str(journal), "--csv", table]) == 0
    capsys.readouterr()
    assert main(["diagnose", table]) == 2
    assert "has outputs: name one with --objective and the others with --ignore" in said(capsys)[0]
    assert main(["diagnose", table, "--objective", "mass", "--ignore", "stress", "--method", "gp"]) == 0
    assert f"of {BUDGET} points" in capsys.readouterr().out
