"""Selection of the lengthscales: maximum likelihood, with free or with pooled lengthscales."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import FloatArray
from tcgp.gp.descent import Descent, GiveUp, Interval, clip, descend
from tcgp.gp.likelihood import ConcentratedLikelihood, PooledPrior
from tcgp.sampling.sobol import sobol

__all__ = [
    "LONGEST",
    "LONGEST_RELAXED",
    "SELECTIONS",
    "SHORTEST",
    "log_rho_bounds",
    "select_lengthscales",
    "selection_prior",
]

SHORTEST = 0.1  # lengthscale, in units of the typical spacing of the data
_COMPANY = 0.01  # points expected in a ball of the shortest lengthscale, where none is given
LONGEST = 1e3  # in units of the box
# The same where values are relaxed: with few exact ones the likelihood grows with the lengthscales until rounding stops
# it.
LONGEST_RELAXED = 10.0
SELECTIONS = ("ml", "pooled")
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
# Predicted gains of log-likelihood below which a descent stops: of rough ones, of refits, which follow one another so
# that what one leaves is the next one's to find, and of the last ones of a scan.
_ROUGH_GAIN, _WARM_GAIN, _GAIN = 2e-2, 3e-4, 1e-6
_MANY_DATA, _MANY_DATA_ITERATIONS = 200, 12
# With more data the optima are looked for among this many of them, then among up to three times as many, and so on: a
# scan of all takes 12 to 40 times as long as a warm fit, and grows with the cube of their number. What is lost by that
# is in benchmarks/speed/cold_fits.py.
SCAN_DATA, _LARGEST_GROWTH = 400, 3.0
_PART_DESCENTS = 5
_COLD_ITERATIONS = 60
# Iterations times n^3: some seconds. It is less than 12 iterations from n = 1186, and none from n = 2715.
_REFINING_WORK = 2e10
_MOST_BESIDE = 4  # rough descents where an optimum is known: earlier looks have found it
_SAME_BASIN = 0.5  # in log-lengthscale
# A descent beside a known optimum is given up where so many times its predicted gain would not make it better.
_HOPE = 4.0
_LONG = float(np.log(20.0))


def selection_prior(selection: str) -> PooledPrior | None:
    """The prior that a selection uses, or None.

    ``"pooled"``: each ``log rho`` is normal, with variance 0.5, about a level that all share and the data choose.
    Lengthscales are then alike unless the data say otherwise: with fewer than five data or so for each parameter, free
    ones fit whatever the data are and predict badly (`benchmarks/calibration/lengthscales.py`).
    """
    if selection not in SELECTIONS:
        raise ValueError(
            f"selection must be one of {', '.join(map(repr, SELECTIONS))}, got {plain(selection)}"
        )
    return PooledPrior(_POOLED_VARIANCE) if selection == "pooled" else None


def log_rho_bounds(n: int, dim: int, shortest: float | None = SHORTEST, longest: float = LONGEST) -> Interval:
    """Range of the log-lengthscales, in units of the box.

    Below ``shortest``, by default a tenth, of the typical spacing of n points, ``n^(-1/d)``, every point is on its
    own and the data say nothing; without this bound the likelihood has many spurious optima there. Above
    ``longest``, 1e3 by default, a coordinate has no effect.

    In many dimensions a point is on its own well above a tenth of the spacing. None stands for a tenth, or for the
    radius of a ball in which a hundredth of a point is expected, if that is more: 0.13 in d = 3, 0.57 in d = 10.
    """
    if shortest is None:
        log_volume = 0.5 * dim * math.log(math.pi) - math.lgamma(0.5 * dim + 1.0)  # of the unit ball
        shortest = max(SHORTEST, math.exp((math.log(_COMPANY) - log_volume) / dim))
    return float(np.log(shortest * n ** (-1.0 / dim))), float(np.log(longest))


def select_lengthscales(
    likelihood: ConcentratedLikelihood,
    *,
    n_starts: int,
    start: FloatArray | None = None,
    curvature: FloatArray | None = None,
    refine: bool = True,
    look_around: bool = False,
    shortest: float | None = SHORTEST,
    longest: float = LONGEST,
) -> Descent:
    """Find the log-lengthscales (and the log-nugget, if it is learned) of the smallest NLL.

    With ``start`` (a warm start, in log units) one descent from there, or none if it is not to be refined. It begins
    with ``curvature`` if that of an earlier one is known. Without a start, or to ``look_around``, a scan of candidates,
    a few steps from the best of them, and full descents from the ``n_starts`` best points so reached that are not near
    an optimum already found. With more than `SCAN_DATA` data the scan is made with a part of them.
    """
    n, dim = likelihood.n, likelihood.dim
    bounds = [log_rho_bounds(n, dim, shortest, longest)] * dim + likelihood.other_bounds
    warm = None
    if start is not None and not refine:
        return Descent(clip(start, bounds), np.nan, curvature)
    if start is not None:
        few = _MANY_DATA_ITERATIONS if n >= _MANY_DATA else 200
        warm = _refine(likelihood, start, bounds, few, curvature)
        if not look_around:
            return warm
    scan, starts = _SCANS[likelihood.optima], itertools.cycle(likelihood.other_starts)
    candidates = [np.append(candidate, next(starts)) for candidate in _candidates(dim, scan.span)]
    if n <= SCAN_DATA:
        n_rough = int(np.clip(scan.work * dim // n, *scan.descents))
        if warm is not None:
            n_rough = min(n_rough, _MOST_BESIDE)
        given = {"n_rough": n_rough, "hopeless": max(scan.hopeless, dim), "always": scan.always}
        fresh = likelihood if warm is None else likelihood.part(n)  # a relaxed one remembers what it has met
        return _optima(fresh, candidates, bounds, n_starts, known=warm, **given)[0]
    # The optima of a part of the data are near those of a part up to three times as large, and of all in the end. Which
    # of them is the best may change: none is hopeless.
    part = likelihood.part(SCAN_DATA)
    found = _optima(part, candidates, bounds, n_starts, n_rough=_PART_DESCENTS, hopeless=np.inf)
    n_steps = math.ceil(math.log(n / SCAN_DATA) / math.log(_LARGEST_GROWTH))
    sizes = [round(SCAN_DATA * (n / SCAN_DATA) ** (k / n_steps)) for k in range(1, n_steps)]
    first, *rest = (*map(likelihood.part, sizes), likelihood)
    best, *others = _distinct(found)
    if others:
        best = min((_rough_descent(first, optimum.point, bounds) for optimum in (best, *others)), key=_value)
    for part in (first, *rest):
        best = _refine(part, best.point, bounds, _COLD_ITERATIONS, best.curvature)
    return best if warm is None else min(warm, best, key=_value)


def _value(descent: Descent) -> float:
    return descent.value


def _refine(
    likelihood: ConcentratedLikelihood,
    start: FloatArray,
    bounds: Sequence[Interval],
    most: int,
    curvature: FloatArray | None,
) -> Descent:
    """One descent, of no more iterations than the data allow: the time of one grows with the cube of their number."""
    few = min(most, int(_REFINING_WORK / likelihood.n**3))
    return _descend(likelihood, start, bounds, gain=_WARM_GAIN, max_iterations=few, curvature=curvature)


def _optima(
    likelihood: ConcentratedLikelihood,
    candidates: Sequence[FloatArray],
    bounds: Sequence[Interval],
    n_starts: int,
    *,
    n_rough: int,
    hopeless: float,
    always: int = 0,
    known: Descent | None = None,
) -> list[Descent]:
    """Optima, the best first: a scan, a few steps from the best of it, and at most ``n_starts`` descents from there.

    A ``known`` one is among them, and is not looked for again. Other optima are about as curved as this one, and
    descents are given up that lead to it or will not come below it.
    """
    clipped = [clip(candidate, bounds) for candidate in candidates]
    ranked = [*clipped[:always], *sorted(clipped[always:], key=likelihood.rough_value)]
    guide = known if likelihood.is_predictable else None
    nearby: dict[str, Any] = {}
    if guide is not None:
        nearby["give_up"] = _will_lead_to(guide.point)
        if guide.curvature is not None:
            nearby["curvature"] = np.diag(guide.curvature.diagonal())
    rough = sorted(
        (_rough_descent(likelihood, candidate, bounds, **nearby) for candidate in ranked[:n_rough]),
        key=_value,
    )
    optima, n_found = [] if known is None else [known], 0
    for descent in rough:
        best = min(map(_value, optima), default=np.inf)
        promising = not n_found or descent.value < best + hopeless
        is_new = all(_far_apart(descent.point, optimum.point) for optimum in optima)
        if promising and is_new and n_found < n_starts:
            optima.append(
                _descend(
                    likelihood,
                    descent.point,
                    bounds,
                    gain=_GAIN if known is None else _WARM_GAIN,
                    curvature=descent.curvature,
                    give_up=None if guide is None else _will_not_reach(best),
                )
            )
            n_found += 1
    return sorted(optima, key=_value)


def _will_lead_to(point: FloatArray) -> GiveUp:
    """What gives up a descent that has come near a point."""
    return lambda x, value, gain: not _far_apart(x, point)


def _will_not_reach(best: float) -> GiveUp:
    """What gives up a descent that will hardly come below a value."""
    return lambda x, value, gain: value - _HOPE * gain > best


def _rough_descent(
    likelihood: ConcentratedLikelihood, start: FloatArray, bounds: Sequence[Interval], **options: Any
) -> Descent:
    """A few steps from ``start``."""
    return _descend(likelihood, start, bounds, gain=_ROUGH_GAIN, max_iterations=_ROUGH_ITERATIONS, **options)


def _descend(
    likelihood: ConcentratedLikelihood, start: FloatArray, bounds: Sequence[Interval], **options: Any
) -> Descent:
    """A descent of the NLL that looks for no gain below its rounding error."""
    return descend(
        likelihood.value_and_gradient, start, bounds, rounding=lambda: likelihood.rounding, **options
    )


def _distinct(descents: Iterable[Descent]) -> list[Descent]:
    """Those that did not end near an earlier one."""
    distinct: list[Descent] = []
    for descent in descents:
        if all(_far_apart(descent.point, other.point) for other in distinct):
            distinct.append(descent)
    return distinct


def _far_apart(a: FloatArray, b: FloatArray) -> bool:
    """Whether two points may lead to different optima; all lengthscales of many box widths are alike."""
    return bool(np.abs(np.minimum(a, _LONG) - np.minimum(b, _LONG)).max() > _SAME_BASIN)


@functools.cache
def _candidates(dim: int, span: Interval) -> tuple[FloatArray, ...]:
    """A fixed spread of log-lengthscales: isotropic ones, and a Sobol' set in the log domain."""
    isotropic = np.log(np.sqrt(dim) * np.outer(_ISOTROPIC, np.ones(dim)))
    low, high = np.log(span)
    points = sobol(_SCAN_SIZE, dim, scramble=np.random.default_rng(0))
    return (*isotropic, *(low + (high - low) * points))
