"""Stay with a program until it ends, and write down how, whatever becomes of the process that wanted to know.

A script, ``python -I -S _supervisor.py NOTES READY PROGRAM ARGUMENT...``; it imports little, since every run starts it.
NOTES is a file that it locks as long as it lives. Its last line says what runs and since when and, in the end, how that
ended: a process that comes later sees by the lock whether the program still runs, and can wait for it. READY is a pipe,
closed once the program has started, or given the error if it cannot.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import time
from typing import TextIO


def main() -> int:
    path, ready, *arguments = sys.argv[1:]
    start = time.monotonic()
    facts = {"pid": os.getpid(), "started": time.time(), "command": arguments}
    with os.fdopen(int(ready), "w") as pipe:
        try:
            notes = open(path, "x", encoding="utf-8")  # noqa: SIM115  (locked and open until the end)
            fcntl.flock(notes, fcntl.LOCK_EX)
            _write(notes, facts)
            program = subprocess.Popen(arguments)  # it inherits neither the notes nor the pipe
        except OSError as error:
            pipe.write(json.dumps([error.errno, error.strerror]))
            return 1
    code = program.wait()
    with contextlib.suppress(OSError):  # on a full disk the exit status must do
        _write(notes, {**facts, "code": code, "seconds": time.monotonic() - start})
    return code if code >= 0 else 128 - code


def _write(notes: TextIO, facts: dict[str, object]) -> None:
    notes.write(json.dumps(facts) + "\n")
    notes.flush()
    os.fsync(notes.fileno())


if __name__ == "__main__":
    sys.exit(main())
