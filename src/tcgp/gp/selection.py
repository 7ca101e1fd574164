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
# Few data make many optima: 12 starts at n = 10 d, 4 at n = 30 d.
_ROUGH_WORK = 120
_ROUGH_DESCENTS = (3, 12)
_ROUGH_ITERATIONS = 8
_HOPELESS = 5.0  # what full descents seldom make up for, in units of NLL; or one for each lengthscale
_SAME_BASIN = 0.5  # in log-lengthscale
_LONG = float(np.log(20.0))


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
    steps from the best of them, and full descents from the ``n_starts`` best points so reached that are not
    near an optimum already found.
    """
    bounds = log_rho_bounds(likelihood.n, likelihood.dim)
    objective = likelihood.value_and_gradient
    if start is not None:
        return descend(objective, start, bounds)[0]
    candidates = [np.clip(candidate, *bounds) for candidate in _candidates(likelihood.dim)]
    candidates.sort(key=likelihood.rough_value)
    n_rough = int(np.clip(_ROUGH_WORK * likelihood.dim // likelihood.n, *_ROUGH_DESCENTS))
    rough = [
        descend(objective, candidate, bounds, max_iterations=_ROUGH_ITERATIONS, tolerance=1e-3)
        for candidate in candidates[:n_rough]
    ]
    rough.sort(key=lambda descent: descent[1])
    hopeless = max(_HOPELESS, likelihood.dim)
    finished: list[tuple[FloatArray, float]] = []
    for point, value in rough:
        promising = not finished or value < min(best for _, best in finished) + hopeless
        if promising and len(finished) < n_starts and all(_far_apart(point, other) for other, _ in finished):
            finished.append(descend(objective, point, bounds))
    return min(finished, key=lambda descent: descent[1])[0]


def _far_apart(a: FloatArray, b: FloatArray) -> bool:
    """Whether two points may lead to different optima; all lengthscales of many box widths are alike."""
    return bool(np.abs(np.minimum(a, _LONG) - np.minimum(b, _LONG)).max() > _SAME_BASIN)


@functools.cache
def _candidates(dim: int) -> tuple[FloatArray, ...]:
    """A fixed spread of log-lengthscales: isotropic ones, and a Sobol' set in the log domain."""
    from scipy.stats import qmc  # slow to import, and not needed by warm starts

    isotropic = np.log(np.sqrt(dim) * np.outer(_ISOTROPIC, np.ones(dim)))
    low, high = np.log(_SCAN_RANGE)
    sobol = qmc.Sobol(dim, scramble=True, rng=0).random_base2(5)[:_SCAN_SIZE]
    return (*isotropic, *(low + (high - low) * sobol))


def descend(
    objective: Objective,
    start: FloatArray,
    bounds: Interval,
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-8,
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
