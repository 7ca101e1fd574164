"""A beginner's first campaign, with all that goes wrong in it: the optimum is found, and no simulation is wasted."""

from __future__ import annotations

import json
import re
import signal

import pytest
from commands import TWO_REALS, Forked, events, wait_until, write_spec

from tcgp.cli import main

# A simulator that crashes in a part of the space, hangs once, and once finds no licence. Where a file "hold-0007" lies
# beside the spec, run 0007 takes as long as that file is there.
SIMULATOR = """
import json, os, sys, time
x, y = map(float, sys.argv[1:])
name = os.path.basename(os.getcwd())
open('../starts', 'a').write(name + ' ')
hold = '../../../hold-' + name
if os.path.exists(hold): open('up', 'w').close()
while os.path.exists(hold): time.sleep(0.01)
if name == '0004':
    time.sleep(1000)
if name == '0006':
    print('no licence left', file=sys.stderr); sys.exit(75)
if x > 0.85:
    print('the mesh is broken', file=sys.stderr); sys.exit(3)
print(json.dumps(dict(design=dict(cost=(x - 0.7) ** 2 + (y - 0.6) ** 2 + 1.0))))
"""

TOP = 'timeout = 6\ninitial_design = "sobol"\nn_initial = 8\nworkers = 2'
RETRIES = "\n[retries]\ndelay = 0\nexit_codes = [75]\n"
BUDGET = 20


class Beginner:
    """Who types commands, and looks at what they say."""

    def __init__(self, folder):
        self.folder, self.spec = folder, folder / "spec.toml"
        self.campaign = folder / "spec.tcgp"
        self.journal = self.campaign / "journal.jsonl"
        self.report = folder / "run.html"

    def writes_a_spec(self, key):
        tables = f"{TWO_REALS}[objective]\nkey = '{key}'\n{RETRIES}"
        write_spec(self.folder, SIMULATOR, budget=BUDGET, top=TOP, tables=tables)

    def minimizes(self):
        return main(["minimize", str(self.spec), "--no-plots", "--report", str(self.report)])

    def minimizes_until(self, run, act):
        """Start the search, and do something while a run is under way; its exit code."""
        hold = self.folder / f"hold-{run}"
        hold.touch()
        said = self.folder / "said"
        with said.open("w") as file:
            process = Forked("minimize", self.spec, "--no-plots", "--report", self.report, stderr=file)
        up = self.campaign / "runs" / run / "up"
        wait_until(lambda: up.exists() or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        act(process, said)
        hold.unlink()
        process.communicate(timeout=60)
        return process.returncode

    def starts(self):
        return (self.campaign / "runs" / "starts").read_text().split()


def test_all_that_can_go_wrong_wastes_nothing(tmp_path, capsys):
    beginner = Beginner(tmp_path)

    # A wrong key: it is said after the runs that were under way, and costs none of them.
    beginner.writes_a_spec("design.costs")
    assert main(["minimize", str(beginner.spec), "--dry-run"]) == 0
    assert "objective   minimize the key 'design.costs'" in capsys.readouterr().out
    assert beginner.minimizes() == 1
    assert "did you mean 'design.cost'?" in capsys.readouterr().out
    assert len(beginner.starts()) <= 4
    beginner.writes_a_spec("design.cost")

    # Ctrl-C while a simulation runs: it is waited for.
    def interrupt(process, said):
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "waiting for those in progress" in said.read_text())

    assert beginner.minimizes_until("0005", interrupt) == 130
    assert re.search("[34] failures have a value now", (tmp_path / "said").read_text())
    assert 5 in [event["id"] for event in events(beginner.journal, "tell")]

    # A kill by force: the simulation goes on, and the next start takes it up.
    assert beginner.minimizes_until("0010", lambda process, _: process.kill()) == -signal.SIGKILL
    assert main(["status", str(beginner.spec)]) == 0
    assert "no process is working on it" in capsys.readouterr().out

    # Old results come along. One of them was typed wrongly, and would be the best: it is corrected.
    old = tmp_path / "old.csv"
    old.write_text("x,y,cost\n0.2,0.2,1.41\n0.5,0.5,0.05\n")
    assert main(["import", str(beginner.journal), str(old), "--objective", "cost"]) == 0
    assert "the best is 0.05" in capsys.readouterr().out
    assert main(["tell", str(beginner.journal), "--x", '{"x": 0.5, "y": 0.5}', "--correct", "1.05"]) == 0
    assert "corrected, it was 0.05" in capsys.readouterr().out
    assert beginner.minimizes() == 0
    shown = capsys.readouterr().out

    # Every simulation was started once, and once more where the licence was missing.
    assert sorted(beginner.starts()) == sorted([*(f"{i:04d}" for i in range(BUDGET)), "0006-retry1"])
    assert [event["id"] for event in events(beginner.journal, "retry")] == [6]
    told = events(beginner.journal, "tell")
    assert [event["y"] for event in told if event["id"] is None] == [1.41, 0.05]
    tells = {event["id"]: event for event in told if event["id"] is not None}
    corrected = {event["id"]: event for event in events(beginner.journal, "correct")}
    assert corrected.pop(None)["y"] == 1.05
    values = tells | corrected
    assert sorted(tells) == list(range(BUDGET))
    reasons = {number: event["reason"] for number, event in values.items() if event["y"] is None}
    assert reasons.pop(4) == "no end after 6 s"
    assert set(reasons.values()) <= {"exit code 3: the mesh is broken"}
    assert all(values[number]["x"][0] > 0.85 for number in reasons)

    # The right optimum, in the summary and in the report.
    best = min((e for e in values.values() if e["y"] is not None), key=lambda e: e["y"])
    assert best["x"] == pytest.approx([0.7, 0.6], abs=2e-2)
    assert f"best value   {best['y']!r}" in shown
    page = beginner.report.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["state"]["running"] is False
    assert data["evaluations"]["y"][data["shown"]] == pytest.approx(best["y"], rel=1e-11)  # twelve digits
