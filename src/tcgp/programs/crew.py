"""Parallel runs of a program."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tcgp._text import plain
from tcgp.programs.objective import RunFailed, RunLost
from tcgp.programs.simulator import Run, Simulator
from tcgp.record.journal import uninterrupted
from tcgp.running.crews import Outcome, WorkersError

__all__ = ["ProgramCrew", "outcome_again", "outcome_of", "run_name"]


class ProgramCrew:
    """Parallel runs of a program, for the argument ``workers`` of `tcgp.minimize`.

    The run of proposal 7 works in the directory ``0007``, and its second attempt in ``0007-retry1``. A run that an
    earlier process started is adopted. A thread waits for each program; no Python worker processes are needed.

    Parameters
    ----------
    simulator : Simulator
    capacity : int
        Number of parallel runs.

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
        """Numbers of the runs whose results have not been collected."""
        return list(self._futures)

    def serve(self, campaign: str | None) -> None:
        """Make the runs of this campaign from here on, and recognize only its own."""
        self._simulator = replace(self._simulator, campaign=campaign)

    def holds(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> bool:
        """Whether a run with this number is running or has ended, so that `submit` adopts it."""
        return self._simulator.adopt(argument, run_name(number, attempt)) is not None

    def submit(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> None:
        """Start the run with this number, or adopt it if it is already running.

        A program that cannot be started raises ``WorkersError``; it does not count as a failure of the point.
        """
        if self._closed:
            raise RuntimeError("the crew is closed, and takes no more runs")
        name = run_name(number, attempt)
        with uninterrupted():  # every started program is recorded
            try:
                run = self._simulator.adopt_or_start(argument, name)
            except (OSError, ValueError) as error:
                raise WorkersError(f"the program cannot be started: {error}") from error
            self._runs[number] = run
            self._futures[number] = _followed(run)

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Return the finished runs; wait for at least one, up to the timeout."""
        first = concurrent.futures.FIRST_COMPLETED
        concurrent.futures.wait(self._futures.values(), timeout, return_when=first)
        done = {number: future for number, future in self._futures.items() if future.done()}
        lost = {number: error for number, future in done.items() if (error := future.exception()) is not None}
        ended = [(number, future.result()) for number, future in done.items() if number not in lost]
        # What has ended well comes first: a run that was lost is said to be so when there is nothing else to say.
        for number in [n for n, _ in ended] or list(lost)[:1]:
            del self._runs[number], self._futures[number]
        if lost and not ended:
            raise next(iter(lost.values()))
        return ended

    def leave(self) -> list[int]:
        """Let running programs continue when the crew is closed; return their numbers.

        Programs without a supervisor, as on Windows, cannot be found again and will be killed.
        """
        left = [number for number, run in self._runs.items() if run.can_be_adopted]
        for number in left:
            del self._runs[number], self._futures[number]
        return left

    def close(self) -> None:
        """Kill all running programs."""
        self._closed = True
        for run in self._runs.values():
            run.kill()
        concurrent.futures.wait(self._futures.values())


def run_name(number: int, attempt: int = 0) -> str:
    """Return the directory name of an attempt at the run with this number."""
    return f"{number:04d}" + (f"-retry{attempt}" if attempt else "")


def outcome_again(simulator: Simulator, argument: Mapping[str, Any], name: str) -> Outcome | None:
    """Read the outcome of a run that ended normally again; None if there is no such run."""
    try:
        found = simulator.read_again(argument, name)
    except RunFailed as error:
        return Outcome(None, str(error), exit_code=0)
    return None if found is None else Outcome(found[0], found[1] or None, exit_code=0)


def _followed(run: Run) -> concurrent.futures.Future[Outcome]:
    """Return a future of the outcome of a run; a thread waits for the run to end."""
    future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()

    def follow() -> None:
        try:
            future.set_result(outcome_of(run))
        except BaseException as error:  # `wait` raises it
            future.set_exception(error)

    # A daemon thread: this process may end while the program continues.
    threading.Thread(target=follow, name=f"tcgp-run-{run.directory.name}", daemon=True).start()
    return future


def outcome_of(run: Run) -> Outcome:
    """Wait for a run to end, and return its outcome."""
    try:
        value = run.finish()
    except RunFailed as error:
        return Outcome(None, str(error), run.seconds, run.exit_code, run.words)
    except RunLost as error:
        raise WorkersError(str(error)) from None
    return Outcome(value, run.reasons or None, run.seconds, run.exit_code, run.words if run.reasons else "")
