"""Drought: a series of points that violate limits, though the models gave them good chances."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcgp.record.data import Data
from tcgp.record.history import History

__all__ = ["misses", "weight_of_limits"]

# The models of the limits are refuted where so many misses or more were less likely than this.
FEWEST, UNLIKELY = 3, 0.01
# Misses are expected to be this many, of a count of none, as half of one is the usual estimate.
EXPECTED = 0.5
LARGEST = 100.0


def misses(history: History, data: Data) -> list[float]:
    """Predicted chances of the latest chosen points to satisfy all limits, the last first, up to one that did.

    Evaluations that failed, and points that no model chose, say nothing about the models.

    Parameters
    ----------
    history : History
    data : Data
        What is known of its evaluations, or predicted where they are noisy.
    """
    chances = []
    for evaluation, kept in zip(reversed(data.evaluations), reversed(data.feasible.tolist()), strict=True):
        proposal = None if evaluation.id is None else history.proposals[evaluation.id]
        trace = (proposal.trace if proposal else None) or {}
        if evaluation.failed or trace.get("log_feasible") is None:
            continue
        if kept:
            break
        chances.append(math.exp(trace["log_feasible"]))
    return chances


def weight_of_limits(chances: Sequence[float]) -> float:
    """The power of the probability of satisfying limits that would have expected these misses.

    It is 1 unless the misses refute the models. The power w is such that the chances to the power of w, which are those
    that the models should have given, add up to one half.

    Examples
    --------
    >>> from tcgp.search.drought import weight_of_limits
    >>> weight_of_limits([0.5, 0.5, 0.5]), weight_of_limits([0.9, 0.9])
    (1.0, 1.0)
    >>> round(weight_of_limits([0.9, 0.9, 0.9, 0.9]), 2)
    19.74
    """
    if len(chances) < FEWEST or math.prod(1.0 - p for p in chances) >= UNLIKELY:
        return 1.0
    low, high = 1.0, LARGEST
    while high - low > 1e-6 * high:
        w = 0.5 * (low + high)
        low, high = (w, high) if sum(p**w for p in chances) > EXPECTED else (low, w)
    return high
