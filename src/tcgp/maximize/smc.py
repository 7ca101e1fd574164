"""The paper's maximizer: sequential Monte Carlo, then sequential quadratic programming.

Particles follow the probability of improvement below a level that falls from the largest observed value to
the smallest [1]_; the best of them starts a local search by SLSQP.

References
----------
.. [1] P. Feliot, J. Bect and E. Vazquez, "A Bayesian approach to constrained single- and multi-objective
   optimization", Journal of Global Optimization 67 (2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used: it takes a fifth of a second

from tcgp._arrays import as_generator
from tcgp._text import plain
from tcgp._threads import single_threaded
from tcgp._typing import ArrayLike, FloatArray, RandomState
from tcgp.criteria import formulas
from tcgp.criteria.base import Criterion, PredictiveModel
from tcgp.maximize.maximum import Maximum, rank_distinct
from tcgp.sampling import particles as sampler

__all__ = ["ImprovementProbability", "maximize"]

_KEEP = 0.2  # share of the particles that each level of subset simulation keeps
_CONCENTRATED = 1e-3  # subset simulation ends when the values span this share of what they first spanned
_MAX_STAGES = 50
_N_CANDIDATES = 50


@dataclass(frozen=True)
class ImprovementProbability:
    """What the particles follow: the probability of a value below a level, at least ``floor``.

    Attributes
    ----------
    model : PredictiveModel
        For a calibrated method the calibrated one.
    highest, lowest : float
        First and last level: the largest and the smallest observed value.
    floor : float
        Smallest density, so that no particle is impossible.
    """

    model: PredictiveModel
    highest: float
    lowest: float
    floor: float = 1e-16

    def features(self, X: FloatArray) -> FloatArray:
        """Location and scale at the rows of X, of shape (m, 2): all that a change of level needs."""
        return np.column_stack(self.model.predict_arrays(X))

    def log_density(self, features: FloatArray, level: float) -> FloatArray:
        """Logarithm of max(floor, P(value below level)), of shape (m,)."""
        a = formulas.standardize(level, features[:, 0], features[:, 1])
        return np.maximum(self.model.law.logcdf(a), np.log(self.floor))

    def sample(
        self, dim: int, n: int, *, p0: float, max_sweeps: int, rng: np.random.Generator
    ) -> sampler.Cloud:
        """Draw n particles of the unit cube with this density at the lowest level; parameters as in `maximize`."""
        box = np.tile([0.0, 1.0], (dim, 1))
        cloud = sampler.uniform_cloud(self.features, box, n, rng)
        level, log_density = self.highest, np.zeros(n)  # of the uniform law
        while True:
            density = partial(self.log_density, level=level)
            log_weights = density(cloud.features) - log_density
            cloud, _ = sampler.advance(
                cloud, log_weights, density, self.features, box, rng, max_sweeps=max_sweeps
            )
            if level <= self.lowest:
                return cloud
            log_density = density(cloud.features)
            mean_weight = partial(self._mean_weight, cloud.features, log_density)
            level = sampler.next_level_by_bisection(mean_weight, level, self.lowest, fraction=p0)

    def _mean_weight(self, features: FloatArray, log_density: FloatArray, level: float) -> float:
        """Mean weight of particles that had this density, when the level falls to a new one."""
        return float(np.exp(self.log_density(features, level) - log_density).mean())


@single_threaded
def maximize(
    criterion: Criterion,
    dim: int,
    *,
    rng: RandomState = None,
    anchors: ArrayLike | None = None,
    target: ImprovementProbability | None = None,
    n_particles: int = 1000,
    p0: float = 0.7,
    max_sweeps: int = 10,
) -> Maximum:
    """Maximize a criterion over the unit cube by sequential Monte Carlo and SLSQP.

    Parameters
    ----------
    criterion : Criterion
        Function to maximize.
    dim : int
        Dimension d of the cube.
    rng : int, numpy.random.Generator or None
    anchors : array of shape (k, d), optional
        Not used; accepted so that all maximizers have the same signature.
    target : ImprovementProbability, optional
        Target of the particles. Without it they follow the criterion itself, by subset simulation, as for a
        confidence bound.
    n_particles : int
        Size n of the cloud; 1000 in the paper.
    p0 : float
        Mean incremental weight by which levels are spaced.
    max_sweeps : int
        Largest number of Metropolis steps per particle and level.

    Returns
    -------
    Maximum

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.maximize import smc
    >>> class Bump:
    ...     def __call__(self, X):
    ...         return -np.sum((X - 0.3) ** 2, axis=1)
    ...     def value_and_gradient(self, X):
    ...         return self(X), -2.0 * (X - 0.3)
    >>> smc.maximize(Bump(), 2, rng=0, n_particles=200).x.round(3)
    array([0.3, 0.3])
    """
    if dim < 1:
        raise ValueError(f"dim must be at least 1, got {plain(dim)}: a cube needs a coordinate")
    if not 0.0 < p0 < 1.0:
        raise ValueError(f"p0 must lie strictly between 0 and 1, got {plain(p0)}")
    generator = as_generator(rng)
    box = np.tile([0.0, 1.0], (dim, 1))
    if target is None:
        cloud = _follow_criterion(criterion, box, n_particles, max_sweeps, generator)
        points, values, n_evaluations = cloud.points, cloud.features, cloud.n_evaluations
    else:
        cloud = target.sample(dim, n_particles, p0=p0, max_sweeps=max_sweeps, rng=generator)
        points, values = cloud.points, criterion(cloud.points)
        n_evaluations = cloud.n_evaluations + len(points)
    best = int(np.argmax(values))
    x, value, n_local = _local_search(criterion, points[best], float(values[best]), _span(values) or 1.0)
    top = np.argsort(-values, kind="stable")[:_N_CANDIDATES]
    candidates, candidate_values = rank_distinct(
        np.concatenate([x[None], points[top]]), np.concatenate([[value], values[top]])
    )
    return Maximum(
        x=candidates[0],
        value=float(candidate_values[0]),
        n_evaluations=n_evaluations + n_local,
        candidates=candidates,
        candidate_values=candidate_values,
    )


def _follow_criterion(
    criterion: Criterion, box: FloatArray, n: int, max_sweeps: int, rng: np.random.Generator
) -> sampler.Cloud:
    """Particles uniform where the criterion exceeds a level, which rises until they agree on its value."""
    cloud = sampler.uniform_cloud(criterion, box, n, rng)
    first_span = _span(cloud.features)
    for _ in range(_MAX_STAGES):
        level = float(np.quantile(cloud.features, 1.0 - _KEEP, method="higher"))
        above = cloud.features >= level
        if not np.isfinite(level) or above.all() or _span(cloud.features) <= _CONCENTRATED * first_span:
            break
        cloud, _ = sampler.advance(
            cloud,
            np.where(above, 0.0, -np.inf),
            lambda values, level=level: np.where(values >= level, 0.0, -np.inf),  # type: ignore[misc]
            criterion,
            box,
            rng,
            max_sweeps=max_sweeps,
        )
    return cloud


def _span(values: FloatArray) -> float:
    """From the median to the largest of the finite values."""
    finite = values[np.isfinite(values)]
    return float(finite.max() - np.median(finite)) if len(finite) else 0.0


def _local_search(
    criterion: Criterion, x: FloatArray, value: float, scale: float
) -> tuple[FloatArray, float, int]:
    """SLSQP from x, or x itself where that is better; and the number of evaluations.

    SLSQP stops early where the function is large: it is given the criterion in units of ``scale``.
    """
    if not np.isfinite(value):
        return x, value, 0
    lowest_finite = -(np.finfo(float).max ** 0.5)
    n_evaluations = 0

    def negated(u: FloatArray) -> tuple[float, FloatArray]:
        nonlocal n_evaluations
        n_evaluations += 1
        values, gradients = criterion.value_and_gradient(np.clip(u, 0.0, 1.0)[None])
        return -max(float(values[0]) / scale, lowest_finite), -np.nan_to_num(gradients[0]) / scale

    bounds = [(0.0, 1.0)] * len(x)
    found = scipy.optimize.minimize(
        negated, x, jac=True, method="SLSQP", bounds=bounds, options={"ftol": 1e-10, "maxiter": 200}
    )
    end = np.clip(found.x, 0.0, 1.0)
    end_value = float(criterion(end[None])[0])
    return (end, end_value, n_evaluations + 1) if end_value > value else (x, value, n_evaluations + 1)
