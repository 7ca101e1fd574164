"""Several objectives on the command line: real programs, real files."""

from __future__ import annotations

import csv
import io
import json

import pytest
from commands import write_spec

from tcgp.cli import main
from tcgp.cli.console import UsageError
from tcgp.cli.spec import load_spec
from tcgp.optimizer import Optimizer

# A bar: the wider and the higher, the heavier and the stiffer.
BAR = (
    "import json, sys; w, h = map(float, sys.argv[1:]); "
    "print(json.dumps(dict(mass=w * h, sag=1 / (w * h**3), stress=1 / (w * h**2))))"
)
GOALS = """
objective = ["mass", "100 * sag"]
constraints = ["stress <= 20"]
reference = {mass = 3.0}
outputs = "json"
"""
TABLES = """
[parameters]
x = {low = 0.1, high = 2.0}
y = {low = 0.5, high = 2.0}
"""


def facts(capsys, journal):
    capsys.readouterr()
    assert main(["status", str(journal), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bar")
    spec = write_spec(folder, BAR, budget=9, top=GOALS, tables=TABLES)
    assert main(["minimize", str(spec), "--quiet"]) == 0
    return folder


def test_campaign_ends_with_a_front_and_its_picture(campaign, capsys):
    assert main(["minimize", str(campaign / "spec.toml"), "--quiet"]) == 0  # nothing is left to be run
    text = capsys.readouterr().out
    assert "points that no other dominates" in text
    for label in ("least mass: mass = ", "least 100 * sag: mass = ", "knee: mass = "):
        assert label in text
    assert (campaign / "spec.tcgp" / "front.png").exists()


def test_status_has_the_front(campaign, capsys):
    assert main(["status", str(campaign / "spec.tcgp")]) == 0
    assert "knee: mass = " in capsys.readouterr().out
    front = facts(capsys, campaign / "spec.tcgp")["front"]
    masses = [point["values"]["mass"] for point in front]
    assert masses == sorted(masses)
    assert all(point["values"]["100 * sag"] == 100 * point["outputs"]["sag"] for point in front)
    assert all(point["feasible"] for point in front)


def test_table_says_which_runs_are_on_the_front(campaign, capsys):
    path = campaign / "runs.csv"
    assert main(["status", str(campaign / "spec.tcgp"), "--csv", str(path)]) == 0
    assert main(["status", str(campaign / "spec.tcgp"), "--csv", str(path)]) == 0  # it knows its own tables
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert len(rows) == 9
    on_front = {int(row["id"]) for row in rows if row["front"] == "True"}
    assert on_front == {point["id"] for point in facts(capsys, campaign / "spec.tcgp")["front"]}
    assert all(float(row["100 * sag"]) == 100 * float(row["sag"]) for row in rows)


def test_table_is_imported_into_a_campaign_of_several_objectives(campaign, tmp_path, capsys):
    path, spec, journal = tmp_path / "runs.csv", campaign / "spec.toml", tmp_path / "new.jsonl"
    assert main(["status", str(campaign / "spec.tcgp"), "--csv", str(path)]) == 0
    assert main(["import", str(journal), str(path), "--spec", str(spec)]) == 0
    there, here = facts(capsys, campaign / "spec.tcgp")["front"], facts(capsys, journal)["front"]
    assert [point["values"] for point in here] == [point["values"] for point in there]
    assert main(["import", str(journal), str(path), "--objective", "mass"]) == 2
    assert "the campaign has several" in capsys.readouterr().err
    path.write_text("x,y,mass\n1.0,1.0,1.0\n")
    assert main(["import", str(journal), str(path)]) == 2
    assert "no column for the output 'sag'" in capsys.readouterr().err


def test_points_are_asked_and_told_by_hand(tmp_path, capsys):
    journal, spec = tmp_path / "run.jsonl", tmp_path / "spec.toml"
    spec.write_text('seed = 1\nobjective = ["mass"]\nmaximize = ["life"]\n' + TABLES)
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "2"]) == 0
    assert main(["tell", str(journal), "0", "mass=2", "life=10"]) == 0
    assert main(["tell", str(journal), "1", "mass=3", "life=20"]) == 0
    assert "2 of 2 are on the front" in capsys.readouterr().out
    assert main(["tell", str(journal), "1", "mass=3"]) == 2
    assert "the output 'life' must be given, as mass=VALUE life=VALUE" in capsys.readouterr().err
    assert [point["values"]["life"] for point in facts(capsys, journal)["front"]] == [10.0, 20.0]


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        ('objective = ["mass", "sga"]', "the objective 'sga' is not among the outputs; did you mean 'sag'"),
        (
            'objective = ["mass", "2 * sga"]',
            "the objective '2 * sga' names 'sga', which is not among the outputs",
        ),
        ('objective = ["mass", "sag"]\ntarget = 3.0', "target must be a mapping from objectives"),
        (
            'objective = ["mass", "sag"]\ntarget = {sga = 3.0}',
            "target: 'sga' is not an objective; did you mean 'sag'",
        ),
        ('objective = ["mass", "sag"]\nreference = {sga = 3.0}', "did you mean 'sag'"),
        ('objective = "mass"\nmaximize = "sag"', "objective and maximize must name one output, or be lists"),
    ],
)
def test_goals_that_make_no_sense_are_refused(tmp_path, goals, words):
    outputs = "[outputs]\nmass = {key = 'mass'}\nsag = {key = 'sag'}\n"
    path = write_spec(tmp_path, BAR, top=goals, tables=outputs + TABLES)
    with pytest.raises(UsageError) as caught:
        load_spec(str(path))
    assert words in str(caught.value)


# ---- one objective and a limit ----


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    goals = 'objective = "mass"\nconstraints = ["sag <= 2", "stress <= 20"]\noutputs = "json"'
    spec = write_spec(folder, BAR, budget=12, top=goals, tables=TABLES)
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    return spec


def test_tradeoff_has_the_best_recorded_run_for_each_limit(limited, capsys):
    capsys.readouterr()
    assert main(["tradeoff", str(limited), "--limit", "sag", "--json", "-n", "5"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert 2.0 in [row["limit"] for row in rows]
    with Optimizer.read(limited.with_suffix(".tcgp") / "journal.jsonl") as optimizer:
        outputs = [e.outputs for e in optimizer.evaluations if e.outputs["stress"] <= 20]
    for row in rows:
        kept = [o["mass"] for o in outputs if o["sag"] <= row["limit"] + 1e-9]
        assert row["recorded"]["value"] == min(kept)


def test_tradeoff_predicts_what_the_program_gives(limited, capsys):
    capsys.readouterr()
    assert main(["tradeoff", str(limited), "--limit", "sag <= 2", "--json", "-n", "4"]) == 0
    (row,) = (row for row in json.loads(capsys.readouterr().out) if row["limit"] == 2.0)
    x, y = row["predicted"]["x"].values()
    assert row["predicted"]["value"] <= row["recorded"]["value"] + 1e-6
    assert x * y == pytest.approx(row["predicted"]["value"], rel=0.05)
    assert 1 / (x * y**3) == pytest.approx(2.0, rel=0.1)  # the limit that keeps the bar from being lighter


def test_tradeoff_in_words_marks_the_present_limit(limited, campaign, capsys):
    assert main(["tradeoff", str(limited), "--limit", "sag"]) == 0
    assert "sag <= 2 (the present limit): recorded " in capsys.readouterr().out
    assert main(["tradeoff", str(limited), "--limit", "mass"]) == 2
    assert "there are 'sag <= 2', 'stress <= 20'" in capsys.readouterr().err
    assert main(["tradeoff", str(campaign / "spec.toml"), "--limit", "stress"]) == 2
    assert "the campaign has several objectives" in capsys.readouterr().err
