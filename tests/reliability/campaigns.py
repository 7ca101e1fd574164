"""Campaigns that are killed at random moments and resumed, and what must hold.

Used here and in benchmarks/reliability/faults.py.

The function leaves an empty file, whose name tells all, when an evaluation begins and another when it ends: the log,
which knows what was really evaluated, can be held against the journal, and no limit on the size of files touches it.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
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
from tcgp.cli import main
from tcgp.record.journal import read_journal

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
    _begun: Counter[tuple[float, ...]] = field(default_factory=Counter)

    @property
    def journal(self) -> Path:
        return self.directory / "run.jsonl"

    @property
    def log(self) -> Path:
        return self.directory.with_name(self.directory.name + ".log")

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
        deadline = time.monotonic() + seconds
        return self.run_until(lambda: time.monotonic() >= deadline)

    def run_until(self, condition: Callable[[], bool]) -> bool:
        """Start or continue the run in a child and kill it once the condition holds; whether it ended before."""
        child = in_child(self.run)
        while not condition():
            if os.waitpid(child, os.WNOHANG)[0]:
                return True
            time.sleep(0.0005)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):  # it ended just now
            return True
        self.n_kills += 1
        self.check()
        return False

    def finish(self) -> list[str]:
        """Run to the end, and say what is wrong with the whole."""
        _, status = os.waitpid(in_child(self.run), 0)
        if status:
            self.faults.append(f"the last run ended with status {status}")
        self.check()
        tells = [tuple(e["x"]) for _, e in read_journal(self.journal).events if e["event"] == "tell"]
        if len(tells) != self.n_evals or len(set(tells)) != self.n_evals:
            self.faults.append(f"{len(tells)} values at {len(set(tells))} points instead of {self.n_evals}")
        if self.repetitions() > self.n_kills * self.workers:
            self.faults.append(f"{self.repetitions()} evaluations repeated after {self.n_kills} kills")
        if set(self.begun()) != set(tells):
            self.faults.append("points evaluated and points told differ")
        return self.faults

    def points(self) -> list[list[float]]:
        """Points in the order in which they were asked."""
        return [e["x"] for _, e in read_journal(self.journal).events if e["event"] == "ask"]

    def calls(self) -> list[tuple[str, int, tuple[float, ...]]]:
        """What the log knows: "begin" or "end", the process and the point, in order of time."""
        names = sorted(os.listdir(self.log)) if self.log.exists() else []
        parts = [name.split("_") for name in names]
        return [(word, int(pid), tuple(map(float.fromhex, point))) for _, word, pid, *point in parts]

    def begun(self) -> Counter[tuple[float, ...]]:
        """How often each point was begun to be evaluated."""
        return Counter(x for word, _, x in self.calls() if word == "begin")

    def repetitions(self) -> int:
        """Evaluations that were begun although they had been begun before."""
        return sum(count - 1 for count in self.begun().values())

    def _logged(self, x: Any) -> float:
        self._note("begin", x)
        time.sleep(0.002)
        value = value_at(x)
        self._note("end", x)
        return value

    def _note(self, word: str, x: Any) -> None:
        self.log.mkdir(exist_ok=True)
        point = "_".join(float(u).hex() for u in x)
        (self.log / f"{time.time_ns()}_{word}_{os.getpid()}_{point}").touch()

    def check(self) -> None:
        """After a kill: values are kept and right, and what was told has not been evaluated again."""
        if not self.journal.exists() or not self.journal.read_bytes().count(b"\n"):
            return
        events = [event for _, event in read_journal(self.journal).events]
        told = {tuple(e["x"]): e["y"] for e in events if e["event"] == "tell"}
        if not told.items() >= self.told.items():
            self.faults.append("a value was lost or changed")
        if any(y != value_at(x) for x, y in told.items()):
            self.faults.append("a value is wrong")
        begun = self.begun()
        again = [x for x in self.told if begun[x] > self._begun[x]]
        if again:
            self.faults.append(f"{len(again)} points were evaluated again although they were told")
        self.told, self._begun = told, begun

    def leftover_processes(self, patience: float = 60.0) -> list[int]:
        """Processes that have evaluated something and still live after some patience."""
        pids = {pid for _, pid, _ in self.calls()} - {os.getpid()}
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


def end_on_a_full_disk(arguments: list[str], size: int) -> None:
    """Run the command with files limited to ``size`` bytes: one sentence says that the journal is full."""

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            assert main(arguments) == 1
        assert "the journal cannot be written" in said.getvalue()
        assert "Traceback" not in said.getvalue()

    assert os.waitpid(in_child(run), 0)[1] == 0


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
