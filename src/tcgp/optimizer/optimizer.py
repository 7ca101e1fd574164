"""Bayesian optimization by ask and tell: the paper's Algorithm 1, one point at a time."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp import __version__
from tcgp._arrays import is_table
from tcgp._text import plain, with_hints
from tcgp._typing import RandomState
from tcgp.goals import NOT_FINITE, Noise, describe_point, parameter_names
from tcgp.optimizer.view import RunView, atomic
from tcgp.record.computing import computing, say_what_differs
from tcgp.record.events import Asked, Corrected, Enqueued, Event, GoalsChanged, Retry, SpaceChanged
from tcgp.record.file import check_not_rescued
from tcgp.record.history import Evaluation, History, Proposal, SpaceExhausted
from tcgp.record.journal import (
    DetachedJournal,
    Journal,
    JournalError,
    JournalRescued,
    check_path,
    uninterrupted,
)
from tcgp.record.replay import Campaign, read_campaign, replay
from tcgp.record.settings import (
    Settings,
    check_maximizer,
    check_positive_integer,
    split_constraints,
    wanted_outputs,
)
from tcgp.record.streams import Streams
from tcgp.region import Region
from tcgp.search.proposer import Proposer
from tcgp.space import Space

if TYPE_CHECKING:
    from tcgp.optimizer.result import Result

__all__ = ["Optimizer"]

logger = logging.getLogger("tcgp")


class Optimizer(RunView):
    """Bayesian optimization of an expensive function, by ask and tell.

    Algorithm 1 of the paper: after an initial design, each point maximizes the criterion of a model fitted to
    all evaluations so far. You may ask for points while others are being evaluated: for these the model assumes
    its own prediction, or the best value so far if that is larger (a sceptical "kriging believer").

    Threads may share an optimizer: each call is atomic. A copied or unpickled optimizer has no journal; if the
    original has one, the copy refuses to ask and tell.

    Parameters
    ----------
    space : Space, or any argument of `Space`
        The parameters: a sequence of ``(low, high)`` pairs, of `Real`, `Integer` and `Categorical`, or a
        mapping from names to these.
    method : str
        Predictive model; see `tcgp.fit_model`. ``"auto"`` lets several take turns: tcGP, the relaxed GP (reGP) and a
        smoothing GP, all with pooled lengthscales (``selection="pooled"``); and tcGP with free lengthscales, or with
        the additive covariance if that is likelier. The first has a rotated covariance if that is far likelier. It and
        the smoothing GP see values above the median on a logarithmic scale. A model keeps its turn while its
        proposals improve the best value by a thousandth of its distance to the median. Those that interpolate pass
        their turn to one that predicts left-out low values twice as well, or to the additive or rotated one where the
        data leave no doubt. ``"tcgp"`` is the paper's method, and with ``options={"as_published": True}`` it is so to
        the letter.
    criterion : {"ei", "lcb"}
        Expected improvement, or the lower confidence bound of level ``epsilon``.
    objective : str or list of str, optional
        Name of the output to minimize, if the function has several, or an expression of outputs and parameters such as
        ``"mass + 3 * deflection"``. Evaluations are then mappings of outputs. Two to four of them in a list are
        minimized together: the result has a front of compromises in the place of a best point.
    constraints : str, or sequence of str, callables and SciPy constraints
        ``"stress <= 250"`` is about an output, and learned along the run; ``"width <= 0.5 * height"`` is about
        parameters alone (``x0``, ``x1``, ... where they have no names), and no point that violates it is proposed. So
        are SciPy's ``LinearConstraint`` and ``NonlinearConstraint``, and a callable that takes a point and returns
        whether it is allowed; these are not journaled, and must be given again to `resume`.
    maximize : bool, str or list of str
        Whether to maximize; or what to maximize. With several objectives, those that are to be maximized: they need not
        be in ``objective``, too.
    n_initial : int, optional
        Size of the initial design; by default two more than parameters with ``"auto"``, 10 per parameter with
        other methods, fixed ones aside. All reported points count, including failures.
    rng : int, numpy.random.Generator or None
        Source of all randomness. None draws a seed, which the journal keeps.
    maximizer : {"multistart", "smc"}, optional
        How the criterion is maximized: gradient search from many starts, or the paper's SMC + SLSQP, which knows no
        constraints on parameters. The first by default, the second with ``options={"as_published": True}``.
    journal : str or os.PathLike, optional
        File that records every ask and tell; it must not exist. `resume` continues from it.
    initial_design : {"uniform", "lhs", "sobol", "centre"}, optional
        Kind of initial design: by default uniform, as in the paper, and with ``"auto"`` the centre followed by Sobol'
        points. The first point that is reported before it takes the place of the centre.
    epsilon : float
        Level of the lower confidence bound.
    options : mapping, optional
        Options of the method, such as ``{"delta": 0.1}``; see `tcgp.fit_model`.
    reference : mapping, optional
        Of several objectives, or some of them, values beyond which a point is of no use, ``{"mass": 40.0}``. By
        default a tenth of the front's range beyond its worst value.
    noise : bool, float or mapping
        Whether evaluations are noisy. False: they are exact. True: with normal noise, whose standard deviation is
        learned. A number: the known standard deviation. A mapping from outputs to these, if there are several; an
        output that it does not mention is exact. An evaluation may have its own: see `tell`, or return it as an output
        ``"mass_sd"`` beside ``"mass"``. A point may then be evaluated more than once, and `result` predicts the value
        without noise.

    Attributes
    ----------
    space : Space
    settings : Settings
    history : History
        Every proposal and every evaluation.
    campaign : str or None
        Unique mark of the run, by which its programs are recognized. None for a journal of an earlier version.

    Examples
    --------
    >>> import tcgp
    >>> optimizer = tcgp.Optimizer([(-2.0, 2.0)], n_initial=4, rng=0)
    >>> for _ in range(10):
    ...     x = optimizer.ask()
    ...     optimizer.tell(x, (x[0] - 1.0) ** 2)
    >>> bool(optimizer.result().fun < 1e-3)
    True
    """

    @with_hints
    def __init__(
        self,
        space: object,
        *,
        method: str = "auto",
        objective: str | Sequence[str] | None = None,
        constraints: object = (),
        maximize: bool | str | Sequence[str] = False,
        criterion: str = "ei",
        n_initial: int | None = None,
        rng: RandomState = None,
        maximizer: str | None = None,
        journal: str | os.PathLike[str] | None = None,
        initial_design: str | None = None,
        epsilon: float = 0.1,
        options: Mapping[str, Any] | None = None,
        reference: Mapping[str, float] | None = None,
        noise: Noise = False,
    ) -> None:
        parameters = Space(space)
        settings, others = Settings.given(
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
        history = History(parameters, settings.completed(parameters))
        check_maximizer(settings.maximizer, [*others, *history.goals.known])
        self._begin(Streams.of(rng), history, others)
        if journal is not None:
            self.region.check_not_empty()  # before a file is written
            self._start_journal(journal)

    def _begin(self, streams: Streams, history: History, constraints: Sequence[Any]) -> None:
        self.history, self._streams = history, streams
        self._constraints = list(constraints)  # those not given as text
        self._use(self._new_proposer(history.space, history.settings))
        self.campaign: str | None = uuid.uuid4().hex
        self._n_missing = 0  # constraints that a journal has not kept
        self._journal: Journal | DetachedJournal | None = None
        self._again: deque[int] = deque()  # proposals to offer again, while they are pending
        self.lock = threading.RLock()

    def _new_proposer(self, space: Space, settings: Settings) -> Proposer:
        """The proposer for a space; ValueError for constraints that do not fit it."""
        region = Region(space, [*settings.goals(space).known, *self._constraints])
        return Proposer(settings, self.history, self._streams, region)

    def _use(self, proposer: Proposer) -> None:
        self._proposer = proposer
        self.history.restrict(proposer.region)

    @classmethod
    def resume(
        cls,
        journal: str | os.PathLike[str],
        *,
        reoffer: bool = True,
        constraints: object = (),
        space: object = None,
    ) -> Optimizer:
        """Continue the run in a journal, exactly as if it had not been interrupted.

        With other versions of NumPy and SciPy, or on another kind of processor, rounding differs, and so may the next
        points: a warning says so.

        Parameters
        ----------
        journal : str or os.PathLike
        reoffer : bool
            Whether `ask` first offers again the points that were asked and never told, in order. False leaves
            them pending, for evaluations that still run elsewhere.
        constraints : sequence
            The constraints of the run that are not given as text, which a journal cannot keep.
        space : Space, or what `Space` takes, optional
            Other bounds, or fixed values, for the same parameters: see `change_space`.

        Returns
        -------
        Optimizer
        """
        if not os.path.exists(check_path("journal", journal)):
            raise JournalError(f"there is no journal {str(journal)!r} to resume")
        opened = Journal(journal)
        try:
            if opened.record is None:
                raise JournalError(f"the journal {str(journal)!r} is empty: there is nothing to resume")
            campaign, others = replay(opened.record, str(journal)), split_constraints(constraints)[1]
            if len(others) != _constraints_not_kept(campaign):
                raise _not_kept(_constraints_not_kept(campaign), f", got {len(others)}")
            say_what_differs(campaign.header, journal)
            optimizer = cls.of(campaign, others)
            optimizer._journal = opened
            if reoffer:
                optimizer._again.extend([*optimizer.history.pending, *optimizer.history.given_up])
            if space is not None:
                optimizer.change_space(space)
        except BaseException:
            opened.close()
            raise
        return optimizer

    @classmethod
    def read(cls, journal: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that a journal records, read-only, also while another process writes to it.

        It has no journal: what it is told is not recorded. Constraints not given as text are not in the journal; the
        optimizer then works without them, and refuses to ask.
        """
        campaign = read_campaign(journal)
        optimizer = cls.of(campaign, [])
        optimizer._n_missing = _constraints_not_kept(campaign)
        return optimizer

    @classmethod
    def of(cls, campaign: Campaign, constraints: Sequence[Any] = ()) -> Optimizer:
        """The optimizer of a campaign that was read, without its journal."""
        optimizer = cls.__new__(cls)
        optimizer._begin(Streams(campaign.seed), campaign.history, constraints)
        optimizer.campaign = campaign.header.get("campaign")
        return optimizer

    # ---- asking and telling ----

    @atomic
    def ask(self, n: int | None = None) -> Any:
        """Next point to evaluate, or a list of the next ``n``.

        Points asked and not yet told are pending: they are accounted for, and never offered again.

        Parameters
        ----------
        n : int, optional

        Returns
        -------
        dict or list
            One point: a mapping if the parameters have names, else a list with one value per parameter; or, with
            ``n``, a list of points, shorter than ``n`` only if a finite space has fewer left.

        Raises
        ------
        SpaceExhausted
            If every point of a finite space has been asked or told.
        """
        if n is None:
            return self.space.as_named(self.propose().x)
        check_positive_integer("n", n)
        proposals = [self.propose()]
        try:
            while len(proposals) < n:
                proposals.append(self.propose())
        except SpaceExhausted as error:
            logger.info("only %d of %d points: %s", len(proposals), n, error)
        except BaseException:  # nobody has been given them: the next call offers them again
            self._again.extendleft(proposal.id for proposal in reversed(proposals))
            raise
        return [self.space.as_named(proposal.x) for proposal in proposals]

    @atomic
    def propose(self, *, repeat: bool = False) -> Proposal:
        """Next point to evaluate, with its number and origin.

        With ``repeat``, and with noise, it is the evaluated point that is most worth evaluating again.
        """
        self._check_open()
        if self._n_missing:
            raise _not_kept(self._n_missing)
        if not self.reoffered:
            proposal = self._proposer.propose(repeat=repeat)
            self._happen(Asked(proposal), then=lambda: self._offer(proposal))
        first = self.reoffered[0]
        self.take_up(first.id)
        return first

    def _offer(self, proposal: Proposal) -> None:
        """Keep a new proposal for the next call of `ask`."""
        if proposal.fit is not None:
            self._proposer.acquisition.remember(proposal.fit)
        self._again.append(proposal.id)

    @property
    def reoffered(self) -> list[Proposal]:
        """Points asked before the run was resumed and never told, which `ask` offers first."""
        pending = self.history.pending
        return [pending[number] for number in self._again if number in pending]

    @atomic
    def take_up(self, number: int) -> None:
        """Stop offering the proposal with this number: its evaluation continues, or has ended."""
        self._again = deque(again for again in self._again if again != number)

    @atomic
    def enqueue(self, x: object) -> None:
        """Have `ask` offer the point ``x`` before any of its own, unless it is known already."""
        point = self.space.check(x)
        self.region.check(point)
        self._check_open()
        if tuple(point) in self.history.queue:
            return
        if not self.history.is_new(point):
            self._proposer.say_left_out(point)
        else:
            self._happen(Enqueued(tuple(point)))

    @atomic
    def tell(
        self,
        x: object,
        y: object,
        *,
        reason: str | Mapping[str, str] | None = None,
        seconds: float | None = None,
        sd: object = None,
    ) -> None:
        """Report the value of the function at a point, or at several.

        Any point of the space may be told, asked or not. Telling the same again is ignored; another value for
        the same point is refused, because evaluations are exact: `correct` takes it. Of several points, all are
        recorded or none.

        With ``noise`` another value for the same point is one more evaluation. So is the same value if it was asked
        for, or stands in one call twice.

        Parameters
        ----------
        x : point, or list of points
        y : float or mapping, or list of them
            The value, or all outputs by name if ``objective`` names one. NaN, an infinity or None means that the
            evaluation failed: the point stays in the history, out of the model and out of the best.
        reason : str or mapping, optional
            Why an evaluation failed; or, by their names, why outputs have no value.
        seconds : float, optional
            How long each evaluation took; only for the report.
        sd : float or mapping, or list of them
            Standard deviation of the noise in the value, or by the names of outputs, where it is known of this
            evaluation.
        """
        pairs = _pairs(x, y)
        is_common = isinstance(sd, Mapping) or not isinstance(sd, Iterable)
        deviations = [sd] * len(pairs) if is_common else list(sd)  # type: ignore[call-overload]
        if len(deviations) != len(pairs):
            raise ValueError(f"sd must be one for each of {len(pairs)} points, got {len(deviations)}")
        self.add_evaluations(
            Evaluation.of(self.history.check_told(point), value, reason, seconds, self.history.goals, own)
            for (point, value), own in zip(pairs, deviations, strict=True)
        )

    @atomic
    def add_evaluations(self, evaluations: Iterable[Evaluation]) -> int:
        """Record evaluations at checked points, all or none; `tell` after its checks.

        Returns
        -------
        int
            How many of them were new.
        """
        told = list(evaluations)
        self._check_open()
        new = self.history.settle_all(told)
        self._happen(*new)
        _warn_of_failures((event.evaluation for event in new), self.space)
        return len(new)

    @atomic
    def note_retry(self, number: int, reason: str | None, seconds: float | None = None) -> None:
        """Record that an evaluation of a proposal failed and is retried: it stays or becomes pending.

        Parameters
        ----------
        number : int
            Of the proposal.
        reason : str or None
            Why the attempt failed.
        seconds : float, optional
            How long it took.
        """
        self._check_open()
        self._happen(self.history.settle(Retry(number, reason, seconds)))

    @atomic
    def correct(
        self,
        x_or_id: object,
        y: object,
        *,
        reason: str | Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Correct the report at a point: another value, a value instead of a failure, the reverse, or details.

        The journal and ``history.corrections`` keep the earlier report. The model is fitted afresh.

        Parameters
        ----------
        x_or_id : point or int
            A point that was told; or, as an integer, the number of its proposal.
        y : float or mapping
            As in `tell`, but outputs that are missing or not numbers are refused: a failure is None, or has a reason.
        reason : str or mapping, optional
            As in `tell`; by default, with None for y, what was told.
        seconds : float, optional
            How long the evaluation took; by default what was told.

        Examples
        --------
        >>> import tcgp
        >>> optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
        >>> optimizer.tell([0.5], 210.0)
        >>> optimizer.correct([0.5], 2.1)
        >>> optimizer.result().fun, [c.before.y for c in optimizer.history.corrections]
        (2.1, [210.0])
        """
        before = self.history.to_correct(x_or_id)
        took = before.seconds if seconds is None else seconds
        why = before.reason if y is None and reason is None else reason
        after = replace(Evaluation.of(before.x, y, why, took, self.history.goals), id=before.id)
        if after.failed and y is not None and not reason and NOT_FINITE not in str(after.reason):
            outputs = list(self.history.goals.outputs)
            wanted = f"a mapping with the outputs {outputs!r}" if outputs else "a number"
            raise ValueError(f"y must be {wanted}, or None for a failure, got {plain(y)}: {after.reason}")
        self._check_open()
        self._happen(self.history.settle(Corrected(after)), then=self._proposer.forget_models)

    @atomic
    def change_space(self, space: object) -> None:
        """Search another space of the same parameters: wider or narrower bounds, or fixed values.

        Evaluations inside the new space stay in use. Those outside are kept in ``history.outside`` and come back if
        the space is widened again. So do points outside that were enqueued. Pending points outside are given up: they
        are not offered again, but their values are accepted. The journal keeps the change.

        Parameters
        ----------
        space : Space, or what `Space` takes
            With the same names, or the same number of parameters.

        Examples
        --------
        >>> import tcgp
        >>> optimizer = tcgp.Optimizer({"width": (0.0, 1.0)}, rng=0)
        >>> optimizer.tell([[0.25], [0.75]], [2.0, 1.0])
        >>> optimizer.change_space({"width": (0.0, 0.5)})
        >>> optimizer.result().x, len(optimizer.history.outside)
        ({'width': 0.25}, 1)
        """
        new = Space(space)
        if new == self.space:
            return
        self._check_open()
        event, before = self.history.settle(SpaceChanged(new)), self.space
        self._change(event, self._new_proposer(new, self.settings))
        n, n_outside = len(self.evaluations), len(self.history.outside)
        logger.warning(
            "the space has changed: %s; of %d evaluations %d lie inside and are used, the others are kept",
            *(_changes(before, new), n + n_outside, n),
        )
        if left_out := self.history.queue_outside:
            logger.warning(
                "enqueued points lie outside, and wait for wider bounds: %s",
                plain(list(map(list, left_out))),
            )

    @atomic
    def change_goals(
        self,
        *,
        objective: str | Sequence[str] | None = None,
        constraints: object = None,
        maximize: bool | str | Sequence[str] | None = None,
        reference: Mapping[str, float] | None = None,
        n_initial: int | None = None,
        noise: Noise | None = None,
    ) -> None:
        """Change the goals: the objective, the constraints, the size of the initial design, or noise.

        Arguments that are None change nothing. Evaluations are read again from all recorded outputs; one that
        lacks an output counts as failed until the goals do not need it. Pending points that new constraints on
        parameters rule out are given up: they are not offered again, but their values are accepted. The journal keeps
        the change.

        Parameters
        ----------
        objective : str or list of str, optional
        constraints : str or sequence of str, optional
            They replace all that were given as text; the others stay.
        maximize : bool, str or list of str, optional
            As in `Optimizer`.
        reference : mapping, optional
            As in `Optimizer`; not kept for other objectives.
        n_initial : int, optional
            Can be changed during the initial design.
        noise : bool, float or mapping, optional
            As in `Optimizer`: a run with supposedly exact evaluations can be continued as a noisy one.

        Examples
        --------
        >>> import tcgp
        >>> optimizer = tcgp.Optimizer({"width": (0.0, 1.0)}, objective="mass", rng=0)
        >>> optimizer.tell([[0.25], [0.75]], [{"mass": 1.0, "stress": 9.0}, {"mass": 2.0, "stress": 3.0}])
        >>> optimizer.change_goals(constraints="stress <= 5")
        >>> optimizer.result().fun
        2.0
        """
        before = self.settings
        if objective is None and (maximize is None or isinstance(maximize, bool)):
            objective, reference = before.objective, before.reference if reference is None else reference
        goals = wanted_outputs(objective, before.maximize if maximize is None else maximize, reference)
        texts, others = split_constraints(before.constraints if constraints is None else constraints)
        if others:
            raise ValueError(f"constraints must be strings such as 'stress <= 250', got {plain(others[0])}")
        goals["noise"] = before.noise if noise is None else noise
        self.take_goals(replace(before, **goals, constraints=texts, n_initial=n_initial))

    @atomic
    def take_goals(self, wanted: Settings) -> None:
        """Take the goals of other settings: `change_goals` for all at once; only a missing ``n_initial`` is kept."""
        self._check_open()
        before = self.settings
        goals = {**wanted.goals_given, "n_initial": wanted.n_initial or before.n_initial}
        event = self.history.settle(GoalsChanged(**goals))
        if event is None:
            return
        settings = replace(before, **goals)
        check_maximizer(settings.maximizer, [*self._constraints, *settings.goals(self.space).known])
        why = self.unreadable(settings)
        if why is not None:
            raise ValueError(f"no evaluation has a value for these goals: {why}")
        self._change(event, self._new_proposer(self.space, settings))
        data, changed = self.history.data, {n: new for n, new in goals.items() if new != getattr(before, n)}
        logger.warning(
            "the goals have changed: %s; of %d evaluations %d have a value, and %d of them satisfy all constraints",
            "; ".join(f"{n} was {plain(getattr(before, n))} and is now {plain(changed[n])}" for n in changed),
            *(len(data.Y), data.succeeded.sum(), data.feasible.sum()),
        )

    def unreadable(self, settings: Settings) -> str | None:
        """Why no evaluation would have a value for other goals, if some have one now; None if that is not so."""
        done, goals = [e for e in self.evaluations if not e.failed], settings.goals(self.space)
        reasons = [evaluation.under(goals).reason for evaluation in done]
        return reasons[0] if reasons and all(reasons) else None

    def _change(self, event: Event | None, proposer: Proposer) -> None:
        """Apply an event after which another proposer chooses."""
        proposer.region.check_not_empty()
        proposer.continue_from(self._proposer)
        self._happen(event, then=lambda: self._use(proposer))

    @atomic
    def result(self) -> Result:
        """The result so far, as `tcgp.minimize` returns it."""
        from tcgp.optimizer.result import Result  # loads SciPy

        return Result.of(self)

    def trace_share_below(self, improvement: float) -> None:
        """From here on, add ``share`` to the trace of each point, as in `share_below`."""
        self._proposer.improvement = improvement

    @property
    def journal(self) -> Path | None:
        """The file that keeps every ask and tell."""
        return None if self._journal is None else self._journal.path

    def hold(self) -> None:
        """Keep the journal from being taken over in this process until it is closed: a run is using it."""
        if self._journal is not None:
            self._journal.hold()

    def close(self) -> None:
        """Release the journal; nothing can be asked or told afterwards."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # ---- the books ----

    def _happen(self, *events: Event | None, then: Callable[[], object] = lambda: None) -> None:
        """Write events to the journal and apply them, or neither; None stands for an event without news."""
        new = [event for event in events if event is not None]
        if not new:
            return
        rescued: JournalRescued | None = None
        with uninterrupted():
            if self._journal is not None:
                try:
                    self._journal.append(*(event.to_json() for event in new))
                except JournalRescued as error:  # they are on disk, though not where they should be
                    rescued = error
            for event in new:
                self.history.apply(event)
            then()
        if rescued is not None:
            raise rescued

    def _check_open(self) -> None:
        if self._journal is not None:
            self._journal.check_open()

    def _start_journal(self, path: str | os.PathLike[str]) -> None:
        journal = _new_journal(path)
        header = {"space": self.space.to_json(), "settings": self.settings.to_json(), "seed": self.seed}
        header |= {"campaign": self.campaign, "computing": computing()}
        if self._constraints:
            header["constraints_not_kept"] = len(self._constraints)
        journal.start({"software": f"tcgp {__version__}", **header})
        self._journal = journal


def _new_journal(path: str | os.PathLike[str]) -> Journal:
    """A journal without a record yet."""
    if not os.path.exists(check_path("journal", path)) or not os.path.getsize(path):
        check_not_rescued(path)
    journal = Journal(path)
    if journal.record is not None:
        journal.close()
        raise JournalError(
            f"the journal {str(path)!r} exists already; continue it with tcgp.Optimizer.resume, "
            "or choose another file"
        )
    return journal


def _constraints_not_kept(campaign: Campaign) -> int:
    """Number of the constraints of a run that are not given as text."""
    return int(campaign.header.get("constraints_not_kept", 0))


def _not_kept(n: int, end: str = "") -> JournalError:
    return JournalError(
        f"the run has {n} constraints not given as text, which its journal cannot keep: give them to "
        f"tcgp.Optimizer.resume(journal, constraints=[...]){end}"
    )


def _is_batch(x: object) -> bool:
    """Whether ``x`` is a list of points rather than one point."""
    if isinstance(x, np.ndarray):
        return x.ndim == 2
    if not isinstance(x, list | tuple) or not x:
        return False
    return all(
        isinstance(item, list | tuple | Mapping) or (isinstance(item, np.ndarray) and item.ndim > 0)
        for item in x
    )


def _pairs(x: object, y: object) -> list[tuple[Any, Any]]:
    """Points and their values, of one point or of several."""
    if not _is_batch(x):
        return [(x, y)]
    if is_table(y):
        y = y.to_dict("records")  # outputs by name
    if isinstance(y, str | bytes | Mapping) or not isinstance(y, Iterable):
        raise ValueError(f"y must be a list of values, one for each point, got {plain(y)}")
    points, values = list(x), list(y)  # type: ignore[call-overload]
    if len(points) != len(values):
        raise ValueError(f"x and y must have equal lengths, got {len(points)} and {len(values)}")
    return list(zip(points, values, strict=True))


def _warn_of_failures(evaluations: Iterable[Evaluation], space: Space) -> None:
    for evaluation in evaluations:
        if evaluation.failed:
            which = "the evaluation at" if evaluation.id is None else f"run {evaluation.id} at"
            point = describe_point(space, evaluation.x)
            extra = {"failed_evaluation": evaluation}
            logger.warning("%s %s failed: %s", which, point, evaluation.reason, extra=extra)


def _changes(before: Space, after: Space) -> str:
    """The parameters that differ between two spaces, in words."""
    changes = zip(parameter_names(after), before.dimensions, after.dimensions, strict=True)
    return "; ".join(f"{name} was {old} and is now {now}" for name, old, now in changes if old != now)
