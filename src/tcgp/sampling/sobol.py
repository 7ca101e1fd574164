"""Sobol' points without `scipy.stats`, whose import takes longer than the first proposal of a run.

The points are those of `scipy.stats.qmc.Sobol`, bit for bit; beyond the table of direction numbers that class is used.

References
----------
.. [1] S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM Journal on
   Scientific Computing 30, 2635-2654 (2008).
"""

from __future__ import annotations

import functools

import numpy as np

from tcgp._typing import FloatArray, IntArray

__all__ = ["sobol"]

_BITS = 30
# From the second dimension on, from [1]: the polynomial, with its coefficients as bits, and the first direction
# numbers, one for each degree.
_DIRECTIONS = """
3: 1
7: 1 3
11: 1 3 1
13: 1 1 1
19: 1 1 3 3
25: 1 3 5 13
37: 1 1 5 5 17
41: 1 1 5 5 5
47: 1 1 7 11 19
55: 1 1 5 1 1
59: 1 1 1 3 11
61: 1 3 5 5 31
67: 1 3 3 9 7 49
91: 1 1 1 15 21 21
97: 1 3 1 13 27 49
103: 1 1 1 15 7 5
109: 1 3 1 15 13 25
115: 1 1 5 5 19 61
131: 1 3 7 11 23 15 103
137: 1 3 7 13 13 15 69
143: 1 1 3 13 7 35 63
145: 1 3 5 9 1 25 53
157: 1 3 1 13 9 35 107
167: 1 3 1 5 27 61 31
171: 1 1 5 11 19 41 61
185: 1 3 5 3 3 13 69
191: 1 1 7 13 1 19 1
193: 1 3 7 5 13 19 59
203: 1 1 3 9 25 29 41
""".strip().splitlines()
_MOST_DIMENSIONS = 1 + len(_DIRECTIONS)


def sobol(n: int, dim: int, *, scramble: np.random.Generator | None = None) -> FloatArray:
    """The first ``n`` Sobol' points of the unit cube, of shape (n, dim).

    Parameters
    ----------
    n, dim : int
    scramble : numpy.random.Generator, optional
        Scrambles the points: a random lower triangular matrix for each dimension, and a random shift.

    Examples
    --------
    >>> from tcgp.sampling.sobol import sobol
    >>> sobol(4, 2)
    array([[0.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """
    n_base2 = max(n - 1, 0).bit_length()
    if dim > _MOST_DIMENSIONS:
        from scipy.stats import qmc

        sequence = qmc.Sobol(dim, scramble=scramble is not None, rng=scramble)
        return np.asarray(sequence.random_base2(n_base2)[:n], dtype=np.float64)
    directions = _directions(dim)
    shift: IntArray = np.zeros(dim, dtype=np.int64)
    if scramble is not None:
        (rng,) = scramble.spawn(1)
        shift = rng.integers(2, size=(dim, _BITS), dtype=np.uint32) @ (1 << np.arange(_BITS))
        matrices = np.tril(rng.integers(2, size=(dim, _BITS, _BITS), dtype=np.uint32))
        matrices[:, range(_BITS), range(_BITS)] = 1
        directions = _from_digits(matrices @ _digits(directions) % 2)
    gray = np.arange(n) ^ (np.arange(n) >> 1)
    points = np.tile(shift, (n, 1))
    for k in range(n_base2):
        points[gray >> k & 1 == 1] ^= directions[:, k]
    return np.asarray(points * 2.0**-_BITS, dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _directions(dim: int) -> IntArray:
    """Direction numbers as integers of 30 binary digits, of shape (dim, 30)."""
    rows = [[1] * _BITS]
    for line in _DIRECTIONS[: dim - 1]:
        polynomial, numbers = line.split(":")
        row = list(map(int, numbers.split()))
        degree = len(row)
        while len(row) < _BITS:
            following = row[-degree]
            for i in range(1, degree + 1):
                following ^= row[-i] * (int(polynomial) >> (degree - i) & 1) << i
            row.append(following)
        rows.append(row)
    return np.array(rows) << (_BITS - 1 - np.arange(_BITS))


def _digits(numbers: IntArray) -> IntArray:
    """Binary digits, the most significant first, along a new axis before the last."""
    digits: IntArray = numbers[:, None, :] >> (_BITS - 1 - np.arange(_BITS))[:, None] & 1
    return digits


def _from_digits(digits: IntArray) -> IntArray:
    numbers: IntArray = np.sum(digits.astype(np.int64) << (_BITS - 1 - np.arange(_BITS))[:, None], axis=1)
    return numbers
