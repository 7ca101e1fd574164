"""Rules that end a run before its budget is spent, computed from the history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tcgp.record.data import Data
from tcgp.record.history import History

__all__ = ["n_without_improvement", "shares_below"]


def n_without_improvement(history: History, min_improvement: float = 0.0, data: Data | None = None) -> int:
    """Number of points that a model chose, since the last of them, or of the design, that improved on the best value.

    Parameters
    ----------
    history : History
    min_improvement : float
        What counts as an improvement: a value that is lower by more than this (higher, if that is wanted). Smaller
        steps count together.
    data : Data, optional
        What is known of the evaluations; with noise what is predicted. By default that of the history.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.running.stopping import n_without_improvement
    >>> result = tcgp.minimize(lambda x: 1.0 if x[0] else 2.0, [(0.0, 1.0)], n_evals=9, n_initial=4, rng=0)
    >>> n_without_improvement(result.optimizer.history)
    5
    """
    reference, n = math.inf, 0
    data = data or history.data
    for evaluation, value in zip(data.evaluations, data.merits, strict=True):
        n += 1
        if evaluation.id is None or history.proposals[evaluation.id].source in ("design", "given"):
            n = 0
        if value is not None and value < reference - min_improvement:
            reference, n = value, 0
    return n


def shares_below(trace: Sequence[Mapping[str, Any]], limit: float, turns: int) -> bool:
    """Whether the predicted share of better points is known and below a limit at each of the last ``turns`` points."""
    recent = [entry.get("share") for entry in trace[-turns:]]
    return len(recent) == turns and all(share is not None and share < limit for share in recent)
