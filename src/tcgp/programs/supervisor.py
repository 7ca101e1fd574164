"""Supervise a program until it ends and record how it ended, even if the process that requested it is gone.

This is a script: ``python -I -S supervisor.py NOTES READY PROGRAM ARGUMENT...``. It imports little, because every run
starts it. NOTES is a file that the supervisor keeps locked as long as it is alive. The last line of NOTES says what is
running and since when and, finally, how it ended. The lock tells other processes whether the program is still running,
so that they can wait for it; on a file system without locks, the number and the birth time of the supervisor tell it.
READY is a pipe that receives the first line once the program has started, or the error if it cannot be started. If
NOTES already exists, or another process writes to it first, the run was given up, and no program is started.

When the program ends, the processes that it left behind are killed. SIGTERM kills the program and all processes that it
started. On Linux this includes processes in other sessions, because orphans become children of the supervisor; on other
systems it is the process group of the program.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, TextIO

LONGEST_FAREWELL = 5.0  # seconds to wait for killed processes to disappear

LEAST_ROOM = 1 << 14  # bytes that can be written where a disk is not full

PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h


def main() -> int:
    path, ready, *arguments = sys.argv[1:]
    start = time.monotonic()
    facts: dict[str, Any] = {"pid": os.getpid(), "started": time.time(), "command": arguments}
    facts |= {
        "machine": machine(),
        "host": os.uname().nodename,
        "own_birth": birth(os.getpid()),
        "clock": start,
    }
    _adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: _give_up(facts.get("program")))
    try:
        notes = open(path, "x", encoding="utf-8")  # noqa: SIM115  (locked and open until the end)
        if not _lock(notes):
            facts["unlocked"] = True
            _write(notes, facts)  # who we are, before there is a program
        elif os.fstat(notes.fileno()).st_size:
            raise FileExistsError(errno.EEXIST, "the run was given up")
        # A session of its own, because a program that signals its process group must not reach us. It inherits neither
        # the notes nor the pipe.
        program = subprocess.Popen(arguments, start_new_session=True)
        facts |= {"program": program.pid, "birth": birth(program.pid)}
        _write(notes, facts)
    except OSError as error:
        _kill_all(facts.get("program"))
        _report(int(ready), {"error": [error.errno, error.strerror, error.filename or path]})
        return 1
    _report(int(ready), facts)
    code = _wait(program)
    facts |= {"code": code, "seconds": time.monotonic() - start}
    _kill_all(program.pid)
    if not has_room(os.path.dirname(path)):
        facts["full"] = True
    try:
        os.getcwd()
    except FileNotFoundError:
        facts["removed"] = True
    with contextlib.suppress(OSError):  # without this note, nobody believes what the program has written
        _write(notes, facts)
    return code if code >= 0 else 128 - code


def machine() -> str:
    """Return what process numbers are valid on: this machine until its next boot or, on Linux, a container on it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:  # not Linux
        return os.uname().nodename


def birth(pid: int) -> int | None:
    """Return the time at which a process started, in ticks since the boot; None if it has ended or /proc is missing.

    Numbers of processes are used again; no other process with this number has the same time.
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        state, *fields = file.read().rpartition(b")")[2].split()
        return None if state in (b"Z", b"X") else int(fields[18])
    return None


def has_room(directory: str) -> bool:
    """Return whether something can be written to a directory; if not, the output of a program may be cut off.

    Many programs do not notice, and end as if all were well.
    """
    place = os.path.join(directory, f".{os.urandom(8).hex()}.room")
    try:
        with open(place, "xb") as file:
            file.write(bytes(LEAST_ROOM))
        return True
    except OSError as error:
        return error.errno == errno.EFBIG  # a limit on the size of files is no full disk
    finally:
        with contextlib.suppress(OSError):
            os.unlink(place)


def _lock(notes: TextIO) -> bool:
    """Lock the notes until we end; False if the file system has no locks."""
    try:
        fcntl.flock(notes, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno == errno.EINTR:
            raise
        return False
    return True


def _report(descriptor: int, message: dict[str, Any]) -> None:
    """Report the start to the process that requested the run; if it was killed, the program runs anyway."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "w") as pipe:
        pipe.write(json.dumps(message))


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants, if the system supports it."""
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):  # a Python without ctypes
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Wait for the program and return its exit code; also reap orphans, so that no zombies accumulate."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program.pid:
            program.returncode = os.waitstatus_to_exitcode(status)
            return program.returncode


def _give_up(program: int | None) -> None:
    """Kill the program and exit without a final note, because its value is no longer needed."""
    _kill_all(program)
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_all(program: int | None) -> None:
    """Kill the program's process group and all our children, whose children then become ours."""
    if program is not None:
        _kill(-program)
    end = time.monotonic() + LONGEST_FAREWELL
    with contextlib.suppress(ChildProcessError):  # there are none left
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for child in _children():
                    _kill(child)
                time.sleep(0.001)


def _kill(number: int) -> None:
    """Kill a process or, if the number is negative, a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)


def _children() -> list[int]:
    """Return our children, as far as /proc lists them."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(number) for number in file.read().split()]
    return []


def _write(notes: TextIO, facts: dict[str, Any]) -> None:
    notes.write(json.dumps(facts) + "\n")
    notes.flush()
    os.fsync(notes.fileno())


if __name__ == "__main__":
    sys.exit(main())
