"""Choose a point by the criterion of a model: the steps of an iteration of the paper's Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.criteria import Criterion, LogExpectedImprovement, LowerConfidenceBound
from tcgp.criteria.feasibility import Feasibility, WeightedCriterion, stand_in_values
from tcgp.laws.tabulated import tabulated
from tcgp.maximize import Maximum, multistart, smc
from tcgp.maximize.inert import spread_inert
from tcgp.maximize.mixed import rank_all, rank_candidates
from tcgp.methods.portfolio import turns_passed
from tcgp.methods.surrogate import Surrogate
from tcgp.models import Model
from tcgp.optimizer.history import History
from tcgp.optimizer.settings import Settings
from tcgp.optimizer.streams import FIT, INERT, SEARCH, Streams
from tcgp.space import ENUMERABLE, Point, Space

__all__ = ["Acquisition"]

# Values that stand in for those not known are at least these quantiles of the values known. With 0 for a pending
# point the model believes its prediction, but no improvement (benchmarks/efficiency/parallel.py). With the median for
# failures fewer evaluations fail, but minima beside the failing region are missed (benchmarks/reliability/failures.py).
PENDING_LEVEL, FAILED_LEVEL = 0.0, 0.25

# No point is chosen nearer than this, in every coordinate of the unit cube, to one that is known. Within a tight
# cluster of data the predicted variance is what rounding leaves of it, and its criterion noise: a run that has
# found a local minimum would spend its budget there.
SPACING = 1e-5


class Acquisition:
    """Fits the model of a run, and finds the new point with the largest criterion.

    Parameters
    ----------
    space : Space
    settings : Settings
    history : History
        Read, and never changed.
    streams : Streams
        Source of randomness.

    Attributes
    ----------
    surrogate : Surrogate
        Fits of the objective, with the states that the history records.
    """

    def __init__(self, space: Space, settings: Settings, history: History, streams: Streams) -> None:
        self.space, self.settings, self.history, self.streams = space, settings, history, streams
        self.surrogate = Surrogate(settings.method, settings.options)
        for proposal in history.proposals:
            self.surrogate.remember(proposal.fit)

    def fit(self) -> tuple[Model, dict[str, Any] | None]:
        """The model of the successes so far, and the record of its fit: see `Surrogate.fit`."""
        U, y = self.history.successes
        turn = turns_passed([e.y for e in self.history.evaluations], len(self.history.pending))
        return self.surrogate.fit(U, y, turn=turn, seed=self.streams.seed(FIT, len(y)))

    def best_new_point(self, model: Model) -> Point | None:
        """The new point with the largest criterion, or None if the criterion knows none worth evaluating."""
        model = self.informed(model)
        criterion = self.criterion(model)
        for x in self._ranked(criterion, model):
            if self.history.is_new(x, spacing=SPACING):
                if not np.isfinite(criterion(self.space.encode([x]))[0]):
                    return None
                return self._spread(criterion, x, model)
        return None

    def trace(self, model: Model, x: Point) -> dict[str, Any]:
        """What the model was that chose ``x``: see `tcgp.Optimizer`."""
        best = float(self.history.successes[1].min())
        numbers = {
            "n": len(self.history.evaluations),
            "beta": getattr(model.law, "beta", None),
            "scale": getattr(model.law, "scale", None),
            "threshold": model.threshold,
            "best": best,
            "log_ei": float(model.predict(self.space.encode([x])).log_expected_improvement(best)[0]),
        }
        return {"method": model.method, **{name: _finite_or_none(value) for name, value in numbers.items()}}

    def informed(self, model: Model) -> Model:
        """The model given a value, too high to be an improvement, at each point that is pending or has failed."""
        y = self.history.successes[1]
        pending = self.space.encode([p.x for p in self.history.pending.values()])
        U = np.vstack([pending, self.history.failures])
        if not len(U):
            return model
        predicted = model.predict(U).mean
        n = len(pending)
        values = [
            stand_in_values(predicted[:n], y, PENDING_LEVEL),
            stand_in_values(predicted[n:], y, FAILED_LEVEL),
        ]
        return model.condition(U, np.concatenate(values))

    def criterion(self, model: Model) -> Criterion:
        """The criterion of the model, weighed by the chance of success where evaluations have failed."""
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

    def _ranked(self, criterion: Criterion, model: Model) -> list[Point]:
        """Points with a large criterion, the best first; all new ones if the space has few."""
        if self.space.size <= ENUMERABLE:
            return rank_all(criterion, self.space, self.history.remaining())
        U, y = self.history.successes
        return rank_candidates(
            criterion,
            self.space,
            maximize=self._maximizer(model),
            anchors=U[np.argsort(y, kind="stable")],
            rng=self.streams.rng(SEARCH, len(self.history.proposals)),
        )

    def _spread(self, criterion: Criterion, x: Point, model: Model) -> Point:
        """Move a maximizer of log EI along real parameters that the model takes to have no effect."""
        if self.settings.criterion != "ei" or self.settings.maximizer != "multistart":
            return x
        lengthscales = np.where(self.space.real_coordinates, model.lengthscales, 0.0)
        rng = self.streams.rng(INERT, len(self.history.proposals))
        u = self.space.encode([x])[0]
        moved = self.space.decode(spread_inert(criterion, u, lengthscales, model.X, rng)[None])[0]
        return moved if self.history.is_new(moved, spacing=SPACING) else x

    def _maximizer(self, model: Model) -> Callable[..., Maximum]:
        """The way to maximize the criterion of the model over a cube."""
        if self.settings.maximizer == "multistart":
            return multistart.maximize
        if self.settings.criterion != "ei":
            return smc.maximize
        y = self.history.successes[1]
        return partial(smc.maximize, target=smc.ImprovementProbability(model, y.max(), y.min()))


def _finite_or_none(value: Any) -> Any:
    """A plain number, or None where there is no finite one: JSON has no NaN."""
    if value is None or isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _standard_deviation(y: FloatArray) -> float:
    """Standard deviation of values that may be as large as floats are."""
    largest = np.abs(y).max() or 1.0
    return float(largest * np.std(y / largest))
