"""Run the tasks of a plan, or a share of them, in processes on this machine or on a Dask cluster.

Workers return results and only the main process writes them, so that a cluster needs no shared disk.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from threadpoolctl import threadpool_limits

from tcgp_experiments.errors import ExperimentError, require
from tcgp_experiments.plan.plans import Plan
from tcgp_experiments.plan.tasks import RunTask, Task
from tcgp_experiments.run import problems
from tcgp_experiments.run.dispatch import Attempt, attempt
from tcgp_experiments.run.peers import check_installed
from tcgp_experiments.run.store import Store

__all__ = ["Progress", "Summary", "run"]

logger = logging.getLogger("tcgp")

SECONDS_TO_CONNECT = 10.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Attributes
    ----------
    n_present : int
        Earlier results.
    n_computed : int
    failures : list of (path, reason)
        Tasks that raised an error.
    """

    n_present: int
    n_computed: int
    failures: list[tuple[str, str]]


def run(
    plans: Sequence[Plan],
    store: Store,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    shard: tuple[int, int] = (1, 1),
    progress: bool = True,
) -> Summary:
    """Compute the missing results of some plans.

    Parameters
    ----------
    plans : sequence of plans
    store : Store
        Directory of results.
    jobs : int, optional
        Number of processes, with one BLAS thread each; by default the number of processors.
    scheduler : str, optional
        Address of a Dask scheduler, used instead of processes here.
    shard : (int, int)
        ``(i, N)``: the i-th of N shares, from 1.
    progress : bool
        Whether to show progress on standard error.
    """
    tasks = _share(_distinct(task for plan in plans for task in plan.tasks()), shard)
    _check_available(tasks)
    missing = [task for task in tasks if store.load(task) is None]
    n_present = len(tasks) - len(missing)
    if not missing:
        return Summary(n_present, 0, [])
    store.check_writable(len(missing))
    if scheduler is None:
        n_workers = jobs or os.cpu_count() or 1
        attempts = _on_this_machine(missing, n_workers)
    else:
        n_workers, attempts = _on_dask(missing, scheduler)
    line = Progress(missing, n_present, n_workers) if progress else None
    failures: list[tuple[str, str]] = []
    for task, payload, reason, seconds in attempts:
        if payload is None:
            failures.append((task.path, reason))
            logger.warning("the task %s failed: %s", task.path, reason)
        else:
            store.save(task, payload)
        if line is not None:
            line.show(task, seconds)
    if line is not None:
        line.close()
    return Summary(n_present, len(missing) - len(failures), failures)


def _check_available(tasks: Sequence[Task]) -> None:
    """Refuse unknown problems and missing peers, before any work."""
    for name in dict.fromkeys(task.problem for task in tasks):
        problems.get(name)
    runs = [task for task in tasks if isinstance(task, RunTask) and task.method.is_peer]
    for name in dict.fromkeys(task.method.name for task in runs):
        check_installed(name.partition(":")[2])
    if any(task.diagnostics or task.criterion != "ei" for task in runs):
        raise ExperimentError(
            "peers maximize EI and show no model to score: leave them out of this experiment"
        )


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    """Tasks without repetitions; of two with one file, the one that needs more."""
    kept: dict[str, Task] = {}
    for task in tasks:
        other = kept.get(task.path)
        if isinstance(other, RunTask) and isinstance(task, RunTask):
            task = replace(
                task,
                iterations=max(task.iterations, other.iterations),
                diagnostics=task.diagnostics or other.diagnostics,
            )
        kept[task.path] = task
    return list(kept.values())


def _share(tasks: list[Task], shard: tuple[int, int]) -> list[Task]:
    """Every N-th task, so that each share has some of every kind."""
    i, n = shard
    if not 1 <= i <= n:
        raise ExperimentError(f"a share is i/N with i from 1 to N, not {i}/{n}")
    return tasks[i - 1 :: n]


def _on_this_machine(tasks: list[Task], jobs: int) -> Iterator[Attempt]:
    """Results of worker processes with one BLAS thread each, in any order."""
    joblib = require("joblib", "experiments need joblib", "joblib")
    loky = importlib.import_module("joblib.externals.loky.process_executor")

    def attempts() -> Iterator[Attempt]:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(
                n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs"
            )
            try:
                yield from parallel(joblib.delayed(attempt)(task) for task in tasks)
            except loky.TerminatedWorkerError as error:
                raise ExperimentError(
                    "a worker process was killed, probably out of memory: the results so far are kept; "
                    "give the same command again, with fewer --jobs"
                ) from error

    return attempts()


def _on_dask(tasks: list[Task], address: str) -> tuple[int, Iterator[Attempt]]:
    """Number of workers of a Dask cluster, and their results, in any order."""
    distributed = require("distributed", "--scheduler needs Dask", "distributed")
    try:
        client = distributed.Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ExperimentError(
            f"no Dask scheduler answers at {address!r}: start one with 'dask scheduler', and check the address"
        ) from error

    def attempts() -> Iterator[Attempt]:
        with client:
            # Not pure, because equal tasks were removed already. If a worker dies, Dask tries its task again on others.
            futures = client.map(_attempt_alone, tasks, pure=False, retries=2)
            asked = {future.key: task for future, task in zip(futures, tasks, strict=True)}
            for future in distributed.as_completed(futures, loop=client.loop):
                try:
                    yield future.result()
                except Exception as error:  # its workers died, repeatedly
                    yield Attempt(asked[future.key], None, f"{type(error).__name__}: {error}", 0.0)
                future.release()

    return max(sum(client.nthreads().values()), 1), attempts()


def _attempt_alone(task: Task) -> Attempt:
    """`attempt` with one thread, also in the libraries of peers, whatever the worker's settings."""
    with threadpool_limits(1):
        return attempt(task)


class Progress:
    """A line on standard error: how many tasks are done, and how long the rest may take.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks.
    n_present : int
        Number of earlier results.
    n_workers : int
    stream : file, optional
        Standard error by default.
    """

    def __init__(
        self, tasks: Sequence[Task], n_present: int, n_workers: int, stream: TextIO | None = None
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        self._n_present, self._n_workers = n_present, n_workers
        self._left: dict[str, int] = defaultdict(int)
        for task in tasks:
            self._left[task.kind] += 1
        self._total, self._done = len(tasks), 0
        self._spent: dict[str, list[float]] = defaultdict(list)
        self._start = time.monotonic()
        self._shown = -SECONDS_BETWEEN_LINES

    def show(self, task: Task, seconds: float) -> None:
        """Count a task that took so many seconds of a worker."""
        self._done += 1
        self._left[task.kind] -= 1
        self._spent[task.kind].append(seconds)
        elapsed = time.monotonic() - self._start
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{self._line(elapsed)}")
        elif self._done == self._total or elapsed - self._shown >= SECONDS_BETWEEN_LINES:
            self.stream.write(self._line(elapsed) + "\n")
            self._shown = elapsed
        self.stream.flush()

    def seconds_left(self) -> float:
        """Estimate: each kind takes as long as so far, and an unknown kind as long as the others."""
        averages = {kind: sum(spent) / len(spent) for kind, spent in self._spent.items()}
        usual = sum(averages.values()) / len(averages) if averages else 0.0
        work = sum(n * averages.get(kind, usual) for kind, n in self._left.items())
        return work / self._n_workers

    def _line(self, elapsed: float) -> str:
        before = f" ({self._n_present} were there)" if self._n_present else ""
        left = "" if self._done == self._total else f", about {_clock(self.seconds_left())} left"
        return f"{self._done}/{self._total} tasks{before}, {_clock(elapsed)} so far{left}"

    def close(self) -> None:
        """End the line."""
        if self.stream.isatty():
            self.stream.write("\n")


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
