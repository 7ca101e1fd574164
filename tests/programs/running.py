"""Programs to run in the tests, and a look at processes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tcgp.programs import Simulator

# -I -S: an interpreter that reads no site-packages starts in a few milliseconds.
PYTHON = [sys.executable, "-I", "-S", "-c"]


def simulator(code, *arguments, runs, **options):
    """A program of a few lines of Python."""
    return Simulator([*PYTHON, code, *arguments], runs, **options)


def is_alive(pid):
    """Whether a process runs (a zombie, waiting to be reaped by its parent, does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
