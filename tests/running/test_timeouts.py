"""Evaluations in Python that do not end: their processes are killed, and the run goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import tcgp
from tcgp.running.crews import Processes


def hangs_on_the_right(x: Any) -> float:
    """A bowl that hangs where x > 0.8, deaf to SIGTERM, and leaves the number of its process."""
    if x[0] > 0.8:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(os.environ["TCGP_TEST_PIDS"], str(os.getpid())).touch()
        time.sleep(1000.0)
    return float((x[0] - 0.3) ** 2)


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TCGP_TEST_PIDS", str(tmp_path))
    monkeypatch.setattr("tcgp.running.crews.LONGEST_END", 0.1)
    return tmp_path


@pytest.mark.parametrize("workers", [1, 2])
def test_an_evaluation_that_hangs_fails_and_the_run_goes_on(workers: int, pids: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_evals": 8, "n_initial": 8, "rng": 1, "journal": tmp_path / "run.jsonl"}
    result = tcgp.minimize(hangs_on_the_right, [(0.0, 1.0)], workers=workers, timeout=2.0, **options)
    assert result.nfev == 8
    hung = [x for x in result.x_iters if x[0] > 0.8]
    assert len(hung) >= 1
    assert [reason for _, reason in result.failures] == ["no end after 2 s"] * len(hung)
    assert result.fun < 0.1
    found = [int(path.name) for path in pids.iterdir() if path.name.isdigit()]
    assert len(found) == len(hung)
    for pid in found:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_time_of_an_evaluation_begins_with_it(pids: Path) -> None:
    crew = Processes(hangs_on_the_right, 2, timeout=0.5)
    try:
        for number in range(2):
            crew.submit(number, [0.1])
            time.sleep(0.6)  # it has ended by now, and nobody has looked
        outcomes = []
        while len(outcomes) < 2:
            outcomes += crew.wait(60.0)
        assert [outcome.reason for _, outcome in outcomes] == [None, None]
        crew.submit(2, [0.9])
        assert crew.wait(0.0) == []
        ((number, outcome),) = crew.wait(60.0)
        assert (number, outcome.reason) == (2, "no end after 0.5 s")
    finally:
        crew.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout": 0}, "timeout must be a positive number of seconds or None, got 0"),
        ({"timeout": "1m"}, "timeout must be a positive number of seconds or None, got '1m'"),
        ({"timeout": 5.0, "workers": map}, "timeout needs worker processes, workers=n"),
    ],
)
def test_a_timeout_that_nobody_could_keep_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tcgp.minimize(hangs_on_the_right, [(0.0, 1.0)], n_evals=4, **options)
