"""The spec of a campaign: what is understood, and what is refused in one sentence."""

from __future__ import annotations

import json
import sys

import pytest
from commands import TWO_REALS, said, write_spec

import tcgp
from tcgp.cli import main
from tcgp.cli.console import parse_duration
from tcgp.cli.spec import EXAMPLE, load_spec


def test_the_example_spec_is_valid_and_explains_every_key(tmp_path):
    from tcgp.cli.spec import KEYS

    (tmp_path / "simulate").write_text("#!/bin/sh\n")
    (tmp_path / "deck.inp.in").write_text("{{ width }}\n")
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
    goals = (
        "objective = ",
        "reference = ",
        "constraints = ",
        "outputs = ",
        "[outputs]",
        "mass = ",
        "stress = ",
    )
    others = ("mesh = ", "length = ", "series = ", "height = ")  # parameters that the command does not use
    bare = [line for line in bare if not line.startswith((*goals, *others, "key = ", "                "))]
    path.write_text("\n".join(bare))
    load_spec(str(path))
    assert all(f"{key} =" in EXAMPLE or f"[{key}]" in EXAMPLE for key in KEYS)


def test_parameters_with_steps_ordered_ones_and_fixed_ones(tmp_path):
    lines = [line[2:] for line in EXAMPLE.splitlines() if line.startswith(("# mesh", "# length", "# height"))]
    path = tmp_path / "spec.toml"
    path.write_text(
        "\n".join(
            ["[parameters]", *lines, 'kind = "steel"', "n = {type = 'integer', low = 0, high = 9, step = 3}"]
        )
    )
    space = load_spec(str(path)).space
    expected = {
        "mesh": tcgp.Categorical(["coarse", "medium", "fine"], ordered=True),
        "length": tcgp.Real(0.0, 5.0, step=0.25),
        "height": 2.5,
        "kind": "steel",
        "n": tcgp.Integer(0, 9, step=3),
    }
    assert space == tcgp.Space(expected)


BAD_PARAMETERS = [
    ("budget = 3", "there are no parameters"),
    ("budget = = 3", "is not valid TOML"),
    ("[parameters]\nx = {low = 0, hihg = 1}", "unknown key of parameter 'x' 'hihg'; did you mean 'high'?"),
    ("[parameters]\nx = {min = 0, max = 1}", "did you mean 'low'?"),
    ("[parameters]\nx = {low = 2, high = 1}", "parameter 'x': Real needs low < high, got low=2, high=1"),
    ("[parameters]\nx = {low = 0}", "parameter 'x' has no 'high'"),
    ("[parameters]\nx = {low = 0, high = inf}", "parameter 'x': Real needs two finite bounds"),
    ("[parameters]\nx = {low = 0, high = 1, log = true}", "log=True needs low > 0"),
    ("[parameters]\nx = {low = 0, high = 1, log = 1}", "'log' of parameter 'x' must be true or false"),
    ("[parameters]\nx = {low = '0', high = 1}", "parameter 'x': Real needs two finite bounds"),
    ("[parameters]\nx = {type = 'float', low = 0, high = 1}", "did you mean 'real'?"),
    ("[parameters]\nx = {type = 'integer', low = 0.5, high = 1}", "parameter 'x': Integer needs integers"),
    (
        "[parameters]\nx = {choices = ['a', 'a']}",
        "parameter 'x': the choices of a Categorical must all differ",
    ),
    ("[parameters]\nx = {choices = []}", "at least one choice"),
    ("[parameters]\nx = {choices = [2020-01-01]}", "a choice must be a string"),
    ("[parameters]\nx = [3]", "parameter 'x' must be a table"),
    ("[parameters]\nx = 3\ny = 'steel'", "every parameter is fixed"),
    ("[parameters]\ny = {low = 0, high = 1}\nx = nan", "parameter 'x': a choice must be a string, a finite"),
    ("[parameters]\nx = {low = 0, high = 1, step = 2}", "parameter 'x': Real needs a step between 0"),
    ("[parameters]\nx = {choices = [1, 2], ordered = 1}", "'ordered' of parameter 'x' must be true or false"),
    ("[parameters]\nx = {low = 0, high = 1}\nbudget = 9", "belongs above the first [table]"),
    ("[parameters]\nspec_dir = {low = 0, high = 1}", "needs another name"),
    ("[parameters]\n'{x}' = {low = 0, high = 1}", "needs another name"),
]
BAD_KEYS = [
    ("n_evals = 9", "unknown key 'n_evals'; did you mean 'budget'?"),
    ("buget = 9", "unknown key 'buget'; did you mean 'budget'?"),
    ("budget = 0", "'budget' must be a whole number of at least 1"),
    ("budget = true", "'budget' must be a whole number"),
    ("seed = -1", "'seed' must be a whole number of at least 0"),
    ("target = 'low'", "'target' must be a number"),
    ("max_time = 'soon'", "'max_time': a time must be a positive number"),
    ("method = 'tcpg'", "got 'tcpg'; did you mean 'tcgp'?"),
    ("maximizer = 'SMC'", "got 'SMC'; did you mean 'smc'?"),
    ("criterion = 'pi'", "criterion must be one of 'ei', 'lcb'"),
    ("epsilon = 2", "epsilon must be a number in (0, 1)"),
    ("options = 3", "'options' must be a table"),
    ("[options]\ndelta = 7", "delta must be a number in (0, 1], got 7"),
    ("[options]\ndelta = 'x'", "delta must be a number in (0, 1], got 'x'"),
    ("[options]\ndleta = 7", "'dleta'"),
    ("timeout = 3", "'timeout' needs a 'command'"),
    ("target = nan", "'target' must be a number, got nan"),
    ("workers = 0", "'workers' must be a whole number of at least 1, got 0"),
    ("method = []", "method must be one of"),
    ("n_initial = true", "'n_initial' must be a whole number"),
    ("epsilon = 'x'", "'epsilon' must be a number, got 'x'"),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *BAD_PARAMETERS,
        *((f"{key}\n[parameters]\nx = {{low = 0, high = 1}}", words) for key, words in BAD_KEYS),
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


ECHO = "command = ['sh', '{x}', '{y}']"


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ("command = 'simulate {x} {y}'", "'command' must be a list of strings"),
        ("command = []", "'command' must be a list of strings"),
        ("command = ['sh', 3]", "'command' must be a list of strings"),
        ("command = ['no-such-program', '{x}', '{y}']", "there is no program 'no-such-program' on the PATH"),
        ("command = ['./nothing', '{x}', '{y}']", "there is no program"),
        ("command = ['{x}', '{y}']", "must be fixed"),
        ("command = ['sh', '{x}', '{yy}']", "placeholder {yy}, which is not a parameter; did you mean 'y'?"),
        ("command = ['sh', '{x}', '{y.real}']", "placeholder {y.real}, which is not a parameter"),
        ("command = ['sh', '{x}']", "does not use the parameter 'y'"),
        ("command = ['sh', '{x}', '{y']", "stands alone"),
        ("command = ['sh', '{x}', '{y}', \"\\u0000\"]", "zero byte"),
        (ECHO + "\ninput = 'yaml'", "'input' must be"),
        (ECHO + "\ninput = 'jsn'", "did you mean 'json'?"),
        (ECHO + "\ntimeout = -1", "'timeout': a time must be a positive number"),
        (ECHO + "\nobjective = 3", "'objective' must be a table"),
        (ECHO + "\nobjective = {file = '../x'}", "must lie in the run's directory"),
        (ECHO + "\nobjective = {pattern = '('}", "is not a regular expression"),
        (ECHO + "\nobjective = {pattern = 'a', key = 'b'}", "not both"),
        (ECHO + "\nobjective = {regex = 'a'}", "did you mean 'pattern'?"),
        (ECHO + "\nenvironment = {A = 1}", "'A' in [environment] must be a string"),
        (ECHO, "has no 'budget'"),
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
    with pytest.raises(ValueError, match="a time must be a positive number"):
        parse_duration(value)


def test_a_dry_run_shows_the_command_and_runs_nothing(tmp_path, capsys):
    path = write_spec(tmp_path, "import sys; open('/dev/null')", arguments=["a b", "{x}", "{{", "{y}"])
    assert main(["minimize", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "'a b'" in shown
    assert "12 runs, 4 of them an initial design" in shown
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
