"""Maximum-likelihood selection of the lengthscales."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from tcgp._typing import FloatArray
from tcgp.gp.likelihood import ConcentratedLikelihood

__all__ = ["descend", "log_rho_bounds", "select_lengthscales"]

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Interval = tuple[float, float]

# Candidates of the scan, in units of the box: sqrt(d) times the first for the isotropic ones.
_ISOTROPIC = (0.1, 0.3, 1.0, 3.0)
_SCAN_RANGE = (0.05, 100.0)
_SCAN_SIZE = 28
_ROUGH_DESCENTS = 3  # for each descent that is finished
_ROUGH_ITERATIONS = 6
_SAME_VALUE = 1e-3


def log_rho_bounds(n: int, dim: int) -> Interval:
    """Range of the log-lengthscales, in units of the box.

    Below a tenth of the typical spacing of n points, ``n^(-1/d)``, every point is on its own and the data say
    nothing; without this bound the likelihood has many spurious optima there. Above 1e3 a coordinate has no
    effect.
    """
    return float(np.log(0.1 * n ** (-1.0 / dim))), float(np.log(1e3))


def select_lengthscales(
    likelihood: ConcentratedLikelihood, *, start: FloatArray | None, n_starts: int
) -> FloatArray:
    """Return the log-lengthscales of the smallest NLL found.

    With ``start`` (a warm start, in log units) one descent from there. Otherwise a scan of candidates, a few
    steps from the best of them, and full descents from the ``n_starts`` best distinct points so reached.
    """
    bounds = log_rho_bounds(likelihood.n, likelihood.dim)
    objective = likelihood.value_and_gradient
    if start is not None:
        return descend(objective, start, bounds)[0]
    candidates = [np.clip(candidate, *bounds) for candidate in _candidates(likelihood.dim)]
    candidates.sort(key=likelihood.rough_value)
    rough = [
        descend(objective, candidate, bounds, max_iterations=_ROUGH_ITERATIONS, tolerance=1e-3)
        for candidate in candidates[: _ROUGH_DESCENTS * n_starts]
    ]
    finished = [descend(objective, point, bounds) for point in _distinct(rough)[:n_starts]]
    return min(finished, key=lambda descent: descent[1])[0]


@functools.cache
def _candidates(dim: int) -> tuple[FloatArray, ...]:
    """A fixed spread of log-lengthscales: isotropic ones, and a Sobol' set in the log domain."""
    from scipy.stats import qmc  # slow to import, and not needed by warm starts

    isotropic = np.log(np.sqrt(dim) * np.outer(_ISOTROPIC, np.ones(dim)))
    low, high = np.log(_SCAN_RANGE)
    sobol = qmc.Sobol(dim, scramble=True, rng=0).random_base2(5)[:_SCAN_SIZE]
    return (*isotropic, *(low + (high - low) * sobol))


def _distinct(descents: list[tuple[FloatArray, float]]) -> list[FloatArray]:
    """Points reached, best first, one for each value."""
    points: list[FloatArray] = []
    last = -np.inf
    for point, value in sorted(descents, key=lambda descent: descent[1]):
        if value - last > _SAME_VALUE:
            points.append(point)
            last = value
    return points


def descend(
    objective: Objective,
    start: FloatArray,
    bounds: Interval,
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-10,
) -> tuple[FloatArray, float]:
    """L-BFGS-B from ``start``: the point reached and its value."""
    result = minimize(
        objective,
        np.clip(start, *bounds),
        jac=True,
        method="L-BFGS-B",
        bounds=[bounds] * len(start),
        options={"ftol": tolerance, "gtol": 1e-5, "maxiter": max_iterations},
    )
    return result.x, float(result.fun)
