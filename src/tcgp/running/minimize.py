"""`minimize`: from a function and its bounds to a minimum, in one call."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp._text import plain, with_hints
from tcgp._typing import RandomState
from tcgp.goals import NOT_FINITE, SEVERAL_VALUES, Noise
from tcgp.methods.portfolio import turns_of
from tcgp.optimizer.optimizer import Optimizer
from tcgp.record.history import Evaluation, SpaceExhausted
from tcgp.record.journal import JournalError, check_path, held_back, uninterrupted
from tcgp.record.settings import Settings
from tcgp.region import Region
from tcgp.running.arguments import FirstPoints, StopRules
from tcgp.running.crews import (
    AdoptingCrew,
    Crew,
    LeavingCrew,
    Outcome,
    Terminated,
    WorkersError,
    check_workers,
    count_workers,
    crew_for,
)
from tcgp.running.opening import start_or_resume
from tcgp.running.pace import seconds_left
from tcgp.running.progress import NotebookBar, ProgressLine, progress_of
from tcgp.running.retries import Retries
from tcgp.running.stopping import n_without_improvement, shares_below
from tcgp.space import Point, Space, described_kinds

if TYPE_CHECKING:
    from tcgp.optimizer.result import Result
    from tcgp.report import Reporter

__all__ = ["Status", "minimize"]

logger = logging.getLogger("tcgp")

N_ALIKE = 3  # failures in one way, the first evaluations of a campaign, that stop it
LONGEST_WAIT = 86400.0  # seconds at a time: the system's clocks take no arbitrary numbers


class Status(IntEnum):
    """Why a run ended."""

    BUDGET = 0
    TARGET = 1
    EXHAUSTED = 2
    TIME = 4
    CALLBACK = 5
    INTERRUPTED = 6
    WORKERS = 7
    UNREAD = 8
    FAILURES = 9
    PATIENCE = 10
    NO_SHARE = 11


UNSUCCESSFUL = (Status.INTERRUPTED, Status.WORKERS, Status.UNREAD, Status.FAILURES)
MESSAGES = {
    Status.BUDGET: "the budget of {n_evals} evaluations is spent",
    Status.TARGET: "the target {target} is reached",
    Status.EXHAUSTED: "{exhausted}",
    Status.PATIENCE: "no improvement{by} in {patience} evaluations chosen by the model",
    Status.NO_SHARE: "the predicted share of the space that is better{by} fell below {stop_when_share_below}",
    Status.TIME: "the time of {max_time} s is over",
    Status.CALLBACK: "the callback asked to stop",
    Status.INTERRUPTED: "interrupted",
    Status.WORKERS: "the workers failed",
    Status.UNREAD: "no value could be read",
    Status.FAILURES: "more evaluations failed than max_failures = {max_failures} allows",
}


@with_hints
def minimize(
    fun: Callable[[Any], Any],
    bounds: object,
    *,
    n_evals: int,
    method: str = "auto",
    objective: str | Sequence[str] | None = None,
    constraints: object = (),
    maximize: bool | str | Sequence[str] = False,
    criterion: str = "ei",
    n_initial: int | None = None,
    x0: object = None,
    y0: object = None,
    rng: RandomState = None,
    callback: Callable[[Result], object] | None = None,
    workers: Any = 1,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    maximizer: str | None = None,
    target: float | Mapping[str, float] | None = None,
    max_time: float | None = None,
    initial_design: str | None = None,
    epsilon: float = 0.1,
    options: Mapping[str, Any] | None = None,
    patience: int | None = None,
    min_improvement: float | None = None,
    stop_when_share_below: float | None = None,
    n_parallel: int | None = None,
    report: str | os.PathLike[str] | None = None,
    retries: Mapping[str, Any] | Retries | None = None,
    timeout: float | None = None,
    max_failures: float | None = None,
    reference: Mapping[str, float] | None = None,
    noise: Noise = False,
    confirm: int = 0,
) -> Result:
    """Minimize an expensive function with few evaluations.

    Parameters
    ----------
    fun : callable
        Takes a point and returns a float or a mapping of named outputs. The point is an array of shape (d,) if all
        parameters are real, a dict if they have names, and a list otherwise. An exception, None, NaN or an infinity
        is a failed evaluation: it is recorded with its reason, and the search continues elsewhere.
    bounds : sequence of (low, high), scipy.optimize.Bounds, Space, or any argument of `Space`
        The parameters.
    n_evals : int
        Total number of evaluations, including the initial design, failures, and those of a resumed journal.
    method, criterion, epsilon, maximizer, initial_design, options
        How the next point is chosen: see `tcgp.Optimizer`, and `tcgp.fit_model` for the methods. ``"tcgp"`` is the
        paper's, to the letter with ``options={"as_published": True}``.
    objective : str or list of str, optional
        Name of the output to minimize, if ``fun`` returns a mapping, or an expression such as
        ``"mass + 3 * deflection"``; a list of two to four for a front of compromises. See `tcgp.Optimizer`.
    constraints : str, or sequence of str, callables and SciPy constraints
        ``"stress <= 250"`` (an output: learned during the run) or ``"width <= 0.5 * height"`` (only parameters: never
        violated); see `tcgp.Optimizer`.
    maximize, reference
        What is maximized, and of several objectives the values beyond which a point is of no use; see `tcgp.Optimizer`.
        Results keep the sign of ``fun``.
    n_initial : int, optional
        Size of the initial design; by default two more than parameters with ``"auto"``, and at least as many as
        workers; 10 per parameter with other methods; at most half of ``n_evals``. The points of ``x0`` count.
    x0 : point, list of points or pandas.DataFrame, optional
        Points to evaluate first or, with ``y0``, points that have been evaluated already. The columns of a
        DataFrame are matched by name; other columns are ignored.
    y0 : float, list of floats, pandas.Series or pandas.DataFrame, optional
        Values at ``x0``, or outputs in the columns of a DataFrame; these points do not count towards ``n_evals``. If
        both are pandas objects with row labels, the labels must be equal.
    rng : int, numpy.random.Generator or None
        Source of all randomness.
    callback : callable, optional
        Called as ``callback(result)`` after each evaluation; returning True or raising StopIteration ends the run.
    workers : int, executor, callable or crew
        Workers: 1 means this process, n means n processes; or an object with ``submit`` (any
        `concurrent.futures` executor, a Dask client, an MPI pool), or a callable like `map`, which is given
        batches; or a crew such as `tcgp.programs.ProgramCrew`, which is closed at the end.
    journal : str or os.PathLike, optional
        File that keeps every evaluation. If it exists, the run it records is continued; the bounds may have changed,
        see `Optimizer.change_space`.
    progress : bool
        Whether to show a progress bar: on standard error, or in a notebook through tqdm if that is installed.
    target : float or mapping, optional
        Stop once a value that satisfies all constraints is at most this, or at least this with ``maximize``. With
        several objectives a mapping, ``{"mass": 40.0, "deflection": 2.0}``: stop once a point is as good in all.
    max_time : float, optional
        Stop after this many seconds; an evaluation in this process is not interrupted.
    patience : int, optional
        Stop once this many points in a row chosen by a model have brought no improvement.
    min_improvement : float, optional
        What counts as an improvement, in the units of the value: for ``patience`` and ``stop_when_share_below``, by
        default any.
    stop_when_share_below : float, optional
        Stop once the predicted share of the space that is better than the best value, by more than
        ``min_improvement``, is below this for every model in use: see `Optimizer.share_below`. 1e-4 is a
        good choice for up to three parameters; with more the share is small from the start, and ``patience`` better.
    n_parallel : int, optional
        Number of parallel evaluations with an executor or a map; by default its number of workers.
    report : str or os.PathLike, optional
        HTML file to watch the run in a browser, updated during the run.
    retries : mapping, optional
        Failures that are not the fault of the point and are retried: ``{"times": 3, "delay": 300.0, "messages":
        ["no licence"]}``, or with ``"exit_codes"`` for programs. ``delay`` is in seconds. Each is journaled.
    timeout : float, optional
        Seconds after which an evaluation fails and its process is killed. For ``workers=n``, processes of our own; with
        ``workers=1`` the function is then evaluated in one, too.
    max_failures : int or float, optional
        Stop once more evaluations than this have failed: a number of them or, below 1, a share of all from the tenth
        on. The journal can be continued with another limit.
    noise : bool, float or mapping
        Whether evaluations scatter: False, True (how much is learned), the standard deviation, or a mapping from
        outputs to these; see `tcgp.Optimizer`. ``fun`` may return the output ``"mass_sd"`` beside ``"mass"``.
    confirm : int
        With ``noise``: spend the last evaluations, this many, on repeats that tell most about which point is the best.

    Returns
    -------
    Result
        A `scipy.optimize.OptimizeResult` with ``x, fun, nfev, nit, success, status, message, stopped, x_iters,
        func_vals, failures, optimizer, interval, best_observed, noise`` and a method ``plot``. ``status`` says why the
        run ended: 0 budget,
        1 target, 2 no point left, 3 no promise of improvement, 4 time, 5 callback, 6 Ctrl-C, 7 the workers,
        8 no value in what the first evaluations returned, 9 too many failures, 10 patience, 11 no share of the space
        that promises an improvement. ``success`` is False from 6 to 9, and if no evaluation succeeded. With several
        objectives ``front``, ``hypervolume``, ``knee()`` and ``choose(weights)`` take the place of ``x`` and ``fun``.

    Notes
    -----
    If the first three evaluations all fail in the same way (an exception of one type, one exit code, no value),
    something is likely to be wrong with the function and not with the points, and the run stops. It can be continued
    from its journal, and stops again while all fail in this way. ``max_failures`` says how many may fail instead.
    A function that returns several values at first, or outputs none of which is the objective, stops it at once.

    Examples
    --------
    >>> import tcgp
    >>> result = tcgp.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2), (-2, 2)], n_evals=20, rng=0)
    >>> result.nfev, bool(result.fun < 0.01)
    (20, True)
    """
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {plain(fun)}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {plain(callback)}")
    space = Space(bounds)
    rules = StopRules(
        n_evals,
        target,
        max_time,
        max_failures,
        patience,
        min_improvement,
        stop_when_share_below,
        confirm,
    )
    again = Retries.of(retries)
    wanted, others = Settings.given(
        objective,
        constraints,
        maximize,
        reference,
        method=method,
        criterion=criterion,
        n_initial=n_initial,
        initial_design=initial_design,
        maximizer=maximizer,
        epsilon=epsilon,
        options={} if options is None else options,
        noise=noise,
    )
    if confirm and not noise:
        raise ValueError(f"confirm needs noise: exact values need no repeats, got confirm={plain(confirm)}")
    goals = wanted.goals(space)
    rules.check_goals(goals)
    given = FirstPoints.of(space, x0, y0, goals)
    region = Region(space, [*goals.known, *others])
    for point in given.points if given.values is None else ():
        region.check(point)
    check_workers(workers, n_parallel, timeout)
    if journal is not None:
        check_path("journal", journal)
    if report is not None:
        _check_report(report)
    settings = wanted.completed(space, n_evals, count_workers(workers, n_parallel))
    optimizer = start_or_resume(space, journal, wanted, settings, others, rng)
    try:
        optimizer.hold()
        given.give(optimizer)
        if stop_when_share_below is not None:
            optimizer.trace_share_below(rules.improvement)
        reporter = None if report is None else _reporter(report, optimizer, n_evals)
        crew = crew_for(workers, fun, n_parallel, timeout)
        if isinstance(crew, AdoptingCrew):
            crew.serve(optimizer.campaign)
        watchers = _Watchers(optimizer, callback, progress, n_evals, reporter, crew.capacity)
        return _result(_Loop(optimizer, crew, rules, watchers, again))
    except BaseException:
        optimizer.close()
        raise


def _result(loop: _Loop) -> Result:
    """Run the loop and make the result; an interrupt waits until it is made, so that nothing is lost."""
    interrupts: list[tuple[int, Any]] = []
    try:
        status, stopped = _run(loop)
    except BaseException as error:
        with held_back(interrupts):  # programs are left before the crew is closed
            is_of_journal = isinstance(error, OSError | JournalError)
            _leave(
                loop, "the journal cannot be written" if is_of_journal else f"ended by {type(error).__name__}"
            )
            loop.close()
        raise
    with held_back(interrupts):
        loop.watchers.message = stopped
        loop.close()
        result = loop.optimizer.result()
    if interrupts:
        status = Status.INTERRUPTED
    message = stopped
    if not result.success and loop.optimizer.history.least_violating is not None:
        nearest = "" if result.x is None else ": x is the one that comes closest"
        message += f"; no evaluation satisfies all constraints{nearest}"
    elif status == Status.FAILURES and not result.success:  # the reason is given already
        message += "; no evaluation succeeded"
    elif result.failures and not result.success:
        message += f"; no evaluation succeeded, the last one because: {result.failures[-1][1]}"
    result.update(
        nfev=loop.optimizer.history.n_done,
        status=int(status),
        message=message,
        stopped=stopped,
        success=bool(result.success and status not in UNSUCCESSFUL),
    )
    return result


class _Loop:
    """Ask, evaluate and tell, until there is a reason to stop.

    Whatever interrupts the run, an outcome that the crew has handed over is in ``outcomes`` or in the journal.

    Attributes
    ----------
    points : dict
        Points being evaluated, by the number of their proposal.
    outcomes : deque
        Outcomes of evaluations, not yet reported.
    resting : dict
        When to try evaluations again that failed for an external reason, by number.
    stuck : (Status, str) or None
        Why it makes no sense to continue: evaluations fail at every point.
    exhausted : str
        Why there is no other point.
    """

    def __init__(
        self, optimizer: Optimizer, crew: Crew, rules: StopRules, watchers: _Watchers, retries: Retries | None
    ) -> None:
        self.optimizer, self.crew, self.rules, self.watchers = optimizer, crew, rules, watchers
        self.points: dict[int, Point] = {}
        self.outcomes: deque[tuple[int, Outcome]] = deque()
        self.resting: dict[int, float] = {}
        self.stuck: tuple[Status, str] | None = None
        self.exhausted = ""
        self._retries = retries
        self._unread: set[int] = (
            set()
        )  # evaluations that ended normally without a value, seen by this process
        self._missing: set[str] = set()  # outputs without a value that were warned of
        self._raised: set[str] = set()  # kinds of exceptions whose traceback was logged
        self._end = math.inf if rules.max_time is None else time.monotonic() + rules.max_time

    def close(self) -> None:
        """Stop running evaluations, update the displays, and release the journal."""
        try:
            self.crew.close()
        finally:
            self.watchers.close()
            self.optimizer.close()

    def go(self) -> Status:
        """The loop itself: why it stopped."""
        status: Status | None = None  # once set, nothing new is started
        self._adopt()
        while True:
            if _reached(self.optimizer, self.rules.target):
                return Status.TARGET
            status = self._hopeless() if status is None else status
            self._try_again()
            while status is None and len(self.points) < self.crew.capacity:
                status = self._start_one()
            if not self.points:
                assert status is not None
                return status
            self.watchers.wait()
            self._wait()
            if self.watchers.asked_to_stop:
                return Status.CALLBACK
            if time.monotonic() >= self._end:
                return Status.TIME

    def _adopt(self) -> None:
        """Adopt evaluations of an earlier process, running or ended, before any rule to stop applies."""
        crew, history = self.crew, self.optimizer.history
        if not isinstance(crew, AdoptingCrew):
            return
        for proposal in [*self.optimizer.reoffered, *history.given_up.values()]:
            argument = self.optimizer.space.as_argument(proposal.x)
            if crew.holds(proposal.id, argument, history.n_retries(proposal.id)):
                self.optimizer.take_up(proposal.id)
                self.points[proposal.id] = proposal.x
                self._submit(proposal.id)
        self.collect(0.0)

    def collect(self, timeout: float | None) -> None:
        """Wait for evaluations to end, and tell them."""
        if self.points:
            self.outcomes.extend(self.crew.wait(timeout))
        self.tell_all()

    def tell_all(self) -> None:
        """Tell all that has ended."""
        while self.outcomes:
            if self.tell_next():
                self.watchers.look()

    def tell_next(self) -> bool:
        """Tell the first of the outcomes; False if its point is tried again."""
        number, outcome = self.outcomes[0]
        again = self._retries_for(number, outcome)
        evaluation = self._evaluation(number, outcome)
        with uninterrupted():
            if again is not None:
                self.optimizer.note_retry(number, evaluation.reason, outcome.seconds)
                self.resting[number] = time.monotonic() + again.delay
                logger.warning("run %d is retried in %g s: %s", number, again.delay, evaluation.reason)
            else:
                # Of two repeats of a point under way at a time, it says which one has ended.
                noisy = self.optimizer.history.goals.noisy
                self.optimizer.add_evaluations([replace(evaluation, id=number) if noisy else evaluation])
                del self.points[number]
            self.outcomes.popleft()
        if again is None and evaluation.failed:
            self._learn(number, outcome, evaluation.reason or "")
        elif again is None and isinstance(outcome.reason, Mapping):
            self._say_what_is_missing(number, outcome.reason)
        return again is None

    def _say_what_is_missing(self, number: int, reasons: Mapping[str, str]) -> None:
        """Warn once of each output without a value, though no goal needs it."""
        for name in reasons.keys() - self._missing:
            logger.warning("run %d has no value of the output %r: %s", number, name, reasons[name])
        self._missing.update(reasons)

    def _learn(self, number: int, outcome: Outcome, reason: str) -> None:
        """Note a failure that says something about the function rather than about its point."""
        is_unread = outcome.exit_code == 0 and NOT_FINITE not in reason
        if is_unread:
            self._unread.add(number)
        history = self.optimizer.history
        answers = [e for e in history.told if e.id is not None]
        if self.stuck is None and all(self._is_alike(e, reason, is_unread) for e in answers):
            self._give_up_on_all(len(answers), outcome, reason, is_unread)
        if outcome.traceback is not None:
            kind = reason.partition(":")[0]
            if kind not in self._raised:
                logger.warning("the first %s was raised here:\n%s", kind, outcome.traceback.rstrip())
            self._raised.add(kind)

    def _give_up_on_all(self, n: int, outcome: Outcome, reason: str, is_unread: bool) -> None:
        """Check whether the first evaluations all failed in the same way, which is a reason to stop."""
        no_objective = isinstance(outcome.value, Mapping) and self.optimizer.history.goals.objective is None
        if is_unread and (no_objective or reason.startswith(SEVERAL_VALUES)):
            self.stuck = Status.UNREAD, f"{MESSAGES[Status.UNREAD]}: {reason}"
        elif n >= N_ALIKE and self.rules.max_failures is None:
            way = f"{reason}; to allow more failures, set max_failures"
            if is_unread:
                ended = f"the first {n} evaluations ended normally, without a value"
                self.stuck = Status.UNREAD, f"{MESSAGES[Status.UNREAD]}: {ended}: {way}"
            else:
                self.stuck = Status.FAILURES, f"the first {n} evaluations all failed in the same way: {way}"

    def _is_alike(self, evaluation: Evaluation, reason: str, is_unread: bool) -> bool:
        """Whether an evaluation, perhaps of an earlier process, failed for a reason with this beginning."""
        if is_unread and evaluation.id in self._unread:
            return True
        return evaluation.failed and str(evaluation.reason).partition(":")[0] == reason.partition(":")[0]

    def _hopeless(self) -> Status | None:
        """Whether it makes no sense to continue."""
        if self.stuck is not None:
            return self.stuck[0]
        asked = [e for e in self.optimizer.history.evaluations if e.id is not None]
        allowed = self.rules.allows(sum(e.failed for e in asked), len(asked))
        return None if allowed else Status.FAILURES

    def _evaluation(self, number: int, outcome: Outcome) -> Evaluation:
        """Interpret an outcome by the goals of the run."""
        goals = self.optimizer.history.goals
        return Evaluation.of(self.points[number], outcome.value, outcome.reason, outcome.seconds, goals)

    def _retries_for(self, number: int, outcome: Outcome) -> Retries | None:
        """The rule for trying a point again, if it failed for an external reason and has attempts left."""
        retries = self._retries
        history = self.optimizer.history
        if retries is None or number not in history.pending or history.n_retries(number) >= retries.times:
            return None
        return retries if self._evaluation(number, outcome).failed and retries.wants(outcome) else None

    def _start_one(self) -> Status | None:
        """Start the next evaluation, or say why there is none."""
        if self.optimizer.history.n_done + len(self.points) >= self.rules.n_evals:
            return Status.BUDGET
        if not self.optimizer.reoffered and _is_stalled(self.optimizer, self.rules):
            return Status.PATIENCE
        try:
            begun = self.optimizer.history.n_done + len(self.points)
            confirms = begun >= self.rules.n_evals - self.rules.confirm
            proposal = self.optimizer.propose(repeat=confirms)
        except SpaceExhausted as error:
            self.exhausted = str(error)
            return Status.EXHAUSTED
        if proposal.trace is not None and _without_share(self.optimizer, self.rules):
            return Status.NO_SHARE
        self.points[proposal.id] = proposal.x
        self._submit(proposal.id)
        return None

    def _submit(self, number: int) -> None:
        """Submit a point to the crew."""
        argument = self.optimizer.space.as_argument(self.points[number])
        attempt = self.optimizer.history.n_retries(number)
        if attempt:
            self.crew.submit(number, argument, attempt)
        else:  # crews of others need to know of attempts only if there are some
            self.crew.submit(number, argument)

    def _try_again(self) -> None:
        """Restart evaluations whose delay is over."""
        for number in [n for n, due in self.resting.items() if due <= time.monotonic()]:
            self._submit(number)
            del self.resting[number]

    def _wait(self) -> None:
        """Wait until an evaluation ends, is to be tried again, or the time is over."""
        until = min([self._end, *self.resting.values()])
        left = min(max(until - time.monotonic(), 0.0), LONGEST_WAIT)
        if len(self.resting) < len(self.points):
            self.collect(left)
        else:
            time.sleep(left)


def _run(loop: _Loop) -> tuple[Status, str]:
    """Run the loop to its end; if an error ends it, tell the evaluations that have ended."""
    try:
        return _run_to_its_end(loop)
    except KeyboardInterrupt:  # one more, while the first was handled
        with held_back([]):
            left = _leave(loop, "interrupted again")
            loop.tell_all()
        return Status.INTERRUPTED, _ending(loop, Status.INTERRUPTED, "", left)
    except BaseException:  # of the callback, a full disk, or a journal that goes on in a rescue file
        with contextlib.suppress(Exception):
            while loop.outcomes:
                loop.tell_next()
        raise


def _run_to_its_end(loop: _Loop) -> tuple[Status, str]:
    """Run the loop and deal with evaluations in progress at its end; return its status and message."""
    detail = ""
    left: list[int] = []
    try:
        status = loop.go()
    except Terminated:
        status = Status.INTERRUPTED
        left = _leave(loop, "terminated by a signal")
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        left = _drain(loop, "interrupted")
    except WorkersError as error:
        status, detail = Status.WORKERS, f": {error}"
        left = _drain(loop, str(error))
    with contextlib.suppress(KeyboardInterrupt, WorkersError):
        loop.tell_all()
        loop.collect(0.0)  # what has ended in the meantime
    return status, _ending(loop, status, detail, left)


def _ending(loop: _Loop, status: Status, detail: str, left: list[int]) -> str:
    """Why the run stopped, in words."""
    if left:
        detail += f"; programs still running, adopted by the next start: {_listed(left)}"
    if status == Status.FAILURES and loop.stuck is None:
        failed = [e for e in loop.optimizer.history.evaluations if e.failed]
        detail = f": {len(failed)}, the last one because: {failed[-1].reason}{detail}"
    given_up = set(loop.points) - set(left) - set(loop.resting)
    if given_up:
        detail += f"; evaluations in progress, abandoned: {len(given_up)}"
    values = {name: plain(value) for name, value in vars(loop.rules).items()}
    message = MESSAGES[status].format(**values, by=loop.rules.by, exhausted=loop.exhausted)
    if loop.stuck is not None and loop.stuck[0] == status:
        message = loop.stuck[1]
    return message + detail


def _drain(loop: _Loop, why: str) -> list[int]:
    """Start nothing new and wait for running programs; return the numbers of those that an interrupt leaves running."""
    crew = loop.crew
    if not isinstance(crew, LeavingCrew) or not crew.under_way:
        return []
    try:
        logger.warning(
            "%s: no new runs are started; waiting for those in progress: %s (another interrupt leaves them running)",
            why,
            _listed(crew.under_way),
        )
        loop.tell_all()
        while crew.under_way:
            with contextlib.suppress(WorkersError):  # said already
                loop.collect(LONGEST_WAIT)
    except KeyboardInterrupt:
        return _leave(loop, "interrupted again")
    return []


def _leave(loop: _Loop, why: str) -> list[int]:
    """Leave programs running, if there is a journal by which they can be found again; return their numbers."""
    if not isinstance(loop.crew, LeavingCrew) or loop.optimizer.journal is None:
        return []
    left = loop.crew.leave()
    if left:
        logger.warning("%s: left running, and adopted by the next start: %s", why, _listed(left))
    return left


def _listed(numbers: list[int]) -> str:
    """Numbers of runs, in words."""
    return f"run{'s' if len(numbers) > 1 else ''} {', '.join(map(str, sorted(numbers)))}"


class _Watchers:
    """The observers: the user's callback, which may ask to stop, the progress line, and the report."""

    def __init__(
        self,
        optimizer: Optimizer,
        callback: Callable[[Result], object] | None,
        progress: bool,
        n_evals: int,
        reporter: Reporter | None,
        capacity: int,
    ) -> None:
        self._optimizer, self._callback, self._reporter = optimizer, callback, reporter
        self._n_evals, self._capacity = n_evals, capacity
        self.asked_to_stop = False
        self.message = "an error ended the run"  # unless it ends otherwise
        self._line: ProgressLine | NotebookBar | None = None
        if progress:
            value = "value that satisfies all constraints" if optimizer.history.goals.limits else "value"
            first_line = f"parameters   {described_kinds(optimizer.space)}"
            self._line = progress_of(n_evals, f"no {value} yet", first_line)
            if optimizer.history.evaluations:  # of a resumed run
                self._show_progress()

    def look(self) -> None:
        """Show the state after an evaluation."""
        self._show_progress()
        if self._callback is not None and not self.asked_to_stop:
            result = self._optimizer.result()
            result.nfev = self._optimizer.history.n_done  # as in the end: without what was evaluated before
            try:
                answer = self._callback(result)
                self.asked_to_stop = isinstance(answer, bool | np.bool_) and bool(answer)
            except StopIteration:
                self.asked_to_stop = True

    def _show_progress(self) -> None:
        if self._line is not None:
            history = self._optimizer.history
            best: float | str | None = None if history.best is None else history.best.y
            if history.best is not None and (predicted := self._optimizer.predicted_best) is not None:
                best = f"best {predicted:.6g} predicted, {history.best.y:.6g} observed"
            if len(history.data.front) and history.goals.has_several:
                best = f"{len(history.data.front)} on the front"
            left = seconds_left(history, self._n_evals, self._capacity)
            self._line.show(history.n_done, best, len(history.data.failures), left)

    def wait(self) -> None:
        """Evaluations are in progress, and there is time until one ends."""
        if self._reporter is not None:
            self._reporter.waiting()

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        if self._reporter is not None:
            self._reporter.close(self.message)


def _check_report(path: str | os.PathLike[str]) -> None:
    from tcgp.report import check_place  # only here: it loads the scores

    check_place(check_path("report", path))


def _reporter(path: str | os.PathLike[str], optimizer: Optimizer, n_evals: int) -> Reporter:
    from tcgp.report import Reporter

    return Reporter(path, optimizer, n_evals)


def _reached(optimizer: Optimizer, target: float | Mapping[str, float] | None) -> bool:
    if target is None:
        return False
    models, objectives = optimizer.smoothed, optimizer.history.goals.objectives
    data = optimizer.history.data if models is None else models.cautious  # a lucky value reaches nothing
    wanted = target if isinstance(target, Mapping) else {objectives[0].text: target}
    ends = [q.turned(wanted.get(q.text, q.sign * math.inf)) for q in objectives]
    return bool((data.Y[data.feasible, : len(ends)] <= ends).all(axis=1).any())


def _without_share(optimizer: Optimizer, rules: StopRules) -> bool:
    """Whether the share that promises an improvement is below the limit, for every member of a portfolio in turn."""
    limit, turns = rules.stop_when_share_below, len(turns_of(optimizer.surrogates[0].method))
    return limit is not None and shares_below(optimizer.trace, limit, turns)


def _is_stalled(optimizer: Optimizer, rules: StopRules) -> bool:
    """Whether the best value has not improved for ``patience`` evaluations."""
    if rules.patience is None:
        return False
    models = optimizer.smoothed
    data = optimizer.history.data if models is None else models.data
    return n_without_improvement(optimizer.history, rules.improvement, data) >= rules.patience
