"""Bayesian optimization by ask and tell: the paper's Algorithm 1, one point at a time."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import math
import numbers
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcgp import __version__
from tcgp._typing import FloatArray, RandomState
from tcgp.design import DESIGNS, default_size, initial_design
from tcgp.history import Evaluation, History, Proposal
from tcgp.journal import Journal, JournalError, Record, uninterrupted
from tcgp.space import Point, Space

if TYPE_CHECKING:
    from tcgp.maximize.criterion import Criterion, Maximum
    from tcgp.models import Member, Model
    from tcgp.result import Result

__all__ = ["Optimizer", "Settings", "SpaceExhausted", "check_positive_integer"]

logger = logging.getLogger("tcgp")

# Random decisions draw from streams keyed by what they decide, never from one running stream: that is what
# makes a resumed run repeat an uninterrupted one bit for bit.
DESIGN, FIT, SEARCH, SPREAD, INERT = range(5)

# Values that stand in for those not known are at least these quantiles of the values known. With 0 for a pending
# point the model believes its prediction, but no improvement: compared in benchmarks/efficiency/parallel.py. For
# failures see benchmarks/reliability/failures.py: with the median fewer evaluations fail, but minima beside the failing
# region are missed.
PENDING_LEVEL, FAILED_LEVEL = 0.0, 0.25

SOURCES = ("design", "criterion", "exploration", "given")

# No point is chosen nearer than this, in every coordinate of the unit cube, to one that is known. Within a tight
# cluster of data the predicted variance is what rounding leaves of it, and its criterion noise: a run that has
# found a local minimum would spend its budget there.
SPACING = 1e-5

N_SPREAD = 1000  # random points among which the one farthest from all others is taken


class SpaceExhausted(RuntimeError):
    """Every point of the space has been evaluated or is being evaluated."""


@dataclass(frozen=True)
class Settings:
    """How a run is made, apart from its space and its seed; journaled, and checked on resume."""

    method: str = "auto"
    criterion: str = "ei"
    n_initial: int = 10
    initial_design: str = "uniform"
    maximizer: str = "multistart"
    epsilon: float = 0.1
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from tcgp.models import METHODS

        _check_choice("method", self.method, METHODS)
        _check_choice("criterion", self.criterion, ("ei", "lcb"))
        _check_choice("initial_design", self.initial_design, DESIGNS)
        _check_choice("maximizer", self.maximizer, ("multistart", "smc"))
        check_positive_integer("n_initial", self.n_initial)
        if not 0.0 < self.epsilon < 1.0:
            raise ValueError(f"epsilon must lie strictly between 0 and 1, got {self.epsilon!r}")
        for name in self.options:
            _check_choice(f"an option of method {self.method!r}", name, METHODS[self.method].options)
        try:
            json.dumps(self.options, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(f"options must be numbers, strings and None, got {self.options!r}") from None


class Optimizer:
    """Bayesian optimization of an expensive, deterministic function, by ask and tell.

    Algorithm 1 of the paper: after an initial design, each point maximizes the criterion of a model fitted to
    all evaluations so far. Evaluations may be under way while others are asked for: the model then takes its
    own prediction for their outcome, or the best value so far if that is larger (a sceptical "kriging
    believer").

    Parameters
    ----------
    space : Space, or what `Space` takes
        The parameters: a sequence of ``(low, high)`` pairs, of `Real`, `Integer` and `Categorical`, or a
        mapping from names to these.
    method : str
        Predictive model; see `tcgp.fit_model`. ``"auto"`` lets three take turns: tcGP, the relaxed GP (reGP) and a GP
        that smooths, all with lengthscales that are alike unless the data say otherwise (``selection="pooled"``); tcGP
        and the GP that smooths see values above the median on a logarithmic scale. A model keeps its turn while its
        proposals improve on the best value, by a thousandth of its distance to the median; tcGP or reGP leaves it to
        the other if that one predicts left-out low values twice as well. ``"tcgp"`` is the paper's method.
    criterion : {"ei", "lcb"}
        Expected improvement, or the lower confidence bound of level ``epsilon``.
    n_initial : int, optional
        Size of the initial design; by default 10 per parameter, 4 with ``"auto"``. Points told count, and so do
        failures.
    rng : int, numpy.random.Generator or None
        Source of all randomness. None draws a seed, which the journal keeps.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized: gradient search from many starts, or the paper's SMC + SLSQP.
    journal : str or os.PathLike, optional
        File in which every ask and tell is kept; it must not exist. `resume` continues from it.
    initial_design : {"uniform", "lhs", "sobol"}
        Kind of initial design; uniform is the paper's.
    epsilon : float
        Level of the lower confidence bound.
    options : mapping, optional
        Options of the method, such as ``{"delta": 0.1}``; see `tcgp.fit_model`.

    Attributes
    ----------
    space : Space
    settings : Settings
    trace : list of dict
        For each point that a model chose: the ``method`` behind it (of a portfolio, the member whose turn it
        was), ``n`` (evaluations at that time), ``beta`` and ``scale`` of a generalized normal law,
        ``threshold``, ``best``, ``log_ei`` at the point, and the seconds ``t_fit`` and ``t_maximize``; None where a
        number does not exist.

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

    def __init__(
        self,
        space: object,
        *,
        method: str = "auto",
        criterion: str = "ei",
        n_initial: int | None = None,
        rng: RandomState = None,
        maximizer: str = "multistart",
        journal: str | os.PathLike[str] | None = None,
        initial_design: str = "uniform",
        epsilon: float = 0.1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.space = Space(space)
        self.settings = Settings(
            method=method,
            criterion=criterion,
            n_initial=default_size(method, len(self.space)) if n_initial is None else n_initial,
            initial_design=initial_design,
            maximizer=maximizer,
            epsilon=epsilon,
            options=dict(options or {}),
        )
        self.trace: list[dict[str, Any]] = []
        self.history = History(self.space)
        self._seed = _seed(rng)
        self._journal: Journal | None = None
        self._queue: deque[Point] = deque()
        self._reoffered: deque[Proposal] = deque()
        self._states: list[tuple[int, dict[str, Any]]] = []  # number of data and state of each fit
        self._fitted: tuple[int, Member, Model] | None = None  # number of data, and who fitted what
        self._by_member: dict[int, tuple[int, Model]] = {}  # number of data and model of each member
        self._warned: set[str] = set()  # what fits have warned of
        if journal is not None:
            self._start_journal(journal)

    @classmethod
    def resume(cls, journal: str | os.PathLike[str], *, reoffer: bool = True) -> Optimizer:
        """Continue the run that a journal tells of, exactly as it would have gone on.

        Parameters
        ----------
        journal : str or os.PathLike
        reoffer : bool
            Whether `ask` first offers again the points that were asked and never told, in order. False leaves
            them pending, for evaluations that still run elsewhere.

        Returns
        -------
        Optimizer
        """
        if not os.path.exists(journal):
            raise JournalError(f"there is no journal {str(journal)!r} to resume")
        opened = Journal(journal)
        try:
            if opened.record is None:
                raise JournalError(f"the journal {str(journal)!r} is empty: there is nothing to resume")
            optimizer = cls._replay(opened.record, str(journal))
        except BaseException:
            opened.close()
            raise
        optimizer._journal = opened
        if reoffer:
            optimizer._reoffered.extend(optimizer.history.pending.values())
        return optimizer

    # ---- asking and telling ----

    def ask(self, n: int | None = None) -> Any:
        """Next point to evaluate, or a list of the next ``n``.

        Points asked and not yet told are pending: they are accounted for, and never offered again.

        Parameters
        ----------
        n : int, optional

        Returns
        -------
        list
            One point, a list with one value per parameter; or, with ``n``, a list of points, shorter than
            ``n`` only if a finite space has fewer left.

        Raises
        ------
        SpaceExhausted
            If every point of a finite space has been asked or told.
        """
        if n is None:
            return self.propose().x
        check_positive_integer("n", n)
        points = [self.propose().x]
        try:
            while len(points) < n:
                points.append(self.propose().x)
        except SpaceExhausted as error:
            logger.info("only %d of %d points: %s", len(points), n, error)
        return points

    def propose(self) -> Proposal:
        """Next point to evaluate, with its number and where it comes from: `ask` for the curious."""
        if self._reoffered:
            return self._reoffered.popleft()
        x, source, trace, fit = self._next_point()
        proposal = Proposal(self.history.n_asked, x, source, trace)
        with uninterrupted():
            self._write({"event": "ask", **asdict(proposal), "fit": fit})
            self._add_proposal(proposal, fit)
        return proposal

    def enqueue(self, x: object) -> None:
        """Have `ask` offer the point ``x`` before any of its own, unless it is known already."""
        self._queue.append(self.space.check(x))

    def tell(self, x: object, y: object, *, reason: str | None = None, seconds: float | None = None) -> None:
        """Say what the function gave at a point, or at several.

        Any point of the space may be told, asked or not. Telling the same again is ignored; another value for
        the same point is refused, because evaluations are exact.

        Parameters
        ----------
        x : point, or list of points
        y : float, or list of floats
            NaN, an infinity or None means that the evaluation failed: the point stays in the history, out of
            the model and out of the best.
        reason : str, optional
            Why an evaluation failed.
        seconds : float, optional
            How long each evaluation took: for the report, and for nothing else.
        """
        if _is_batch(x):
            points, values = list(x), list(y)  # type: ignore[call-overload]
            if len(points) != len(values):
                raise ValueError(f"x and y must have equal lengths, got {len(points)} and {len(values)}")
            for point, value in zip(points, values, strict=True):
                self.tell(point, value, reason=reason, seconds=seconds)
            return
        evaluation = Evaluation.of(self.space.check(x), y, reason, seconds)
        known = self.history.find(evaluation.x)
        if known is not None:
            if not known.same_outcome(evaluation):
                raise ValueError(
                    f"the point {evaluation.x!r} gave {known.outcome()} and now {evaluation.outcome()}; "
                    "evaluations are exact, so tell each point once"
                )
            return
        answered = self.history.answered_by(evaluation.x)
        with uninterrupted():
            self._write({"event": "tell", "id": answered, **asdict(evaluation)})
            self._add_evaluation(evaluation, answered)
        if evaluation.failed:
            logger.warning("the evaluation at %r failed: %s", evaluation.x, evaluation.reason)

    def result(self) -> Result:
        """What is known so far, in the form that `tcgp.minimize` returns."""
        from tcgp.result import Result

        best, evaluations = self.history.best, self.evaluations
        return Result(
            x=None if best is None else self.space.as_argument(best.x),
            fun=math.nan if best is None else best.y,
            nfev=len(evaluations),
            nit=len(self.trace),
            success=best is not None,
            status=0,
            message="no evaluation has succeeded so far" if best is None else "the best so far",
            x_iters=[list(e.x) for e in evaluations],
            func_vals=np.array([math.nan if e.y is None else e.y for e in evaluations], dtype=np.float64),
            failures=[(i, e.reason) for i, e in enumerate(evaluations) if e.failed],
            optimizer=self,
        )

    @property
    def evaluations(self) -> list[Evaluation]:
        """Everything told, in order, failures included."""
        return self.history.evaluations

    @property
    def pending(self) -> list[Proposal]:
        """Points asked and not yet told, in order."""
        return list(self.history.pending.values())

    @property
    def model(self) -> Model | None:
        """Model behind the last point that one chose; None before that, and after a resume.

        With ``"auto"`` its values above the median of the data may be compressed; for predictions of all values take
        `tcgp.fit_model`.
        """
        return None if self._fitted is None else self._fitted[2]

    @property
    def seed(self) -> int:
        """Seed from which every random decision derives."""
        return self._seed

    def close(self) -> None:
        """Release the journal; nothing can be asked or told afterwards."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<Optimizer: {self.settings.method}, {len(self.space)} parameters, "
            f"{len(self.evaluations)} evaluations, {len(self.pending)} pending>"
        )

    # ---- where the next point comes from ----

    def _next_point(self) -> tuple[Point, str, dict[str, Any] | None, dict[str, Any] | None]:
        """The next point, its source, its trace, and the state of the model if one was fitted."""
        while self._queue:
            if self.history.is_new(self._queue[0]):  # it leaves the queue once it is known
                return self._queue[0], "given", None, None
            self._queue.popleft()
        if len(self.history) < self.settings.n_initial:
            return self._design_point(), "design", None, None
        # One datum, or equal data, tell a model nothing about the scale of the function.
        if len(np.unique(self.history.successes[1])) < 2:
            return self._far_point(), "exploration", None, None
        from tcgp._threads import single_threaded  # loads SciPy, which the design does not need

        return single_threaded(self._criterion_point)()

    def _design_point(self) -> Point:
        kind, n, width = self.settings.initial_design, self.settings.n_initial, len(self.space)
        i = self.history.n_design
        if kind == "uniform":  # one at a time, so that a longer design continues a shorter one
            share = initial_design(kind, 1, width, self._rng(DESIGN, i))[0]
        else:
            share = initial_design(kind, n, width, self._rng(DESIGN))[i]
        point = self.space.from_unit([share])[0]
        return point if self.history.is_new(point) else self._far_point()

    def _criterion_point(self) -> tuple[Point, str, dict[str, Any] | None, dict[str, Any] | None]:
        start = time.perf_counter()
        model, fit = self._fit()
        t_fit = time.perf_counter() - start
        x, source = self._best_new_point(self._informed(model)), "criterion"
        if x is None:
            x, source = self._far_point(), "exploration"
        best = float(self.history.successes[1].min())
        trace = {
            "n": len(self.evaluations),
            "beta": getattr(model.law, "beta", None),
            "scale": getattr(model.law, "scale", None),
            "threshold": model.threshold,
            "best": best,
            "log_ei": float(model.predict(self.space.encode([x])).log_expected_improvement(best)[0]),
            "t_fit": t_fit,
            "t_maximize": time.perf_counter() - start - t_fit,
        }
        numbers = {name: _finite_or_none(value) for name, value in trace.items()}
        return x, source, {"method": model.method, **numbers}, fit

    def _best_new_point(self, model: Model) -> Point | None:
        """The new point with the largest criterion, or None if the criterion knows none worth evaluating."""
        from tcgp.search import ENUMERABLE, rank_all, rank_candidates

        criterion = self._criterion(model)
        if self.space.size <= ENUMERABLE:
            ranked = rank_all(criterion, self.space, self._remaining())
        else:
            U, y = self.history.successes
            ranked = rank_candidates(
                criterion,
                self.space,
                maximize=self._maximizer(model),
                anchors=U[np.argsort(y, kind="stable")],
                rng=self._rng(SEARCH, self.history.n_asked),
            )
        for x in ranked:
            if self.history.is_new(x, spacing=SPACING):
                if not np.isfinite(criterion(self.space.encode([x]))[0]):
                    return None
                return self._spread(criterion, x, model)
        return None

    def _spread(self, criterion: Criterion, x: Point, model: Model) -> Point:
        """Move a maximizer of log EI along real parameters that the model takes to have no effect."""
        from tcgp.maximize.inert import spread_inert

        if self.settings.criterion != "ei" or self.settings.maximizer != "multistart":
            return x
        lengthscales = np.where(self.space.real_coordinates, model.lengthscales, 0.0)
        rng = self._rng(INERT, self.history.n_asked)
        u = self.space.encode([x])[0]
        moved = self.space.decode(spread_inert(criterion, u, lengthscales, model.X, rng)[None])[0]
        return moved if self.history.is_new(moved, spacing=SPACING) else x

    def _far_point(self) -> Point:
        """A new point far from all others: the farthest of many random ones, or of all that are left."""
        from tcgp.search import ENUMERABLE

        if self.space.size <= ENUMERABLE:
            candidates = self._remaining()
        else:
            sample = self.space.sample(N_SPREAD, self._rng(SPREAD, self.history.n_asked))
            candidates = [x for x in sample if self.history.is_new(x)]
        if not candidates and math.isfinite(self.space.size):
            candidates = [
                x
                for x in itertools.islice(self.space.points(), len(self.history) + 1)
                if self.history.is_new(x)
            ]
        if not candidates:
            raise SpaceExhausted("no point is left that differs from all those evaluated or pending")
        if not len(self.history):
            return candidates[0]
        distances = _squared_distance_to_nearest(self.space.encode(candidates), self.history.codes)
        return candidates[int(np.argmax(distances))]

    def _remaining(self) -> list[Point]:
        """All points of a finite space that are neither evaluated nor pending."""
        points = [point for point in self.space.points() if self.history.is_new(point)]
        if not points:
            raise SpaceExhausted(f"all {self.space.size} points of the space are evaluated or pending")
        return points

    # ---- the model and its criterion ----

    def _fit(self) -> tuple[Model, dict[str, Any] | None]:
        """The model of the successes so far, and the states that the journal lacks: its own, and its rivals'.

        A fit depends on the data, and on the state of the last fit to fewer data: both are in the journal, so
        that it comes out the same after a resume.
        """
        from tcgp.portfolio import candidates, member_due, preferred, turns_passed

        n = len(self.history.successes[1])
        turn = turns_passed([e.y for e in self.evaluations], len(self.pending))
        due, _ = member_due(self.settings.method, turn)
        models = {i: self._fit_member(i) for i in candidates(self.settings.method, due)}
        number = preferred(models, due)
        self._fitted = (n, member_due(self.settings.method, number)[1], models[number])
        journaled = {state.get("member", 0) for m, state in self._states if m == n}
        rivals_first = (*(i for i in models if i != number), number)
        new = [_state(models[i], i) for i in rivals_first if i not in journaled]
        if not new:
            return models[number], None
        *rivals, state = new
        return models[number], {"n": n, "state": state, **({"rivals": rivals} if rivals else {})}

    def _fit_member(self, number: int) -> Model:
        """The model of a member of the portfolio, fitted to the successes so far."""
        from tcgp.models import fit_model, member_options
        from tcgp.portfolio import compress, member_due

        U, y = self.history.successes
        n = len(y)
        known = self._by_member.get(number)
        if known is None or known[0] != n:
            _, member = member_due(self.settings.method, number)
            with _each_warning_once(self._warned):
                model = fit_model(
                    U,
                    compress(y, y) if member.compressed else y,
                    member.method,
                    bounds=[(0.0, 1.0)] * self.space.dim,
                    rng=self._rng(FIT, n),
                    state=self._state_before(n, number),
                    **member_options(self.settings.method, member, self.settings.options),
                )
            known = self._by_member[number] = (n, model)
        return known[1]

    def _state_before(self, n: int, number: int) -> dict[str, Any] | None:
        """State of the last fit of a member to fewer than n data."""
        states = (s for m, s in reversed(self._states) if m < n and s.get("member", 0) == number)
        return next(states, None)

    def _informed(self, model: Model) -> Model:
        """The model given a value, too high to be an improvement, at each point that is pending or has failed."""
        from tcgp.feasibility import stand_in_values

        y = self.history.successes[1]
        pending, failed = self.space.encode([p.x for p in self.pending]), self.history.failures
        U = np.vstack([pending, failed])
        if not len(U):
            return model
        predicted = model.predict(U).mean
        n = len(pending)
        values = [
            stand_in_values(predicted[:n], y, PENDING_LEVEL),
            stand_in_values(predicted[n:], y, FAILED_LEVEL),
        ]
        return model.condition(U, np.concatenate(values))

    def _criterion(self, model: Model) -> Criterion:
        """The criterion of the model, weighed by the chance of success where evaluations have failed."""
        from tcgp.criteria import LogExpectedImprovement, LowerConfidenceBound
        from tcgp.feasibility import Feasibility, WeightedCriterion
        from tcgp.laws.tabulated import tabulated

        U, y = self.history.successes
        criterion: Criterion
        if self.settings.criterion == "ei":
            criterion, weight = LogExpectedImprovement(model, float(y.min()), tabulated(model.law)), 1.0
        else:
            criterion, weight = LowerConfidenceBound(model, self.settings.epsilon), _standard_deviation(y)
        failed = self.history.failures
        if not len(failed):
            return criterion
        return WeightedCriterion(criterion, Feasibility(U, failed, model.lengthscales), weight)

    def _maximizer(self, model: Model) -> Callable[..., Maximum]:
        """The way to maximize the criterion of the model over a cube."""
        if self.settings.maximizer == "multistart":
            from tcgp.maximize import multistart

            return multistart.maximize
        from tcgp.maximize import smc

        # Every proposal starts from a new cloud: one kept from the last would have to be journaled.
        if self.settings.criterion != "ei":
            return smc.maximize
        y = self.history.successes[1]
        return partial(smc.maximize, target=smc.ImprovementProbability(model, y.max(), y.min()))

    # ---- seed, state and journal ----

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))

    def _start_journal(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal(path)
        if self._journal.record is not None:
            self._journal.close()
            raise JournalError(
                f"the journal {str(path)!r} exists already; continue it with tcgp.Optimizer.resume, "
                "or choose another file"
            )
        header = {"space": self.space.to_json(), "settings": asdict(self.settings), "seed": self._seed}
        self._journal.start({"software": f"tcgp {__version__}", **header})

    def _write(self, event: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal.append(event)

    def _add_proposal(self, proposal: Proposal, fit: Mapping[str, Any] | None) -> None:
        self.history.add_proposal(proposal)
        if proposal.trace is not None:
            self.trace.append(proposal.trace)
        if fit is not None:
            self._states += [(fit["n"], state) for state in (*fit.get("rivals", ()), fit["state"])]

    def _add_evaluation(self, evaluation: Evaluation, answered: int | None) -> None:
        self.history.add_evaluation(evaluation, answered)
        self._reoffered = deque(p for p in self._reoffered if p.id != answered)

    @classmethod
    def _replay(cls, record: Record, path: str) -> Optimizer:
        """The optimizer that wrote a journal."""
        try:
            header = record.header
            # Only what `Settings` has: another keyword, such as a journal elsewhere, must not come from a file.
            settings = asdict(Settings(**header["settings"]))
            optimizer = cls(Space.from_json(header["space"]), rng=header["seed"], **settings)
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"the header of the journal {path!r} cannot be used: {error}") from error
        for line, event in record.events:
            try:
                optimizer._replay_event(event)
            except (KeyError, TypeError, ValueError) as error:
                raise JournalError(
                    f"the journal {path!r} is damaged: line {line} cannot be used ({error}); "
                    "restore the file from a backup, or delete that line and those after it"
                ) from error
        return optimizer

    def _replay_event(self, event: Mapping[str, Any]) -> None:
        kind, number, x = event["event"], event["id"], self.space.check(event["x"])
        if kind == "ask":
            if type(number) is not int or number != self.history.n_asked:
                raise ValueError(f"ask number {number!r} where number {self.history.n_asked} was due")
            _check_choice("source", event["source"], SOURCES)
            proposal = Proposal(number, x, event["source"], _check_trace(event["trace"]))
            self._add_proposal(proposal, _check_fit(event["fit"], self.space.dim))
        elif kind == "tell":
            evaluation = Evaluation.of(x, event["y"], event["reason"], event.get("seconds"))
            known = self.history.find(x)
            if known is None:
                if number is not None and number not in self.history.pending:
                    raise ValueError(f"a value for ask number {number!r}, which is not pending")
                self._add_evaluation(evaluation, number)
            elif not known.same_outcome(evaluation):
                raise ValueError(f"one point gave {known.outcome()} and {evaluation.outcome()}")
        else:
            raise ValueError(f"unknown event {kind!r}")


def _is_batch(x: object) -> bool:
    """Whether ``x`` is a list of points rather than one point."""
    if isinstance(x, np.ndarray):
        return x.ndim == 2
    if not isinstance(x, list | tuple) or not x:
        return False
    return all(isinstance(item, list | tuple | np.ndarray | Mapping) for item in x)


@contextlib.contextmanager
def _each_warning_once(said: set[str]) -> Iterator[None]:
    """Keep back the warnings of this block that were said before: what holds for one fit often holds for the next."""

    def is_new(record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        known = record.msg in said
        said.add(record.msg)
        return not known

    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)


def _state(model: Model, number: int) -> dict[str, Any]:
    """State of the model of a member as the journal will give it back; the first member needs no number."""
    state = {**model.state, "member": number} if number else model.state
    return json.loads(json.dumps(state))  # type: ignore[no-any-return]


def _finite_or_none(value: Any) -> Any:
    """A plain number, or None where there is no finite one: JSON has no NaN."""
    if value is None or isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _check_trace(trace: object) -> dict[str, Any] | None:
    """The trace of a journal, if it is one."""
    if trace is None:
        return None
    if not isinstance(trace, dict) or not all(
        isinstance(v, str | int | float | None) for v in trace.values()
    ):
        raise ValueError(f"trace must be a mapping to numbers, got {trace!r}")
    return trace


def _check_fit(fit: object, dim: int) -> Mapping[str, Any] | None:
    """The state of a model in a journal, if it is one."""
    from tcgp.models import check_state

    if fit is None:
        return None
    if not isinstance(fit, dict) or type(fit.get("n")) is not int or not isinstance(fit.get("state"), dict):
        raise ValueError(f"fit must be a mapping with n and state, got {fit!r}")
    rivals = fit.get("rivals", [])
    if not isinstance(rivals, list) or not all(isinstance(state, dict) for state in rivals):
        raise ValueError(f"rivals of a fit must be a list of states, got {rivals!r}")
    for state in (fit["state"], *rivals):
        check_state(state, dim)
    return fit


def _seed(rng: RandomState) -> int:
    if rng is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if not isinstance(rng, numbers.Integral) or rng < 0:
        raise TypeError(f"rng must be an integer >= 0, a numpy.random.Generator or None, got {rng!r}")
    return int(rng)


def _check_choice(name: str, value: object, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_positive_integer(name: str, value: object) -> None:
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _standard_deviation(y: FloatArray) -> float:
    """Standard deviation of values that may be as large as floats are."""
    largest = np.abs(y).max() or 1.0
    return float(largest * np.std(y / largest))


def _squared_distance_to_nearest(U: FloatArray, V: FloatArray) -> FloatArray:
    """Square of the distance from each row of U to the nearest row of V."""
    square = np.sum(U**2, axis=1)[:, None] + np.sum(V**2, axis=1) - 2.0 * (U @ V.T)
    return np.asarray(square.min(axis=1))
