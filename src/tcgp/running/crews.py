"""Evaluate a function in this process, in worker processes, or through an executor or a map.

A crew keeps a number of evaluations running: `submit` starts one, `wait` returns those that have ended. The result of
an evaluation is an `Outcome`; so are an exception of the function and the death of its process.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import math
import multiprocessing
import multiprocessing.connection
import numbers
import os
import queue
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tcgp._text import plain, shorten
from tcgp.goals import interpret, read_outputs
from tcgp.record.settings import check_positive_integer

__all__ = [
    "AdoptingCrew",
    "Crew",
    "Executor",
    "LeavingCrew",
    "Outcome",
    "Terminated",
    "WorkersError",
    "check_workers",
    "count_workers",
    "crew_for",
    "evaluate",
]

Function = Callable[[Any], Any]

LONGEST_TRACEBACK = 10_000  # characters from its end
LONGEST_END = 5.0  # seconds that a process may take to end before it is killed


class WorkersError(RuntimeError):
    """The workers can no longer evaluate anything."""


class Terminated(KeyboardInterrupt):
    """This process was asked to end at once: it waits for nothing, as after a second Ctrl-C."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of an evaluation, and how long it took.

    Attributes
    ----------
    value : float, dict or None
        The value, or all outputs by name.
    reason : str, dict or None
        Why there is no value; or the reasons by output.
    seconds : float or None
    exit_code : int or None
        Exit code of a program; 0 also for a function that returned. None if it was stopped or raised an exception.
    words : str
        The end of a program's output, if it gave no value.
    traceback : str or None
        Of the exception that a function raised.
    """

    value: float | dict[str, float | None] | None
    reason: str | dict[str, str] | None = None
    seconds: float | None = field(default=None, compare=False, repr=False)
    exit_code: int | None = field(default=None, compare=False, repr=False)
    words: str = field(default="", compare=False, repr=False)
    traceback: str | None = field(default=None, compare=False, repr=False)


def evaluate(fun: Function, argument: Any) -> Outcome:
    """Call the function, and turn its result or exception into an `Outcome` that can be sent between processes.

    ``sys.exit`` in the function counts as a failure, like any exception, for instance one that ends a function that
    takes too long; Ctrl-C does not.

    Examples
    --------
    >>> from tcgp.running.crews import evaluate
    >>> evaluate(lambda x: 1 / x, 0)
    Outcome(value=None, reason='ZeroDivisionError: division by zero')
    """
    start = time.monotonic()
    try:
        value, reason = _read(fun(argument))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        seconds = time.monotonic() - start
        return Outcome(None, shorten(_words_of(error), 1000), seconds, traceback=_traceback_of(error))
    return Outcome(value, reason, time.monotonic() - start, exit_code=0)


def _read(answer: object) -> tuple[float | dict[str, float | None] | None, str | dict[str, str] | None]:
    """The numbers in an answer, or why there are none. Lazy numbers may raise here, too."""
    if not isinstance(answer, Mapping):
        return interpret(answer)
    values, reasons = read_outputs(answer)  # what they mean, the goals say
    return values, reasons or None


def _as_outcome(answer: object) -> Outcome:
    """The outcome of a point from elsewhere: that of `evaluate` or, in its place, a value or None."""
    return answer if isinstance(answer, Outcome) else Outcome(*_read(answer))


def _words_of(error: BaseException) -> str:
    """An exception in words, even if it has no message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _traceback_of(error: BaseException) -> str:
    """The traceback of an exception, from the user's function on."""
    ours = error.__traceback__
    theirs = None if ours is None else ours.tb_next
    text = "".join(traceback.format_exception(type(error), error, theirs or ours))
    return text if len(text) <= LONGEST_TRACEBACK else f"...{text[-LONGEST_TRACEBACK:]}"


@runtime_checkable
class Crew(Protocol):
    """The interface of a crew."""

    capacity: int

    def submit(self, number: int, argument: Any, attempt: int = 0) -> None:
        """Start the evaluation with this number, or a later attempt at it."""

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Evaluations that have ended: at least one, unless the time is up."""

    def close(self) -> None:
        """Stop what is still running, as far as possible."""


@runtime_checkable
class LeavingCrew(Crew, Protocol):
    """A crew whose evaluations can continue without this process and be adopted by the next crew."""

    @property
    def under_way(self) -> list[int]:
        """Numbers of the evaluations that are running."""

    def leave(self) -> list[int]:
        """Let running evaluations continue when the crew is closed; return their numbers."""


@runtime_checkable
class AdoptingCrew(LeavingCrew, Protocol):
    """A crew that finds the evaluations of an earlier one again, running or ended."""

    def serve(self, campaign: str | None) -> None:
        """Recognize only the evaluations of this campaign."""

    def holds(self, number: int, argument: Any, attempt: int = 0) -> bool:
        """Whether `submit` would find the evaluation with this number running or ended."""


def crew_for(
    workers: Any, fun: Function, n_parallel: int | None = None, timeout: float | None = None
) -> Crew:
    """Make the crew that ``workers`` describes.

    Parameters
    ----------
    workers : int, executor, callable or Crew
        1 for evaluations in this process, one after the other; n for n processes; an object with ``submit`` like
        `concurrent.futures.Executor`; a callable like `map`, which is given batches; or a crew, which already has its
        function.
    fun : callable
    n_parallel : int, optional
        Number of parallel evaluations; by default the number of workers, if known.
    timeout : float, optional
        Seconds after which an evaluation fails and its process is killed: for an integer, where 1 is a process too.

    Returns
    -------
    Crew
    """
    check_workers(workers, n_parallel, timeout)
    if isinstance(workers, numbers.Integral):
        alone = workers == 1 and timeout is None
        return Alone(fun) if alone else Processes(fun, int(workers), timeout)
    if isinstance(workers, Crew):
        return workers
    if hasattr(workers, "submit"):
        return Executor(fun, workers, count_workers(workers, n_parallel))
    return Batches(fun, workers, count_workers(workers, n_parallel))


def check_workers(workers: Any, n_parallel: object = None, timeout: object = None) -> None:
    """Refuse what `crew_for` cannot use."""
    if timeout is not None:
        _check_timeout(timeout, workers)
    if n_parallel is not None:
        check_positive_integer("n_parallel", n_parallel)
    if isinstance(workers, numbers.Integral):
        check_positive_integer("workers", workers)
    elif not (isinstance(workers, Crew) or hasattr(workers, "submit") or callable(workers)):
        raise TypeError(
            f"workers must be an integer, an executor, a map-like callable or a crew, got {plain(workers)}"
        )


def _check_timeout(timeout: object, workers: object) -> None:
    """Refuse an invalid timeout, and one too long to wait for."""
    is_number = isinstance(timeout, numbers.Real) and not isinstance(timeout, bool)
    if not is_number or not 0.0 < float(timeout) < math.inf:  # type: ignore[arg-type]
        raise ValueError(f"timeout must be a positive number of seconds or None, got {plain(timeout)}")
    if not isinstance(workers, numbers.Integral):
        raise ValueError(
            f"timeout needs worker processes, workers=n with an integer n, got workers={plain(workers)}: an "
            "executor or a map cannot cancel an evaluation, and a program has its own timeout"
        )


class Alone:
    """Evaluations in this process, one after the other."""

    capacity = 1

    def __init__(self, fun: Function) -> None:
        self._fun = fun
        self._waiting: list[tuple[int, Any]] = []

    def submit(self, number: int, argument: Any, attempt: int = 0) -> None:
        self._waiting.append((number, argument))

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        if not self._waiting:
            return []
        number, argument = self._waiting.pop(0)
        return [(number, evaluate(self._fun, argument))]

    def close(self) -> None:
        self._waiting.clear()


class Batches:
    """Evaluations through a map, a batch at a time."""

    def __init__(self, fun: Function, mapper: Callable[..., Iterable[Any]], capacity: int) -> None:
        self.capacity = capacity
        self._fun, self._map = fun, mapper
        self._waiting: list[tuple[int, Any]] = []
        # Not handed over yet: what ends a batch early costs none of them.
        self._ended: list[tuple[int, Outcome]] = []

    def submit(self, number: int, argument: Any, attempt: int = 0) -> None:
        self._waiting.append((number, argument))

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        if self._waiting:
            self._evaluate()
        ended, self._ended = self._ended, []
        return ended

    def _evaluate(self) -> None:
        """Evaluate the waiting points, and keep the outcomes up to an error of the map or an interrupt."""
        numbers, arguments = zip(*self._waiting, strict=True)
        self._waiting.clear()
        outcomes: list[Outcome] = []
        try:
            for answer in self._map(functools.partial(evaluate, self._fun), list(arguments)):
                outcomes.append(_as_outcome(answer))
        except Exception as error:
            raise WorkersError(f"the map failed: {type(error).__name__}: {error}") from error
        finally:
            self._ended = list(zip(numbers, outcomes, strict=False))
        if len(outcomes) != len(numbers):
            self._ended.clear()  # it is not known which are of which points
            raise WorkersError(f"the map gave {len(outcomes)} results for {len(numbers)} points")

    def close(self) -> None:
        self._waiting.clear()


class Executor:
    """Evaluations through an executor: `concurrent.futures`, a Dask client, an MPI pool."""

    def __init__(
        self, fun: Function, executor: Any, capacity: int, call: Callable[..., Outcome] = evaluate
    ) -> None:
        self.capacity = capacity
        self._fun, self._executor, self._call = fun, executor, call
        # Dask takes a second call with the same arguments for the first one, and would not try again.
        is_dask = type(executor).__module__.startswith("distributed")
        self._options = {"pure": False} if is_dask else {}
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._futures: dict[int, Any] = {}
        # Not handed over yet: an interrupt of `wait` costs none of them.
        self._ended: list[tuple[int, Outcome]] = []
        self._broken: Exception | None = None

    def submit(self, number: int, argument: Any, attempt: int = 0) -> None:
        try:
            future = self._executor.submit(self._call, self._fun, argument, **self._options)
        except Exception as error:
            raise _refusal("takes no more work", error) from error
        self._futures[number] = future
        # A callback, and not concurrent.futures.wait, because the futures of Dask are of another kind.
        future.add_done_callback(functools.partial(self._note, number))

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        if not self._ended:
            self._collect_all(timeout)
        if self._broken is not None and not self._ended:
            if isinstance(self._broken, WorkersError):
                raise self._broken
            raise _refusal("cancelled its work", self._broken) from self._broken
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        for future in self._futures.values():
            future.cancel()

    @property
    def under_way(self) -> list[int]:
        """Numbers of the evaluations whose end has not been collected."""
        return list(self._futures)

    def _note(self, number: int, future: Any) -> None:
        self._done.put((number, future))

    def _collect_all(self, timeout: float | None) -> None:
        """Wait for an evaluation to end, and note all that have ended."""
        with contextlib.suppress(queue.Empty):
            self._collect(*self._done.get(timeout=timeout))
            while True:
                self._collect(*self._done.get_nowait())

    def _collect(self, number: int, future: Any) -> None:
        """Keep the outcome of an evaluation, unless the executor cancelled it, which says nothing about the point."""
        del self._futures[number]
        try:
            outcome = _as_outcome(future.result())
        except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError, WorkersError) as error:
            # The death of one process breaks a pool and all its futures, whichever of them caused it.
            self._broken = error
            return
        except Exception as error:
            outcome = Outcome(None, f"the worker failed: {type(error).__name__}: {error}")
        self._ended.append((number, outcome))


def _refusal(what: str, error: Exception) -> WorkersError:
    """An error of an executor, with its cause."""
    hint = ""
    if isinstance(error, concurrent.futures.BrokenExecutor):
        hint = " (workers=n, with processes of tcgp's own, survives the death of one)"
    return WorkersError(f"the executor {what}: {type(error).__name__}: {error}{hint}")


class Processes:
    """Evaluations in worker processes. One that dies is replaced, and only its evaluation fails.

    With a timeout, so is one whose evaluation does not end in time.
    """

    def __init__(self, fun: Function, n: int, timeout: float | None = None) -> None:
        self.capacity = n
        self._fun, self._timeout = fun, timeout
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}
        self._begun: dict[int, float] = {}
        # Not handed over yet: what ends `wait`, an interrupt or a process that cannot be replaced, costs none of them.
        self._ended: list[tuple[int, Outcome]] = []
        self._interrupted = False
        try:
            self._idle = [_Worker(fun) for _ in range(n)]
            for worker in self._idle:
                worker.expect_ready()
        except BaseException:
            self.close()
            raise

    def submit(self, number: int, argument: Any, attempt: int = 0) -> None:
        worker = self._idle.pop()
        self._busy[number], self._begun[number] = worker, time.monotonic()
        with contextlib.suppress(OSError):  # it has died: `wait` finds that out
            worker.connection.send(argument)

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        if not self._ended:
            self._collect_all(timeout)
        # Ctrl-C reaches all processes of a terminal, and a worker may be the first to say so. The others' results
        # come first: the interrupt is raised when there are none.
        if self._interrupted and not self._ended:
            raise KeyboardInterrupt
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        for worker in [*self._idle, *self._busy.values()]:
            worker.end()
        self._idle, self._busy = [], {}

    def _collect_all(self, timeout: float | None) -> None:
        """Wait for an evaluation to end, and note all that have ended or taken too long."""
        connections = [worker.connection for worker in self._busy.values()]
        ready = multiprocessing.connection.wait(connections, self._patience(timeout))
        for number in [number for number, worker in self._busy.items() if worker.connection in ready]:
            self._collect(number)
        for number in self._overdue():
            self._give_up(number)

    def _collect(self, number: int) -> None:
        """Keep the outcome of an evaluation, or that it was interrupted."""
        worker = self._busy.pop(number)
        try:
            outcome: Outcome | None = worker.connection.recv()
        except (EOFError, OSError):
            self._ended.append((number, Outcome(None, worker.cause_of_death())))
            self._replace(worker)
            return
        self._idle.append(worker)
        if outcome is None:
            self._interrupted = True
        else:
            self._ended.append((number, outcome))

    def _patience(self, timeout: float | None) -> float | None:
        """How long to wait for an evaluation: until the timeout of the call, or of one of them."""
        if self._timeout is None or not self._busy:
            return timeout
        first = min(self._begun[number] for number in self._busy) + self._timeout - time.monotonic()
        return max(first if timeout is None else min(first, timeout), 0.0)

    def _overdue(self) -> list[int]:
        """Evaluations that have taken too long."""
        if self._timeout is None:
            return []
        latest = time.monotonic() - self._timeout
        late = [number for number in self._busy if self._begun[number] <= latest]
        return [
            number for number in late if not self._busy[number].connection.poll()
        ]  # unless it has just ended

    def _give_up(self, number: int) -> None:
        """Kill the process of an evaluation."""
        worker, seconds = self._busy.pop(number), time.monotonic() - self._begun[number]
        self._ended.append((number, Outcome(None, f"no end after {self._timeout:g} s", seconds)))
        self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """End a process and replace it."""
        worker.end()
        another = _Worker(self._fun)
        another.expect_ready()
        self._idle.append(another)


class _Worker:
    """A process that evaluates the points it receives, until it receives None."""

    def __init__(self, fun: Function) -> None:
        # The platform's default start method: with fork, any function can be used.
        context = multiprocessing.get_context()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(fun, theirs))
        try:
            self.process.start()
        except (AttributeError, TypeError, ValueError, OSError) as error:
            raise WorkersError(
                f"fun cannot be sent to worker processes ({error}); "
                "define it with def at the top level of a module, or use workers=1"
            ) from error
        finally:
            theirs.close()  # so that the death of the process ends the connection

    def expect_ready(self) -> None:
        try:
            self.connection.recv()
        except (EOFError, OSError):
            raise WorkersError(
                f"a worker process could not start ({self.cause_of_death()}); in a script, call minimize under "
                "if __name__ == '__main__':"
            ) from None

    def cause_of_death(self) -> str:
        self.process.join(timeout=LONGEST_END)
        return f"the worker process died with exit code {self.process.exitcode}"

    def end(self) -> None:
        self.connection.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(timeout=LONGEST_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _work(fun: Function, connection: Any) -> None:
    """Life of a worker process."""
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        connection.send("ready")
        parent = multiprocessing.parent_process()
        assert parent is not None
        while True:
            # A forked process holds copies of both ends of its connection, so that it never sees the other one closed.
            if connection not in multiprocessing.connection.wait([connection, parent.sentinel]):
                return
            argument = connection.recv()
            try:
                outcome: Outcome | None = evaluate(fun, argument)
            except KeyboardInterrupt:
                outcome = None
            connection.send(outcome)


def count_workers(workers: Any, n_parallel: int | None = None) -> int:
    """Number of parallel evaluations: for a pool that does not say, the number of cores."""
    if isinstance(workers, numbers.Integral):
        return int(workers)
    if isinstance(workers, Crew):
        return workers.capacity
    if n_parallel is not None:
        return n_parallel
    pool = workers if hasattr(workers, "submit") else getattr(workers, "__self__", workers)
    for name in ("_max_workers", "num_workers", "_processes"):
        count = getattr(pool, name, None)
        if isinstance(count, int) and count > 0:
            return count
    if hasattr(pool, "nthreads"):  # a Dask client
        return max(int(sum(pool.nthreads().values())), 1)
    return os.cpu_count() or 1
