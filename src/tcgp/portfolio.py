"""Portfolios: methods that take turns, so that each makes up for what the others do not see."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcgp._typing import Bounds, FloatArray, RandomState
from tcgp.models import METHODS, Member, Model, fit_model, member_options

__all__ = ["fit_best_member", "member_due", "turns_passed"]

# Members are compared by their leave-one-out predictions below this quantile of the data.
COMPARISON_LEVEL = 0.25
# Share of the way from the median to the best value that counts as an improvement.
SMALLEST_GAIN = 1e-3


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
    from tcgp.scoring import loo_scores

    threshold = float(np.quantile(y, COMPARISON_LEVEL))
    models = []
    for member in METHODS[method].members:
        if METHODS[member.method].nugget is not None:
            warm = state if (state or {}).get("method") == member.method else None
            given = member_options(method, member, options)
            models.append(fit_model(X, y, member.method, bounds=bounds, rng=rng, state=warm, **given))
    return min(models, key=lambda model: loo_scores(model, threshold=threshold).twcrps)
