"""Whose a run is: a campaign takes up its own, whatever has moved or changed, and never those of another."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest
from commands import Forked, events, wait_until, write_spec

from tcgp.cli import main

ONE_REAL = "\n[parameters]\nx = {low = 0.0, high = 1.0}\n"

# Counts its starts, and takes as long as there is a file "hold" beside the spec.
COUNTED = """
import os, sys, time
here = os.path.dirname(os.path.dirname(os.path.dirname(os.getcwd())))
open(os.path.join(here, 'starts'), 'a').write(os.path.basename(os.getcwd()) + ' ')
open('up', 'w').close()
while os.path.exists(os.path.join(here, 'hold')): time.sleep(0.01)
print(float(sys.argv[1]))
"""


def spec_in(folder, code=COUNTED, **options):
    options = {"budget": 2, "tables": ONE_REAL, "arguments": ("{x}",), **options}
    return write_spec(folder, code, **options)


def minimize(path, *more):
    return main(["minimize", str(path), "--quiet", "--no-plots", *map(str, more)])


def kill_during_the_first_run(path, where=None):
    """Start the search, and kill it while its first program runs, which then ends."""
    folder = path.resolve().parent
    (folder / "hold").touch()
    process = Forked("minimize", path, "--quiet", "--no-plots", cwd=where)
    up = folder / "spec.tcgp" / "runs" / "0000" / "up"
    wait_until(lambda: up.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()


def let_it_end(folder):
    notes = folder / "spec.tcgp" / "runs" / ".tcgp" / "0000" / "supervisor"
    (folder / "hold").unlink(missing_ok=True)
    wait_until(lambda: '"code"' in notes.read_text())


def starts(folder):
    return (folder / "starts").read_text().split()


def told(folder, journal="spec.tcgp/journal.jsonl"):
    return {event["id"]: event["y"] for event in events(folder / journal, "tell")}


# ---- runs of another campaign ----


def test_a_new_journal_takes_up_no_old_run(tmp_path, capsys):
    path = spec_in(tmp_path, "import sys; sys.exit(3)")
    assert minimize(path) == 1
    assert "fix it and add --retry-failed" in capsys.readouterr().err
    (tmp_path / "spec.tcgp" / "journal.jsonl").rename(tmp_path / "old.jsonl")
    path.write_text(path.read_text().replace("sys.exit(3)", "print(5)"))
    assert minimize(path) == 0
    assert told(tmp_path) == {0: 5.0, 1: 5.0}


def test_two_campaigns_in_a_directory_keep_their_runs_apart(tmp_path, capsys):
    code = "import os; print('cost', os.environ['MESH'])"
    one = spec_in(
        tmp_path, code, top='input = "file"', arguments=(), tables=f"{ONE_REAL}[environment]\nMESH = '1'\n"
    )
    assert minimize(one, "--journal", tmp_path / "out" / "one.jsonl") == 0
    two = tmp_path / "two.toml"
    two.write_text(one.read_text().replace("MESH = '1'", "MESH = '2'"))
    assert minimize(two, "--journal", tmp_path / "out" / "two.jsonl") == 0
    assert set(told(tmp_path, "out/one.jsonl").values()) == {1.0}
    assert set(told(tmp_path, "out/two.jsonl").values()) == {2.0}
    assert "out/runs/0000-2" in capsys.readouterr().out
    one.write_text(one.read_text() + "[objective]\npattern = 'cost +(.*)'\n")
    assert minimize(one, "--journal", tmp_path / "out" / "one.jsonl") == 0
    assert "2 runs were read again, all unchanged" in capsys.readouterr().err


def test_without_a_journal_nothing_is_taken_up(tmp_path):
    import tcgp
    from tcgp.programs import ProgramCrew, Simulator

    for value in ("1.0", "2.0"):
        simulator = Simulator([sys.executable, "-c", f"print({value})", "{x0}"], runs=tmp_path)
        run = tcgp.minimize(
            simulator, {"x0": (0.0, 1.0)}, n_evals=2, workers=ProgramCrew(simulator, 1), rng=0
        )
        assert run.func_vals.tolist() == [float(value)] * 2


# ---- runs that look like others and are our own ----


def test_a_campaign_reached_by_a_link_finds_its_run(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    spec_in(real)
    kill_during_the_first_run(link / "spec.toml")
    let_it_end(real)
    assert minimize(real / "spec.toml") == 0
    assert starts(real) == ["0000", "0001"]


def test_a_campaign_that_was_moved_finds_its_run(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    spec_in(here, arguments=("{x}", "{spec_dir}"))
    kill_during_the_first_run(here / "spec.toml")
    let_it_end(here)
    shutil.move(here, there)
    assert minimize(there / "spec.toml") == 0
    assert starts(there) == ["0000", "0001"]


def test_a_program_found_elsewhere_is_the_same_program(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model").write_text("#!/bin/sh\necho 1.0 >> ../count; echo 1.0\n")
        (tmp_path / name / "model").chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text(f'command = ["model", "{{x}}"]\nbudget = 2\nseed = 1\n{ONE_REAL}')
    start = "/usr/bin:/bin"
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:{start}")
    assert minimize(path) == 0
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text(
        "\n".join(line for line in lines if '"tell"' not in line) + "\n"
    )  # as if it had been killed
    monkeypatch.setenv("PATH", f"{tmp_path / 'two'}:{start}")
    assert minimize(path) == 0
    assert (tmp_path / "spec.tcgp" / "runs" / "count").read_text().split() == ["1.0", "1.0"]


def test_a_program_may_rewrite_its_parameters(tmp_path):
    spec_in(tmp_path, COUNTED + "open('parameters.json', 'w').write('[]')\n", top='input = "file"')
    kill_during_the_first_run(tmp_path / "spec.toml")
    let_it_end(tmp_path)
    assert minimize(tmp_path / "spec.toml") == 0
    assert starts(tmp_path) == ["0000", "0001"]


def test_a_campaign_of_an_earlier_version_finds_its_run(tmp_path):
    path = spec_in(tmp_path)
    kill_during_the_first_run(path)
    let_it_end(tmp_path)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    header, *rest = journal.read_text().splitlines()
    known = {key: value for key, value in json.loads(header).items() if key != "campaign"}
    journal.write_text("\n".join([json.dumps(known), *rest]) + "\n")
    runs = tmp_path / "spec.tcgp" / "runs"
    (runs / ".tcgp" / "0000" / "supervisor").rename(runs / "0000" / ".supervisor")
    shutil.rmtree(runs / ".tcgp")
    assert minimize(path) == 0
    assert starts(tmp_path) == ["0000", "0001"]


def test_another_command_is_not_started_beside_the_first(tmp_path, capsys):
    path = spec_in(tmp_path)
    kill_during_the_first_run(path)
    path.write_text(path.read_text().replace("print(float(sys.argv[1]))", "print(7.0)"))
    assert minimize(path) == 1
    assert (
        "run 0000 was started with another command or other parameters and is still running in"
        in capsys.readouterr().out
    )
    let_it_end(tmp_path)
    assert minimize(path) == 0
    assert set(told(tmp_path).values()) == {7.0}


def test_a_change_of_the_command_loses_no_run_under_way_in_silence(tmp_path, capsys):
    path = spec_in(tmp_path)
    kill_during_the_first_run(path)
    before, changed = path.read_text(), path.read_text().replace("print(float(sys.argv[1]))", "print(7.0)")
    path.write_text(changed)
    assert minimize(path) == 1
    assert "undo that change to have its value read" in capsys.readouterr().out
    let_it_end(tmp_path)
    shutil.copytree(tmp_path / "spec.tcgp", tmp_path / "copy.tcgp")
    assert minimize(path) == 0
    assert "what it gave there can be reported with tcgp tell" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "spec.tcgp")
    (tmp_path / "copy.tcgp").rename(tmp_path / "spec.tcgp")
    path.write_text(before)
    assert minimize(path) == 0
    assert "can be reported" not in capsys.readouterr().err
    assert starts(tmp_path) == ["0000", "0000-2", "0001", "0001"]  # the first one once, as is advised


def test_a_copy_of_the_journal_that_went_on_hides_no_run(tmp_path, capsys):
    path = spec_in(tmp_path)
    kill_during_the_first_run(path)
    let_it_end(tmp_path)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    header, *_ = journal.read_text().splitlines(keepends=True)
    journal.with_name("copy.jsonl").write_text(header)
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace("high = 1.0", "high = 0.5"))
    assert minimize(other, "--journal", journal.with_name("copy.jsonl")) == 0
    assert minimize(path) == 0
    assert starts(tmp_path) == ["0000", "0000-2", "0001", "0001-2"]
    assert "is made again" not in capsys.readouterr().err
    places = "[objective]\npattern = '(.+)'\n"
    path.write_text(path.read_text() + places)
    assert minimize(path) == 0
    assert "2 runs were read again, all unchanged" in capsys.readouterr().err


# ---- runs under way while something changes ----


@pytest.mark.parametrize("ended", [True, False])
def test_a_run_outside_changed_bounds_is_read_and_kept(ended, tmp_path, capsys):
    path = spec_in(tmp_path)
    kill_during_the_first_run(path)
    (first,) = events(tmp_path / "spec.tcgp" / "journal.jsonl", "ask")
    x = first["x"][0]
    if ended:
        let_it_end(tmp_path)
    high = "high = 1.0"
    path.write_text(path.read_text().replace(high, f"high = {x / 2!r}"))
    if not ended:
        process = Forked("minimize", path, "--quiet", "--no-plots")
        wait_until(lambda: events(tmp_path / "spec.tcgp" / "journal.jsonl", "space"))
        let_it_end(tmp_path)
        process.communicate()
    else:
        minimize(path)
    assert told(tmp_path)[0] == x
    main(["status", str(path)])
    assert "1 more outside the present bounds" in capsys.readouterr().out
    path.write_text(path.read_text().replace(f"high = {x / 2!r}", high))
    assert minimize(path) == 0
    assert starts(tmp_path).count("0000") == 1


def test_a_point_that_comes_back_into_the_space_is_offered_again(tmp_path):
    from tcgp import Optimizer

    journal = tmp_path / "run.jsonl"
    with Optimizer([(0.0, 1.0)], rng=1, journal=journal) as optimizer:
        (x,) = optimizer.ask()
    with Optimizer.resume(journal, space=[(0.0, x / 2)]) as optimizer:
        assert optimizer.ask() != [x]
    with Optimizer.resume(journal, space=[(0.0, 1.0)]) as optimizer:
        assert [x] in [optimizer.ask(), optimizer.ask()]


def test_patience_does_not_drop_a_run_under_way(tmp_path):
    code = COUNTED.replace("print(float(sys.argv[1]))", "print('1' + os.path.basename(os.getcwd()))")
    path = spec_in(tmp_path, code, budget=20, top="n_initial = 2\npatience = 1")
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert minimize(path) == 0
    n = len(told(tmp_path))
    lines = journal.read_text().splitlines()
    (last,) = [line for line in lines if '"tell"' in line and json.loads(line)["id"] == n - 1]
    journal.write_text("\n".join(line for line in lines if line != last) + "\n")
    path.write_text(path.read_text().replace("patience = 1", "patience = 1\nmin_improvement = 1e9"))
    assert minimize(path) == 0
    assert len(told(tmp_path)) == n
    assert len(starts(tmp_path)) == n


# ---- programs that do not keep to their files ----

EMPTIES = """
import os, shutil, sys, time
here = os.path.dirname(os.path.dirname(os.path.dirname(os.getcwd())))
open(os.path.join(here, 'starts'), 'a').write(os.path.basename(os.getcwd()) + ' ')
for name in os.listdir('.'):
    if os.path.isdir(name): shutil.rmtree(name)
    else: os.remove(name)
if REMOVES: os.rmdir(os.getcwd())
open(os.path.join(here, 'emptied'), 'w').close()
while os.path.exists(os.path.join(here, 'hold')): time.sleep(0.01)
if not REMOVES: open('result', 'w').write(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("removes", [False, True])
def test_a_program_that_empties_its_directory_is_not_started_twice(removes, ended, tmp_path):
    tables = f"{ONE_REAL}[objective]\nfile = 'result'\n"
    path = spec_in(tmp_path, EMPTIES.replace("REMOVES", str(removes)), tables=tables, budget=1)
    (tmp_path / "hold").touch()
    process = Forked("minimize", path, "--quiet", "--no-plots")
    wait_until(lambda: (tmp_path / "emptied").exists() or process.poll() is not None)
    process.kill()
    process.communicate()
    if ended:
        let_it_end(tmp_path)
    again = Forked("minimize", path, "--quiet", "--no-plots")
    runs = tmp_path / "spec.tcgp" / "runs"
    wait_until(lambda: ended or again.poll() is not None or is_reading(again.pid, runs))
    (tmp_path / "hold").unlink(missing_ok=True)
    _, err = again.communicate(timeout=60)
    assert "Traceback" not in err
    assert starts(tmp_path) == ["0000"]
    (told_at_last,) = events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")
    assert (told_at_last["y"] is None) == removes


def is_reading(pid, runs):
    """Whether a process has notes of a run open, as one that waits for it does."""
    try:
        files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(file.startswith(str(runs / ".tcgp")) for file in files)


def test_a_run_whose_directory_the_user_removes_is_made_again(tmp_path):
    path = spec_in(tmp_path, COUNTED)
    kill_during_the_first_run(path)
    let_it_end(tmp_path)
    shutil.rmtree(tmp_path / "spec.tcgp" / "runs" / "0000")
    assert minimize(path) == 0
    assert starts(tmp_path) == ["0000", "0000", "0001"]
