"""Kills, full disks and cut journals amid imports, corrections, changed bounds and goals: nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import cuts, in_child

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


def test_a_journal_cut_after_any_byte_resumes_with_every_whole_line(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    eventful(whole)
    raw = whole.read_bytes()
    events = [event for _, event in read_journal(whole).events]
    for n_lines in cuts(raw, cut, first=raw.index(b"\n") + 1, step=7):
        with Optimizer.resume(cut, reoffer=False) as optimizer:
            kept = events[: n_lines - 1]
            history = optimizer.history
            told = sum(e["event"] == "tell" for e in kept)
            assert len(history.evaluations) + len(history.outside) == told
            assert len(history.corrections) == sum(e["event"] == "correct" for e in kept)
            assert len(history.former_spaces) == sum(e["event"] == "space" for e in kept)
            assert len(history.former_settings) == sum(e["event"] == "goals" for e in kept)
            latest = {
                e["id"]: e["y"] for e in kept if e["event"] in ("tell", "correct") and e["id"] is not None
            }
            now = {e.id: e.y for e in (*history.evaluations, *history.outside) if e.id is not None}
            assert now == latest
        assert [event for _, event in read_journal(cut).events] == kept


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


@pytest.mark.parametrize("step", ["correct", "change_space", "change_goals", "import"])
def test_on_a_full_disk_a_step_happens_wholly_or_not_at_all(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    optimizer = Optimizer(WIDE, n_initial=3, method="gp", rng=0, journal=path)
    optimizer.tell([{"a": 0.1, "b": 0.5}, {"a": 0.4, "b": 0.5}], [4.0, 5.0])
    x = optimizer.ask()
    calls = {
        "correct": lambda: optimizer.correct([0.1, 0.5], 1.0),
        "change_space": lambda: optimizer.change_space(NARROW),
        "change_goals": lambda: optimizer.change_goals(constraints=["a <= 0.6"], maximize=True),
        "import": lambda: optimizer.tell([[0.2, 0.5], [0.3, 0.5]], [1.0, 2.0]),
    }
    before, state = path.read_bytes(), _state(optimizer)
    real_write = os.write

    def full_disk(fd: int, data: bytes) -> int:
        return real_write(fd, data[: len(data) // 2]) if len(data) > 20 else _no_space()

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        calls[step]()
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert _state(optimizer) == state
    calls[step]()
    optimizer.tell(x, 3.0)
    optimizer.close()
    assert _state(Optimizer.resume(path, reoffer=False)) == _state(optimizer)


def _no_space() -> int:
    raise OSError(28, "No space left on device")


def _state(optimizer: Optimizer) -> tuple[Any, ...]:
    h = optimizer.history
    return (h.space, h.settings, h.evaluations, h.outside, h.corrections, h.pending, h.given_up, h.best)


def test_killed_in_the_middle_of_corrections_and_changes_the_last_word_holds(tmp_path: Path) -> None:
    """A child corrects and changes bounds and goals without end; after each kill all that it had done is there."""
    path, done = tmp_path / "run.jsonl", tmp_path / "done"
    with Optimizer(WIDE, rng=0, journal=path) as optimizer:
        optimizer.tell([{"a": i / 16, "b": 0.5} for i in range(1, 16)], list(range(15)))

    def disturb() -> None:
        with Optimizer.resume(path) as optimizer:
            start = (
                1 + max((c.after.y or 0.0) for c in optimizer.history.corrections) if _n(optimizer) else 100.0
            )
            for k in range(10_000):
                optimizer.correct([(1 + k % 15) / 16, 0.5], start + k)
                (tmp_path / "new").write_text(str(start + k))
                os.replace(tmp_path / "new", done)
                optimizer.change_space(NARROW if k % 2 else WIDE)
                optimizer.change_goals(constraints=["a <= 0.6"] if k % 3 else [], maximize=bool(k % 2))

    rng = np.random.default_rng(0)
    for _ in range(5):
        child = in_child(disturb)
        time.sleep(0.4 + rng.uniform(0.0, 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if not done.exists():
            continue
        history = read_campaign(path).history
        assert history.corrections[-1].after.y >= float(done.read_text())
        assert len(history.evaluations) + len(history.outside) == 15
        events = [e for _, e in read_journal(path).events if e["event"] == "correct"]
        latest = {e["x"][0]: e["y"] for e in events}
        assert all(
            latest[e.x[0]] == e.y for e in (*history.evaluations, *history.outside) if e.x[0] in latest
        )


def _n(optimizer: Optimizer) -> int:
    return len(optimizer.history.corrections)


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
