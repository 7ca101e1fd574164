"""What was read of runs: read again after a typo, but never over what somebody has corrected."""

from __future__ import annotations

import json
import shutil

import pytest
from commands import events, write_spec

from tcgp.cli import main

ONE_REAL = "\n[parameters]\nx = {low = 0.0, high = 1.0}\n"
JSON = "import json, sys; print(json.dumps(dict(cost=float(sys.argv[1]))))"


def spec_with(folder, place, code=JSON, budget=5):
    tables = f"{ONE_REAL}[objective]\n{place}\n"
    return write_spec(folder, code, budget=budget, tables=tables, arguments=("{x}",))


def minimize(path):
    return main(["minimize", str(path), "--quiet", "--no-plots"])


def test_a_typo_after_an_import_is_put_right(tmp_path, capsys):
    path = spec_with(tmp_path, "key = 'kost'")
    (tmp_path / "old.csv").write_text("x,c\n0.5,0.5\n")
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert main(["import", str(journal), "--spec", str(path), str(tmp_path / "old.csv")]) == 0
    assert minimize(path) == 1  # with a best value, the imported one, but nothing can be read
    spec_with(tmp_path, "key = 'cost'")
    assert minimize(path) == 0
    assert "3 runs were read again, 3 failures have a value now" in capsys.readouterr().err
    assert len(events(journal, "correct")) == 3


def test_what_cannot_be_read_stops_a_run_that_was_killed_before(tmp_path):
    path = spec_with(tmp_path, "key = 'kost'", budget=8)
    assert minimize(path) == 1
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if '"tell"' in line)
    journal.write_text("\n".join(lines[: first + 1]) + "\n")  # as if it had been killed after the first run
    assert minimize(path) == 1
    assert len(events(journal, "tell")) == 3


def test_corrections_by_hand_stay(tmp_path, capsys):
    code = "import sys; print('drag =', sys.argv[1])"
    path = spec_with(tmp_path, r"pattern = 'drag = (\S+)'", code, budget=3)
    assert minimize(path) == 0
    journal = str(tmp_path / "spec.tcgp" / "journal.jsonl")
    assert main(["tell", journal, "1", "--correct", "--failed", "the mesh was broken"]) == 0
    assert main(["tell", journal, "2", "77.5", "--correct"]) == 0
    spec_with(tmp_path, r"pattern = 'drag *= (\S+)'", code, budget=3)
    assert minimize(path) == 0
    shown = capsys.readouterr().err
    assert "2 values are kept, because they were reported or corrected by hand" in shown
    assert len(events(tmp_path / "spec.tcgp" / "journal.jsonl", "correct")) == 2


def test_values_whose_runs_were_deleted_are_not_read_again_in_silence(tmp_path, capsys):
    code = "import sys; print('drag =', sys.argv[1], 'lift = 7')"
    path = spec_with(tmp_path, r"pattern = 'drag = (\S+)'", code, budget=3)
    assert minimize(path) == 0
    shutil.rmtree(tmp_path / "spec.tcgp" / "runs" / "0001")
    spec_with(tmp_path, r"pattern = 'lift = (\S+)'", code, budget=3)
    assert minimize(path) == 0
    shown = capsys.readouterr().err
    assert "2 runs were read again, 2 values are different" in shown
    assert "1 values are kept, because their runs are not here" in shown
    for name in ("0000", "0002"):
        shutil.rmtree(tmp_path / "spec.tcgp" / "runs" / name)
    spec_with(tmp_path, r"pattern = 'drag = (\S+)'", code, budget=3)
    assert minimize(path) == 0
    assert "3 values are kept, because their runs are not here" in capsys.readouterr().err


def test_a_reading_that_was_killed_half_way_is_not_taken_for_a_hand(tmp_path, capsys):
    path = spec_with(tmp_path, "key = 'kost'")
    assert minimize(path) == 1
    spec_with(tmp_path, "key = 'cost'")
    kept = (tmp_path / "spec.tcgp" / "runs" / "spec.toml").read_text()
    assert minimize(path) == 0
    # As if it had been killed after its first correction.
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if '"correct"' in line)
    journal.write_text("\n".join(lines[: first + 1]) + "\n")
    (tmp_path / "spec.tcgp" / "runs" / "spec.toml").write_text(kept)
    capsys.readouterr()
    assert minimize(path) == 0
    shown = capsys.readouterr().err
    assert "3 runs were read again, 2 failures have a value now" in shown
    assert "by hand" not in shown


def test_journals_in_one_directory_are_read_again_each_by_its_own_spec(tmp_path, capsys):
    path, first, second = (
        spec_with(tmp_path, "key = 'kost'", budget=3),
        tmp_path / "a.jsonl",
        tmp_path / "b.jsonl",
    )
    assert main(["minimize", str(path), "--journal", str(first), "--quiet", "--no-plots"]) == 1
    spec_with(tmp_path, "key = 'cost'", budget=3)
    assert main(["minimize", str(path), "--journal", str(second), "--quiet", "--no-plots"]) == 0
    assert main(["minimize", str(path), "--journal", str(first), "--quiet", "--no-plots"]) == 0
    assert "3 runs were read again, 3 failures have a value now" in capsys.readouterr().err
    assert len(events(first, "correct")) == 3


@pytest.mark.parametrize("damage", [b"\0\0", b"command = [", b"[objective]\nfile = '../drag'"])
def test_a_damaged_copy_of_the_spec_hinders_nothing(damage, tmp_path):
    path = spec_with(tmp_path, "key = 'cost'", budget=2)
    assert minimize(path) == 0
    copy = tmp_path / "spec.tcgp" / "runs" / "spec.toml"
    copy.write_bytes(damage)
    assert main(["minimize", str(path), "--quiet", "--no-plots", "--budget", "3"]) == 0
    assert copy.read_text() == path.read_text()
    assert events(tmp_path / "spec.tcgp" / "journal.jsonl", "correct") == []


def test_a_journal_under_another_name_loses_no_value_that_is_not_found(tmp_path, capsys):
    path = spec_with(tmp_path, "key = 'cost'", budget=3)
    assert minimize(path) == 0
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    renamed = journal.rename(journal.with_name("renamed.jsonl"))
    capsys.readouterr()
    go_on = ["minimize", str(path), "--quiet", "--no-plots", "--journal", str(renamed)]
    spec_with(tmp_path, "key = 'costs'", budget=3)
    for _ in range(2):
        assert main(go_on) == 0
        assert (
            "3 values are kept, because they were not found in the new place: the JSON"
            in capsys.readouterr().err
        )
    spec_with(tmp_path, "key = 'cost'", budget=3)
    (tmp_path / "spec.tcgp" / "runs" / "0001" / "stdout.txt").unlink()
    assert main(go_on) == 0
    assert "1 values are kept, because they were not found" in capsys.readouterr().err
    assert main(go_on) == 0
    assert "not found" not in capsys.readouterr().err
    assert events(renamed, "correct") == []


def test_points_of_a_spec_are_asked_for_one_by_one(tmp_path, capsys):
    path = tmp_path / "spec.toml"
    path.write_text(f"x0 = [{{x = 0.1}}, {{x = 0.2}}, {{x = 0.3}}]\nseed = 1\n{ONE_REAL}")
    journal = str(tmp_path / "hand.jsonl")
    assert main(["ask", journal, "--spec", str(path)]) == 0
    assert main(["ask", journal]) == 0
    assert main(["ask", journal, "--spec", str(path)]) == 0
    points = [json.loads(line)["x"]["x"] for line in capsys.readouterr().out.splitlines()]
    assert points == [0.1, 0.2, 0.3]


def test_the_directory_named_is_that_of_the_run(tmp_path, capsys):
    path = spec_with(tmp_path, "key = 'cost'", budget=1)
    # What is left of an attempt that was killed.
    (tmp_path / "spec.tcgp" / "runs" / "0000").mkdir(parents=True)
    assert minimize(path) == 0
    assert "(run 0, " in (shown := capsys.readouterr().out)
    assert "runs/0000-2)" in shown
