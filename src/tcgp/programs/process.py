"""Processes of external programs: start under a supervisor, find again, wait, kill.

A run may take hours and outlive the process that started it. The supervisor (see supervisor.py) stays with the program
and records how it ended.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tcgp.programs.output import parse_json, read_tail

__all__ = ["Process", "adopt", "is_running", "read_notes", "start", "unsupervised"]

logger = logging.getLogger("tcgp")

SUPERVISOR = Path(__file__).with_name("supervisor.py")

LONGEST_FAREWELL = 10.0  # seconds to wait for a supervisor to kill its program
ADOPTED_POLL = 0.1  # seconds between checks of a supervisor that another process started

# "No such file or directory", says the system of a script that is there.
_INTERPRETER = {
    errno.ENOENT: "the interpreter that it names is not there (a script with the line ends of Windows?)",
    errno.ENOEXEC: "Exec format error (a script begins with a line such as #!/bin/sh)",
}


def start(arguments: list[str], notes: Path, **options: Any) -> Process:
    """Start a program under a supervisor, which writes its notes to the file ``notes``.

    Parameters
    ----------
    arguments : list of str
        Absolute path of the program, followed by its arguments.
    notes : pathlib.Path
        File to create; it must not exist.
    **options
        Further arguments of `subprocess.Popen`.

    Returns
    -------
    Process

    Raises
    ------
    OSError
        If the program cannot be started.
    """
    if sys.platform == "win32" or not sys.executable:  # no executable: Python is embedded
        return Process(subprocess.Popen(arguments, start_new_session=True, **options), notes)
    receiver, sender = os.pipe()
    with os.fdopen(receiver) as pipe:
        try:
            command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(notes), str(sender), *arguments]
            supervisor = subprocess.Popen(command, start_new_session=True, pass_fds=[sender], **options)
        finally:
            os.close(sender)
        try:
            facts = parse_json(pipe.read())  # returns once the program has started
        except BaseException:
            Process(supervisor, notes, {"pid": supervisor.pid}).kill()
            raise
    if isinstance(facts, dict) and "error" not in facts:
        return Process(supervisor, notes, facts)
    supervisor.wait()
    if isinstance(facts, dict):
        number, reason, file = facts["error"]
        if file == arguments[0] and os.path.exists(file):  # it is not what is missing
            reason = _INTERPRETER.get(number, reason)
        raise OSError(number, reason, file)
    raise OSError(
        f"the supervisor of {arguments[0]!r} ended with exit code {supervisor.returncode} before its start"
    )


def adopt(arguments: list[str] | None, notes: Path) -> Process | None:
    """Return a program that another process started, if it is running or has left its exit code.

    If ``arguments`` are given, it must have been started with them.

    Return None if the program was killed or its machine went down, and on Windows. A program that has not started yet
    will not start any more; see ``_settle``.
    """
    if sys.platform == "win32":
        return None
    _settle(notes)
    facts = read_notes(notes)
    if not isinstance(facts.get("command"), list) or arguments not in (None, facts["command"]):
        return None
    process = Process(_Stranger(notes, facts), notes, facts)
    # The final note is written before the lock is released, so it must be read after the lock is checked.
    if process.has_ended and "code" not in read_notes(notes):
        return None
    return process


def _settle(notes: Path) -> None:
    """Wait for a supervisor that is starting its program; otherwise make sure that none starts it later.

    The process that requested the run may have been killed a moment ago. The program must not run twice.
    """
    import fcntl

    given_up = b"given up before it began\n"
    with contextlib.suppress(FileExistsError), notes.open("xb") as file:
        file.write(given_up)  # a later supervisor finds it and gives up
    end = time.monotonic() + LONGEST_FAREWELL
    with notes.open("ab") as file:
        while not os.fstat(file.fileno()).st_size:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # A supervisor is alive, and its first line will say that the program runs, however long the start
                # takes; without locks nobody knows, but there its first line comes before the start.
                if isinstance(error, BlockingIOError) or time.monotonic() < end:
                    time.sleep(0.005)
                    continue
            if not os.fstat(file.fileno()).st_size:
                file.write(given_up)
                file.flush()


class Process:
    """A running program.

    When the program ends or is killed, all processes that it started are killed too: on Linux all descendants, on other
    POSIX systems its process group. On Windows, `kill` ends the process tree, and processes that outlive a normal end
    are left alone.

    Parameters
    ----------
    supervisor : subprocess.Popen or _Stranger
        The supervisor, or the program itself if there is none.
    notes : pathlib.Path
        File with the notes of the supervisor.
    facts : mapping, optional
        The first note; None without a supervisor.

    Attributes
    ----------
    supervised : bool
        Whether there is a supervisor, so that another process can adopt the program.
    command : list of str
        The program and its arguments, from the supervisor's notes; empty without a supervisor.
    """

    def __init__(
        self,
        supervisor: subprocess.Popen[bytes] | _Stranger,
        notes: Path,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._supervisor, self._notes = supervisor, notes
        self.supervised = facts is not None
        # A program without a supervisor leads its own group, and so does a supervisor that has not started one yet.
        self._group: int = (facts or {}).get("program", supervisor.pid)
        self._begun: float = (facts or {}).get("started", time.time())
        self.command: list[str] = list((facts or {}).get("command", ()))
        self._is_here = facts is None or _is_here(facts)
        self._clock: float | None = (facts or {}).get("clock") if self._is_here else None

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended and the processes that it left behind have been killed."""
        return self._supervisor.poll() is not None

    @property
    def age(self) -> float:
        """Seconds since the start of the program."""
        # The time of day may have been set since, or the machine have slept: only this clock counts as a timeout does.
        now, begun = (time.time(), self._begun) if self._clock is None else (time.monotonic(), self._clock)
        return max(now - begun, 0.0)

    @property
    def code(self) -> int:
        """Exit code of the program, from the supervisor's notes if possible."""
        facts = read_notes(self._notes)
        return int(facts["code"]) if "code" in facts else int(self._supervisor.returncode or 0)

    @property
    def seconds(self) -> float | None:
        """Run time of the program, from the supervisor's notes; None if unknown."""
        seconds = read_notes(self._notes).get("seconds")
        return None if seconds is None else float(seconds)

    @property
    def met_a_full_disk(self) -> bool:
        """Whether the disk was full when the program ended, so that its output may be cut off."""
        facts = read_notes(self._notes)
        if not self.supervised:
            return sys.platform != "win32" and not _has_room(self._notes.parent)
        if "code" in facts:
            return bool(facts.get("full"))
        # A supervisor that was not killed has tried to write its last note, where nobody has deleted them.
        is_lost = self._notes.is_file() and (self._supervisor.returncode or 0) >= 0
        return is_lost or not _has_room(self._notes.parent)

    @property
    def removed_its_directory(self) -> bool:
        """Whether the directory of the run was gone when the program ended."""
        return bool(read_notes(self._notes).get("removed"))

    @property
    def timeout(self) -> float | None:
        """Seconds after which the program was killed because it took too long; None if it was not."""
        return read_notes(self._notes).get("timeout")

    def note_timeout(self, seconds: float) -> None:
        """Note that the program is about to be killed because it took too long; no adopter has to wait that long again.

        Without this note, a run that was killed could not be adopted, and would be repeated.
        """
        facts = read_notes(self._notes)
        if self.supervised and facts:
            facts |= {"code": -signal.SIGKILL, "seconds": self.age, "timeout": seconds}
            with contextlib.suppress(OSError), self._notes.open("a", encoding="utf-8") as notes:
                notes.write(json.dumps(facts) + "\n")

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the program to end; raise `subprocess.TimeoutExpired` after the timeout."""
        self._supervisor.wait(timeout)
        # A supervisor without a final note was killed, and its program may still be running.
        if self.supervised and self._is_here and "code" not in read_notes(self._notes):
            _signal(-self._group, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the program and all processes that it started; do nothing if it has ended."""
        if self.has_ended:
            return
        if not self._is_here:  # its numbers are those of other processes here
            logger.warning(
                "the program of run %s runs on another machine or in another container, and has to be killed there",
                self._notes.parent.name,
            )
            return
        if sys.platform == "win32":
            pid = str(self._supervisor.pid)
            subprocess.run(["taskkill", "/F", "/T", "/PID", pid], check=False, capture_output=True)
            self._supervisor.wait()
            return
        if self.supervised:
            _signal(self._supervisor.pid, signal.SIGTERM)  # it knows all processes of the program
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._supervisor.wait(LONGEST_FAREWELL)
        if not self.has_ended:
            _signal(self._supervisor.pid, signal.SIGKILL)
        _signal(-self._group, signal.SIGKILL)
        self._supervisor.wait()
        _await_end_of_group(self._group)


class _Stranger:
    """The supervisor of a program that another process started, with the interface of `subprocess.Popen`."""

    def __init__(self, notes: Path, facts: Mapping[str, Any]) -> None:
        self.pid: int = facts["pid"]
        self.returncode: int | None = None
        self._path, self._facts = notes, facts
        self._notes = notes.open("rb")  # the lock is visible even if somebody deletes the file

    def poll(self) -> int | None:
        """Return None while the supervisor is alive; a dead one has released its lock."""
        if self.returncode is None and not _is_alive(self._notes, read_notes(self._path) or self._facts):
            self.returncode = -signal.SIGKILL  # after a normal end, the notes contain the exit code
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a run under way", timeout or 0.0)
            time.sleep(ADOPTED_POLL)
        return code


def is_running(notes: Path) -> bool:
    """Return whether the program with these notes is running; False if unknown."""
    if sys.platform == "win32" or not notes.is_file():
        return False
    with notes.open("rb") as file:
        return _is_alive(file, read_notes(notes))


def unsupervised(notes: Path) -> int | None:
    """Return the process of a program that runs on without its supervisor, which was killed; None if there is none."""
    facts = read_notes(notes)
    if sys.platform == "win32" or is_running(notes) or "code" in facts or not _is_here(facts):
        return None
    from tcgp.programs.supervisor import birth

    program: int | None = facts.get("program")
    is_it = program is not None and facts.get("birth") is not None and birth(program) == facts["birth"]
    return program if is_it else None


def _is_here(facts: Mapping[str, Any]) -> bool:
    """Return whether the process numbers in notes are valid here; those of earlier versions do not say."""
    if sys.platform == "win32":
        return True
    from tcgp.programs.supervisor import machine

    return facts.get("machine") in (None, machine())


def read_notes(path: Path) -> dict[str, Any]:
    """Return the last valid line of a supervisor's notes, or an empty dict."""
    if not path.is_file():
        return {}
    for line in reversed(read_tail(path).splitlines()):
        facts = parse_json(line)
        if isinstance(facts, dict) and _is_sensible(facts):
            return facts
    return {}


def _is_sensible(facts: Mapping[str, Any]) -> bool:
    """Return whether notes have the format of a supervisor; the program can overwrite them."""
    numbers = (facts.get("pid"), facts.get("program", facts.get("pid")))
    times = (
        facts.get("started"),
        facts.get("seconds", 0.0),
        facts.get("timeout", 0.0),
        facts.get("clock", 0.0),
    )
    return (
        all(isinstance(number, int) and number > 1 for number in numbers)
        and isinstance(facts.get("code", 0), int)
        and all(isinstance(time, int | float) for time in times)
    )


def _is_alive(notes: BinaryIO, facts: Mapping[str, Any]) -> bool:
    """Return whether the supervisor that wrote these notes is alive: it holds a lock, where there are locks."""
    import fcntl

    if "code" in facts and "timeout" not in facts:  # its last note; the lock is released a moment later
        return False
    try:
        fcntl.flock(notes, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two readers do not see each other
    except BlockingIOError:
        return True
    except OSError:
        return _seems_alive(facts)
    fcntl.flock(notes, fcntl.LOCK_UN)
    return bool(facts.get("unlocked")) and _seems_alive(
        facts
    )  # it may have found no locks where we find some


def _seems_alive(facts: Mapping[str, Any]) -> bool:
    """Return whether a supervisor seems to be alive, by its process number and birth time.

    On another machine, it is believed to be alive until its final note: nobody starts its program a second time.
    """
    from tcgp.programs.supervisor import birth

    if "code" in facts or not facts:
        return False
    if _is_here(facts):
        if facts.get("own_birth") is None:  # no /proc here: the number has to do
            return _exists(facts["pid"])
        return bool(birth(facts["pid"]) == facts["own_birth"])
    return facts.get("host") not in (None, os.uname().nodename)  # the same machine has been started anew


def _has_room(directory: Path) -> bool:
    from tcgp.programs.supervisor import has_room

    return has_room(str(directory))


def _exists(pid: int) -> bool:
    """Return whether there is a process with this number."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _signal(number: int, which: int) -> None:
    """Send a signal to a process or, if the number is negative, to a process group; ignore those that have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, which)


def _await_end_of_group(number: int) -> None:
    """Wait until a killed process group has ended; its members are not our children, so we have to poll."""
    end = time.monotonic() + LONGEST_FAREWELL
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(number, 0)
            time.sleep(0.005)
