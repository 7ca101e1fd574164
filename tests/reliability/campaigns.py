"""Campaigns that are killed at random moments and resumed, and what must hold: used here and in benchmarks/faults.py.

The function leaves a line in a log when an evaluation begins and another when it ends, so that the log, which knows
what was really evaluated, can be held against the journal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tcgp import minimize
from tcgp.journal import read_journal

BOUNDS = [(0.0, 1.0), (-2.0, 3.0)]


def value_at(x: Any) -> float:
    """What the function gives."""
    return float((x[0] - 0.3) ** 2 + np.sin(5.0 * x[1]))


@dataclass
class Campaign:
    """A run of `minimize` in a process of its own, which may be killed and started again.

    Attributes
    ----------
    directory : pathlib.Path
        Where the journal and the log are.
    workers : int
    n_evals : int
    n_kills : int
        How often it was killed so far.
    told : dict
        What the journal held at the last kill.
    """

    directory: Path
    workers: int
    n_evals: int
    rng: int = 0
    n_kills: int = 0
    told: dict[tuple[float, ...], float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.directory / "run.jsonl"

    @property
    def log(self) -> Path:
        return self.directory / "calls.log"

    def run(self) -> None:
        """Start or continue the run, here."""
        minimize(
            self._logged,
            BOUNDS,
            n_evals=self.n_evals,
            n_initial=self.n_evals - 10,
            method="gp",
            rng=self.rng,
            workers=self.workers,
            journal=self.journal,
        )

    def run_for(self, seconds: float) -> bool:
        """Start or continue the run in a child and kill it after a time; whether it ended before."""
        child = in_child(self.run)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return True
            time.sleep(0.0005)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):  # it ended just now
            return True
        self.n_kills += 1
        self._check_after_kill()
        return False

    def finish(self) -> list[str]:
        """Run to the end, and say what is wrong with the whole."""
        _, status = os.waitpid(in_child(self.run), 0)
        if status:
            self.faults.append(f"the last run ended with status {status}")
        self._check_after_kill()
        tells = [tuple(e["x"]) for _, e in read_journal(self.journal).events if e["event"] == "tell"]
        if len(tells) != self.n_evals or len(set(tells)) != self.n_evals:
            self.faults.append(f"{len(tells)} values at {len(set(tells))} points instead of {self.n_evals}")
        starts = Counter(x for word, x in self._lines() if word == "begin")
        repeated = sum(count - 1 for count in starts.values())
        if repeated > self.n_kills * self.workers:
            self.faults.append(f"{repeated} evaluations repeated after {self.n_kills} kills")
        if set(starts) != set(tells):
            self.faults.append("points evaluated and points told differ")
        return self.faults

    def points(self) -> list[list[float]]:
        """Points in the order in which they were asked."""
        return [e["x"] for _, e in read_journal(self.journal).events if e["event"] == "ask"]

    def _logged(self, x: Any) -> float:
        point = " ".join(float(u).hex() for u in x)
        _append(self.log, f"begin {os.getpid()} {point}\n")
        time.sleep(0.002)
        value = value_at(x)
        _append(self.log, f"end {os.getpid()} {point}\n")
        return value

    def _lines(self) -> list[tuple[str, tuple[float, ...]]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        parts = [line.split() for line in lines]
        return [(word, tuple(float.fromhex(u) for u in point)) for word, _, *point in parts]

    def _check_after_kill(self) -> None:
        """Nothing told before is gone or changed, values are right, and what was told was not evaluated again."""
        if not self.journal.exists() or not self.journal.read_bytes().count(b"\n"):
            return
        events = [event for _, event in read_journal(self.journal).events]
        told = {tuple(e["x"]): e["y"] for e in events if e["event"] == "tell"}
        if not told.items() >= self.told.items():
            self.faults.append("a value was lost or changed")
        if any(y != value_at(x) for x, y in told.items()):
            self.faults.append("a value is wrong")
        starts = Counter(x for word, x in self._lines() if word == "begin")
        again = [x for x in self.told if starts[x] > self._starts.get(x, 0)]
        if again:
            self.faults.append(f"{len(again)} points were evaluated again although they were told")
        self.told, self._starts = told, starts

    _starts: Counter[tuple[float, ...]] = field(default_factory=Counter)

    def leftover_processes(self, patience: float = 10.0) -> list[int]:
        """Processes that have evaluated something and still live after some patience."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        pids = {int(line.split()[1]) for line in lines} - {os.getpid()}
        deadline = time.monotonic() + patience
        while alive := [pid for pid in pids if _is_alive(pid)]:
            if time.monotonic() > deadline:
                return alive
            time.sleep(0.02)
        return []


def in_child(function: Callable[[], object]) -> int:
    """Call a function in a forked child and return the child's number; an exception is told, and exit code 1."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        function()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _append(path: Path, line: str) -> None:
    """Add a line at once, as lines of several processes must not mix."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return not Path("/proc/self").exists()
    return state != "Z"
