"""Matérn correlations of half-integer smoothness nu = p + 1/2, and their slopes.

Everything is a function of the squared scaled distance ``r2 = sum_j (x_j - y_j)^2 / rho_j^2``. With
``h = sqrt((2 p + 1) r2)`` the correlation is a polynomial in ``h`` times ``exp(-h)``, and one *slope*

    q(h) = -(2 p + 1) k'(h) / h

gives both derivatives that the package needs:

    dk / dlog rho_j =  q (x_j - y_j)^2 / rho_j^2,
    dk / dx_j       = -q (x_j - y_j)   / rho_j^2.
"""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray

__all__ = ["SMOOTHNESSES", "correlation", "correlation_and_slope"]

SMOOTHNESSES = (0, 1, 2, 3)

# p = 0 has a cusp at h = 0, where its slope is infinite; the floor keeps q * (x_j - y_j)^2 at its limit 0.
_SMALLEST_DISTANCE = 1e-150


def correlation(r2: FloatArray, p: int) -> FloatArray:
    """Matérn correlation at squared scaled distances ``r2`` (overwritten)."""
    r2 *= 2 * p + 1
    h = np.sqrt(r2, out=r2)
    k = _decay(h)
    if p == 0:
        return k
    # Horner's scheme in place: the polynomial replaces h.
    if p == 1:
        h += 1.0
    elif p == 2:
        inner = h * (1.0 / 3.0)  # a division takes three times as long
        inner += 1.0
        h *= inner
        h += 1.0
    else:
        h *= h * (h / 15.0 + 0.4) + 1.0
        h += 1.0
    k *= h
    return k


def correlation_and_slope(r2: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Matérn correlation ``k`` and slope ``q`` at squared scaled distances ``r2`` (overwritten)."""
    r2 *= 2 * p + 1
    h = np.sqrt(r2, out=r2)
    e = _decay(h)
    if p == 0:
        return e, e / np.maximum(h, _SMALLEST_DISTANCE)
    if p == 1:
        return (1.0 + h) * e, 3.0 * e
    if p == 2:
        u = h + 1.0
        u *= e
        h *= h
        h *= e
        h *= 1.0 / 3.0
        h += u
        u *= 5.0 / 3.0
        return h, u
    polynomial = h * (h + 3.0) + 3.0
    return (1.0 + h * (1.0 + h * (0.4 + h / 15.0))) * e, (7.0 / 15.0) * polynomial * e


def _decay(h: FloatArray) -> FloatArray:
    """``exp(-h)``, with one new array: of large ones, making them takes as long as filling them."""
    e: FloatArray = np.negative(h)
    return np.exp(e, out=e)
