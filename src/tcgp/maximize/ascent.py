"""Climb from many starts at once: a batched projected quasi-Newton method on the unit cube.

All starts share each criterion call, because a call costs far more than a point in it; every start has
its own inverse Hessian, step length and line search, and leaves the batch when it is done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._typing import BoolArray, FloatArray, IntArray
from tcgp.criteria.base import Criterion

__all__ = ["Ascent", "ascend"]

_ARMIJO = 1e-4  # smallest acceptable share of the increase that the gradient promises
_MAX_REJECTIONS = 12  # in a row, after which a start counts as done: what is left is rounding noise
_FEW_REJECTIONS, _DOUBT = 2, 1e3  # that many, where little is promised (in tolerances), are noise already
_RESET_AFTER = 4  # rejections in a row, after which the inverse Hessian is taken to be wrong
_GROWTH = 3.0  # of the inverse Hessian where the criterion curves upwards
_FLATNESS = 1e3  # largest first ratio of the inverse curvature of a coordinate to that of the whole step
_HOPE = 4.0  # gains, in units of what the quasi-Newton model promises, that a start may still hope for
_PATIENCE = 8  # iterations before a start is judged by its hopes
_CHANCES = 2  # iterations that a race goes on after its leader has arrived
_SNAP = 1e-12  # coordinates closer than this to a face are on it


@dataclass(frozen=True)
class Ascent:
    """End points of a batch of ascents, one per start.

    Attributes
    ----------
    x : array of shape (s, d)
        Last accepted points.
    values : array of shape (s,)
        Criterion at ``x``; never below its value at the start.
    gradients : array of shape (s, d)
        Gradients at ``x``.
    inverse_hessians : array of shape (s, d, d)
        Quasi-Newton estimates of the inverse of minus the Hessian.
    converged : boolean array of shape (s,)
        False where a start was given up in the race, or ran out of iterations.
    n_evaluations : int
        Number of points at which the criterion was evaluated.
    """

    x: FloatArray
    values: FloatArray
    gradients: FloatArray
    inverse_hessians: FloatArray
    converged: BoolArray
    n_evaluations: int


# Log criteria span all magnitudes: an overflow is one more rejected step.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def ascend(
    criterion: Criterion,
    starts: FloatArray,
    *,
    first_step: FloatArray | float = 0.01,
    inverse_hessians: FloatArray | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 300,
    halve_every: FloatArray | float | None = None,
) -> Ascent:
    """Climb the criterion from every start to a local maximum in the unit cube.

    BFGS on the free coordinates: those on a face whose gradient points outwards are held, the update
    leaves their block alone, and trial points are projected onto the cube [1]_. Each criterion call serves
    one trial point of every live start, be it a new step or a shorter one after a rejection.

    Parameters
    ----------
    criterion : Criterion
        Function to maximize; only ``value_and_gradient`` is called, and only inside the cube.
    starts : array of shape (s, d)
        Start points in the unit cube.
    first_step : float or array of shape (s,)
        Length of the first trial step, before curvature is known.
    inverse_hessians : array of shape (s, d, d), optional
        Curvature known from an earlier ascent; ``first_step`` is then ignored.
    tolerance : float
        A start has converged when its quasi-Newton model promises a gain below this.
    max_iterations : int
        Largest number of criterion calls after the first.
    halve_every : float or array of shape (s,), optional
        Race: after each so many iterations keep only the better half of the starts, down to one, and
        drop those which cannot hope to overtake the best. Starts with different numbers race apart, so that
        starts which have a longer way to go are not measured by the others. By default there is no race.

    Returns
    -------
    Ascent
        One end point per start, in the order of the starts.

    References
    ----------
    .. [1] D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints",
       SIAM Journal on Control and Optimization 20 (1982).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.maximize.ascent import ascend
    >>> class Bump:
    ...     def __call__(self, X):
    ...         return -np.sum((X - [0.3, 2.0]) ** 2, axis=1)
    ...     def value_and_gradient(self, X):
    ...         return self(X), -2.0 * (X - [0.3, 2.0])
    >>> ascend(Bump(), np.array([[0.9, 0.1]])).x.round(6)
    array([[0.3, 1. ]])
    """
    batch = _begin(criterion, np.array(starts, dtype=np.float64), first_step, inverse_hessians, halve_every)
    sizes = dict(zip(*np.unique(batch.period, return_counts=True), strict=True))
    n_starts = n_evaluations = len(batch.x)
    end = Ascent(
        batch.x.copy(),
        batch.f.copy(),
        batch.g.copy(),
        batch.H.copy(),
        np.zeros(n_starts, dtype=bool),
        n_evaluations,
    )
    best = float(batch.f.max(initial=-np.inf))
    chances = _CHANCES
    for iteration in range(max_iterations + 1):
        done = _finished(batch, tolerance)
        leave = done
        if halve_every is not None:
            leave = done | _hopeless(batch, best, tolerance, iteration)
            leave |= _worse_halves(batch, sizes, iteration)
            # The best of all may be among those that are done: the others then have a last chance to overtake.
            leader_runs = bool((batch.f[~done] >= best).any())
            chances = _CHANCES if leader_runs else chances - 1
            if not chances:
                leave = np.ones_like(done)
        if iteration == max_iterations:
            leave = np.ones_like(done)
        if leave.any():
            gone = batch.index[leave]
            end.x[gone], end.values[gone], end.gradients[gone] = (
                batch.x[leave],
                batch.f[leave],
                batch.g[leave],
            )
            end.inverse_hessians[gone], end.converged[gone] = batch.H[leave], done[leave]
            batch.keep(~leave)
            if not len(batch.x):
                break
        _advance(criterion, batch)
        n_evaluations += len(batch.x)
        best = max(best, float(batch.f.max()))
    return Ascent(end.x, end.values, end.gradients, end.inverse_hessians, end.converged, n_evaluations)


@dataclass
class _Batch:
    """The live starts: arrays with one row each."""

    x: FloatArray  # (s, d)
    f: FloatArray  # (s,)
    g: FloatArray  # (s, d)
    side: FloatArray  # (s, d): -1 or 1 on a face of the cube, else 0
    free: FloatArray  # (s, d): the gradient without its outward parts on the faces
    H: FloatArray  # (s, d, d)
    p: FloatArray  # (s, d): direction
    gain: FloatArray  # (s,): slope along p, twice what the quasi-Newton model promises
    t: FloatArray  # (s,): step length along p
    fresh: BoolArray  # (s,): no curvature seen yet
    rejections: IntArray  # (s,): in a row
    period: FloatArray  # (s,): iterations between the halvings of its race
    index: IntArray  # (s,): which start this is

    def keep(self, rows: BoolArray) -> None:
        some = np.flatnonzero(rows)
        for name, array in vars(self).items():
            setattr(self, name, array.take(some, axis=0))


def _begin(
    criterion: Criterion,
    x: FloatArray,
    first_step: FloatArray | float,
    H: FloatArray | None,
    period: FloatArray | float | None,
) -> _Batch:
    """Evaluate the starts; without curvature, go up the gradient by the length of the first step."""
    f, g = _evaluate(criterion, x)
    s, d = x.shape
    side, free = _hold(x, g)
    fresh = H is None
    if H is None:
        size = _norm(free)
        scale = np.divide(first_step, size, out=np.zeros(s), where=size > 0.0)
        H = scale[:, None, None] * np.eye(d)
    else:
        H = H.copy()
    p = _direction(H, side, free)
    return _Batch(
        x,
        f,
        g,
        side,
        free,
        H,
        p,
        gain=_dot(p, free),
        t=np.ones(s),
        fresh=np.full(s, fresh),
        rejections=np.zeros(s, dtype=np.intp),
        period=np.broadcast_to(np.inf if period is None else np.asarray(period, dtype=np.float64), (s,)),
        index=np.arange(s),
    )


def _finished(batch: _Batch, tolerance: float) -> BoolArray:
    """Starts that promise no gain, or none above the rounding of their value (not finite ones included)."""
    done = ~(batch.gain > np.maximum(tolerance, 4e-16 * np.abs(batch.f)))
    often = batch.rejections > _FEW_REJECTIONS
    if often.any():
        done |= often & ((batch.gain < _DOUBT * tolerance) | (batch.rejections > _MAX_REJECTIONS))
    return done


def _hopeless(batch: _Batch, best: float, tolerance: float, iteration: int) -> BoolArray:
    """Starts below the best whose model promises too little to overtake it by more than the tolerance."""
    if iteration < _PATIENCE:
        return np.zeros(len(batch.f), dtype=bool)
    return (batch.f < best) & (batch.f + _HOPE * batch.gain < best + 100.0 * tolerance)


def _worse_halves(batch: _Batch, sizes: dict[float, int], iteration: int) -> BoolArray:
    """Starts to drop so that, of the ``size`` starts of a race, size / 2^k are left after k halvings."""
    worse = np.zeros(len(batch.f), dtype=bool)
    for period, size in sizes.items():
        if int(iteration / period) == int((iteration - 1) / period):
            continue  # between two halvings
        rows = np.flatnonzero(batch.period == period)
        left = max(1, size >> int(iteration / period))
        if len(rows) > left:
            promise = batch.f[rows] + 0.5 * batch.gain[rows]
            worse[rows[np.argsort(-promise, kind="stable")[left:]]] = True
    return worse


def _advance(criterion: Criterion, batch: _Batch) -> None:
    """One criterion call: accept a step or shorten it, learn the curvature, set the next direction."""
    trial = batch.x + batch.t[:, None] * batch.p
    np.maximum(trial, 0.0, out=trial)
    np.minimum(trial, 1.0, out=trial)
    s = trial - batch.x
    f, g = _evaluate(criterion, trial)
    slope = _dot(batch.free, s)
    increase = f - batch.f
    accepted = (increase >= _ARMIJO * slope) & (slope > 0.0)
    _learn(batch, s, g, accepted)
    if accepted.all():
        batch.x, batch.f, batch.g = trial, f, g
        batch.t.fill(1.0)
        batch.rejections.fill(0)
    else:
        batch.x = np.where(accepted[:, None], trial, batch.x)
        batch.g = np.where(accepted[:, None], g, batch.g)
        batch.f = np.where(accepted, f, batch.f)
        _shorten(batch, slope, increase, accepted)
    batch.side, batch.free = _hold(batch.x, batch.g)
    batch.p = _direction(batch.H, batch.side, batch.free)
    batch.gain = _dot(batch.p, batch.free)


def _learn(batch: _Batch, s: FloatArray, g_new: FloatArray, accepted: BoolArray) -> None:
    """BFGS update of the accepted steps, in the form H + s u' + u s'."""
    # Held coordinates do not move; without their gradient change the update is BFGS on the free ones.
    y = batch.free - np.where(batch.side * batch.g > 0.0, 0.0, g_new)
    sy, yy = _dot(s, y), _dot(y, y)
    curved = accepted & (sy > 1e-10 * np.sqrt(_dot(s, s) * yy))
    first = batch.fresh & curved
    if first.any():
        # A lengthscale may be thousands of times another. The secant slope of each coordinate
        # shows the flat ones, which a multiple of the identity would take many iterations to find.
        floor = (sy[first] / yy[first])[:, None]
        diagonal = np.abs(s[first] / y[first])
        diagonal = np.fmin(np.fmax(diagonal, floor), _FLATNESS * floor)
        batch.H[first] = diagonal[:, :, None] * np.eye(s.shape[1])
        batch.fresh &= ~first
    w = np.where(curved, 1.0 / sy, 0.0)[:, None]
    Hy = np.einsum("sij,sj->si", batch.H, y)
    u = w * (0.5 * (1.0 + _dot(y, Hy)[:, None] * w) * s - Hy)
    half = s[:, :, None] * u[:, None, :]
    batch.H += half
    batch.H += half.transpose(0, 2, 1)
    upward = accepted & ~curved
    if upward.any():
        batch.H[upward] *= _GROWTH


def _shorten(batch: _Batch, slope: FloatArray, increase: FloatArray, accepted: BoolArray) -> None:
    """Shorten the rejected steps to the maximum of the parabola through what is known, within a factor."""
    ratio = slope / (2.0 * (slope - increase))
    batch.t = np.where(accepted, 1.0, batch.t * np.fmin(np.fmax(ratio, 0.1), 0.5))
    batch.rejections = np.where(accepted, 0, batch.rejections + 1)
    reset = batch.rejections == _RESET_AFTER
    if reset.any():
        length = batch.t[reset] * _norm(batch.p[reset])
        batch.H[reset] = (length / _norm(batch.free[reset]))[:, None, None] * np.eye(batch.x.shape[1])
        batch.fresh |= reset
        batch.t[reset] = 1.0


def _evaluate(criterion: Criterion, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and gradients, with the undefined gradients of an infinite value set to zero."""
    f, g = criterion.value_and_gradient(x)
    if not np.isfinite(g).all():
        g = np.where(np.isfinite(g), g, 0.0)
    return f, g


def _hold(x: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Which face each coordinate lies on (-1, 0 or 1), and the gradient without its outward parts there."""
    side = (x >= 1.0 - _SNAP).astype(np.float64)
    side -= x <= _SNAP
    return side, np.where(side * g > 0.0, 0.0, g)


def _direction(H: FloatArray, side: FloatArray, free: FloatArray) -> FloatArray:
    """Quasi-Newton direction of ascent that leaves no face of the cube outwards."""
    p: FloatArray = np.einsum("sij,sj->si", H, free)
    if not side.any():
        return p
    held = (side != 0.0) & (free == 0.0)
    p[held] = 0.0
    while (outward := side * p > 0.0).any():
        # H couples the coordinates: one that its own gradient pulls inwards may still be sent out. Holding
        # it too keeps the direction one of ascent, because a principal block of H is positive definite.
        held |= outward
        p = np.einsum("sij,sj->si", H, np.where(held, 0.0, free))
        p[held] = 0.0
    return p


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Row-wise inner products."""
    products: FloatArray = np.einsum("sj,sj->s", a, b)
    return products


def _norm(a: FloatArray) -> FloatArray:
    """Row-wise Euclidean norms."""
    lengths: FloatArray = np.sqrt(_dot(a, a))
    return lengths
