"""Choose a point by the criterion of a model: the steps of an iteration of the paper's Algorithm 1."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.criteria import Criterion, LogExpectedImprovement, LowerConfidenceBound
from tcgp.criteria.feasibility import Feasibility, WeightedCriterion, stand_in_values
from tcgp.criteria.limits import ConstrainedCriterion, LogProbability
from tcgp.gp.units import fresh_rows
from tcgp.laws.tabulated import tabulated
from tcgp.maximize import Maximum, multistart, smc
from tcgp.maximize.constrained import rank_constrained
from tcgp.maximize.inert import spread_inert
from tcgp.maximize.limits import follow_limits
from tcgp.maximize.local import within
from tcgp.maximize.mixed import rank_all, rank_candidates
from tcgp.methods.portfolio import turns_passed
from tcgp.methods.published import choices_of
from tcgp.methods.scaled import ScaledSurrogate
from tcgp.methods.surrogate import Surrogate
from tcgp.models import Model
from tcgp.record.history import SAME_POINT, History
from tcgp.record.settings import Settings
from tcgp.record.streams import FIT, INERT, SEARCH, SHARE, Streams
from tcgp.region import Region
from tcgp.search.trust_region import trust_region
from tcgp.space import ENUMERABLE, Point, Space

__all__ = ["Acquisition"]

logger = logging.getLogger("tcgp")

# Values that stand in for those not known are at least these quantiles of the values known. With 0 for a pending
# point the model believes its prediction, but no improvement (benchmarks/efficiency/parallel.py). With the median for
# failures fewer evaluations fail, but minima beside the failing region are missed (benchmarks/reliability/failures.py).
PENDING_LEVEL, FAILED_LEVEL = 0.0, 0.25

# No point is chosen nearer than this, in every coordinate of the unit cube, to one that is known. Within a tight
# cluster of data the predicted variance is what rounding leaves of it, and its criterion noise: a run that has
# found a local minimum would spend its budget there. A minimum at a limit is a slope, not a valley: there the value
# changes with the distance and not with its square, and a finer spacing pays.
SPACING, SPACING_AT_LIMITS = 1e-5, 1e-7

# Models are exact, and the time of a fit grows with the cube of the data: of more evaluations than this, the best and
# others spread evenly over the run stand for all (benchmarks/speed/many_data.py).
MOST_DATA = 1500

# Points over which the share of the space that promises an improvement is averaged: a share of 1e-3 is then known to a
# third of itself where the probability is 0 or 1, and better elsewhere.
N_SHARE = 4000

# The model of an output with a limit. Calibrated, relaxed or both in turns were not clearly better on 22 problems, and
# cost more (benchmarks/efficiency/constraints.py). Many limits are nearly linear; unbounded, their lengthscales become
# so long that predictions at the limit are rounding errors.
LIMIT_METHOD, LIMIT_OPTIONS = "gp", {"selection": "pooled", "longest": 10.0}


@dataclass(frozen=True)
class Models:
    """The models of an iteration: of the objective, and of how far outputs lie above their limits."""

    objective: Model
    limits: tuple[Model, ...] = ()


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
    improvement : float or None
        If given, traces have the share of the space that promises such an improvement: see `share_below`.
    """

    improvement: float | None = None

    def __init__(
        self,
        space: Space,
        settings: Settings,
        history: History,
        streams: Streams,
        region: Region | None = None,
    ) -> None:
        self.space, self.settings, self.history, self.streams = space, settings, history, streams
        self.region, self.choices = region, choices_of(settings.options)
        self.surrogate = Surrogate(settings.method, settings.options)
        self.limit_surrogates = [
            ScaledSurrogate(LIMIT_METHOD, LIMIT_OPTIONS, limit.bound) for limit in history.goals.limits
        ]
        self._has_said_part = False
        for proposal in history.proposals[history.n_stale :]:
            self.remember(proposal.fit)

    def fit(self) -> tuple[Models, dict[str, Any] | None]:
        """The models of the successes so far, and the record of their fits: see `Surrogate.fit`."""
        U, y = self.history.successes
        turn = turns_passed(self._feasible_values, len(self.history.pending))
        level = self.best if self.limit_surrogates else None
        rows, seed = self.history.sample(MOST_DATA), self.streams.seed(FIT, len(y))
        if len(rows) == MOST_DATA < len(y) and not self._has_said_part:
            logger.warning("models are fitted to %d of the %d values from here on", len(rows), len(y))
            self._has_said_part = True
        model, record = self.surrogate.fit(U[rows], y[rows], turn=turn, seed=seed, level=level, n=len(y))
        known = np.isfinite(self.history.excesses).any(axis=0)  # without a number there is nothing to model
        fits = {k: self._fit_limit(k, rows, turn) for k in np.flatnonzero(known).tolist()}
        records = {str(k): record for k, (_, record) in fits.items() if record is not None}
        if records:
            record = {**(record or {}), "limits": records}
        return Models(model, tuple(model for model, _ in fits.values())), record

    def _fit_limit(self, k: int, rows: IntArray, turn: int) -> tuple[Model, dict[str, Any] | None]:
        """The model of how far an output lies above its limit: decisions are taken at 0."""
        excess = self.history.excesses[:, k]
        known = np.isfinite(excess)
        rows, n = rows[known[rows]], int(known.sum())
        seed = self.streams.seed(FIT, len(excess), k + 1)
        U = self.history.successes[0][rows]
        return self.limit_surrogates[k].fit(U, excess[rows], turn=turn, seed=seed, n=n)

    def updated(self) -> Models | None:
        """The models behind the last point, given the values told since; None before there are any."""
        U, y = self.history.successes
        objective = self.surrogate.updated(U, y)
        if objective is None:
            return None
        known = np.isfinite(self.history.excesses)
        limits = (
            surrogate.updated(U[known[:, k]], self.history.excesses[known[:, k], k])
            for k, surrogate in enumerate(self.limit_surrogates)
        )
        return Models(objective, tuple(model for model in limits if model is not None))

    def remember(self, record: Mapping[str, Any] | None) -> None:
        """Add the states of fits that a journal has recorded."""
        if record is None:
            return
        self.surrogate.remember(record if "state" in record else None)
        for k, limit in record.get("limits", {}).items():
            self.limit_surrogates[int(k)].remember(limit)

    @property
    def _feasible_values(self) -> list[float | None]:
        """Values to be minimized of all evaluations in order; None for one that failed or broke a limit."""
        sign, history = self.history.goals.sign, self.history
        return [
            sign * e.y if e.y is not None and history.keeps_limits(e) else None for e in history.evaluations
        ]

    @property
    def spacing(self) -> float:
        """Smallest distance between a new point and the others."""
        if not self.choices.adjusts_proposals:
            return SAME_POINT
        return SPACING_AT_LIMITS if self.limit_surrogates else SPACING

    @property
    def best(self) -> float | None:
        """The smallest value that keeps all limits; None if there is none."""
        y = self.history.successes[1][self.history.feasible]
        return float(y.min()) if len(y) else None

    def best_new_point(self, models: Models) -> Point | None:
        """The new point with the largest criterion, or None if the criterion knows none worth evaluating."""
        if self.best is None and not models.limits:  # limits that nothing is known about
            return None
        models = Models(self.informed(models.objective), tuple(map(self._believing, models.limits)))
        criterion = self.criterion(models)
        for x in self._candidates(criterion, models):
            if self.history.is_new(x, spacing=self.spacing):
                if not np.isfinite(criterion(self.space.encode([x]))[0]):
                    return None
                return self._spread(criterion, x, models)
        return None

    def _candidates(self, criterion: Criterion, models: Models) -> Iterator[Point]:
        """Points with a large criterion, the best first; where a local step is due, the best of that before all."""
        box = self._trust_region()
        if box is not None:
            yield self._ranked(criterion, models, box)[0]
        yield from self._ranked(criterion, models)

    def _trust_region(self) -> tuple[FloatArray, FloatArray] | None:
        """Limits make the criterion look far outside, where values are low: every other step stays near the best."""
        if not self.limit_surrogates or self.region is not None or not self.space.real_coordinates.all():
            return None
        codes = self.space.encode([e.x for e in self.history.evaluations])
        return trust_region(codes, self._feasible_values, self.settings.n_initial or 0)

    def trace(self, models: Models, x: Point) -> dict[str, Any]:
        """What the models were that chose ``x``: see `tcgp.Optimizer`."""
        model, best, u = models.objective, self.best, self.space.encode([x])
        numbers = {
            "n": len(self.history.evaluations),
            "beta": getattr(model.law, "beta", None),
            "scale": getattr(model.law, "scale", None),
            "threshold": model.threshold,
            "best": best,
            "log_ei": None if best is None else float(_log_expected_improvement(model, best)(u)[0]),
        }
        if models.limits:
            numbers["log_feasible"] = float(sum(limit.predict(u).logcdf(0.0)[0] for limit in models.limits))
        if self.improvement is not None:
            numbers["share"] = self.share_below(models, self.improvement)
        return {"method": model.method, **{name: _finite_or_none(value) for name, value in numbers.items()}}

    def share_below(self, models: Models, improvement: float) -> float | None:
        """Predicted share of the space where the value is below the best by more than ``improvement``.

        The mean of the probability over a fixed sample, by the law of the model; limits on outputs must be kept, too.
        None if there is no best value.
        """
        if self.best is None:
            return None
        log_p = models.objective.predict(self._sample).logcdf(self.best - improvement)
        for limit in models.limits:
            log_p = log_p + limit.predict(self._sample).logcdf(0.0)
        with np.errstate(under="ignore"):
            p = np.exp(log_p)
        if math.isfinite(self.space.size):  # the sample may hit a point that is known
            p[[self.history.find(x) is not None for x in self._sample_points]] = 0.0
        return float(p.mean())

    @cached_property
    def _sample_points(self) -> list[Point]:
        """Points spread over the space, or over the allowed part of it."""
        sampler = self.space if self.region is None else self.region
        return sampler.sample(N_SHARE, self.streams.rng(SHARE))

    @cached_property
    def _sample(self) -> FloatArray:
        """Codes of these points."""
        return self.space.encode(self._sample_points)

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
        new = fresh_rows(U, model.X)
        return model.condition(U[new], np.concatenate(values)[new]) if new.any() else model

    def _believing(self, limit: Model) -> Model:
        """The model of a limit given its own predictions at the points that are pending."""
        U = self.space.encode([p.x for p in self.history.pending.values()])
        U = U[fresh_rows(U, limit.X)]
        return limit.condition(U, limit.predict(U).mean) if len(U) else limit

    def criterion(self, models: Models) -> Criterion:
        """The criterion of the models, weighed by the chance that limits are kept and that evaluations succeed."""
        model, best = models.objective, self.best
        U, y = self.history.successes
        criterion: Criterion | None = None
        weight = 1.0
        if self.settings.criterion == "ei":
            if best is not None:
                criterion = _log_expected_improvement(model, best)
        else:
            criterion, weight = LowerConfidenceBound(model, self.settings.epsilon), _standard_deviation(y)
        if models.limits:
            limits = [LogProbability(limit, 0.0) for limit in models.limits]
            criterion = ConstrainedCriterion(criterion, limits, weight)
        assert criterion is not None
        failed = self.history.failures
        if not len(failed):
            return criterion
        return WeightedCriterion(criterion, Feasibility(U, failed, model.lengthscales), weight)

    def _ranked(
        self, criterion: Criterion, models: Models, box: tuple[FloatArray, FloatArray] | None = None
    ) -> list[Point]:
        """Points with a large criterion, in the box if there is one, the best first; all new ones if there are few."""
        if self.space.size <= ENUMERABLE:
            return rank_all(criterion, self.space, self.history.remaining(self.region))
        U, y = self.history.successes
        excess = np.maximum(self.history.excesses, 0.0).sum(axis=1)
        anchors = U[np.lexsort([y, excess])]
        rng = self.streams.rng(SEARCH, len(self.history.proposals))
        if self.region is not None:
            ranked = rank_constrained(criterion, self.region, anchors=anchors, rng=rng)
        else:
            maximize = self._maximizer(models.objective)
            ranked = rank_candidates(
                criterion,
                self.space,
                maximize=maximize if box is None else within(*box, maximize),
                anchors=anchors,
                rng=rng,
                snaps=self.choices.adjusts_proposals,
            )
        if not models.limits or self.best is None:
            return ranked
        return rank_all(criterion, self.space, ranked + self._along_limits(models, anchors[0], box))

    def _along_limits(
        self, models: Models, start: FloatArray, box: tuple[FloatArray, FloatArray] | None
    ) -> list[Point]:
        """Points along the limits on outputs, from a good one."""
        real = self.space.real_coordinates
        low, high = box or (np.zeros(self.space.dim), np.ones(self.space.dim))
        low, high = np.where(real, low, start), np.where(real, high, start)
        points = self.space.decode(
            follow_limits(models.objective, models.limits, start, low, high, self.region)
        )
        if self.region is None:
            return points
        return [x for x, is_allowed in zip(points, self.region.allows(points), strict=True) if is_allowed]

    def _spread(self, criterion: Criterion, x: Point, models: Models) -> Point:
        """Move a maximizer of log EI along real parameters that all models take to have no effect."""
        if (
            not self.choices.adjusts_proposals
            or self.settings.criterion != "ei"
            or self.settings.maximizer != "multistart"
            or self.region is not None
        ):
            return x
        model = models.objective
        shortest = np.min([model.lengthscales, *(limit.lengthscales for limit in models.limits)], axis=0)
        lengthscales = np.where(self.space.real_coordinates, shortest, 0.0)
        rng = self.streams.rng(INERT, len(self.history.proposals))
        u = self.space.encode([x])[0]
        moved = self.space.decode(spread_inert(criterion, u, lengthscales, model.X, rng)[None])[0]
        return moved if self.history.is_new(moved, spacing=self.spacing) else x

    def _maximizer(self, model: Model) -> Callable[..., Maximum]:
        """The way to maximize the criterion of the model over a cube."""
        if self.settings.maximizer == "multistart":
            return multistart.maximize
        if self.settings.criterion != "ei":
            return smc.maximize
        y = self.history.successes[1]
        return partial(smc.maximize, target=smc.ImprovementProbability(model, y.max(), y.min()))


def _log_expected_improvement(model: Model, best: float) -> LogExpectedImprovement:
    """Log EI with the law's improvement from a table: searches ask for it many times, at few points."""
    return LogExpectedImprovement(model, best, tabulated(model.law))


def _finite_or_none(value: Any) -> Any:
    """A plain number, or None where there is no finite one: JSON has no NaN."""
    if value is None or isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _standard_deviation(y: FloatArray) -> float:
    """Standard deviation of values that may be as large as floats are."""
    largest = np.abs(y).max() or 1.0
    return float(largest * np.std(y / largest))
