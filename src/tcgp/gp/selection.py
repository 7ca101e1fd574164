"""Maximum-likelihood selection of the lengthscales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from tcgp._typing import FloatArray
from tcgp.gp.likelihood import ConcentratedLikelihood

__all__ = ["LOG_RHO_BOUNDS", "select_lengthscales"]

# In units of the box. Below 1e-3 every point is on its own, above 1e3 a coordinate has no effect.
LOG_RHO_BOUNDS = (float(np.log(1e-3)), float(np.log(1e3)))

_SCAN_RANGE = (float(np.log(0.1)), float(np.log(10.0)))
_GRADIENT_TOLERANCE = 1e-5
_VALUE_TOLERANCE = 1e-10


def select_lengthscales(
    likelihood: ConcentratedLikelihood, *, start: FloatArray | None, n_starts: int
) -> FloatArray:
    """Return the log-lengthscales of the smallest NLL found.

    With ``start`` (a warm start, in log units) one descent from there; otherwise descents from the
    ``n_starts`` best points of a scan.
    """
    if start is not None:
        starts = [np.clip(start, *LOG_RHO_BOUNDS)]
    else:
        starts = _scan(likelihood.value, likelihood.dim, n_starts)
    descents = [_descend(likelihood.value_and_gradient, s) for s in starts]
    return min(descents, key=lambda descent: descent[1])[0]


def _scan(value: Callable[[FloatArray], float], dim: int, n_starts: int) -> list[FloatArray]:
    """Spread of candidate log-lengthscales, isotropic ones and a Sobol' set, best first."""
    isotropic = np.log(np.sqrt(dim)) + np.log([0.1, 0.3, 1.0, 3.0])[:, None] * np.ones(dim)
    sobol = qmc.Sobol(dim, scramble=True, rng=0).random(8)
    low, high = _SCAN_RANGE
    candidates = np.vstack([isotropic, low + 0.5 * np.log(dim) + (high - low) * sobol])
    values = np.array([value(candidate) for candidate in candidates])
    return [candidates[i] for i in np.argsort(values)[:n_starts]]


def _descend(
    value_and_gradient: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray
) -> tuple[FloatArray, float]:
    """L-BFGS-B from ``start``: the point reached and its value."""
    result = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[LOG_RHO_BOUNDS] * len(start),
        options={"ftol": _VALUE_TOLERANCE, "gtol": _GRADIENT_TOLERANCE, "maxiter": 200},
    )
    return result.x, float(result.fun)
