"""Weights that turn averages over an adaptive design into averages over the box."""

from __future__ import annotations

import functools

import numpy as np

from tcgp._arrays import without_nan
from tcgp._typing import ArrayLike, FloatArray

__all__ = ["design_weights"]

# Smallest eigenvalue of the correlation matrix of the coordinates. Rounding leaves an exactly dependent
# coordinate with about 1e-16 d; far above that, and whitened rounding errors stay below 1e-9.
_SMALLEST_EIGENVALUE = 1e-13


def design_weights(X_unit: ArrayLike, *, w_max: float | None = None) -> FloatArray:
    """Density-ratio weights w_i ∝ 1 / ν(X_i) of the paper's Appendix E.3, normalized to sum to one.

    ν is a Gaussian kernel density estimate of the design with the full covariance of the points and Scott's
    factor n^(−1/(d+4)), the estimate of `scipy.stats.gaussian_kde`. Weighted averages over the design then
    approximate averages over the unit cube. Where the covariance is singular (few points, a constant
    coordinate, collinear points) its smallest eigenvalues are raised, so that every design gets weights.

    Parameters
    ----------
    X_unit : array of shape (n, d)
        Design, rescaled to the unit cube by the bounds of the search box.
    w_max : float, optional
        Largest weight before the last normalization, in units of the average weight (the paper's clipping).
        None, the default and the paper's choice, does not clip.

    Returns
    -------
    array of shape (n,)
        Positive weights of sum one.

    Examples
    --------
    Three points close together stand for the same part of the box, and share its weight:

    >>> from tcgp.calibration import design_weights
    >>> design_weights([[0.1], [0.48], [0.5], [0.52], [0.9]]).round(2)
    array([0.3 , 0.13, 0.13, 0.13, 0.3 ])
    """
    X = without_nan("X_unit", X_unit)
    if X.ndim != 2 or len(X) == 0:
        raise ValueError(f"X_unit must have shape (n, d) with n >= 1, got shape {X.shape}")
    if w_max is not None and not w_max > 0.0:
        raise ValueError(f"w_max must be positive, or None for no clipping, got {w_max}")
    weights = _weights(X.tobytes(), X.shape).copy()
    if w_max is not None:
        weights = np.minimum(weights, w_max / len(X))
        weights /= weights.sum()
    return weights


@functools.lru_cache(maxsize=1)  # the members of a portfolio ask for the same
def _weights(design: bytes, shape: tuple[int, ...]) -> FloatArray:
    """Weights of sum one, not clipped."""
    X = np.frombuffer(design).reshape(shape)
    # The kernel at zero distance is 1, so 1 <= density <= n: neither overflow nor a division by zero.
    weights: FloatArray = 1.0 / np.exp(-0.5 * _squared_distances(_whitened(X))).sum(axis=1)
    weights /= weights.sum()
    return weights


def _whitened(X: FloatArray) -> FloatArray:
    """Coordinates in which the kernel of the density estimate is the standard normal one; (n, d)."""
    n, d = X.shape
    centred = X - X.mean(axis=0)
    sd = centred.std(axis=0, ddof=1) if n > 1 else np.zeros(d)
    # A coordinate that varies by rounding alone is constant.
    constant = sd <= 1e-14 * np.abs(X).max(axis=0)
    centred[:, constant] = 0.0
    centred /= np.where(constant, 1.0, sd)
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / max(n - 1, 1))
    scott = n ** (-1.0 / (d + 4))
    out: FloatArray = centred @ (vectors / (scott * np.sqrt(np.maximum(eigenvalues, _SMALLEST_EIGENVALUE))))
    return out


def _squared_distances(Z: FloatArray) -> FloatArray:
    """Squared Euclidean distances between the rows of Z; (n, n)."""
    squared_norms = np.einsum("ij,ij->i", Z, Z)
    distances: FloatArray = squared_norms[:, None] + squared_norms[None, :] - 2.0 * (Z @ Z.T)
    # Rounding leaves a few ulps on the diagonal, and below zero.
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    return distances
