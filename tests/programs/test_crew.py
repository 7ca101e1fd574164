"""Several runs at a time, each under the number of its proposal."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import sys

import pytest

import tcgp
from running import is_alive, simulator, wait_until
from tcgp.programs import ClusterCrew, ProgramCrew, Simulator
from tcgp.running.crews import Crew, Terminated, WorkersError, crew_for


@pytest.fixture
def crew_of():
    """Makes crews, and closes them in the end."""
    crews = []

    def make(program, capacity=1):
        crews.append(ProgramCrew(program, capacity))
        return crews[-1]

    yield make
    for crew in crews:
        crew.close()


def wait_for_all(crew, n):
    outcomes = {}
    while len(outcomes) < n:
        outcomes.update(crew.wait(60.0))
    return outcomes


def test_runs_go_side_by_side_and_reasons_are_given_as_they_are(tmp_path, crew_of):
    # Each run waits for the other's sign of life: one after the other they would never end.
    code = (
        "import os, sys, time; me, other = sys.argv[1:]\n"
        "open(f'../{me}.up', 'w')\n"
        "while not os.path.exists(f'../{other}.up'): time.sleep(0.01)\n"
        "sys.exit(4) if me == 'a' else print(8)"
    )
    crew = crew_of(simulator(code, "{me}", "{other}", runs=tmp_path, timeout=60.0), 2)
    crew.submit(7, {"me": "a", "other": "b"})
    crew.submit(8, {"me": "b", "other": "a"})
    outcomes = wait_for_all(crew, 2)
    assert (outcomes[7].value, outcomes[7].reason) == (None, "exit code 4")
    assert (outcomes[8].value, outcomes[8].reason) == (8.0, None)
    assert all(outcome.seconds > 0.0 for outcome in outcomes.values())


def test_a_run_works_in_the_directory_of_its_number(tmp_path, crew_of):
    crew = crew_of(simulator("print(1)", runs=tmp_path), 3)
    for number in (0, 12, 34567):
        crew.submit(number, {"x": number})
    wait_for_all(crew, 3)
    found = {
        path.parent.name: json.loads(path.read_text())["x"] for path in tmp_path.glob("*/parameters.json")
    }
    assert found == {"0000": 0, "0012": 12, "34567": 34567}


def test_two_proposals_of_the_same_point_have_runs_of_their_own(tmp_path, crew_of):
    crew = crew_of(simulator("import os; print(int(os.path.basename(os.getcwd())))", runs=tmp_path), 2)
    crew.submit(3, {"x": 1})
    crew.submit(4, {"x": 1})
    assert {n: outcome.value for n, outcome in wait_for_all(crew, 2).items()} == {3: 3.0, 4: 4.0}


def test_waiting_ends_when_the_time_is_up(tmp_path, crew_of):
    crew = crew_of(simulator("import time; time.sleep(100)", runs=tmp_path))
    crew.submit(0, {})
    assert crew.wait(0.01) == []
    assert crew.wait(0.0) == []


def test_closing_ends_what_runs(tmp_path, crew_of):
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(100)"
    crew = crew_of(simulator(code, runs=tmp_path))
    crew.submit(5, {})
    pid = tmp_path / "0005" / "pid"
    wait_until(lambda: pid.exists() and pid.read_text())
    crew.close()
    assert not is_alive(int(pid.read_text()))
    assert json.loads((tmp_path / "0005" / "outcome.json").read_text())["reason"] == "stopped before its end"
    crew.close()  # a second time does nothing


def test_what_hinders_the_start_is_not_blamed_on_the_point(tmp_path, crew_of):
    with pytest.raises(WorkersError, match=r"the program cannot be started: there is no program '.*gone'"):
        crew_of(Simulator(["./gone"], tmp_path)).submit(0, {})


def test_a_crew_has_at_least_one_place(tmp_path):
    with pytest.raises(ValueError, match="capacity must be at least 1, got 0"):
        ProgramCrew(Simulator([sys.executable], tmp_path), 0)


def test_a_crew_is_taken_as_it_is(tmp_path, crew_of):
    crew = crew_of(simulator("print(1)", runs=tmp_path))
    assert isinstance(crew, Crew)
    assert crew_for(crew, lambda x: 0.0, 7) is crew


def test_minimize_drives_a_crew_and_closes_it(tmp_path, crew_of):
    program = simulator("import sys; print((float(sys.argv[1]) - 0.3) ** 2)", "{x}", runs=tmp_path / "runs")
    crew = crew_of(program, 2)
    result = tcgp.minimize(program, {"x": tcgp.Real(0, 1)}, n_evals=6, rng=0, workers=crew)
    assert result.nfev == 6
    assert sorted(path.name for path in (tmp_path / "runs").glob("[0-9]*")) == [f"{i:04d}" for i in range(6)]
    with pytest.raises(RuntimeError, match="the crew is closed"):
        crew.submit(6, {"x": 0.5})


def test_a_program_that_cannot_start_ends_minimize_with_status_7(tmp_path, crew_of):
    program = Simulator(["./gone", "{x}"], tmp_path)
    result = tcgp.minimize(program, {"x": tcgp.Real(0, 1)}, n_evals=6, rng=0, workers=crew_of(program))
    assert (result.status, result.nfev) == (7, 0)
    assert "there is no program" in result.message


# Notes its start; the second run waits for the file "go" beside the journal.
HELD = """
import os, time
name = os.path.basename(os.getcwd())
open('../starts', 'a').write(name + ' '); open('up', 'w').close()
while name == '0001' and not os.path.exists('../../go'): time.sleep(0.01)
print(1.0)
"""


@pytest.mark.parametrize(
    ("interrupts", "error"), [(0, ZeroDivisionError), (0, OSError), (1, OSError), (1, ZeroDivisionError)]
)
def test_an_error_leaves_the_programs_under_way_to_the_next_start(tmp_path, interrupts, error):
    """As of a callback or a full disk; also while what is under way is waited for after Ctrl-C."""
    program = simulator(HELD, runs=tmp_path / "runs")

    class InterruptedCrew(ProgramCrew):
        left = interrupts

        def wait(self, timeout):
            wait_until(lambda: len(list((tmp_path / "runs").glob("*/up"))) == 2)
            if self.left:
                self.left -= 1
                raise KeyboardInterrupt
            return super().wait(timeout)

    def fail(result):
        raise error

    options = {"n_evals": 2, "rng": 0, "journal": tmp_path / "run.jsonl"}
    with pytest.raises(error):
        tcgp.minimize(
            program, {"x": (0.0, 1.0)}, workers=InterruptedCrew(program, 2), callback=fail, **options
        )
    (tmp_path / "go").touch()
    assert tcgp.minimize(program, {"x": (0.0, 1.0)}, workers=ProgramCrew(program, 2), **options).nfev == 2
    assert sorted((tmp_path / "runs" / "starts").read_text().split()) == ["0000", "0001"]


@pytest.mark.parametrize("interrupts", [1, 2, 3])
def test_further_signals_while_programs_are_left_kill_none(tmp_path, interrupts):
    """A terminal that is closed sends SIGHUP more than once, and systemd SIGTERM and SIGHUP together."""
    program = simulator(HELD, runs=tmp_path / "runs")

    class InterruptedCrew(ProgramCrew):
        left = interrupts

        def wait(self, timeout):
            wait_until((tmp_path / "runs" / "0001" / "up").exists)
            raise Terminated

        def leave(self):
            if self.left:
                self.left -= 1
                raise Terminated
            return super().leave()

    options = {"n_evals": 2, "rng": 0, "journal": tmp_path / "run.jsonl"}
    with contextlib.suppress(Terminated):
        tcgp.minimize(program, {"x": (0.0, 1.0)}, workers=InterruptedCrew(program, 2), **options)
    (tmp_path / "go").touch()
    assert tcgp.minimize(program, {"x": (0.0, 1.0)}, workers=ProgramCrew(program, 2), **options).nfev == 2
    assert sorted((tmp_path / "runs" / "starts").read_text().split()) == ["0000", "0001"]


# The first run ends once the second one is up, and takes the program away; the second one ends when it may.
VANISHING = """#!/bin/sh
case $PWD in
*0000) while [ ! -e ../0001/up ]; do sleep 0.01; done; rm "$0";;
*0001) touch up; while [ ! -e ../go ]; do sleep 0.01; done;;
esac
echo 5
"""


def test_on_a_cluster_what_hinders_the_start_is_not_blamed_on_the_point(tmp_path):
    """And what is under way on other nodes is waited for."""
    path = tmp_path / "program"
    path.write_text(VANISHING)
    path.chmod(0o755)
    program = Simulator([str(path), "{x}"], tmp_path / "runs")

    class Crew(ClusterCrew):
        def wait(self, timeout):
            ended = None
            try:
                ended = super().wait(timeout)
            finally:
                if ended is None or max(dict(ended), default=0) > 1:
                    (tmp_path / "runs" / "go").touch()
            return ended

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        result = tcgp.minimize(
            program, {"x": (0.0, 1.0)}, n_evals=6, rng=0, workers=Crew(program, pool, capacity=2)
        )
    assert (result.status, result.nfev, result.failures) == (7, 2, [])
    assert "the program cannot be started on " in result.message
