"""Campaigns on a file system that has no locks, as some network file systems; every `flock` fails here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from commands import command, events, is_alive, wait_until, write_spec

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)

ONE_REAL = "\n[parameters]\nx = {low = 0.0, high = 1.0}\n"
COUNTED = """
import os, sys, time
open('../../../starts', 'a').write(os.path.basename(os.getcwd()) + ' ')
open('up', 'w').close()
while os.path.exists('../../../hold'): time.sleep(0.01)
print(float(sys.argv[1]))
"""


@pytest.fixture
def no_locks(tmp_path, monkeypatch):
    source, library = tmp_path / "flock.c", tmp_path / "flock.so"
    source.write_text(
        "#include <errno.h>\nint flock(int fd, int how) { (void)fd; (void)how; errno = ENOLCK; return -1; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))


@pytest.fixture
def spec(tmp_path):
    return write_spec(tmp_path, COUNTED, budget=2, tables=ONE_REAL, arguments=("{x}",))


def ends(process):
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


def minimize(spec):
    return command("minimize", spec, "--quiet", "--no-plots")


def interrupted(spec):
    """Kill the command during its first run; the process number of that run's supervisor."""
    folder = spec.parent
    (folder / "hold").touch()
    process = minimize(spec)
    runs = folder / "spec.tcgp" / "runs"
    wait_until(lambda: (runs / "0000" / "up").exists() or process.poll() is not None)
    process.kill()
    process.communicate()
    return json.loads((runs / ".tcgp" / "0000" / "supervisor").read_text().splitlines()[-1])["pid"]


@pytest.mark.usefixtures("no_locks")
def test_a_campaign_is_run_without_locks(spec, tmp_path):
    code, _, err = ends(minimize(spec))
    assert code == 0, err
    assert "could not be locked" in err
    assert len(events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")) == 2
    assert ends(command("status", spec))[0] == 0


@pytest.mark.usefixtures("no_locks")
def test_a_run_under_way_is_found_and_not_started_twice(spec, tmp_path):
    interrupted(spec)
    code, out, _ = ends(command("status", spec))
    assert code == 0
    assert "still running, adopted by the next tcgp minimize: 0" in out
    (tmp_path / "hold").unlink()
    assert ends(minimize(spec))[0] == 0
    assert (tmp_path / "starts").read_text().split() == ["0000", "0001"]


@pytest.mark.usefixtures("no_locks")
def test_a_run_that_was_killed_too_is_made_again(spec, tmp_path):
    supervisor = interrupted(spec)
    os.kill(supervisor, signal.SIGTERM)  # it kills its program
    wait_until(lambda: not is_alive(supervisor))
    (tmp_path / "hold").unlink()
    assert "still run" not in ends(command("status", spec))[1]
    assert ends(minimize(spec))[0] == 0
    assert (tmp_path / "starts").read_text().split() == ["0000", "0000-2", "0001"]


def test_a_run_that_found_no_locks_is_found_where_there_are_some(spec, tmp_path, request):
    """The locks of a server can come back."""
    request.getfixturevalue("no_locks")
    interrupted(spec)
    del os.environ["LD_PRELOAD"]  # monkeypatch sets it back in the end
    assert "still running, adopted by the next tcgp minimize: 0" in ends(command("status", spec))[1]
    (tmp_path / "hold").unlink()
    process = minimize(spec)
    assert ends(process)[0] == 0
    assert (tmp_path / "starts").read_text().split() == ["0000", "0001"]
