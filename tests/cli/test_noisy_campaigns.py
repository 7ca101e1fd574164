"""Programs that scatter: a spec with noise, repeats by hand, and what the command says of the answer."""

from __future__ import annotations

import json

import numpy as np
from commands import TWO_REALS, events, said, write_spec

from tcgp.cli import main

# A Monte Carlo program: its seed is the number of the run, so that the test is the same every time.
MONTE_CARLO = (
    "import os, random, sys; x, y = map(float, sys.argv[1:]); "
    "noise = random.Random(os.path.basename(os.getcwd())).gauss(0.0, 0.05); "
    "print((x - 0.3) ** 2 + (y - 0.6) ** 2 + noise)"
)


def facts(journal, capsys):
    capsys.readouterr()
    assert main(["status", str(journal), "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_campaign_with_noise_confirms_its_answer_and_says_how_well_it_is_known(tmp_path, capsys):
    spec = write_spec(tmp_path, MONTE_CARLO, budget=16, top="noise = true\nconfirm = 3")
    assert main(["minimize", str(spec), "--no-plots"]) == 0
    shown = capsys.readouterr().out
    assert all(label in shown for label in ("predicted", "interval", "noise", "observed"))
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert [event["source"] for event in events(journal, "ask")[-3:]] == ["repeat"] * 3
    predicted = facts(journal, capsys)["predicted"]
    low, high = predicted["interval"]
    assert low < predicted["value"] < high
    assert 0.02 < predicted["noise"] < 0.1
    assert main(["status", str(journal)]) == 0
    assert "with a probability of 0.9" in capsys.readouterr().out


def test_repeats_by_hand_are_kept_one_by_one_and_told_once(tmp_path, capsys):
    spec, journal = tmp_path / "spec.toml", tmp_path / "run.jsonl"
    spec.write_text("seed = 3\nn_initial = 3\nnoise = true" + TWO_REALS)
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "3"]) == 0
    for number, value in enumerate((1.0, 1.2, 1.4)):
        assert main(["tell", str(journal), str(number), str(value)]) == 0
    assert main(["ask", str(journal)]) == 0  # the first repeat: how much do values scatter?
    assert events(journal, "ask")[3]["x"] == events(journal, "ask")[0]["x"]
    for _ in range(2):  # the script that tells it is started twice
        assert main(["tell", str(journal), "3", "1.1", "--sd", "0.05"]) == 0
    told = events(journal, "tell")
    assert [event["y"] for event in told] == [1.0, 1.2, 1.4, 1.1]
    assert told[3]["sd"] == 0.05
    said(capsys)
    assert main(["tell", str(journal), "3", "1.3"]) == 2
    assert "proposal 3 gave 1.1 and now 1.3" in said(capsys)[0]
    assert main(["tell", str(journal), "3", "1.3", "--correct"]) == 0
    assert facts(journal, capsys)["corrections"][0]["after"] == 1.3
    assert main(["ask", str(journal), "--confirm"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == 4


def test_a_table_with_repeats_is_imported_once_however_often_it_is_given(tmp_path, capsys):
    spec, journal, table = (tmp_path / name for name in ("spec.toml", "run.jsonl", "old.csv"))
    spec.write_text("noise = 0.1" + TWO_REALS)
    rows = [(0.25, 0.5, 1.0), (0.25, 0.5, 1.5), (0.25, 0.5, 1.0), (0.75, 0.5, 2.0)]
    np.savetxt(table, rows, delimiter=",", header="x,y,value", comments="")
    for _ in range(2):
        assert main(["import", str(journal), str(table), "--spec", str(spec)]) == 0
    assert [event["y"] for event in events(journal, "tell")] == [1.0, 1.5, 1.0, 2.0]
    assert facts(journal, capsys)["predicted"]["x"] == {"x": 0.25, "y": 0.5}
