"""``tcgp minimize`` as its users meet it: real programs, real files, real signals."""

from __future__ import annotations

import json

import pytest
from commands import (
    BOWL,
    TWO_REALS,
    Forked,
    command,
    events,
    is_alive,
    said,
    wait_until,
    write_spec,
)

from tcgp.cli import main


def test_minimize_finds_the_minimum_and_leaves_a_record(tmp_path):
    path = write_spec(tmp_path, BOWL, budget=16)
    process = command("minimize", path)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "16/16" in err
    folder = tmp_path / "spec.tcgp"
    tells = events(folder / "journal.jsonl", "tell")
    assert len(tells) == 16
    best = min(tells, key=lambda event: event["y"])
    # A bowl of curvature 2 on the unit square: 12 steps of a smooth model end well within 1e-2 of the minimum.
    assert best["x"] == pytest.approx([0.3, 0.6], abs=1e-2)
    assert f"best value   {best['y']!r}" in out
    assert "16 succeeded, 0 failed" in out
    for name in ("convergence.png", "run.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    for event in tells:
        run = folder / "runs" / f"{event['id']:04d}"
        assert json.loads((run / "parameters.json").read_text()) == dict(zip("xy", event["x"], strict=True))
        assert json.loads((run / "outcome.json").read_text())["value"] == event["y"]


UNRELIABLE = """
import sys, time
x, y = map(float, sys.argv[1:])
if x > 15 / 16:
    time.sleep(1000)
if y < 0.1:
    print("no idea"); sys.exit()
if x + y < 0.7:
    print("mesh is broken", file=sys.stderr); sys.exit(3)
print((x - 0.6) ** 2 + (y - 0.4) ** 2)
"""


def test_crashes_hangs_and_rubbish_are_recorded_and_the_minimum_is_found(tmp_path, capsys):
    # Some 30 % of the box fail, and the minimum is close to where they do. The initial design is chosen such
    # that each way to fail occurs; one of its points hangs. Others must not come close to the timeout.
    path = write_spec(
        tmp_path, UNRELIABLE, budget=30, top='timeout = 3\ninitial_design = "sobol"\nn_initial = 16'
    )
    assert main(["minimize", str(path), "--no-plots"]) == 0
    shown = capsys.readouterr().out
    tells = events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")
    assert len(tells) == 30
    reasons = {"no end after 3 s": 0, "exit code 3: mesh is broken": 0}
    reasons["the last line of standard output has no number: 'no idea'"] = 0
    for event in tells:
        x, y = event["x"]
        if x > 15 / 16:
            expected = "no end after 3 s"
        elif y < 0.1:
            expected = "the last line of standard output has no number: 'no idea'"
        elif x + y < 0.7:
            expected = "exit code 3: mesh is broken"
        else:
            assert event["y"] == (x - 0.6) ** 2 + (y - 0.4) ** 2
            continue
        assert (event["y"], event["reason"]) == (None, expected)
        reasons[expected] += 1
    assert all(reasons.values())
    assert all(f"{count} x {reason}" in shown for reason, count in reasons.items())
    best = min((e for e in tells if e["y"] is not None), key=lambda e: e["y"])
    assert best["x"] == pytest.approx([0.6, 0.4], abs=2e-2)


def test_a_run_without_a_success_ends_with_exit_code_1(tmp_path, capsys):
    path = write_spec(tmp_path, "import sys; sys.exit('boom')", budget=8, top="max_failures = 8")
    assert main(["minimize", str(path)]) == 1
    captured = capsys.readouterr()
    assert "best value   none" in captured.out
    assert "8 x exit code 1: boom   (runs 0, 1, 2, 3, 4, 5, 6, 7)" in captured.out
    assert "add --retry-failed" in captured.err
    assert captured.err.count("failed: exit code 1: boom") == 5  # the first ones are told at once, not all
    assert not list(tmp_path.glob("spec.tcgp/*.png"))


# Where a file "hold-0003" lies beside the spec, the run 0003 waits until it is gone.
HELD_BOWL = (
    "import os, time; hold = '../../../hold-' + os.path.basename(os.getcwd())\n"
    "if os.path.exists(hold): open('up', 'w').close()\n"
    "while os.path.exists(hold): time.sleep(0.01)\n" + BOWL
)


def kill_during(run, path, *options):
    """Start a search, and kill it without warning while the program of this run is under way."""
    hold = path.with_name(f"hold-{run}")
    hold.touch()
    process = Forked("minimize", path, "--no-plots", *options)
    up = path.with_suffix(".tcgp") / "runs" / run / "up"
    wait_until(lambda: up.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    process.kill()
    process.communicate()
    hold.unlink()


def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, capsys):
    (tmp_path / "whole").mkdir()
    assert main(["minimize", str(write_spec(tmp_path / "whole", HELD_BOWL, budget=13)), "--no-plots"]) == 0
    path = write_spec(tmp_path, HELD_BOWL, budget=13)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    for run in ("0003", "0011"):  # in the initial design, and after it
        kill_during(run, path)
    with journal.open("a") as file:
        file.write('{"event": "tell", "id"')  # a line torn by a crash
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "torn by a crash" in capsys.readouterr().err

    uninterrupted = events(tmp_path / "whole" / "spec.tcgp" / "journal.jsonl", "tell")
    resumed = events(journal, "tell")
    for event in [*uninterrupted, *resumed]:
        assert event.pop("seconds") > 0.0  # the one thing that differs
    assert resumed == uninterrupted
    assert [event["id"] for event in events(journal, "ask")] == list(range(13))
    # A run under way at a kill is waited for, and not made again in a directory of its own.
    assert not list((tmp_path / "spec.tcgp" / "runs").glob("*-*"))


def test_two_workers_lose_nothing_and_repeat_nothing_over_a_kill(tmp_path):
    path = write_spec(tmp_path, HELD_BOWL, budget=10)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    kill_during("0005", path, "--workers", "2")
    told_before = events(journal, "tell")
    assert main(["minimize", str(path), "--workers", "2", "--no-plots"]) == 0
    told = events(journal, "tell")
    assert told[: len(told_before)] == told_before
    assert sorted(event["id"] for event in told) == list(range(10))
    assert len({tuple(event["x"]) for event in told}) == 10
    again = [p.name for p in (tmp_path / "spec.tcgp" / "runs").glob("*-*")]
    assert len(again) <= 2


def test_a_program_under_way_when_the_search_is_killed_is_not_run_twice(tmp_path):
    start = "import os; open('../starts', 'a').write(os.path.basename(os.getcwd()) + ' ')\n"
    path = write_spec(tmp_path, start + HELD_BOWL + "\nprint(len(open('../starts').read()))", budget=6)
    runs = tmp_path / "spec.tcgp" / "runs"
    kill_during("0003", path)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert (runs / "starts").read_text().split() == [f"{i:04d}" for i in range(6)]
    assert [event["y"] for event in events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")][3] == 20.0


SLEEPER = "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up'); time.sleep(100)"


def test_a_journal_that_went_on_in_a_rescue_file_is_not_begun_anew(tmp_path, capsys):
    code = "import os; os.path.exists('../0003') and os.remove('../../journal.jsonl'); print(os.getcwd()[-1])"
    path, journal = write_spec(tmp_path, code, budget=6), tmp_path / "spec.tcgp" / "journal.jsonl"
    assert main(["minimize", str(path), "--no-plots"]) == 2
    rescue = journal.with_name("journal.jsonl.rescue-1")
    assert f"is in '{rescue}', and tcgp minimize with --journal continues from there" in said(capsys)[-1]
    path.write_text(path.read_text().replace("os.remove", "str"))
    for words in (["minimize", path], ["minimize", path, "--try"], ["ask", journal, "--spec", path]):
        assert main(list(map(str, words))) == 2
        assert f"its contents are in '{rescue}': rename that file to continue" in said(capsys)[-1]
    rescue.rename(journal)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert len(list((tmp_path / "spec.tcgp" / "runs").glob("0*"))) == 6
    assert [event["id"] for event in events(journal, "tell")] == list(range(6))


def test_a_journal_that_was_emptied_is_not_begun_anew(tmp_path, capsys):
    path, journal = write_spec(tmp_path, BOWL, budget=2), tmp_path / "spec.tcgp" / "journal.jsonl"
    journal.parent.mkdir()
    journal.touch()  # nothing was lost
    assert main(["minimize", str(path), "--no-plots"]) == 0
    before = journal.read_bytes()
    journal.write_bytes(b"")
    assert main(["minimize", str(path), "--no-plots"]) == 2
    assert "is empty, and there are runs in" in said(capsys)[-1]
    assert not journal.read_bytes()
    journal.write_bytes(before)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    journal.unlink()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert journal.read_bytes() != before


def test_tell_keeps_how_long_a_run_took(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text("budget = 9" + TWO_REALS)
    journal = tmp_path / "run.jsonl"
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "3"]) == 0
    assert main(["tell", str(journal), "--took", "2h", "0", "-1.5"]) == 0
    assert main(["tell", str(journal), "1", "--failed", "diverged", "--took", "90"]) == 0
    assert main(["tell", str(journal), "--took=3h", "2", "-2.5"]) == 0
    assert [event["seconds"] for event in events(journal, "tell")] == [7200.0, 90.0, 10800.0]
    capsys.readouterr()
    assert main(["tell", str(journal), "2", "1.0", "--took", "long"]) == 2
    assert "long" in capsys.readouterr().err


def test_time_is_over_for_runs_under_way_too(tmp_path, capsys):
    path = write_spec(tmp_path, SLEEPER)
    assert main(["minimize", str(path), "--max-time", "3"]) == 1
    assert "the time of 3.0 s is over" in capsys.readouterr().out
    (up,) = (tmp_path / "spec.tcgp" / "runs").glob("*/up")
    assert not is_alive(int(up.read_text()))


def test_a_program_that_vanishes_stops_the_search_and_costs_no_point(tmp_path, capsys):
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\necho 1$(expr $$ % 9)\n[ -e ../0004 ] && rm ../../../simulate\nexit 0\n")
    program.chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text('command = ["./simulate", "{x}", "{y}"]\nbudget = 12\nseed = 1' + TWO_REALS)
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert "there is no program" in capsys.readouterr().out
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert len(events(journal, "tell")) == 5
    assert all(event["y"] is not None for event in events(journal, "tell"))


def test_every_way_to_give_parameters_and_to_read_the_value(tmp_path, capsys):
    code = (
        "import json, os, sys; p = json.load(sys.stdin); assert p == json.load(open('parameters.json')); "
        "assert sys.argv[1:] == [p['kind']], sys.argv; assert os.environ['GAIN'] == '2'; "
        "json.dump({{'cost': {{'total': p['n'] + (p['kind'] == '; rm -rf')}} }}, open('out.json', 'w'))"
    )
    tables = """
    [parameters]
    n = {type = "integer", low = 1, high = 3}
    kind = {choices = ["; rm -rf", "$HOME"]}
    [objective]
    file = "out.json"
    key = "cost.total"
    [environment]
    GAIN = "2"
    """
    path = write_spec(tmp_path, code, top='input = "json"', tables=tables, arguments=["{kind}"], budget=20)
    journal = tmp_path / "elsewhere.jsonl"
    assert main(["minimize", str(path), "--quiet", "--journal", str(journal), "--no-plots"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "best value   1.0" in captured.out
    assert 'kind = "$HOME"' in captured.out
    assert "every point of the space has been evaluated" in captured.out  # six points are all there are
    assert len(list((tmp_path / "runs").glob("0*"))) == 6


def test_a_journal_of_another_spec_is_refused_and_left_alone(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    before = journal.read_bytes()
    for old, new, words in [
        ("seed = 1", "seed = 2", "'seed' was 1 and is now 2"),
        ("seed = 1", "seed = 1\nmethod = 'gp'", "'method' was 'auto' and is now 'gp'"),
        ("x = {low", "z = {low", "the list of parameters was ['x', 'y'] and is now ['z', 'y']"),
    ]:
        capsys.readouterr()
        changed = tmp_path / "changed.toml"
        text = path.read_text().replace(old, new, 1)
        changed.write_text(text.replace('"{x}"', '"{z}"') if "z =" in text else text)
        assert main(["minimize", str(changed), "--journal", str(journal)]) == 2
        (line,) = said(capsys)
        assert words in line
    assert journal.read_bytes() == before


def test_another_command_on_the_same_journal_is_pointed_out(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    write_spec(tmp_path, BOWL + " # mended", budget=5)
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "this journal was begun with another command" in capsys.readouterr().err


def test_a_spent_budget_says_how_to_go_on(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "raise the budget with --budget" in capsys.readouterr().err
    assert main(["minimize", str(path), "--no-plots", "--budget", "6"]) == 0
    assert len(events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")) == 6


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "ask", "id": "../../evil", "x": [0.5, 0.5], "source": "design", "trace": null, "fit": null}',
        "[" * 100_000,
    ],
)
def test_a_hostile_journal_is_refused_in_one_sentence(line, tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    journal = tmp_path / "run.jsonl"
    assert main(["ask", str(journal), "--spec", str(path)]) == 0
    text = journal.read_text() + line + "\n"
    journal.write_text(text + '{"event": "tell"}\n')
    for arguments in (
        ["minimize", str(path), "--journal", str(journal)],
        ["ask", str(journal)],
        ["tell", str(journal), "0", "1"],
        ["status", str(journal)],
        ["diagnose", str(journal)],
    ):
        capsys.readouterr()
        assert main(arguments) == 2
        assert len(said(capsys)) == 1
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("0*"))


def test_the_rules_of_the_spec_stop_the_search(tmp_path, capsys):
    top = "n_initial = 4\npatience = 3\nmin_improvement = 0.01\nstop_when_share_below = 1e-9"
    path = write_spec(tmp_path, BOWL, budget=40, top=top)
    assert main(["minimize", str(path), "--quiet", "--no-plots"]) == 0
    assert "stopped      no improvement by 0.01 in 3 evaluations" in capsys.readouterr().out
    path.write_text(path.read_text().replace("patience = 3", "patience = 'long'"))
    assert main(["minimize", str(path)]) == 2
    assert "patience must be a whole number of at least 1, or None, got 'long'" in said(capsys)[-1]
