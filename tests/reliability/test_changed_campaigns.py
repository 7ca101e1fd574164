"""Kills, full disks and cut journals amid imports, corrections, changed bounds and goals: nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from campaigns import in_child

import tcgp
from tcgp import Optimizer
from tcgp.cli import main
from tcgp.optimizer import JournalError, read_campaign
from tcgp.record.journal import read_journal

WIDE, NARROW = {"a": (0.0, 1.0), "b": (-2.0, 3.0)}, {"a": (0.2, 0.8), "b": 0.5}


def value_at(x: Any) -> float:
    return float((x["a"] - 0.3) ** 2 + np.sin(5.0 * x["b"]))


def eventful(path: Path) -> None:
    """A run with an import, corrections inside and outside, and bounds and goals that change twice."""
    with Optimizer(WIDE, n_initial=3, method="gp", rng=0, journal=path) as optimizer:
        optimizer.tell([{"a": 0.1, "b": 0.5}, {"a": 0.4, "b": 0.5}], [4.0, 5.0])
        for _ in range(3):
            x = optimizer.ask()
            optimizer.tell(x, value_at(x))
        optimizer.correct(1, 77.0)
        optimizer.ask()
        optimizer.change_space(NARROW)
        optimizer.change_goals(constraints=["a <= 0.6"])
        for _ in range(2):
            x = optimizer.ask()
            optimizer.tell(x, value_at(x))
        optimizer.correct(0, None, reason="misread")
        optimizer.correct({"a": 0.4, "b": 0.5}, 6.0)
        optimizer.change_space(WIDE)
        optimizer.change_goals(constraints=["a + b <= 2"], maximize=True)
        x = optimizer.ask()
        optimizer.tell(x, value_at(x))


def test_any_byte_changed_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    whole, bad = tmp_path / "whole.jsonl", tmp_path / "bad.jsonl"
    eventful(whole)
    raw, rng = whole.read_bytes(), np.random.default_rng(0)
    for position in range(0, len(raw), 5):
        changed = bytearray(raw)
        changed[position] = rng.integers(256)
        bad.write_bytes(changed)
        try:
            Optimizer.resume(bad).close()
        except JournalError:
            continue


def test_an_import_that_is_killed_took_all_rows_or_none_and_goes_on(tmp_path: Path) -> None:
    spec, data, journal = tmp_path / "spec.toml", tmp_path / "old.csv", tmp_path / "run.jsonl"
    spec.write_text("[parameters]\na = {low = 0.0, high = 1.0}\n")
    data.write_text("a,cost\n" + "".join(f"{i / 2000},{i}\n" for i in range(2000)))
    command = ["import", str(journal), "--spec", str(spec), str(data)]
    rng = np.random.default_rng(0)
    for _ in range(4):
        child = in_child(lambda: main(command))
        time.sleep(rng.uniform(0.05, 0.4))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if journal.exists() and journal.read_bytes().count(b"\n"):
            n = len(read_campaign(journal).history.evaluations)
            # The lines are appended in one write: a kill leaves all of them, or those that reached the disk.
            assert 0 <= n <= 2000
    assert main(command) == 0
    tells = [e["x"][0] for _, e in read_journal(journal).events if e["event"] == "tell"]
    assert sorted(tells) == [i / 2000 for i in range(2000)]


def test_a_run_goes_on_after_all_of_this_without_a_point_repeated(tmp_path: Path) -> None:
    path, calls = tmp_path / "run.jsonl", []

    def fun(x: Any) -> float:
        calls.append(tuple(x.values()))
        return value_at(x)

    options: dict[str, Any] = {"n_initial": 4, "method": "gp", "journal": path}
    tcgp.minimize(fun, WIDE, n_evals=6, rng=0, **options)
    with Optimizer.resume(path) as optimizer:
        optimizer.correct(2, 50.0)
        optimizer.tell([[0.25, 0.5]], [1.0])
    tcgp.minimize(fun, {"a": (0.0, 1.0), "b": (-1.0, 1.0)}, n_evals=9, **options)
    tcgp.minimize(fun, WIDE, n_evals=11, constraints=["a + b <= 2"], **options)
    result = tcgp.minimize(fun, WIDE, n_evals=12, **options)
    assert result.nfev == len(calls) == len(set(calls)) == 12
    assert len(result.optimizer.evaluations) == 13
