"""Which known point to evaluate again, where its value depends on more than the point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tcgp._typing import FloatArray
from tcgp.laws import Normal
from tcgp.models import Prediction
from tcgp.record.history import Evaluation
from tcgp.space import Point

__all__ = ["best_repeat"]

# The spread at a point is estimated from its own values and, with the weight of so many of them, from those of all.
_COMMON_WEIGHT = 1.0
_NO_SPREAD = 1e-12  # of the largest value: equal values still have an order of their means


def best_repeat(evaluations: Iterable[Evaluation]) -> tuple[Point, float] | None:
    """Return the known point where another evaluation promises most, and the log of its expected improvement.

    The next value at a point is taken to be normal, with the mean and the spread of the values there, and so is the
    excess over each limit. The expected improvement below the best value is multiplied by the probability that all
    limits are satisfied, and by the share of evaluations at the point that did not fail. Where no point has two values,
    the spread between the points is used instead.

    Parameters
    ----------
    evaluations : iterable of Evaluation
        All known ones, with excesses as in `tcgp.integrations.stateless.told`; a point may occur several times.

    Returns
    -------
    tuple or None
        None if no evaluation succeeded and satisfied all limits.

    Examples
    --------
    >>> from tcgp.integrations._repeats import best_repeat
    >>> from tcgp.integrations.stateless import told
    >>> best_repeat([told([0], 1.0), told([0], 1.5), told([1], 9.0), told([1], 9.5)])[0]
    (0,)
    """
    groups: dict[Point, list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(evaluation.x, []).append(evaluation)
    # An evaluation that succeeded has all its outputs, NaN where one is unknown.
    done = {x: [e for e in group if not e.failed] for x, group in groups.items()}
    done = {x: group for x, group in done.items() if group}
    tables = [np.array([[e.y, *(e.outputs or {}).values()] for e in group], float) for group in done.values()]
    feasible = [table[(table[:, 1:] <= 0.0).all(axis=1), 0] for table in tables]
    if not any(map(len, feasible)):
        return None
    best = min(values.min() for values in feasible if len(values))
    values, scale = _scaled([table[:, 0] for table in tables])
    log_ei = _next_value(values).log_expected_improvement(best / scale) + np.log(scale)
    for k in range(1, tables[0].shape[1]):
        log_ei += _log_probability([table[np.isfinite(table[:, k]), k] for table in tables])
    log_ei += np.log([(len(group) + 0.5) / (len(groups[x]) + 1.0) for x, group in done.items()])
    i = int(np.argmax(log_ei))
    return list(done)[i], float(log_ei[i])


def _log_probability(excesses: list[FloatArray]) -> FloatArray:
    """Return the log probability that the next excess is at most 0, given those at each point; 1/2 where none is."""
    known = np.array([len(values) > 0 for values in excesses])
    log_p = np.full(len(excesses), np.log(0.5))
    if known.any():
        values, _ = _scaled([values for values in excesses if len(values)])
        log_p[known] = _next_value(values).logcdf(0.0)
    return log_p


def _next_value(values: list[FloatArray]) -> Prediction:
    """Return the distribution of the next value at each point, given its values so far."""
    n = np.array([len(v) for v in values])
    mean = np.array([v.mean() for v in values])
    squares = np.array([np.sum((v - v.mean()) ** 2) for v in values])
    n_repeats = int(np.sum(n - 1))
    common = np.sum(squares) / n_repeats if n_repeats else np.var(mean)
    variance = (_COMMON_WEIGHT * common + squares) / (_COMMON_WEIGHT + n - 1)
    return Prediction(mean, np.maximum(np.sqrt(variance * (1.0 + 1.0 / n)), _NO_SPREAD), Normal())


def _scaled(values: list[FloatArray]) -> tuple[list[FloatArray], float]:
    """Divide values by the largest, so that no square overflows; return that, too."""
    scale = max(float(np.abs(v).max()) for v in values) or 1.0
    return [v / scale for v in values], scale
