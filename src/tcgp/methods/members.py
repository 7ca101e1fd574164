"""The model of one output on one scale during a run: fits that start from the last one, and members that take turns."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tcgp._quantiles import median
from tcgp._typing import FloatArray, IntArray
from tcgp.gp.likelihood import evenly
from tcgp.gp.selection import SCAN_DATA
from tcgp.gp.units import fresh_rows
from tcgp.methods.fit import COLD_FIT_GROWTH, above, fit_for_comparison, fit_model, low_value_score
from tcgp.methods.portfolio import (
    MANY,
    MEMORY,
    NEARLY_CERTAIN,
    SMALLEST_GAIN,
    Member,
    candidates,
    compress,
    has_enough_data,
    leads_of,
    member_options,
    members_of,
    preferred,
    turns_of,
)
from tcgp.models import Model

__all__ = ["Fit", "Members", "State", "record_of", "rows_to_compare", "states_in"]

logger = logging.getLogger("tcgp")

State = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A model that was fitted during a run.

    Attributes
    ----------
    n : int
        Number of data of the run then.
    member : Member
        Whose model it is.
    model : Model
    share : float
        Share of the data below the value at which decisions are taken.
    """

    n: int
    member: Member
    model: Model
    share: float = 0.0


class Members:
    """Fits of one output during a run.

    A fit depends on the data, and on the state of the last fit to fewer data. States are plain JSON, kept by whoever
    keeps the run: a run that is resumed with its states continues as if it had never stopped.

    Parameters
    ----------
    method : str
        Name of a method; the members of a portfolio take turns.
    options : mapping
        Options of the method.

    Attributes
    ----------
    states : list of (int, dict)
        For each fit, the number of its data and `Model.state`, with the number of the member as ``"member"``.
    last : Fit or None
        The last fit that took its turn.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.members import Members
    >>> members = Members("tcgp", {})
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> model, record = members.fit(X, np.sin(6.0 * X[:, 0]), turn=0, seed=np.random.SeedSequence(0))
    >>> members.remember(record)
    >>> model.method, [n for n, _ in members.states]
    ('tcgp', [8])
    """

    def __init__(self, method: str, options: Mapping[str, Any]) -> None:
        self.method, self.options = method, dict(options)
        self.states: list[tuple[int, State]] = []
        self.last: Fit | None = None
        # Number of data and model of each member, and whether it may propose.
        self._latest: dict[int, tuple[int, Model, bool]] = {}
        self._warned: set[str] = set()

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        turn: int,
        seed: np.random.SeedSequence,
        level: float | None = None,
        n: int | None = None,
        sd: FloatArray | None = None,
    ) -> tuple[Model, State | None]:
        """The model whose turn it is.

        Parameters
        ----------
        X : array of shape (m, d)
            Points of the unit cube.
        y : array of shape (m,)
        turn : int
            How often the turn has passed on; see `tcgp.methods.portfolio.turns_passed`.
        seed : numpy.random.SeedSequence
            Source of randomness, for the methods that draw.
        level : float, optional
            The value at which decisions are taken, see `tcgp.fit_model`.
        n : int, optional
            Number of data of the run, if these are only a part of them.
        sd : array of shape (m,), optional
            Noise of the values, NaN where it is not known: see `tcgp.fit_model`. None for exact ones.

        Returns
        -------
        model : Model
        record : dict or None
            States that are not in ``states`` yet, in the form that the journal keeps: the number of data, the state of
            the model, and those of the members it was compared with. To be given to `remember` once it is kept.
        """
        n = len(y) if n is None else n
        turns, members = turns_of(self.method), members_of(self.method)
        due = turns[turn % len(turns)]
        ready = {i for i, member in enumerate(members) if has_enough_data(member, len(y), X.shape[1])}
        if due[0] in ready:  # else to be less likely than it, which fits whatever the data are, means nothing
            ready -= self._hopeless(n)
        compared = ready | {first for first, *_ in turns}
        numbers = [i for i in candidates(self.method, due, self._last_leads(n)) if i in compared]
        due = tuple(i for i in due if i in ready) or turns[0]
        fit = partial(self.fit_member, X=X, y=y, seed=seed, level=level, n=n, sd=sd)
        number, models, found = due[0], {}, {}
        if len(numbers) > 1:
            best = float(y.min()) if level is None else level
            gain = SMALLEST_GAIN * max(float(median(y)) - best, 0.0)
            known = self._last_comparison(numbers, n, best + gain)
            if known is None:
                rows = rows_to_compare(self.states, len(y), n)
                trial = Members(self.method, self.options) if len(rows) < len(y) else self
                of_rows = {"X": X[rows], "y": y[rows], **({} if sd is None else {"sd": sd[rows]})}
                proposes = n < MANY or sd is not None
                models = {
                    i: trial.fit_member(i, seed=seed, level=level, n=n, proposes=proposes, **of_rows)
                    for i in numbers
                }
                known = found = _compare(self.method, models, level, best)
            leads = {i: state["lead"] for i, state in known.items() if "lead" in state}
            scores = {i: state["score"] for i, state in known.items() if i in ready or i in due}
            number = preferred(scores, leads, due)
        models[number] = fit(number)
        self.last = Fit(n, members[number], models[number], above(level, 0.0, y))
        return models[number], self._record(models, found, number, n)

    def remember(self, record: Mapping[str, Any] | None) -> None:
        """Add the states of a fit that a journal has recorded."""
        if record is not None:
            self.states += [(record["n"], state) for state in states_in(record)]

    def updated(self, X: FloatArray, y: FloatArray) -> Model | None:
        """The last model given the values told since it was fitted, which is cheaper than a fit.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            All data: those of the last fit come first.
        """
        if self.last is None:
            return None
        n, member, model = self.last.n, self.last.member, self.last.model
        seen = compress(y, y[:n], self.last.share) if member.compressed else y
        new = fresh_rows(X[n:], model.X) | (model.noise > 0.0)
        return model.condition(X[n:][new], seen[n:][new]) if new.any() else model

    def fit_member(
        self,
        number: int,
        X: FloatArray,
        y: FloatArray,
        seed: np.random.SeedSequence,
        level: float | None = None,
        n: int | None = None,
        sd: FloatArray | None = None,
        proposes: bool = True,
    ) -> Model:
        """The model of a member, fitted to these data; lengthscales may be older where it is only to be compared."""
        n = len(y) if n is None else n
        known, model, is_able = self._latest.get(number, (0, None, False))
        if model is None or known != n or proposes > is_able:
            member = members_of(self.method)[number]
            options = member_options(self.method, member, self.options)
            state, box = self.last_state(number, before=n), np.tile([0.0, 1.0], (X.shape[1], 1))
            seen = compress(y, y, above(level, 0.0, y)) if member.compressed else y
            rng = np.random.default_rng(seed)
            with _each_warning_once(self._warned):
                if proposes:
                    given = {"state": state, "level": level, "noise": sd is not None, "sd": sd, **options}
                    model = fit_model(X, seen, member.method, bounds=box, rng=rng, **given)
                else:
                    model = fit_for_comparison(X, seen, member.method, box, rng, state, level, options)
            self._latest[number] = (n, model, proposes or model.n_selected == len(y))
        return model

    def last_state(self, number: int, before: int) -> State | None:
        """State of the last fit of a member to fewer data than ``before``."""
        fewer = (state for n, state in reversed(self.states) if n < before)
        return next((state for state in fewer if state.get("member", 0) == number), None)

    def _last_leads(self, n: int) -> dict[int, float]:
        """The last lead of each member that shares a turn, of fits to fewer data than n."""
        earlier = (state for m, state in self.states if m < n)
        return {state.get("member", 0): state["lead"] for state in earlier if "lead" in state}

    def _hopeless(self, n: int) -> set[int]:
        """Members that share a turn and were far less likely, of late, than the first of those they share it with."""
        last = {
            state.get("member", 0): (m, state["lead"])
            for m, state in self.states
            if m < n and "lead" in state
        }
        return {i for i, (m, lead) in last.items() if lead < -NEARLY_CERTAIN and n < COLD_FIT_GROWTH * m}

    def _last_comparison(self, numbers: Collection[int], n: int, best: float) -> dict[int, State] | None:
        """States of these members from the last time that they were compared, or None if that does not count.

        It does not if there were few data, or far fewer than now, or no value as low as ``best``.
        """
        compared: dict[int, dict[int, State]] = {}
        for m, state in self.states:
            if MANY <= m <= n <= (1.0 + MEMORY) * m and state.get("best", math.inf) <= best:
                compared.setdefault(m, {})[state.get("member", 0)] = state
        complete = [m for m, states in compared.items() if set(numbers) <= set(states)]
        return {i: compared[max(complete)][i] for i in numbers} if complete else None

    def _record(
        self, models: Mapping[int, Model], found: Mapping[int, State], number: int, n: int
    ) -> State | None:
        """The states of these models that are not known yet, that of the chosen one last."""
        known = {state.get("member", 0) for m, state in self.states if m == n}
        rivals_first = (*(i for i in models if i != number), number)
        new = [_state(models[i], i, found.get(i, {})) for i in rivals_first if i not in known]
        return record_of(n, new)


def record_of(n: int, states: Sequence[State]) -> State | None:
    """The record of a fit to n data, the chosen state last; None if no state is new."""
    if not states:
        return None
    *rivals, state = states
    return {"n": n, "state": state, **({"rivals": rivals} if rivals else {})}


def states_in(record: Mapping[str, Any] | None) -> list[State]:
    """The states in a record, the chosen one last."""
    return [] if record is None else [*record.get("rivals", ()), record["state"]]


def rows_to_compare(states: Iterable[tuple[int, State]], n_rows: int, n: int) -> IntArray:
    """Rows of the data on which fits are compared: all, or a part of many data where there is no earlier fit.

    A first fit takes about ten times as long as others, and a comparison makes four of them.
    """
    rows = np.arange(n_rows)
    return rows if any(m < n for m, _ in states) else evenly(rows, SCAN_DATA)


def _compare(method: str, models: Mapping[int, Model], level: float | None, best: float) -> dict[int, State]:
    """The ``score`` of members, their ``lead`` where they share a turn, and the ``best`` value at that time."""
    leads = leads_of(method, {i: model.interpolator.objective_ for i, model in models.items()})
    return {
        i: {
            "score": low_value_score(model, level),
            "best": best,
            **({"lead": leads[i]} if i in leads else {}),
        }
        for i, model in models.items()
    }


def _state(model: Model, number: int, found: State) -> State:
    """State of the model of a member as the journal will give it back; the first member needs no number."""
    state = {**model.state, **({"member": number} if number else {})}
    if all(map(math.isfinite, found.values())):
        state |= found
    return json.loads(json.dumps(state))  # type: ignore[no-any-return]


@contextlib.contextmanager
def _each_warning_once(said: set[str]) -> Iterator[None]:
    """Suppress repeated warnings in this block: what holds for one fit often holds for the next."""

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
