"""Portfolios: methods that take turns, so that each makes up for what the others do not see."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcgp._typing import Bounds, FloatArray, RandomState
from tcgp.models import METHODS, Member, Model, fit_model, member_options

__all__ = ["candidates", "compress", "fit_best_member", "member_due", "preferred", "turns_passed"]

# Members are compared by their leave-one-out predictions below this quantile of the data.
COMPARISON_LEVEL = 0.25
# A member whose predictions are this many times worse than another's leaves its turn to it.
MUCH_WORSE = 2.0
# Share of the way from the median to the best value that counts as an improvement.
SMALLEST_GAIN = 1e-3
# The unit of compression, as a share of the values: below it they differ by little more than rounding.
SMALLEST_UNIT = 1e-9


def turns_passed(values: Iterable[float | None], n_pending: int) -> int:
    """How often the turn has passed on: a member keeps it as long as its proposals are improvements.

    A gain below a thousandth of the way from the median of the values to the best one is none: a member that polishes a
    local minimum would else keep the turn for ever.

    Parameters
    ----------
    values : iterable of float or None
        All evaluations in order, None for one that failed.
    n_pending : int
        Evaluations under way: nobody knows of improvements yet, so the members of a portfolio share a batch.

    Returns
    -------
    int
        It depends on nothing that a resumed run would not know.

    Examples
    --------
    >>> from tcgp.portfolio import turns_passed
    >>> turns_passed([5.0, 3.0, 4.0, 2.0, None, 1.9999], n_pending=0)
    3
    """
    passed = n_pending
    known: list[float] = []  # in order of size
    for value in values:
        if value is None:
            passed += 1
            continue
        if known and not known[0] - value > SMALLEST_GAIN * (_median(known) - known[0]):
            passed += 1
        bisect.insort(known, value)
    return passed


def _median(ordered: Sequence[float]) -> float:
    return 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])


def member_due(method: str, turn: int) -> tuple[int, Member]:
    """The member of a portfolio whose turn it is, with its number; any other method is its own only member.

    Parameters
    ----------
    method : str
        Of `tcgp.fit_model`.
    turn : int
        How often the turn has passed on, see `turns_passed`.

    Returns
    -------
    number : int
    member : Member

    Examples
    --------
    >>> from tcgp.portfolio import member_due
    >>> [member_due("auto", turn)[1].method for turn in range(4)]
    ['tcgp', 'regp', 'gp-nugget', 'tcgp']
    >>> member_due("regp", 7)[1].method
    'regp'
    """
    members = METHODS[method].members or (Member(method),)
    number = turn % len(members)
    return number, members[number]


def compress(values: FloatArray, known: FloatArray) -> FloatArray:
    """The values with those above the median of the known ones drawn in: they grow with the logarithm.

    Low values matter, and a few huge ones would make a stationary model rough everywhere. Order is kept, and so is
    all that lies below the median: what a model says of improvements needs no translation.

    Parameters
    ----------
    values : array of shape (m,)
    known : array of shape (n,)
        The data. With their median m, and s its distance to the lowest, a value m + s x becomes m + s log(1 + x).

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.portfolio import compress
    >>> y = np.array([1.0, 2.0, 3.0, 1e2, 1e9])
    >>> compress(y, y).round(1)
    array([ 1. ,  2. ,  3. , 10.8, 43.1])
    """
    lowest, median = np.min(known), np.median(known)
    with np.errstate(over="ignore"):
        unit = max(median - lowest, SMALLEST_UNIT * max(abs(lowest), abs(median)))
    if not (median > lowest and np.finfo(float).tiny < unit < np.inf):
        return values
    above = values > median
    # log(1 + x) by way of log x, where x itself may be larger than any float
    with np.errstate(divide="ignore"):
        log_x = np.log(0.5 * values[above] - 0.5 * median) - np.log(0.5 * unit)
    compressed = values.copy()
    compressed[above] = median + unit * np.logaddexp(0.0, log_x)
    return compressed


def candidates(method: str, due: int) -> tuple[int, ...]:
    """Numbers of the members that may take the turn of the one due.

    They are those that interpolate, as it does. A smoothing member has its turn for itself: its predictions of exact
    data are worse, and that is what it is for.

    Examples
    --------
    >>> from tcgp.portfolio import candidates
    >>> candidates("auto", 0), candidates("auto", 2), candidates("tcgp", 0)
    ((0, 1), (2,), (0,))
    """
    numbers = _interpolating(METHODS[method].members)
    return numbers if due in numbers else (due,)


def preferred(models: Mapping[int, Model], due: int) -> int:
    """Number of the member that takes the turn: the one due, unless another predicts low values far better.

    Parameters
    ----------
    models : mapping
        The models of `candidates`, by number.
    due : int
        Number of the member whose turn it is.
    """
    if len(models) == 1:
        return due
    scores = {number: _score(model) for number, model in models.items()}
    best = min(scores, key=scores.__getitem__)
    return best if scores[due] > MUCH_WORSE * scores[best] else due


def _interpolating(members: Sequence[Member]) -> tuple[int, ...]:
    """Numbers of the members whose models pass through the data."""
    return tuple(i for i, member in enumerate(members) if METHODS[member.method].nugget is not None)


def _score(model: Model) -> float:
    """twCRPS of leave-one-out predictions below the lower quartile of the data."""
    from tcgp.scoring import leave_one_out_prediction, twcrps

    threshold = float(np.quantile(model.y, COMPARISON_LEVEL))
    return float(twcrps(leave_one_out_prediction(model), model.y, threshold) @ model.weights)


def fit_best_member(
    X: FloatArray,
    y: FloatArray,
    method: str,
    *,
    bounds: Bounds | None,
    rng: RandomState,
    state: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Model:
    """The interpolating member of a portfolio that predicts left-out low values best.

    All members are fitted, but for those that smooth: a model of exact data should pass through them. The one with
    the smallest twCRPS below the lower quartile of the data, by leave-one-out, is returned; its ``method`` says
    which it is. Parameters as in `tcgp.fit_model`.
    """
    models = []
    members = METHODS[method].members
    for number in _interpolating(members):
        member = members[number]
        warm = state if (state or {}).get("method") == member.method else None
        given = member_options(method, member, options)
        models.append(fit_model(X, y, member.method, bounds=bounds, rng=rng, state=warm, **given))
    return min(models, key=_score)
