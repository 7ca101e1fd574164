"""Predictions by Gaussian processes: every output of a run, the chance of satisfying the limits, and the best
design."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import FloatArray
from tcgp.methods.fit import fit_model
from tcgp.models import Model, Prediction, SpaceModel
from tcgp.scoring.sensitivity import LIMITS, Sensitivities, indices_over
from tcgp.space import Point

if TYPE_CHECKING:
    from tcgp.optimizer.view import RunView

__all__ = ["Forecast", "Outlook"]

MOST_ROWS = 300  # of the runs that models are fitted to
N_SAMPLES = 512  # of Sobol' indices, a power of 2

N_CANDIDATES = 1024  # of each round
SPREADS = (0.3, 0.1, 0.03, 0.01, 0.003)  # of the rounds about the best candidates so far, in units of the box
N_CENTRES = 12
SHARE = 0.05  # by which a limit is relaxed to see the gain


@dataclass(frozen=True)
class Forecast:
    """A design and what is predicted of it.

    Attributes
    ----------
    x : tuple
    value : float
        Prediction of the objective, with the user's sign.
    interval : (float, float)
        In which it lies with probability 0.9.
    chance : float
        Probability that all limits are satisfied, as if they were independent.
    """

    x: Point
    value: float
    interval: tuple[float, float]
    chance: float


class Outlook:
    """Gaussian processes of all objectives, limits and recorded outputs of a run.

    Parameters
    ----------
    optimizer : Optimizer
        A run with at least two evaluations that succeeded.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.optimizer.outlook import Outlook
    >>> def beam(p):
    ...     return {"mass": p["w"], "stress": 1.0 / p["w"]}
    >>> result = tcgp.minimize(beam, {"w": (0.2, 2.0)}, n_evals=9, objective="mass", constraints="stress <= 2", rng=0)
    >>> outlook = Outlook(result.optimizer)
    >>> round(outlook.forecast.value, 2), round(outlook.best(relaxed={0: 0.5}).value, 1)
    (0.5, 0.4)
    >>> list(outlook.sensitivities("limits").of)
    ['mass', 'stress', 'all limits']
    """

    def __init__(self, optimizer: RunView) -> None:
        self._optimizer = optimizer
        self._data = data = optimizer.history.data
        self._rows = data.sample(MOST_ROWS)
        if len(self._rows) < 2:
            raise ValueError("at least two runs with a value are needed")
        self._goals = optimizer.history.goals

    @cached_property
    def _objectives(self) -> list[Model]:
        """Small values of them are good."""
        return [self._of_quantity(j) for j in range(self._data.n_objectives)]

    @cached_property
    def _limits(self) -> list[tuple[Model, float, float]]:
        """For each limit a model, and the sign and the shift that make its values excesses over the limit."""
        found = []
        for j, limit in enumerate(self._goals.limits):
            name = (
                next(iter(limit.names), "") if limit.expression and len(limit.expression.program) == 1 else ""
            )
            own = name not in self.outputs
            model = self._of_quantity(self._data.n_objectives + j) if own else self.outputs[name]
            found.append((model, 1.0, 0.0) if own else (model, limit.sign, limit.bound or 0.0))
        return found

    def _of_quantity(self, j: int) -> Model:
        y, sd = self._data.Y[self._rows, j], self._data.sd[self._rows, j]
        return self._fit(y, sd if self._goals.quantities[j].noisy else None)

    def _excess(self, j: int, U: FloatArray) -> Prediction:
        """How far a limit is exceeded at codes."""
        model, sign, bound = self._limits[j]
        mean, sd = model.predict_arrays(U)
        return Prediction(sign * mean - bound, sd, model.law)

    def _fit(self, y: FloatArray, sd: FloatArray | None = None) -> Model:
        known, box = np.isfinite(y), [(0.0, 1.0)] * self._data.U.shape[1]
        U, noisy = self._data.U[self._rows][known], sd is not None
        return fit_model(
            U, y[known], "gp", bounds=box, rng=0, noise=noisy, sd=None if sd is None else sd[known]
        )

    @cached_property
    def outputs(self) -> dict[str, SpaceModel]:
        """Models of the objectives and of the outputs as they were recorded, by name.

        An output that hardly varies, or that few runs have, is left out.
        """
        space = self._optimizer.space
        found = {
            quantity.text: model.over(space, negated=quantity.sign < 0.0)
            for quantity, model in zip(self._goals.objectives, self._objectives, strict=True)
        }
        evaluations = [self._data.evaluations[row] for row in self._rows]
        for name in self._optimizer.history.output_names:
            given = [(e.outputs or {}).get(name) for e in evaluations]
            y = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
            if name not in found and len(np.unique(y[np.isfinite(y)])) > 2:
                found[name] = self._fit(y, np.full(len(y), np.nan) if self._goals.noisy else None).over(space)
        return found

    def sensitivities(self, rank: str = "both") -> Sensitivities:
        """Which parameters matter for each objective and output, and for the probability of satisfying all limits."""
        space = self._optimizer.space
        means = {name: lambda U, m=model: m.predict_arrays(U)[0] for name, model in self.outputs.items()}
        if self._goals.limits:
            means[LIMITS] = self.chance
        of = {name: indices_over(space, mean, N_SAMPLES) for name, mean in means.items()}
        return Sensitivities(of, tuple(quantity.text for quantity in self._goals.objectives), rank)

    @cached_property
    def forecast(self) -> Forecast:
        """The best predicted design for the limits as they are."""
        return self.best()

    def gains(self, among: Collection[int] | None = None) -> list[tuple[int, float, float]]:
        """The gain from relaxing each limit a little, the largest first.

        Parameters
        ----------
        among : collection of int, optional
            Places of the limits to relax; all by default.

        Returns
        -------
        list of (int, float, float)
            The place of the limit, the limit relaxed, and by how much the objective is then better. Limits that cost
            nothing are left out.
        """
        spread, found = float(np.nanstd(self._data.Y[:, 0])) or 1.0, []
        for j, limit in enumerate(self._goals.limits):
            if among is not None and j not in among:
                continue
            shift = SHARE * (abs(limit.shown_bound) or float(np.nanstd(self._data.excesses[:, j])))
            gain = self._goals.objectives[0].sign * (self.forecast.value - self.best({j: shift}).value)
            if gain > 1e-3 * spread:
                found.append((j, limit.shown_bound + limit.sign * shift, gain))
        return sorted(found, key=lambda one: -one[2])

    def best(self, relaxed: dict[int, float] | None = None) -> Forecast:
        """The design with the best predicted objective, among those predicted to satisfy all limits.

        If there are none, it is the one predicted to come closest.

        Parameters
        ----------
        relaxed : dict, optional
            By how much to relax limits, by their place in ``history.goals.limits``.
        """
        shifts = np.array([(relaxed or {}).get(j, 0.0) for j in range(len(self._goals.limits))])
        rng, space, data = np.random.default_rng(0), self._optimizer.space, self._data
        known = np.concatenate([data.U[data.ranking[:N_CENTRES]], rng.random((N_CANDIDATES, space.dim))])
        U = self._allowed(known)
        for spread in SPREADS:
            centres = U[np.argsort(self._ranks(U, shifts), kind="stable")[:N_CENTRES]]
            steps = spread * rng.standard_normal((N_CANDIDATES, space.dim))
            # Some coordinates stay: where they lie on bounds, for instance.
            steps *= rng.random(steps.shape) < 0.5
            near = np.clip(centres[rng.integers(len(centres), size=N_CANDIDATES)] + steps, 0.0, 1.0)
            U = np.concatenate([centres, self._allowed(near)])
        u = U[[int(np.argmin(self._ranks(U, shifts)))]]
        sign = self._goals.objectives[0].sign
        prediction = self._objectives[0].predict(u)
        low, high = np.ravel(prediction.interval(0.9))
        ends = sorted((sign * float(low), sign * float(high)))
        value = sign * float(prediction.mean[0])
        return Forecast(space.decode(u)[0], value, (ends[0], ends[1]), float(self.chance(u, shifts)[0]))

    def chance(self, U: FloatArray, shifts: FloatArray | None = None) -> FloatArray:
        """Probability that all limits are satisfied at codes, (m,), as if they were independent."""
        levels = np.zeros(len(self._goals.limits)) if shifts is None else shifts
        chances = [self._excess(j, U).cdf(level) for j, level in enumerate(levels)]
        return np.prod(chances, axis=0) if chances else np.ones(len(U))

    def _allowed(self, U: FloatArray) -> FloatArray:
        """Codes of points of the space that known constraints allow."""
        space, region = self._optimizer.space, self._optimizer.region
        if not space.real_coordinates.all():
            U = space.nearest(U)
        return U[region.allows_codes(U)]

    def _ranks(self, U: FloatArray, shifts: FloatArray) -> FloatArray:
        """Small where the predicted objective is small and no predicted limit is broken."""
        means, excess = self._objectives[0].predict_arrays(U)[0], np.zeros(len(U))
        for j, shift in enumerate(shifts):
            size = float(np.nanstd(self._data.excesses[self._rows, j])) or 1.0
            excess += np.maximum(self._excess(j, U).mean - shift, 0.0) / size
        worst = means.max() + 1.0
        ranks: FloatArray = np.where(excess > 0.0, worst + excess, means)
        return ranks
