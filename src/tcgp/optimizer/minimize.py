"""`minimize`: from a function and its bounds to a minimum, in one call."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._typing import RandomState
from tcgp.methods.portfolio import members_of
from tcgp.optimizer.arguments import Given, Limits
from tcgp.optimizer.history import History, SpaceExhausted
from tcgp.optimizer.journal import JournalError, check_path, uninterrupted
from tcgp.optimizer.optimizer import Optimizer
from tcgp.optimizer.progress import ProgressLine
from tcgp.optimizer.proposer import Proposer
from tcgp.optimizer.settings import Settings, split_constraints, wanted_output
from tcgp.optimizer.streams import Streams
from tcgp.optimizer.workers import Crew, Outcome, WorkersError, check_workers, crew_for
from tcgp.space import Point, Space

if TYPE_CHECKING:
    from tcgp.optimizer.result import Result
    from tcgp.report import Reporter

__all__ = ["Status", "minimize"]

LONGEST_WAIT = 86400.0  # seconds at a time: the system's clocks take no arbitrary numbers


class Status(IntEnum):
    """Why a run ended."""

    BUDGET = 0
    TARGET = 1
    EXHAUSTED = 2
    NO_PROMISE = 3
    TIME = 4
    CALLBACK = 5
    INTERRUPTED = 6
    WORKERS = 7


MESSAGES = {
    Status.BUDGET: "the budget of {n_evals} evaluations is spent",
    Status.TARGET: "the target {target!r} is reached",
    Status.EXHAUSTED: "every point of the space has been evaluated",
    Status.NO_PROMISE: "no point promises an improvement: log EI fell below {stop_when_log_ei_below!r}",
    Status.TIME: "the time of {max_time!r} s is over",
    Status.CALLBACK: "the callback asked to stop",
    Status.INTERRUPTED: "interrupted from the keyboard",
    Status.WORKERS: "the workers failed",
}


def minimize(
    fun: Callable[[Any], Any],
    bounds: object,
    *,
    n_evals: int,
    method: str = "auto",
    objective: str | None = None,
    constraints: object = (),
    maximize: bool | str = False,
    criterion: str = "ei",
    n_initial: int | None = None,
    x0: object = None,
    y0: object = None,
    rng: RandomState = None,
    callback: Callable[[Result], object] | None = None,
    workers: Any = 1,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    maximizer: str = "multistart",
    target: float | None = None,
    max_time: float | None = None,
    initial_design: str = "uniform",
    epsilon: float = 0.1,
    options: Mapping[str, Any] | None = None,
    stop_when_log_ei_below: float | None = None,
    n_parallel: int | None = None,
    report: str | os.PathLike[str] | None = None,
) -> Result:
    """Minimize an expensive, deterministic function with few evaluations.

    Parameters
    ----------
    fun : callable
        ``fun(x) -> float``, or to a mapping of named outputs. It gets an array of shape (d,) if all parameters are
        real, a dict if they have names, and a list otherwise. An exception, None, NaN or an infinity is a failed
        evaluation: it is recorded with its reason, and the search goes on elsewhere.
    bounds : sequence of (low, high), scipy.optimize.Bounds, Space, or what `Space` takes
        The parameters.
    n_evals : int
        Number of evaluations in all: initial design and failures included, runs of a resumed journal too.
    method : str
        Predictive model; see `tcgp.Optimizer` for ``"auto"`` and `tcgp.fit_model` for the others; ``"tcgp"`` is the
        paper's.
    objective : str, optional
        Name of the output to minimize, if ``fun`` returns a mapping.
    constraints : str, or sequence of str, callables and SciPy constraints
        ``"stress <= 250"`` (an output: learned along the run) or ``"width <= 0.5 * height"`` (parameters alone: never
        violated); see `tcgp.Optimizer`.
    maximize : bool or str
        Whether large values are good; or the name of the output to maximize. Results keep the sign of ``fun``.
    criterion : {"ei", "lcb"}
        Expected improvement, or the lower confidence bound of level ``epsilon``.
    n_initial : int, optional
        Size of the initial design; by default 10 per parameter, 4 with ``"auto"``, at most half of ``n_evals``.
        The points of ``x0`` count.
    x0 : point, list of points or pandas.DataFrame, optional
        Points to evaluate first or, with ``y0``, points evaluated before. The columns of a DataFrame go by the names of
        the parameters, in any order; other columns are left out.
    y0 : float, list of floats, pandas.Series or pandas.DataFrame, optional
        Values at ``x0``, or outputs in the columns of a DataFrame; these points do not count towards ``n_evals``.
    rng : int, numpy.random.Generator or None
        Source of all randomness.
    callback : callable, optional
        Called as ``callback(result)`` after each evaluation; returning True or raising StopIteration ends the run.
    workers : int, executor, callable or crew
        Who evaluates: 1 means here, n means n processes; or an object with ``submit`` (any
        `concurrent.futures` executor, a Dask client, an MPI pool), or a callable like `map`, which is given
        batches; or a crew such as `tcgp.programs.ProgramCrew`, which is closed in the end.
    journal : str or os.PathLike, optional
        File that keeps every evaluation. If it exists, the run it tells of is continued; the bounds may have changed,
        see `Optimizer.change_space`.
    progress : bool
        Whether to show a progress bar on standard error.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized: gradient search from many starts, or the paper's SMC + SLSQP.
    target : float, optional
        Stop once a value that keeps all constraints is as low as this, or as high with ``maximize``.
    max_time : float, optional
        Stop after this many seconds; an evaluation in this process is not cut short.
    initial_design : {"uniform", "lhs", "sobol"}
        Kind of initial design; uniform is the paper's.
    epsilon : float
        Level of the lower confidence bound.
    options : mapping, optional
        Options of the method, such as ``{"delta": 0.1}``; see `tcgp.fit_model`.
    stop_when_log_ei_below : float, optional
        Stop once the logarithm of the expected improvement at the next point is below this.
    n_parallel : int, optional
        How many evaluations to keep going with an executor or a map; by default as many as it has workers.
    report : str or os.PathLike, optional
        HTML file in which the run can be watched: written again as the run goes on, for any browser.

    Returns
    -------
    Result
        A `scipy.optimize.OptimizeResult` with ``x, fun, nfev, nit, success, status, message, stopped, x_iters,
        func_vals, failures, optimizer`` and a method ``plot``. ``status`` says why the run ended: 0 budget,
        1 target, 2 no point left, 3 no promise of improvement, 4 time, 5 callback, 6 Ctrl-C, 7 the workers.
        ``success`` is False for 6 and 7, and if no evaluation succeeded.

    Examples
    --------
    >>> import tcgp
    >>> result = tcgp.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2), (-2, 2)], n_evals=20, rng=0)
    >>> result.nfev, bool(result.fun < 0.01)
    (20, True)
    """
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {fun!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    space = Space(bounds)
    limits = Limits(n_evals, target, max_time, stop_when_log_ei_below)
    texts, others = split_constraints(constraints)
    wanted = Settings(
        **wanted_output(objective, maximize),
        constraints=texts,
        method=method,
        criterion=criterion,
        n_initial=n_initial,
        initial_design=initial_design,
        maximizer=maximizer,
        epsilon=epsilon,
        options={} if options is None else options,
    )
    goals = wanted.goals(space)
    given = Given.of(space, x0, y0, goals)
    _check_allowed(given, Proposer(space, wanted, History(space, goals), Streams(0), [*goals.known, *others]))
    check_workers(workers, n_parallel)
    if journal is not None:
        check_path("journal", journal)
    if report is not None:
        _check_report(report)
    optimizer = _start_or_resume(space, journal, wanted, others, rng, n_evals)
    try:
        given.give(optimizer)
        reporter = None if report is None else _reporter(report, optimizer, n_evals)
        crew = crew_for(workers, fun, n_parallel)
        watchers = _Watchers(optimizer, callback, progress, n_evals, reporter)
        try:
            status, stopped = _run(optimizer, crew, limits, watchers)
            watchers.message = stopped
        finally:
            crew.close()
            watchers.close()
    finally:
        optimizer.close()
    result = optimizer.result()
    message = stopped
    if result.x is not None and not result.success:
        message += "; no evaluation keeps all constraints: x is the one that comes nearest to it"
    elif result.failures and not result.success:
        message += f"; no evaluation succeeded, the last one because: {result.failures[-1][1]}"
    result.update(
        nfev=optimizer.history.n_done,
        status=int(status),
        message=message,
        stopped=stopped,
        success=bool(result.success and status < Status.INTERRUPTED),
    )
    return result


@dataclass(frozen=True)
class _UnderWay:
    """Points being evaluated, by the number of their proposal, and outcomes not yet told.

    Whatever interrupts the run, an outcome that the crew has handed over is in one of the two or in the journal.
    """

    points: dict[int, Point] = field(default_factory=dict)
    outcomes: deque[tuple[int, Outcome]] = field(default_factory=deque)

    def tell_next(self, optimizer: Optimizer) -> None:
        """Tell the first of the outcomes."""
        number, outcome = self.outcomes[0]
        with uninterrupted():
            optimizer.tell(self.points[number], outcome.value, reason=outcome.reason, seconds=outcome.seconds)
            self.outcomes.popleft()
            del self.points[number]


def _run(optimizer: Optimizer, crew: Crew, limits: Limits, watchers: _Watchers) -> tuple[Status, str]:
    """Ask, evaluate and tell until there is a reason to stop: its status and its message."""
    under_way = _UnderWay()
    detail = ""
    try:
        status = _ask_and_tell(optimizer, crew, limits, watchers, under_way)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except WorkersError as error:
        status, detail = Status.WORKERS, f": {error}"
    except BaseException:  # of the callback, a full disk, or a journal that goes on in a rescue file
        with contextlib.suppress(Exception):
            while under_way.outcomes:
                under_way.tell_next(optimizer)
        raise
    with contextlib.suppress(KeyboardInterrupt, WorkersError):
        _tell(optimizer, under_way, watchers)
        _collect(optimizer, crew, under_way, 0.0, watchers)  # what has ended in the meantime
    if under_way.points:
        detail += f"; evaluations under way and given up: {len(under_way.points)}"
    return status, MESSAGES[status].format(**vars(limits)) + detail


def _ask_and_tell(
    optimizer: Optimizer, crew: Crew, limits: Limits, watchers: _Watchers, under_way: _UnderWay
) -> Status:
    """The loop itself."""
    start = time.monotonic()
    status: Status | None = None  # once set, nothing new is started
    while True:
        if _reached(optimizer, limits.target):
            return Status.TARGET
        while status is None and len(under_way.points) < crew.capacity:
            status = _start_one(optimizer, crew, limits, under_way)
        if not under_way.points:
            assert status is not None
            return status
        watchers.wait()
        end = math.inf if limits.max_time is None else start + limits.max_time
        left = min(max(end - time.monotonic(), 0.0), LONGEST_WAIT)
        _collect(optimizer, crew, under_way, left, watchers)
        if watchers.asked_to_stop:
            return Status.CALLBACK
        if time.monotonic() >= end:
            return Status.TIME


def _start_one(optimizer: Optimizer, crew: Crew, limits: Limits, under_way: _UnderWay) -> Status | None:
    """Start the next evaluation, or say why there is none."""
    if optimizer.history.n_done + len(under_way.points) >= limits.n_evals:
        return Status.BUDGET
    try:
        proposal = optimizer.propose()
    except SpaceExhausted:
        return Status.EXHAUSTED
    if proposal.trace is not None and _without_promise(optimizer, limits.stop_when_log_ei_below):
        return Status.NO_PROMISE
    under_way.points[proposal.id] = proposal.x
    crew.submit(proposal.id, optimizer.space.as_argument(proposal.x))
    return None


def _collect(
    optimizer: Optimizer, crew: Crew, under_way: _UnderWay, timeout: float | None, watchers: _Watchers
) -> None:
    """Wait for what ends, and tell it."""
    if under_way.points:
        under_way.outcomes.extend(crew.wait(timeout))
    _tell(optimizer, under_way, watchers)


def _tell(optimizer: Optimizer, under_way: _UnderWay, watchers: _Watchers) -> None:
    """Tell all that has ended."""
    while under_way.outcomes:
        under_way.tell_next(optimizer)
        watchers.look()


class _Watchers:
    """Those who look on: the user's callback, which may ask to stop, the progress line, and the report."""

    def __init__(
        self,
        optimizer: Optimizer,
        callback: Callable[[Result], object] | None,
        progress: bool,
        n_evals: int,
        reporter: Reporter | None,
    ) -> None:
        self._optimizer, self._callback, self._reporter = optimizer, callback, reporter
        self.asked_to_stop = False
        self.message = "an error ended the run"  # unless it ends otherwise
        self._line: ProgressLine | None = None
        if progress:
            value = "value that keeps all constraints" if optimizer.history.goals.limits else "value"
            self._line = ProgressLine(n_evals, optimizer.history.n_done, without_best=f"no {value} yet")

    def look(self) -> None:
        """Show what there is after an evaluation."""
        if self._line is not None:
            best = self._optimizer.history.best
            failed = len(self._optimizer.history.failures)
            self._line.show(self._optimizer.history.n_done, None if best is None else best.y, failed)
        if self._callback is not None and not self.asked_to_stop:
            try:
                self.asked_to_stop = self._callback(self._optimizer.result()) is True
            except StopIteration:
                self.asked_to_stop = True

    def wait(self) -> None:
        """Evaluations are under way, and there is time until one ends."""
        if self._reporter is not None:
            self._reporter.waiting()

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        if self._reporter is not None:
            self._reporter.close(self.message)


def _check_allowed(given: Given, proposer: Proposer) -> None:
    """Refuse points to evaluate that violate a known constraint."""
    for point in given.points if given.values is None else ():
        proposer.check_allowed(point)


def _check_report(path: str | os.PathLike[str]) -> None:
    from tcgp.report import check_place  # only here: it brings the scores along

    check_place(check_path("report", path))


def _reporter(path: str | os.PathLike[str], optimizer: Optimizer, n_evals: int) -> Reporter:
    from tcgp.report import Reporter

    return Reporter(path, optimizer, n_evals)


def _start_or_resume(
    space: Space,
    journal: str | os.PathLike[str] | None,
    wanted: Settings,
    others: list[Any],
    rng: RandomState,
    n_evals: int,
) -> Optimizer:
    """A new optimizer, or the one its journal records if that is of the same problem."""
    if journal is None or not os.path.exists(journal) or os.path.getsize(journal) == 0:
        given = asdict(wanted.completed(len(space), n_evals))
        given["constraints"] = [*given["constraints"], *others]
        return Optimizer(space, rng=rng, journal=journal, **given)
    optimizer = Optimizer.resume(journal, constraints=others)
    try:
        _check_same_problem(optimizer, space, wanted, rng, journal)
        optimizer.change_space(space)
    except BaseException:
        optimizer.close()
        raise
    return optimizer


def _check_same_problem(
    optimizer: Optimizer,
    space: Space,
    wanted: Settings,
    rng: RandomState,
    journal: str | os.PathLike[str],
) -> None:
    """Refuse a journal whose parameters, settings or seed are others; what was not asked for is not compared."""
    pairs: list[tuple[str, Any, Any]] = []
    if not _same_parameters(optimizer, space):
        pairs.append(("bounds", optimizer.space, space))
    names = (field.name for field in fields(Settings))
    pairs += [(name, getattr(optimizer.settings, name), getattr(wanted, name)) for name in names]
    if isinstance(rng, int | np.integer):
        pairs.append(("rng", optimizer.seed, int(rng)))
    for name, theirs, ours in pairs:
        if ours is not None and theirs != ours:
            raise JournalError(
                f"the journal {str(journal)!r} is of another run: its {name} is {theirs!r}, not {ours!r}; "
                "choose another file, or the same arguments"
            )


def _same_parameters(optimizer: Optimizer, space: Space) -> bool:
    """Whether the space is that of the optimizer, perhaps with other bounds.

    Without names that is believed only if an evaluation lies in it: the journal may be of another function.
    """
    before, told = optimizer.space, optimizer.evaluations
    if before == space or before.names is not None:
        return before.names == space.names
    return len(before) == len(space) and (not told or any(space.contains(e.x) for e in told))


def _reached(optimizer: Optimizer, target: float | None) -> bool:
    best, sign = optimizer.history.best, optimizer.history.goals.sign
    return target is not None and best is not None and best.y is not None and sign * (best.y - target) <= 0.0


def _without_promise(optimizer: Optimizer, limit: float | None) -> bool:
    """Whether log EI is below the limit (None stands for minus infinity), for every member of a portfolio in turn."""
    if limit is None:
        return False
    turns = len(members_of(optimizer.settings.method))
    recent = [trace["log_ei"] for trace in optimizer.trace[-turns:]]
    return len(recent) == turns and all(v is None or v < limit for v in recent)
