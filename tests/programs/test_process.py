"""Processes: found again, waited for, and ended with all they have started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pytest

from running import PYTHON, is_alive, simulator, wait_until
from tcgp.programs import ProgramCrew, RunFailed, Simulator, process

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a supervisor")


def pid_in(path):
    """The number that a process has written to a file of its run, when it has."""
    wait_until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


# ---- what a program leaves behind ----

# Both start a process that would live for long and write its number to "child"; the second one in a session of its own,
# as a daemon does: twice forked, so that its parent is gone.
CHILD = "sleep 1000 & echo $! > child"
DAEMON = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork(): os._exit(0)\n"
    "    open('draft', 'w').write(str(os.getpid())); os.rename('draft', 'child')\n"
    "    for fd in range(3): os.close(fd)\n"
    "    time.sleep(1000)\n"
    "os.wait()\n"
    "while not os.path.exists('child'): time.sleep(0.01)\n"
)


def leaving_child(runs, then, **options):
    return Simulator(["sh", "-c", f"{CHILD}; {then}"], runs, **options)


def leaving_daemon(runs, then, **options):
    return simulator(DAEMON + then, runs=runs, **options)


def test_a_child_in_the_background_ends_with_the_program(tmp_path):
    run = leaving_child(tmp_path, "echo 5").start({})
    assert run.finish() == 5.0
    assert not is_alive(pid_in(run.directory / "child"))


def test_a_child_in_the_background_ends_with_a_program_that_fails(tmp_path):
    run = leaving_child(tmp_path, "exit 3").start({})
    with pytest.raises(RunFailed, match="exit code 3"):
        run.finish()
    assert not is_alive(pid_in(run.directory / "child"))


def test_a_child_in_the_background_ends_at_the_timeout(tmp_path):
    run = leaving_child(tmp_path, "wait", timeout=5.0).start({})
    with pytest.raises(RunFailed, match=r"^no end after 5 s$"):
        run.finish()
    assert not is_alive(pid_in(run.directory / "child"))


@linux
def test_a_daemon_ends_with_the_program(tmp_path):
    run = leaving_daemon(tmp_path, "print(5)").start({})
    assert run.finish() == 5.0
    assert not is_alive(pid_in(run.directory / "child"))


@linux
def test_a_daemon_ends_when_its_run_is_killed(tmp_path):
    run = leaving_daemon(tmp_path, "time.sleep(1000)").start({})
    child = pid_in(run.directory / "child")
    assert is_alive(child)
    run.kill()
    assert not is_alive(child)


@linux
def test_a_daemon_ends_at_the_timeout_of_a_run_that_was_adopted(tmp_path):
    program = leaving_daemon(tmp_path, "time.sleep(1000)")
    run = program.start({}, "0003")
    child = pid_in(run.directory / "child")
    with pytest.raises(RunFailed, match="no end after"):
        replace(program, timeout=1e-3).adopt({}, "0003").finish()
    assert not is_alive(child)


@linux
def test_a_tree_of_daemons_ends_with_the_program(tmp_path):
    code = (
        "import os, time\n"
        "def spawn(depth):\n"
        "    for _ in range(2 if depth else 0):\n"
        "        if os.fork() == 0:\n"
        "            os.setsid(); spawn(depth - 1); open(str(os.getpid()) + '.up', 'w').close(); time.sleep(1000)\n"
        "spawn(3)\n"
        "while sum(name.endswith('.up') for name in os.listdir()) < 14: time.sleep(0.01)\n"
        "print(5)"
    )
    run = simulator(code, runs=tmp_path).start({})
    assert run.finish() == 5.0
    pids = [int(path.stem) for path in run.directory.glob("*.up")]
    assert len(pids) == 14
    assert not any(is_alive(pid) for pid in pids)


def test_a_program_that_ignores_sigterm_is_killed(tmp_path):
    code = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code += "open('draft', 'w').write(str(os.getpid())); os.rename('draft', 'pid'); time.sleep(1000)"
    run = simulator(code, runs=tmp_path).start({})
    pid = pid_in(run.directory / "pid")
    run.kill()
    assert not is_alive(pid)


def test_a_program_that_signals_its_process_group_does_not_reach_its_supervisor(tmp_path):
    assert Simulator(["sh", "-c", "trap '' TERM; kill 0; echo 5"], tmp_path)({}) == 5.0


def test_a_program_is_killed_even_if_its_supervisor_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LONGEST_FAREWELL", 0.2)
    run = leaving_child(tmp_path, "wait").start({})
    child = pid_in(run.directory / "child")
    os.kill(notes_of(run)["pid"], signal.SIGSTOP)
    run.kill()
    with pytest.raises(RunFailed, match="stopped before its end"):
        run.finish()
    assert not is_alive(notes_of(run)["program"])
    wait_until(lambda: not is_alive(child))


def test_a_program_whose_supervisor_is_killed_ends_too(tmp_path):
    run = leaving_child(tmp_path, "wait").start({})
    child = pid_in(run.directory / "child")
    os.kill(notes_of(run)["pid"], signal.SIGKILL)
    with pytest.raises(RunFailed, match="killed by SIGKILL"):
        run.finish()
    wait_until(lambda: not is_alive(child))


def test_a_program_that_deletes_the_notes_can_be_killed_and_its_value_is_read(tmp_path):
    run = leaving_child(tmp_path, "rm ../.tcgp/*/supervisor; touch up; wait").start({})
    child = pid_in(run.directory / "child")
    wait_until((run.directory / "up").exists)
    run.kill()
    assert not is_alive(child)
    assert Simulator(["sh", "-c", "rm ../.tcgp/*/supervisor; echo 5"], tmp_path)({}) == 5.0


@linux
def test_orphans_that_end_before_the_program_are_reaped(tmp_path):
    # The program waits until its orphaned grandchild has vanished; a zombie would stay.
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'child')\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "while not os.path.exists('child'): time.sleep(0.01)\n"
        "while os.path.exists('/proc/' + open('child').read()): time.sleep(0.01)\n"
        "print(5)"
    )
    assert simulator(code, runs=tmp_path, timeout=60.0)({}) == 5.0


def notes_of(run):
    """What the supervisor of a run has noted last."""
    return json.loads(
        (run.directory.parent / ".tcgp" / run.directory.name / "supervisor").read_text().splitlines()[-1]
    )


# ---- runs that outlive the process that started them ----

# Starts a run and dies by SIGKILL while it is under way.
MURDERED = """
import os, signal, sys, time
from tcgp.programs import Simulator
run = Simulator(sys.argv[2:], sys.argv[1]).start({"x": 1}, "0003")
while not (run.directory / "up").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
# Says that it is up, waits for a file named "go", counts itself, prints its value.
PATIENT = (
    "import os, time; open('../count', 'a').write('x'); open('up', 'w').close()\n"
    "while not os.path.exists('go'): time.sleep(0.01)\n"
    "print(4.25)"
)


@pytest.fixture
def orphan(tmp_path):
    """A run under way whose parent has been killed, and the program that it runs."""
    command = [*PYTHON, PATIENT]
    parent = subprocess.run([sys.executable, "-c", MURDERED, str(tmp_path), *command], check=False)
    assert parent.returncode == -signal.SIGKILL
    yield Simulator(command, tmp_path)
    (tmp_path / "0003" / "go").touch()


def test_an_orphan_that_still_runs_is_waited_for_and_not_started_again(orphan, tmp_path):
    crew = ProgramCrew(orphan, 1)
    crew.submit(3, {"x": 1})
    assert crew.wait(0.05) == []
    (tmp_path / "0003" / "go").touch()
    ((number, outcome),) = crew.wait(60.0)
    crew.close()
    assert (number, outcome.value, outcome.reason) == (3, 4.25, None)
    assert (tmp_path / "count").read_text() == "x"
    assert json.loads((tmp_path / "0003" / "outcome.json").read_text())["exit_code"] == 0


def test_an_orphan_that_has_ended_has_left_its_value(orphan, tmp_path):
    (tmp_path / "0003" / "go").touch()
    wait_until(lambda: '"code"' in (tmp_path / ".tcgp" / "0003" / "supervisor").read_text())
    run = orphan.adopt({"x": 1}, "0003")
    assert run.finish() == 4.25
    assert run.seconds > 0.0
    assert (tmp_path / "count").read_text() == "x"


def test_an_orphan_can_be_killed(orphan, tmp_path):
    run = orphan.adopt({"x": 1}, "0003")
    run.kill()
    with pytest.raises(RunFailed, match="stopped before its end"):
        run.finish()
    assert orphan.adopt({"x": 1}, "0003") is None


def test_the_time_of_an_orphan_counts_from_its_start(orphan):
    late = replace(orphan, timeout=1e-3).adopt({"x": 1}, "0003")
    with pytest.raises(RunFailed, match=r"no end after 0\.001 s"):
        late.finish()


def test_an_orphan_loses_no_time_if_the_clock_is_set_or_the_machine_has_slept(orphan, tmp_path):
    notes = tmp_path / ".tcgp" / "0003" / "supervisor"
    facts = json.loads(notes.read_text())
    a_day = 86400.0
    notes.write_text(json.dumps({**facts, "started": facts["started"] - a_day}) + "\n")  # its lock stays
    run = replace(orphan, timeout=a_day / 2).adopt({"x": 1}, "0003")
    (tmp_path / "0003" / "go").touch()
    assert run.finish() == 4.25


def test_a_run_that_was_killed_at_its_timeout_is_not_repeated_unless_it_may_take_longer(orphan):
    limited = replace(orphan, timeout=1e-3)
    with pytest.raises(RunFailed):
        limited.adopt({"x": 1}, "0003").finish()  # and whoever waited for it is killed before it is told
    again = limited.adopt({"x": 1}, "0003")
    with pytest.raises(RunFailed, match=r"no end after 0\.001 s"):
        again.finish()
    assert again.exit_code is None
    assert orphan.adopt({"x": 1}, "0003") is None
    assert replace(orphan, timeout=60.0).adopt({"x": 1}, "0003") is None


def test_a_run_of_other_parameters_or_of_another_command_is_not_adopted(orphan):
    assert orphan.adopt({"x": 2}, "0003") is None
    assert replace(orphan, command=[*orphan.command, "more"]).adopt({"x": 1}, "0003") is None
    assert orphan.adopt({"x": 1}, "0004") is None
    assert orphan.adopt({"x": 1}, None) is None


def test_a_supervisor_that_has_written_its_last_note_and_not_exited_yet_runs_no_program(tmp_path):
    import fcntl

    facts = {"pid": os.getpid(), "started": 0.0, "command": ["true"]}
    with (tmp_path / "notes").open("w") as notes:
        fcntl.flock(notes, fcntl.LOCK_EX)
        print(json.dumps(facts), file=notes, flush=True)
        assert process.is_running(tmp_path / "notes")
        print(json.dumps(facts | {"code": 0}), file=notes, flush=True)
        assert not process.is_running(tmp_path / "notes")


def test_a_supervisor_that_takes_long_to_start_its_program_is_waited_for(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(process, "LONGEST_FAREWELL", 0.0)
    facts = {"pid": os.getpid(), "started": 0.0, "command": ["true"]}
    with (tmp_path / "notes").open("w") as notes, ThreadPoolExecutor() as pool:
        fcntl.flock(notes, fcntl.LOCK_EX)
        adopted = pool.submit(process.adopt, ["true"], tmp_path / "notes")
        assert not wait([adopted], 0.1).done
        print(json.dumps(facts), file=notes, flush=True)
        assert adopted.result(60.0).command == ["true"]


def test_a_run_whose_supervisor_died_without_a_word_is_not_adopted(orphan, tmp_path):
    notes = json.loads((tmp_path / ".tcgp" / "0003" / "supervisor").read_text())
    os.killpg(notes["pid"], signal.SIGKILL)
    wait_until(lambda: orphan.adopt({"x": 1}, "0003") is None)


@linux
def test_a_run_that_goes_on_without_its_supervisor_is_not_started_beside_it(orphan, tmp_path):
    notes = json.loads((tmp_path / ".tcgp" / "0003" / "supervisor").read_text())
    os.kill(notes["pid"], signal.SIGKILL)
    wait_until(lambda: not is_alive(notes["pid"]))
    with pytest.raises(
        ValueError, match=f"report its value with tcgp tell, or kill process {notes['program']}"
    ):
        orphan.adopt_or_start({"x": 1}, "0003")
    assert (tmp_path / "count").read_text() == "x"
    os.kill(notes["program"], signal.SIGKILL)
    wait_until(lambda: not is_alive(notes["program"]))
    again = orphan.adopt_or_start({"x": 1}, "0003")
    (again.directory / "go").touch()
    assert again.finish() == 4.25


@linux
def test_another_process_with_the_number_of_a_lost_program_hinders_no_start(orphan, tmp_path):
    path = tmp_path / ".tcgp" / "0003" / "supervisor"
    notes = json.loads(path.read_text())
    os.killpg(notes["pid"], signal.SIGKILL)
    os.killpg(notes["program"], signal.SIGKILL)
    wait_until(lambda: not is_alive(notes["pid"]) and not is_alive(notes["program"]))
    path.write_text(json.dumps({**notes, "program": os.getpid()}) + "\n")
    again = orphan.adopt_or_start({"x": 1}, "0003")
    (again.directory / "go").touch()
    assert again.finish() == 4.25


def test_an_orphan_of_another_machine_costs_no_process_here_its_life(orphan, tmp_path):
    """On a file system that machines or containers share, its numbers are those of others here."""
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    path = tmp_path / ".tcgp" / "0003" / "supervisor"
    elsewhere = {"machine": "elsewhere", "pid": bystander.pid, "program": bystander.pid}
    notes = json.loads(path.read_text())
    path.write_text(json.dumps({**notes, **elsewhere}) + "\n")  # the same file: its lock stays
    try:
        with pytest.raises(RunFailed, match="no end after"):
            replace(orphan, timeout=1e-3).adopt({"x": 1}, "0003").finish()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        os.kill(notes["pid"], signal.SIGTERM)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pid": 0},
        {"pid": "1"},
        {"program": -1},
        {"started": None},
        {"code": "0"},
        {"seconds": "1"},
        {"timeout": "1"},
        {"clock": "1"},
    ],
)
def test_notes_that_no_supervisor_writes_are_not_believed(orphan, tmp_path, wrong):
    notes = tmp_path / ".tcgp" / "0003" / "supervisor"
    facts = json.loads(notes.read_text())
    os.killpg(facts["pid"], signal.SIGKILL)
    notes.write_text(json.dumps({**facts, "code": 0, "seconds": 1.0, **wrong}) + "\n")
    assert orphan.adopt({"x": 1}, "0003") is None


def test_a_program_that_cannot_be_executed_hinders_the_start(tmp_path):
    program = tmp_path / "rubbish"
    program.write_bytes(b"\x7fELF rubbish")
    program.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error"):
        Simulator([str(program)], tmp_path / "runs").start({})


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            b"#!/bin/sh\r\necho 1\r\n",
            r"the interpreter that it names is not there \(a script with the line ends",
        ),
        (b"echo 1\n", r"Exec format error \(a script begins with a line such as #!/bin/sh\)"),
    ],
)
def test_a_script_whose_first_line_is_wrong_is_not_said_to_be_missing(script, words, tmp_path):
    program = tmp_path / "simulate"
    program.write_bytes(script)
    program.chmod(0o755)
    with pytest.raises(OSError, match=words):
        Simulator([str(program)], tmp_path / "runs").start({})
