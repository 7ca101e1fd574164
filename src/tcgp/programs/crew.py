"""Several runs of a program at a time."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from typing import Any

from tcgp.optimizer.workers import Outcome, WorkersError
from tcgp.programs.objective import RunFailed
from tcgp.programs.simulator import Run, Simulator

__all__ = ["ProgramCrew"]


class ProgramCrew:
    """Evaluations by runs of a program, for the argument ``workers`` of `tcgp.minimize`.

    The run of proposal 7 works in the directory ``0007``. If an earlier process has started it, it is adopted. Programs
    need no Python processes to run side by side: a thread waits for each.

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
            raise ValueError(f"capacity must be at least 1, got {capacity!r}")
        self.capacity = capacity
        self._simulator = simulator
        self._threads = concurrent.futures.ThreadPoolExecutor(capacity, thread_name_prefix="tcgp-run")
        self._runs: dict[int, Run] = {}
        self._futures: dict[int, concurrent.futures.Future[Outcome]] = {}

    def submit(self, number: int, argument: Mapping[str, Any]) -> None:
        """Start the run with this number, or adopt it if it is under way.

        What hinders the start of a program is not the fault of the point, and raises ``WorkersError``.
        """
        name = f"{number:04d}"
        try:
            run = self._simulator.adopt(argument, name) or self._simulator.start(argument, name)
        except (OSError, ValueError) as error:
            raise WorkersError(f"the program cannot be started: {error}") from error
        self._runs[number] = run
        self._futures[number] = self._threads.submit(_outcome, run)

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Runs that have ended: at least one, unless the time is up."""
        first = concurrent.futures.FIRST_COMPLETED
        concurrent.futures.wait(self._futures.values(), timeout, return_when=first)
        ended = [(number, future.result()) for number, future in self._futures.items() if future.done()]
        for number, _ in ended:
            del self._runs[number], self._futures[number]
        return ended

    def close(self) -> None:
        """Kill what still runs."""
        for run in self._runs.values():
            run.kill()
        self._threads.shutdown()


def _outcome(run: Run) -> Outcome:
    """What came of a run, once it has ended."""
    try:
        value = run.finish()
    except RunFailed as error:
        return Outcome(None, str(error), run.seconds)
    return Outcome(value, run.reasons or None, run.seconds)
