"""Nothing read from a file is ever executed, a value is never a command, and a run stays in its directory."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tcgp
from tcgp.cli import main
from tcgp.programs import Objective, RunFailed, Simulator, Template

SOURCES = sorted(Path(tcgp.__file__).parent.rglob("*.py"))

# What turns data into code; joblib.load and numpy.load with allow_pickle read pickles too.
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "code", "yaml", "imp"}
FORBIDDEN_FUNCTIONS = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "runpy.run_path",
    "joblib.load",
}


def _offences(tree: ast.AST) -> list[str]:
    """Ways to execute data, with their lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += [f"{node.lineno}: {n}" for n in names if n.split(".")[0] in FORBIDDEN_MODULES]
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in FORBIDDEN_CALLS:
            found.append(f"{node.lineno}: {function.id}")
        if isinstance(function, ast.Attribute) and ast.unparse(function) in FORBIDDEN_FUNCTIONS:
            found.append(f"{node.lineno}: {ast.unparse(function)}")
        for keyword in node.keywords:
            if keyword.arg in ("shell", "allow_pickle") and getattr(keyword.value, "value", True):
                found.append(f"{node.lineno}: {keyword.arg}")
    return found


def test_offences_are_found_where_there_are_some() -> None:
    code = "import pickle\neval('1')\nos.system('ls')\nsubprocess.run('ls', shell=True)\nnp.load(f, allow_pickle=True)"
    assert len(_offences(ast.parse(code))) == 5


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCES[0].parent)))
def test_no_module_executes_data(path: Path) -> None:
    assert _offences(ast.parse(path.read_text())) == []


ECHO = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
HOSTILE = [
    "; touch broken",
    "$(touch broken)",
    "`touch broken`",
    "a b",
    "'",
    '"',
    "\n",
    "*",
    "{x}",
    "{spec_dir}",
    "-x",
    "--",
    "é",
]

quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@quick
@given(
    value=st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)),
    before=st.text(max_size=4),
    after=st.text(max_size=4),
)
def test_a_value_fills_its_place_in_its_argument_and_nothing_else(
    value: str, before: str, after: str
) -> None:
    escaped = [text.replace("{", "{{").replace("}", "}}") for text in (before, after)]
    simulator = Simulator([*ECHO, f"{escaped[0]}{{x}}{escaped[1]}", "fixed"], runs="unused")
    assert simulator.arguments({"x": value})[3:] == [before + value + after, "fixed"]


@pytest.mark.parametrize("value", HOSTILE)
def test_the_program_gets_a_hostile_value_as_it_is_and_no_shell_sees_it(value: str, tmp_path: Path) -> None:
    run = Simulator([*ECHO, "{x}", "a={x}"], runs=tmp_path / "runs").start({"x": value})
    with pytest.raises(RunFailed):  # it prints no number
        run.finish()
    assert json.loads((run.directory / "stdout.txt").read_text()) == [value, f"a={value}"]
    assert not list(tmp_path.rglob("broken"))


@quick
@given(text=st.text(max_size=12))
def test_a_template_is_filled_or_refused_and_evaluates_nothing(text: str) -> None:
    try:
        template = Template.parse(text)
    except ValueError:
        return
    # Names are looked up as they stand: no attribute, no index, no format.
    filled = template.fill(dict.fromkeys(template.names, "#"))
    plain = "".join("#" if is_name else piece for piece, is_name in template.pieces)
    assert filled == plain


SPEC = """
command = [{python}, "-c", "print(1.0)", "{{x}}"]
budget = 2
[parameters]
x = {{choices = {choices}}}
"""


def _spec(path: Path, choices: list[str]) -> Path:
    spec = path / "spec.toml"
    spec.write_text(SPEC.format(python=json.dumps(sys.executable), choices=json.dumps(choices)))
    return spec


@pytest.mark.parametrize("choices", [["a\0b", "c"], ["a", "../../x"]])
def test_a_spec_of_hostile_choices_runs_or_is_refused(
    choices: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name for path in tmp_path.parent.iterdir()}
    code = main(["minimize", str(_spec(tmp_path, choices)), "--quiet", "--no-plots"])
    err = capsys.readouterr().err
    if "\0" in choices[0]:
        assert code == 2
        assert "zero byte" in err
    else:
        assert code == 0
    assert {path.name for path in tmp_path.parent.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} <= {"spec.toml", "spec.tcgp"}


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/tmp/x", "a\\b", "a\0b"])
def test_a_run_cannot_be_named_out_of_its_root(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not the name of a directory"):
        Simulator([*ECHO], runs=tmp_path / "runs").start({}, name)


def test_a_link_where_a_run_should_be_is_not_followed(tmp_path: Path) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    outside.mkdir()
    runs.mkdir()
    (runs / "0007").symlink_to(outside)
    run = Simulator([*ECHO], runs=runs).start({}, "0007")
    with pytest.raises(RunFailed):
        run.finish()
    assert run.directory.name == "0007-2"
    assert list(outside.iterdir()) == []


def test_links_that_a_program_leaves_are_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    code = (
        "import os, sys\n"
        "for name in ('outcome.json', '.outcome.json.draft'):\n"
        "    os.symlink(sys.argv[1], name)\n"
        "print(1.0)"
    )
    run = Simulator([sys.executable, "-c", code, str(victim)], runs=tmp_path / "runs").start({})
    assert run.finish() == 1.0
    assert victim.read_text() == "precious"
    assert json.loads((run.directory / "outcome.json").read_text())["value"] == 1.0


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret.txt"])
def test_output_that_leads_out_of_the_run_is_not_read(target: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("42")
    code = "import os, sys; os.symlink(sys.argv[1], 'result.txt')"
    simulator = Simulator(
        [sys.executable, "-c", code, target], runs=tmp_path / "runs", objective=Objective(file="result.txt")
    )
    with pytest.raises(RunFailed, match="leads out of"):
        simulator({})


# Escape sequences, marks for the direction of text, characters without width, line breaks.
TERMINAL = "a\rb\x1b[2J\u202ec\u200bd\u2066e\x9b\x07"


def test_names_and_outputs_cannot_meddle_with_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import sys; print(sys.argv[1], file=sys.stderr); sys.exit(3) if sys.argv[2] == 'bad' else print(1.5)"
    )
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f"command = {json.dumps([sys.executable, '-c', code, '{' + TERMINAL + '}', '{kind}'])}\n"
        "budget = 4\nseed = 1\n[parameters]\n"
        f"{json.dumps(TERMINAL)} = {{choices = [{json.dumps(TERMINAL)}, {json.dumps('2' + TERMINAL)}]}}\n"
        'kind = {choices = ["good", "bad"]}\n'
    )
    journal = str(tmp_path / "spec.tcgp" / "journal.jsonl")
    for arguments, code in [
        (["minimize", str(spec), "--dry-run"], 0),
        (["minimize", str(spec), "--no-plots"], 0),
        (["status", journal], 0),
        (["status", journal, "--json"], 0),
        (["ask", journal], 1),  # there is no point left
    ]:
        assert main(arguments) == code
        captured = capsys.readouterr()
        assert [line for line in (captured.out + captured.err).split("\n") if not line.isprintable()] == []
    tells = [json.loads(line) for line in Path(journal).read_text().splitlines()[1:]]
    reasons = {event["reason"] for event in tells if event["event"] == "tell"}
    assert reasons == {None, "exit code 3: b?[2J?c?d?e??"}


def test_a_report_of_hostile_names_runs_nothing_of_theirs(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    journal = tmp_path / "run.jsonl"
    space: dict[str, Any] = {attack: tcgp.Categorical([attack, "b"]), "x": tcgp.Real(0, 1)}
    with tcgp.Optimizer(space, n_initial=3, rng=0, journal=journal) as optimizer:
        for i in range(3):
            optimizer.tell(optimizer.ask(), None if i == 1 else float(i), reason=attack)
    assert main(["report", str(journal)]) == 0
    page = (tmp_path / "run.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
