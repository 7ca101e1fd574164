"""External programs as functions: what they are given, what they leave, and how they end."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from running import PYTHON, simulator
from tcgp.programs import RunFailed, Simulator

SHOW_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:])); print(1.5)"


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


def test_a_run_keeps_what_it_was_given_and_what_it_wrote(tmp_path):
    code = "import sys; print('hello'); print(2.0); print('careful', file=sys.stderr); open('extra', 'w')"
    run = simulator(code, runs=tmp_path).start({"x": 0.5}, "0007")
    run.finish()
    assert run.directory == (tmp_path / "0007").resolve()
    assert {path.name for path in run.directory.iterdir()} == {
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


def test_a_pipe_in_the_place_of_an_output_is_not_waited_for(tmp_path):
    code = "import os, sys; os.unlink('stdout.txt'); os.mkfifo('stdout.txt'); sys.exit(3)"
    with pytest.raises(RunFailed, match=r"^exit code 3$"):
        simulator(code, runs=tmp_path)({})
    run = simulator(code, runs=tmp_path).start({}, "0007")
    with pytest.raises(RunFailed):
        run.finish()
    assert run.words.strip() == ""
