"""Runs of a program on the nodes of a cluster, through Dask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcgp.optimizer.workers import Executor, Outcome, count_workers
from tcgp.programs.crew import outcome_of, run_name
from tcgp.programs.simulator import Simulator

__all__ = ["ClusterCrew", "run_on_node"]

CONNECTION_TIMEOUT = 30.0  # seconds that a scheduler may take to answer


class ClusterCrew:
    """Evaluations by runs of a program on a Dask cluster, for the argument ``workers`` of `tcgp.minimize`.

    The directory of the runs must be on a file system that all nodes share. If a worker dies, Dask gives its run to
    another one: a program that still runs is adopted there, and else started again. Runs under way are left to the
    cluster when the crew is closed, and adopted by the next one.

    Parameters
    ----------
    simulator : Simulator
    client : distributed.Client or str
        The cluster, or the address of its scheduler, which is then connected to.
    capacity : int, optional
        Number of runs at a time; by default the number of threads of the cluster.
    """

    def __init__(self, simulator: Simulator, client: Any, capacity: int | None = None) -> None:
        self._own: Any = None
        if isinstance(client, str):
            from distributed import Client

            connect: Any = Client
            client = self._own = connect(client, timeout=CONNECTION_TIMEOUT)
        self._crew = Executor(simulator, client, capacity or count_workers(client), call=run_on_node)
        self.capacity = self._crew.capacity

    @property
    def under_way(self) -> list[int]:
        """Numbers of the runs whose end has not been collected."""
        return self._crew.under_way

    def submit(self, number: int, argument: Mapping[str, Any], attempt: int = 0) -> None:
        """Have the cluster make the run with this number."""
        self._crew.submit(number, (run_name(number, attempt), dict(argument)))

    def wait(self, timeout: float | None) -> list[tuple[int, Outcome]]:
        """Runs that have ended: at least one, unless the time is up."""
        return self._crew.wait(timeout)

    def leave(self) -> list[int]:
        """The runs that go on when the crew is closed: all of them."""
        return self.under_way

    def close(self) -> None:
        """Give up what has not begun; a program that runs is not killed."""
        self._crew.close()
        if self._own is not None:
            self._own.close()


def run_on_node(simulator: Simulator, task: tuple[str, Mapping[str, Any]]) -> Outcome:
    """Make a run on the node where this is called, or follow it if it is under way."""
    name, argument = task
    return outcome_of(simulator.adopt(argument, name) or simulator.start(argument, name))
