"""Subset simulation: the probability that a function lies below a small threshold at a uniform point.

P(f(X) <= t) is a product of conditional probabilities, one per level of a decreasing sequence that ends at t
(Au and Beck, 2001; as sequential Monte Carlo, Cérou, Del Moral, Furon and Guyader, 2012, and Bect, Li and
Vazquez, 2017). The paper uses it to measure optimizers, with t the best value found (appendix "SMC-based
estimators for small thresholds").
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tcgp._arrays import as_generator, check_bounds
from tcgp._text import plain
from tcgp._typing import ArrayLike, Bounds, FloatArray, RandomState
from tcgp.sampling.particles import Cloud, advance, uniform_cloud

__all__ = ["SubsetSimulation", "subset_simulation"]

# Below this the probability is 0 in double precision.
_LOG_ZERO = math.log(5e-324)


@dataclass(frozen=True, eq=False)
class SubsetSimulation:
    """The state of a subset simulation; made by :func:`subset_simulation`.

    Attributes
    ----------
    threshold : float
        The t of P(f(X) <= t).
    log_probability : float
        Natural logarithm of the estimate; -inf when nothing was found below the threshold.
    particles : (n, d) ndarray
        Points approximately uniform on {f <= t}; none, of shape (0, d), when the probability is 0.
    values : (n,) ndarray
        f at the particles, all at most `threshold`.
    n_evaluations : int
        Points at which f was evaluated.
    """

    threshold: float
    log_probability: float
    particles: FloatArray  # (n, d)
    values: FloatArray  # (n,)
    n_evaluations: int
    _fun: Callable[[FloatArray], ArrayLike]
    _box: FloatArray
    _cloud: Cloud
    _p0: float
    _max_sweeps: int | None
    _rng: np.random.Generator

    @property
    def probability(self) -> float:
        """Estimate of P(f(X) <= threshold), X uniform on the box."""
        return math.exp(self.log_probability)

    def continue_to(self, threshold: float) -> SubsetSimulation:
        """Continue to a lower threshold, from these particles and this estimate.

        Parameters
        ----------
        threshold : float
            At most the present one, because the particles know nothing above it.

        Returns
        -------
        SubsetSimulation
            A new object, the same each time; this one does not change.

        Examples
        --------
        >>> from tcgp.sampling import subset_simulation
        >>> simulation = subset_simulation(lambda x: x[:, 0], [(0, 1)], 0.1, rng=0)
        >>> lower = simulation.continue_to(0.001)
        >>> bool(0.0005 < lower.probability < 0.002)
        True
        """
        threshold = _checked_threshold(threshold)
        if threshold > self.threshold:
            raise ValueError(
                f"threshold must be at most the present one, {self.threshold!r}, got {plain(threshold)}: "
                "start a new subset_simulation for that"
            )
        if threshold == self.threshold:
            return self
        if math.isinf(self.log_probability):
            return replace(self, threshold=threshold)
        return _descend(self, threshold)


def subset_simulation(
    fun: Callable[[FloatArray], ArrayLike],
    bounds: Bounds,
    threshold: float,
    *,
    n_particles: int = 1000,
    p0: float = 0.2,
    rng: RandomState = None,
    max_sweeps: int | None = None,
) -> SubsetSimulation:
    """Estimate P(fun(X) <= threshold) for X uniform on a box, however small it is.

    The levels are u_k = max(threshold, p0-quantile of the particles' values); the estimate is the product of
    the fractions kept. With independent particles its logarithm would have the variance
    log(probability) / log(p0) · (1 - p0) / (p0 n_particles); the moves come close to that, see
    ``benchmarks/calibration/subset_simulation.py``.

    Parameters
    ----------
    fun : callable
        Maps points (n, d) to values (n,). A NaN counts as not below any threshold.
    bounds : (d, 2) array_like or scipy.optimize.Bounds
        The box.
    threshold : float
        The t of P(fun(X) <= t); not NaN, not -inf.
    n_particles : int, default 1000
        At least 10.
    p0 : float, default 0.2
        Fraction of the particles that each level keeps, between 0 and 1.
    rng : int, numpy.random.Generator or None
        Source of randomness.
    max_sweeps : int, optional
        Largest number of Metropolis steps per particle and level, max(60, 10 d) by default; fewer are made if they
        are enough (:func:`tcgp.sampling.particles.move`).

    Returns
    -------
    SubsetSimulation
        With `probability`, `log_probability`, `particles`, `values`, `n_evaluations` and `continue_to`.

    Notes
    -----
    The probability is 0 if no particle gets below some level: the threshold is below the minimum, or the set below it
    was missed, such as a narrow well in a plateau. A component of the set counts only if particles reached it at higher
    levels. If some wells are much narrower than others, use several runs or more particles.

    Examples
    --------
    >>> from tcgp import problems
    >>> from tcgp.sampling import subset_simulation
    >>> branin = problems.get("branin")
    >>> simulation = subset_simulation(branin.fun, branin.bounds, 0.4, rng=0)
    >>> bool(2e-5 < simulation.probability < 8e-5), simulation.particles.shape
    (True, (1000, 2))
    >>> bool(simulation.values.max() <= 0.4)
    True
    """
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {plain(fun)}")
    box = check_bounds(bounds)
    threshold = _checked_threshold(threshold)
    if not isinstance(n_particles, int | np.integer) or n_particles < 10:
        raise ValueError(f"n_particles must be an integer of at least 10, got {plain(n_particles)}")
    if not isinstance(p0, numbers.Real) or not 0.0 < p0 < 1.0:
        raise ValueError(f"p0 must be a number strictly between 0 and 1, got {plain(p0)}")
    if max_sweeps is not None and (not isinstance(max_sweeps, int | np.integer) or max_sweeps < 1):
        raise ValueError(f"max_sweeps must be a positive integer, or None, got {plain(max_sweeps)}")
    # A stream of its own, so that continue_to does not depend on what the caller draws later.
    rng = np.random.default_rng(as_generator(rng).integers(2**32, size=4))
    cloud = uniform_cloud(lambda x: _values(fun, x), box, int(n_particles), rng)
    start = SubsetSimulation(
        threshold=math.inf,
        log_probability=0.0,
        particles=cloud.points,
        values=cloud.features,
        n_evaluations=cloud.n_evaluations,
        _fun=fun,
        _box=box,
        _cloud=cloud,
        _p0=p0,
        _max_sweeps=max_sweeps,
        _rng=rng,
    )
    return start.continue_to(threshold)


def _descend(simulation: SubsetSimulation, threshold: float) -> SubsetSimulation:
    """Add levels until the threshold is reached, or nothing is left."""
    cloud, log_probability, level = simulation._cloud, simulation.log_probability, simulation.threshold
    rng = copy.deepcopy(simulation._rng)

    def evaluate(x: FloatArray) -> FloatArray:
        return _values(simulation._fun, x)

    while level > threshold:
        level = _next_level(cloud.features, level, threshold, simulation._p0)
        log_weights = _log_indicator(cloud.features, level)
        if np.all(np.isneginf(log_weights)) or log_probability < _LOG_ZERO:
            log_probability = -math.inf
            cloud = replace(cloud, points=cloud.points[:0], features=cloud.features[:0])
            break
        if np.any(np.isneginf(log_weights)):
            cloud, log_fraction = advance(
                cloud,
                log_weights,
                lambda values, level=level: _log_indicator(values, level),  # type: ignore[misc]
                evaluate,
                simulation._box,
                rng,
                max_sweeps=simulation._max_sweeps,
            )
            log_probability += log_fraction
    return replace(
        simulation,
        threshold=threshold,
        log_probability=log_probability,
        particles=cloud.points,
        values=cloud.features,
        n_evaluations=cloud.n_evaluations,
        _cloud=cloud,
        _rng=rng,
    )


def _next_level(values: FloatArray, level: float, threshold: float, p0: float) -> float:
    """max(threshold, p0-quantile of the values), but always below the present level."""
    ordered = np.sort(values)
    quantile = float(ordered[math.ceil(p0 * len(values)) - 1])
    if quantile >= level:  # an atom holds more than 1 - p0 of the particles: step below it
        below = ordered[ordered < level]
        quantile = float(below[-1]) if len(below) else -math.inf
    return max(threshold, quantile)


def _log_indicator(values: FloatArray, level: float) -> FloatArray:
    """0 where the value is at most the level, -inf elsewhere."""
    return np.where(values <= level, 0.0, -np.inf)


def _values(fun: Callable[[FloatArray], ArrayLike], points: FloatArray) -> FloatArray:
    """Values (n,) of fun, NaN replaced by inf."""
    values = np.asarray(fun(points), dtype=float)
    if values.shape != (len(points),):
        raise ValueError(
            f"fun must map points (n, d) to values (n,), got shape {values.shape} for {len(points)} points"
        )
    return np.where(np.isnan(values), np.inf, values)


def _checked_threshold(threshold: float) -> float:
    """The threshold as a float, refused when it is NaN or -inf."""
    try:
        number = float(threshold)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number) or number == -math.inf:
        raise ValueError(f"threshold must be a number or inf, got {plain(threshold)}")
    return number
