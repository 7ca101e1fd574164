"""A typo in a spec burns no budget: the search stops, and the runs that were made are read again."""

from __future__ import annotations

import json
import shutil

import pytest
from commands import TWO_REALS, events, said, write_spec

from tcgp.cli import main

DESIGN = """
import json, os, sys
x, y = map(float, sys.argv[1:])
open('../starts', 'a').write(os.path.basename(os.getcwd()) + ' ')
print(json.dumps(dict(design=dict(cost=(x - 0.3) ** 2 + (y - 0.6) ** 2, mass=x + y))))
"""


def spec_with(folder, key, code=DESIGN, **options):
    return write_spec(folder, code, tables=TWO_REALS + f"[objective]\nkey = '{key}'\n", **options)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spec.tcgp"


def starts(folder):
    return sorted((folder / "runs" / "starts").read_text().split())


def told(folder):
    """What holds now at each point: corrections take the place of what was told."""
    values = {event["id"]: event["y"] for event in events(folder / "journal.jsonl", "tell")}
    return values | {event["id"]: event["y"] for event in events(folder / "journal.jsonl", "correct")}


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_wrong_key_stops_after_three_runs_and_costs_none(workers, tmp_path, folder, capsys):
    path = spec_with(tmp_path, "design.costs", budget=12)
    assert main(["minimize", str(path), "--no-plots", "--workers", workers]) == 1
    shown = capsys.readouterr()
    n = len(events(folder / "journal.jsonl", "tell"))
    assert 3 <= n <= 5  # those that three workers had under way are waited for
    assert "the first 3 evaluations ended normally, without a value" in shown.out
    assert "has no key 'design.costs'; did you mean 'design.cost'?" in shown.out
    assert "standard output of run" in shown.err
    assert 'ends with the line \'{"design": {"cost": ' in shown.err
    assert "repeat the command: it reads the value from the finished runs" in shown.err

    spec_with(tmp_path, "design.cost", budget=12)
    assert main(["minimize", str(path), "--no-plots", "--workers", workers]) == 0
    shown = capsys.readouterr()
    assert f"{n} runs were read again, {n} failures have a value now" in shown.err
    assert "12: 12 succeeded, 0 failed" in shown.out
    assert starts(folder) == [f"{i:04d}" for i in range(12)]
    for number, value in told(folder).items():
        outcome = json.loads((folder / "runs" / f"{number:04d}" / "stdout.txt").read_text())
        assert value == outcome["design"]["cost"]


def test_a_second_typo_is_refused_before_anything_is_run(tmp_path, folder, capsys):
    path = spec_with(tmp_path, "design.costs")
    assert main(["minimize", str(path), "--no-plots"]) == 1
    before = (folder / "journal.jsonl").read_bytes()
    spec_with(tmp_path, "desing.cost")
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 2
    assert "none of the 3 runs has one there: " in said(capsys)[-1]
    assert (folder / "journal.jsonl").read_bytes() == before
    assert starts(folder) == ["0000", "0001", "0002"]


def test_who_insists_goes_on(tmp_path, folder):
    """The same spec again stops after one run more; max_failures says that the points are at fault."""
    code = "import sys; x, y = map(float, sys.argv[1:]); print(x if len(sys.argv[1]) < 3 else 'no idea')"
    path = write_spec(tmp_path, code, budget=5)
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert len(events(folder / "journal.jsonl", "tell")) == 3
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert len(events(folder / "journal.jsonl", "tell")) == 4
    write_spec(tmp_path, code, budget=5, top="max_failures = 5")
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert len(events(folder / "journal.jsonl", "tell")) == 5


def test_another_objective_gives_other_values_and_the_journal_keeps_both(tmp_path, folder, capsys):
    path = spec_with(tmp_path, "design.cost", budget=5)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    costs = told(folder)
    spec_with(tmp_path, "design.mass", budget=6)
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    shown = capsys.readouterr()
    assert "5 runs were read again, 5 values are different; the journal keeps both" in shown.err
    assert starts(folder) == [f"{i:04d}" for i in range(6)]
    first = {event["id"]: event["y"] for event in events(folder / "journal.jsonl", "tell")}
    assert {number: first[number] for number in costs} == costs
    points = {event["id"]: event["x"] for event in events(folder / "journal.jsonl", "ask")}
    assert told(folder) == {number: x + y for number, (x, y) in points.items()}
    assert f"best value   {min(told(folder).values())!r}" in shown.out
    assert "design.cost" in (folder / "runs" / "spec-1.toml").read_text()
    # Once is enough.
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "read again" not in capsys.readouterr().err


def test_runs_that_crashed_are_not_read_again(tmp_path, folder, capsys):
    code = DESIGN + "if os.path.basename(os.getcwd()) in ('0001', '0003'): sys.exit(4)"
    path = spec_with(tmp_path, "design.cost", code, budget=5)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    spec_with(tmp_path, "design.mass", code, budget=5)
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "3 runs were read again" in capsys.readouterr().err
    assert [number for number, value in told(folder).items() if value is None] == [1, 3]


def test_outputs_are_read_again_too(tmp_path, folder, capsys):
    def spec(stress):
        places = f"cost = {{key = 'design.cost'}}\nstress = {{key = '{stress}'}}\n"
        top = 'objective = "cost"\nconstraints = ["stress <= 1"]'
        return write_spec(tmp_path, DESIGN, budget=4, top=top, tables=f"{TWO_REALS}[outputs]\n{places}")

    path = spec("design.stress")
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert len(told(folder)) == 3
    spec("design.mass")
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "3 failures have a value now" in capsys.readouterr().err
    (*_, last) = events(folder / "journal.jsonl", "correct")
    x, y = last["x"]
    assert last["outputs"] == {"cost": (x - 0.3) ** 2 + (y - 0.6) ** 2, "stress": x + y}


# ---- one run to see ----


def test_a_trial_shows_what_is_read_and_is_the_first_run_of_the_campaign(tmp_path, folder, capsys):
    path = spec_with(tmp_path, "design.cost", budget=4)
    assert main(["minimize", str(path), "--try"]) == 0
    shown = capsys.readouterr().out
    (event,) = events(folder / "journal.jsonl", "tell")
    assert (
        f"value        {event['y']!r}   (the key 'design.cost' of the JSON object in standard output)"
        in shown
    )
    assert '"design": {"cost": ' in shown  # what the program printed
    assert "exit code 0, after" in shown
    assert "journaled    as evaluation 1 of 4" in shown
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert starts(folder) == ["0000", "0001", "0002", "0003"]


def test_a_trial_without_a_value_is_read_again_once_the_spec_is_right(tmp_path, folder, capsys):
    path = spec_with(tmp_path, "design.costs", budget=4)
    assert main(["minimize", str(path), "--try"]) == 1
    shown = capsys.readouterr().out
    assert "value        none: the JSON in standard output has no key 'design.costs'" in shown
    assert "read again by the next start, and not repeated" in shown
    assert events(folder / "journal.jsonl", "tell") == []
    spec_with(tmp_path, "design.cost", budget=4)
    assert main(["minimize", str(path), "--try"]) == 0
    assert starts(folder) == ["0000"]
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert starts(folder) == ["0000", "0001", "0002", "0003"]
    assert None not in told(folder).values()


def test_a_trial_whose_value_is_still_not_found_is_not_made_again(tmp_path, folder, capsys):
    for key in ("design.costs", "design.price"):
        path = spec_with(tmp_path, key, budget=4)
        assert main(["minimize", str(path), "--try"]) == 1
        assert f"has no key '{key}'" in (shown := capsys.readouterr().out)
    assert starts(folder) == ["0000"]
    assert shown.rstrip().endswith(f"unless you delete {folder / 'runs' / '0000'}")
    shutil.rmtree(folder / "runs" / "0000")
    assert main(["minimize", str(path), "--try"]) == 1
    assert starts(folder) == ["0000", "0000"]


def test_a_trial_that_crashed_is_made_again(tmp_path, folder, capsys):
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    program.chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text('command = ["./simulate", "{x}", "{y}"]\nbudget = 4\nseed = 1' + TWO_REALS)
    for _ in range(2):
        assert main(["minimize", str(path), "--try"]) == 1
    assert "stderr       broken" in capsys.readouterr().out
    program.write_text("#!/bin/sh\necho $1\n")
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert sorted(told(folder)) == [0, 1, 2, 3]
    assert None not in told(folder).values()


def test_a_trial_has_a_place_in_the_budget(tmp_path, capsys):
    path = spec_with(tmp_path, "design.cost", budget=1)
    assert main(["minimize", str(path), "--try"]) == 0
    assert main(["minimize", str(path), "--try"]) == 2
    assert "the budget of 1 runs is spent" in capsys.readouterr().err


# ---- too many failures ----


@pytest.mark.parametrize(("limit", "n"), [("0", 1), ("2", 3), ("0.25", 10)])
def test_failures_stop_the_search_at_a_count_or_a_share(limit, n, tmp_path, folder, capsys):
    code = "import os, sys; sys.exit(0 if print(1.0) or os.getcwd()[-1] in '5' else 4)"
    path = write_spec(tmp_path, code, budget=20, top=f"max_failures = {limit}")
    assert main(["minimize", str(path), "--no-plots"]) == 1
    shown = capsys.readouterr().out
    assert len(told(folder)) == n
    assert f"more evaluations failed than max_failures = {limit} allows" in shown
    path = write_spec(tmp_path, code, budget=n + 1, top="max_failures = 30")
    main(["minimize", str(path), "--no-plots"])
    assert len(told(folder)) == n + 1


@pytest.mark.parametrize("limit", ["-1", "1.5", "true", '"half"'])
def test_a_limit_on_failures_that_is_none_is_refused(limit, tmp_path, capsys):
    assert main(["minimize", str(write_spec(tmp_path, DESIGN, top=f"max_failures = {limit}"))]) == 2
    (line,) = said(capsys)
    assert "max_failures must be a whole number >= 0, a share between 0 and 1, or None, got" in line


# ---- what is said ----


def test_failures_are_told_with_their_number_and_the_names_of_their_parameters(tmp_path, folder, capsys):
    path = write_spec(tmp_path, "import sys; sys.exit('boom')", budget=2)
    assert main(["minimize", str(path), "--no-plots"]) == 1
    x, y = events(folder / "journal.jsonl", "ask")[1]["x"]
    assert f"run 1 at x = {x!r}, y = {y!r} failed: exit code 1: boom" in capsys.readouterr().err


def test_a_dry_run_shows_the_objective(tmp_path, capsys):
    assert main(["minimize", str(spec_with(tmp_path, "design.cost")), "--dry-run"]) == 0
    line = "objective   minimize the key 'design.cost' of the JSON object in standard output\n"
    assert line in capsys.readouterr().out


def test_the_time_left_is_told_right_after_a_resume(tmp_path, capsys):
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    path = spec_with(tmp_path, "design.cost", budget=5)
    assert main(["minimize", str(path), "--try"]) == 0
    lines = journal.read_text().splitlines()
    last = json.loads(lines[-1]) | {"seconds": 3600.0}
    journal.write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots", "--workers", "2"]) == 0
    assert "1/5" in (first := next(line for line in said(capsys) if line.startswith("[")))
    assert "about 2:00:00 left" in first  # four runs of an hour, two at a time
