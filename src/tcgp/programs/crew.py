"""Several runs of a program at a time."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Mapping
from typing import Any

from tcgp._text import plain
from tcgp.optimizer.journal import uninterrupted
from tcgp.optimizer.workers import Outcome, WorkersError
from tcgp.programs.objective import RunFailed
from tcgp.programs.simulator import Run, Simulator

__all__ = ["ProgramCrew", "outcome_again", "outcome_of", "run_name"]


class ProgramCrew:
    """Evaluations by runs of a program, for the argument ``workers`` of `tcgp.minimize`.

    The run of proposal 7 works in the directory ``0007``, its second attempt in ``0007-retry1``. If an earlier process
    has started it, it is adopted. Programs need no Python processes to run side by side: a thread waits for each.

    Parameters
    ----------
    simulator : Simulator
    capacity : int
        Number of runs at a time.

    Examples
    --------
    >>> import sys, tempfile
    >>> from tcgp.programs import ProgramCrew, Simulator
    >>> program = [sys.executable, "-c", "import sys; print(float(sys.argv[1]) ** 2)", "{x}"]
    >>> crew = ProgramCrew(Simulator(program, runs=tempfile.mkdtemp()), capacity=2)
    >>> crew.submit(0, {"x": 1.5})
    >>> crew.wait(None)
    [(0, Outcome(value=2.25, reason=None))]
    >>> crew.close()
    """

    def __init__(self, simulator: Simulator, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {plain(capacity)}")
        self.capacity = capacity
        self._simulator = simulator
        self._closed = False
        self._runs: dict[int, Run] = {}
        self._futures: dict[int, concurrent.futures.Future[Outcome]] = {}

    @property
    def under_way(self) -> list[int]:
        """Numbers of the runs whose end has not been collected."""
        return list(self._futures)

    def submit(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> None:
        """Start the run with this number, or adopt it if it is under way.

        What hinders the start of a program is not the fault of the point, and raises ``WorkersError``.
        """
        if self._closed:
            raise RuntimeError("the crew is closed, and takes no more runs")
        name = run_name(number, attempt)
        with uninterrupted():  # a program that has started is known
            try:
                run = self._simulator.adopt(argument, name) or self._simulator.start(argument, name)
            except (OSError, ValueError) as error:
                raise WorkersError(f"the program cannot be started: {error}") from error
            self._runs[number] = run
            self._futures[number] = _followed(run)

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Runs that have ended: at least one, unless the time is up."""
        first = concurrent.futures.FIRST_COMPLETED
        concurrent.futures.wait(self._futures.values(), timeout, return_when=first)
        ended = [(number, future.result()) for number, future in self._futures.items() if future.done()]
        for number, _ in ended:
            del self._runs[number], self._futures[number]
        return ended

    def leave(self) -> list[int]:
        """Let the programs that run go on when the crew is closed; their numbers.

        Those without a supervisor, as on Windows, cannot be found again, and are killed.
        """
        left = [number for number, run in self._runs.items() if run.can_be_adopted]
        for number in left:
            del self._runs[number], self._futures[number]
        return left

    def close(self) -> None:
        """Kill what still runs."""
        self._closed = True
        for run in self._runs.values():
            run.kill()
        concurrent.futures.wait(self._futures.values())


def run_name(number: int, attempt: int = 0) -> str:
    """Name of the directory of an attempt at the run with this number."""
    return f"{number:04d}" + (f"-retry{attempt}" if attempt else "")


def outcome_again(simulator: Simulator, argument: Mapping[str, Any], name: str) -> Outcome | None:
    """What is read now of a run that ended normally; None if there is none of that name."""
    try:
        found = simulator.read_again(argument, name)
    except RunFailed as error:
        return Outcome(None, str(error), exit_code=0)
    return None if found is None else Outcome(found[0], found[1] or None, exit_code=0)


def _followed(run: Run) -> concurrent.futures.Future[Outcome]:
    """The outcome to come of a run, for whose end a thread waits."""
    future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()

    def follow() -> None:
        try:
            future.set_result(outcome_of(run))
        except BaseException as error:  # `wait` raises it
            future.set_exception(error)

    # A daemon: this process may end while a program that it leaves behind goes on.
    threading.Thread(target=follow, name=f"tcgp-run-{run.directory.name}", daemon=True).start()
    return future


def outcome_of(run: Run) -> Outcome:
    """What came of a run, once it has ended."""
    try:
        value = run.finish()
    except RunFailed as error:
        return Outcome(None, str(error), run.seconds, run.exit_code, run.words)
    return Outcome(value, run.reasons or None, run.seconds, run.exit_code, run.words if run.reasons else "")
