"""Choose a point by the criterion of a model: the steps of an iteration of the paper's Algorithm 1."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tcgp._arrays import rows_in
from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.criteria import (
    Criterion,
    LogAugmented,
    LogAugmentedImprovement,
    LogExpectedHypervolumeImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
)
from tcgp.criteria.base import PredictiveModel
from tcgp.criteria.feasibility import Feasibility, WeightedCriterion, stand_in_values
from tcgp.criteria.hypervolume import probability_of_non_dominance
from tcgp.criteria.limits import ConstrainedCriterion, LogProbability
from tcgp.front import non_dominated, reference_point
from tcgp.goals import Quantity
from tcgp.gp.posterior import Slopes
from tcgp.gp.units import fresh_rows
from tcgp.laws import Law
from tcgp.laws.tabulated import tabulated
from tcgp.maximize import Maximum, multistart, smc
from tcgp.maximize.inert import spread_inert
from tcgp.maximize.limits import Excess, follow_limits
from tcgp.maximize.local import within
from tcgp.maximize.mixed import order
from tcgp.maximize.multistart import clouds
from tcgp.maximize.rank import rank
from tcgp.methods.portfolio import for_several, turns_passed
from tcgp.methods.published import choices_of
from tcgp.methods.surrogate import Surrogate
from tcgp.models import Model
from tcgp.record.data import Data
from tcgp.record.history import SAME_POINT, History
from tcgp.record.settings import Settings
from tcgp.record.streams import FIT, INERT, SEARCH, SHARE, Streams
from tcgp.region import Region
from tcgp.search.drought import misses, weight_of_limits
from tcgp.search.trust_region import trust_region
from tcgp.space import Point

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

# Points around those of the front where it is predicted how far the front goes on.
N_AROUND = 2000

# A front is level if so many evaluations together have added less than this share to its volume.
N_LEVEL, LEVEL = 3, 0.01

# The model of an output with a limit. Calibrated, relaxed or both in turns were not clearly better on 22 problems, and
# cost more (benchmarks/efficiency/constraints.py). Many limits are nearly linear; unbounded, their lengthscales become
# so long that predictions at the limit are rounding errors.
LIMIT_METHOD, LIMIT_OPTIONS = "gp", {"selection": "pooled", "longest": 10.0}


# What a point known already may be worth less than the best one, as a logarithm, to be evaluated again: a model takes
# two points side by side for two, and says less of either.
REPEAT = 0.05


@dataclass(frozen=True)
class Models:
    """The models of an iteration, one for each quantity; a limit without data has none.

    Attributes
    ----------
    objectives, limits : tuples of Model
        Where noise is little, an objective has one of exact values: of its predictions at the data.
    data : Data
        The data, with predictions in place of noisy values.
    cautious : Data
        The same with these one standard deviation worse.
    """

    objectives: tuple[Model, ...]
    limits: tuple[Model, ...]
    data: Data
    cautious: Data

    @classmethod
    def of(
        cls, data: Data, models: Sequence[Model | None], smoothers: Sequence[Model | None] | None = None
    ) -> Models:
        """The models of the quantities, in order, and predictions at the data: of ``smoothers``, if they are others."""
        n, smoothers = data.n_objectives, smoothers or models
        if not any(model is not None and model.noise for model in smoothers):
            data = data.without_repeats
        first, rest = ([model for model in part if model is not None] for part in (models[:n], models[n:]))
        data = smoothed(data, smoothers)
        return cls(tuple(first), tuple(rest), data, smoothed(data, models, 1.0))

    @property
    def objective(self) -> Model:
        """The first one."""
        return self.objectives[0]

    @property
    def noisy(self) -> bool:
        """Whether any of them sees noise."""
        return any(model.noise > 0.0 for model in (*self.objectives, *self.limits))

    @property
    def best_row(self) -> int | None:
        """The best evaluation; with noise the one that is best with some certainty.

        None if none satisfies all limits, or if there are several objectives.
        """
        row = self.cautious.best_row
        return self.data.best_row if row is None else row

    @property
    def best(self) -> float | None:
        """Its value, as far as it is known: the level that an improvement must beat."""
        return None if self.best_row is None else float(self.data.Y[self.best_row, 0])

    @property
    def front_rows(self) -> IntArray:
        """Of several objectives, the evaluations on the front; with noise those that are with some certainty."""
        rows = self.cautious.front if len(self.cautious.front) else self.data.front
        return rows[non_dominated(self.data.Y[rows, : self.data.n_objectives])]

    @property
    def front(self) -> FloatArray:
        """The objectives there, as far as they are known, (k, m)."""
        return self.data.Y[self.front_rows, : self.data.n_objectives]

    @property
    def has_feasible(self) -> bool:
        """Whether a point is known that satisfies all constraints."""
        return bool(self.data.feasible.any())


def smoothed(data: Data, models: Sequence[Model | None], sds: float = 0.0) -> Data:
    """The table with noisy values as models predict them, plus so many standard deviations."""
    if not any(model is not None and model.noise for model in models):
        return data
    Y = data.Y.copy()
    for model, column in zip(models, Y.T, strict=True):
        if model is not None and model.noise:
            known = ~np.isnan(column)
            mean, sd = model.predict_arrays(data.U[known])
            column[known] = mean + sds * sd
    return replace(data, Y=Y)


class Acquisition:
    """Fits the model of a run, and finds the new point with the largest criterion.

    Parameters
    ----------
    settings : Settings
    history : History
        Read, and never changed.
    streams : Streams
        Source of randomness.
    region : Region
        The space, or the part of it that known constraints allow.

    Attributes
    ----------
    surrogates : list of Surrogate
        Fits of each quantity, with the states that the history records.
    improvement : float or None
        If given, traces have the share of the space that promises such an improvement: see `share_below`.
    """

    improvement: float | None = None

    def __init__(self, settings: Settings, history: History, streams: Streams, region: Region) -> None:
        self.settings, self.history, self.streams = settings, history, streams
        self.region, self.space, self.choices = region, region.space, choices_of(settings.options)
        self.goals = history.goals
        self.surrogates = [self._surrogate(quantity) for quantity in self.goals.quantities]
        self._has_said_part = self._has_said_drought = False
        for proposal in history.proposals[history.n_stale :]:
            self.remember(proposal.fit)

    def _surrogate(self, quantity: Quantity) -> Surrogate:
        if quantity.is_limit:
            return Surrogate(LIMIT_METHOD, LIMIT_OPTIONS, quantity.bound, quantity.noisy)
        method = for_several(self.settings.method) if self.goals.has_several else self.settings.method
        return Surrogate(method, self.settings.options, noisy=quantity.noisy)

    @property
    def data(self) -> Data:
        """What is known, as models see it: repeats of a function that repeats itself tell nothing."""
        return self.history.data.without_repeats

    @property
    def number(self) -> int:
        """Number of the next point without such repeats: the run is then that of an exact function."""
        n_left_out = len(self.history.data.evaluations) - len(self.data.evaluations)
        return len(self.history.proposals) - n_left_out

    def fit(self, *, answers: bool = False) -> tuple[Models, dict[str, Any] | None]:
        """The models of the successes so far, and the record of their fits: see `Surrogate.fit`.

        They are to choose the next point; or with ``answers``, which of those evaluated is the best.
        """
        data = self.data
        n, rows = int(data.succeeded.sum()), data.sample(MOST_DATA)
        if len(rows) == MOST_DATA < n and not self._has_said_part:
            logger.warning("from here on, models are fitted to %d of the %d values", len(rows), n)
            self._has_said_part = True
        n_pending = len(self.history.pending)
        n_points = len(data.evaluations) + n_pending
        place = None if answers else n_points
        # Nearly every point enlarges the volume of several objectives: the first model would keep its turn.
        turn = n_points if self.goals.has_several else turns_passed(data.merits, n_pending)
        fits = [self._fit(j, rows, turn, place, self._level(j)) for j in range(len(self.surrogates))]
        models, records = [model for model, _ in fits], [record for _, record in fits]
        pairs = zip(self.surrogates, models, strict=True)
        smoothers = [surrogate.smoother or model for surrogate, model in pairs]
        return Models.of(self.history.data, models, smoothers), _joined(records)

    def _level(self, j: int) -> float | None:
        """The value of a quantity at which decisions are taken; None if it is the smallest one."""
        if not self.goals.has_several:
            return self.data.best_value if self.goals.limits else None
        reference = self.data.reference
        return None if reference is None or j >= len(reference) else float(reference[j])

    def _fit(
        self, j: int, rows: IntArray, turn: int, place: int | None, level: float | None
    ) -> tuple[Model | None, dict[str, Any] | None]:
        """The model of a quantity and the record of its fit; none where there is no number to model."""
        data = self.data
        known = np.isfinite(data.Y[:, j])
        if not known.any():
            return None, None
        rows, n = rows[known[rows]], int(known.sum())
        seed = self.streams.seed(FIT, int(data.succeeded.sum()), *([j] if j else []))
        U, y = data.U[rows], data.Y[rows, j]
        sd = data.sd[rows, j] if self.goals.quantities[j].noisy else None
        differ = self.history.data.repeats_differ_in(j) if self.goals.quantities[j].noisy else None
        return self.surrogates[j].fit(
            U, y, turn=turn, seed=seed, level=level, n=n, sd=sd, place=place, repeats_differ=differ
        )

    def updated(self) -> Models | None:
        """The models behind the last point, given the values told since; None before there are any."""
        columns = zip(self.surrogates, self.data.Y.T, strict=True)
        models = [surrogate.updated(self.data.U, column) for surrogate, column in columns]
        return None if models[0] is None else Models.of(self.history.data, models)

    def remember(self, record: Mapping[str, Any] | None) -> None:
        """Add the states of fits that a journal has recorded."""
        for surrogate, own in zip(self.surrogates, _parted(record, len(self.surrogates)), strict=True):
            surrogate.remember(own)

    @property
    def spacing(self) -> float:
        """Smallest distance between a new point and the others."""
        if not self.choices.adjusts_proposals:
            return SAME_POINT
        return SPACING_AT_LIMITS if self.goals.limits else SPACING

    def best_point(self, models: Models) -> Point | None:
        """The point with the largest criterion, or None if the criterion knows none worth evaluating.

        It is a new one, or with noise perhaps one that is known already.
        """
        if not models.has_feasible and not models.limits:  # limits that nothing is known about
            return None
        models = self.informed(models)
        criterion = self.criterion(models)
        for u in self._candidates(criterion, models):
            x, gain = self.space.decode(u[None])[0], criterion(self.space.nearest(u[None]))[0]
            if self._may_repeat(models):
                again, known_gain = self._best_known(criterion)
                if known_gain >= gain - REPEAT:
                    return again
            if self.history.is_new(x, spacing=self.spacing):
                return self._spread(criterion, x, models) if np.isfinite(gain) else None
        return None

    def best_known_point(self, models: Models) -> Point:
        """Of the points evaluated with success, the one that is most worth to be evaluated again."""
        return self._best_known(self.criterion(self.informed(models)))[0]

    def _best_known(self, criterion: Criterion) -> tuple[Point, float]:
        """The point evaluated with success with the largest criterion, and the criterion there."""
        data = self.data
        rows = np.flatnonzero(data.succeeded & data.allowed)
        gains = criterion(data.U[rows])
        best = int(np.argmax(gains))
        return data.evaluations[rows[best]].x, float(gains[best])

    def _may_repeat(self, models: Models) -> bool:
        """Whether evaluations at one point tell more than one of them."""
        return models.noisy and self.history.data.repeats_differ is not False

    def _candidates(self, criterion: Criterion, models: Models) -> Iterator[FloatArray]:
        """Codes with a large criterion, the best first; where a local step is due, the best of that before all."""
        box = self._trust_region(models)
        if box is not None:
            yield self._ranked(criterion, models, box)[0]
        yield from self._ranked(criterion, models)

    def _trust_region(self, models: Models) -> tuple[FloatArray, FloatArray] | None:
        """Limits make the criterion look far outside, where values are low: every other step stays near the best.

        In a drought, every step does.
        """
        if not self.goals.limits or not self._may_stay:
            return None
        data, stays = models.data, self._weight_of_limits(models) > 1.0
        return trust_region(data.U, data.merits, self.settings.n_initial or 0, stays=stays)

    @property
    def _may_stay(self) -> bool:
        """Whether local steps are made: with known constraints, integers or choices no gain was seen (docs/tried.csv).

        With several objectives there is no best point, and steps from a front point go along the limits.
        """
        is_box = self.region.allows_all and bool(self.space.real_coordinates.all())
        return is_box and not self.goals.has_several

    def _weight_of_limits(self, models: Models) -> float:
        """The power of the probability that limits are satisfied: above 1 in a drought, with one warning."""
        chances = misses(self.history, models.data)
        weight = weight_of_limits(chances)
        if weight > 1.0 and not self._has_said_drought:
            logger.warning(
                "the last %d points violated a limit, though the models gave them chances of %.0f to %.0f %%: until "
                "one satisfies all limits, the search %sweighs limits more",
                *(len(chances), 100.0 * min(chances), 100.0 * max(chances)),
                "stays near good points and " if self._may_stay else "",
            )
        self._has_said_drought = weight > 1.0
        return weight

    def trace(self, models: Models, x: Point) -> dict[str, Any]:
        """Description of the models that chose ``x``: see `tcgp.Optimizer`."""
        model, best, u = models.objective, models.best, self.space.encode([x])
        numbers = {
            "n": len(self.history.evaluations),
            "beta": getattr(model.law, "beta", None),
            "scale": getattr(model.law, "scale", None),
            "threshold": model.threshold,
            "best": best,
            "log_ei": None if best is None else float(_log_improvement(model, best)(u)[0]),
        }
        if models.limits:
            numbers["log_feasible"] = float(sum(limit.predict(u).logcdf(0.0)[0] for limit in models.limits))
        if (smoother := self.surrogates[0].smoother) is not None:
            numbers["noise"] = smoother.noise
        if self.improvement is not None:
            numbers["share"] = self.share_below(models, self.improvement)
        return {"method": model.method, **{name: _finite_or_none(value) for name, value in numbers.items()}}

    def share_below(self, models: Models, improvement: float) -> float | None:
        """Predicted share of the space where the value is below the best by more than ``improvement``.

        The mean of the probability over a fixed sample, by the law of the model; limits on outputs must be satisfied,
        too. None if there is no best value. With several objectives it is the share that no point of the front
        dominates.
        """
        if not models.has_feasible:
            return None
        if self.goals.has_several:
            front = models.front
            p = probability_of_non_dominance(models.objectives, self._sample, front, self._reference(models))
            with np.errstate(divide="ignore"):
                log_p = np.log(p)
        else:
            assert models.best is not None
            log_p = models.objective.predict(self._sample).logcdf(models.best - improvement)
        for limit in models.limits:
            log_p = log_p + limit.predict(self._sample).logcdf(0.0)
        with np.errstate(under="ignore"):
            p = np.exp(log_p)
        if math.isfinite(self.space.size) and not models.noisy:  # the sample may hit a point that is known
            p[rows_in(self._sample, self.history.data.U)] = 0.0
        return float(p.mean())

    @cached_property
    def _sample(self) -> FloatArray:
        """Codes of points spread over the allowed part of the space."""
        return self.space.nearest(self.region.sample(N_SHARE, self.streams.rng(SHARE)))

    def informed(self, models: Models) -> Models:
        """The models given values at each point that is pending or has failed.

        Those of an objective are too high to be an improvement. A limit is believed to be as predicted where a point is
        pending; of failures it learns nothing. So is each of several objectives: what is predicted belongs to the front
        then, and is no improvement either.
        """
        data, pending = models.data, self._pending
        n, U = len(pending), np.vstack([pending, data.failures])
        pending_level = None if self.goals.has_several else PENDING_LEVEL

        def sceptical(predicted: FloatArray, y: FloatArray) -> FloatArray:
            waiting = (
                predicted[:n] if pending_level is None else stand_in_values(predicted[:n], y, pending_level)
            )
            return np.concatenate([waiting, stand_in_values(predicted[n:], y, FAILED_LEVEL)])

        values = data.Y[data.succeeded].T
        return replace(
            models,
            objectives=tuple(
                _conditioned(model, U, partial(sceptical, y=y), n)
                for model, y in zip(models.objectives, values, strict=False)
            ),
            limits=tuple(_conditioned(model, pending) for model in models.limits),
        )

    @property
    def _pending(self) -> FloatArray:
        """Codes of the points that are pending."""
        return self.space.encode([p.x for p in self.history.pending.values()])

    def _improvement(self, models: Models) -> Criterion | None:
        """Log expected improvement of the best value, or of the volume of the front; None if there is neither."""
        data = models.data
        if not self.goals.has_several:
            return None if models.best is None else _normalized_log_improvement(models.objective, models.best)
        if data.reference is None:
            return None
        front = np.vstack([models.front, _expected(models, self._pending)])
        gain = LogExpectedHypervolumeImprovement(models.objectives, front, self._reference(models))
        return LogAugmented(gain, models.objectives) if models.noisy else gain

    def _reference(self, models: Models) -> FloatArray:
        """The point up to which the volume of the front counts: that of what is known and of what is predicted.

        What is known may be a short piece of the front, and what lies beyond it would be of no use. The predicted front
        is that of a sample of the space and of points around those that are known: to reach out farther, as to the
        worst of all data, makes a run spend its evaluations on the ends. Only when the front is level does every other
        proposal reach out by its width: there may be further pieces of it.
        """
        data, given = models.data, self.goals.reference
        assert data.reference is not None
        rng = self.streams.rng(SHARE, self.number)
        cloud, _ = clouds(data.U[models.front_rows], N_AROUND, rng)
        cloud = cloud[self.region.allows_codes(cloud)]
        front = models.front
        expected = _expected(models, np.vstack([self._sample, cloud]))
        is_new = ~(front[:, None] <= expected).all(axis=2).any(axis=0)
        both = np.vstack([front, expected[is_new & ~(expected > given).any(axis=1)]])
        reference = reference_point(both[non_dominated(both)], data.Y[data.succeeded, : data.n_objectives])
        reference = np.maximum(reference, data.reference)
        volumes = data.hypervolumes
        is_level = len(volumes) > N_LEVEL and volumes[-1] - volumes[-1 - N_LEVEL] < LEVEL * volumes[-1]
        if is_level and self.number % 2:
            reference = np.maximum(reference, data.reference + np.ptp(front, axis=0))
        return np.where(np.isnan(given), reference, given)

    def criterion(self, models: Models) -> Criterion:
        """The criterion of the models, weighted by the chance that limits are satisfied and that evaluations
        succeed."""
        model = models.objective
        U, y = models.data.successes
        criterion: Criterion | None = None
        weight = 1.0
        if self.settings.criterion == "ei":
            criterion = self._improvement(models)
        else:
            criterion, weight = LowerConfidenceBound(model, self.settings.epsilon), _standard_deviation(y)
        if models.limits:
            limits = [LogProbability(limit, 0.0) for limit in models.limits]
            criterion = ConstrainedCriterion(criterion, limits, weight * self._weight_of_limits(models))
        assert criterion is not None
        failed = self.data.failures
        if not len(failed):
            return criterion
        return WeightedCriterion(criterion, Feasibility(U, failed, model.lengthscales), weight)

    def _ranked(
        self, criterion: Criterion, models: Models, box: tuple[FloatArray, FloatArray] | None = None
    ) -> FloatArray:
        """Codes with a large criterion, in the box if there is one, the best first; all new ones if they are few."""
        if self.region.codes is not None:
            return order(criterion, self.space, self.history.remaining(repeats=self._may_repeat(models)))
        data = models.data
        excess = np.maximum(data.excesses[data.succeeded], 0.0).sum(axis=1)
        anchors = data.U[data.succeeded][np.lexsort([data.standing[data.succeeded], excess])]
        maximize = self._maximizer(models.objective)
        ranked = rank(
            criterion,
            self.region,
            maximize=maximize if box is None else within(*box, maximize),
            anchors=anchors,
            rng=self.streams.rng(SEARCH, self.number),
            snaps=self.choices.adjusts_proposals,
        )
        if not models.limits or not models.has_feasible:
            return ranked
        return order(criterion, self.space, np.vstack([ranked, self._along_limits(models, anchors[0], box)]))

    def _along_limits(
        self, models: Models, start: FloatArray, box: tuple[FloatArray, FloatArray] | None
    ) -> FloatArray:
        """Codes along the limits on outputs, from a good one.

        With several objectives the good ones are those of the front in turn, and so are the objectives that are made
        lower, where the others become no higher.
        """
        objective: PredictiveModel = models.objective
        limits: tuple[PredictiveModel, ...] = models.limits
        if self.goals.has_several:
            data, rows, k = models.data, models.front_rows, self.number
            row, j = rows[k % len(rows)], k // len(rows) % data.n_objectives
            start, objective = data.U[row], models.objectives[j]
            others = [
                Excess(model, float(data.Y[row, i])) for i, model in enumerate(models.objectives) if i != j
            ]
            limits = (*limits, *others)
        real = self.space.real_coordinates
        low, high = box or (np.zeros(self.space.dim), np.ones(self.space.dim))
        low, high = np.where(real, low, start), np.where(real, high, start)
        codes = follow_limits(objective, limits, start, low, high, self.region)
        return codes[self.region.allows(self.space.decode(codes))]

    def _spread(self, criterion: Criterion, x: Point, models: Models) -> Point:
        """Move a maximizer of log EI along real parameters that all models take to have no effect."""
        if (
            not self.choices.adjusts_proposals
            or self.settings.criterion != "ei"
            or self.settings.maximizer != "multistart"
            or not self.region.allows_all
        ):
            return x
        model = models.objective
        shortest = np.min([each.lengthscales for each in (*models.objectives, *models.limits)], axis=0)
        lengthscales = np.where(self.space.real_coordinates, shortest, 0.0)
        rng = self.streams.rng(INERT, self.number)
        u = self.space.encode([x])[0]
        moved = self.space.decode(spread_inert(criterion, u, lengthscales, model.X, rng)[None])[0]
        return moved if self.history.is_new(moved, spacing=self.spacing) else x

    def _maximizer(self, model: Model) -> Callable[..., Maximum]:
        """The way to maximize the criterion of the model over a cube."""
        if self.settings.maximizer == "multistart":
            return multistart.maximize
        if self.settings.criterion != "ei":
            return smc.maximize
        y = self.data.successes[1]
        return partial(smc.maximize, target=smc.ImprovementProbability(model, y.max(), y.min()))


def _expected(models: Models, U: FloatArray) -> FloatArray:
    """Predicted objectives at those of the points that are predicted to satisfy all limits, (k, m)."""
    for limit in models.limits:
        U = U[limit.predict_arrays(U)[0] <= 0.0]
    return np.column_stack([model.predict_arrays(U)[0] for model in models.objectives])


def _conditioned(
    model: Model,
    U: FloatArray,
    values: Callable[[FloatArray], FloatArray] = np.asarray,
    n_pending: int | None = None,
) -> Model:
    """The model given values, by default its own predictions, at those of the points that it does not know.

    With noise it learns from another evaluation of a point that it knows, too: the first ones are pending.
    """
    if not len(U):
        return model
    new = fresh_rows(U, model.X)
    new[:n_pending] |= model.noise > 0.0
    return model.condition(U[new], values(model.predict(U).mean)[new]) if new.any() else model


def _joined(records: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The records of fits of the quantities as one: that of the first, with those of the others by their places."""
    first, *others = records
    known = {str(k): record for k, record in enumerate(others) if record is not None}
    return {**(first or {}), "limits": known} if known else first


def _parted(record: Mapping[str, Any] | None, n: int) -> list[Mapping[str, Any] | None]:
    """The records of fits of each of n quantities."""
    if record is None:
        return [None] * n
    others = record.get("limits", {})
    return [record if "state" in record else None, *(others.get(str(k)) for k in range(n - 1))]


def _log_improvement(model: Model, best: float) -> LogExpectedImprovement | LogAugmentedImprovement:
    """Log EI, augmented where evaluations are noisy.

    The law's improvement comes from a table: searches ask for it many times, at few points.
    """
    if model.noise:
        return LogAugmentedImprovement(model, best, model.noise, tabulated(model.law))
    return LogExpectedImprovement(model, best, tabulated(model.law))


def _normalized_log_improvement(
    model: Model, best: float
) -> LogExpectedImprovement | LogAugmentedImprovement:
    """The same of the normalized values, but for a constant: what a search asks for."""
    units, law = model.interpolator.units_, tabulated(model.law)
    level = float(units.y_to_unit(np.asarray(best)))
    if model.noise:
        return LogAugmentedImprovement(_Normalized(model), level, model.noise / units.y_unit, law)
    return LogExpectedImprovement(_Normalized(model), level, law)


@dataclass(frozen=True)
class _Normalized:
    """A model as its interpolator has it: of values of mean 0 and standard deviation 1.

    Checks and units take as long as the prediction of a few points. Without units, searches are the same in all.
    """

    model: Model

    @property
    def law(self) -> Law:
        return self.model.law

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.interpolator.posterior_.predict(X)

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        return self.model.interpolator.posterior_.predict_slopes(X)


def _finite_or_none(value: Any) -> Any:
    """A plain number, or None if it is not finite: JSON has no NaN."""
    if value is None or isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _standard_deviation(y: FloatArray) -> float:
    """Standard deviation of values that may be near the largest float."""
    largest = np.abs(y).max() or 1.0
    return float(largest * np.std(y / largest))
