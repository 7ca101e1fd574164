"""``tcgp init``: write a spec from the answers to a few questions."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tcgp._text import did_you_mean
from tcgp.cli.console import UsageError, parse_duration, relative, show
from tcgp.cli.spec import dimension_of, spec_of
from tcgp.programs.command import Template, find_program

__all__ = ["run"]

T = TypeVar("T")

PARAMETER = (
    'its bounds, such as "0.1 10", "0.1 10 log", "1 8 integer" or "0 5 step 0.25"; or choices: "steel, brass"'
)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER})\s+({NUMBER})((?:\s+(?:log|integer|step\s+{NUMBER}))*)$")


def run(options: argparse.Namespace) -> None:
    """Carry out ``tcgp init``."""
    path = Path(options.spec)
    if path.exists():
        raise UsageError(f"the file {str(path)!r} exists already: choose another name")
    show("Press Enter for the answer in brackets; Ctrl-C quits without writing a file.")
    try:
        text = _text(path)
    except EOFError:
        raise UsageError("the input ended before the last question; nothing was written") from None
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    show(
        f"{relative(path)} was written. Make one run and see what is read from it: tcgp minimize {path} --try"
    )


def _text(path: Path) -> str:
    """The spec in TOML, as the answers have it."""
    command, named = _ask(
        "The command, with {name} for each parameter, such as ./simulate --width={width}",
        lambda answer: _command(answer, path.absolute().parent),
    )
    names = named or _ask("The parameters, which the program reads as JSON from its standard input", _some)
    parameters = [
        f"{_key(name)} = {_ask(f'{name}: {PARAMETER}', partial(_parameter, name))}" for name in names
    ]
    outputs = _ask(
        'Outputs by name, if it prints lines such as "mass = 12.7" [one number, the last]', _listed
    )
    limits: list[str] = []
    if outputs:
        goal = _ask(
            f'Which one to minimize; or "maximize" and a name [{outputs[0]}]', partial(_goal, outputs)
        )
        limits = _ask('Limits, such as "stress <= 250, mass >= 1" [none]', _listed)
    else:
        goal = _ask("Should it be minimized or maximized? [minimized]", _direction)
    budget = _ask(
        f"How many runs? [{20 * len(names)}]", lambda answer: _count(answer or str(20 * len(names)))
    )
    timeout = _ask('Time limit for each run, such as "10m" or "2h" [none]', _timeout)
    lines = [f"command = {json.dumps(command)}", *([] if named else ['input = "json"']), f"budget = {budget}"]
    lines += [f"timeout = {json.dumps(timeout)}"] if timeout else []
    lines += [goal] if goal else []
    lines += [f"constraints = {json.dumps(limits)}"] if limits else []
    lines += ["", "[parameters]", *parameters]
    if outputs:
        lines += ["", "[outputs]", *(f"{_key(name)} = {{pattern = {_pattern(name)}}}" for name in outputs)]
    text = "\n".join([*lines, ""])
    try:
        spec_of(path, tomllib.loads(text))
    except (ValueError, TypeError) as error:
        raise UsageError(f"the answers do not fit together: {error}; nothing was written") from None
    return text


def _ask(question: str, parse: Callable[[str], T]) -> T:
    """The answer to a question, which is asked again until there is a valid one."""
    while True:
        print(f"{question}\n> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        try:
            return parse(line.strip())
        except (ValueError, TypeError) as error:
            show(f"  {error}")


# ---- what answers mean ----


def _command(answer: str, folder: Path) -> tuple[list[str], list[str]]:
    """A command and its placeholders. Files next to the spec are found from the directory of each run, too."""
    program, *arguments = shlex.split(answer) or [""]
    if not program:
        raise ValueError("a command is required")
    find_program(program, folder)
    for i, argument in enumerate(arguments):
        if not os.path.isabs(argument) and (folder / argument).is_file():
            arguments[i] = "{spec_dir}/" + argument
    used = [name for argument in arguments for name in Template.parse(argument).names if name != "spec_dir"]
    return [program, *arguments], list(dict.fromkeys(used))


def _parameter(name: str, answer: str) -> str:
    """A parameter as a table of TOML."""
    found = RANGE.match(answer)
    if found:
        low, high, rest = found.groups()
        words = rest.split()
        fields = {"type": '"integer"'} if "integer" in words else {}
        fields |= {"low": _number(low), "high": _number(high)}
        fields |= {"log": "true"} if "log" in words else {}
        fields |= {"step": _number(words[words.index("step") + 1])} if "step" in words else {}
    elif len(choices := _listed(answer)) > 1:
        numeric = all(re.fullmatch(NUMBER, choice) for choice in choices)
        fields = {"choices": f"[{', '.join(map(_number if numeric else json.dumps, choices))}]"}
    else:
        raise ValueError(f"{answer!r} is neither two bounds nor a list of choices separated by commas")
    text = "{" + ", ".join(f"{key} = {value}" for key, value in fields.items()) + "}"
    dimension_of(name, tomllib.loads(f"x = {text}")["x"])
    return text


def _number(text: str) -> str:
    """A number in TOML, which does not allow .5 or 1."""
    return str(int(text)) if re.fullmatch(r"[-+]?\d+", text) else repr(float(text))


def _listed(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(",") if part.strip()]


def _some(answer: str) -> list[str]:
    if not (names := _listed(answer)):
        raise ValueError("at least one name is required; separate several by commas")
    return names


def _goal(outputs: list[str], answer: str) -> str:
    word, _, rest = answer.partition(" ")
    key, name = (
        ("maximize", rest.strip())
        if word in ("maximize", "maximise")
        else ("objective", answer or outputs[0])
    )
    if name not in outputs:
        raise ValueError(f"{name!r} is not an output{did_you_mean(name, outputs)}")
    return f"{key} = {json.dumps(name)}"


def _direction(answer: str) -> str:
    if answer[:3].lower() not in ("", "min", "max"):
        raise ValueError("minimized or maximized?")
    return "maximize = true" if answer[:3].lower() == "max" else ""


def _count(answer: str) -> int:
    if not answer.isdecimal() or int(answer) == 0:
        raise ValueError(f"{answer!r} is not a number of runs")
    return int(answer)


def _timeout(answer: str) -> str:
    if answer:
        parse_duration(answer)
    return answer


def _pattern(name: str) -> str:
    """A regular expression for the number after a name, in TOML."""
    return json.dumps(rf"(?m)^\s*{re.escape(name)}\s*[=:]\s*(\S+)")


def _key(name: str) -> str:
    """A key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
