"""Upper incomplete gamma functions, in logarithms and without cancellation.

Notation: Γ(a, x) = ∫_x^∞ t^(a−1) e^(−t) dt, Q(a, x) = Γ(a, x) / Γ(a), and h(b, x) = x^(1−b) e^x Γ(b, x), the
part of Γ(b, x) that tends to 1 as x → ∞.

Two branches, split at x = 20 + 4a. Below, SciPy's `gammaincc` is accurate and does not underflow. Above, the
continued fraction of h takes over: `gammaincc` underflows at x ≈ 700 (less when a is small), and differences
of two of them cancel long before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from tcgp._typing import BoolArray, FloatArray

__all__ = ["log_gamma_q", "log_gamma_spread"]

# Levels of the continued fraction. Beyond x = 20 + 4a, 12 levels give h(a, x), h(a − 1, x) and h(2a − 1, x)
# to rounding for every a <= 40; fewer do not.
_LEVELS = 12

_LARGEST = np.finfo(float).max


def log_gamma_q(a: float | FloatArray, x: FloatArray) -> FloatArray:
    """log Q(a, x) for a > 0 and 0 ≤ x ≤ ∞; a broadcasts against x."""
    return _by_branch(x > _split(a), _log_q_near, _log_q_far, a, x)


def log_gamma_spread(a: float | FloatArray, x: FloatArray, root: FloatArray) -> FloatArray:
    """log of [Γ(2a, x) − x^a Γ(a, x)] / Γ(a), given root = x^a; a broadcasts against x and root."""
    return _by_branch(x > _split(a), _log_spread_near, _log_spread_far, a, x, root)


def _split(a: float | FloatArray) -> float | FloatArray:
    """The x above which the continued fraction is used."""
    return 20.0 + 4.0 * a


def _by_branch(
    far: BoolArray,
    near_branch: Callable[..., FloatArray],
    far_branch: Callable[..., FloatArray],
    *args: float | FloatArray,
) -> FloatArray:
    """Evaluate each branch on its own elements only, and without indexing when there is but one branch."""
    if not far.any():
        return near_branch(*args)
    if far.all():
        return far_branch(*args)
    out = np.empty(far.shape)
    for mask, branch in ((~far, near_branch), (far, far_branch)):
        out[mask] = branch(*(v if np.ndim(v) == 0 else np.broadcast_to(v, far.shape)[mask] for v in args))
    return out


def _log_q_near(a: float | FloatArray, x: FloatArray) -> FloatArray:
    """log Q for x <= 20 + 4a, where Q is above 1e-14 or so and accurate."""
    out: FloatArray = np.log(special.gammaincc(a, x))
    return out


def _log_q_far(a: float | FloatArray, x: FloatArray) -> FloatArray:
    """log Q for x > 20 + 4a, where Q may underflow; −x comes last so that x = ∞ gives −∞ and not NaN."""
    x_finite = np.minimum(x, _LARGEST)
    log_scale = (a - 1.0) * np.log(x_finite) - special.gammaln(a)
    out: FloatArray = log_scale + np.log(_h(a, x_finite)) - x
    return out


def _log_spread_near(a: float | FloatArray, x: FloatArray, root: FloatArray) -> FloatArray:
    """The plain difference, for x <= 20 + 4a: it cancels by a factor of about 1 + x/a only."""
    log_mean = special.gammaln(2.0 * a) - special.gammaln(a)
    # Relative to Γ(2a) / Γ(a), which overflows for a > 85 or so.
    relative = special.gammaincc(2.0 * a, x) - root * np.exp(-log_mean) * special.gammaincc(a, x)
    # Rounding may leave a negative difference only where a < 1e-10, a law that is all but of bounded support.
    out: FloatArray = log_mean + np.log(np.maximum(relative, 0.0))
    return out


def _log_spread_far(a: float | FloatArray, x: FloatArray, root: FloatArray) -> FloatArray:
    """The difference for x > 20 + 4a, where the plain one cancels by x/a, then underflows.

    Γ(b, x) = x^(b−1) e^(−x) + (b − 1) Γ(b − 1, x) removes the leading term that Γ(2a, x) and x^a Γ(a, x) have
    in common: the difference is e^(−x) x^(2a−2) [(2a − 1) h(2a − 1, x) − (a − 1) h(a − 1, x)]. As x → ∞ the
    bracket tends to a, so it cancels by a factor of about 1/a at most, whatever x.
    """
    x_finite = np.minimum(x, _LARGEST)
    bracket = (2.0 * a - 1.0) * _h(2.0 * a - 1.0, x_finite) - (a - 1.0) * _h(a - 1.0, x_finite)
    out: FloatArray = (2.0 * a - 2.0) * np.log(x_finite) - special.gammaln(a) + np.log(bracket) - x
    return out


def _h(b: float | FloatArray, x: FloatArray) -> FloatArray:
    """h(b, x) by the even part of Legendre's continued fraction (DLMF 8.9.2), from the bottom up."""
    tail = x + (2 * _LEVELS + 1) - b
    for k in range(_LEVELS, 0, -1):
        tail = x + (2 * k - 1) - b - k * (k - b) / tail
    return x / tail
