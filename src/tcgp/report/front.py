"""Several objectives in a report: the front, and the growth of its volume."""

from __future__ import annotations

from typing import Any

from tcgp._text import shorten
from tcgp.optimizer import Optimizer
from tcgp.optimizer.front import Front
from tcgp.record.history import Evaluation
from tcgp.report.numbers import LONGEST_TEXT, rounded

__all__ = ["front", "knee"]


def knee(optimizer: Optimizer) -> Evaluation | None:
    """The evaluation at the knee of the front; None with one objective, or without a point on the front."""
    history = optimizer.history
    if not history.goals.has_several or not len(history.data.front):
        return None
    return history.data.evaluations[Front(history).knee().index]


def front(optimizer: Optimizer) -> dict[str, Any] | None:
    """The values of all objectives, which evaluations are on the front, and the volume; None with one objective."""
    history = optimizer.history
    data, goals = history.data, history.goals
    if not goals.has_several:
        return None
    values = [list(goals.objective_values(e.x, e.y, e.outputs).values()) for e in data.evaluations]
    whole = float(data.hypervolumes[-1]) if len(data.hypervolumes) else 0.0
    return {
        "names": [shorten(quantity.text, LONGEST_TEXT) for quantity in goals.objectives],
        "maximize": [quantity.sign < 0.0 for quantity in goals.objectives],
        "values": [
            None if e.failed else [rounded(v, 10) for v in row]
            for e, row in zip(data.evaluations, values, strict=True)
        ],
        "on": data.front.tolist(),
        "volume": [rounded(v / whole, 5) if whole > 0.0 else 0.0 for v in data.hypervolumes.tolist()],
    }
