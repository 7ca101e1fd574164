"""Kills, full disks, torn journals, clocks that jump, workers that die: nothing lost, nothing evaluated twice.

The long version is benchmarks/reliability/faults.py.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import BOUNDS, Campaign, end_on_a_full_disk, in_child, value_at

from tcgp import Optimizer, minimize
from tcgp.cli import main
from tcgp.cli.console import signals_interrupt
from tcgp.record.journal import Journal, JournalError, read_journal, uninterrupted
from tcgp.running.crews import Terminated, WorkersError, crew_for

# ---- kills ----


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[list[float]]:
    """Points of a run that nobody disturbs."""
    campaign = Campaign(tmp_path_factory.mktemp("whole"), workers=1, n_evals=30)
    campaign.run()
    return campaign.points()


@pytest.mark.parametrize("workers", [1, 3])
def test_killed_at_random_moments_nothing_is_lost_and_nothing_told_is_evaluated_again(
    workers: int, tmp_path: Path, undisturbed: list[list[float]]
) -> None:
    campaign = Campaign(tmp_path, workers, n_evals=30)
    rng = np.random.default_rng(workers)
    for _ in range(6):
        if campaign.run_for(rng.uniform(0.0, 0.12)):
            break
    assert campaign.finish() == []
    assert campaign.leftover_processes() == []
    if workers == 1:  # several at a time end in any order
        assert campaign.points() == undisturbed


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, workers=3, n_evals=100_000)  # no end before all three have begun
    assert not campaign.run_until(lambda: len({pid for _, pid, _ in campaign.calls()}) == 3)
    assert campaign.leftover_processes() == []


# ---- signals in the middle of things ----


def test_held_back_signals_are_delivered_once_and_handlers_restored() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: calls.append(number))
    try:
        handler = signal.getsignal(signal.SIGTERM)
        with uninterrupted(), uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
            assert calls == []
        assert calls == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupt_during_a_write_that_fails_is_not_dropped() -> None:
    def write() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            raise OSError("the disk is full")

    with pytest.raises(KeyboardInterrupt) as caught:
        write()
    assert isinstance(caught.value.__context__, OSError)


@pytest.mark.parametrize("order", [("SIGINT", "SIGTERM"), ("SIGTERM", "SIGINT")])
def test_of_two_signals_during_a_write_the_one_that_waits_for_nothing_is_raised(
    order: tuple[str, str],
) -> None:
    heard = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    def write() -> None:
        with signals_interrupt(Terminated), uninterrupted():
            for name in order:
                os.kill(os.getpid(), getattr(signal, name))

    before = signal.signal(signal.SIGINT, hear)
    try:
        with pytest.raises(Terminated, match="SIGTERM"):
            write()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


# Ctrl-C in the fifth evaluation, and again when the result is about to be made.
INTERRUPTED_TWICE = """
import os, signal, sys
import tcgp
class Meddler:
    def find_spec(self, name, path=None, target=None):
        if name == "tcgp.optimizer.result":
            os.kill(os.getpid(), signal.SIGINT)
def fun(x):
    fun.calls += 1
    if fun.calls == 5:
        sys.meta_path.insert(0, Meddler())
        os.kill(os.getpid(), signal.SIGINT)
    return float(x[0])
fun.calls = 0
result = tcgp.minimize(fun, [(0.0, 1.0)], n_evals=9, n_initial=8, rng=0)
print(result.nfev, result.status, len(result.func_vals))
"""


def test_a_second_interrupt_does_not_throw_the_result_away() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_TWICE], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split() == ["4", "6", "4"], done.stderr


def test_an_error_of_the_callback_costs_no_outcome_of_the_batch(tmp_path: Path) -> None:
    def callback(result: Any) -> None:
        raise RuntimeError("a bug of the user's")

    journal = tmp_path / "run.jsonl"
    with pytest.raises(RuntimeError, match="bug of the user"):
        minimize(
            value_at, BOUNDS, n_evals=8, rng=0, workers=map, n_parallel=4, callback=callback, journal=journal
        )
    assert len(Optimizer.resume(journal).evaluations) == 4


# ---- a full disk ----


def _limited(size: int, campaign: Campaign) -> None:
    """Run with files limited to ``size`` bytes: writes beyond are cut short and then fail, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        campaign.run()
    except OSError as error:
        if "the journal cannot be written" in str(error) and str(campaign.journal) in str(error):
            return
        raise


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(
    workers: int, tmp_path: Path, undisturbed: list[list[float]]
) -> None:
    campaign = Campaign(tmp_path, workers, n_evals=30)
    for size in (10, 333, 1200, 1201, 3000, 4444):
        _, status = os.waitpid(in_child(lambda size=size: _limited(size, campaign)), 0)
        assert status == 0
        campaign.n_kills += 1  # what was under way is given up
        campaign.check()
        raw = campaign.journal.read_bytes()
        assert len(raw) <= size
        assert raw.endswith(b"\n") or not raw
    assert campaign.finish() == []
    if workers == 1:
        assert campaign.points() == undisturbed


def test_a_journal_that_cannot_even_be_cut_back_takes_no_further_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "run.jsonl"
    with Journal(path) as journal:
        journal.start({})
        journal.append({"event": "tell", "i": 0})
        monkeypatch.setattr(os, "fsync", fail)
        monkeypatch.setattr(os, "ftruncate", fail)
        with pytest.raises(OSError, match="Input/output error"):
            journal.append({"event": "tell", "i": 1})
        monkeypatch.undo()
        with pytest.raises(JournalError, match="no longer open"):
            journal.append({"event": "tell", "i": 2})
    assert [event["i"] for _, event in read_journal(path).events] in ([0], [0, 1])


SPEC = """
command = ["{python}", "-I", "-S", "-c", "import sys; print(float(sys.argv[1]) ** 2)", "{{x}}"]
budget = 6
[parameters]
x = {{low = -1.0, high = 2.0}}
"""


def test_the_command_ends_with_a_sentence_on_a_full_disk_and_goes_on_later(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(python=sys.executable))
    command = ["minimize", str(spec), "--quiet", "--no-plots"]
    end_on_a_full_disk(command, 1500)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    told = [e["x"] for _, e in read_journal(journal).events if e["event"] == "tell"]
    assert 0 < len(told) < 6
    assert main(command) == 0
    after = [e["x"] for _, e in read_journal(journal).events if e["event"] == "tell"]
    assert after[: len(told)] == told
    assert len(after) == 6


# ---- a torn journal ----


def test_a_journal_torn_in_its_header_holds_no_run(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    Optimizer(BOUNDS, rng=0, journal=whole).close()
    raw = whole.read_bytes()
    for n in range(len(raw) - 1):
        torn.write_bytes(raw[:n])
        with pytest.raises(JournalError, match="nothing to resume"):
            Optimizer.resume(torn)
        beside = list(tmp_path.glob("torn.jsonl.torn-*"))
        assert [file.read_bytes() for file in beside] == [raw[:n]] * bool(n)
        for file in beside:
            file.unlink()
    torn.write_bytes(raw[:-1])
    Optimizer.resume(torn).close()


# ---- clocks ----


def test_no_decision_depends_on_the_wall_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run() -> Any:
        return minimize(
            value_at, BOUNDS, n_evals=12, n_initial=8, method="gp", rng=0, workers=2, max_time=3600.0
        )

    expected = run()
    rng = np.random.default_rng(0)
    monkeypatch.setattr(time, "time", lambda: float(rng.uniform(-1e9, 1e10)))
    jumping = run()
    assert jumping.status == expected.status == 0
    assert sorted(jumping.x_iters[:8]) == sorted(expected.x_iters[:8])


# ---- workers ----


def _dies(x: Any) -> float:
    if x[0] > 0.8:
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    return value_at(x)


def test_a_pool_that_breaks_ends_the_run_and_its_points_are_not_blamed(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with concurrent.futures.ProcessPoolExecutor(3) as pool:
        result = minimize(_dies, BOUNDS, n_evals=30, n_initial=30, rng=0, workers=pool, journal=journal)
    assert (result.status, result.success) == (7, False)
    assert "BrokenProcessPool" in result.message
    assert "survives the death of one" in result.message
    assert result.failures == []
    resumed = minimize(_dies, BOUNDS, n_evals=30, n_initial=30, rng=0, workers=2, journal=journal)
    assert resumed.nfev == 30
    assert resumed.x_iters[: result.nfev] == result.x_iters
    for x, y in zip(resumed.x_iters, resumed.func_vals, strict=True):
        assert np.isnan(y) == (x[0] > 0.8)


def test_outcomes_that_came_before_a_pool_broke_are_kept() -> None:
    class Pool:
        def submit(self, evaluate: Any, fun: Any, argument: Any) -> Any:
            future: concurrent.futures.Future[Any] = concurrent.futures.Future()
            if argument < 2:
                future.set_result(evaluate(fun, argument))
            else:
                future.set_exception(concurrent.futures.BrokenExecutor("gone"))
            return future

    crew = crew_for(Pool(), float, 3)
    for number in range(3):
        crew.submit(number, number)
    assert [outcome.value for _, outcome in crew.wait(None)] == [0.0, 1.0]
    with pytest.raises(WorkersError, match="gone"):
        crew.wait(0.0)


def test_outcomes_that_came_before_an_interrupt_are_kept() -> None:
    class Interrupted(concurrent.futures.Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            raise KeyboardInterrupt

    class Pool:
        def submit(self, evaluate: Any, fun: Any, argument: Any) -> Any:
            future: concurrent.futures.Future[Any] = (
                Interrupted() if argument else concurrent.futures.Future()
            )
            future.set_result(evaluate(fun, argument))
            return future

    crew = crew_for(Pool(), float, 2)
    for number in range(2):
        crew.submit(number, number)
    with pytest.raises(KeyboardInterrupt):
        crew.wait(None)
    assert [outcome.value for _, outcome in crew.wait(0.0)] == [0.0]


def _dies_later(x: float) -> float:
    if x:
        time.sleep(0.1)  # the other one has ended by then
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def test_outcomes_are_kept_if_a_process_that_died_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fork() -> int:
        raise BlockingIOError("no more processes")

    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda: fork)
    others = set(multiprocessing.active_children())  # the processes of a cluster that other tests share
    crew = crew_for(2, _dies_later)
    try:
        for number in range(2):
            crew.submit(number, float(number))
        while len(set(multiprocessing.active_children()) - others) > 1:
            time.sleep(0.01)
        monkeypatch.setattr(os, "fork", no_fork)
        with pytest.raises(WorkersError, match="no more processes"):
            crew.wait(None)
        kept = crew.wait(0.0)
        assert [(number, outcome.value) for number, outcome in kept] == [(0, 0.0), (1, None)]
    finally:
        crew.close()


# ---- two processes on one journal ----


def test_of_several_processes_on_a_new_journal_one_runs_and_the_others_are_refused(tmp_path: Path) -> None:
    def compete(number: int) -> None:
        campaign = Campaign(tmp_path, workers=1, n_evals=30)
        try:
            campaign.run()
        except JournalError as error:
            (tmp_path / f"refused{number}").write_text(str(error))

    children = [in_child(lambda number=number: compete(number)) for number in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    refused = [path.read_text() for path in tmp_path.glob("refused*")]
    assert len(refused) >= 1
    assert all("is in use by another process" in text or "exists already" in text for text in refused)
    tells = [
        json.dumps(e["x"]) for _, e in read_journal(tmp_path / "run.jsonl").events if e["event"] == "tell"
    ]
    assert len(tells) == len(set(tells)) == 30
    assert Campaign(tmp_path, workers=1, n_evals=30).repetitions() == 0
