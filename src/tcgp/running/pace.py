"""Estimate the remaining time of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tcgp.record.history import History

__all__ = ["seconds_left"]

RECENT = 20  # evaluations and proposals that tell the pace
LONG = 30.0  # seconds of an evaluation compared with which those of a model do not matter


def seconds_left(history: History, n_evals: int, capacity: int) -> float | None:
    """Seconds until a budget is spent, at the recent pace; None if it is not known.

    The pace is in the journal, so that it is known right after a resume. As long as no model has chosen a point, it is
    not known how long that takes: there is then an estimate only if an evaluation takes far longer.

    Parameters
    ----------
    history : History
    n_evals : int
        The budget.
    capacity : int
        Number of parallel evaluations.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.running.pace import seconds_left
    >>> optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    >>> optimizer.tell(optimizer.ask(), 1.0, seconds=60.0)
    >>> seconds_left(optimizer.history, 11, capacity=2)
    300.0
    """
    evaluating = _recent_mean([e.seconds for e in history.evaluations if e.seconds is not None])
    if evaluating is None:
        return None
    traces = [proposal.trace for proposal in history.proposals[-RECENT:] if proposal.trace is not None]
    choosing = _recent_mean([(t.get("t_fit") or 0.0) + (t.get("t_maximize") or 0.0) for t in traces])
    if choosing is None and evaluating < LONG:
        return None
    n_left = max(n_evals - history.n_done, 0)
    return n_left * (evaluating / max(min(capacity, n_left), 1) + (choosing or 0.0))


def _recent_mean(values: Sequence[float]) -> float | None:
    return fmean(values[-RECENT:]) if values else None
