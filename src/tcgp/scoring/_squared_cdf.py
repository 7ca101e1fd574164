"""The one integral behind the twCRPS: ∫ F² over a lower half-line, for any law.

A closed form exists for the normal law. Any other law gets a table built once per call: F² is interpolated
by Chebyshev polynomials on panels that are halved until each is resolved, so that an evaluation is a look-up and a
polynomial, however expensive the CDF is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx, ndtr

from tcgp._typing import ArrayLike, FloatArray

__all__ = ["PiecewisePrimitive", "normal_primitive", "primitive_of_square"]

Cdf = Callable[[FloatArray], FloatArray]

# With fewer nodes there are more panels, with more each one is over-resolved. The ends are nodes, so that a bend of
# the CDF next to an end is seen.
N_NODES = 17
NODES = chebyshev.chebpts2(N_NODES)
# Chebyshev coefficients from values at the nodes, and those of the primitive that vanishes at -1.
TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(NODES, N_NODES - 1))
TO_PRIMITIVE = chebyshev.chebint(TO_COEFFICIENTS, lbnd=-1)

# A panel is resolved if its last coefficients are this small relative to F² at its left end. Then the primitive has
# this relative accuracy even where F² falls by many orders of magnitude between panels.
RESOLVED = 1e-12
# Below this CDF the square leaves the range of normal floats.
NEGLIGIBLE = 1e-150
# Each halving and each doubling is one step; 2^300 covers all sensible scales.
MAX_STEPS = 300


def normal_primitive(b: ArrayLike) -> FloatArray:
    """Integral of Φ² over (−∞, b]: A(b) = b Φ² + 2 φ Φ − Φ(√2 b)/√π.

    The three terms cancel in the lower tail by a factor 2b² only, but each has its own rounding error of
    size b² from an exponential: with the factor exp(−b²) taken out, the scaled complementary error function
    keeps 1e-12 down to b = −26, where A leaves the range of floats.
    """
    b = np.asarray(b, dtype=float)
    below = np.clip(b, -40.0, 0.0)
    mills = 0.5 * erfcx(-below / np.sqrt(2.0))  # Φ(b) exp(b²/2)
    lower = below * mills**2 + np.sqrt(2.0 / np.pi) * mills - erfcx(-below) / (2.0 * np.sqrt(np.pi))
    above = np.maximum(b, 0.0)
    finite = np.minimum(above, 40.0)  # beyond 40, φ = 0 and Φ = 1
    cdf = ndtr(finite)
    pdf = np.exp(-0.5 * finite**2) / np.sqrt(2.0 * np.pi)
    upper = above * cdf**2 + 2.0 * pdf * cdf - ndtr(np.sqrt(2.0) * finite) / np.sqrt(np.pi)
    return np.asarray(np.where(b < 0.0, np.exp(-(below**2)) * np.maximum(lower, 0.0), upper))


@dataclass(frozen=True)
class PiecewisePrimitive:
    """x ↦ ∫_{−∞}^x of a function that is 0 before the first edge and 1 after the last.

    Attributes
    ----------
    edges : (m + 1,) array
        Increasing panel ends.
    start : (m + 1,) array
        The integral up to each edge.
    coefficients : (k, m) array
        Chebyshev coefficients of the integral from each panel's left end, for unit half-width.
    """

    edges: FloatArray
    start: FloatArray
    coefficients: FloatArray

    def __call__(self, x: ArrayLike) -> FloatArray:
        x = np.asarray(x, dtype=float)
        inside = np.clip(x, self.edges[0], self.edges[-1])
        panel = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, self.edges.size - 2)
        left, right = self.edges[panel], self.edges[panel + 1]
        half = 0.5 * (right - left)
        local = chebyshev.chebval(
            (inside - left) / half - 1.0, np.take(self.coefficients, panel, axis=1), tensor=False
        )
        return np.asarray(self.start[panel] + half * local + np.maximum(x - self.edges[-1], 0.0))


def primitive_of_square(cdf: Cdf, noise: float = 0.0, kinks: ArrayLike = ()) -> PiecewisePrimitive:
    """Integral of cdf² over (−∞, x], to about 1e-11 relative, as a function of x.

    Parameters
    ----------
    cdf : callable
        A CDF, vectorized.
    noise : float
        The absolute rounding error of ``cdf``; 0 when its lower tail is accurate relative to itself.
    kinks : array
        Where the CDF jumps or bends. Halving finds such points too, but needs fifty panels for each.
    """
    left, right = _initial_edges(cdf, noise, np.asarray(kinks, dtype=float))
    done: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for step in range(MAX_STEPS):
        half = 0.5 * (right - left)
        middle = left + half
        points = middle + half * NODES[:, None]  # (nodes, panels)
        # Just inside, because the CDF may jump at an end.
        points[0], points[-1] = np.nextafter(left, right), np.nextafter(right, left)
        values = cdf(points)
        coefficients = TO_COEFFICIENTS @ values**2
        unresolved = np.abs(coefficients[-3:]).max(axis=0)
        allowed = RESOLVED * values[0] ** 2 + 4.0 * noise * values[-1] + np.finfo(float).tiny
        splittable = (left < middle) & (middle < right) & (step < MAX_STEPS - 1)
        split = (unresolved > allowed) & splittable
        done.append((left[~split], right[~split], TO_PRIMITIVE @ values[:, ~split] ** 2))
        if not split.any():
            break
        left, right = (
            np.concatenate((left[split], middle[split])),
            np.concatenate((middle[split], right[split])),
        )
    lefts, rights, primitives = (np.concatenate(parts, axis=-1) for parts in zip(*done, strict=True))
    order = np.argsort(lefts)
    edges = np.append(lefts[order], rights[order[-1]])
    coefficients = primitives[:, order]
    totals = 0.5 * np.diff(edges) * coefficients.sum(axis=0)  # every Chebyshev polynomial is 1 at 1
    return PiecewisePrimitive(edges, np.concatenate(([0.0], np.cumsum(totals))), coefficients)


def _initial_edges(cdf: Cdf, noise: float, kinks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Panels that double in width from 0 until the CDF is negligible on the left and 1 on the right."""
    powers: FloatArray = np.exp2(np.arange(MAX_STEPS, dtype=float))
    vanished = cdf(-powers) <= max(NEGLIGIBLE, noise)
    complete = cdf(powers) >= 1.0
    n_left = int(np.argmax(vanished)) + 1 if vanished.any() else MAX_STEPS
    n_right = int(np.argmax(complete)) + 1 if complete.any() else MAX_STEPS
    low, high = -powers[n_left - 1], powers[n_right - 1]
    inside = kinks[(kinks > low) & (kinks < high)]
    edges = np.unique(np.concatenate((-powers[:n_left], [0.0], inside, powers[:n_right])))
    return edges[:-1], edges[1:]
