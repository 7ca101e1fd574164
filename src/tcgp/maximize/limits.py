"""Points along learned limits, where a criterion is a ridge too thin for a gradient search."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used: it takes a fifth of a second

from tcgp._threads import single_threaded
from tcgp._typing import FloatArray
from tcgp.criteria.base import PredictiveModel
from tcgp.gp.posterior import Slopes
from tcgp.laws import Law
from tcgp.maximize.rank import MARGIN
from tcgp.region import Region

__all__ = ["Excess", "follow_limits"]

# Standard deviations by which predictions must satisfy the limits, and calls of the models for each. Between these is
# nearly the largest product of an improvement and a probability.
MARGINS = {1.0: 30, 2.0: 20, 0.0: 20}
TINY = 1e-300


@single_threaded
def follow_limits(
    model: PredictiveModel,
    limits: Sequence[PredictiveModel],
    start: FloatArray,
    low: FloatArray,
    high: FloatArray,
    region: Region,
) -> FloatArray:
    """Points of low predicted value whose predictions satisfy the limits with various margins.

    Where several limits meet, and the data have made their models sure, what is both likely to be allowed and better
    is a thin curved ridge of the criterion. Sequential quadratic programming (SLSQP) follows it as the solution
    of a problem with constraints: minimize the mean of a model where each limit's mean plus k standard
    deviations is at most 0.

    Parameters
    ----------
    model : PredictiveModel
    limits : sequence of PredictiveModel
        Of how far outputs lie above their limits.
    start : array of shape (d,)
        A good point.
    low, high : arrays of shape (d,)
        Box in which to search; coordinates of no width are held.
    region : Region
        The part of the space that known constraints allow.

    Returns
    -------
    array of shape (k, d)
        The points on the way, for k = 1, 2 and 0: the best by a criterion need not be the last. Those early on the way
        may lie outside the region.

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> from tcgp.maximize.limits import follow_limits
    >>> from tcgp.region import Region
    >>> X = np.random.default_rng(0).random((40, 2))
    >>> value = tcgp.fit_model(X, X.sum(axis=1), "gp")
    >>> limit = tcgp.fit_model(X, 0.5 - X[:, 0] ** 2 - X[:, 1] ** 2, "gp")
    >>> square = Region(tcgp.Space([(0, 1), (0, 1)]))
    >>> follow_limits(value, [limit], np.array([0.5, 0.9]), np.zeros(2), np.ones(2), square)[-1].round(2)
    array([0.  , 0.71])
    """
    if not (high > low).any():
        return start[None]
    problem = _Problem((model, *limits), region, start, low, high)
    z = problem.start
    for margin, n_calls in MARGINS.items():
        z = problem.solve(z, margin, n_calls)
    return np.array(problem.visited)


@dataclass(frozen=True)
class Excess:
    """The excess of a value over a bound, as a limit that is satisfied up to 0."""

    model: PredictiveModel
    bound: float

    @property
    def law(self) -> Law:
        """That of the model."""
        return self.model.law

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and scale at the rows of X."""
        mean, sd = self.model.predict_arrays(X)
        return mean - self.bound, sd

    def predict_slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray, Slopes]:
        """Location, scale, and what gives their gradients."""
        mean, sd, slopes = self.model.predict_slopes(X)
        return mean - self.bound, sd, slopes


class _Spent(Exception):
    """All calls are spent."""


class _Problem:
    """The problem in the free coordinates of the box, scaled to a unit cube and to slopes of one at the start."""

    def __init__(
        self,
        models: Sequence[PredictiveModel],
        region: Region,
        start: FloatArray,
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        self.models, self.region, self.origin = models, region, start
        self.free = high > low
        self.low, self.width = low[self.free], (high - low)[self.free]
        self.start = np.clip((start[self.free] - self.low) / self.width, 0.0, 1.0)
        self.visited: list[FloatArray] = []
        self._known: tuple[bytes, _Predictions] | None = None
        self._units = np.ones(len(models))
        self._n_left = 1
        self._units = np.maximum(np.abs(self._at(self.start).mean_gradient).max(axis=1), TINY)
        self._known = None  # it was in other units

    def solve(self, z: FloatArray, margin: float, n_calls: int) -> FloatArray:
        """The best point with this margin that so many calls of the models find from ``z``."""
        self._n_left, steps = n_calls, [z]
        with contextlib.suppress(_Spent):
            scipy.optimize.minimize(
                lambda z: self._at(z).mean[0],
                z,
                jac=lambda z: self._at(z).mean_gradient[0],
                method="SLSQP",
                bounds=[(0.0, 1.0)] * len(z),
                constraints={
                    "type": "ineq",
                    "fun": lambda z: self._slacks(z, margin)[0],
                    "jac": lambda z: self._slacks(z, margin)[1],
                },
                callback=lambda z: steps.append(z.copy()),
                options={"ftol": 1e-10},
            )
        return np.clip(steps[-1], 0.0, 1.0) if np.isfinite(steps[-1]).all() else z

    def _slacks(self, z: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
        """Not negative where all limits are satisfied, (k,), and the gradients."""
        at = self._at(z)
        slacks = -(at.mean + margin * at.sd)[1:]
        gradients = -(at.mean_gradient + margin * at.sd_gradient)[1:]
        return np.append(slacks, at.slacks), np.vstack([gradients, at.slack_gradients])

    def _at(self, z: FloatArray) -> _Predictions:
        """Predictions at a place, kept for the next call, which is mostly for the same one."""
        if self._known is None or self._known[0] != z.tobytes():
            if not self._n_left:
                raise _Spent
            self._n_left -= 1
            self._known = z.tobytes(), self._predict(z)
        return self._known[1]

    def _predict(self, z: FloatArray) -> _Predictions:
        x = self.origin.copy()
        x[self.free] = self.low + self.width * np.clip(z, 0.0, 1.0)
        self.visited.append(x)
        predictions = [model.predict_slopes(x[None]) for model in self.models]
        mean, sd = (np.concatenate([prediction[i] for prediction in predictions]) for i in (0, 1))
        one, zero = np.ones(1), np.zeros(1)
        mean_gradient = np.concatenate([slopes(one, zero) for _, _, slopes in predictions])
        sd_gradient = np.concatenate([slopes(zero, one) for _, _, slopes in predictions])
        scale = self.width / self._units[:, None]
        slacks, slack_gradients = (part[0] for part in self.region.slacks(x[None]))
        slack_gradients = np.nan_to_num(slack_gradients[:, self.free] * self.width)
        slacks = np.nan_to_num(slacks, nan=-1.0) - MARGIN * np.linalg.norm(slack_gradients, axis=1)
        return _Predictions(
            mean / self._units,
            sd / self._units,
            mean_gradient[:, self.free] * scale,
            sd_gradient[:, self.free] * scale,
            slacks,
            slack_gradients,
        )


class _Predictions(NamedTuple):
    """Of all models, that to be minimized first, and of the known constraints."""

    mean: FloatArray  # (k,)
    sd: FloatArray  # (k,)
    mean_gradient: FloatArray  # (k, free)
    sd_gradient: FloatArray  # (k, free)
    slacks: FloatArray  # (j,)
    slack_gradients: FloatArray  # (j, free)
