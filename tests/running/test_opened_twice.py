"""A journal that is opened once more in the process in which a run is at work with it."""

from __future__ import annotations

import threading

import pytest

import tcgp
from tcgp.record.file import JournalInUse
from tcgp.record.journal import read_journal

BOX = [(0.0, 1.0)]


def told(path):
    return [event["y"] for _, event in read_journal(path).events if event["event"] == "tell"]


def test_a_look_from_another_thread_costs_no_value(tmp_path):
    """A notebook whose run is in a thread, and a cell that resumes where it should have read."""
    path = tmp_path / "run.jsonl"
    begun, go = threading.Event(), threading.Event()
    results = []

    def fun(x):
        begun.set()
        assert go.wait(60.0)
        return float(x[0])

    def run():
        results.append(tcgp.minimize(fun, BOX, n_evals=3, rng=0, journal=path))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(60.0)
        for again in (tcgp.Optimizer.resume, lambda path: tcgp.minimize(fun, BOX, n_evals=9, journal=path)):
            with pytest.raises(JournalInUse, match="to look at it, use tcgp"):
                again(path)
        assert len(tcgp.Optimizer.read(path).history.pending) == 1
    finally:
        go.set()
        thread.join()
    assert told(path) == results[0].func_vals.tolist()
    assert len(told(path)) == 3
    with tcgp.Optimizer.resume(path) as optimizer:  # it has ended
        assert len(optimizer.evaluations) == 3


def test_a_run_that_an_error_has_ended_lets_its_journal_go(tmp_path):
    """A notebook's cell that crashed can be run again."""
    path = tmp_path / "run.jsonl"

    def meddle(result):
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            tcgp.minimize(lambda x: float(x[0]), BOX, n_evals=9, rng=0, journal=path, callback=meddle)
    assert len(told(path)) == 2
