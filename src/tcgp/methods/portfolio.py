"""Portfolios: methods that take turns, so that each compensates for the blind spots of the others."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcgp._quantiles import median, quantile
from tcgp._text import did_you_mean, plain
from tcgp._typing import FloatArray
from tcgp.methods.options import Option
from tcgp.methods.recipes import RECIPES, SHARED

__all__ = [
    "METHODS",
    "PORTFOLIOS",
    "Member",
    "Portfolio",
    "candidates",
    "check_method",
    "compress",
    "for_several",
    "has_enough_data",
    "improvements",
    "interpolating",
    "leads_of",
    "member_options",
    "members_of",
    "noisy_method",
    "options_of",
    "preferred",
    "turns_of",
    "turns_passed",
]

# Members are compared by their leave-one-out predictions below this quantile of the data.
COMPARISON_LEVEL = 0.25
# A member whose predictions are this many times worse than another's leaves its turn to it.
MUCH_WORSE = 2.0
# A member whose log-likelihood is higher by this much than that of the first with the same turn is certain to be right.
CERTAIN, NEARLY_CERTAIN = 10.0, 5.0
# Data for each parameter of a rotated covariance, and the most parameters, up to which fits remember their curvature.
DATA_FOR_EACH, MOST_PARAMETERS = 2, 30
# Data for each lengthscale that is free, where there are more than so many of these. Fewer fit whatever the data are.
DATA_FOR_FREE, FEW_LENGTHSCALES = 5, 7
# From this many data on, a comparison of members stands until the data have grown by more than this share, or the best
# value has improved. With fewer data that would save little, and cost about one evaluation: see docs/tried.md.
MANY, MEMORY = 50, 0.2
# Share of the way from the median to the best value that counts as an improvement.
SMALLEST_GAIN = 1e-3
# The unit of compression, as a share of the values: below it they differ by little more than rounding.
SMALLEST_UNIT = 1e-9


@dataclass(frozen=True)
class Member:
    """One of the methods of a portfolio.

    Attributes
    ----------
    method : str
    options : mapping
        Its options.
    compressed : bool
        Whether it sees high values compressed.
    handicap : float
        By how much, in log units, it must be likelier than the first of those it shares a turn with.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    compressed: bool = False
    handicap: float = 0.0


@dataclass(frozen=True)
class Portfolio:
    """Methods that take turns.

    Attributes
    ----------
    members : tuple of Member
    turns : tuple of tuples of int
        Numbers of the members that have each turn. Those that share one model the same values, and the likeliest takes
        it. One that is far likelier than the first of them takes other turns, too: see `preferred`.
    options : mapping
        Options of the portfolio, by name. Each is passed on to the members that have it with the same default: that
        is, with the same meaning.
    compares : bool
        Whether members leave their turn to another that predicts better.
    noisy : str or None
        The portfolio for noisy evaluations, if there is one.
    """

    members: tuple[Member, ...]
    turns: tuple[tuple[int, ...], ...]
    options: Mapping[str, Option]
    compares: bool = True
    noisy: str | None = None


PORTFOLIOS: dict[str, Portfolio] = {
    "auto": Portfolio(
        members=(
            Member("tcgp", {"selection": "pooled", "shortest": None}, compressed=True),
            Member("regp", {"selection": "pooled", "shortest": 1.0, "least": 5}),
            Member("gp-nugget", {"selection": "pooled", "shortest": None}, compressed=True),
            # Members that share one assumption share one blindness: here lengthscales are free, and values as they are.
            Member("tcgp", {"shortest": None}),
            Member("tcgp-additive"),
            # People choose parameters that mean something by themselves: rotations are rare.
            Member("tcgp-rotated", compressed=True, handicap=10.0),
        ),
        turns=((0, 5), (1,), (2,), (3, 4)),
        noisy="auto-noisy",
        options={**SHARED, **{name: RECIPES["tcgp"].options[name] for name in ("search", "rule")}},
    ),
    # What "auto" is for a front. Low values are all up to the reference there, and laws calibrated below it
    # were no better. Each member alone had a run that missed a part of the front; in turns they had none.
    "auto-front": Portfolio(
        members=(
            Member("gp", {"selection": "pooled", "shortest": None}, compressed=True),
            Member("regp", {"selection": "pooled", "shortest": 1.0, "least": 5}),
            Member("gp", {"shortest": None}),
        ),
        turns=((0,), (1,), (2,)),
        noisy="auto-noisy",
        options=SHARED,
        compares=False,
    ),
    # Laws calibrated under noise, and values compressed, were no better in the search. Of 164 runs with noise, those
    # with both members ended with 0.8 of the regret of those with the first alone.
    "auto-noisy": Portfolio(
        members=(Member("gp", {"selection": "pooled", "shortest": None}), Member("gp", {"shortest": None})),
        turns=((0,), (1,)),
        options=SHARED,
        compares=False,
    ),
}

METHODS = (*RECIPES, "auto")  # the names that a user may give
NOISY = ("gp", "tcgp", "tcgp-occ", "tcgp-thres")  # recipes that know of noise


def check_method(method: object) -> None:
    """Refuse anything but the name of a method."""
    if not isinstance(method, str) or method not in {**RECIPES, **PORTFOLIOS}:
        hint = did_you_mean(method, METHODS)
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {plain(method)}{hint}")


def options_of(method: str) -> Mapping[str, Option]:
    """The options of a method, by name."""
    return PORTFOLIOS[method].options if method in PORTFOLIOS else RECIPES[method].options


def members_of(method: str) -> tuple[Member, ...]:
    """The members of a portfolio; any other method is its own only member.

    Examples
    --------
    >>> from tcgp.methods.portfolio import members_of
    >>> [member.method for member in members_of("auto")]
    ['tcgp', 'regp', 'gp-nugget', 'tcgp', 'tcgp-additive', 'tcgp-rotated']
    >>> members_of("regp")
    (Member(method='regp', options={}, compressed=False, handicap=0.0),)
    """
    return PORTFOLIOS[method].members if method in PORTFOLIOS else (Member(method),)


def for_several(method: str) -> str:
    """The method that models each quantity of a front."""
    return "auto-front" if method == "auto" else method


def noisy_method(method: str) -> str:
    """The method that replaces it for noisy evaluations; ValueError if it does not support noise.

    Examples
    --------
    >>> from tcgp.methods.portfolio import noisy_method
    >>> noisy_method("auto"), noisy_method("tcgp")
    ('auto-noisy', 'tcgp')
    """
    found = PORTFOLIOS[method].noisy if method in PORTFOLIOS else method if method in NOISY else None
    if found is None:
        known = [name for name in METHODS if name in PORTFOLIOS or name in NOISY]
        raise ValueError(
            f"method must be one of {', '.join(map(repr, known))} for noisy evaluations, got {plain(method)}"
        )
    return found


def turns_of(method: str) -> tuple[tuple[int, ...], ...]:
    """Numbers of the members that have each turn, in order.

    Examples
    --------
    >>> from tcgp.methods.portfolio import turns_of
    >>> turns_of("auto"), turns_of("regp")
    (((0, 5), (1,), (2,), (3, 4)), ((0,),))
    """
    return PORTFOLIOS[method].turns if method in PORTFOLIOS else ((0,),)


def member_options(method: str, member: Member, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a member: its own, and those given to the portfolio that mean the same to it."""
    shared, own = options_of(method), RECIPES[member.method].options
    passed_on = {
        name: value
        for name, value in options.items()
        if name in own and own[name].default == shared[name].default
    }
    return {**member.options, **passed_on}


def turns_passed(values: Iterable[float | None], n_pending: int) -> int:
    """How often the turn has passed on: a member keeps it as long as its proposals are `improvements`.

    Parameters
    ----------
    values : iterable of float or None
        All evaluations in order, None for one that failed.
    n_pending : int
        Evaluations in progress: improvements are not known yet, so the members of a portfolio share a batch.

    Returns
    -------
    int
        It depends only on what a resumed run knows.

    Examples
    --------
    >>> from tcgp.methods.portfolio import turns_passed
    >>> turns_passed([5.0, 3.0, 4.0, 2.0, None, 1.9999], n_pending=0)
    3
    """
    return n_pending + sum(not improved for improved in improvements(values))


def improvements(values: Iterable[float | None]) -> Iterator[bool]:
    """Whether each of the values, None for a failure, is an improvement; the first one is.

    A gain below a thousandth of the distance from the median to the best value does not count: otherwise a member that
    polishes a local minimum would keep its turn forever.
    """
    known: list[float] = []  # in order of size
    for value in values:
        if value is None:
            yield False
            continue
        yield not known or (
            value < known[0] and known[0] - value > SMALLEST_GAIN * (_median(known) - known[0])
        )
        bisect.insort(known, value)


def _median(ordered: Sequence[float]) -> float:
    return 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])


def compress(values: FloatArray, known: FloatArray, share: float = 0.0) -> FloatArray:
    """The values with those above the median of the known ones compressed logarithmically.

    Low values matter, and a few huge ones would make a stationary model rough everywhere. Order is kept, and so is
    all that lies below the median: what a model says of improvements needs no translation.

    Parameters
    ----------
    values : array of shape (m,)
    known : array of shape (n,)
        The data. With their median m, and s its distance to the lowest, a value m + s x becomes m + s log(1 + x).
    share : float
        Leave this share of the data out of account: the lowest, where decisions are taken above them.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.portfolio import compress
    >>> y = np.array([1.0, 2.0, 3.0, 1e2, 1e9])
    >>> compress(y, y).round(1)
    array([ 1. ,  2. ,  3. , 10.8, 43.1])
    """
    lowest, middle = np.min(known), median(known)
    if share:
        lowest, middle = quantile(known, [share, 0.5 + 0.5 * share])
    with np.errstate(over="ignore"):
        unit = max(middle - lowest, SMALLEST_UNIT * max(abs(lowest), abs(middle)))
    if not (middle > lowest and np.finfo(float).tiny < unit < np.inf):
        return values
    above = values > middle
    # log(1 + x) by way of log x, where x itself may be larger than any float; powers of two are taken out exactly
    significand, exponent = np.frexp([0.5 * unit, *(0.5 * values[above] - 0.5 * middle)])
    with np.errstate(divide="ignore"):
        log_x = np.log(significand[1:] / significand[0]) + np.log(2.0) * (exponent[1:] - exponent[0])
    compressed = values.copy()
    compressed[above] = middle + unit * np.logaddexp(0.0, log_x)
    return compressed


def candidates(method: str, due: Sequence[int], leads: Mapping[int, float] | None = None) -> tuple[int, ...]:
    """Numbers of the members that may take the turn of those due.

    They are those that interpolate, as these do. A smoothing member has its turn for itself: its predictions of exact
    data are worse, and that is what it is for. Members that share a turn, but for the first of all, come into question
    for others only if one of them was nearly certain to be right the last time: fits take time.

    Parameters
    ----------
    method : str
    due : sequence of int
    leads : mapping, optional
        By how much members were likelier than the first of those they share a turn with, the last time.

    Examples
    --------
    >>> from tcgp.methods.portfolio import candidates
    >>> candidates("auto", (0, 5)), candidates("auto", (3, 4)), candidates("auto", (2,)), candidates("tcgp", (0,))
    ((0, 1, 5), (0, 1, 3, 4), (2,), (0,))
    >>> candidates("auto", (1,)), candidates("auto", (1,), leads={4: 8.0})
    ((0, 1), (0, 1, 3, 4))
    """
    numbers = interpolating(members_of(method))
    if not set(due) <= set(numbers) or (method in PORTFOLIOS and not PORTFOLIOS[method].compares):
        return tuple(due)
    doubtful = {
        number
        for turn in turns_of(method)
        if len(turn) > 1 and turn != tuple(due)
        for number in turn
        if number and all((leads or {}).get(other, 0.0) < NEARLY_CERTAIN for other in turn)
    }
    return tuple(number for number in numbers if number not in doubtful)


def leads_of(method: str, likelihoods: Mapping[int, float]) -> dict[int, float]:
    """By how much members are likelier than the first of those they share a turn with, less their handicaps.

    Examples
    --------
    >>> from tcgp.methods.portfolio import leads_of
    >>> leads_of("auto", {0: 7.0, 1: 2.0, 3: 0.0, 4: 1.5, 5: 20.0})
    {5: 3.0, 4: 1.5}
    """
    members = members_of(method)
    return {
        other: likelihoods[other] - likelihoods[usual] - members[other].handicap
        for usual, *others in turns_of(method)
        for other in others
        if usual in likelihoods and other in likelihoods
    }


def preferred(scores: Mapping[int, float], leads: Mapping[int, float], due: Sequence[int]) -> int:
    """Number of the member that takes the turn.

    It is the one due, the likeliest if there are several, unless another predicts low values far better; one that is
    less likely than the first of those it shares a turn with does not count. A member under which the data are far
    likelier than under that first one takes every turn, unless it predicts low values far worse.

    Parameters
    ----------
    scores : mapping
        twCRPS of the leave-one-out predictions of the `candidates`, by number; smaller is better.
    leads : mapping
        See `leads_of`.
    due : sequence of int
        Those whose turn it is.

    Examples
    --------
    >>> from tcgp.methods.portfolio import preferred
    >>> preferred({0: 0.3, 1: 0.2, 2: 0.2}, {2: 1.0}, due=(0,))
    0
    >>> preferred({0: 0.5, 1: 0.2, 2: 0.3}, {2: 1.0}, due=(0,)), preferred({0: 0.5, 2: 0.1}, {2: -1.0}, due=(0,))
    (1, 0)
    >>> preferred({0: 0.3, 1: 0.2, 2: 0.3}, {2: 11.0}, due=(0,))
    2
    """
    number = max(due, key=lambda i: leads.get(i, 0.0))
    # Of covariances with more parameters, chosen on the same data, leave-one-out flatters those that are less likely.
    best = min((i for i in scores if leads.get(i, 1.0) > 0.0), key=scores.__getitem__)
    if scores[number] > MUCH_WORSE * scores[best]:
        number = best
    certain = [i for i, lead in leads.items() if lead > CERTAIN and scores[i] <= MUCH_WORSE * scores[number]]
    return min(certain, key=scores.__getitem__, default=number)


def has_enough_data(member: Member, n: int, dim: int) -> bool:
    """Whether n data are enough for a member.

    A rotated covariance needs two for each of its parameters, and free lengthscales five for each if they are many.

    Examples
    --------
    >>> from tcgp.methods.portfolio import Member, has_enough_data
    >>> [has_enough_data(Member("tcgp-rotated"), n=30, dim=d) for d in (1, 2, 5, 6)]
    [False, True, True, False]
    >>> [has_enough_data(Member("tcgp"), n=30, dim=d) for d in (1, 7, 8)]
    [True, True, False]
    """
    recipe = RECIPES[member.method]
    if recipe.covariance == "rotated":
        k = dim * (dim + 1) // 2
        return dim > 1 and k <= MOST_PARAMETERS and n >= DATA_FOR_EACH * k
    is_free = recipe.covariance == "product" and "selection" not in member.options
    return not is_free or dim <= FEW_LENGTHSCALES or n >= DATA_FOR_FREE * dim


def interpolating(members: Sequence[Member]) -> tuple[int, ...]:
    """Numbers of the members whose models pass through the data."""
    return tuple(i for i, member in enumerate(members) if not RECIPES[member.method].learns_nugget)
