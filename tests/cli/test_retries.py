"""Failures that are not the fault of the point are tried again, over kills too, and the journal says so."""

from __future__ import annotations

import json

import pytest
from commands import BOWL, TWO_REALS, Forked, events, said, wait_until, write_spec

import tcgp
from tcgp.cli import main
from tcgp.optimizer import Optimizer

# The licence server is down for the first two attempts at run 1, and for one at run 3.
LICENCED = f"""
import os, sys
name = os.path.basename(os.getcwd())
open('../starts', 'a').write(name + ' ')
if name in ('0001', '0001-retry1'):
    print('No Licence left', file=sys.stderr); print('good bye', file=sys.stderr); sys.exit(1)
if name == '0003':
    sys.exit(75)
{BOWL}
"""

TABLES = (
    TWO_REALS
    + """
[retries]
delay = 0
exit_codes = [75]
messages = ["no licence"]
"""
)


def starts(folder):
    return (folder / "spec.tcgp" / "runs" / "starts").read_text().split()


def test_named_failures_are_tried_again_and_journaled(tmp_path, capsys):
    path = write_spec(tmp_path, LICENCED + "\nopen('done', 'w')", budget=5, top="", tables=TABLES)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    shown = capsys.readouterr()
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert [(e["id"], e["reason"]) for e in events(journal, "retry")] == [
        (1, "exit code 1: good bye"),
        (1, "exit code 1: good bye"),
        (3, "exit code 75"),
    ]
    assert all(event["y"] is not None for event in events(journal, "tell"))
    assert starts(tmp_path) == [
        "0000",
        "0001",
        "0001-retry1",
        "0001-retry2",
        "0002",
        "0003",
        "0003-retry1",
        "0004",
    ]
    assert "tried again  2 x exit code 1: good bye   (run 1)\n" in shown.out
    assert "run 3 is retried in 0 s: exit code 75" in shown.err
    assert main(["status", str(journal), "--json"]) == 0
    assert [retry["id"] for retry in json.loads(capsys.readouterr().out)["retries"]] == [1, 1, 3]


def test_points_are_those_of_a_run_without_trouble(tmp_path):
    (tmp_path / "calm").mkdir()
    for folder, code in ((tmp_path, LICENCED), (tmp_path / "calm", BOWL)):
        assert main(["minimize", str(write_spec(folder, code, budget=9, tables=TABLES)), "--no-plots"]) == 0
    asked = [
        [event["x"] for event in events(folder / "spec.tcgp" / "journal.jsonl", "ask")]
        for folder in (tmp_path, tmp_path / "calm")
    ]
    assert asked[0] == asked[1]


def test_attempts_end_and_other_failures_have_one(tmp_path, capsys):
    code = (
        "import os, sys; open('../starts', 'a').write('.'); sys.exit(75 if os.getcwd().endswith('0') else 4)"
    )
    path = write_spec(tmp_path, code, budget=2, tables=TABLES + "times = 1")
    assert main(["minimize", str(path), "--no-plots"]) == 1
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert [e["reason"] for e in events(journal, "tell")] == ["exit code 4", "exit code 4"]
    assert [e["id"] for e in events(journal, "retry")] == [0]
    assert starts(tmp_path) == ["..."]


def test_killed_during_the_delay_the_attempt_is_made_by_the_next_start_and_counted(tmp_path):
    path = write_spec(tmp_path, LICENCED, budget=5, tables=TABLES.replace("delay = 0", 'delay = "1h"'))
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    for n in (1, 2, 3):
        process = Forked("minimize", path, "--no-plots", "--quiet")
        wait_until(lambda n=n, p=process: len(events(journal, "retry")) == n or p.poll() is not None)
        assert process.poll() is None, process.communicate()[1]
        process.kill()
        process.communicate()
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    assert starts(tmp_path) == [
        "0000",
        "0001",
        "0001-retry1",
        "0001-retry2",
        "0002",
        "0003",
        "0003-retry1",
        "0004",
    ]
    assert [event["id"] for event in events(journal, "tell")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("times = 3", "must name exit_codes or messages"),
        ("exit_codes = 75", "exit_codes of retries must be a list of integers, got 75"),
        ("messages = ['']", "an empty message"),
        ("exit_codes = [0]", "the exit code 0"),
        ("codes = [75]", "unknown key of [retries] 'codes'; did you mean 'exit_codes'?"),
        ("exit_codes = [75]\ntimes = 0", "times of retries must be"),
        ("exit_codes = [75]\ndelay = 'soon'", "'delay': a time must be a positive number"),
    ],
)
def test_a_bad_table_is_refused_in_one_sentence(lines, words, tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, tables=TABLES.split("[retries]")[0] + "[retries]\n" + lines)
    assert main(["minimize", str(path)]) == 2
    (line,) = said(capsys)
    assert words in line


def test_in_python_exceptions_are_tried_again(tmp_path, caplog):
    calls = []

    def simulate(x):
        calls.append(list(x))
        if len(calls) in (2, 3):
            raise OSError("no space left on the scratch disk")
        return x[0] ** 2

    journal = tmp_path / "run.jsonl"
    retries = {"times": 2, "delay": 0, "messages": ["No space left"]}
    seen = []
    result = tcgp.minimize(
        simulate,
        [(0.0, 1.0)],
        n_evals=4,
        rng=0,
        journal=journal,
        retries=retries,
        callback=lambda r: seen.append(r.nfev),
    )
    assert (result.nfev, result.failures, len(calls)) == (4, [], 6)
    assert calls[1] == calls[2] == calls[3]
    assert seen == [1, 2, 3, 4]
    with Optimizer.resume(journal) as resumed:
        assert [retry.id for retry in resumed.history.retries] == [1, 1]
        assert resumed.pending == []


def test_retries_must_be_a_mapping():
    with pytest.raises(ValueError, match="retries must be a mapping with times, delay"):
        tcgp.minimize(sum, [(0.0, 1.0)], n_evals=4, retries=3)


def test_runs_of_a_broken_command_are_made_again_in_the_same_journal(tmp_path, capsys):
    """A module is missing; once it is there, --retry-failed makes the failed runs again, by their reason."""
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from pathlib import Path
if Path.cwd().name == '0003' and not Path({str(tmp_path)!r}, 'mended').exists(): sys.exit(9)
import my_solver
{BOWL}
"""
    path = write_spec(tmp_path, code, budget=6)
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert (
        "the first 3 evaluations all failed in the same way: exit code 1: ModuleNotFoundError"
        in capsys.readouterr().out
    )
    (tmp_path / "my_solver.py").write_text("")
    assert main(["minimize", str(path), "--no-plots", "--retry-failed", "disk full"]) == 2
    assert (
        "no run failed for a reason with 'disk full'; the reasons are: \"exit code 1: Module"
        in said(capsys)[-1]
    )
    assert main(["minimize", str(path), "--no-plots", "--retry-failed", "modulenotfound"]) == 0
    assert "failed runs to repeat: 0, 1, 2" in capsys.readouterr().err
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    history = Optimizer.read(journal).history
    assert [(e.id, e.failed) for e in history.evaluations] == [(i, i == 3) for i in range(6)]
    assert [retry.id for retry in history.retries] == [0, 1, 2]
    (tmp_path / "mended").touch()
    assert main(["minimize", str(path), "--no-plots", "--retry-failed"]) == 0
    history = Optimizer.read(journal).history
    assert (history.n_done, [e.id for e in history.evaluations if e.failed]) == (6, [])
    assert sorted(d.name for d in (tmp_path / "spec.tcgp" / "runs").glob("0*")) == [
        *("0000", "0000-retry1", "0001", "0001-retry1", "0002", "0002-retry1", "0003", "0003-retry1"),
        *("0004", "0005"),
    ]
