"""Random specs, most with something wrong in them, and what the command answers: never a traceback.

A spec is known by its seed. It is drawn from valid ones, whose programs are tiny and real; then values are replaced,
keys are removed or renamed, and bytes are changed. Used here and in benchmarks/reliability/fuzz.py.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tcgp.cli import main
from tcgp.cli.spec import ALIASES, KEYS, PLACES, TYPES

LONGEST = 60  # seconds of processor time that no command with so few runs takes
SHARE_CHANGED = 0.55  # of the specs

PARAMETERS = [
    {"low": 0.0, "high": 1.0},
    {"low": 1e-3, "high": 1e3, "log": True},
    {"type": "integer", "low": 1, "high": 8},
    {"low": 0.0, "high": 2.0, "step": 0.25},
    {"choices": [1.0, 2.2, 4.7], "type": "real"},
    {"choices": ["1", "2", "3"]},
    {"choices": [1, 10, 100], "ordered": True},
    2.5,
]
OUTPUTS = {"mass": {"pattern": "mass = (\\S+)"}, "stress": {"pattern": "stress = (\\S+)"}}
PROGRAM = ["printf", "stress = %s\\nmass = %s\\n"]
OPTIONS: dict[str, list[Any]] = {
    "seed": [1],
    "workers": [2],
    "method": ["gp", "tcgp", "regp", "ongp", "auto"],
    "criterion": ["ei", "lcb"],
    "n_initial": [1, 2],
    "initial_design": ["uniform", "lhs", "sobol", "centre"],
    "target": [0.5],
    "max_time": ["1m", 30],
    "patience": [2],
    "stop_when_share_below": [1e-3],
    "noise": [True, 0.1],
    "max_failures": [0, 0.5, 3],
    "timeout": ["20s", 20],
    "input": ["json", "file", "none"],
    "maximize": [True, False],
    "environment": [{"MESH": "1"}],
    "retries": [{"times": 1, "delay": 0, "exit_codes": [1]}],
}
GOALS: list[dict[str, Any]] = [
    {},
    {"outputs": OUTPUTS, "objective": "mass"},
    {"outputs": OUTPUTS, "objective": "mass", "constraints": ["stress <= 0.7"]},
    {"outputs": OUTPUTS, "objective": "mass + 2 * stress", "constraints": ["x0 <= 0.9"]},
    {"outputs": OUTPUTS, "objective": ["mass", "stress"]},
    {"objective": {"pattern": "mass = (\\S+)"}},
]
JUNK: list[Any] = [
    *(0, -1, 1, 3, 2**62, 0.0, -0.5, 1e-320, 1e308, float("nan"), float("inf"), True, False),
    *(
        "",
        "x0",
        "mass",
        "../x",
        "a\nb",
        "\x1b[31m",
        "{x0}",
        "{",
        "é",
        "x0 <=",
        "1m",
        "[",
        "(",
        "auto",
        "\u202e",
    ),
    *([], [[]], [1], ["x0"], [1, "a"], {}, {"low": 0}, {"x0": 1.0}, {"low": 1.0, "high": 0.0}, {"file": "/"}),
]
NAMES = [*KEYS, *ALIASES, *PLACES, *TYPES["real"], "x0", "", "budget ", "é"]


def draw(seed: int) -> bytes:
    """The spec of a seed."""
    rng = np.random.default_rng([seed, 46])
    content: dict[str, Any] = {"budget": int(rng.integers(1, 5))}
    parameters = {"x0": PARAMETERS[0]}
    parameters |= {f"x{i}": _one(PARAMETERS, rng) for i in range(1, int(rng.integers(1, 4)))}
    # The format is printed again for further values: the last of them is the mass.
    content["command"] = [*PROGRAM, *(value for name in parameters for value in ("{x0}", f"{{{name}}}"))]
    content |= json.loads(json.dumps(_one(GOALS, rng)))
    for name in rng.choice(list(OPTIONS), rng.integers(0, 4), replace=False):
        content[str(name)] = _one(OPTIONS[str(name)], rng)
    content["parameters"] = json.loads(json.dumps(parameters))
    is_changed = rng.random() < SHARE_CHANGED
    by_bytes = rng.random() < 0.3
    if is_changed and not by_bytes:
        for _ in range(rng.integers(1, 3)):
            _change(content, rng)
    raw = "\n".join(f"{_key(key)} = {_toml(value)}" for key, value in content.items()).encode()
    if is_changed and by_bytes:
        for _ in range(rng.integers(1, 4)):
            at, length = int(rng.integers(len(raw) + 1)), int(rng.integers(0, 4))
            raw = raw[:at] + rng.bytes(int(rng.integers(0, 3))) + raw[at + length :]
    return raw


def examine(seed: int) -> tuple[str, list[str]]:
    """How the command ended with the spec of a seed, "ran" where it has a run in its journal, and faults."""
    rng = np.random.default_rng([seed, 47])
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where files are that a spec names
        try:
            Path("spec.toml").write_bytes(draw(seed))
            more = [["--quiet"], [], [], ["--try"], ["--dry-run"], ["--json"], ["--report", "run.html"]]
            budget = _one(["1", "2", "2", "2", "2", "2", "2", "4"], rng)
            faults = _faults(["minimize", "spec.toml", "--budget", budget, "--no-plots", *_one(more, rng)])
            if rng.random() < 0.2:
                faults += _faults(["status", "spec.toml"])
            journal = Path("spec.tcgp/journal.jsonl")
            ran = journal.is_file() and '"event": "tell"' in journal.read_text()
        finally:
            os.chdir(before)
    return "ran" if ran else "refused", faults


def _faults(arguments: list[str]) -> list[str]:
    """Run a command; return what a user should not have seen."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _limited():
            code = main(arguments)
    except BaseException:
        return [f"{arguments[0]}: {traceback.format_exc()}"]
    said = err.getvalue()
    found = [] if code in (0, 1, 2) else [f"{arguments[0]}: exit code {code}"]
    if "Traceback" in said + out.getvalue():
        found.append(f"{arguments[0]}: {said}")
    if code == 2 and not said.strip():
        found.append(f"{arguments[0]}: refused without a word")
    return found


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise TimeoutError in what takes too long."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    handler = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


def _change(table: dict[str, Any], rng: np.random.Generator) -> None:
    """Replace, remove, rename or add something, here or in a table below."""
    below = [value for value in table.values() if isinstance(value, dict) and value]
    if below and rng.random() < 0.5:
        return _change(_one(below, rng), rng)
    key = _one(list(table), rng)
    kind = rng.integers(6)
    if kind == 0:
        del table[key]
    elif kind == 1:
        table[_one(NAMES, rng)] = table.pop(key)
    elif kind == 2:
        table[_one(NAMES, rng)] = _one(JUNK, rng)
    elif kind == 3 and isinstance(table[key], list):
        table[key] = [*table[key][1:], _one(JUNK, rng)]
    else:
        table[key] = _one(JUNK, rng)


def _one(items: list[Any], rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]


def _key(name: str) -> str:
    return json.dumps(name)


def _toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)
