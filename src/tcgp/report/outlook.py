"""What the models of a run predict to be the best design, for the limits as they are or relaxed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcgp._typing import FloatArray
from tcgp.methods.fit import fit_model
from tcgp.optimizer import Optimizer
from tcgp.scoring.sensitivity import indices
from tcgp.space import Point

__all__ = ["LIMITS", "Forecast", "Outlook", "importance_of_outputs"]

LIMITS = "all limits"  # what the probability of keeping them is called among the outputs
N_SAMPLES = 512  # of Sobol' indices, a power of 2

N_CANDIDATES = 1024  # of each round
SPREADS = (0.3, 0.1, 0.03, 0.01, 0.003)  # of the rounds about the best candidates so far, in units of the box
N_CENTRES = 12


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
        That all limits are kept, as if they were independent.
    """

    x: Point
    value: float
    interval: tuple[float, float]
    chance: float


class Outlook:
    """Gaussian processes of the first objective and of all limits of a run.

    Parameters
    ----------
    optimizer : Optimizer
        A run with at least two evaluations that succeeded.

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.report.outlook import Outlook
    >>> def beam(p):
    ...     return {"mass": p["w"], "stress": 1.0 / p["w"]}
    >>> result = tcgp.minimize(beam, {"w": (0.2, 2.0)}, n_evals=9, objective="mass", constraints="stress <= 2", rng=0)
    >>> outlook = Outlook(result.optimizer)
    >>> round(outlook.best().value, 2), round(outlook.best(relaxed={0: 0.5}).value, 1)
    (0.5, 0.4)
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        data = optimizer.history.data
        rows = data.distinct
        if len(rows) < 2:
            raise ValueError("at least two runs with a value are needed")
        box = [(0.0, 1.0)] * data.U.shape[1]
        columns = [0, *range(data.n_objectives, data.Y.shape[1])]
        known = [rows[np.isfinite(data.Y[rows, j])] for j in columns]
        self._models = [
            fit_model(data.U[r], data.Y[r, j], "gp", bounds=box, rng=0)
            for r, j in zip(known, columns, strict=True)
        ]
        self._sizes = np.array([np.std(data.Y[r, j]) or 1.0 for r, j in zip(known, columns, strict=True)])

    def best(self, relaxed: dict[int, float] | None = None) -> Forecast:
        """The design with the best predicted objective, among those predicted to keep all limits.

        If there are none, it is the one that is predicted to come nearest to it.

        Parameters
        ----------
        relaxed : dict, optional
            By how much to relax limits, by their place in ``history.goals.limits``.
        """
        shifts = np.array([(relaxed or {}).get(j, 0.0) for j in range(len(self._models) - 1)])
        rng, space, data = np.random.default_rng(0), self._optimizer.space, self._optimizer.history.data
        known = np.concatenate([data.U[data.ranking[:N_CENTRES]], rng.random((N_CANDIDATES, space.dim))])
        U = self._allowed(known)
        for spread in SPREADS:
            centres = U[np.argsort(self._ranks(U, shifts), kind="stable")[:N_CENTRES]]
            steps = spread * rng.standard_normal((N_CANDIDATES, space.dim))
            steps *= (
                rng.random(steps.shape) < 0.5
            )  # some coordinates stay: where they lie on bounds, for instance
            near = np.clip(centres[rng.integers(len(centres), size=N_CANDIDATES)] + steps, 0.0, 1.0)
            U = np.concatenate([centres, self._allowed(near)])
        u = U[[int(np.argmin(self._ranks(U, shifts)))]]
        sign = self._optimizer.history.goals.objectives[0].sign
        prediction = self._models[0].predict(u)
        low, high = np.ravel(prediction.interval(0.9))
        chances = [float(m.predict(u).cdf(s)[0]) for m, s in zip(self._models[1:], shifts, strict=True)]
        ends = sorted((sign * float(low), sign * float(high)))
        value = sign * float(prediction.mean[0])
        return Forecast(space.decode(u)[0], value, (ends[0], ends[1]), float(np.prod(chances)))

    def chance(self, U: FloatArray) -> FloatArray:
        """Probability that all limits are kept at codes, (m,), as if they were independent."""
        chances = [model.predict(U).cdf(0.0) for model in self._models[1:]]
        return np.prod(chances, axis=0) if chances else np.ones(len(U))

    def _allowed(self, U: FloatArray) -> FloatArray:
        """Codes of points of the space that known constraints allow."""
        space, region = self._optimizer.space, self._optimizer.region
        points = space.decode(U)
        if region is not None:
            points = [p for p, ok in zip(points, region.allows(points), strict=True) if ok]
        return np.asarray(space.encode(points)) if points else U[:0]

    def _ranks(self, U: FloatArray, shifts: FloatArray) -> FloatArray:
        """Small where the predicted objective is small and no predicted limit is broken."""
        means = np.stack([model.predict(U).mean for model in self._models], axis=1) / self._sizes
        excess = np.maximum(means[:, 1:] - shifts / self._sizes[1:], 0.0).sum(axis=1)
        worst = means[:, 0].max() + 1.0
        ranks: FloatArray = np.where(excess > 0.0, worst + excess, means[:, 0])
        return ranks


def importance_of_outputs(optimizer: Optimizer) -> dict[str, FloatArray]:
    """Total Sobol' index of each parameter, (d,), for each output and for the probability of keeping all limits.

    They are those of Gaussian processes of the outputs as they were recorded: the objective's first, and the
    probability last, under the name `LIMITS`. An output that hardly varies, or that few runs have, is left out.
    """
    history, space = optimizer.history, optimizer.space
    data, box = history.data, [(0.0, 1.0)] * history.data.U.shape[1]
    rows = data.distinct

    def totals(fun: Callable[[FloatArray], FloatArray]) -> FloatArray:
        def of_shares(shares: FloatArray) -> FloatArray:
            columns = [
                [d.quantile(u) for u in row] for d, row in zip(space.dimensions, shares.tolist(), strict=True)
            ]
            return fun(np.asarray(space.encode(list(zip(*columns, strict=True)))))

        return indices(of_shares, len(space), N_SAMPLES, 0)[1]

    found = {}
    for name in history.output_names:
        given = [(data.evaluations[r].outputs or {}).get(name) for r in rows]
        y = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
        known = np.isfinite(y)
        if len(np.unique(y[known])) > 2:
            model = fit_model(data.U[rows[known]], y[known], "gp", bounds=box, rng=0)
            found[name] = totals(lambda U, model=model: model.predict(U).mean)  # type: ignore[misc]
    if history.goals.limits:
        found[LIMITS] = totals(Outlook(optimizer).chance)
    return found
