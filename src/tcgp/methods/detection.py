"""Noise in a run whose evaluations are taken to be exact."""

from __future__ import annotations

from tcgp._typing import FloatArray
from tcgp.gp import GaussianProcess, NoisyGaussianProcess
from tcgp.methods.portfolio import compress

__all__ = ["noise_in"]

# By how much, in log units, the data must be likelier with noise than under every process that passes through them, and
# by how much if the noise is more than this share of their standard deviation. Functions that are rugged at all scales
# look like much noise: of 73 exact runs, 7 look noisy if much noise counts, and 3 if it does not. Ripples finer than
# the distances of the points look like noise at any gain (benchmarks/reliability/detection.py).
GAIN, GAIN_IF_MUCH, MUCH = 5.0, 8.0, 0.3


def noise_in(X: FloatArray, y: FloatArray, *, much: bool = False) -> float | None:
    """Standard deviation of the noise suggested by supposedly exact data; None if there is no sign of any.

    A process with learned noise must be far likelier than smooth and rough ones that pass through the values, on the
    scale of the values and with high ones drawn in. In a run that has found ripples that is seldom so, even if there is
    noise: only a repeat decides.

    Parameters
    ----------
    X : array of shape (n, d)
        Points of the unit cube.
    y : array of shape (n,)
    much : bool
        Whether much noise counts. It is missed otherwise: runs gather near the minimum, where values differ little.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.detection import noise_in
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.random((20, 1)), 0.5 + 0.002 * rng.standard_normal((20, 1))])
    >>> y = (X[:, 0] - 0.5) ** 2
    >>> noise_in(X, y), 0.005 < noise_in(X, y + 0.01 * rng.standard_normal(40)) < 0.02
    (None, True)
    """
    box = [(0.0, 1.0)] * X.shape[1]
    found = None
    for values in (y, compress(y, y)):
        noisy = NoisyGaussianProcess(selection="pooled", shortest=None).fit(X, values, bounds=box)
        found = noisy.noise_ if found is None else found
        is_much = found > MUCH * y.std()
        if is_much and not much:
            return None
        for smoothness in (2, 1, 0):
            exact = GaussianProcess(smoothness, selection="pooled", shortest=None).fit(X, values, bounds=box)
            if noisy.log_likelihood_ - exact.log_likelihood_ <= (GAIN_IF_MUCH if is_much else GAIN):
                return None
    return found
