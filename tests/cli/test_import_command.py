"""``tcgp import``, ``x0`` in a spec, and bounds that change: data of every kind come along, and no run is wasted."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from commands import BOWL, TWO_REALS, events, said, write_spec

import tcgp
from tcgp.cli import main
from tcgp.optimizer import read_campaign

SPEC = """
n_initial = 4
seed = 1
[parameters]
width = {low = 0.0, high = 10.0}
layers = {type = "integer", low = 1, high = 8}
alloy = {choices = ["steel", "brass"]}
height = 2.5
"""

ROWS = [(1.5, 3, "steel", 12.7), (2.25, 8, "brass", -0.5), (10.0, 1, "steel", 3e-5)]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def points(journal):
    return [(e.x, e.y) for e in read_campaign(journal).history.evaluations]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("comma", [False, True])
def test_csv_files_of_every_kind(delimiter, comma, spec, tmp_path, capsys):
    if comma and delimiter == ",":
        pytest.skip("a comma cannot be both")
    # Columns in another order, an unknown one, and no column for the fixed parameter.
    lines = [["cost", "alloy", "remark", "width", "layers"]]
    lines += [[repr(y), alloy, "ok", repr(width), str(layers)] for width, layers, alloy, y in ROWS]
    text = "\n".join(delimiter.join(line) for line in lines)
    data, journal = tmp_path / "old.csv", tmp_path / "new" / "run.jsonl"
    data.write_text(text.replace(".", ",") if comma else text)
    command = ["import", str(journal), "--spec", str(spec), str(data), "--objective", "cost"]
    assert main(command) == 0
    assert "imported 3 evaluations" in capsys.readouterr().out
    assert points(journal) == [((width, layers, alloy, 2.5), y) for width, layers, alloy, y in ROWS]
    assert main(command) == 0
    assert "imported 0 evaluations; 3 were there already" in capsys.readouterr().out
    assert len(events(journal, "tell")) == 3


def test_rows_and_columns_are_named_as_they_stand_in_the_file_and_nothing_is_taken(spec, tmp_path, capsys):
    data, journal = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text("width;layers;alloy;cost\n1,5;3;steel;1\n11,5;3;steel;2\n\n2,5;3;tin;3\n")
    assert main(["import", str(journal), "--spec", str(spec), str(data)]) == 2
    message = said(capsys)[-1]
    assert "line 3: parameter 'width': 11.5 is not a number between 0.0 and 10.0" in message
    assert "line 5: parameter 'alloy': 'tin' is not one of the choices" in message
    assert "--skip" in message
    assert events(journal, "tell") == []
    assert main(["import", str(journal), str(data), "--skip"]) == 0
    assert points(journal) == [((1.5, 3, "steel", 2.5), 1.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("width,layers,cost\n1,2,3\n", "there is no column for the parameter 'alloy', only width, layers"),
        ("width,layers,alloy\n1,2,steel\n", "name the column of .* with --objective"),
        ("width,layers,alloy,a,b\n1,2,steel,3,4\n", "there are: a, b"),
        (
            "width,layers,alloy,cost\n1,2,steel,cheap\n",
            "line 2, column 'cost': must be a number, got 'cheap'; --skip leaves such rows out",
        ),
        (
            "width,layers,alloy,cost\n1,2,steel,3\n1,2,steel,4\n",
            "line 3 repeats the point of line 2, which gave 3.0",
        ),
    ],
)
def test_what_cannot_be_imported_is_said_in_one_sentence(text, words, spec, tmp_path, capsys):
    (tmp_path / "old.csv").write_text(text)
    assert main(["import", str(tmp_path / "run.jsonl"), "--spec", str(spec), str(tmp_path / "old.csv")]) == 2
    assert re.search(words, said(capsys)[-1])


def test_failures_come_along_with_their_reason_and_empty_rows_do_not(spec, tmp_path, capsys):
    data, journal = tmp_path / "old.csv", tmp_path / "run.jsonl"
    data.write_text(
        "width,layers,alloy,value,reason,seconds\n1,2,steel,,mesh broke,9\n2,2,steel,,,\n3,2,steel,5,,7.5\n"
    )
    assert main(["import", str(journal), "--spec", str(spec), str(data)]) == 0
    failed, done = read_campaign(journal).history.evaluations
    assert (failed.reason, failed.seconds) == ("mesh broke", 9.0)
    assert (done.y, done.seconds) == (5.0, 7.5)
    assert any("without a value, left out: 1" in line for line in said(capsys))


def test_an_older_journal_and_its_table_come_along(spec, tmp_path):
    with tcgp.Optimizer(
        {
            "layers": tcgp.Integer(1, 8),
            "width": (0.0, 12.0),
            "alloy": tcgp.Categorical(["steel", "tin"]),
            "height": 2.5,
        },
        journal=tmp_path / "old.jsonl",
    ) as old:
        old.tell([[2, 1.5, "steel", 2.5], [3, 2.5, "steel", 2.5], [4, 11.0, "tin", 2.5]], [1.0, None, 3.0])
        old.ask()
    journal = tmp_path / "run.jsonl"
    assert main(["import", str(journal), "--spec", str(spec), str(tmp_path / "old.jsonl"), "--skip"]) == 0
    assert points(journal) == [((1.5, 2, "steel", 2.5), 1.0), ((2.5, 3, "steel", 2.5), None)]
    table = tmp_path / "runs.csv"
    assert main(["status", str(journal), "--csv", str(table)]) == 0
    again = tmp_path / "again.jsonl"
    assert main(["import", str(again), "--spec", str(spec), str(table)]) == 0
    assert points(again) == points(journal)


def test_outputs_are_matched_by_name(tmp_path):
    spec, data, journal = tmp_path / "spec.toml", tmp_path / "old.csv", tmp_path / "run.jsonl"
    spec.write_text('objective = "mass"\nconstraints = ["stress <= 2"]' + TWO_REALS)
    data.write_text("stress,x,remark,y,mass,temperature\n1,0.5,a,0.25,7,300\n3,0.5,b,0.5,6,\n")
    assert main(["import", str(journal), "--spec", str(spec), str(data)]) == 0
    first, second = read_campaign(journal).history.evaluations
    assert first.outputs == {"stress": 1.0, "mass": 7.0, "temperature": 300.0}
    assert second.outputs["temperature"] is None
    assert read_campaign(journal).history.best.y == 7.0


def test_a_database_that_is_not_there_is_not_created(spec, tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'trails.db'}"
    assert main(["import", str(tmp_path / "run.jsonl"), "--spec", str(spec), url, "--study", "wing"]) == 2
    assert "trails.db'; correct its name" in capsys.readouterr().err
    assert not (tmp_path / "trails.db").exists()


def test_the_trials_of_a_study_come_along(spec, tmp_path, capsys):
    optuna = pytest.importorskip("optuna")
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    study = optuna.create_study(storage=url, study_name="wing")

    def objective(trial):
        width, layers = trial.suggest_float("width", 0.0, 10.0), trial.suggest_int("layers", 1, 8)
        alloy = trial.suggest_categorical("alloy", ["steel", "brass"])
        if trial.number == 2:
            raise RuntimeError("mesh broke")
        return width + layers + len(alloy)

    study.optimize(objective, n_trials=5, catch=RuntimeError)
    journal = tmp_path / "run.jsonl"
    assert main(["import", str(journal), "--spec", str(spec), url, "--study", "wing"]) == 0
    history = read_campaign(journal).history
    assert [e.y for e in history.evaluations] == [t.value for t in study.trials]
    assert history.evaluations[2].reason == "fail"  # all that Optuna keeps


# ---- a campaign of a program ----


def test_imported_runs_count_as_data_and_not_as_runs_of_the_budget(tmp_path):
    spec, data = write_spec(tmp_path, BOWL, budget=4, top="n_initial = 3"), tmp_path / "old.csv"
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    data.write_text("x,y,cost\n0.3,0.6,0.0\n0.9,0.1,0.61\n0.1,0.1,0.29\n")
    assert main(["import", str(journal), "--spec", str(spec), str(data)]) == 0
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    history = read_campaign(journal).history
    assert (len(history.evaluations), history.n_done, history.best.y) == (7, 4, 0.0)
    assert {p.source for p in history.proposals} == {"criterion"}


def test_x0_of_the_spec_is_run_first_and_once(tmp_path):
    spec = write_spec(tmp_path, BOWL, budget=3, top="x0 = [{y = 0.5, x = 0.25}, {x = 0.75, y = 0.5}]")
    for _ in range(2):
        assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    asked = events(tmp_path / "spec.tcgp" / "journal.jsonl", "ask")
    assert [e["x"] for e in asked][:2] == [[0.25, 0.5], [0.75, 0.5]]
    assert [e["source"] for e in asked] == ["given", "given", "criterion"]


def test_x0_may_be_a_file_beside_the_spec(tmp_path, capsys):
    (tmp_path / "first.csv").write_text("x\ty\n0,25\t0,5\n")
    (tmp_path / "spec.toml").write_text('x0 = "first.csv"' + TWO_REALS)
    assert main(["ask", str(tmp_path / "run.jsonl"), "--spec", str(tmp_path / "spec.toml")]) == 0
    assert json.loads(capsys.readouterr().out)["x"] == {"x": 0.25, "y": 0.5}


@pytest.mark.parametrize(
    ("x0", "words"),
    [
        ("3", "'x0' must be a list of tables"),
        ("[{x = 0.5}]", "point 1 in 'x0': there is no column for the parameter 'y'"),
        ("[{x = 0.5, y = 7.0}]", "point 1 in 'x0': parameter 'y': 7.0 is not a number between"),
        ("[{x = 0.5, z = 7.0}]", "unknown parameter of point 1 in 'x0' 'z'"),
        ("'nowhere.csv'", "cannot be read"),
    ],
)
def test_a_bad_x0_is_refused(x0, words, tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(f"x0 = {x0}" + TWO_REALS)
    assert main(["ask", str(tmp_path / "run.jsonl"), "--spec", str(tmp_path / "spec.toml")]) == 2
    assert words in said(capsys)[-1]


def test_bounds_of_the_spec_change_and_a_parameter_is_fixed_without_a_run_repeated(tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=6, top="n_initial = 3")
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    first = points(journal)
    spec.write_text(spec.read_text().replace("x = {low = 0.0, high = 1.0}", "x = {low = -1.0, high = 0.5}"))
    assert main(["minimize", str(spec), "--quiet", "--no-plots", "--budget", "9"]) == 0
    assert "the space has changed: x was" in capsys.readouterr().err
    history = read_campaign(journal).history
    assert len(history.evaluations) + len(history.outside) == 9
    inside = [p for p in first if p[0][0] <= 0.5]
    assert points(journal)[: len(inside)] == inside
    spec.write_text(spec.read_text().replace("x = {low = -1.0, high = 0.5}", "x = 0.3"))
    assert main(["minimize", str(spec), "--quiet", "--no-plots", "--budget", "12"]) == 0
    assert all(e.x[0] == 0.3 for e in read_campaign(journal).history.evaluations)
    runs = sorted(path.name for path in (tmp_path / "spec.tcgp" / "runs").glob("[0-9]*"))
    assert runs == [f"{i:04d}" for i in range(12)]
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    assert "9 more outside the present bounds" in capsys.readouterr().out


# ---- from Python ----


def test_a_data_frame_is_matched_by_name_and_its_rows_by_their_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [2, 3], "remark": ["x", "y"], "a": [0.5, 0.75]}, index=["old", "new"])
    space = {"a": (0.0, 1.0), "b": tcgp.Integer(1, 4), "c": "steel"}

    def cost(p):
        return p["a"] + p["b"]

    result = tcgp.minimize(cost, space, n_evals=3, x0=frame, rng=0)
    assert result.x_iters[:2] == [{"a": 0.5, "b": 2, "c": "steel"}, {"a": 0.75, "b": 3, "c": "steel"}]
    known = tcgp.minimize(cost, space, n_evals=1, x0=frame, y0=pandas.Series([2.5, 3.75]), rng=0)
    assert known.func_vals.tolist()[:2] == [2.5, 3.75]
    with pytest.raises(
        ValueError, match=r"x0, row 'new': parameter 'b': 9 is not an integer between 1 and 4"
    ):
        tcgp.minimize(cost, space, n_evals=3, x0=frame.assign(b=[2, 9]))
    with pytest.raises(
        ValueError, match="x0, row 'old': there is no column for the parameter 'a', only b, remark"
    ):
        tcgp.minimize(cost, space, n_evals=3, x0=frame.drop(columns="a"))


def test_a_table_and_a_journal_come_back_to_where_they_are_from(tmp_path, capsys):
    spec, journal, table = tmp_path / "spec.toml", tmp_path / "run.jsonl", tmp_path / "runs.csv"
    spec.write_text(
        f"objective = 'mass'\nconstraints = ['stress <= 250']\nseed = 1\n{TWO_REALS}".replace(
            "x =", "seconds ="
        )
    )
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "3"]) == 0
    assert main(["tell", str(journal), "0", "mass=3", "stress=100", "id=7", "--took", "5"]) == 0
    assert main(["tell", str(journal), "1", "mass=2", "stress=nan"]) == 0
    assert main(["tell", str(journal), "2", "--failed", "the mesh broke"]) == 0
    assert main(["status", str(journal), "--csv", str(table)]) == 0
    before = read_campaign(journal).history.evaluations
    copies = []
    for source in (table, journal):
        copy = tmp_path / f"from_{source.name}.jsonl"
        assert main(["import", str(copy), "--spec", str(spec), str(source)]) == 0
        assert main(["import", str(copy), str(source)]) == 0
        copies += [read_campaign(copy).history.evaluations]
    (tmp_path / "copy.jsonl").write_bytes(journal.read_bytes())
    capsys.readouterr()
    for source in (table, tmp_path / "copy.jsonl"):
        assert main(["import", str(journal), str(source)]) == 0
        assert "imported 0 evaluations; 3 were there already" in capsys.readouterr().out
    for evaluations in copies:
        for one, other in zip(before, evaluations, strict=True):
            assert (one.x, one.reason, one.seconds) == (other.x, other.reason, other.seconds)
            assert one.same_outcome(other)


def test_what_went_well_elsewhere_is_never_a_failure_here(tmp_path, capsys):
    def journal(name, top, *answer):
        spec, path = tmp_path / f"{name}.toml", tmp_path / f"{name}.jsonl"
        spec.write_text(f"{top}\nseed = 1\n{TWO_REALS}")
        assert main(["ask", str(path), "--spec", str(spec)]) == 0
        if answer:
            assert main(["tell", str(path), "0", *answer]) == 0
        return path

    number, mass = journal("number", "", "5"), journal("mass", "objective = 'mass'", "mass=5")
    assert main(["import", str(journal("mass_too", "objective = 'mass'")), str(number)]) == 0
    assert main(["import", str(journal("number_too", "")), str(mass)]) == 0
    for name in ("mass_too", "number_too"):
        assert [y for _, y in points(tmp_path / f"{name}.jsonl")] == [5.0]
    limited = journal("limited", "objective = 'mass'\nconstraints = ['stress <= 250']")
    for source in (number, mass):
        assert main(["import", str(limited), str(source)]) == 2
        assert (
            f"run 0 of '{source}': the output 'stress' is missing; --skip leaves such rows out"
            in said(capsys)[-1]
        )
    assert points(limited) == []


def test_a_table_that_a_spreadsheet_has_rounded_is_known(spec, tmp_path, capsys):
    journal, table = tmp_path / "run.jsonl", tmp_path / "runs.csv"
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "3"]) == 0
    for i in range(3):
        assert main(["tell", str(journal), str(i), repr((i + 1) / 7)]) == 0
    assert main(["status", str(journal), "--csv", str(table)]) == 0
    rounded = re.sub(r"[0-9]+\.[0-9]+", lambda match: f"{float(match[0]):.15g}", table.read_text())
    assert rounded != table.read_text()
    table.write_text(rounded + ",5.5,3,steel,2.5,0.25,,,\n")
    capsys.readouterr()
    assert main(["import", str(journal), str(table)]) == 0
    assert "imported 1 evaluations; 3 were there already" in capsys.readouterr().out
    assert [y for _, y in points(journal)] == [1 / 7, 2 / 7, 3 / 7, 0.25]


def test_a_journal_of_another_spec_is_refused_with_the_command_that_keeps_its_values(tmp_path, capsys):
    folder = tmp_path / "a folder"
    folder.mkdir()
    spec = write_spec(folder, BOWL, budget=3)
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    old = folder / "spec.tcgp" / "journal.jsonl"
    spec.write_text(spec.read_text().replace("seed = 1", "seed = 2"))
    capsys.readouterr()
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 2
    advice = capsys.readouterr().err.strip().partition("into a new journal with ")[2]
    new = folder / "new.jsonl"
    _, *arguments = [str(new) if word == "NEW.jsonl" else word for word in shlex.split(advice)]
    assert main(arguments) == 0
    assert points(new) == points(old)


def test_the_advice_names_a_journal_that_is_not_there_yet(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = write_spec(tmp_path, BOWL, budget=2)
    assert main(["minimize", "spec.toml", "--quiet", "--no-plots", "--journal", "NEW.jsonl"]) == 0
    spec.write_text(spec.read_text().replace("seed = 1", "seed = 2"))
    assert main(["minimize", "spec.toml", "--quiet", "--no-plots", "--journal", "NEW.jsonl"]) == 2
    advice = said(capsys)[-1].partition("into a new journal with tcgp ")[2]
    assert main(shlex.split(advice)) == 0
    assert points(tmp_path / "NEW-2.jsonl") == points(tmp_path / "NEW.jsonl")


def test_parameters_that_a_journal_has_and_the_campaign_has_not_are_named(tmp_path, capsys):
    path, spec = tmp_path / "old.jsonl", tmp_path / "spec.toml"
    with tcgp.Optimizer({"x": (0.0, 1.0), "k": tcgp.Categorical(["a", "b"]), "y": 0.5}, journal=path) as old:
        old.tell([[0.25, "a", 0.5], [0.75, "b", 0.5]], [1.0, 2.0])
        old.ask()
    spec.write_text(TWO_REALS)
    assert main(["import", str(tmp_path / "run.jsonl"), "--spec", str(spec), str(path)]) == 0
    left_out, pending = said(capsys)
    assert left_out.endswith("parameters of the journal that the campaign does not have, left out: k")
    assert f"points that are pending in '{path}' and not imported: 1; import it again once" in pending


def test_an_output_that_has_another_name_now_comes_along(tmp_path, capsys):
    path, spec, journal = tmp_path / "old.jsonl", tmp_path / "spec.toml", str(tmp_path / "run.jsonl")
    with tcgp.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, journal=path, objective="mass") as old:
        old.tell([[0.25, 0.5], [0.5, 0.5]], [{"mass": 1.0, "price": 7.0}, None], reason="diverged")
    spec.write_text("objective = 'weight'\nconstraints = ['price <= 8']" + TWO_REALS)
    assert main(["import", journal, "--spec", str(spec), str(path)]) == 2
    words = "has no output 'weight'; say with --objective which of its outputs has the values: mass, price"
    assert words in said(capsys)[-1]
    assert main(["import", journal, str(path), "--objective", "mass"]) == 0
    done, failed = read_campaign(journal).history.evaluations
    assert (done.y, done.outputs) == (1.0, {"weight": 1.0, "price": 7.0})
    assert (failed.y, failed.reason) == (None, "diverged")
