"""The spec of a campaign: a TOML file, checked key by key before anything is run."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tcgp._files import read_regular
from tcgp._text import did_you_mean, shorten
from tcgp.cli.console import UsageError, parse_duration
from tcgp.cli.tables import points_of_table, read_table
from tcgp.goals import Goals, parameter_names
from tcgp.optimizer import Settings
from tcgp.programs import Deck, Objective, Simulator, Template, find_program
from tcgp.record.settings import check_maximizer, split_constraints, wanted_outputs
from tcgp.region import Region
from tcgp.running.arguments import StopRules, point_of_row
from tcgp.running.retries import Retries
from tcgp.space import Categorical, Dimension, Integer, Point, Real, Space

__all__ = ["EXAMPLE", "Program", "Spec", "load_spec", "places_of", "program_of"]

EXAMPLE = """\
# What to minimize: the output of a program. Run it with: tcgp minimize THIS_FILE

# The program and its arguments, started without a shell. {name} stands for a parameter, {{ and }} for braces.
# A program given by a path is relative to this file; {spec_dir} is the directory of this file.
command = ["./simulate", "--width={width}", "{layers}", "{alloy}"]

budget = 60                     # runs in all, failures and the initial design included
timeout = "10m"                 # for each run, in seconds or as text: "30s", "10m", "2h"

# All keys from here on may be left out; the values are the defaults, or examples.
# input = "none"                # "json": parameters as a JSON object on standard input;
                                # "file": the program reads parameters.json in its working directory
# workers = 1                   # runs at a time; or, on a Dask cluster whose nodes see this directory:
                                # workers = {scheduler = "tcp://node1:8786", count = 16}
# seed = 1                      # for the same points again; drawn and journaled by default
# method = "auto"               # or "tcgp" (the paper's), "gp", "tcgp-occ", "tcgp-thres", "bcrgp", "ongp",
                                # "regp", "tcregp", "gp-nugget", "tcgp-additive", "tcgp-rotated"
# criterion = "ei"              # or "lcb"
# epsilon = 0.1                 # level of "lcb"
# n_initial = 20                # size of the initial design: two more than parameters, and at least as many as
                                # workers; 10 per parameter unless method is "auto"; at most half of the budget
# initial_design = "centre"     # the centre and Sobol' points; or "uniform", the paper's, "lhs", "sobol"
# maximizer = "multistart"      # or "smc", the paper's
# maximize = false              # true: large values are wanted
# target = 0.0                  # stop once a value is as low as this, or as high with maximize; of several
                                # objectives, once a run is as good in all: {mass = 30.0, cost = 2.0}
# max_time = "8h"               # stop after this time
# patience = 20                 # stop after so many runs without an improvement, not counting the initial design
# stop_when_share_below = 1e-4  # stop once less than this share of the space is predicted to be better; for up to
                                # three parameters
# min_improvement = 0.1         # what counts as better for these two, in the units of the value
# x0 = [{width = 1.0, layers = 4, alloy = "steel"}]    # points to run first; or the name of a CSV file with a header
# noise = true                  # repeated runs differ; or their standard deviation, or {mass = true, stress = 1.5}
                                # for each output; a program may print that of a run as the output mass_sd
# confirm = 5                   # with noise: the last 5 runs are repeats of the leading points
# max_failures = 10             # stop after more failures than this; 0.5 for half of all runs, from the tenth on

# For a program with several outputs: the one to minimize, and the constraints. A constraint on an output is
# learned during the run; no run violates a constraint on parameters alone.
# objective = "mass"            # an output that [outputs] below lists; "maximize" may name it instead
                                # or an expression, "mass + 3 * cost"; or a list of two to four for a front of
                                # compromises: objective = ["mass", "cost"], maximize = ["life"]
# reference = {mass = 40.0}     # of several objectives, values beyond which a run is of no use
# constraints = ["stress <= 250", "width <= 2 * layers"]
# outputs = "json"              # instead of [outputs]: all numbers of a JSON object, the last line that is printed

[parameters]
width = {type = "real", low = 0.1, high = 10.0, log = true}
layers = {type = "integer", low = 1, high = 8}
alloy = {type = "categorical", choices = ["steel", "brass", "zinc"]}
# mesh = {choices = ["coarse", "medium", "fine"], ordered = true}
# length = {low = 0.0, high = 5.0, step = 0.25}     # only multiples of the step, log = true or not
# series = {type = "real", choices = [1.0, 2.2]}     # only these values
# height = 2.5                                      # fixed: the program gets it, and nothing is searched

# Where the value is. By default it is the last number on the last line of standard output.
# [objective]
# file = "result.txt"           # read this file of the run's directory, not standard output
# pattern = 'drag = (\\S+)'      # or: the last match of a regular expression (its first group)
# key = "drag"                  # or: this key of a JSON object ("forces.drag" for a nested one)

# Where each of several outputs is, in the same way. All of them are recorded, also those that no goal names.
# [outputs]
# mass = {pattern = 'mass = (\\S+)'}
# stress = {file = "stress.json", key = "max"}

# Failures that are not the fault of the point, and are tried again: each is in the journal.
# [retries]
# times = 3                     # further attempts at one point
# delay = "5m"                  # before each of them
# exit_codes = [75]             # for these exit codes,
# messages = ["no licence"]     # or where the end of the program's output, or the reason of the failure, has this text

# [options]                     # of the method
# delta = 0.05

# Input files that are written to the directory of each run. In them, {{ width }} stands for a parameter; expressions
# and Python's formats are understood: {{ 2 * width :.3e }}.
# [template]
# "deck.inp" = "deck.inp.in"    # the file in the run's directory = the template next to this file

# [environment]                 # variables for the program
# OMP_NUM_THREADS = "1"
"""

LARGEST_SPEC = 1 << 24  # bytes
LARGEST_DECK = 1 << 28

SETTINGS = tuple(field.name for field in fields(Settings))
GOALS = ("objective", "constraints", "maximize", "reference")
PROGRAM = ("command", "input", "timeout", "objective", "outputs", "environment", "template")
STOPPING = ("patience", "min_improvement", "stop_when_share_below", "confirm")
RUN = ("budget", "seed", "workers", "target", "max_time", "max_failures", "retries", "x0", *STOPPING)
KEYS = tuple(dict.fromkeys(("parameters", *PROGRAM, *RUN, *SETTINGS)))
PLACES = ("file", "pattern", "key")
INPUTS = ("none", "json", "file")
RESERVED = (
    "parameters.json",
    "stdout.txt",
    "stderr.txt",
    "outcome.json",
)  # what tcgp writes in a run's directory

# What other tools call these keys.
ALIASES = {
    "n_evals": "budget",
    "evaluations": "budget",
    "max_evals": "budget",
    "n_trials": "budget",
    "n_calls": "budget",
    "n_jobs": "workers",
    "acq_func": "criterion",
    "dimensions": "parameters",
    "rng": "seed",
    "random_state": "seed",
    "cmd": "command",
    "program": "command",
    "argv": "command",
    "space": "parameters",
    "bounds": "parameters",
    "variables": "parameters",
    "acquisition": "criterion",
    "model": "method",
    "env": "environment",
    "stdin": "input",
    "templates": "template",
    "output": "outputs",
    "constraint": "constraints",
    "maximise": "maximize",
    "minimize": "objective",
    "parallel": "workers",
    "jobs": "workers",
    "retry": "retries",
    "regex": "pattern",
    "min": "low",
    "max": "high",
    "values": "choices",
}

TYPES = {
    "real": ("low", "high", "log", "step", "choices"),
    "integer": ("low", "high", "log", "step"),
    "categorical": ("choices", "ordered"),
}
NOT_NEEDED = ("log", "step", "ordered")
OTHER_TYPES = {"float": "real", "int": "integer", "categoric": "categorical", "choice": "categorical"}


@dataclass(frozen=True)
class Program:
    """How values are computed: a program, and the place of its value or outputs."""

    command: tuple[str, ...]
    input: str
    objective: Objective
    outputs: dict[str, Objective] | str | None
    timeout: float | None
    environment: dict[str, str]
    decks: dict[str, Deck]
    templates: dict[str, str]  # where their texts come from

    def files_out_of_reach(self, base: Path) -> list[str]:
        """Arguments that look like files next to the spec, which the program will not find from its directory."""
        others = [a for a in self.command[1:] if a not in self.decks]
        return [a for a in others if not os.path.isabs(a) and os.path.isfile(base / a)]

    def simulator(self, runs: Path, base: Path) -> Simulator:
        """The program as a function, with its runs below ``runs``."""
        return Simulator(
            self.command,
            runs,
            self.input == "json",
            self.objective,
            self.timeout,
            self.environment,
            base,
            self.outputs,
            decks=self.decks,
        )


@dataclass(frozen=True)
class Spec:
    """What to minimize, and how.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    space : Space
    program : Program or None
        None if the spec has no command: `tcgp ask` needs none.
    settings : Settings
        As far as the spec gives them.
    scheduler : str or None
        Address of a Dask scheduler, on whose workers the runs are made; None for runs here.
    budget, seed, workers, target, max_time, max_failures, retries
        As in `tcgp.minimize`.
    x0 : list of points
        Points to evaluate first.
    stopping : dict
        Rules that say how a run ends, as in `tcgp.minimize`.
    """

    path: Path
    space: Space
    program: Program | None
    settings: Settings
    budget: int | None
    seed: int | None
    workers: int | None
    scheduler: str | None
    target: float | dict[str, float] | None
    max_time: float | None
    max_failures: float | None
    retries: Retries | None
    x0: list[Point]
    stopping: dict[str, Any]

    @property
    def directory(self) -> Path:
        """Where the spec lies, and what its program is relative to."""
        return self.path.absolute().parent

    @property
    def completed_settings(self) -> Settings:
        """The settings with the initial design, as `tcgp.minimize` would choose it."""
        return self.settings.completed(self.space, self.budget, self.workers or 1)

    def with_limits(self, **limits: Any) -> Spec:
        """The spec with limits from the command line, where they were given."""
        return replace(self, **{name: value for name, value in limits.items() if value is not None})


def load_spec(path: str) -> Spec:
    """Read a spec.

    Parameters
    ----------
    path : str

    Returns
    -------
    Spec

    Raises
    ------
    UsageError
        One sentence with the file, the key and the way out.
    """
    content = _read(Path(path))
    try:
        return spec_of(Path(path), content)
    except (ValueError, TypeError) as error:
        raise UsageError(f"in the spec {path!r}: {error}") from None


def program_of(path: Path) -> dict[str, Any]:
    """What a spec says about its program, unchecked."""
    content = _read(path)
    return {key: content.get(key) for key in ("command", "input")}


def places_of(path: Path) -> dict[str, Any]:
    """What a spec says about where its values are: arguments of `Simulator`."""
    content = _read(path)
    return {"objective": _objective(content), "outputs": _outputs(content)}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_regular(path, LARGEST_SPEC).decode("utf-8-sig").replace("\r\n", "\n"))
        _check_integers(content)
        return content
    except OSError as error:
        raise UsageError(f"the spec {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the spec {str(path)!r} is not a text file in UTF-8; save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits
        raise UsageError(f"the spec {str(path)!r} is not valid TOML: {error}") from None


def _check_integers(item: object) -> None:
    """Refuse integers of more than 64 bits, which TOML does not have."""
    if isinstance(item, int) and not -(2**63) <= item < 2**63:
        raise ValueError(f"the integer {shorten(str(item), 30)} has more than 64 bits")
    if isinstance(item, dict | list):
        for part in item.values() if isinstance(item, dict) else item:
            _check_integers(part)


def spec_of(path: Path, content: Mapping[str, Any]) -> Spec:
    """The spec with this content; ValueError or TypeError if it is invalid."""
    _check_keys("key", content, KEYS)
    space = _space(content.get("parameters"))
    program, settings = _program(content, space, path.absolute().parent), _settings(content)
    x0 = _first_points(content.get("x0", []), space, path.absolute().parent)
    _check_goals(settings, space, program, x0)
    count, scheduler = _workers(content)
    return Spec(
        path=path,
        space=space,
        program=program,
        settings=settings,
        budget=_integer(content, "budget", 1),
        seed=_integer(content, "seed", 0),
        workers=count,
        scheduler=scheduler,
        target=_target(content, settings.goals(space)),
        max_time=_duration(content, "max_time"),
        max_failures=StopRules(1, max_failures=content.get("max_failures")).max_failures,
        retries=_retries(content),
        stopping=_stopping(content),
        x0=x0,
    )


# ---- parameters ----


def _space(table: object) -> Space:
    if not isinstance(table, Mapping) or not table:
        raise ValueError(
            "there are no parameters; add a table [parameters] with lines such as x = {low = 0, high = 1}"
        )
    dimensions = {name: dimension_of(name, item) for name, item in table.items()}
    if not any(isinstance(item, Mapping) for item in table.values()):
        raise ValueError(
            "there is nothing to search: every parameter is fixed; give one of them low and high"
        )
    return Space(dimensions)


def dimension_of(name: str, item: object) -> Dimension:
    """The dimension that a line of [parameters] describes; ValueError with the way out if there is none."""
    label = f"parameter {name!r}"
    if not name or set(name) & set("{}\0") or name == "spec_dir":
        raise ValueError(f"{label} needs another name: one without braces, and not 'spec_dir'")
    if isinstance(item, bool | int | float | str) and name not in KEYS:
        return _fixed(label, item)
    if not isinstance(item, Mapping):
        misplaced = f"; the key {name} belongs above the first [table]" if name in KEYS else ""
        raise ValueError(
            f"{label} must be a table such as {{low = 0, high = 1}}, or a fixed value, got {item!r}{misplaced}"
        )
    kind = item.get("type", "categorical" if "choices" in item else "real")
    if not isinstance(kind, str) or kind not in TYPES:
        known = OTHER_TYPES.get(kind) if isinstance(kind, str) else None
        raise ValueError(
            f"the type of {label} must be 'real', 'integer' or 'categorical', got {kind!r}"
            + (f"; did you mean {known!r}?" if known else "")
        )
    fields = {key: value for key, value in item.items() if key != "type"}
    _check_keys(f"key of {label}", fields, TYPES[kind])
    needed = [key for key in TYPES[kind] if key not in NOT_NEEDED and (kind, key) != ("real", "choices")]
    for key in needed if kind != "real" or "choices" not in fields else ():
        if key not in fields:
            raise ValueError(f"{label} has no {key!r}, which a {kind} parameter needs")
    for key in ("log", "ordered"):
        if not isinstance(fields.get(key, False), bool):
            raise ValueError(f"{key!r} of {label} must be true or false, got {fields[key]!r}")
    kinds = {"real": Real, "integer": Integer, "categorical": Categorical}
    choices = fields.get("choices")
    if isinstance(choices, list) and any(isinstance(c, str) and "\0" in c for c in choices):
        raise ValueError(
            f"a choice of {label} contains a zero byte, which is not allowed in arguments of a program"
        )
    try:
        dimension: Dimension = kinds[kind](**fields)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{label}: {error}") from None
    return dimension


def _fixed(label: str, value: float | str) -> Categorical:
    """A parameter that always has this value."""
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"{label} contains a zero byte, which is not allowed in arguments of a program")
    try:
        return Categorical([value])
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _first_points(x0: object, space: Space, base: Path) -> list[Point]:
    """Points to evaluate first: tables of parameters, or the name of a CSV file."""
    if isinstance(x0, str):
        return points_of_table(space, read_table(x0 if os.path.isabs(x0) else str(base / x0)))
    rows = [x0] if isinstance(x0, Mapping) else x0
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ValueError(
            f"'x0' must be a list of tables such as [{{x = 0.5, y = 1.0}}], or the name of a CSV file, got {x0!r}"
        )
    points = []
    for i, row in enumerate(rows, start=1):
        _check_keys(f"parameter of point {i} in 'x0'", row, space.names or ())
        try:
            points.append(point_of_row(space, row))
        except ValueError as error:
            raise ValueError(f"point {i} in 'x0': {error}") from None
    return points


# ---- the program ----


def _program(content: Mapping[str, Any], space: Space, base: Path) -> Program | None:
    if "command" not in content:
        stray = [key for key in PROGRAM if key in content]
        if stray and not (stray == ["objective"] and _outputs_to_minimize(content)):
            raise ValueError(f'{stray[0]!r} needs a \'command\', a list such as ["./simulate", "{{x}}"]')
        return None
    environment = _environment(content)
    command = _command(content["command"], base, environment.get("PATH"))
    source = content.get("input", "none")
    if source not in INPUTS:
        hint = did_you_mean(source, INPUTS)
        raise ValueError(f'\'input\' must be "none", "json" or "file", got {source!r}{hint}')
    decks = _decks(content.get("template", {}), space, base)
    _check_placeholders(command, space, source, {name for deck in decks.values() for name in deck.names})
    timeout = _duration(content, "timeout")
    places = _objective(content), _outputs(content)
    return Program(command, source, *places, timeout, environment, decks, dict(content.get("template", {})))


def _decks(table: object, space: Space, base: Path) -> dict[str, Deck]:
    """The templates of input files, by the names that the files have in the directory of a run."""
    if not isinstance(table, Mapping) or not all(isinstance(path, str) for path in table.values()):
        raise ValueError(
            '\'template\' must be a table [template] with lines such as "deck.inp" = "deck.inp.in", the file in the '
            f"run's directory and the template next to the spec, got {table!r}"
        )
    names = [*(space.names or ()), "spec_dir"]
    point = space.as_argument(space.decode(np.full((1, space.dim), 0.5))[0])
    decks = {}
    for file, path in table.items():
        label = f"the template {path!r}"
        if not file or os.path.isabs(file) or ".." in Path(file).parts or "\0" in file or file in RESERVED:
            raise ValueError(f"{label} must become a file of its own in the run's directory, got {file!r}")
        try:
            text = read_regular(base / path, LARGEST_DECK).decode("utf-8", "surrogateescape")
        except OSError as error:
            raise ValueError(f"{label} cannot be read: {error.strerror}") from None
        try:
            decks[file] = Deck.parse(text, names)
            unknown = sorted(decks[file].names - set(names))
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not a parameter{_suggestion(unknown[0], names)}")
            decks[file].fill({**point, "spec_dir": str(base)})
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None
    return decks


def _command(command: object, base: Path, search_path: str | None) -> tuple[str, ...]:
    if not isinstance(command, list) or not command or not all(isinstance(a, str) for a in command):
        raise ValueError(
            f"'command' must be a list of strings, a program and its arguments, got {command!r}; "
            'write ["./simulate", "{x}"], without a shell'
        )
    if any("\0" in argument for argument in command):
        raise ValueError("'command' contains a zero byte")
    if Template.parse(command[0]).names:
        raise ValueError(f"the program {command[0]!r} must be fixed: placeholders are for its arguments")
    try:
        find_program(command[0], base, search_path)
    except FileNotFoundError as error:
        raise ValueError(f"'command': {error}") from None
    return tuple(command)


def _check_placeholders(
    command: tuple[str, ...], space: Space, source: str, in_decks: Collection[str]
) -> None:
    names = space.names or ()
    used = [name for argument in command[1:] for name in Template.parse(argument).names]
    for name in used:
        if name not in names and name != "spec_dir":
            raise ValueError(
                f"'command' has the placeholder {{{name}}}, which is not a parameter"
                f"{_suggestion(name, [*names, 'spec_dir'])}; literal braces are written {{{{ and }}}}"
            )
    unused = [name for name in names if name not in used and name not in in_decks]
    if unused and source == "none":
        others = f", {{{{ {unused[0]} }}}} in a file of [template]"
        raise ValueError(
            f"'command' does not use the parameter {unused[0]!r}; write {{{unused[0]}}} in an argument{others}, or set "
            'input = "json" (or "file") for a program that reads its parameters itself'
        )


def _objective(content: Mapping[str, Any]) -> Objective:
    """Where the one value is; of several outputs, `_outputs` says where they are."""
    table = content.get("objective", {})
    if isinstance(table, str | list):
        table = {}
    if not isinstance(table, Mapping):
        raise ValueError(
            f"'objective' must be a table with file, pattern or key, or the name of an output, got {table!r}"
        )
    return _place("[objective]", table)


def _outputs(content: Mapping[str, Any]) -> dict[str, Objective] | str | None:
    table = content.get("outputs")
    if table is None or table == "json":
        return table
    if not isinstance(table, Mapping) or not table or not all(isinstance(p, Mapping) for p in table.values()):
        raise ValueError(
            '\'outputs\' must be a table with lines such as mass = {key = "mass"}, or "json" for all numbers of a JSON '
            f"object, got {table!r}{did_you_mean(table, ['json'])}"
        )
    return {name: _place(f"output {name!r}", place) for name, place in table.items()}


def _place(label: str, table: Mapping[str, Any]) -> Objective:
    """Where a value is."""
    _check_keys(f"key of {label}", table, PLACES)
    for key, value in table.items():
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"{key!r} in {label} must be a string, got {value!r}")
    try:
        return Objective(**table)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _outputs_to_minimize(content: Mapping[str, Any]) -> str | list[str] | None:
    """What the objective names; None where it says where the one value is."""
    name = content.get("objective")
    return name if isinstance(name, str | list) and (name != "stdout" or "outputs" in content) else None


def _environment(content: Mapping[str, Any]) -> dict[str, str]:
    table = content.get("environment", {})
    if not isinstance(table, Mapping):
        raise ValueError(f"'environment' must be a table, got {table!r}")
    for name, value in table.items():
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"{name!r} in [environment] must be a string, got {value!r}")
        if not name or "=" in name or "\0" in name:
            raise ValueError(f"{name!r} cannot be the name of an environment variable")
    return dict(table)


# ---- the search ----


def _settings(content: Mapping[str, Any]) -> Settings:
    """The settings that the spec gives."""
    given = {key: content[key] for key in SETTINGS if key in content and key not in GOALS}
    if not isinstance(given.get("options", {}), Mapping):
        raise ValueError(f"'options' must be a table, got {given['options']!r}")
    _integer(content, "n_initial", 1)
    _number(content, "epsilon")
    texts, others = split_constraints(content.get("constraints", []))
    if others:
        raise ValueError(
            f"'constraints' must be a list of strings such as 'stress <= 250', got {others[0]!r}"
        )
    goal = wanted_outputs(
        _outputs_to_minimize(content), content.get("maximize", False), content.get("reference")
    )
    return Settings(**given, **goal, constraints=texts)


def _workers(content: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """How many runs at a time, None for as many as a cluster takes; and the cluster's scheduler, if there is one."""
    table = content.get("workers")
    if not isinstance(table, Mapping):
        return _integer(content, "workers", 1) or 1, None
    _check_keys("key of 'workers'", table, ("scheduler", "count"))
    scheduler = table.get("scheduler")
    if not isinstance(scheduler, str) or "://" not in scheduler:
        raise ValueError(
            "'scheduler' of 'workers' must be the address of a Dask scheduler such as 'tcp://node1:8786', "
            f"got {scheduler!r}"
        )
    return _integer(table, "count", 1), scheduler


def _stopping(content: Mapping[str, Any]) -> dict[str, Any]:
    """The rules that say how a run ends, as far as they are given."""
    given = {key: content[key] for key in STOPPING if key in content}
    if given.get("confirm") and not content.get("noise"):
        raise ValueError("'confirm' needs 'noise': exact values need no repeats")
    StopRules(1, **given)
    return given


def _check_goals(settings: Settings, space: Space, program: Program | None, x0: Sequence[Point]) -> None:
    """Refuse goals about unknown outputs, and first points that violate a constraint on parameters."""
    goals = settings.goals(space)  # refuses constraints that cannot be read
    check_maximizer(settings.maximizer, goals.known)
    region = Region(space, goals.known)
    region.check_not_empty()
    for i, x in enumerate(x0, start=1):
        for label in region.broken(x):
            raise ValueError(f"point {i} in 'x0' violates the constraint {label!r}")
    parameters, objective = parameter_names(space), settings.objective
    if objective in parameters:
        raise ValueError(f"'objective' must be an output, got the parameter {objective!r}")
    if program is None:
        return
    if program.outputs is None and objective is not None:
        name = goals.outputs[0] if goals.outputs else "mass"
        what = "objectives are outputs" if goals.has_several else f"objective is the output {objective!r}"
        raise ValueError(
            f"the {what}, so 'outputs' must say where the outputs are: a table "
            f'[outputs] with lines such as {name} = {{key = "{name}"}}, or outputs = "json"'
        )
    if program.outputs is not None and objective is None:
        raise ValueError("'outputs' needs 'objective', the name of the output to minimize")
    if program.outputs is None or isinstance(program.outputs, str):
        return
    listed = list(program.outputs)
    for name in listed:
        if name in parameters:
            raise ValueError(f"output {name!r} has the name of a parameter; give it another")
    for text, names in goals.outputs_of_objectives(listed).items():
        for name in (name for name in names if name not in listed):
            what = f"the objective {text!r}" + ("" if name == text else f" names {name!r}, which")
            raise ValueError(f"{what} is not among the outputs{_suggestion(name, listed)}")
    for limit in goals.limits:
        for name in sorted(limit.names - {*listed, *parameters}):
            raise ValueError(
                f"the constraint {limit.text!r} names {name!r}, which is neither an output nor a parameter"
                f"{_suggestion(name, [*listed, *parameters])}"
            )


def _target(content: Mapping[str, Any], goals: Goals) -> float | dict[str, float] | None:
    """What ends the run once it is reached: a number, or of several objectives one for each."""
    table = content.get("target")
    target = dict(table) if isinstance(table, Mapping) else _number(content, "target")
    StopRules(1, target=target).check_goals(goals)
    return target


def _retries(content: Mapping[str, Any]) -> Retries | None:
    table = content.get("retries")
    if table is None:
        return None
    if not isinstance(table, Mapping):
        raise ValueError(
            f"'retries' must be a table [retries] with times, delay, exit_codes or messages, got {table!r}"
        )
    _check_keys("key of [retries]", table, [field.name for field in fields(Retries)])
    given = dict(table)
    if given.get("delay", 0) != 0:
        given["delay"] = _duration(table, "delay")
    try:
        return Retries(**given)
    except ValueError as error:
        raise ValueError(f"[retries]: {error}") from None


def _integer(content: Mapping[str, Any], key: str, least: int) -> int | None:
    value = content.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise ValueError(f"{key!r} must be a whole number of at least {least}, got {value!r}")
    return value


def _number(content: Mapping[str, Any], key: str) -> float | None:
    value = content.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
        raise ValueError(f"{key!r} must be a number, got {value!r}")
    return float(value)


def _duration(content: Mapping[str, Any], key: str) -> float | None:
    if key not in content:
        return None
    try:
        return parse_duration(content[key])
    except ValueError as error:
        raise ValueError(f"{key!r}: {error}") from None


# ---- names ----


def _check_keys(what: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"unknown {what} {key!r}{_suggestion(key, known)}")


def _suggestion(name: str, known: Collection[str]) -> str:
    """The name that may have been meant, or all names."""
    alias = ALIASES.get(name.lower())
    if alias in known:
        return f"; did you mean {alias!r}?"
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
