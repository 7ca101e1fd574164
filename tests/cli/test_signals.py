"""Stop ``tcgp minimize``, by real signals, and lose no simulation."""

from __future__ import annotations

import os
import signal

import pytest
from commands import BOWL, PYTHON, Forked, events, is_alive, wait_until, write_spec

import tcgp
from tcgp.cli import main
from tcgp.programs import ProgramCrew, Simulator
from tcgp.running.crews import Terminated

# Each run notes its start; from the third on it waits for the file "go" beside the spec, as long as simulations do.
HELD = f"""
import os, sys, time
open('../starts', 'a').write(os.path.basename(os.getcwd()) + ' ')
if os.path.basename(os.getcwd()) >= '0002':
    open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up')
    while not os.path.exists('../../../go'): time.sleep(0.01)
{BOWL}
"""


class Campaign:
    """A search with two runs under way."""

    def __init__(self, folder, *options):
        self.path = write_spec(folder, HELD, budget=6)
        self.folder = folder / "spec.tcgp"
        self.journal, self.runs = self.folder / "journal.jsonl", self.folder / "runs"
        self._said = folder / "said"
        with self._said.open("w") as said:
            self.process = Forked(
                "minimize", self.path, "--workers", "2", "--no-plots", *options, stderr=said
            )
        wait_until(lambda: len(list(self.runs.glob("*/up"))) == 2 or self.process.poll() is not None)
        assert self.process.poll() is None, self.said

    @property
    def said(self):
        return self._said.read_text()

    def hears(self, number, words):
        """Send a signal, and wait until the command says so."""
        self.process.send_signal(number)
        wait_until(lambda: words in self.said or self.process.poll() is not None)
        assert words in self.said

    def ended(self):
        out = self.process.communicate(timeout=60)[0]
        assert "Traceback" not in self.said
        return self.process.returncode, out

    @property
    def programs(self):
        return [int(file.read_text()) for file in sorted(self.runs.glob("*/up"))]

    def let_go(self):
        (self.folder.parent / "go").touch()

    def goes_on_to_the_end(self):
        """The same command again ends the campaign; every simulation was made once."""
        assert main(["minimize", str(self.path), "--workers", "2", "--no-plots"]) == 0
        assert sorted((self.runs / "starts").read_text().split()) == [f"{i:04d}" for i in range(6)]
        assert sorted(event["id"] for event in events(self.journal, "tell")) == list(range(6))


@pytest.fixture
def campaign(tmp_path):
    campaign = Campaign(tmp_path)
    yield campaign
    campaign.let_go()
    if campaign.process.poll() is None:
        campaign.process.kill()
        campaign.process.communicate()
    wait_until(lambda: not any(map(is_alive, campaign.programs)))


def test_ctrl_c_starts_nothing_new_and_waits_for_what_runs(campaign):
    campaign.hears(signal.SIGINT, "waiting for those in progress: runs 2, 3")
    assert all(map(is_alive, campaign.programs))
    campaign.let_go()
    code, out = campaign.ended()
    assert code == 130
    assert "stopped      interrupted\n" in out
    assert sorted(event["id"] for event in events(campaign.journal, "tell")) == [0, 1, 2, 3]
    assert len(events(campaign.journal, "ask")) == 4
    campaign.goes_on_to_the_end()


def test_a_second_ctrl_c_leaves_the_programs_to_the_next_start(campaign):
    campaign.hears(signal.SIGINT, "waiting for those in progress")
    campaign.hears(signal.SIGINT, "left running, and adopted by the next start: runs 2, 3")
    code, out = campaign.ended()
    assert code == 130
    assert "programs still running, adopted by the next start: runs 2, 3" in out
    assert all(map(is_alive, campaign.programs))
    assert sorted(event["id"] for event in events(campaign.journal, "tell")) == [0, 1]
    campaign.let_go()
    campaign.goes_on_to_the_end()


@pytest.fixture
def heard_signals():
    """Signals as a terminal leaves them: under nohup SIGHUP is ignored, by whatever is started too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_leaves_the_programs_and_says_so(number, campaign):
    campaign.hears(number, "terminated by a signal: left running, and adopted by the next start: runs 2, 3")
    assert campaign.ended()[0] == 130
    assert all(map(is_alive, campaign.programs))
    campaign.let_go()
    campaign.goes_on_to_the_end()


def test_a_program_that_vanishes_does_not_cost_the_runs_under_way(tmp_path):
    program = tmp_path / "simulate"
    program.write_text(
        "#!/bin/sh\n"
        "case $PWD in\n"
        "*0000) while [ ! -e ../0001/up ]; do sleep 0.02; done; rm ../../../simulate;;\n"
        "*0001) touch up; while [ ! -e ../../../go ]; do sleep 0.02; done;;\n"
        "esac\n"
        "echo 1$(basename $PWD)\n"
    )
    program.chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text(
        'command = ["./simulate", "{x}"]\nbudget = 9\nworkers = 2\n[parameters]\nx = {low = 0, high = 1}'
    )
    said = tmp_path / "said"
    with said.open("w") as file:
        process = Forked("minimize", path, "--no-plots", stderr=file)
    wait_until(
        lambda: "waiting for those in progress: run 1" in said.read_text() or process.poll() is not None
    )
    (tmp_path / "go").touch()
    out = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "there is no program" in out
    assert [e["y"] for e in events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")] == [10000.0, 10001.0]


def test_a_session_without_a_journal_ends_its_programs(tmp_path):
    """In Python, where nobody could find them again."""
    code = (
        "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up'); time.sleep(100)"
    )
    simulator = Simulator([*PYTHON, code], tmp_path)

    class Crew(ProgramCrew):
        def wait(self, timeout):
            wait_until((tmp_path / "0000" / "up").exists)
            raise Terminated

    result = tcgp.minimize(simulator, {"x": (0.0, 1.0)}, n_evals=5, rng=0, workers=Crew(simulator, 1))
    assert result.status == 6
    assert not is_alive(int((tmp_path / "0000" / "up").read_text()))
    assert os.path.exists(tmp_path / "0000" / "outcome.json")
