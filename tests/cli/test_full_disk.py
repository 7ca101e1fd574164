"""A disk that is full: a program that does not notice leaves half a number, and nobody believes it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from commands import PYTHON, Forked, events, wait_until, write_spec

from tcgp.cli import main

ONE_REAL = "\n[parameters]\nx = {low = 0.0, high = 1.0}\n[objective]\npattern = 'cost = (\\S+)'\n"

# Fills the disk if there is a file "fill" beside the spec, and ignores that its output is cut off in a number, which
# lies across the end of a page. Then it is held as long as there is a file "hold".
CARELESS = """
import os, sys, time
here = '../../..'
open(here + '/starts', 'a').write(os.path.basename(os.getcwd()) + ' ')
os.write(1, b'-' * 4080 + b'\\n')
if os.path.exists(here + '/fill'):
    with open(here + '/small/filler', 'wb', buffering=0) as filler:
        try:
            while filler.write(bytes(4096)): pass
        except OSError: pass
try:
    os.write(1, b'cost = 1235.4493391\\n')
except OSError: pass
open(here + '/ended', 'w').close()
while os.path.exists(here + '/hold'): time.sleep(0.01)
"""


@pytest.fixture
def small(tmp_path):
    """A small file system."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = (
        sys.platform == "linux"
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def spec(tmp_path, small):
    code = CARELESS.replace("here = '../../..'", f"here = {str(tmp_path)!r}")
    return write_spec(tmp_path, code, budget=3, tables=ONE_REAL, arguments=("{x}",))


def minimize(spec, small):
    return [
        str(part) for part in ("minimize", spec, "--journal", small / "run.jsonl", "--quiet", "--no-plots")
    ]


def told(small):
    return [event["y"] for event in events(small / "run.jsonl", "tell")]


def test_half_a_number_is_not_told(spec, small, tmp_path, capsys):
    (tmp_path / "fill").touch()
    assert main(minimize(spec, small)) == 1
    out = capsys.readouterr().out
    assert "the disk is full" in out
    assert "the run is made again once there is room" in out
    assert (small / "runs" / "0000" / "stdout.txt").read_text().endswith("cost = 1235.449")
    assert told(small) == []
    assert len(events(small / "run.jsonl", "ask")) == 1
    (tmp_path / "fill").unlink()
    (small / "filler").unlink()
    assert main(minimize(spec, small)) == 0
    assert told(small) == [1235.4493391] * 3
    assert (tmp_path / "starts").read_text().split() == ["0000", "0000-2", "0001", "0002"]


def test_half_a_number_is_not_told_by_the_next_start_either(spec, small, tmp_path):
    """The command is killed before the program ends, and there is room again when it is given anew."""
    for name in ("fill", "hold"):
        (tmp_path / name).touch()
    process = Forked(*minimize(spec, small))
    wait_until(lambda: (tmp_path / "ended").exists() or process.poll() is not None)
    process.kill()
    process.communicate()
    (tmp_path / "hold").unlink()
    notes = small / "runs" / ".tcgp" / "0000" / "supervisor"
    wait_until(lambda: '"code"' in notes.read_text())
    (tmp_path / "fill").unlink()
    (small / "filler").unlink()
    assert main(minimize(spec, small)) == 0
    assert told(small) == [1235.4493391] * 3


def test_the_runs_beside_one_that_is_lost_are_told(spec, small, tmp_path):
    from tcgp.programs import ProgramCrew, Simulator
    from tcgp.running.crews import WorkersError

    code = f"""
import os, sys, time
while not os.path.exists({str(tmp_path)!r} + '/go-' + sys.argv[1]): time.sleep(0.01)
print(sys.argv[1])
"""
    crew = ProgramCrew(Simulator([*PYTHON, code, "{x}"], small / "runs"), 2)
    crew.submit(0, {"x": 1})
    crew.submit(1, {"x": 2})
    (tmp_path / "go-1").touch()
    ((number, outcome),) = crew.wait(60.0)
    assert (number, outcome.value) == (0, 1.0)
    dd = ["dd", "if=/dev/zero", f"of={small / 'filler'}", "bs=4k"]
    assert subprocess.run(dd, check=False, capture_output=True).returncode == 1
    (tmp_path / "go-2").touch()
    with pytest.raises(WorkersError, match="the disk is full"):
        crew.wait(60.0)
    assert crew.under_way == []
    assert crew.wait(0.0) == []
    crew.close()


def test_a_campaign_on_a_read_only_mount_is_shown_and_not_continued(small, tmp_path, capsys):
    spec = write_spec(tmp_path, "print('cost = 5')", budget=2, tables=ONE_REAL, arguments=("{x}",))
    assert main(minimize(spec, small)) == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    capsys.readouterr()
    assert main([*minimize(spec, small), "--budget", "4"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("cannot be opened: Read-only file system")
    assert main(["status", str(small / "run.jsonl")]) == 0
    assert "evaluations  2" in capsys.readouterr().out
    assert len(told(small)) == 2
