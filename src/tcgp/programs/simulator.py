"""An external program as a function of named parameters.

Each run has its own working directory, which contains its inputs and outputs. The program is started from a list of
arguments, never through a shell, and a parameter is always part of one argument, so that no value can be interpreted as
a command.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tcgp._files import write_atomically
from tcgp._text import plain, printable, shorten
from tcgp.programs.command import Template, find_program
from tcgp.programs.decks import Deck
from tcgp.programs.objective import OUTCOME, STDOUT, Objective, RunFailed, RunLost, outputs_of_run
from tcgp.programs.output import last_line, read_tail
from tcgp.programs.places import PARAMETERS, Place, new_place, places_of, read_json
from tcgp.programs.process import Process, adopt, is_running, read_notes, start, unsupervised

__all__ = ["Run", "Simulator", "is_under_way"]

logger = logging.getLogger("tcgp")

STDERR = "stderr.txt"
_FULL = (errno.ENOSPC, errno.EDQUOT)
LONGEST_WORDS = 10_000  # characters at the end of an output that are searched for messages

Value = float | dict[str, float | None]


@dataclass(frozen=True)
class Simulator:
    """An external program as a function of named parameters.

    Parameters
    ----------
    command : sequence of str
        Program and arguments. In arguments, ``{name}`` is replaced by a parameter, and ``{spec_dir}`` by ``base``; see
        `Template`.
    runs : path
        Parent directory of the directories of the runs.
    stdin : bool
        Whether to pass the parameters as a JSON object on standard input. They are always in the file
        ``parameters.json`` in the working directory.
    objective : Objective
        Location of the value, if there is only one.
    timeout : float, optional
        Seconds after which a run is killed, with all processes that it started.
    environment : mapping, optional
        Additional environment variables.
    base : path
        Directory for relative paths of the program.
    outputs : mapping or "json", optional
        Locations of several outputs, by name. A run then returns a dict, with None for outputs that cannot be read.
        ``"json"`` means all numbers at the top level of a JSON object, which is the whole standard output or its last
        line.
    decks : mapping, optional
        Input files that are written to the directory of each run, with the parameters filled in: a `Deck` by the name
        of the file.
    campaign : str, optional
        Mark of the runs of one campaign, the ``campaign`` of its `tcgp.Optimizer`. Runs with another mark, or none, are
        not its own.

    Notes
    -----
    A run ends when the program itself ends. Processes that it leaves behind are then killed: on Linux all descendants,
    on other POSIX systems those in its process group. On Windows, only a timeout or an interrupt kills them.

    Examples
    --------
    >>> import sys, tempfile
    >>> from tcgp.programs import Objective, Simulator
    >>> program = [sys.executable, "-c", "import sys; print(float(sys.argv[1]) ** 2)", "{x}"]
    >>> simulator = Simulator(program, runs=tempfile.mkdtemp())
    >>> simulator({"x": 1.5})
    2.25
    >>> program = [sys.executable, "-c", "print('mass = 3 kg'); print('stress = nan')"]
    >>> outputs = {name: Objective(pattern=rf"{name} = (\\S+)") for name in ("mass", "stress")}
    >>> Simulator(program, runs=tempfile.mkdtemp(), outputs=outputs)({})
    {'mass': 3.0, 'stress': None}
    """

    command: Sequence[str]
    runs: str | os.PathLike[str]
    stdin: bool = False
    objective: Objective = field(default_factory=Objective)
    timeout: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    base: str | os.PathLike[str] = "."
    outputs: Mapping[str, Objective] | str | None = None
    campaign: str | None = None
    decks: Mapping[str, Deck] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.command, str) or not self.command:
            raise ValueError(
                f"command must be a list of a program and its arguments, got {plain(self.command)}"
            )
        for argument in self.command[1:]:
            Template.parse(argument)
        for name in ("runs", "base"):  # absolute from here on: the process may change its directory
            object.__setattr__(self, name, os.path.abspath(getattr(self, name)))
        if self.timeout is not None and not self.timeout > 0.0:
            raise ValueError(f"timeout must be a positive number of seconds, got {plain(self.timeout)}")
        if isinstance(self.outputs, str) and self.outputs != "json":
            raise ValueError(f"outputs must be a mapping, 'json' or None, got {plain(self.outputs)}")

    def __call__(self, parameters: Mapping[str, Any]) -> Value:
        """Run the program and return its value or outputs; raise RunFailed if there are none."""
        run = self.start(parameters)
        try:
            return run.finish()
        finally:
            run.kill()

    @property
    def names(self) -> set[str]:
        """Names of the parameters for which the command has placeholders."""
        return {n for argument in self.command[1:] for n in Template.parse(argument).names} - {"spec_dir"}

    def arguments(self, parameters: Mapping[str, Any]) -> list[str]:
        """Return the program and its arguments for these parameters."""
        missing = self.names - set(parameters)
        if missing:
            raise ValueError(f"the command has placeholders for unknown parameters: {sorted(missing)}")
        base = os.path.abspath(self.base)
        program = find_program(self.command[0], base, self.environment.get("PATH"))
        values = {**parameters, "spec_dir": base}
        return [program, *(Template.parse(argument).fill(values) for argument in self.command[1:])]

    def start(self, parameters: Mapping[str, Any], name: str | None = None) -> Run:
        """Start a run in a new directory, with the given name if it is free."""
        arguments = self.arguments(parameters)
        base = os.path.abspath(self.base)
        filled = {file: deck.fill({**parameters, "spec_dir": base}) for file, deck in self.decks.items()}
        place = new_place(Path(self.runs), name)
        directory = place.directory.resolve()
        for file, text in filled.items():
            (directory / file).parent.mkdir(parents=True, exist_ok=True)
            (directory / file).write_bytes(text.encode("utf-8", "surrogateescape"))
        write_atomically(directory / PARAMETERS, _as_json(dict(parameters)))
        write_atomically(place.identity, _as_json(self._identity(parameters)))
        given = directory / PARAMETERS if self.stdin else Path(os.devnull)
        with (
            given.open("rb") as stdin,
            (directory / STDOUT).open("wb") as stdout,
            (directory / STDERR).open("wb") as stderr,
        ):
            process = start(
                arguments,
                place.notes,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=directory,
                env={**os.environ, **self.environment},
            )
        return Run(self, directory, arguments, process)

    def adopt_or_start(self, parameters: Mapping[str, Any], name: str) -> Run:
        """Adopt the run with this name, or start it; raise ValueError if it runs and cannot be adopted."""
        run = self.adopt(parameters, name)
        if run is not None:
            return run
        last = self._last_place(name)
        if last is not None and is_running(last.notes):
            raise ValueError(
                f"run {name} was started with another command or other parameters and is still running in "
                f"{str(last.directory)!r}: undo that change to have its value read, or kill it to have the run made "
                "again"
            )
        if last is not None and (program := unsupervised(last.notes)) is not None:
            raise ValueError(
                f"run {name} still runs in {str(last.directory)!r}, but its supervisor was killed, so that nobody "
                "will know its exit code: wait for it to end and report its value with tcgp tell, or kill process "
                f"{program} to have it made again"
            )
        same = self._place_with(parameters, name)
        if same is not None and same.directory.is_dir() and read_notes(same.notes).get("code") == 0:
            logger.warning(
                "run %s has ended in %r, but with another command, and is made again; what it gave there can be "
                "reported with tcgp tell instead",
                name,
                str(same.directory),
            )
        return self.start(parameters, name)

    def directory_of(self, name: str | None) -> Path | None:
        """Return the latest directory of the campaign's runs with this name; None if there is none."""
        last = self._last_place(name)
        return None if last is None else last.directory.resolve()

    def _last_place(self, name: str | None) -> Place | None:
        own = [] if name is None else places_of(Path(self.runs), name, self.campaign)
        return own[-1] if own else None

    def adopt(self, parameters: Mapping[str, Any], name: str | None) -> Run | None:
        """Return the run with this name, if another process started it with the same command and it can be adopted.

        Runs that were killed before their timeout, or whose machine went down, cannot be adopted. On Windows, no run
        can.
        """
        place = self._place_with(parameters, name)
        if place is None:
            return None
        # The program may be found elsewhere now, or the spec have moved: what counts is how the command is written.
        # Runs of earlier versions have kept no more than what it came to.
        kept = place.read_identity().get("command")
        if kept is not None and kept != list(self.command):
            return None
        if place.read_identity().get("decks", {}) != self._identity(parameters).get("decks", {}):
            return None
        process = adopt(None if kept is not None else self.arguments(parameters), place.notes)
        if process is None:
            return None
        # A user who removes the directory wants the run made again; a program that does so is not started twice.
        is_gone = not place.directory.is_dir() and not process.removed_its_directory
        if process.has_ended and (
            is_gone or process.met_a_full_disk or self._allows_more_than(process.timeout)
        ):
            return None
        return Run(self, place.directory.resolve(), process.command, process)

    def _allows_more_than(self, timeout: float | None) -> bool:
        """Whether a run that was killed after this time may take longer now."""
        return timeout is not None and (self.timeout is None or self.timeout > timeout)

    def _place_with(self, parameters: Mapping[str, Any], name: str | None) -> Place | None:
        """Return the latest place of the runs with this name that were started with these parameters."""
        own = [] if name is None else places_of(Path(self.runs), name, self.campaign)
        # A copy of the journal, or one from a backup, may have gone on with other points under the same numbers.
        same = [place for place in own if place.read_identity().get("parameters") == dict(parameters)]
        return same[-1] if same else None

    def _identity(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What a run is recognized by; the program may rewrite its other files."""
        decks = {
            f: sha256(d.text.encode("utf-8", "surrogateescape")).hexdigest() for f, d in self.decks.items()
        }
        identity = {"campaign": self.campaign, "parameters": dict(parameters), "command": list(self.command)}
        return {**identity, "decks": decks} if decks else identity

    def read_again(self, parameters: Mapping[str, Any], name: str) -> tuple[Value, dict[str, str]] | None:
        """Read the value or outputs of a run again, with the reasons why some outputs are None.

        Return None if there is no such run with these parameters, or if it did not end normally. Raise RunFailed if it
        has no value.
        """
        place = self._place_with(parameters, name)
        if place is None or not place.directory.is_dir():
            return None
        directory = place.directory.resolve()
        outcome = read_json(directory / OUTCOME)
        kept = outcome.get("exit_code") if isinstance(outcome, dict) else None
        if read_notes(place.notes).get("code", kept) != 0:
            return None
        if self.outputs is None:
            return self.objective.read(directory), {}
        return outputs_of_run(self.outputs, directory)


class Run:
    """A run of a simulator.

    Attributes
    ----------
    directory : pathlib.Path
        Working directory of the program. It contains ``parameters.json``, ``stdout.txt``, ``stderr.txt`` and, after
        the run, ``outcome.json``.
    seconds : float or None
        Duration of the run, once it has finished.
    reasons : dict
        Reasons why outputs have no value, by name.
    exit_code : int or None
        Exit code of the program, negative for a signal; None while it is running, and if it was stopped.
    """

    def __init__(
        self,
        simulator: Simulator,
        directory: Path,
        arguments: list[str],
        process: Process,
    ) -> None:
        self.directory = directory
        self._simulator, self._arguments, self._process = simulator, arguments, process
        self._start = time.monotonic() - process.age
        self._killed = False
        self.seconds: float | None = None
        self.reasons: dict[str, str] = {}
        self.exit_code: int | None = None

    @property
    def can_be_adopted(self) -> bool:
        """Whether another process can adopt the run after this one ends."""
        return self._process.supervised

    @property
    def words(self) -> str:
        """The end of the program's standard error and standard output."""
        parts = []
        for name in (STDERR, STDOUT):
            with contextlib.suppress(OSError):  # the program has deleted it
                parts.append(read_tail(self.directory / name)[-LONGEST_WORDS:])
        return "\n".join(parts)

    def finish(self) -> Value:
        """Wait for the run to end, and return its value or outputs; raise RunFailed if there are none.

        Raise RunLost if the disk was full at its end: what it has written may be cut off.
        """
        try:
            value = self._value()
        except RunFailed as error:
            self._record(None, str(error))
            raise
        self._record(value, self.reasons or None)
        return value

    def kill(self) -> None:
        """Kill the program and all processes that it started; do nothing if it has ended."""
        if not self._process.has_ended:
            self._killed = True
            self._process.kill()

    def _value(self) -> Value:
        timeout = self._simulator.timeout
        left = None if timeout is None else max(self._start + timeout - time.monotonic(), 0.0)
        try:
            self._process.wait(left)
        except subprocess.TimeoutExpired:
            assert timeout is not None
            self._process.note_timeout(timeout)
            self.kill()
            raise RunFailed(f"no end after {timeout:g} s") from None
        if self._killed:
            raise RunFailed("stopped before its end")
        if self._process.met_a_full_disk:
            raise RunLost(self._lost)
        if self._process.timeout is not None:
            raise RunFailed(f"no end after {self._process.timeout:g} s")
        self.exit_code = self._process.code
        if self.exit_code != 0:
            raise RunFailed(_how_it_ended(self.exit_code) + self._last_words())
        if self._simulator.outputs is None:
            return self._simulator.objective.read(self.directory)
        outputs, self.reasons = outputs_of_run(self._simulator.outputs, self.directory)
        return outputs

    def _record(self, value: Value | None, reason: str | Mapping[str, str] | None) -> None:
        """Write the outcome of the run to its directory."""
        seconds = self._process.seconds
        self.seconds = round(time.monotonic() - self._start if seconds is None else seconds, 3)
        outcome = {
            "value" if self._simulator.outputs is None else "outputs": value,
            "reason": reason,
            "exit_code": self._process.code,
            "seconds": self.seconds,
            "command": self._arguments,
        }
        try:
            if self.directory.is_dir():  # the program may have removed it
                write_atomically(self.directory / OUTCOME, _as_json(outcome))
        except OSError as error:
            if error.errno in _FULL:
                raise RunLost(self._lost) from None
            logger.warning("%s could not be written: %s", self.directory / OUTCOME, error.strerror)

    @property
    def _lost(self) -> str:
        return (
            f"the disk is full, and {str(self.directory)!r} may be cut off: nothing is read from it, and the run is "
            "made again once there is room"
        )

    def _last_words(self) -> str:
        """Return the last line of standard error, which often contains the error message."""
        try:
            line = last_line(read_tail(self.directory / STDERR))
        except OSError:  # the program has deleted it
            return ""
        # Equal errors must have equal messages, because reasons are counted.
        line = line.replace(str(self.directory), ".")
        return f": {printable(shorten(line, 200))}" if line else ""


def is_under_way(runs: Path, name: str, campaign: str | None = None) -> bool:
    """Return whether the program of this run of a campaign is running, no matter which process started it."""
    return any(is_running(place.notes) for place in places_of(runs, name, campaign))


def _as_json(content: object) -> str:
    return json.dumps(content, indent=1) + "\n"


def _how_it_ended(code: int) -> str:
    """Describe an exit code; negative codes are signals."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
