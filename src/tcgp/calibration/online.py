"""onGP: online recalibration of quantiles with the pinball loss."""

from __future__ import annotations

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used: it takes a fifth of a second
from scipy import special

from tcgp._arrays import without_nan
from tcgp._typing import ArrayLike, FloatArray
from tcgp.laws.recalibrated import RecalibratedNormal

__all__ = ["online_law", "online_recalibration_map"]

# Recalibrated levels stay this far from 0 and 1.
_MARGIN = 1e-3


def online_law(residuals: ArrayLike, *, levels: int = 99, eta: float = 0.05) -> RecalibratedNormal:
    """Recalibrated normal law of onGP, from leave-one-out residuals in the order of evaluation.

    Parameters
    ----------
    residuals : array of shape (n,)
        Leave-one-out standardized residuals.
    levels : int
        Number of recalibrated levels, k / (levels + 1).
    eta : float
        Step of the recursion, positive.

    Returns
    -------
    RecalibratedNormal

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import online_law
    >>> law = online_law(np.random.default_rng(0).standard_normal(500))
    >>> bool(abs(law.cdf(0.0) - 0.5) < 0.15)
    True
    """
    pits = special.ndtr(without_nan("residuals", residuals))
    return RecalibratedNormal(
        np.arange(1, levels + 1) / (levels + 1), online_recalibration_map(pits, levels=levels, eta=eta)
    )


def online_recalibration_map(pits: ArrayLike, *, levels: int = 99, eta: float = 0.05) -> FloatArray:
    """Recalibration map R of Deshpande and Kuleshov's online method, on the levels p_k = k / (levels + 1).

    For each level the recursion q ← q − eta (1{u_s ≤ q} − p) follows the p-quantile of the probability
    integral transforms u_s, from q = p. The levels are followed independently and may cross: the map is their
    isotonic regression, clipped to [0.001, 0.999].

    Parameters
    ----------
    pits : array of shape (n,)
        Probability integral transforms u_s = Φ(r_s), in the order of evaluation.
    levels : int
        Number of levels.
    eta : float
        Step of the recursion, positive.

    Returns
    -------
    array of shape (levels,)
        Nondecreasing values R(p_k).

    Notes
    -----
    The paper does not state the step, the start and the levels; they are this package's choice.

    Examples
    --------
    Predictions that are too wide have PITs near 1/2, and the map pulls all levels towards it:

    >>> import numpy as np
    >>> from tcgp.calibration import online_recalibration_map
    >>> online_recalibration_map(np.full(100, 0.5), levels=3).round(2)
    array([0.5, 0.5, 0.5])
    """
    pits = np.asarray(pits, dtype=float)
    if pits.ndim != 1:
        raise ValueError(f"pits must have shape (n,), got shape {pits.shape}")
    if levels < 1:
        raise ValueError(f"levels must be at least 1, got {levels}")
    if not eta > 0.0:
        raise ValueError(f"eta must be positive, got {eta}")
    p = np.arange(1, levels + 1) / (levels + 1)
    q = p.copy()
    for u in pits:
        q -= eta * ((u <= q) - p)
    increasing: FloatArray = scipy.optimize.isotonic_regression(q).x
    return np.clip(increasing, _MARGIN, 1.0 - _MARGIN)
