"""Specs, commands and processes that the tests of the command line share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tcgp.record.journal import read_journal

EXAMPLES = Path(__file__).parents[2] / "examples" / "simulator"

# -I -S: an interpreter that reads no site-packages starts in a few milliseconds.
PYTHON = [sys.executable, "-I", "-S", "-c"]

BOWL = "import sys; x, y = map(float, sys.argv[1:]); print('cost', (x - 0.3) ** 2 + (y - 0.6) ** 2)"

TWO_REALS = """
[parameters]
x = {low = 0.0, high = 1.0}
y = {type = "real", low = 0.0, high = 1.0}
"""


def write_spec(folder, code, *, budget=12, top="", tables=TWO_REALS, arguments=("{x}", "{y}")):
    """A spec whose program is a few lines of Python."""
    path = folder / "spec.toml"
    lines = [
        f"command = {json.dumps([*PYTHON, code, *arguments])}",
        f"budget = {budget}",
        "seed = 1",
        top,
        tables,
    ]
    path.write_text("\n".join(lines))
    return path


def command(*arguments, stderr=subprocess.PIPE, **options):
    """Start the command in a process of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tcgp", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=environment,
        **options,
    )


def events(journal, kind):
    """The events of a kind in a journal, torn or not."""
    if not journal.exists() or not journal.stat().st_size:
        return []
    return [event for _, event in read_journal(journal).events if event["event"] == kind]


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def is_alive(pid):
    """Whether a process runs (a zombie, waiting to be reaped by its parent, does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:  # it has ended since, or this system has no /proc
        return not Path("/proc/self").exists()
    return state.rsplit(")", 1)[1].split()[0] != "Z"


def said(capsys):
    """What was said on standard error since the last look, as lines."""
    return capsys.readouterr().err.splitlines()
