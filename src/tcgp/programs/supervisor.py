"""Supervise a program until it ends and record how it ended, even if the process that requested it is gone.

This is a script: ``python -I -S supervisor.py NOTES READY PROGRAM ARGUMENT...``. As every run starts it, it imports
only what is written in C, os and ctypes: with contextlib, json, signal, subprocess and typing, its start would take 1.7
times the processor time.

NOTES is a file that the supervisor keeps locked as long as it is alive. The last line of NOTES says what is running and
since when and, finally, how it ended. The lock tells other processes whether the program is still running, so that they
can wait for it; on a file system without locks, the number and the birth time of the supervisor tell it. READY is a
pipe that receives the first line once the program has started, or the error if it cannot be started. If NOTES already
exists, or another process writes to it first, the run was given up, and no program is started.

When the program ends, the processes that it left behind are killed. SIGTERM kills the program and all processes that it
started. On Linux this includes processes in other sessions, because orphans become children of the supervisor; on other
systems it is the process group of the program.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import errno
import fcntl
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

LONGEST_FAREWELL = 5.0  # seconds to wait for killed processes to disappear

LEAST_ROOM = 1 << 14  # bytes that can be written where a disk is not full

# In JSON; other characters that are not ASCII or not printable have numbers.
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

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
        os.set_inheritable(int(ready), False)
        program = _start(arguments)
        facts |= {"program": program, "birth": birth(program)}
        _write(notes, facts)
    except OSError as error:
        _kill_all(facts.get("program"))
        _report(int(ready), {"error": [error.errno, error.strerror, error.filename or path]})
        return 1
    _report(int(ready), facts)
    code = _wait(program)
    facts |= {"code": code, "seconds": time.monotonic() - start}
    _kill_all(program)
    if not has_room(os.path.dirname(path)):
        facts["full"] = True
    try:
        os.getcwd()
    except FileNotFoundError:
        facts["removed"] = True
    with suppress(OSError):  # without this note, nobody believes what the program has written
        _write(notes, facts)
    return code if code >= 0 else 128 - code


class suppress:
    """As that of contextlib."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


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
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
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
        with suppress(OSError):
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
    with suppress(BrokenPipeError), os.fdopen(descriptor, "w") as pipe:
        pipe.write(to_json(message))


def _start(arguments: list[str]) -> int:
    """Start the program in a session of its own, as it may signal its process group; its process number.

    It inherits neither the notes nor the pipe, and the signals that Python ignores have their usual effect.
    """
    receiver, sender = os.pipe()  # closed by a program that starts
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execv(arguments[0], arguments)
        except OSError as error:
            os.write(sender, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)
    os.close(sender)
    with os.fdopen(receiver) as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)), arguments[0])
    return pid


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants, if the system supports it."""
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):  # a Python without ctypes
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(program: int) -> int:
    """Wait for the program and return its exit code; also reap orphans, so that no zombies accumulate."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            return os.waitstatus_to_exitcode(status)


def _give_up(program: int | None) -> None:
    """Kill the program and exit without a final note, because its value is no longer needed."""
    _kill_all(program)
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_all(program: int | None) -> None:
    """Kill the program's process group and all our children, whose children then become ours."""
    if program is not None:
        _kill(-program)
    end = time.monotonic() + LONGEST_FAREWELL
    with suppress(ChildProcessError):  # there are none left
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for child in _children():
                    _kill(child)
                time.sleep(0.001)


def _kill(number: int) -> None:
    """Kill a process or, if the number is negative, a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)


def _children() -> list[int]:
    """Return our children, as far as /proc lists them."""
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(number) for number in file.read().split()]
    return []


def _write(notes: TextIO, facts: dict[str, Any]) -> None:
    notes.write(to_json(facts) + "\n")
    notes.flush()
    os.fsync(notes.fileno())


def to_json(value: Any) -> str:
    """Return what ``json.dumps`` does for text, numbers, lists and dictionaries of them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_json(key)}: {to_json(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_json, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    return {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))


def _escaped(letter: str) -> str:
    if letter in ESCAPES:
        return ESCAPES[letter]
    if " " <= letter <= "~":
        return letter
    units = letter.encode("utf-16-be", "surrogatepass")  # an argument that is not UTF-8 has lone surrogates
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


if __name__ == "__main__":
    sys.exit(main())
