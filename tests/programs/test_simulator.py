"""External programs as objectives: what is started, what is read, and what becomes of those that go astray."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tcgp.simulator import Objective, RunFailed, Simulator, SimulatorPool, Template, find_program
from tcgp.workers import evaluate

EXAMPLE = Path(__file__).parents[1] / "examples" / "simulator"

# -I -S: an interpreter that reads no site-packages starts in a few milliseconds.
PYTHON = [sys.executable, "-I", "-S", "-c"]

SHOW_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:])); print(1.5)"


def simulator(code, *arguments, runs, **options):
    return Simulator([*PYTHON, code, *arguments], runs, **options)


def is_alive(pid):
    """Whether a process runs (a zombie, waiting to be reaped by its parent, does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


# ---- arguments ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}", "0.1"),
        ("--a={a},{b}", "--a=0.1,3"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{0.1}"),
        ("", ""),
        ("%s $HOME `id` *", "%s $HOME `id` *"),
    ],
)
def test_placeholders_are_replaced_and_nothing_else(text, expected):
    assert Template.parse(text).fill({"a": 0.1, "b": 3}) == expected


@pytest.mark.parametrize("text", ["{a", "a}", "{a}}", "{{a}", "{a{b}}"])
def test_a_brace_that_stands_alone_is_refused(text):
    with pytest.raises(ValueError, match="stands alone"):
        Template.parse(text)


@pytest.mark.parametrize("text", ["{a.b}", "{a!r}", "{a:>10}", "{0}", "{a.__class__}"])
def test_a_placeholder_is_a_name_and_no_expression(text, tmp_path):
    with pytest.raises(ValueError, match="unknown parameters"):
        simulator(SHOW_ARGUMENTS, text, runs=tmp_path)({"a": 1.0})


def test_a_value_is_one_argument_and_never_interpreted(tmp_path):
    evil = "; touch pwned $(touch pwned) `touch pwned` {a} --flag 'x"
    run = simulator(SHOW_ARGUMENTS, "{name}", "-v={name}", runs=tmp_path).start({"name": evil, "a": 1})
    assert run.finish() == 1.5
    assert json.loads((run.directory / "stdout.txt").read_text().splitlines()[0]) == [evil, f"-v={evil}"]
    assert not list(tmp_path.rglob("pwned"))


def test_numbers_keep_every_digit_and_flags_are_written_as_in_json(tmp_path):
    values = {"x": 0.1 + 0.2, "n": 10**15, "on": True, "tiny": 1e-300}
    run = simulator(SHOW_ARGUMENTS, "{x}", "{n}", "{on}", "{tiny}", runs=tmp_path).start(values)
    run.finish()
    shown = json.loads((run.directory / "stdout.txt").read_text().splitlines()[0])
    assert shown == ["0.30000000000000004", "1000000000000000", "true", "1e-300"]
    assert float(shown[0]) == values["x"]


def test_parameters_come_as_json_on_standard_input_and_in_a_file(tmp_path):
    code = (
        "import json, sys; a = json.load(sys.stdin); b = json.load(open('parameters.json')); "
        "assert a == b; print(a['x'] + 1)"
    )
    assert simulator(code, runs=tmp_path, stdin=True)({"x": 2.5}) == 3.5


def test_standard_input_is_empty_unless_asked_for(tmp_path):
    assert simulator("import sys; print(len(sys.stdin.read()))", runs=tmp_path)({"x": 2.5}) == 0.0


def test_environment_variables_are_added(tmp_path):
    code = "import os; print(float(os.environ['GAIN']) * ('PATH' in os.environ))"
    assert simulator(code, runs=tmp_path, environment={"GAIN": "2.5"})({}) == 2.5


def test_a_relative_program_is_relative_to_the_base_and_not_to_the_run(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "five"
    program.write_text("#!/bin/sh\necho 5\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert Simulator(["./bin/five"], tmp_path / "runs", base=tmp_path)({}) == 5.0
    assert Simulator(["./bin/five", "{spec_dir}"], tmp_path / "runs", base=tmp_path)({}) == 5.0


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no program 'no-such-thing' on the PATH"):
        find_program("no-such-thing")
    (tmp_path / "data").write_text("")
    with pytest.raises(FileNotFoundError, match="not executable"):
        find_program("./data", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"write '\./data'"):
        find_program("data", tmp_path)


# ---- the value ----


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3\n", 3.0),
        ("a\ncost: -2.5e-3 J\n\n  \n", -2.5e-3),
        ("1 2 3", 3.0),
        ("x1=7", 7.0),
        ("1.5D+02", 150.0),
        (".5", 0.5),
        ("it is 4.", 4.0),
        ("version 1.2.3 gave 9 in step2", 9.0),
    ],
)
def test_the_last_number_on_the_last_line_is_the_value(text, value):
    assert Objective().value(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "standard output is empty"),
        (" \n", "standard output is empty"),
        ("5\nno idea\n", "has no number: 'no idea'"),
        ("nan", "the value is nan"),
        ("-inf", "the value is -inf"),
        ("1e999", "the value is inf"),
        ("step2", "has no number"),
        ("\x1b[31mred\x07", r"has no number: '\?\[31mred\?'"),
    ],
)
def test_rubbish_is_a_failure_with_a_reason(text, reason):
    with pytest.raises(RunFailed, match=reason):
        Objective().value(text)


def test_the_last_match_of_a_pattern_is_the_value():
    text = "drag = 1.0\nlift = 9\ndrag = 2.5\ndone 77\n"
    assert Objective(pattern=r"drag = (\S+)").value(text) == 2.5
    assert Objective(pattern=r"(?<=drag = )\S+").value(text) == 2.5
    assert Objective(pattern=r"^lift = (.*)$").value(text) == 9.0
    with pytest.raises(RunFailed, match="nothing that matches"):
        Objective(pattern=r"cost = (\S+)").value(text)
    with pytest.raises(RunFailed, match="found 'drag', which is not a number"):
        Objective(pattern=r"(drag)").value(text)


def test_a_key_is_found_in_the_whole_output_or_its_last_line():
    assert Objective(key="cost").value('{\n "cost": 2\n}') == 2.0
    assert Objective(key="cost").value('loading\n{"cost": 2.5}\n') == 2.5
    assert Objective(key="a.b").value('{"a": {"b": 1}}') == 1.0
    assert Objective(key="a.b").value('{"a.b": 3, "a": {"b": 1}}') == 3.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "not a JSON object"),
        ('{"other": 1}', "no key 'cost'"),
        ('{"cost": "12"}', "'12' is not a number"),
        ('{"cost": true}', "true is not a number"),
        ('{"cost": null}', "there is no value"),
        ("[" * 100_000, "not a JSON object"),
    ],
)
def test_json_without_the_value_is_a_failure_with_a_reason(text, reason):
    with pytest.raises(RunFailed, match=reason):
        Objective(key="cost").value(text)


def test_the_value_can_come_from_a_file_of_the_run(tmp_path):
    code = "open('out.txt', 'w').write('7\\n'); print(1)"
    assert simulator(code, runs=tmp_path, objective=Objective(file="out.txt"))({}) == 7.0
    with pytest.raises(RunFailed, match=r"wrote no file 'none\.txt'"):
        simulator(code, runs=tmp_path, objective=Objective(file="none.txt"))({})


@pytest.mark.parametrize("file", ["../out.txt", "/etc/hostname", "a/../../b", ""])
def test_a_file_outside_the_run_is_refused(file):
    with pytest.raises(ValueError, match="must lie in the run's directory"):
        Objective(file=file)


def test_a_link_out_of_the_run_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("42\n")
    code = f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'out.txt')"
    with pytest.raises(RunFailed, match="leads out of"):
        simulator(code, runs=tmp_path / "runs", objective=Objective(file="out.txt"))({})


# ---- runs ----


def test_a_run_keeps_what_it_was_given_and_what_it_wrote(tmp_path):
    code = "import sys; print('hello'); print(2.0); print('careful', file=sys.stderr); open('extra', 'w')"
    run = simulator(code, runs=tmp_path).start({"x": 0.5}, "0007")
    run.finish()
    assert run.directory == (tmp_path / "0007").resolve()
    assert {path.name for path in run.directory.iterdir()} == {
        ".supervisor",
        "extra",
        "outcome.json",
        "parameters.json",
        "stderr.txt",
        "stdout.txt",
    }
    assert json.loads((run.directory / "parameters.json").read_text()) == {"x": 0.5}
    assert (run.directory / "stdout.txt").read_text() == "hello\n2.0\n"
    assert (run.directory / "stderr.txt").read_text() == "careful\n"
    outcome = json.loads((run.directory / "outcome.json").read_text())
    assert (outcome["value"], outcome["reason"], outcome["exit_code"]) == (2.0, None, 0)
    assert outcome["command"][:-1] == [*PYTHON]
    assert outcome["seconds"] == run.seconds > 0.0


def test_a_run_never_shares_a_directory(tmp_path):
    (tmp_path / "0000").mkdir()
    program = simulator("print(1)", runs=tmp_path)
    names = [program.start({}, "0000").directory.name, program.start({}, "0000").directory.name]
    assert names == ["0000-2", "0000-3"]
    assert program.start({}).directory.name not in ("0000", "0000-2", "0000-3")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/tmp", "a\0b", "..\\x"])
def test_a_run_cannot_leave_its_root(name, tmp_path):
    with pytest.raises(ValueError, match="not the name of a directory"):
        simulator("print(1)", runs=tmp_path / "runs").start({}, name)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["runs"])


def test_an_exit_code_is_a_failure_with_the_programs_last_words(tmp_path):
    code = "import sys; print(1.0); print('mesh\\nis broken', file=sys.stderr); sys.exit(3)"
    with pytest.raises(RunFailed, match=r"^exit code 3: is broken$"):
        simulator(code, runs=tmp_path)({})
    (outcome,) = tmp_path.glob("*/outcome.json")
    assert json.loads(outcome.read_text())["reason"] == "exit code 3: is broken"


def test_a_reason_does_not_depend_on_the_directory_of_the_run(tmp_path):
    with pytest.raises(RunFailed, match=r"can't open file '\./gone\.py'"):
        Simulator([sys.executable, "gone.py"], tmp_path)({})


def test_a_crash_is_named_by_its_signal(tmp_path):
    with pytest.raises(RunFailed, match=r"^killed by SIGSEGV$"):
        simulator("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", runs=tmp_path)({})


def test_a_timeout_ends_the_program_and_its_children(tmp_path):
    program = Simulator(["sh", "-c", "sleep 100 & echo $! > child; wait"], tmp_path, timeout=1.0)
    with pytest.raises(RunFailed, match=r"^no end after 1 s$"):
        program({})
    (child,) = tmp_path.glob("*/child")
    wait_until(lambda: not is_alive(int(child.read_text())))


def test_output_without_end_is_cut_and_not_kept_in_memory(tmp_path):
    code = "import sys\nfor _ in range(100): sys.stdout.write('1' * 100_000)\nprint(); print(4.5)"
    assert simulator(code, runs=tmp_path)({}) == 4.5


@pytest.mark.parametrize("options", [{"timeout": 0.0}, {"timeout": -1.0}])
def test_a_timeout_must_be_positive(options, tmp_path):
    with pytest.raises(ValueError, match="timeout must be a positive"):
        simulator("print(1)", runs=tmp_path, **options)


@pytest.mark.parametrize("command", ["./simulate {x}", []])
def test_a_command_is_a_list(command, tmp_path):
    with pytest.raises(ValueError, match="command must be a list"):
        Simulator(command, tmp_path)


# ---- the pool ----


def test_a_pool_runs_side_by_side_and_gives_reasons_as_they_are(tmp_path):
    # Each run waits for the other's sign of life: one after the other they would never end.
    code = (
        "import os, sys, time; me, other = sys.argv[1:]\n"
        "open(f'../{me}.up', 'w')\n"
        "while not os.path.exists(f'../{other}.up'): time.sleep(0.01)\n"
        "sys.exit(4) if me == 'a' else print(8)"
    )
    program = simulator(code, "{me}", "{other}", runs=tmp_path, timeout=60.0)
    with SimulatorPool(2, lambda parameters: parameters["me"]) as pool:
        first = pool.submit(evaluate, program, {"me": "a", "other": "b"})
        second = pool.submit(evaluate, program, {"me": "b", "other": "a"})
        assert (first.result().value, first.result().reason) == (None, "exit code 4")
        assert (second.result().value, second.result().reason) == (8.0, None)


def test_closing_a_pool_ends_what_runs(tmp_path):
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(100)"
    with SimulatorPool(1, lambda parameters: "run") as pool:
        future = pool.submit(evaluate, simulator(code, runs=tmp_path), {})
        pid = tmp_path / "run" / "pid"
        wait_until(lambda: pid.exists() and pid.read_text())
    assert future.result().reason == "stopped before its end"
    assert not is_alive(int(pid.read_text()))


def test_what_hinders_the_start_is_not_blamed_on_the_point(tmp_path):
    with SimulatorPool(1, lambda parameters: None) as pool, pytest.raises(FileNotFoundError):
        pool.submit(evaluate, Simulator(["./gone"], tmp_path), {})


# ---- runs that outlive the process that started them ----

# Starts a run and dies by SIGKILL while it is under way.
MURDERED = """
import os, signal, sys, time
from tcgp.simulator import Simulator
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
    with SimulatorPool(1, lambda parameters: "0003") as pool:
        future = pool.submit(evaluate, orphan, {"x": 1})
        assert not future.done()
        (tmp_path / "0003" / "go").touch()
        outcome = future.result(timeout=60)
    assert (outcome.value, outcome.reason) == (4.25, None)
    assert (tmp_path / "count").read_text() == "x"
    assert json.loads((tmp_path / "0003" / "outcome.json").read_text())["exit_code"] == 0


def test_an_orphan_that_has_ended_has_left_its_value(orphan, tmp_path):
    (tmp_path / "0003" / "go").touch()
    wait_until(lambda: '"code"' in (tmp_path / "0003" / ".supervisor").read_text())
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


def test_a_run_of_other_parameters_or_of_another_command_is_not_adopted(orphan):
    assert orphan.adopt({"x": 2}, "0003") is None
    assert replace(orphan, command=[*orphan.command, "more"]).adopt({"x": 1}, "0003") is None
    assert orphan.adopt({"x": 1}, "0004") is None
    assert orphan.adopt({"x": 1}, None) is None


def test_a_run_whose_supervisor_died_without_a_word_is_not_adopted(orphan, tmp_path):
    notes = json.loads((tmp_path / "0003" / ".supervisor").read_text())
    os.killpg(notes["pid"], signal.SIGKILL)
    wait_until(lambda: orphan.adopt({"x": 1}, "0003") is None)


@pytest.mark.parametrize(
    "wrong", [{"pid": 0}, {"pid": "1"}, {"started": None}, {"code": "0"}, {"seconds": "1"}]
)
def test_notes_that_no_supervisor_writes_are_not_believed(orphan, tmp_path, wrong):
    notes = tmp_path / "0003" / ".supervisor"
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


# ---- the example ----


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of the example, built."""
    folder = tmp_path_factory.mktemp("example") / "simulator"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.tcgp", "suspension"))
    subprocess.run(["sh", "build.sh"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    "point",
    [
        {"stiffness": 20000.0, "damping": 1000.0, "spring": "linear"},
        {"stiffness": 24000.0, "damping": 1300.0, "spring": "progressive"},
    ],
)
def test_both_versions_of_the_example_agree(example, tmp_path, point):
    arguments = ["{stiffness}", "{damping}", "{spring}"]
    built = Simulator(["./suspension", *arguments], tmp_path, base=example)
    python = Simulator([sys.executable, "{spec_dir}/suspension.py", *arguments], tmp_path, base=example)
    # Printed with twelve digits; six thousand steps may round differently.
    assert built(point) == pytest.approx(python(point), rel=1e-9)


def test_the_example_fails_where_the_suspension_hits_its_stop(example, tmp_path):
    program = Simulator(["./suspension", "2000", "50", "linear"], tmp_path, base=example)
    with pytest.raises(RunFailed, match="exit code 3: the suspension hits its stop"):
        program({})
