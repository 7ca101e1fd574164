"""``tcgp diagnose``: tables and journals of others."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from commands import (
    BOWL,
    said,
    write_spec,
)

import tcgp
from tcgp.cli import main


@pytest.fixture
def table(tmp_path):
    """Forty evaluations of Goldstein-Price, and two that failed."""
    problem = tcgp.problems.get("goldstein-price")
    X = np.random.default_rng(1).uniform(-2.0, 2.0, (40, 2))
    rows = [f"{a!r},{b!r},{y!r}" for (a, b), y in zip(X.tolist(), problem.fun(X).tolist(), strict=True)]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["a,b,cost", *rows, "0.5,0.5,", "0.6,0.5,nan"]) + "\n")
    return path


def test_diagnose_says_what_the_library_says_and_draws_it(table, tmp_path, capsys):
    from tcgp.scoring import diagnose

    X, y = np.split(np.loadtxt(table, delimiter=",", skiprows=1, max_rows=40), [2], axis=1)
    model = tcgp.fit_model((X + 2.0) / 4.0, y.ravel(), "tcgp", bounds=[(0, 1), (0, 1)], delta=0.25)
    picture = tmp_path / "calibration.png"
    arguments = ["--delta", "0.25", "--bounds", "a=-2:2", "b=-2:2", "--plot", str(picture)]
    assert main(["diagnose", str(table), *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(str(diagnose(model)))
    assert "left out: 2" in captured.err
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_diagnose_takes_choices_other_columns_and_the_range_of_the_data(table, capsys):
    lines = table.read_text().splitlines()
    kinds = ["kind", *("new" if i % 3 else "old" for i in range(len(lines) - 1))]
    notes = ["note", *(f"run on day {i}" for i in range(len(lines) - 1))]
    table.write_text("\n".join(f"{k},{line},{n}" for k, line, n in zip(kinds, lines, notes, strict=True)))
    assert main(["diagnose", str(table), "--objective", "cost", "--ignore", "note", "--method", "gp"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Below t = ")
    assert "the range of the data for a, b" in captured.err


def test_diagnose_reads_a_journal(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=8)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert main(["diagnose", str(tmp_path / "spec.tcgp" / "journal.jsonl")]) == 0
    assert "of 8 points" in capsys.readouterr().out


def test_the_table_of_a_campaign_can_be_diagnosed(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=8)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    csv = str(tmp_path / "runs.csv")
    assert main(["status", str(tmp_path / "spec.tcgp" / "journal.jsonl"), "--csv", csv]) == 0
    assert main(["diagnose", csv]) == 0
    assert "of 8 points" in capsys.readouterr().out


def test_a_table_whose_parameters_have_the_names_of_other_columns_can_be_diagnosed(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    rows = [f"{i},{i / 10},{(i - 3) ** 2},{i % 3},True,,{7 - i}" for i in range(9)]
    path.write_text("\n".join(["id_,seconds,id,value,feasible,reason,seconds_", *rows]) + "\n")
    assert main(["diagnose", str(path)]) == 0
    captured = capsys.readouterr()
    assert "the box is the range of the data for seconds, id;" in captured.err


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("", [], "is empty"),
        ("1,2\n3,4\n5,6\n7,8\n", [], "has no header"),
        ("a\n1\n2\n3\n", [], "one column only"),
        ("a|y\n1|2\n", [], "one column only"),
        ("a,a,y\n1,1,1\n", [], "column 2 of"),
        ("a,,y\n1,1,1\n", [], "column 2 of"),
        ("a,y\n1,2\n3,4,5\n", [], "line 3 of"),
        ("a,y\n1,2\nx,4\n3,5\n", [], "line 3, column 'a' of"),
        ("a,y\n1,2\n\n2,=1+1\n3,5\n", [], "line 4, column 'y' of"),
        ("a,y\n1,2\nnan,4\n3,5\n", [], "line 3, column 'a' of"),
        ("a,y\n1,2\n2,4\n", [], "at least 3 runs"),
        ("a,y\n1,2\n1,2\n1,2\n", [], "nothing to compare"),
        (
            "a,y\n1,2\n2,\n3,4\n2,5\n1,2.5\n",
            [],
            "lines 2 and 6 of 'runs.csv' have the same parameters and the values 2.0",
        ),
        ("a,y\n1,2\n2,4\n3,5\n", ["--objective", "cost"], "has no column 'cost'; there are a, y"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--ignore", "a"], "needs a column for each parameter"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0"], "--bounds takes NAME=LOW:HIGH"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "b=0:9"], "no such parameter"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:2"], "the data range from 1 to 3"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:4", "--delta", "7"], "delta must be a number in"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:4", "--plot", "no/such/x.png"], "cannot be written"),
        ("n,a,y\n" + "".join(f"t{i},{i},{i % 7}\n" for i in range(20)), [], "20 different texts"),
    ],
)
def test_a_bad_table_is_refused_with_line_and_column(text, arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(text)
    assert main(["diagnose", "runs.csv", *arguments]) == 2
    line = said(capsys)[-1]
    assert line.startswith("tcgp: error: ")
    assert words in line


def test_the_report_and_the_diagnosis_of_a_journal_agree(tmp_path, capsys):
    from tcgp.report import report_from_journal

    journal, page = tmp_path / "run.jsonl", tmp_path / "run.html"
    space = {"a": (0.0, 1.0), "b": tcgp.Real(0.01, 1.0, log=True), "c": (0.0, 1.0)}

    def fun(p):
        return np.sin(6.0 * p["a"]) + p["b"]

    tcgp.minimize(fun, space, n_evals=24, n_initial=20, rng=0, journal=journal)
    assert main(["diagnose", str(journal)]) == 0
    said = capsys.readouterr().out
    report_from_journal(journal, page)
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)[1])
    verdict = said.split("Importance")[0].strip()
    assert data["calibration"]["details"].strip() == verdict
    totals = dict(zip((p["name"] for p in data["parameters"]), data["importance"]["totals"][0], strict=True))
    shown = {line.split()[0]: float(line.split()[1]) for line in said.splitlines()[-3:]}
    assert shown == pytest.approx(totals, abs=0.006)
    assert totals["a"] > totals["c"]
    assert main(["diagnose", str(journal), "--method", "regp"]) == 0
    assert "the report judges the model that the run uses" in capsys.readouterr().out


def test_parameters_are_ranked_for_the_objective_or_the_limits_and_any_output_is_drawn(tmp_path, capsys):
    """The objective is the width, nearly; the limit is on the depth; "both" is the larger of the two."""

    def simulate(p):
        return {"mass": p["width"] + 0.01 * p["depth"], "stress": 1.0 / p["depth"] + 0.05 * p["width"]}

    journal, picture = tmp_path / "run.jsonl", tmp_path / "stress.png"
    space = {"idle": (0.0, 1.0), "depth": (0.5, 2.0), "width": (0.1, 2.0)}
    goals = {"objective": "mass", "constraints": ["stress <= 1"]}
    tcgp.minimize(simulate, space, n_evals=20, n_initial=20, rng=0, journal=journal, **goals)
    tables = {}
    for rank in ("objective", "limits", "both"):
        assert main(["diagnose", str(journal), "--rank", rank]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        start = next(i for i, line in enumerate(lines) if line[:1] == ["parameter"])
        assert lines[start] == ["parameter", "mass", "stress", "all", "limits"]
        tables[rank] = {name: list(map(float, totals)) for name, *totals in lines[start + 1 :]}
    assert next(iter(tables["objective"])) == "width"
    assert next(iter(tables["limits"])) == "depth"
    largest = {name: max(totals[0], totals[2]) for name, totals in tables["both"].items()}
    assert list(largest.values()) == sorted(largest.values(), reverse=True)
    assert tables["objective"] == tables["limits"] == tables["both"]  # but for their order
    assert main(["diagnose", str(journal), "--plot", str(picture), "--output", "stress"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["diagnose", str(journal), "--plot", str(picture), "--output", "stres"]) == 2
    assert "output must be one of ['mass', 'stress'], got 'stres'" in capsys.readouterr().err
    assert main(["diagnose", str(journal), "--output", "stress"]) == 2
    assert "--output needs --plot" in capsys.readouterr().err


def test_bounds_may_be_logarithmic(tmp_path, capsys):
    rate = np.geomspace(1e-3, 1e3, 20)
    path = tmp_path / "runs.csv"
    path.write_text(
        "rate;other;y\n" + "".join(f"{r};{(7 * i) % 20};{np.log(r)}\n" for i, r in enumerate(rate))
    )
    assert main(["diagnose", str(path), "--bounds", "rate=1e-3:1e3:log", "--method", "gp"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rate")]
    assert float(line.split()[1]) > 0.98  # on a linear scale half of the data would be one point
    assert main(["diagnose", str(path), "--bounds", "rate=-1:1e3:log"]) == 2
    assert "--bounds rate: Real with log=True needs low > 0" in capsys.readouterr().err
    assert main(["diagnose", str(path), "--bounds", "rate=1:1e3:lin"]) == 2
