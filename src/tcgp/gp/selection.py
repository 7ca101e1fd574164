"""Selection of the lengthscales: maximum likelihood, restricted or not, or maximum a posteriori."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tcgp._text import plain
from tcgp._typing import FloatArray
from tcgp.gp.likelihood import ConcentratedLikelihood, LengthscalePrior, PooledPrior, Prior
from tcgp.sampling.sobol import sobol

__all__ = [
    "LONGEST",
    "LONGEST_RELAXED",
    "SELECTIONS",
    "SHORTEST",
    "descend",
    "log_rho_bounds",
    "select_lengthscales",
    "selection_prior",
]

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Interval = tuple[float, float]

SHORTEST = 0.1  # lengthscale, in units of the typical spacing of the data
LONGEST = 1e3  # in units of the box
# The same where values are relaxed: with few exact ones the likelihood grows with the lengthscales until rounding stops
# it.
LONGEST_RELAXED = 10.0
SELECTIONS = ("ml", "map", "pooled", "reml")
_PRIOR_VARIANCE = 3.0
_POOLED_VARIANCE = 0.5

# Candidates of the scan, in units of the box: sqrt(d) times the first for the isotropic ones.
_ISOTROPIC = (0.1, 0.3, 1.0, 3.0)
_SCAN_SIZE = 28
_ROUGH_ITERATIONS = 8


@dataclass(frozen=True)
class _Scan:
    """How optima are looked for: by a few steps from the best candidates, and full descents from the best of these.

    Attributes
    ----------
    span : (float, float)
        Of the candidates, in units of the box.
    work : int
        Rough descents, as a multiple of d / n: few data make many optima.
    descents : (int, int)
        Fewest and most of them.
    always : int
        How many candidates, the isotropic ones first, are among them whatever their likelihood.
    hopeless : float
        What full descents seldom make up for, in units of NLL; or one for each lengthscale.
    """

    span: Interval
    work: int
    descents: tuple[int, int]
    always: int
    hopeless: float


_SCANS = {
    "few": _Scan((0.05, 100.0), work=120, descents=(3, 4), always=0, hopeless=5.0),
    # 12 rough descents at n = 10 d, 4 at n = 30 d.
    "some": _Scan((0.05, 100.0), work=120, descents=(3, 12), always=0, hopeless=5.0),
    # A candidate's value says little about the optimum below it: 24 rough descents at n = 10 d, 16 at n = 30 d. They
    # take 1.6 times as long as 12, and reach the best of 50 starts in 99 % of cases: see
    # benchmarks/reliability/fit_reliability.py.
    "many": _Scan((0.1, 20.0), work=240, descents=(16, 32), always=len(_ISOTROPIC), hopeless=np.inf),
}
# Relative, in NLL. Refits follow one another: what one leaves is the next one's to find.
_WARM_TOLERANCE = 1e-6
_MANY_DATA, _MANY_DATA_ITERATIONS = 200, 12
# With more data the optima are looked for among this many of them, then among three times as many, and so on: a scan of
# all takes 12 to 40 times as long as a warm fit, and grows with the cube of their number. What is lost by that is in
# benchmarks/speed/cold_fits.py.
SCAN_DATA = 400
_PART_DESCENTS = 5
_COLD_ITERATIONS = 60
# Iterations times n^3: some seconds. It is less than 12 iterations from n = 1186, and none from n = 2715.
_REFINING_WORK = 2e10
_SAME_BASIN = 0.5  # in log-lengthscale
_LONG = float(np.log(20.0))


def selection_prior(selection: str, dim: int, prior: tuple[float, float] | None = None) -> Prior | None:
    """The prior that a selection uses, or None.

    ``"map"``: ``log rho ~ N(sqrt 2 + log(d) / 2, 3)``, 3 being the variance, in units of the box: the
    dimension-scaled prior of Hvarfner, Hellsten and Nardi (2024), "Vanilla Bayesian Optimization Performs Great in
    High Dimensions". The density is that of log rho, so the mode does not depend on the units of rho. ``prior`` gives
    another mean and variance.

    ``"pooled"``: each ``log rho`` is normal, with variance 0.5, about a level that all share and the data choose.
    Lengthscales are then alike unless the data say otherwise: with fewer than five data or so for each parameter, free
    ones fit whatever the data are and predict badly (`benchmarks/calibration/lengthscales.py`).
    """
    if selection not in SELECTIONS:
        raise ValueError(
            f"selection must be one of {', '.join(map(repr, SELECTIONS))}, got {plain(selection)}"
        )
    if selection != "map":
        if prior is not None:
            raise ValueError(f"a prior needs selection='map', got selection={plain(selection)}")
        return PooledPrior(_POOLED_VARIANCE) if selection == "pooled" else None
    location, variance = prior or (np.sqrt(2.0) + 0.5 * np.log(dim), _PRIOR_VARIANCE)
    if not (np.isfinite(location) and np.isfinite(variance) and variance > 0.0):
        raise ValueError(
            f"prior must be a finite mean and a positive variance of the log-lengthscales, got {plain(prior)}"
        )
    return LengthscalePrior(float(location), float(variance))


def log_rho_bounds(n: int, dim: int, shortest: float = SHORTEST, longest: float = LONGEST) -> Interval:
    """Range of the log-lengthscales, in units of the box.

    Below ``shortest``, by default a tenth, of the typical spacing of n points, ``n^(-1/d)``, every point is on its
    own and the data say nothing; without this bound the likelihood has many spurious optima there. Above
    ``longest``, 1e3 by default, a coordinate has no effect.
    """
    return float(np.log(shortest * n ** (-1.0 / dim))), float(np.log(longest))


def select_lengthscales(
    likelihood: ConcentratedLikelihood,
    *,
    start: FloatArray | None,
    n_starts: int,
    shortest: float = SHORTEST,
    longest: float = LONGEST,
    refine: bool = True,
) -> FloatArray:
    """Return the log-lengthscales (and the log-nugget, if it is learned) of the smallest NLL found.

    With ``start`` (a warm start, in log units) one descent from there, or none if it is not to be refined.
    Otherwise a scan of candidates, a few steps from the best of them, and full descents from the ``n_starts`` best
    points so reached that are not near an optimum already found. With more than `SCAN_DATA` data the scan is made with
    a part of them.
    """
    bounds = [log_rho_bounds(likelihood.n, likelihood.dim, shortest, longest)] * likelihood.dim
    scan = _SCANS[likelihood.optima]
    candidates = _candidates(likelihood.dim, scan.span) if start is None else ()
    bounds += likelihood.other_bounds
    starts = itertools.cycle(likelihood.other_starts)
    candidates = tuple(np.append(candidate, next(starts)) for candidate in candidates)
    if start is not None and not refine:
        return _clip(start, bounds)
    if start is not None:
        few = _MANY_DATA_ITERATIONS if likelihood.n >= _MANY_DATA else 200
        return _refine(likelihood, start, bounds, few)
    if likelihood.n <= SCAN_DATA:
        n_rough = int(np.clip(scan.work * likelihood.dim // likelihood.n, *scan.descents))
        given = {"n_rough": n_rough, "hopeless": max(scan.hopeless, likelihood.dim), "always": scan.always}
        return _optima(likelihood, candidates, bounds, n_starts, **given)[0]
    # The optima of a part of the data are near those of a part three times as large, and of all in the end. Which of
    # them is the best may change: none is hopeless.
    part = likelihood.part(SCAN_DATA)
    found = _optima(part, candidates, bounds, n_starts, n_rough=_PART_DESCENTS, hopeless=np.inf)
    sizes = itertools.takewhile(lambda m: m < likelihood.n, (SCAN_DATA * 3**k for k in itertools.count(1)))
    first, *rest = (*map(likelihood.part, sizes), likelihood)
    best, *others = _distinct(found)
    if others:
        best = min((_rough_descent(first, point, bounds) for point in (best, *others)), key=lambda d: d[1])[0]
    for part in (first, *rest):
        best = _refine(part, best, bounds, _COLD_ITERATIONS)
    return best


def _refine(
    likelihood: ConcentratedLikelihood, start: FloatArray, bounds: Sequence[Interval], most: int
) -> FloatArray:
    """One descent, of no more iterations than the data allow: the time of one grows with the cube of their number."""
    few = min(most, int(_REFINING_WORK / likelihood.n**3))
    if not few:
        return _clip(start, bounds)
    objective = likelihood.value_and_gradient
    return descend(objective, start, bounds, tolerance=_WARM_TOLERANCE, max_iterations=few)[0]


def _optima(
    likelihood: ConcentratedLikelihood,
    candidates: Sequence[FloatArray],
    bounds: Sequence[Interval],
    n_starts: int,
    *,
    n_rough: int,
    hopeless: float,
    always: int = 0,
) -> list[FloatArray]:
    """Up to ``n_starts`` optima, the best first: a scan, a few steps from the best of it, and descents from there."""
    clipped = [_clip(candidate, bounds) for candidate in candidates]
    ranked = [*clipped[:always], *sorted(clipped[always:], key=likelihood.rough_value)]
    rough = [_rough_descent(likelihood, candidate, bounds) for candidate in ranked[:n_rough]]
    rough.sort(key=lambda descent: descent[1])
    finished: list[tuple[FloatArray, float]] = []
    for point, value in rough:
        promising = not finished or value < min(best for _, best in finished) + hopeless
        if promising and len(finished) < n_starts and all(_far_apart(point, other) for other, _ in finished):
            finished.append(descend(likelihood.value_and_gradient, point, bounds))
    return [point for point, _ in sorted(finished, key=lambda descent: descent[1])]


def _rough_descent(
    likelihood: ConcentratedLikelihood, start: FloatArray, bounds: Sequence[Interval]
) -> tuple[FloatArray, float]:
    """A few steps from ``start``: the point reached and its value."""
    few = _ROUGH_ITERATIONS
    return descend(likelihood.value_and_gradient, start, bounds, max_iterations=few, tolerance=1e-3)


def _distinct(points: Iterable[FloatArray]) -> list[FloatArray]:
    """The points without those that are near an earlier one."""
    distinct: list[FloatArray] = []
    for point in points:
        if all(_far_apart(point, other) for other in distinct):
            distinct.append(point)
    return distinct


def _far_apart(a: FloatArray, b: FloatArray) -> bool:
    """Whether two points may lead to different optima; all lengthscales of many box widths are alike."""
    return bool(np.abs(np.minimum(a, _LONG) - np.minimum(b, _LONG)).max() > _SAME_BASIN)


def _clip(point: FloatArray, bounds: Sequence[Interval]) -> FloatArray:
    """The nearest point within the bounds."""
    low, high = np.transpose(bounds)
    return np.clip(point, low, high)


@functools.cache
def _candidates(dim: int, span: Interval) -> tuple[FloatArray, ...]:
    """A fixed spread of log-lengthscales: isotropic ones, and a Sobol' set in the log domain."""
    isotropic = np.log(np.sqrt(dim) * np.outer(_ISOTROPIC, np.ones(dim)))
    low, high = np.log(span)
    points = sobol(_SCAN_SIZE, dim, scramble=np.random.default_rng(0))
    return (*isotropic, *(low + (high - low) * points))


def descend(
    objective: Objective,
    start: FloatArray,
    bounds: Sequence[Interval],
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-8,
) -> tuple[FloatArray, float]:
    """L-BFGS-B from ``start``: the point reached and its value."""
    result = minimize(
        objective,
        _clip(start, bounds),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": tolerance, "gtol": 1e-5, "maxiter": max_iterations},
    )
    return result.x, float(result.fun)
