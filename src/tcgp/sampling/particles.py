"""Sequential Monte Carlo in a box: reweight, resample, move (Del Moral, Doucet and Jasra, 2006).

A :class:`Cloud` of particles follows a sequence of target densities. What a target needs about a point is computed
once, by ``evaluate``, and kept with it as its *features*: the value of a function, or the mean and the standard
deviation of a model. A target is then a function of features alone, so that
lowering a level costs no new evaluation. One stage of the sampler is::

    log_weights = next_log_density(cloud.features) - log_density(cloud.features)
    cloud, log_mean_weight = particles.advance(cloud, log_weights, next_log_density, evaluate, box, rng)

and the sum of the ``log_mean_weight`` estimates the logarithm of the ratio of normalizing constants.
Subset simulation (:mod:`tcgp.sampling.subset`) is this with indicator functions as targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tcgp._arrays import check_bounds
from tcgp._typing import BoolArray, Bounds, FloatArray, IntArray

__all__ = [
    "Cloud",
    "Evaluate",
    "LogDensity",
    "advance",
    "effective_sample_size",
    "move",
    "next_level_by_bisection",
    "resample",
    "uniform_cloud",
]

Evaluate: TypeAlias = Callable[[FloatArray], FloatArray]  # points (n, d) -> features (n,) or (n, k)
LogDensity: TypeAlias = Callable[[FloatArray], FloatArray]  # features -> log density (n,), -inf for none

MOBILITY = 0.8
PILOT_SWEEPS = 10
ACCEPTANCE = (0.2, 0.5)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Equally weighted particles.

    Attributes
    ----------
    points : (n, d) ndarray
        The particles.
    features : (n,) or (n, k) ndarray
        What ``evaluate`` returned for each particle.
    n_evaluations : int
        Points evaluated so far.
    scales : (float, float)
        Tuned lengths of the two kinds of proposals (see :func:`move`), kept from stage to stage.
    """

    points: FloatArray  # (n, d)
    features: FloatArray  # (n,) or (n, k)
    n_evaluations: int
    scales: tuple[float, float]


def uniform_cloud(evaluate: Evaluate, bounds: Bounds, n: int, rng: np.random.Generator) -> Cloud:
    """Draw n independent particles from the uniform distribution on a box.

    ``evaluate`` maps points (n, d) to features (n,) or (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.sampling import particles
    >>> cloud = particles.uniform_cloud(lambda x: x.sum(axis=1), [(0, 1), (0, 1)], 1000, np.random.default_rng(0))
    >>> cloud.points.shape, cloud.features.shape
    ((1000, 2), (1000,))
    """
    low, high = check_bounds(bounds).T
    points = rng.uniform(low, high, (n, len(low)))
    d = len(low)
    # Optimal for a Gaussian target in many dimensions (Roberts et al., 1997; ter Braak, 2006).
    scales = (2.38 / np.sqrt(d), 2.38 / np.sqrt(2 * d))
    return Cloud(points, evaluate(points), n, scales)


def advance(
    cloud: Cloud,
    log_weights: FloatArray,
    log_density: LogDensity,
    evaluate: Evaluate,
    bounds: Bounds,
    rng: np.random.Generator,
    *,
    max_sweeps: int | None = None,
    mobility: float = MOBILITY,
) -> tuple[Cloud, float]:
    """One stage: weight the cloud, resample it, and move it under the new target.

    Parameters
    ----------
    cloud : Cloud
        Particles that follow the present target.
    log_weights : (n,) ndarray
        Logarithm of the new density over the present one at the particles. Some, but not all, may be -inf.
    log_density : callable
        Features to the logarithm of the new density, up to a constant.
    evaluate, bounds, rng
        As in :func:`uniform_cloud`.
    max_sweeps, mobility
        As in :func:`move`.

    Returns
    -------
    cloud : Cloud
        Particles that follow the new target.
    log_mean_weight : float
        Logarithm of the mean weight: an estimate of the ratio of normalizing constants.

    Examples
    --------
    From the uniform law on [0, 1] to the density proportional to exp(-20 x), whose integral is about 1/20:

    >>> import numpy as np
    >>> from tcgp.sampling import particles
    >>> rng = np.random.default_rng(0)
    >>> def evaluate(x): return x[:, 0]
    >>> def log_density(f): return -20 * f
    >>> cloud = particles.uniform_cloud(evaluate, [(0, 1)], 2000, rng)
    >>> log_weights = log_density(cloud.features)
    >>> cloud, log_mean_weight = particles.advance(cloud, log_weights, log_density, evaluate, [(0, 1)], rng)
    >>> bool(abs(np.exp(log_mean_weight) - 0.05) < 0.01), bool(abs(cloud.points.mean() - 0.05) < 0.01)
    (True, True)
    """
    largest = log_weights.max()
    weights = np.exp(log_weights - largest)
    log_mean_weight = float(largest + np.log(weights.mean()))
    weights /= weights.sum()
    covariance = _covariance(cloud.points, weights)
    chosen = resample(weights, rng)
    resampled = replace(cloud, points=cloud.points[chosen], features=cloud.features[chosen])
    moved = move(
        resampled,
        log_density,
        evaluate,
        bounds,
        rng,
        covariance=covariance,
        max_sweeps=max_sweeps,
        mobility=mobility,
    )
    return moved, log_mean_weight


def move(
    cloud: Cloud,
    log_density: LogDensity,
    evaluate: Evaluate,
    bounds: Bounds,
    rng: np.random.Generator,
    *,
    covariance: FloatArray | None = None,
    max_sweeps: int | None = None,
    mobility: float = MOBILITY,
) -> Cloud:
    """Move each particle by Metropolis steps that leave a density on the box invariant.

    Two kinds of sweeps alternate. In the first, steps are Gaussian with covariance s² C, where C is the
    covariance of the cloud. In the second they are differences of two particles of the other half of the cloud,
    times a length or, one time in five, times 1 (differential evolution, ter Braak 2006): such steps jump between
    the modes of the cloud. One half moves while the other stands still, so that steps do not depend on the moving
    particles and each half sweep is a symmetric Metropolis step. Both lengths are tuned to an acceptance between
    0.2 and 0.5.

    After ten sweeps, the number that the particles need to forget where they were is estimated. (Stopping as soon
    as they have forgotten would favour moments when the cloud is small: probabilities were 15 % too large.)

    Parameters
    ----------
    cloud : Cloud
        Particles with positive density.
    log_density : callable
        Features to the logarithm of the density, up to a constant; may be -inf.
    evaluate, bounds, rng
        As in :func:`uniform_cloud`. Points outside the box are rejected and never evaluated.
    covariance : (d, d) ndarray, optional
        Shape of the Gaussian proposals; that of the cloud by default.
    max_sweeps : int, optional
        Largest number of steps per particle; max(60, 10 d) by default.
    mobility : float, default 0.8
        Variance of the moves, in the slowest coordinate, as a fraction of that between independent
        particles: one minus the autocorrelation to be reached.

    Returns
    -------
    Cloud
        The moved particles.

    Examples
    --------
    Particles all in one place spread over the interval where the density is positive:

    >>> import numpy as np
    >>> from tcgp.sampling import particles
    >>> rng = np.random.default_rng(0)
    >>> def evaluate(x): return x[:, 0]
    >>> def log_density(f): return np.where(f <= 0.5, 0.0, -np.inf)
    >>> cloud = particles.Cloud(np.full((2000, 1), 0.1), np.full(2000, 0.1), 0, (1.0, 1.0))
    >>> moved = particles.move(cloud, log_density, evaluate, [(0, 1)], rng)
    >>> bool(abs(moved.points.mean() - 0.25) < 0.02), bool(moved.points.max() <= 0.5)
    (True, True)
    """
    box = check_bounds(bounds)
    if max_sweeps is None:
        max_sweeps = max(60, 10 * len(box))
    if covariance is None:
        covariance = _covariance(cloud.points, np.full(len(cloud.points), 1 / len(cloud.points)))
    factor = _factor(covariance, box)
    start = cloud.points
    points, features = cloud.points.copy(), cloud.features.copy()
    log_densities = log_density(features)
    scales, n_evaluations = list(cloud.scales), cloud.n_evaluations
    propose = (_gaussian_steps, _difference_steps)

    n_sweeps = float(max_sweeps)
    for sweep in range(max_sweeps):
        if sweep == PILOT_SWEEPS:
            n_sweeps = _sweeps_needed(points, start, mobility)
        if sweep >= n_sweeps:
            break
        kind = sweep % 2
        shuffled = rng.permutation(len(points))
        middle = len(points) // 2
        n_accepted = n_tuned = 0
        for moving, still in (
            (shuffled[:middle], shuffled[middle:]),
            (shuffled[middle:], shuffled[:middle]),
        ):
            steps, tuned = propose[kind](len(moving), points[still], factor, scales[kind], rng)
            proposals = points[moving] + steps
            log_uniform = -rng.exponential(size=len(moving))
            inside = np.flatnonzero(np.all((proposals >= box[:, 0]) & (proposals <= box[:, 1]), axis=1))
            n_evaluations += len(inside)
            n_tuned += int(tuned.sum())
            if len(inside) == 0:
                continue
            new_features = evaluate(proposals[inside])
            new_log_densities = log_density(new_features)
            accepted = log_uniform[inside] <= new_log_densities - log_densities[moving[inside]]
            winners = moving[inside[accepted]]
            points[winners] = proposals[inside[accepted]]
            features[winners] = new_features[accepted]
            log_densities[winners] = new_log_densities[accepted]
            n_accepted += int(tuned[inside[accepted]].sum())
        scales[kind] *= _scale_update(n_accepted / max(n_tuned, 1))
    return Cloud(points, features, n_evaluations, (scales[0], scales[1]))


def resample(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Residual resampling: copy each particle floor(n w) times, and draw the rest from the remainders.

    The indices of the particles to copy, (n,); the weights are nonnegative and need not sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.sampling import particles
    >>> particles.resample(np.array([0.5, 0.0, 0.25, 0.25]), np.random.default_rng(0)).tolist()
    [0, 0, 2, 3]
    """
    n = len(weights)
    expected = n * (weights / weights.sum())
    # Weights such as 1/200 of n = 1000 must give 5 copies and no draw despite rounding.
    copies = np.floor(expected * (1 + 1e-12))
    indices = np.repeat(np.arange(n), copies.astype(np.intp))
    missing = n - len(indices)
    if missing > 0:
        remainders = np.maximum(expected - copies, 0.0)
        drawn = rng.choice(n, size=missing, p=remainders / remainders.sum())
        indices = np.concatenate([indices, drawn])
    return indices[:n]


def effective_sample_size(weights: FloatArray) -> float:
    """Kish's effective sample size (sum w)² / sum w² of nonnegative weights, between 1 and n.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.sampling import particles
    >>> particles.effective_sample_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / np.sum(weights**2))


def next_level_by_bisection(
    mean_weight: Callable[[float], float], current: float, target: float, *, fraction: float = 0.7
) -> float:
    """The level farthest towards a target whose mean incremental weight is still at least a fraction.

    ``mean_weight`` maps a level to the mean over the cloud of (density at that level) / (density at the current
    level): 1 at ``current``, decreasing towards ``target``. The result is ``target`` if that is reached in one stage,
    and otherwise a level strictly between, so that stages make progress.

    Examples
    --------
    >>> import math
    >>> from tcgp.sampling import particles
    >>> level = particles.next_level_by_bisection(lambda u: math.exp(u - 5.0), 5.0, 0.0, fraction=0.5)
    >>> round(level, 6) == round(5.0 + math.log(0.5), 6)
    True
    """
    if mean_weight(target) >= fraction:
        return target
    near, far = current, target
    while True:
        middle = near + (far - near) / 2
        # 1e-9 of the path is far below the precision of a mean over a few thousand particles.
        if abs(far - near) <= 1e-9 * abs(target - current) or middle in (near, far):
            return far if near == current else near
        if mean_weight(middle) >= fraction:
            near = middle
        else:
            far = middle


def _gaussian_steps(
    n: int, still: FloatArray, factor: FloatArray, scale: float, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Steps (n, d) with covariance proportional to factor factor', and which of them tune the scale."""
    lengths = _spread_lengths(n, scale, rng)
    return lengths * (rng.standard_normal((n, len(factor))) @ factor.T), np.ones(n, dtype=np.bool_)


def _difference_steps(
    n: int, still: FloatArray, factor: FloatArray, scale: float, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Steps (n, d) that are differences of still particles, and which of them tune the scale."""
    first = rng.integers(len(still), size=n)
    second = (first + rng.integers(1, len(still), size=n)) % len(still)
    between_modes = rng.random(n) < 0.2
    lengths = np.where(between_modes[:, None], 1.0, _spread_lengths(n, scale, rng))
    # A little noise, so that a few distinct particles are not confined to a lattice.
    noise = 1e-4 * (rng.standard_normal((n, len(factor))) @ factor.T)
    return lengths * (still[first] - still[second]) + noise, ~between_modes


def _spread_lengths(n: int, scale: float, rng: np.random.Generator) -> FloatArray:
    """Lengths (n, 1) around scale, because a target may be wide in one place and narrow in another."""
    return scale * np.exp(0.5 * rng.standard_normal((n, 1)))


def _scale_update(acceptance: float) -> float:
    """Factor that brings the acceptance back into its range in one or two sweeps; 1 inside the range."""
    low, high = ACCEPTANCE
    return 1.0 if low <= acceptance <= high else float(np.exp(3 * (acceptance - (low + high) / 2)))


def _sweeps_needed(points: FloatArray, start: FloatArray, mobility: float) -> float:
    """Sweeps until each coordinate has the wanted mobility, estimated from the pilot sweeps."""
    # The variance of the moves, not their mean square: a cloud that moves as a whole has forgotten nothing.
    with np.errstate(invalid="ignore"):
        autocorrelation = 1 - np.min(np.var(points - start, axis=0) / (2 * np.var(points, axis=0)))
    if not autocorrelation < 1:  # nothing moved, or there is nothing to compare with
        return np.inf
    return float(PILOT_SWEEPS * np.log(1 - mobility) / np.log(max(autocorrelation, 1e-3)))


def _covariance(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted covariance; of the whole cloud, or diagonal, where too few particles would span the space."""
    n, d = points.shape
    enough = 2 * d + 1
    if effective_sample_size(weights) < enough:
        weights = np.full(n, 1 / n)
    covariance = np.atleast_2d(np.cov(points, rowvar=False, aweights=weights, bias=True))
    if n < enough:
        covariance = np.diag(np.diag(covariance))
    constant = np.ptp(points, axis=0) == 0  # np.cov may leave rounding there
    return np.where(constant | constant[:, None], 0.0, covariance)


def _factor(covariance: FloatArray, box: FloatArray) -> FloatArray:
    """Matrix A with A A' = covariance, made nonsingular where the cloud is degenerate."""
    # If all particles are equal in a coordinate, start from the box: steps that are too long adapt in fewer sweeps
    # than steps that are a billion times too short.
    spread = np.sqrt(np.diag(covariance))
    constant = spread == 0
    spread = np.where(constant, box[:, 1] - box[:, 0], spread)
    correlation = covariance / np.outer(spread, spread) + np.diag(constant.astype(float))
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray(spread[:, None] * vectors * np.sqrt(np.maximum(values, 1e-10)))
