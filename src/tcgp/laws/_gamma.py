"""Upper incomplete gamma functions: fast, in logarithms, and without cancellation.

Γ(a, x) = ∫_x^∞ t^(a−1) e^(−t) dt and Q(a, x) = Γ(a, x) / Γ(a). Every function takes a > 0 and 0 ≤ x ≤ ∞ and
broadcasts one against the other; `root` is x^a, which callers already know, and more precisely.

Two branches, split at x = 20 + 4a. Below, Q is accurate and above 1e-308. Above, the continued fraction of
Γ(a, x) takes over, for Q underflows (near x = 700 when a is moderate) and the difference of two cancels long
before that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special

from tcgp._typing import BoolArray, FloatArray

__all__ = ["gamma_q", "log_gamma_q", "log_gamma_spread", "log_gamma_spread_and_ratio", "scaled_gamma"]

_Shape: TypeAlias = float | FloatArray

# Levels of the continued fraction. For x > 20 + 4a, whatever a > 0, ten are as good as infinitely many: the
# relative error is below 1e-15 wherever they are used: Γ(a, x), Γ(a − 1, x) and Γ(2a − 1, x).
_LEVELS = 10

_LARGEST = np.finfo(float).max


def gamma_q(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """Q(a, x), to full relative precision until it underflows."""
    # For small a and x ≤ 1.1, SciPy's gammaincc sums a series that costs up to 100 times gammainc's. There
    # Q ≥ 0.009, so that 1 − P loses two digits at most; for a < 0.05 it could lose all.
    slow = (x <= 1.1) & (np.greater_equal(a, 0.05) & np.less(a, 1.25))
    return _by_branch(slow, _q_from_p, _q_from_scipy, a, x, root)


def log_gamma_q(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """log Q(a, x), also where Q underflows."""
    return _by_branch(x <= 20.0 + 4.0 * a, _log_q_near, _log_q_far, a, x, root)


def log_gamma_spread(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """log of S = [Γ(2a, x) − x^a Γ(a, x)] / Γ(a), also where it underflows."""
    return log_gamma_spread_and_ratio(a, x, root)[0]


def log_gamma_spread_and_ratio(a: _Shape, x: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log S, and Q(a, x) / S, also where both underflow."""
    out: FloatArray = _by_branch(x <= 20.0 + 4.0 * a, _spread_near, _spread_far, a, x, root)
    return out[0], out[1]


def scaled_gamma(b: _Shape, x: FloatArray) -> FloatArray:
    """h(b, x) = x^(1−b) e^x Γ(b, x) for real b ≤ x/2 − 11 and 20 ≤ x < ∞; it tends to 1 as x → ∞.

    This is the even part of Legendre's continued fraction (DLMF 8.9.2), from the bottom up.
    """
    y = x - b
    tail = y + (2 * _LEVELS + 1)
    for k in range(_LEVELS, 0, -1):
        tail = y + (2 * k - 1) - (k * (k - b)) / tail
    return x / tail


def _by_branch(
    low: BoolArray,
    low_branch: Callable[..., FloatArray],
    high_branch: Callable[..., FloatArray],
    *args: _Shape,
) -> FloatArray:
    """Evaluate each branch on its own elements only, without indexing if one branch covers all.

    A branch may return several values for each element, stacked along a first axis.
    """
    if low.all():
        return low_branch(*args)
    if not low.any():
        return high_branch(*args)
    parts = [
        branch(*(_pick(v, mask) for v in args)) for mask, branch in ((low, low_branch), (~low, high_branch))
    ]
    out = np.empty(parts[0].shape[:-1] + low.shape)
    out[..., low], out[..., ~low] = parts
    return out


def _pick(v: _Shape, mask: BoolArray) -> _Shape:
    """The elements of v where mask holds, v broadcasting against mask; a scalar stays one."""
    values = np.asarray(v)
    if values.ndim == 0:
        return v
    return values[mask] if values.shape == mask.shape else np.broadcast_to(values, mask.shape)[mask]


def _q_from_p(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """Q = 1 − P, where P(a, x) = P(a + 1, x) + x^a e^(−x) / Γ(a + 1): x < a + 1 is gammainc's fast range."""
    out: FloatArray = 1.0 - (special.gammainc(a + 1.0, x) + root * np.exp(-x) * special.rgamma(a + 1.0))
    return out


def _q_from_scipy(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """Q where gammaincc is fast; it is accurate everywhere."""
    out: FloatArray = special.gammaincc(a, x)
    return out


def _log_q_near(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """log Q for x ≤ 20 + 4a."""
    return np.log(gamma_q(a, x, root))


def _log_q_far(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """log Q for x > 20 + 4a; −x is added last so that x = ∞ gives −∞, not NaN."""
    x_finite = np.minimum(x, _LARGEST)
    log_h = np.log(scaled_gamma(a, x_finite))
    out: FloatArray = (a - 1.0) * np.log(x_finite) + log_h - special.gammaln(a) - x
    return out


def _spread_near(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """The plain difference, for x ≤ 20 + 4a, where it cancels by a factor of about 1 + x/a only."""
    # Relative to Γ(2a) / Γ(a), which overflows for a > 85 or so.
    log_mean = special.gammaln(2.0 * a) - special.gammaln(a)
    inverse_mean = np.exp(-log_mean)
    q = gamma_q(a, x, root)
    # Rounding can leave a negative difference, but only for a < 1e-10: there the law is as good as uniform.
    relative = np.maximum(gamma_q(2.0 * a, x, np.square(root)) - root * inverse_mean * q, 0.0)
    return np.stack(np.broadcast_arrays(log_mean + np.log(relative), inverse_mean * q / relative))


def _spread_far(a: _Shape, x: FloatArray, root: FloatArray) -> FloatArray:
    """The difference for x > 20 + 4a, where the plain one cancels by a factor x/a, and then underflows.

    Γ(b, x) = x^(b−1) e^(−x) + (b − 1) Γ(b − 1, x) removes the leading term that Γ(2a, x) and x^a Γ(a, x) have
    in common: the difference is e^(−x) x^(2a−2) [(2a − 1) h(2a − 1, x) − (a − 1) h(a − 1, x)]. As x → ∞ the
    bracket tends to a, so it cancels by a factor of about 1/a at most, whatever x. The same recursion gives
    Γ(a, x) = e^(−x) x^(a−1) [1 + (a − 1) h(a − 1, x) / x].
    """
    x_finite = np.minimum(x, _LARGEST)
    h = (a - 1.0) * scaled_gamma(a - 1.0, x_finite)
    bracket = np.maximum((2.0 * a - 1.0) * scaled_gamma(2.0 * a - 1.0, x_finite) - h, 0.0)
    log_x = np.log(x_finite)
    log_spread = (2.0 * a - 2.0) * log_x + np.log(bracket) - special.gammaln(a) - x
    ratio = np.exp((1.0 - a) * log_x) * (1.0 + h / x_finite) / bracket
    return np.stack(np.broadcast_arrays(log_spread, ratio))
