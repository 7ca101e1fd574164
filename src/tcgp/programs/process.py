"""A program in a process: started under a supervisor, found again, waited for, killed.

A run may take hours, and outlive the process that wanted its value. The supervisor (see supervisor.py) stays with it
and writes down how it ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tcgp.programs.output import parse_json, read_tail

__all__ = ["Process", "adopt", "is_running", "read_notes", "start"]

SUPERVISOR = Path(__file__).with_name("supervisor.py")

LONGEST_FAREWELL = 10.0  # seconds that a supervisor may take to kill its program
ADOPTED_POLL = 0.1  # seconds between two looks at a supervisor that another process has started


def start(arguments: list[str], notes: Path, **options: Any) -> Process:
    """Start a program under a supervisor, which keeps its notes in the file ``notes``.

    Parameters
    ----------
    arguments : list of str
        Absolute path of the program, and its arguments.
    notes : pathlib.Path
        A file that does not exist.
    **options
        Of `subprocess.Popen`.

    Returns
    -------
    Process

    Raises
    ------
    OSError
        If the program cannot be started.
    """
    if sys.platform == "win32" or not sys.executable:  # the latter in a program that embeds Python
        return Process(subprocess.Popen(arguments, start_new_session=True, **options), notes)
    receiver, sender = os.pipe()
    with os.fdopen(receiver) as pipe:
        try:
            command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(notes), str(sender), *arguments]
            supervisor = subprocess.Popen(command, start_new_session=True, pass_fds=[sender], **options)
        finally:
            os.close(sender)
        try:
            facts = parse_json(pipe.read())  # which ends when the program has started
        except BaseException:
            Process(supervisor, notes, {"pid": supervisor.pid}).kill()
            raise
    if isinstance(facts, dict) and "error" not in facts:
        return Process(supervisor, notes, facts)
    supervisor.wait()
    if isinstance(facts, dict):
        number, reason = facts["error"]
        raise OSError(number, reason, arguments[0])
    raise OSError(
        f"the supervisor of {arguments[0]!r} ended with exit code {supervisor.returncode} before its start"
    )


def adopt(arguments: list[str], notes: Path) -> Process | None:
    """The program with these arguments that another process has started, if it still runs or has left its exit code.

    There is none if it was killed, or its machine went down; and none on Windows. One that has not begun by now
    will not begin any more: see ``_settle``.
    """
    if sys.platform == "win32":
        return None
    _settle(notes)
    facts = read_notes(notes)
    if facts.get("command") != arguments:
        return None
    process = Process(_Stranger(notes, facts["pid"]), notes, facts)
    # The last word is written before the lock is let go: it is read after the look at the lock.
    if process.has_ended and "code" not in read_notes(notes):
        return None
    return process


def _settle(notes: Path) -> None:
    """Wait for a supervisor that is about to start its program, and stop one that has not got so far.

    Whoever wanted the run may have been killed a moment ago. What is started anew now must not run twice.
    """
    import fcntl

    end = time.monotonic() + LONGEST_FAREWELL
    with notes.open("ab") as file:  # if this creates it, a supervisor to come will find it and give up
        while not os.fstat(file.fileno()).st_size and time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # it is there: its first line says that the program runs
                time.sleep(0.005)
                continue
            if not os.fstat(file.fileno()).st_size:
                file.write(b"given up before it began\n")
                file.flush()


class Process:
    """A program under way.

    When it ends, and when it is killed, all it has started is killed too: on Linux every descendant, elsewhere on POSIX
    its process group. On Windows `kill` ends the tree of processes, and what outlives a normal end stays.

    Parameters
    ----------
    supervisor : subprocess.Popen, or a process of others
        The supervisor or, without one, the program.
    notes : pathlib.Path
        The supervisor's notes.
    facts : mapping, optional
        The first of these notes; None without a supervisor.

    Attributes
    ----------
    supervised : bool
        Whether there is a supervisor, so that another process can find the program again.
    """

    def __init__(
        self,
        supervisor: subprocess.Popen[bytes] | _Stranger,
        notes: Path,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._supervisor, self._notes = supervisor, notes
        self.supervised = facts is not None
        # A program without a supervisor leads its own group; so does a supervisor that has not started one yet.
        self._group: int = (facts or {}).get("program", supervisor.pid)
        self._begun: float = (facts or {}).get("started", time.time())

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended, and what it left behind has been killed."""
        return self._supervisor.poll() is not None

    @property
    def age(self) -> float:
        """Seconds since the start of the program."""
        return max(time.time() - self._begun, 0.0)

    @property
    def code(self) -> int:
        """How the program ended; the supervisor says it, unless it was killed too or there is none."""
        facts = read_notes(self._notes)
        return int(facts["code"]) if "code" in facts else int(self._supervisor.returncode or 0)

    @property
    def seconds(self) -> float | None:
        """How long the program took, if its supervisor says so."""
        seconds = read_notes(self._notes).get("seconds")
        return None if seconds is None else float(seconds)

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the end; `subprocess.TimeoutExpired` if it does not come in time."""
        self._supervisor.wait(timeout)
        # A supervisor without a last word was killed, and its program may live.
        if self.supervised and "code" not in read_notes(self._notes):
            _signal(-self._group, signal.SIGKILL)

    def kill(self) -> None:
        """End the program and all it has started; nothing happens if it has ended."""
        if self.has_ended:
            return
        if sys.platform == "win32":
            pid = str(self._supervisor.pid)
            subprocess.run(["taskkill", "/F", "/T", "/PID", pid], check=False, capture_output=True)
            self._supervisor.wait()
            return
        if self.supervised:
            _signal(self._supervisor.pid, signal.SIGTERM)  # it knows all that there is to kill
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._supervisor.wait(LONGEST_FAREWELL)
        if not self.has_ended:
            _signal(self._supervisor.pid, signal.SIGKILL)
        _signal(-self._group, signal.SIGKILL)
        self._supervisor.wait()
        _await_end_of_group(self._group)


class _Stranger:
    """The supervisor of a program that another process started, as `subprocess.Popen` would show it."""

    def __init__(self, notes: Path, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._notes = notes.open("rb")  # the lock can be seen even if the program deletes the file

    def poll(self) -> int | None:
        """None as long as it lives; a dead one has let go of its lock."""
        if self.returncode is None and not _is_locked(self._notes):
            self.returncode = -signal.SIGKILL  # if it had ended by itself its notes would say more
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a run under way", timeout or 0.0)
            time.sleep(ADOPTED_POLL)
        return code


def is_running(notes: Path) -> bool:
    """Whether the program whose supervisor keeps these notes runs; False where that cannot be told."""
    if sys.platform == "win32" or not notes.is_file():
        return False
    with notes.open("rb") as file:
        return _is_locked(file)


def read_notes(path: Path) -> dict[str, Any]:
    """The last whole line of a supervisor's notes; nothing if there is none that makes sense."""
    if not path.is_file():
        return {}
    for line in reversed(read_tail(path).splitlines()):
        facts = parse_json(line)
        if isinstance(facts, dict) and _is_sensible(facts):
            return facts
    return {}


def _is_sensible(facts: Mapping[str, Any]) -> bool:
    """Whether notes, which lie where the program can write, are of the kind that a supervisor makes."""
    numbers = (facts.get("pid"), facts.get("program", facts.get("pid")))
    times = (facts.get("started"), facts.get("seconds", 0.0))
    return (
        all(isinstance(number, int) and number > 1 for number in numbers)
        and isinstance(facts.get("code", 0), int)
        and all(isinstance(time, int | float) for time in times)
    )


def _is_locked(notes: BinaryIO) -> bool:
    """Whether the supervisor that wrote these notes lives."""
    import fcntl

    try:
        fcntl.flock(notes, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that look do not see each other
    except BlockingIOError:
        return True
    fcntl.flock(notes, fcntl.LOCK_UN)
    return False


def _signal(number: int, which: int) -> None:
    """Send a signal to a process or, if the number is negative, to a group; those that have gone need none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, which)


def _await_end_of_group(number: int) -> None:
    """Wait until a killed process group has gone; its members are no children of ours that we could wait for."""
    end = time.monotonic() + LONGEST_FAREWELL
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(number, 0)
            time.sleep(0.005)
