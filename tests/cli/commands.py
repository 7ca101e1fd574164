"""Specs, commands and processes that the tests of the command line share."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tcgp.cli import main
from tcgp.record.journal import read_journal

importlib.import_module("tcgp.cli.minimize")  # before anything is forked

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


class Forked:
    """The command in a process forked from this one, where all that it imports is there already."""

    def __init__(self, *arguments, stderr=None, cwd=None):
        self._out, self._err = map(tempfile.TemporaryFile, ("w+", "w+"))
        self.returncode = None
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            for number, stream in ((1, self._out), (2, stderr or self._err)):
                os.dup2(stream.fileno(), number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", 1)
            os.chdir(cwd or ".")
            code = main([str(argument) for argument in arguments])
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def poll(self):
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        if self.poll() is None:
            self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=60.0):
        """Wait for the end; what was written to both streams."""
        wait_until(lambda: self.poll() is not None, timeout)
        for file in (self._out, self._err):
            file.seek(0)
        return self._out.read(), self._err.read()


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
