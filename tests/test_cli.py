"""The command line as its users meet it: real programs, real files, real signals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tcgp
from tcgp.cli import main
from tcgp.cli.console import format_table, parse_duration
from tcgp.cli.spec import EXAMPLE, load_spec
from tcgp.optimizer.journal import read_journal

EXAMPLES = Path(__file__).parents[1] / "examples" / "simulator"

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


def command(*arguments, **options):
    """Start the command in a process of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tcgp", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
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
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def said(capsys):
    """What was said on standard error since the last look, as lines."""
    return capsys.readouterr().err.splitlines()


# ---- help, version and exit codes ----


@pytest.mark.parametrize("name", ["demo", "minimize", "ask", "tell", "status", "diagnose"])
def test_help_of_every_command_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    assert "examples:" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from tcgp.cli import main; main(['--help']); "
        "sys.exit(bool({'numpy', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tcgp {tcgp.__version__}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["minimise"],
        ["minimize", "--workers", "0", "spec.toml"],
        ["minimize", "--workers", "two", "spec.toml"],
        ["minimize", "--max-time", "soon", "spec.toml"],
        ["minimize", "--no-such-option"],
        ["minimize"],
        ["minimize", "no-such-file.toml"],
        ["demo", "--output", "no/such/folder/demo.png"],
        ["ask", "no-such-journal.jsonl"],
        ["tell", "no-such-journal.jsonl", "0", "1.0"],
        ["tell", "no-such-journal.jsonl", "0"],
        ["status", "no-such-journal.jsonl"],
        ["diagnose", "no-such-file.csv"],
        ["diagnose", "no-such-journal.jsonl"],
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    (line,) = said(capsys)
    assert line.startswith("tcgp: error: ")
    assert not list(tmp_path.iterdir())


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    assert "start here" in capsys.readouterr().out


# ---- the spec ----


def test_the_example_spec_is_valid_and_explains_every_key(tmp_path):
    from tcgp.cli.spec import KEYS

    (tmp_path / "simulate").write_text("#!/bin/sh\n")
    (tmp_path / "simulate").chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text(EXAMPLE)
    spec = load_spec(str(path))
    assert (spec.budget, spec.program.timeout, spec.space.names) == (60, 600.0, ("width", "layers", "alloy"))
    # With the comments in front of values taken away, every key is there and has its default or a legal value.
    bare = [
        line[2:] if line[:2] == "# " and (" = " in line or line[2] == "[") else line
        for line in EXAMPLE.splitlines()
    ]
    # A key stands where a pattern does, and one value where outputs do: tests/cli/test_constrained_campaigns.py.
    goals = ("objective = ", "constraints = ", "outputs = ", "[outputs]", "mass = ", "stress = ")
    bare = [line for line in bare if not line.startswith((*goals, "key = ", "                "))]
    path.write_text("\n".join(bare))
    load_spec(str(path))
    assert all(f"{key} =" in EXAMPLE or f"[{key}]" in EXAMPLE for key in KEYS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("budget = 3", "there are no parameters"),
        ("budget = = 3", "is not valid TOML"),
        (
            "[parameters]\nx = {low = 0, hihg = 1}",
            "unknown key of parameter 'x' 'hihg'; did you mean 'high'?",
        ),
        ("[parameters]\nx = {min = 0, max = 1}", "did you mean 'low'?"),
        ("[parameters]\nx = {low = 2, high = 1}", "parameter 'x': Real needs low < high, got low=2, high=1"),
        ("[parameters]\nx = {low = 0}", "parameter 'x' has no 'high'"),
        ("[parameters]\nx = {low = 0, high = inf}", "parameter 'x': Real needs two finite bounds"),
        ("[parameters]\nx = {low = 0, high = 1, log = true}", "log=True needs low > 0"),
        ("[parameters]\nx = {low = 0, high = 1, log = 1}", "'log' of parameter 'x' must be true or false"),
        ("[parameters]\nx = {low = '0', high = 1}", "parameter 'x': Real needs two finite bounds"),
        ("[parameters]\nx = {type = 'float', low = 0, high = 1}", "did you mean 'real'?"),
        (
            "[parameters]\nx = {type = 'integer', low = 0.5, high = 1}",
            "parameter 'x': Integer needs integers",
        ),
        (
            "[parameters]\nx = {choices = ['a', 'a']}",
            "parameter 'x': the choices of a Categorical must all differ",
        ),
        ("[parameters]\nx = {choices = []}", "at least one choice"),
        ("[parameters]\nx = {choices = [2020-01-01]}", "a choice must be a string"),
        ("[parameters]\nx = 3", "parameter 'x' must be a table"),
        ("[parameters]\nx = {low = 0, high = 1}\nbudget = 9", "belongs above the first [table]"),
        ("[parameters]\nspec_dir = {low = 0, high = 1}", "needs another name"),
        ("[parameters]\n'{x}' = {low = 0, high = 1}", "needs another name"),
        (
            "n_evals = 9\n[parameters]\nx = {low = 0, high = 1}",
            "unknown key 'n_evals'; did you mean 'budget'?",
        ),
        ("buget = 9\n[parameters]\nx = {low = 0, high = 1}", "unknown key 'buget'; did you mean 'budget'?"),
        (
            "budget = 0\n[parameters]\nx = {low = 0, high = 1}",
            "'budget' must be a whole number of at least 1",
        ),
        ("budget = true\n[parameters]\nx = {low = 0, high = 1}", "'budget' must be a whole number"),
        ("seed = -1\n[parameters]\nx = {low = 0, high = 1}", "'seed' must be a whole number of at least 0"),
        ("target = 'low'\n[parameters]\nx = {low = 0, high = 1}", "'target' must be a number"),
        (
            "max_time = 'soon'\n[parameters]\nx = {low = 0, high = 1}",
            "'max_time': a time is a positive number",
        ),
        ("method = 'tcpg'\n[parameters]\nx = {low = 0, high = 1}", "method must be one of"),
        ("criterion = 'pi'\n[parameters]\nx = {low = 0, high = 1}", "criterion must be one of 'ei', 'lcb'"),
        (
            "epsilon = 2\n[parameters]\nx = {low = 0, high = 1}",
            "epsilon must be a number strictly between 0 and 1",
        ),
        ("options = 3\n[parameters]\nx = {low = 0, high = 1}", "'options' must be a table"),
        (
            "[options]\ndelta = 7\n[parameters]\nx = {low = 0, high = 1}",
            "delta must be a number in (0, 1], got 7",
        ),
        (
            "[options]\ndelta = 'x'\n[parameters]\nx = {low = 0, high = 1}",
            "delta must be a number in (0, 1], got 'x'",
        ),
        ("[options]\ndleta = 7\n[parameters]\nx = {low = 0, high = 1}", "'dleta'"),
        ("timeout = 3\n[parameters]\nx = {low = 0, high = 1}", "'timeout' needs a 'command'"),
    ],
)
def test_a_bad_spec_is_refused_in_one_sentence(text, words, tmp_path, capsys):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    assert main(["ask", str(tmp_path / "run.jsonl"), "--spec", str(path)]) == 2
    (line,) = said(capsys)
    assert line.startswith("tcgp: error: ")
    assert words in line
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ("command = 'simulate {x} {y}'", "'command' must be a list of strings"),
        ("command = []", "'command' must be a list of strings"),
        ("command = ['sh', 3]", "'command' must be a list of strings"),
        ("command = ['no-such-program', '{x}', '{y}']", "there is no program 'no-such-program' on the PATH"),
        ("command = ['./nothing', '{x}', '{y}']", "there is no program"),
        ("command = ['{x}', '{y}']", "must be fixed"),
        ("command = ['sh', '{x}', '{yy}']", "placeholder {yy}, which is no parameter; did you mean 'y'?"),
        ("command = ['sh', '{x}', '{y.real}']", "placeholder {y.real}, which is no parameter"),
        ("command = ['sh', '{x}']", "does not use the parameter 'y'"),
        ("command = ['sh', '{x}', '{y']", "stands alone"),
        ("command = ['sh', '{x}', '{y}', \"\\u0000\"]", "zero byte"),
        ("command = ['sh', '{x}', '{y}']\ninput = 'yaml'", "'input' must be"),
        ("command = ['sh', '{x}', '{y}']\ntimeout = -1", "'timeout': a time is a positive number"),
        ("command = ['sh', '{x}', '{y}']\nobjective = 3", "'objective' must be a table"),
        ("command = ['sh', '{x}', '{y}']\nobjective = {file = '../x'}", "must lie in the run's directory"),
        ("command = ['sh', '{x}', '{y}']\nobjective = {pattern = '('}", "is not a regular expression"),
        ("command = ['sh', '{x}', '{y}']\nobjective = {pattern = 'a', key = 'b'}", "not both"),
        ("command = ['sh', '{x}', '{y}']\nobjective = {regex = 'a'}", "did you mean 'pattern'?"),
        ("command = ['sh', '{x}', '{y}']\nenvironment = {A = 1}", "'A' in [environment] must be a string"),
        ("command = ['sh', '{x}', '{y}']", "has no 'budget'"),
        ("budget = 3", "has no 'command'"),
    ],
)
def test_a_bad_program_is_refused_before_anything_is_run(top, words, tmp_path, capsys):
    path = tmp_path / "spec.toml"
    path.write_text(top + TWO_REALS)
    assert main(["minimize", str(path)]) == 2
    (line,) = said(capsys)
    assert line.startswith("tcgp: error: ")
    assert words in line
    assert [p.name for p in tmp_path.iterdir()] == ["spec.toml"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[" * 100_000])
def test_a_spec_that_is_no_text_is_refused(content, tmp_path, capsys):
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    assert main(["minimize", str(path)]) == 2
    assert len(said(capsys)) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(90, 90.0), (0.5, 0.5), ("90", 90.0), ("30s", 30.0), ("10m", 600.0), ("2h", 7200.0)],
)
def test_times_have_units(value, seconds):
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["", "m", "-3s", 0, "inf", "3 weeks", True, "nan", [3]])
def test_a_time_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="a time is a positive number"):
        parse_duration(value)


def test_a_dry_run_shows_the_command_and_runs_nothing(tmp_path, capsys):
    path = write_spec(tmp_path, "import sys; open('/dev/null')", arguments=["a b", "{x}", "{{", "{y}"])
    assert main(["minimize", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "'a b'" in shown
    assert "12 runs, 6 of them an initial design" in shown
    assert "Nothing was run." in shown
    assert [p.name for p in tmp_path.iterdir()] == ["spec.toml"]


def test_a_file_beside_the_spec_that_the_program_will_not_find_is_pointed_out(tmp_path, capsys):
    (tmp_path / "sim.py").write_text("print(1)")
    path = tmp_path / "spec.toml"
    path.write_text(
        f"command = {json.dumps([sys.executable, 'sim.py', '{x}', '{y}'])}\nbudget = 3" + TWO_REALS
    )
    assert main(["minimize", str(path), "--dry-run"]) == 0
    (line,) = said(capsys)
    assert 'write "{spec_dir}/sim.py"' in line


# ---- minimize ----


def test_minimize_finds_the_minimum_and_leaves_a_record(tmp_path):
    path = write_spec(tmp_path, BOWL, budget=25)
    process = command("minimize", path)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "25/25" in err
    folder = tmp_path / "spec.tcgp"
    tells = events(folder / "journal.jsonl", "tell")
    assert len(tells) == 25
    best = min(tells, key=lambda event: event["y"])
    # A bowl of curvature 2 on the unit square: 19 steps of a smooth model end well within 1e-2 of the minimum.
    assert best["x"] == pytest.approx([0.3, 0.6], abs=1e-2)
    assert f"best value   {best['y']!r}" in out
    assert "25 succeeded, 0 failed" in out
    for name in ("convergence.png", "run.png", "dependence.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    for event in tells:
        run = folder / "runs" / f"{event['id']:04d}"
        assert json.loads((run / "parameters.json").read_text()) == dict(zip("xy", event["x"], strict=True))
        assert json.loads((run / "outcome.json").read_text())["value"] == event["y"]


UNRELIABLE = """
import sys, time
x, y = map(float, sys.argv[1:])
if x > 15 / 16:
    time.sleep(1000)
if y < 0.1:
    print("no idea"); sys.exit()
if x + y < 0.7:
    print("mesh is broken", file=sys.stderr); sys.exit(3)
print((x - 0.6) ** 2 + (y - 0.4) ** 2)
"""


def test_crashes_hangs_and_rubbish_are_recorded_and_the_minimum_is_found(tmp_path, capsys):
    # Some 30 % of the box fail, and the minimum is close to where they do. The initial design is chosen such
    # that each way to fail occurs; one of its points hangs. Others must not come close to the timeout.
    path = write_spec(
        tmp_path, UNRELIABLE, budget=30, top='timeout = 5\ninitial_design = "sobol"\nn_initial = 16'
    )
    assert main(["minimize", str(path), "--no-plots"]) == 0
    shown = capsys.readouterr().out
    tells = events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")
    assert len(tells) == 30
    reasons = {"no end after 5 s": 0, "exit code 3: mesh is broken": 0}
    reasons["the last line of standard output has no number: 'no idea'"] = 0
    for event in tells:
        x, y = event["x"]
        if x > 15 / 16:
            expected = "no end after 5 s"
        elif y < 0.1:
            expected = "the last line of standard output has no number: 'no idea'"
        elif x + y < 0.7:
            expected = "exit code 3: mesh is broken"
        else:
            assert event["y"] == (x - 0.6) ** 2 + (y - 0.4) ** 2
            continue
        assert (event["y"], event["reason"]) == (None, expected)
        reasons[expected] += 1
    assert all(reasons.values())
    assert all(f"{count} x {reason}" in shown for reason, count in reasons.items())
    best = min((e for e in tells if e["y"] is not None), key=lambda e: e["y"])
    assert best["x"] == pytest.approx([0.6, 0.4], abs=2e-2)


def test_a_run_without_a_success_ends_with_exit_code_1(tmp_path, capsys):
    path = write_spec(tmp_path, "import sys; sys.exit('boom')", budget=8)
    assert main(["minimize", str(path)]) == 1
    captured = capsys.readouterr()
    assert "best value   none" in captured.out
    assert "8 x exit code 1: boom   (runs 0, 1, 2, 3, 4, 5, 6, 7)" in captured.out
    assert "mend it and move the journal away" in captured.err
    assert captured.err.count("failed: exit code 1: boom") == 5  # the first ones are told at once, not all
    assert not list(tmp_path.glob("spec.tcgp/*.png"))


# Where a file "hold-0003" lies beside the spec, the run 0003 waits until it is gone.
HELD_BOWL = (
    "import os, time; hold = '../../../hold-' + os.path.basename(os.getcwd())\n"
    "if os.path.exists(hold): open('up', 'w').close()\n"
    "while os.path.exists(hold): time.sleep(0.01)\n" + BOWL
)


def kill_during(run, path, *options):
    """Start a search, and kill it without warning while the program of this run is under way."""
    hold = path.with_name(f"hold-{run}")
    hold.touch()
    process = command("minimize", path, *options)
    up = path.with_suffix(".tcgp") / "runs" / run / "up"
    wait_until(lambda: up.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    process.kill()
    process.communicate()
    hold.unlink()


def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, capsys):
    (tmp_path / "whole").mkdir()
    assert main(["minimize", str(write_spec(tmp_path / "whole", HELD_BOWL, budget=16)), "--no-plots"]) == 0
    path = write_spec(tmp_path, HELD_BOWL, budget=16)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    for run in ("0003", "0011"):  # in the initial design, and after it
        kill_during(run, path)
    with journal.open("a") as file:
        file.write('{"event": "tell", "id"')  # a line torn by a crash
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "torn by a crash" in capsys.readouterr().err

    uninterrupted = events(tmp_path / "whole" / "spec.tcgp" / "journal.jsonl", "tell")
    resumed = events(journal, "tell")
    for event in [*uninterrupted, *resumed]:
        assert event.pop("seconds") > 0.0  # the one thing that differs
    assert resumed == uninterrupted
    assert [event["id"] for event in events(journal, "ask")] == list(range(16))
    # A run under way at a kill is waited for, and not made again in a directory of its own.
    assert not list((tmp_path / "spec.tcgp" / "runs").glob("*-*"))


def test_two_workers_lose_nothing_and_repeat_nothing_over_a_kill(tmp_path):
    path = write_spec(tmp_path, HELD_BOWL, budget=14)
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    kill_during("0005", path, "--workers", "2")
    told_before = events(journal, "tell")
    assert main(["minimize", str(path), "--workers", "2", "--no-plots"]) == 0
    told = events(journal, "tell")
    assert told[: len(told_before)] == told_before
    assert sorted(event["id"] for event in told) == list(range(14))
    assert len({tuple(event["x"]) for event in told}) == 14
    again = [p.name for p in (tmp_path / "spec.tcgp" / "runs").glob("*-*")]
    assert len(again) <= 2


def test_a_program_under_way_when_the_search_is_killed_is_not_run_twice(tmp_path):
    start = "import os; open('../starts', 'a').write(os.path.basename(os.getcwd()) + ' ')\n"
    path = write_spec(tmp_path, start + HELD_BOWL + "\nprint(len(open('../starts').read()))", budget=6)
    runs = tmp_path / "spec.tcgp" / "runs"
    kill_during("0003", path)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert (runs / "starts").read_text().split() == [f"{i:04d}" for i in range(6)]
    assert [event["y"] for event in events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")][3] == 20.0


SLEEPER = "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up'); time.sleep(100)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_programs_and_keeps_the_journal(number, tmp_path):
    first_two = "import os, sys\nif os.getcwd() < os.path.abspath('../0002'): print(1.0); sys.exit()\n"
    path = write_spec(tmp_path, first_two + SLEEPER)
    process = command("minimize", path, "--workers", "2")
    runs = tmp_path / "spec.tcgp" / "runs"
    wait_until(lambda: len(list(runs.glob("*/up"))) == 2 or process.poll() is not None)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "stopped      interrupted" in out
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert len(events(journal, "ask")) - len(events(journal, "tell")) == 2
    assert not any(is_alive(int(file.read_text())) for file in runs.glob("*/up"))


def test_tell_keeps_how_long_a_run_took(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text("budget = 9" + TWO_REALS)
    journal = tmp_path / "run.jsonl"
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "2"]) == 0
    assert main(["tell", str(journal), "--took", "2h", "0", "-1.5"]) == 0
    assert main(["tell", str(journal), "1", "--failed", "diverged", "--took", "90"]) == 0
    assert [event["seconds"] for event in events(journal, "tell")] == [7200.0, 90.0]
    capsys.readouterr()
    assert main(["tell", str(journal), "2", "1.0", "--took", "long"]) == 2
    assert "long" in capsys.readouterr().err


def test_time_is_over_for_runs_under_way_too(tmp_path, capsys):
    path = write_spec(tmp_path, SLEEPER)
    assert main(["minimize", str(path), "--max-time", "5"]) == 1
    assert "the time of 5.0 s is over" in capsys.readouterr().out
    (up,) = (tmp_path / "spec.tcgp" / "runs").glob("*/up")
    assert not is_alive(int(up.read_text()))


def test_a_program_that_vanishes_stops_the_search_and_costs_no_point(tmp_path, capsys):
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\necho 1$(expr $$ % 9)\n[ -e ../0004 ] && rm ../../../simulate\nexit 0\n")
    program.chmod(0o755)
    path = tmp_path / "spec.toml"
    path.write_text('command = ["./simulate", "{x}", "{y}"]\nbudget = 12\nseed = 1' + TWO_REALS)
    assert main(["minimize", str(path), "--no-plots"]) == 1
    assert "there is no program" in capsys.readouterr().out
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    assert len(events(journal, "tell")) == 5
    assert all(event["y"] is not None for event in events(journal, "tell"))


def test_every_way_to_give_parameters_and_to_read_the_value(tmp_path, capsys):
    code = (
        "import json, os, sys; p = json.load(sys.stdin); assert p == json.load(open('parameters.json')); "
        "assert sys.argv[1:] == [p['kind']], sys.argv; assert os.environ['GAIN'] == '2'; "
        "json.dump({{'cost': {{'total': p['n'] + (p['kind'] == '; rm -rf')}} }}, open('out.json', 'w'))"
    )
    tables = """
    [parameters]
    n = {type = "integer", low = 1, high = 3}
    kind = {choices = ["; rm -rf", "$HOME"]}
    [objective]
    file = "out.json"
    key = "cost.total"
    [environment]
    GAIN = "2"
    """
    path = write_spec(tmp_path, code, top='input = "json"', tables=tables, arguments=["{kind}"], budget=20)
    journal = tmp_path / "elsewhere.jsonl"
    assert main(["minimize", str(path), "--quiet", "--journal", str(journal), "--no-plots"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "best value   1.0" in captured.out
    assert 'kind = "$HOME"' in captured.out
    assert "every point of the space has been evaluated" in captured.out  # six points are all there are
    assert len(list((tmp_path / "runs").glob("0*"))) == 6


def test_a_journal_of_another_spec_is_refused_and_left_alone(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    before = journal.read_bytes()
    for old, new, words in [
        ("high = 1.0", "high = 2.0", "parameter 'x' was Real(low=0.0, high=1.0"),
        ("seed = 1", "seed = 2", "'seed' was 1 and is now 2"),
        ("seed = 1", "seed = 1\nmethod = 'gp'", "'method' was 'auto' and is now 'gp'"),
        ("x = {low", "z = {low", "the list of parameters was ['x', 'y'] and is now ['z', 'y']"),
    ]:
        capsys.readouterr()
        changed = tmp_path / "changed.toml"
        text = path.read_text().replace(old, new, 1)
        changed.write_text(text.replace('"{x}"', '"{z}"') if "z =" in text else text)
        assert main(["minimize", str(changed), "--journal", str(journal)]) == 2
        (line,) = said(capsys)
        assert words in line
    assert journal.read_bytes() == before


def test_another_command_on_the_same_journal_is_pointed_out(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    write_spec(tmp_path, BOWL + " # mended", budget=5)
    capsys.readouterr()
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "not the one this journal was begun with" in capsys.readouterr().err


def test_a_spent_budget_says_how_to_go_on(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert "raise the budget with --budget" in capsys.readouterr().err
    assert main(["minimize", str(path), "--no-plots", "--budget", "6"]) == 0
    assert len(events(tmp_path / "spec.tcgp" / "journal.jsonl", "tell")) == 6


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "ask", "id": "../../evil", "x": [0.5, 0.5], "source": "design", "trace": null, "fit": null}',
        '{"event": "tell", "id": [], "x": [0.5, 0.5], "y": 1.0, "reason": null}',
        '{"event": "tell", "id": null, "x": [7, 0.5], "y": 1.0, "reason": null}',
        '{"event": "exec"}',
        "[" * 100_000,
    ],
)
def test_a_hostile_journal_is_refused_in_one_sentence(line, tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=4)
    journal = tmp_path / "run.jsonl"
    assert main(["ask", str(journal), "--spec", str(path)]) == 0
    text = journal.read_text() + line + "\n"
    journal.write_text(text + '{"event": "tell"}\n')
    for arguments in (
        ["minimize", str(path), "--journal", str(journal)],
        ["ask", str(journal)],
        ["tell", str(journal), "0", "1"],
        ["status", str(journal)],
        ["diagnose", str(journal)],
    ):
        capsys.readouterr()
        assert main(arguments) == 2
        assert len(said(capsys)) == 1
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("0*"))


# ---- ask, tell and status ----


@pytest.fixture
def campaign(tmp_path):
    """The journal of a new campaign, and the spec that it is to have."""
    path = tmp_path / "spec.toml"
    path.write_text("seed = 3\nn_initial = 4" + TWO_REALS)
    return tmp_path / "run.jsonl", path


def ask(capsys, *arguments):
    capsys.readouterr()
    assert main(["ask", *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_asking_and_telling_by_hand_is_the_optimizer(campaign, capsys):
    journal, spec = campaign
    reference = tcgp.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, n_initial=4, rng=3)
    for i in range(8):
        (proposal,) = ask(capsys, journal, *(["--spec", spec] if i == 0 else []))
        x = reference.ask()
        assert proposal == {"id": i, "x": dict(zip("xy", x, strict=True))}
        value = (x[0] - 0.3) ** 2 - x[1]
        assert main(["tell", str(journal), str(i), repr(value)]) == 0
        reference.tell(x, value)
    assert main(["status", str(journal), "--json"]) == 0
    status = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status["best"]["value"] == reference.result().fun
    assert status["n_told"] == 8


def test_pending_points_are_kept_and_failures_are_told(campaign, capsys):
    journal, spec = campaign
    proposals = ask(capsys, journal, "--spec", spec, "-n", 3)
    assert [p["id"] for p in proposals] == [0, 1, 2]
    assert main(["tell", str(journal), "1", "--failed", "the rig broke"]) == 0
    assert main(["tell", str(journal), "--x", '{"x": 0.5, "y": 0.25}', "-1e-5"]) == 0
    assert main(["tell", str(journal), "--failed", "old", "--x", "[0.75, 0.25]"]) == 0
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    shown = capsys.readouterr().out
    assert "3: 1 succeeded, 2 failed; 2 pending" in shown
    assert "best value   -1e-05" in shown
    assert "1 x the rig broke   (run 1)" in shown
    assert json.dumps(proposals[0]) in shown
    assert json.dumps(proposals[2]) in shown
    (later,) = ask(capsys, journal)
    assert later["id"] == 3
    assert later["x"] not in [p["x"] for p in proposals]


def test_telling_twice_is_harmless_and_telling_otherwise_is_refused(campaign, capsys):
    journal, spec = campaign
    ask(capsys, journal, "--spec", spec)
    assert main(["tell", str(journal), "0", "1.5"]) == 0
    before = journal.read_bytes()
    assert main(["tell", str(journal), "0", "1.5"]) == 0
    capsys.readouterr()
    for arguments, words in [
        (["0", "2.5"], "evaluations are exact"),
        (["7", "2.5"], "no point 7 was asked for"),
        (["first", "2.5"], "ID must be the number"),
        (["0", "high"], "VALUE must be a number"),
        (["0"], "ID VALUE is expected, got 0"),
        (["0", "1.5", "2"], "ID VALUE is expected, got 0 1.5 2"),
        (["0", "1.5", "--failed", "x"], "ID is expected, got 0 1.5"),
        (["--x", "{broken", "1"], "--x must be JSON"),
        (["--x", '{"x": 0.5}', "1"], "exactly the parameters"),
        (["--x", '{"x": 0.5, "y": 9}', "1"], "parameter 'y'"),
    ]:
        assert main(["tell", str(journal), *arguments]) == 2
        (line,) = said(capsys)
        assert words in line
    assert journal.read_bytes() == before


def test_a_journal_in_use_is_waited_for(campaign, capsys):
    journal, spec = campaign
    ask(capsys, journal, "--spec", spec)
    code = (
        "import sys, time; from tcgp.optimizer.journal import Journal; journal = Journal(sys.argv[1]); "
        "print('locked', flush=True); sys.stdin.readline(); time.sleep(0.3)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, journal], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        assert main(["status", str(journal)]) == 0  # reading needs no lock
        other.stdin.write("\n")
        other.stdin.flush()
        assert main(["tell", str(journal), "0", "1.0"]) == 0
    assert len(events(journal, "tell")) == 1


def test_asking_more_than_there_is_gives_what_there_is(tmp_path, capsys):
    spec, journal = tmp_path / "spec.toml", tmp_path / "run.jsonl"
    spec.write_text("[parameters]\nn = {type = 'integer', low = 1, high = 3}")
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "5"]) == 1
    captured = capsys.readouterr()
    assert sorted(json.loads(line)["x"]["n"] for line in captured.out.splitlines()) == [1, 2, 3]
    assert len(captured.err.splitlines()) == 1


def test_the_journal_of_the_library_serves_too(tmp_path, capsys):
    with tcgp.Optimizer([(0.0, 1.0)], journal=tmp_path / "run.jsonl", rng=0) as optimizer:
        optimizer.tell([0.5], 2.0)
    (proposal,) = ask(capsys, tmp_path / "run.jsonl")
    assert main(["status", str(tmp_path / "run.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert 'at           {"x0": 0.5}' in shown
    assert len(proposal["x"]) == 1


# ---- diagnose ----


@pytest.fixture
def table(tmp_path):
    """Forty evaluations of Goldstein-Price, and two that failed."""
    problem = tcgp.problems.get("goldstein-price")
    X = np.random.default_rng(1).uniform(-2.0, 2.0, (40, 2))
    rows = [f"{a!r},{b!r},{y!r}" for (a, b), y in zip(X.tolist(), problem.fun(X).tolist(), strict=True)]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["a,b,cost", *rows, "0.5,0.5,", "0.6,0.5,nan"]) + "\n")
    return path


def test_diagnose_says_what_the_library_says_and_draws_it(table, tmp_path, capsys):
    from tcgp.scoring import diagnose

    X, y = np.split(np.loadtxt(table, delimiter=",", skiprows=1, max_rows=40), [2], axis=1)
    model = tcgp.fit_model((X + 2.0) / 4.0, y.ravel(), "tcgp", bounds=[(0, 1), (0, 1)], delta=0.25)
    picture = tmp_path / "calibration.png"
    arguments = ["--delta", "0.25", "--bounds", "a=-2:2", "b=-2:2", "--plot", str(picture)]
    assert main(["diagnose", str(table), *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(str(diagnose(model)))
    assert "left out: 2" in captured.err
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_diagnose_takes_choices_other_columns_and_the_range_of_the_data(table, capsys):
    lines = table.read_text().splitlines()
    kinds = ["kind", *("new" if i % 3 else "old" for i in range(len(lines) - 1))]
    notes = ["note", *(f"run on day {i}" for i in range(len(lines) - 1))]
    table.write_text("\n".join(f"{k},{line},{n}" for k, line, n in zip(kinds, lines, notes, strict=True)))
    assert main(["diagnose", str(table), "--objective", "cost", "--ignore", "note", "--method", "gp"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Below t = ")
    assert "the range of the data for a, b" in captured.err


def test_diagnose_reads_a_journal(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=8)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    assert main(["diagnose", str(tmp_path / "spec.tcgp" / "journal.jsonl")]) == 0
    assert "of 8 points" in capsys.readouterr().out


def test_the_table_of_a_campaign_can_be_diagnosed(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=8)
    assert main(["minimize", str(path), "--no-plots"]) == 0
    csv = str(tmp_path / "runs.csv")
    assert main(["status", str(tmp_path / "spec.tcgp" / "journal.jsonl"), "--csv", csv]) == 0
    assert main(["diagnose", csv]) == 0
    assert "of 8 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("", [], "is empty"),
        ("1,2\n3,4\n5,6\n7,8\n", [], "has no header"),
        ("a\n1\n2\n3\n", [], "one column only"),
        ("a;y\n1;2\n", [], "one column only"),
        ("a,a,y\n1,1,1\n", [], "column 2 of"),
        ("a,,y\n1,1,1\n", [], "column 2 of"),
        ("a,y\n1,2\n3,4,5\n", [], "line 3 of"),
        ("a,y\n1,2\nx,4\n3,5\n", [], "line 3, column 'a' of"),
        ("a,y\n1,2\n\n2,=1+1\n3,5\n", [], "line 4, column 'y' of"),
        ("a,y\n1,2\nnan,4\n3,5\n", [], "line 3, column 'a' of"),
        ("a,y\n1,2\n2,4\n", [], "at least 3 runs"),
        ("a,y\n1,2\n1,2\n1,2\n", [], "nothing to compare"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--objective", "cost"], "has no column 'cost'; there are a, y"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--ignore", "a"], "needs a column for each parameter"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0"], "--bounds takes NAME=LOW:HIGH"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "b=0:9"], "no such parameter"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:2"], "the data go from 1 to 3"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:4", "--delta", "7"], "delta must be a number in"),
        ("a,y\n1,2\n2,4\n3,5\n", ["--bounds", "a=0:4", "--plot", "no/such/x.png"], "cannot be written"),
        ("n,a,y\n" + "".join(f"t{i},{i},{i % 7}\n" for i in range(20)), [], "20 different texts"),
    ],
)
def test_a_bad_table_is_refused_with_line_and_column(text, arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(text)
    assert main(["diagnose", "runs.csv", *arguments]) == 2
    line = said(capsys)[-1]
    assert line.startswith("tcgp: error: ")
    assert words in line


# ---- demo and example ----


def test_the_demo_shows_a_table_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--seeds", "2", "--n-evals", "12", "--output", str(picture)]) == 0
    captured = capsys.readouterr()
    assert "seed 2 of 2" in captured.err
    rows = {line.split()[0]: line for line in captured.out.splitlines() if re.match("GP|tcGP|auto", line)}
    assert set(rows) == {"GP", "tcGP", "auto"}
    # The initial designs, of six points, are the same for all: after 3 and 6 evaluations the rows agree.
    cells = {label: re.findall(r"[^ ]+ \([^)]*\)", row) for label, row in rows.items()}
    assert cells["GP"][:2] == cells["tcGP"][:2] == cells["auto"][:2]
    assert len({tuple(row[2:]) for row in cells.values()}) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_demo_shows_the_table_only(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = tmp_path / "demo.png"
    assert main(["demo", "--seeds", "1", "--n-evals", "6", "--output", str(picture)]) == 0
    captured = capsys.readouterr()
    assert "tcGP" in captured.out
    assert "needs matplotlib" in captured.err
    assert not picture.exists()


def test_the_example_of_the_repository_runs_as_its_readme_says(tmp_path, capsys):
    folder = tmp_path / "simulator"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("*.tcgp", "suspension"))
    subprocess.run(["sh", "build.sh"], cwd=folder, check=True, capture_output=True)
    assert main(["minimize", str(folder / "suspension.toml")]) == 0
    tells = events(folder / "suspension.tcgp" / "journal.jsonl", "tell")
    assert len(tells) == 40
    # A grid of 200 x 200 points for each spring has its least cost, 4.1652, at the progressive one.
    assert min(event["y"] for event in tells if event["y"] is not None) < 4.17
    assert 'spring = "progressive"' in capsys.readouterr().out


def test_tables_are_aligned():
    assert format_table([["", "a"], ["long", "b"]]) == "      a\nlong  b"
