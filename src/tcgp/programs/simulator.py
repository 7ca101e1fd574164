"""Run an external program as an objective function.

Each run has a directory of its own, in which the program works and which keeps what it was given and what it
wrote. The program is started from a list of arguments, never through a shell, and a parameter is always one
piece of one argument, so that no value can be taken for a command.

A run may take hours, and outlive the process that wanted its value. A small supervisor stays with it and writes down
how it ended; `Simulator.adopt` finds such a run again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcgp.history import interpret, shorten
from tcgp.workers import Outcome

__all__ = [
    "Objective",
    "Run",
    "RunFailed",
    "Simulator",
    "SimulatorPool",
    "Template",
    "find_program",
    "printable",
]

logger = logging.getLogger("tcgp")

PARAMETERS, STDOUT, STDERR, OUTCOME = "parameters.json", "stdout.txt", "stderr.txt", "outcome.json"
NOTES = ".supervisor"  # see _supervisor.py
SUPERVISOR = Path(__file__).with_name("_supervisor.py")

LONGEST_FAREWELL = 5.0  # seconds that a killed program may take to vanish
ADOPTED_POLL = 0.1  # seconds between two looks at a program that another process has started

LONGEST_OUTPUT = 1 << 22  # bytes from the end of a program's output that are searched for the value

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")

# A number that is not part of a word or of a version such as 1.2.3; Fortran writes exponents with a D.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan|inf(?:inity)?)(?!\w|\.\w)", re.IGNORECASE
)


class RunFailed(RuntimeError):
    """A run gave no value; the message says why."""


@dataclass(frozen=True)
class Template:
    """One argument of a command, with placeholders such as ``{width}`` for parameters.

    ``{{`` and ``}}`` stand for literal braces.

    Examples
    --------
    >>> from tcgp.simulator import Template
    >>> template = Template.parse("--size={width}x{height}")
    >>> template.names, template.fill({"width": 0.5, "height": 3})
    (('width', 'height'), '--size=0.5x3')
    >>> Template.parse("{{}}").fill({})
    '{}'
    """

    pieces: tuple[tuple[str, bool], ...]  # text, or the name of a parameter and True

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read an argument; ValueError if its braces do not match."""
        pieces = []
        for piece in _PIECE.findall(text):
            if piece in ("{", "}"):
                raise ValueError(
                    f"the brace {piece!r} in {text!r} stands alone: write {{name}} for a parameter, "
                    f"{piece * 2} for the brace itself"
                )
            if piece in ("{{", "}}"):
                pieces.append((piece[0], False))
            elif piece.startswith("{"):
                pieces.append((piece[1:-1], True))
            else:
                pieces.append((piece, False))
        return cls(tuple(pieces))

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters in order of appearance."""
        return tuple(text for text, is_name in self.pieces if is_name)

    def fill(self, values: Mapping[str, Any]) -> str:
        """The argument with every placeholder replaced."""
        return "".join(_as_text(values[text]) if is_name else text for text, is_name in self.pieces)


@dataclass(frozen=True)
class Objective:
    """Where a run leaves its value.

    By default it is the last number on the last line of standard output that is not empty.

    Parameters
    ----------
    file : str, optional
        File in the run's directory to read instead of standard output.
    pattern : str, optional
        Regular expression; the last match counts, or its first group if it has groups.
    key : str, optional
        Key in a JSON object, which is the whole output or its last line; dots lead into nested objects.

    Examples
    --------
    >>> from tcgp.simulator import Objective
    >>> Objective().value("step 1\\ncost: 2.5e-3\\n")
    0.0025
    >>> Objective(pattern=r"drag=(\\S+)").value("drag=0.31 lift=2")
    0.31
    >>> Objective(key="loss.total").value('{"loss": {"total": 7}}')
    7.0
    """

    file: str | None = None
    pattern: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None and self.key is not None:
            raise ValueError("an objective has a pattern or a key, not both")
        if self.file is not None:
            _check_inside(self.file)
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(f"{self.pattern!r} is not a regular expression: {error}") from None

    @property
    def where(self) -> str:
        """What is read, in words."""
        return "standard output" if self.file is None else f"the file {self.file!r}"

    def read(self, directory: Path) -> float:
        """The value that the run in ``directory`` left."""
        path = directory / (STDOUT if self.file is None else self.file)
        if not path.is_file():
            raise RunFailed(f"the program wrote no file {self.file!r}")
        if not path.resolve().is_relative_to(directory.resolve()):
            raise RunFailed(f"the file {self.file!r} leads out of the run's directory")
        return self.value(_tail(path))

    def value(self, text: str) -> float:
        """The value in what the program wrote; RunFailed if there is none."""
        if not text.strip():
            raise RunFailed(f"{self.where} is empty")
        found = self._find(text)
        if isinstance(found, bool):
            raise RunFailed(f"{json.dumps(found)} is not a number")
        number, reason = interpret(found)
        if number is None:
            raise RunFailed(printable(reason or ""))
        return number

    def _find(self, text: str) -> object:
        """What stands where the value should be."""
        if self.key is not None:
            return self._find_key(text)
        if self.pattern is not None:
            matches = list(re.finditer(self.pattern, text, re.MULTILINE))
            if not matches:
                raise RunFailed(f"{self.where} has nothing that matches the pattern {self.pattern!r}")
            found = matches[-1].group(1 if matches[-1].re.groups else 0) or ""
            number = _as_number(found)
            if number is None:
                raise RunFailed(f"the pattern found {printable(found)!r}, which is not a number")
            return number
        line = _last_line(text)
        numbers = _NUMBER.findall(line)
        if not numbers:
            raise RunFailed(f"the last line of {self.where} has no number: {printable(line)!r}")
        return _as_number(numbers[-1])

    def _find_key(self, text: str) -> object:
        assert self.key is not None
        content = _loads(text)
        if not isinstance(content, dict):
            content = _loads(_last_line(text))
        if not isinstance(content, dict):
            raise RunFailed(f"{self.where} is not a JSON object: {printable(_last_line(text))!r}")
        if self.key in content:
            return content[self.key]
        for part in self.key.split("."):
            if not isinstance(content, dict) or part not in content:
                raise RunFailed(f"the JSON in {self.where} has no key {self.key!r}")
            content = content[part]
        return content


@dataclass(frozen=True)
class Simulator:
    """An external program as a function of named parameters.

    Parameters
    ----------
    command : sequence of str
        Program and arguments. ``{name}`` in an argument stands for a parameter, and ``{spec_dir}`` for
        ``base``; see `Template`. The program itself is fixed.
    runs : path
        Directory that holds the directories of the runs.
    stdin : bool
        Whether the program gets the parameters as a JSON object on standard input. It always finds them in
        the file ``parameters.json`` of its working directory.
    objective : Objective
        Where the value is.
    timeout : float, optional
        Seconds after which a run is killed, with all processes it has started.
    environment : mapping, optional
        Environment variables to add.
    base : path
        What a relative path to the program is relative to.

    Examples
    --------
    >>> import sys, tempfile
    >>> from tcgp.simulator import Simulator
    >>> program = [sys.executable, "-c", "import sys; print(float(sys.argv[1]) ** 2)", "{x}"]
    >>> simulator = Simulator(program, runs=tempfile.mkdtemp())
    >>> simulator({"x": 1.5})
    2.25
    """

    command: Sequence[str]
    runs: str | os.PathLike[str]
    stdin: bool = False
    objective: Objective = field(default_factory=Objective)
    timeout: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    base: str | os.PathLike[str] = "."

    def __post_init__(self) -> None:
        if isinstance(self.command, str) or not self.command:
            raise ValueError(f"command must be a list of a program and its arguments, got {self.command!r}")
        for argument in self.command[1:]:
            Template.parse(argument)
        if self.timeout is not None and not self.timeout > 0.0:
            raise ValueError(f"timeout must be a positive number of seconds, got {self.timeout!r}")

    def __call__(self, parameters: Mapping[str, Any]) -> float:
        """Run the program and return its value; RunFailed if there is none."""
        run = self.start(parameters)
        try:
            return run.finish()
        finally:
            run.kill()

    @property
    def names(self) -> set[str]:
        """Parameters for which the command has placeholders."""
        return {n for argument in self.command[1:] for n in Template.parse(argument).names} - {"spec_dir"}

    def arguments(self, parameters: Mapping[str, Any]) -> list[str]:
        """Program and arguments of the run with these parameters."""
        missing = self.names - set(parameters)
        if missing:
            raise ValueError(f"the command has placeholders for unknown parameters: {sorted(missing)}")
        base = os.path.abspath(self.base)
        program = find_program(self.command[0], base, self.environment.get("PATH"))
        values = {**parameters, "spec_dir": base}
        return [program, *(Template.parse(argument).fill(values) for argument in self.command[1:])]

    def start(self, parameters: Mapping[str, Any], name: str | None = None) -> Run:
        """Start a run in a new directory, called ``name`` if that is free."""
        arguments = self.arguments(parameters)
        directory = _new_directory(Path(self.runs), name)
        _write_json(directory / PARAMETERS, dict(parameters))
        given = directory / PARAMETERS if self.stdin else Path(os.devnull)
        with (
            given.open("rb") as stdin,
            (directory / STDOUT).open("wb") as stdout,
            (directory / STDERR).open("wb") as stderr,
        ):
            process = _start_process(
                arguments,
                directory / NOTES,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=directory,
                env={**os.environ, **self.environment},
            )
        return Run(self, directory, arguments, process)

    def adopt(self, parameters: Mapping[str, Any], name: str | None) -> Run | None:
        """The run of that name, if another process has started it with this command and it has ended or still runs.

        A run that was killed, or whose machine went down, is not worth adopting. On Windows there is none.
        """
        directory = _last_directory(Path(self.runs), name)
        if directory is None or sys.platform == "win32":
            return None
        arguments = self.arguments(parameters)
        notes = _read_notes(directory / NOTES)
        if notes.get("command") != arguments or _read_json(directory / PARAMETERS) != dict(parameters):
            return None
        process = _Adopted(directory / NOTES, notes["pid"])
        # The last word is written before the lock is let go: it is read after the look at the lock.
        if process.poll() is not None and "code" not in _read_notes(directory / NOTES):
            return None
        return Run(self, directory, arguments, process, age=max(time.time() - notes["started"], 0.0))


class Run:
    """A run of a simulator, under way.

    Attributes
    ----------
    directory : pathlib.Path
        Where the program works. It keeps ``parameters.json``, ``stdout.txt``, ``stderr.txt`` and, after the
        run, ``outcome.json``.
    seconds : float or None
        How long the run took, once it has finished.
    """

    def __init__(
        self,
        simulator: Simulator,
        directory: Path,
        arguments: list[str],
        process: subprocess.Popen[bytes] | _Adopted,
        age: float = 0.0,
    ) -> None:
        self.directory = directory
        self._simulator, self._arguments, self._process = simulator, arguments, process
        self._start = time.monotonic() - age
        self._killed = False
        self.seconds: float | None = None

    def finish(self) -> float:
        """Wait for the end, and return the value; RunFailed if there is none."""
        try:
            value = self._value()
        except RunFailed as error:
            self._record(None, str(error))
            raise
        self._record(value, None)
        return value

    def kill(self) -> None:
        """End the program and what it has started; nothing happens if it has ended."""
        if self._process.poll() is not None:
            return
        self._killed = True
        if sys.platform == "win32":
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(self._process.pid)], check=False, capture_output=True
            )
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        _await_end_of_group(self._process.pid)

    def _value(self) -> float:
        timeout = self._simulator.timeout
        left = None if timeout is None else max(self._start + timeout - time.monotonic(), 0.0)
        try:
            self._process.wait(left)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RunFailed(f"no end after {timeout:g} s") from None
        if self._killed:
            raise RunFailed("stopped before its end")
        if self._code != 0:
            raise RunFailed(_how_it_ended(self._code) + self._last_words())
        return self._simulator.objective.read(self.directory)

    @property
    def _code(self) -> int:
        """How the program ended; the supervisor says it, unless it was killed too or there is none."""
        notes = _read_notes(self.directory / NOTES)
        return int(notes["code"]) if "code" in notes else int(self._process.returncode or 0)

    def _record(self, value: float | None, reason: str | None) -> None:
        """Keep what came of the run, beside what it wrote."""
        elapsed = time.monotonic() - self._start
        self.seconds = round(_read_notes(self.directory / NOTES).get("seconds", elapsed), 3)
        outcome = {
            "value": value,
            "reason": reason,
            "exit_code": self._code,
            "seconds": self.seconds,
            "command": self._arguments,
        }
        try:
            _write_json(self.directory / OUTCOME, outcome)
        except OSError as error:  # a full disk must not cost the value
            logger.warning("%s could not be written: %s", self.directory / OUTCOME, error.strerror)

    def _last_words(self) -> str:
        """The last line on standard error, which often names the trouble."""
        line = _last_line(_tail(self.directory / STDERR))
        # The same trouble reads the same in every run: reasons are counted.
        line = line.replace(str(self.directory), ".")
        return f": {printable(line)}" if line else ""


class _Adopted:
    """The supervisor of a run that another process started, as `subprocess.Popen` would show it."""

    def __init__(self, notes: Path, pid: int) -> None:
        self._notes, self.pid = notes, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """None as long as it lives; a dead one has let go of its lock."""
        if self.returncode is None and not _is_locked(self._notes):
            self.returncode = -signal.SIGKILL  # if it had ended by itself its notes would say more
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a run under way", timeout or 0.0)
            time.sleep(ADOPTED_POLL)
        return code


class SimulatorPool:
    """Several runs at a time, in the manner of `concurrent.futures.Executor`; closing it ends them all.

    Programs need no Python processes to run side by side: a thread waits for each.

    Parameters
    ----------
    n : int
        Number of runs at a time.
    name_of : callable
        From the parameters of a run to the name of its directory.
    """

    def __init__(self, n: int, name_of: Callable[[Mapping[str, Any]], str | None]) -> None:
        self._max_workers = n
        self._name_of = name_of
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="tcgp-run")
        self._runs: set[Run] = set()

    def submit(
        self, evaluate: Callable[..., Outcome], simulator: Simulator, parameters: Mapping[str, Any]
    ) -> Future[Outcome]:
        """Start a run, or adopt it if it is under way. What hinders its start is not the fault of the point: it is
        raised here.

        ``evaluate``, which would name the type of an exception in its reason, is not needed.
        """
        name = self._name_of(parameters)
        run = simulator.adopt(parameters, name) or simulator.start(parameters, name)
        self._runs.add(run)
        return self._threads.submit(self._outcome, run)

    def close(self) -> None:
        """Kill what still runs."""
        for run in list(self._runs):
            run.kill()
        self._threads.shutdown()

    def __enter__(self) -> SimulatorPool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _outcome(self, run: Run) -> Outcome:
        try:
            return Outcome(run.finish(), None, run.seconds)
        except RunFailed as error:
            return Outcome(None, str(error), run.seconds)
        finally:
            self._runs.discard(run)


def find_program(program: str, base: str | os.PathLike[str] = ".", search_path: str | None = None) -> str:
    """Absolute path of a program: one with a directory in it is relative to ``base``, others are on the PATH.

    Examples
    --------
    >>> from tcgp.simulator import find_program
    >>> find_program("no-such-program")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no program 'no-such-program' on the PATH
    """
    if os.path.dirname(program):
        path = os.path.abspath(os.path.join(base, program))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no program {path!r}")
        if not os.access(path, os.X_OK):
            raise FileNotFoundError(f"the file {path!r} is not executable: try chmod +x")
        return path
    found = shutil.which(program, path=search_path)
    if found is None:
        beside = os.path.isfile(os.path.join(base, program))
        hint = f"; for the file beside the spec write {os.path.join('.', program)!r}" if beside else ""
        raise FileNotFoundError(f"there is no program {program!r} on the PATH{hint}")
    return os.path.abspath(found)


def _as_text(value: object) -> str:
    """A parameter as an argument: floats with every digit, True and False as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _as_number(text: str) -> float | None:
    try:
        return float(re.sub("[dD](?=[-+]?[0-9]+$)", "e", text.strip()))
    except ValueError:
        return None


def _start_process(arguments: list[str], notes: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a program under a supervisor, in a process group of its own: a timeout ends its children too."""
    if sys.platform == "win32" or not sys.executable:
        return subprocess.Popen(arguments, start_new_session=True, **options)
    receiver, sender = os.pipe()
    try:
        command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(notes), str(sender), *arguments]
        process = subprocess.Popen(command, start_new_session=True, pass_fds=[sender], **options)
    finally:
        os.close(sender)
        with os.fdopen(receiver) as pipe:
            answer = pipe.read()  # until the program has started
    if answer:
        process.wait()
        number, reason = json.loads(answer)
        raise OSError(number, reason, arguments[0])
    return process


def _await_end_of_group(number: int) -> None:
    """Wait until the program under a killed supervisor has gone too; it is no child of ours that we could wait for."""
    if sys.platform == "win32":
        return
    end = time.monotonic() + LONGEST_FAREWELL
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(number, 0)
            time.sleep(0.005)


def _read_notes(path: Path) -> dict[str, Any]:
    """The last whole line of a supervisor's notes; nothing if there is none that makes sense."""
    if not path.is_file():
        return {}
    for line in reversed(_tail(path).splitlines()):
        facts = _loads(line)
        if isinstance(facts, dict) and _is_sensible(facts):
            return facts
    return {}


def _is_sensible(facts: Mapping[str, Any]) -> bool:
    """Whether notes, which lie where the program can write, are of the kind that a supervisor makes."""
    pid, code = facts.get("pid"), facts.get("code", 0)
    times = (facts.get("started"), facts.get("seconds", 0.0))
    whole = isinstance(pid, int) and isinstance(code, int) and pid > 1
    return whole and all(isinstance(time, int | float) for time in times)


def _is_locked(path: Path) -> bool:
    """Whether the supervisor that wrote these notes lives."""
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _read_json(path: Path) -> object:
    return _loads(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None


def _last_directory(root: Path, name: str | None) -> Path | None:
    """The latest of the directories that runs of this name were given."""
    if name is None:
        return None
    taken = list(itertools.takewhile(Path.is_dir, (root / candidate for candidate in _directories(name))))
    return taken[-1].resolve() if taken else None


def _directories(name: str) -> Iterator[str]:
    """What the directories of runs of this name are called, in their order."""
    if not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise ValueError(f"{name!r} is not the name of a directory")
    return (name if i == 1 else f"{name}-{i}" for i in itertools.count(1))


def _new_directory(root: Path, name: str | None) -> Path:
    """A directory that did not exist before: a run never mixes with what another one left."""
    root.mkdir(parents=True, exist_ok=True)
    candidates: Iterator[str]
    if name is None:
        candidates = (f"{i:04d}" for i in itertools.count(sum(1 for _ in root.iterdir())))
    else:
        candidates = _directories(name)
    for candidate in candidates:
        with contextlib.suppress(FileExistsError):
            (root / candidate).mkdir()
            return (root / candidate).resolve()
    raise AssertionError("numbers do not end")


def _check_inside(file: str) -> None:
    """Refuse a file that is not in the run's directory."""
    path = Path(file)
    if not file or path.is_absolute() or ".." in path.parts or "\0" in file:
        raise ValueError(f"the file of the objective must lie in the run's directory, got {file!r}")


def _write_json(path: Path, content: object) -> None:
    """Write a file at once, so that nobody sees half of it."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="utf-8") as file:  # a link that the program has left is not written through
        file.write(json.dumps(content, indent=1) + "\n")
    draft.replace(path)


def _tail(path: Path) -> str:
    """The end of a text file."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - LONGEST_OUTPUT, 0))
        return file.read().decode(errors="replace")


def _last_line(text: str) -> str:
    """The last line that is not empty, or nothing."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _loads(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _how_it_ended(code: int) -> str:
    """An exit code in words; negative ones are signals."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def printable(text: str) -> str:
    """Text of a program or of a file made harmless for a terminal, and short."""
    return shorten("".join(c if c.isprintable() else "?" for c in text), 200)
