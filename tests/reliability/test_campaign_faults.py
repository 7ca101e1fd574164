"""Faults while attempts are repeated and runs are read again: nothing lost, nothing evaluated twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from campaigns import end_on_a_full_disk, in_child

from tcgp.cli import main
from tcgp.optimizer import Optimizer
from tcgp.record.journal import read_journal

# Every third run finds no licence at first, and every ninth not the second time either.
LICENCED = """
import json, os, sys
name = os.path.basename(os.getcwd())
run, _, attempt = name.partition('-retry')
os.close(os.open('../started-' + name + '-' + str(os.getpid()), os.O_CREAT))
if int(attempt.split('-')[0] or 0) < (int(run[:4]) % 3 == 0) + (int(run[:4]) % 9 == 0):
    sys.exit(75)
x = float(sys.argv[1])
print(json.dumps(dict(cost=(x - 0.3) ** 2, mass=x)))
"""
BUDGET = 12


def write_spec(folder: Path, key: str = "cost", budget: int = BUDGET) -> Path:
    path = folder / "spec.toml"
    command = json.dumps([sys.executable, "-I", "-S", "-c", LICENCED, "{x}"])
    path.write_text(
        f'command = {command}\nbudget = {budget}\nseed = 1\nmethod = "gp"\nn_initial = 10\n'
        f"[parameters]\nx = {{low = 0, high = 1}}\n[objective]\nkey = '{key}'\n"
        "[retries]\ndelay = 0.02\nexit_codes = [75]\n"
    )
    return path


def minimize(path: Path) -> int:
    return main(["minimize", str(path), "--no-plots", "--quiet"])


def events(path: Path, kind: str) -> list[dict[str, object]]:
    record = read_journal(path.with_suffix(".tcgp") / "journal.jsonl")
    return [event for _, event in record.events if event["event"] == kind]


def attempts(path: Path) -> Counter[str]:
    """How often each attempt at each run was made, whatever its directory had to be called."""
    names = [p.name.removeprefix("started-").rpartition("-")[0] for p in path.parent.rglob("started-*")]
    whole = [name.partition("-retry") for name in names]
    return Counter(run[:4] + dash + attempt.split("-")[0] for run, dash, attempt in whole)


def expected_attempts() -> set[str]:
    n_retries = {i: (i % 3 == 0) + (i % 9 == 0) for i in range(BUDGET)}
    return {f"{i:04d}" + (f"-retry{k}" if k else "") for i, n in n_retries.items() for k in range(n + 1)}


def test_killed_at_random_moments_no_attempt_is_lost_or_made_twice(tmp_path: Path) -> None:
    path = write_spec(tmp_path)
    rng = np.random.default_rng(0)
    for _ in range(8):
        child = in_child(lambda: minimize(path))
        time.sleep(rng.uniform(0.0, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert minimize(path) == 0
    assert attempts(path) == Counter(expected_attempts())
    tells = {event["id"]: event["y"] for event in events(path, "tell")}
    points = {event["id"]: event["x"] for event in events(path, "ask")}
    assert tells == {i: (points[i][0] - 0.3) ** 2 for i in range(BUDGET)}  # type: ignore[index]
    assert len(events(path, "retry")) == len(expected_attempts()) - BUDGET


@pytest.fixture
def misread(tmp_path: Path) -> Path:
    """A campaign that stopped because of a wrong key, with the right one in its spec now."""
    path = write_spec(tmp_path, "costs", budget=6)
    assert minimize(path) == 1
    assert [event["y"] for event in events(path, "tell")] == [None, None, None]
    return write_spec(tmp_path, "cost", budget=6)


def assert_it_was_read_once(path: Path) -> None:
    """Each failure was corrected once, each run made once, and all values are right."""
    corrections = events(path, "correct")
    assert [event["id"] for event in corrections] == [0, 1, 2]
    optimizer = Optimizer.read(path.with_suffix(".tcgp") / "journal.jsonl")
    assert [e.y for e in optimizer.evaluations] == [(e.x[0] - 0.3) ** 2 for e in optimizer.evaluations]
    assert len(optimizer.evaluations) == 6
    assert set(attempts(path).values()) == {1}


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_killed_while_runs_are_read_again_the_next_start_reads_the_rest(n: int, misread: Path) -> None:
    """Killed before the first correction, after each, and before the spec's copy is renewed."""

    def killed() -> None:
        correct, left = Optimizer.correct, [n]

        def counted(*arguments: object, **options: object) -> None:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            correct(*arguments, **options)  # type: ignore[arg-type]

        Optimizer.correct = counted  # type: ignore[method-assign]
        shutil.copyfile = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        minimize(misread)

    _, status = os.waitpid(in_child(killed), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert len(events(misread, "correct")) == n
    assert minimize(misread) == 0
    assert_it_was_read_once(misread)


def test_a_full_disk_while_runs_are_read_again_loses_nothing(misread: Path) -> None:
    journal = misread.with_suffix(".tcgp") / "journal.jsonl"
    size = journal.stat().st_size + 200  # one correction has about 150 bytes
    end_on_a_full_disk(["minimize", str(misread), "--quiet", "--no-plots"], size)
    assert len(events(misread, "correct")) == 1
    assert minimize(misread) == 0
    assert_it_was_read_once(misread)
