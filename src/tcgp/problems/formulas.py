"""The formulas: each maps points (..., d) to values (...).

The first nine are the paper's (appendix "Test Functions Used in the Experiments"), with its constants. Unless stated
otherwise, they agree with Surjanovic and Bingham, *Virtual Library of Simulation Experiments: Test Functions and
Datasets* (sfu.ca/~ssurjano), the source of the others.
"""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray

__all__ = [
    "SCHWEFEL_DEPTH",
    "ackley",
    "branin",
    "cross_in_tray",
    "dixon_price",
    "forrester",
    "goldstein_price",
    "griewank",
    "hartmann3",
    "hartmann6",
    "levy",
    "michalewicz",
    "perm",
    "rastrigin",
    "rosenbrock",
    "schwefel",
    "shekel",
    "six_hump_camel",
    "styblinski_tang",
]


def goldstein_price(x: FloatArray) -> FloatArray:
    """Goldstein and Price (1971): two variables, four local minima, values from 3 to 1e6."""
    x1, x2 = x[..., 0], x[..., 1]
    first = 1 + (x1 + x2 + 1) ** 2 * (19 - 14 * x1 + 3 * x1**2 - 14 * x2 + 6 * x1 * x2 + 3 * x2**2)
    second = 30 + (2 * x1 - 3 * x2) ** 2 * (18 - 32 * x1 + 12 * x1**2 + 48 * x2 - 36 * x1 * x2 + 27 * x2**2)
    return np.asarray(first * second)


def rosenbrock(x: FloatArray) -> FloatArray:
    """Rosenbrock (1960): a curved valley."""
    return np.asarray(np.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (x[..., :-1] - 1) ** 2, axis=-1))


def ackley(x: FloatArray) -> FloatArray:
    """Ackley (1987): a nearly flat outer region, many local minima, a deep well at the origin."""
    radial = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2, axis=-1)))
    ripples = -np.exp(np.mean(np.cos(2 * np.pi * x), axis=-1))
    return np.asarray((radial + 20) + (ripples + np.e))


def dixon_price(x: FloatArray) -> FloatArray:
    """Dixon and Price (1989)."""
    i = np.arange(2, x.shape[-1] + 1)
    return np.asarray((x[..., 0] - 1) ** 2 + np.sum(i * (2 * x[..., 1:] ** 2 - x[..., :-1]) ** 2, axis=-1))


_HARTMANN_C = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_HARTMANN3_P = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
_HARTMANN6_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann3(x: FloatArray) -> FloatArray:
    """Hartmann in dimension 3, not rescaled."""
    return _hartmann(x, _HARTMANN3_A, _HARTMANN3_P)


def hartmann6(x: FloatArray) -> FloatArray:
    """Hartmann in dimension 6, not rescaled."""
    return _hartmann(x, _HARTMANN6_A, _HARTMANN6_P)


def michalewicz(x: FloatArray) -> FloatArray:
    """Michalewicz (1992) with steepness m = 10: a sum over coordinates, steep valleys."""
    i = np.arange(1, x.shape[-1] + 1)
    return np.asarray(-np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20, axis=-1))


def cross_in_tray(x: FloatArray) -> FloatArray:
    """Cross-in-tray: two variables, four global minima, kinks on the axes."""
    envelope = np.exp(np.abs(100 - np.sqrt(np.sum(x**2, axis=-1)) / np.pi))
    return np.asarray(-0.0001 * (np.abs(np.prod(np.sin(x), axis=-1) * envelope) + 1) ** 0.1)


_SHEKEL_BETA = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
# Column 7 is (5, 3, 5, 3), as in the paper and the Virtual Library; Dixon and Szegő (1978) have (5, 5, 3, 3).
_SHEKEL_C = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
)


def shekel(x: FloatArray, m: int) -> FloatArray:
    """Shekel: four variables, one narrow well for each of m centres."""
    squared_distance = np.sum((x[..., :, None] - _SHEKEL_C[:, :m]) ** 2, axis=-2)  # (..., m)
    return np.asarray(-np.sum(1 / (squared_distance + _SHEKEL_BETA[:m]), axis=-1))


def perm(x: FloatArray) -> FloatArray:
    """Perm 0, d, beta with beta = 1 (the paper's value; the Virtual Library's default is 10)."""
    d = x.shape[-1]
    j = np.arange(1, d + 1)
    total = np.zeros(x.shape[:-1])
    for i in range(1, d + 1):
        total = total + np.sum((j + 1) * (x**i - (1 / j) ** i), axis=-1) ** 2
    return np.asarray(total)


def forrester(x: FloatArray) -> FloatArray:
    """Forrester, Sóbester and Keane (2008): one variable."""
    return np.asarray((6 * x[..., 0] - 2) ** 2 * np.sin(12 * x[..., 0] - 4))


def branin(x: FloatArray) -> FloatArray:
    """Branin and Hoo (1972): two variables, three global minima."""
    x1, x2 = x[..., 0], x[..., 1]
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10)


def six_hump_camel(x: FloatArray) -> FloatArray:
    """Six-hump camel: two variables, six local minima, two of them global."""
    x1, x2 = x[..., 0], x[..., 1]
    return np.asarray((4 - 2.1 * x1**2 + x1**4 / 3) * x1**2 + x1 * x2 + (4 * x2**2 - 4) * x2**2)


def levy(x: FloatArray) -> FloatArray:
    """Levy and Montalvo (1985)."""
    w = 1 + (x - 1) / 4
    inner = (w[..., :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[..., :-1] + 1) ** 2)
    last = (w[..., -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[..., -1]) ** 2)
    return np.asarray(np.sin(np.pi * w[..., 0]) ** 2 + np.sum(inner, axis=-1) + last)


def griewank(x: FloatArray) -> FloatArray:
    """Griewank (1981): a paraboloid with ripples."""
    i = np.arange(1, x.shape[-1] + 1)
    return np.asarray(np.sum(x**2, axis=-1) / 4000 + (1 - np.prod(np.cos(x / np.sqrt(i)), axis=-1)))


def styblinski_tang(x: FloatArray) -> FloatArray:
    """Styblinski and Tang (1990): a sum of quartics."""
    return np.asarray(np.sum(x**4 - 16 * x**2 + 5 * x, axis=-1) / 2)


# Maximum of t sin(sqrt t) on [0, 500]. With the usual rounded 418.9829 the minimum would be 1.3e-5 d, not 0.
SCHWEFEL_DEPTH = 418.98288727243370627


def schwefel(x: FloatArray) -> FloatArray:
    """Schwefel (1981): the best wells lie far apart, near the corners."""
    return np.asarray(np.sum(SCHWEFEL_DEPTH - x * np.sin(np.sqrt(np.abs(x))), axis=-1))


def rastrigin(x: FloatArray) -> FloatArray:
    """Rastrigin (1974): a paraboloid with a regular grid of local minima."""
    return np.asarray(np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x)), axis=-1))


def _hartmann(x: FloatArray, a: FloatArray, p: FloatArray) -> FloatArray:
    """Four Gaussian wells with centres p and precisions a."""
    exponents = np.sum(a * (x[..., None, :] - p) ** 2, axis=-1)  # (..., 4)
    return np.asarray(-np.exp(-exponents) @ _HARTMANN_C)
