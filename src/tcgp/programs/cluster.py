"""Runs of a program on the nodes of a Dask cluster."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tcgp.programs.crew import outcome_of, run_name
from tcgp.programs.simulator import Simulator
from tcgp.running.crews import Executor, Outcome, WorkersError, count_workers

__all__ = ["ClusterCrew", "run_on_node"]

CONNECTION_TIMEOUT = 30.0  # seconds to wait for the scheduler


class ClusterCrew:
    """Runs of a program on a Dask cluster, for the argument ``workers`` of `tcgp.minimize`.

    The directory of the runs must be on a file system that all nodes share. If a worker dies, Dask assigns its run to
    another worker, which adopts the program if it is still running and restarts it otherwise. Runs in progress continue
    on the cluster when the crew is closed, and are adopted by the next crew.

    Parameters
    ----------
    simulator : Simulator
    client : distributed.Client or str
        The cluster, or the address of its scheduler.
    capacity : int, optional
        Number of parallel runs; by default the number of threads of the cluster.
    """

    def __init__(self, simulator: Simulator, client: Any, capacity: int | None = None) -> None:
        self._own: Any = None
        if isinstance(client, str):
            from distributed import Client

            connect: Any = Client
            client = self._own = connect(client, timeout=CONNECTION_TIMEOUT)
        self._crew = Executor(simulator, client, capacity or count_workers(client), call=run_on_node)
        self.capacity = self._crew.capacity
        self._simulator, self._client = simulator, client

    def serve(self, campaign: str | None) -> None:
        """Make the runs of this campaign from here on, and recognize only its own."""
        self._simulator = replace(self._simulator, campaign=campaign)
        self._crew = Executor(self._simulator, self._client, self.capacity, call=run_on_node)

    def holds(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> bool:
        """Whether a run with this number is running or has ended, so that a node adopts it."""
        return self._simulator.adopt(argument, run_name(number, attempt)) is not None

    @property
    def under_way(self) -> list[int]:
        """Numbers of the runs whose results have not been collected."""
        return self._crew.under_way

    def submit(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> None:
        """Submit the run with this number to the cluster."""
        self._crew.submit(number, (run_name(number, attempt), dict(argument)))

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Return the finished runs; wait for at least one, up to the timeout."""
        return self._crew.wait(timeout)

    def leave(self) -> list[int]:
        """Return the runs that continue when the crew is closed: all of them."""
        return self.under_way

    def close(self) -> None:
        """Cancel runs that have not started; running programs are not killed."""
        self._crew.close()
        if self._own is not None:
            self._own.close()


def run_on_node(simulator: Simulator, task: tuple[str, Mapping[str, Any]]) -> Outcome:
    """Run the program on the current node, or wait for it if it is already running.

    A program that cannot be started raises ``WorkersError``; it does not count as a failure of the point.
    """
    name, argument = task
    try:
        run = simulator.adopt_or_start(argument, name)
    except (OSError, ValueError) as error:
        raise WorkersError(f"the program cannot be started on {socket.gethostname()}: {error}") from error
    return outcome_of(run)
