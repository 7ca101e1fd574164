"""``tcgp tell --correct``: a typo corrected from the command line, and where it shows."""

from __future__ import annotations

import json

import pytest
from commands import TWO_REALS, events, said

from tcgp.cli import main


@pytest.fixture
def journal(tmp_path):
    """A campaign whose run 1 gave 12.7, told as 1.27."""
    spec, path = tmp_path / "spec.toml", tmp_path / "run.jsonl"
    spec.write_text("seed = 3\nn_initial = 4" + TWO_REALS)
    assert main(["ask", str(path), "--spec", str(spec), "-n", "3"]) == 0
    for number, value in enumerate(["10.5", "1.27", "11.0"]):
        assert main(["tell", str(path), str(number), value]) == 0
    return path


def test_a_typo_is_corrected_and_shown_as_corrected(journal, capsys):
    capsys.readouterr()
    assert main(["tell", str(journal), "1", "--correct", "12.7"]) == 0
    assert capsys.readouterr().out == "corrected, it was 1.27; the best of 3 is 10.5, 0 pending\n"
    assert main(["status", str(journal)]) == 0
    assert "corrected    id 1 from 1.27 to 12.7\nbest value   10.5   (id 0)" in capsys.readouterr().out
    assert [e["y"] for e in events(journal, "tell")] == [10.5, 1.27, 11.0]
    assert [(e["id"], e["y"]) for e in events(journal, "correct")] == [(1, 12.7)]
    assert main(["status", str(journal), "--json"]) == 0
    (correction,) = json.loads(capsys.readouterr().out)["corrections"]
    assert (correction["id"], correction["before"], correction["after"]) == (1, 1.27, 12.7)


def test_the_best_says_that_it_was_corrected(journal, capsys):
    assert main(["tell", str(journal), "0", "0.5", "--correct"]) == 0
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    assert "best value   0.5   (id 0; corrected, it was 10.5)" in capsys.readouterr().out


def test_a_value_becomes_a_failure_and_back(journal, capsys):
    assert main(["tell", str(journal), "1", "--correct", "--failed", "wrong mesh"]) == 0
    assert main(["tell", str(journal), "--correct", "1", "-3.5"]) == 0
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    shown = capsys.readouterr().out
    assert "id 1 from 1.27 to a failure" in shown
    assert "id 1 from a failure to -3.5" in shown
    assert "best value   -3.5" in shown


def test_a_reason_alone_is_corrected(journal, capsys):
    assert main(["ask", str(journal)]) == 0
    assert main(["tell", str(journal), "3", "--failed", "licence"]) == 0
    assert main(["tell", str(journal), "3", "--correct", "--failed", "disk full", "--took", "2h"]) == 0
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    shown = capsys.readouterr().out
    assert "1 x disk full   (run 3)" in shown
    assert "corrected    id 3 in its reason or time" in shown
    assert events(journal, "correct")[0]["seconds"] == 7200.0


def test_the_refusals_name_the_option(journal, capsys):
    capsys.readouterr()
    assert main(["tell", str(journal), "1", "12.7"]) == 2
    assert "or correct it with --correct" in said(capsys)[-1]
    assert main(["tell", str(journal), "--correct", "--x", "[0.25, 0.5]", "1.0"]) == 2
    assert "no value to correct: tell it without --correct" in said(capsys)[-1]


def test_the_report_has_both(journal, tmp_path):
    from tcgp import Optimizer
    from tcgp.report import State, report_data

    assert main(["tell", str(journal), "1", "--correct", "12.7"]) == 0
    data = report_data(Optimizer.read(journal), State(running=False, text="snapshot"))
    assert data["evaluations"]["y"] == [10.5, 12.7, 11.0]
    assert data["evaluations"]["corrected"] == [None, "1.27", None]
    assert main(["report", str(journal), "--output", str(tmp_path / "run.html")]) == 0
    assert '"corrected":[null,"1.27",null]' in (tmp_path / "run.html").read_text()
