"""Stay with a program until it ends, and write down how, whatever becomes of the process that wanted to know.

A script, ``python -I -S supervisor.py NOTES READY PROGRAM ARGUMENT...``; it imports little, since every run starts it.
NOTES is a file that it locks as long as it lives. Its last line says what runs and since when and, in the end, how that
ended: a process that comes later sees by the lock whether the program still runs, and can wait for it. READY is a pipe
that gets the first of these lines once the program has started, or the error if it cannot. If NOTES is there, or
somebody writes to it before we do, the run was given up, and no program is started.

What the program leaves behind is killed when it ends. SIGTERM kills the program, with all it has started. On Linux that
takes in processes with a session of their own, because orphans become children of the supervisor; elsewhere it is the
process group of the program.
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

LONGEST_FAREWELL = 5.0  # seconds that killed processes may take to vanish

PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h


def main() -> int:
    path, ready, *arguments = sys.argv[1:]
    start = time.monotonic()
    facts: dict[str, Any] = {"pid": os.getpid(), "started": time.time(), "command": arguments}
    _adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: _give_up(facts.get("program")))
    try:
        notes = open(path, "x", encoding="utf-8")  # noqa: SIM115  (locked and open until the end)
        fcntl.flock(notes, fcntl.LOCK_EX)
        if os.fstat(notes.fileno()).st_size:
            raise FileExistsError(errno.EEXIST, "the run was given up")
        # In a session of its own: a program that signals its process group must not reach us. It inherits neither the
        # notes nor the pipe.
        program = subprocess.Popen(arguments, start_new_session=True)
        facts["program"] = program.pid
        _write(notes, facts)
    except OSError as error:
        _kill_all(facts.get("program"))
        _report(int(ready), {"error": [error.errno, error.strerror]})
        return 1
    _report(int(ready), facts)
    code = _wait(program)
    facts |= {"code": code, "seconds": time.monotonic() - start}
    _kill_all(program.pid)
    with contextlib.suppress(OSError):  # on a full disk the exit status must do
        _write(notes, facts)
    return code if code >= 0 else 128 - code


def _report(descriptor: int, message: dict[str, Any]) -> None:
    """Tell the process that wants the run of its start; if that has been killed, the program runs all the same."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "w") as pipe:
        pipe.write(json.dumps(message))


def _adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends, where the system knows such a thing."""
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):  # a Python without ctypes
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(program: subprocess.Popen[bytes]) -> int:
    """How the program ended. Orphans that end before it are reaped: no zombies gather in a long run."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program.pid:
            program.returncode = os.waitstatus_to_exitcode(status)
            return program.returncode


def _give_up(program: int | None) -> None:
    """Kill the program and end without a last word: nobody wants its value any more."""
    _kill_all(program)
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_all(program: int | None) -> None:
    """Kill the program's process group and all our children; their children become ours as they die."""
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
    """Kill a process or, if the number is negative, a group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)


def _children() -> list[int]:
    """Our children, where /proc knows them."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(number) for number in file.read().split()]
    return []


def _write(notes: TextIO, facts: dict[str, Any]) -> None:
    notes.write(json.dumps(facts) + "\n")
    notes.flush()
    os.fsync(notes.fileno())


if __name__ == "__main__":
    sys.exit(main())
