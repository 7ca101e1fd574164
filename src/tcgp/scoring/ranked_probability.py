"""The threshold-weighted continuous ranked probability score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.special import ndtri

from tcgp._text import plain
from tcgp._typing import ArrayLike, FloatArray
from tcgp.calibration.noisy import NoisyLaw
from tcgp.laws import GeneralizedNormal, Law, Normal
from tcgp.laws.recalibrated import RecalibratedNormal
from tcgp.models import Prediction
from tcgp.scoring._arguments import check_threshold, check_values
from tcgp.scoring._squared_cdf import normal_primitive, primitive_of_square

__all__ = ["twcrps"]

Primitive = Callable[[FloatArray], FloatArray]

# Rounding error of 1 - cdf, for laws that offer no better upper tail.
_COMPLEMENT_NOISE = 2e-16

# Scores that leave out larger probabilities would be useless.
_MOST_NEGLIGIBLE = 1e-3

# Gauss-Legendre on [0, 1].
_SHARES_OF_WIDTH, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_SHARES_OF_WIDTH, _WEIGHTS = 0.5 + 0.5 * _SHARES_OF_WIDTH[:, None], 0.5 * _WEIGHTS

# Larger values are scored in units that leave room for sums and for a wide law; the factor is a power of two.
_LARGE, _SHRINK = 1e290, 2.0**-200


def twcrps(prediction: Prediction, y: ArrayLike, threshold: float, *, negligible: float = 0.0) -> FloatArray:
    r"""Threshold-weighted CRPS of each point, exactly (paper, Appendix C, with weight 1{u ≤ t}).

    .. math:: S(F, y) = \int_{-\infty}^t (F(u) - 1\{u \ge y\})^2 \, du

    In units of sd, with b and z the standardized threshold and value, A(b) = ∫_{−∞}^b F² and
    B(c) = ∫_c^∞ (1 − F)²: the score is sd·A(b) if y > t, and sd·(A(z) + B(z) − B(b)) if y ≤ t. A and B have a
    closed form for the normal distribution; for any other they are integrated numerically, to 1e-10 relative.

    Parameters
    ----------
    prediction : Prediction
        Predictive distributions at n points.
    y : (n,) array
        Observed values.
    threshold : float
        Threshold t; +inf gives the ordinary CRPS.
    negligible : float
        Probability that may be neglected, at most 1e-3. With 1e-8, scores above 1e-6 sd are accurate to 1e-5, and a
        distribution that is not normal takes a third of the time.

    Returns
    -------
    (n,) array
        Scores in the units of y; smaller is better.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import GeneralizedNormal, Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import twcrps
    >>> prediction = Prediction(mean=np.zeros(2), sd=np.ones(2), law=Normal())
    >>> twcrps(prediction, [-1.0, 2.0], threshold=0.5).round(4)
    array([0.5681, 0.297 ])
    >>> heavy = Prediction(mean=np.zeros(2), sd=np.ones(2), law=GeneralizedNormal(beta=0.5, scale=0.2))
    >>> twcrps(heavy, [-1.0, 2.0], threshold=0.5).round(4)
    array([0.6071, 0.3213])
    """
    y, t = check_values(prediction, y), check_threshold(threshold)
    if not (isinstance(negligible, Real) and 0.0 <= negligible <= _MOST_NEGLIGIBLE):
        raise ValueError(f"negligible must be from 0 to {_MOST_NEGLIGIBLE}, got {plain(negligible)}")
    mean, sd, law = np.asarray(prediction.mean), np.asarray(prediction.sd), prediction.law
    if mean.size and max(np.abs(mean).max(), np.abs(y).max(), sd.max()) > _LARGE:
        small = Prediction(mean * _SHRINK, sd * _SHRINK, law)
        with np.errstate(over="ignore"):
            return twcrps(small, y * _SHRINK, t * _SHRINK, negligible=negligible) / _SHRINK
    if isinstance(law, NoisyLaw):
        return _noisy_twcrps(prediction, y, t)
    if isinstance(law, GeneralizedNormal):
        # One law of unit scale for all dispersions, down to the point mass.
        mean, sd, law = mean, sd * law.scale, replace(law, scale=1.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        b, z, gap = (t - mean) / sd, (y - mean) / sd, (t - y) / sd
    # The point mass, and deviations compared with which sd is negligible.
    cap = max(t, -np.finfo(float).max)  # a threshold of −∞ leaves nothing to score
    score: FloatArray = np.abs(np.minimum(y, cap) - np.minimum(mean, cap))
    spread = (sd > 0.0) & np.isfinite(z) & ~np.isnan(b)
    score[spread] = sd[spread] * _standardized_twcrps(law, negligible, b[spread], z[spread], gap[spread])
    return score


def _noisy_twcrps(prediction: Prediction, y: FloatArray, t: float) -> FloatArray:
    """The score of predictions with different laws, by quadrature to about 1e-3 relative."""
    spread = prediction.sd * np.sqrt(prediction.law.variance())
    low, cap = np.minimum(prediction.mean - 12.0 * spread, y), np.minimum(t, prediction.mean + 12.0 * spread)
    score = np.maximum(np.minimum(y, t) - np.maximum(cap, low), 0.0)  # there the CDF is 1 already
    for start, end, known in ((low, np.minimum(y, cap), 0.0), (np.minimum(y, cap), cap, 1.0)):
        width = np.maximum(np.maximum(end, low) - np.maximum(start, low), 0.0)
        z = np.maximum(start, low) + width * _SHARES_OF_WIDTH
        score += width * (_WEIGHTS @ (prediction.cdf(z) - known) ** 2)
    return np.asarray(score)


def _standardized_twcrps(
    law: Law, negligible: float, b: FloatArray, z: FloatArray, gap: FloatArray
) -> FloatArray:
    """Score in units of sd, for a threshold b and a value z, both standardized; gap = b − z."""
    lower, upper = _primitives(law, negligible)
    score = np.empty_like(z)
    above = gap < 0.0  # not z > b: both may round to the same number
    score[above] = lower(b[above])
    # Two forms of one integral. In the lower tail the score is close to b − z, which must not come out of a
    # difference of large numbers; above the median B(z) − B(b) is safe because A(z) is not small.
    low = ~above & (b <= 0.0)
    score[low] = lower(b[low]) + gap[low] - 2.0 * (law.improvement(b[low]) - law.improvement(z[low]))
    high = ~above & (b > 0.0)
    score[high] = lower(z[high]) + upper(z[high]) - upper(b[high])
    return np.maximum(score, 0.0)


def _primitives(law: Law, negligible: float) -> tuple[Primitive, Primitive]:
    """A(b) = ∫_{−∞}^b F² and B(c) = ∫_c^∞ (1 − F)²; B(c) = A(−c) for a symmetric law."""
    if isinstance(law, Normal):
        return normal_primitive, lambda c: normal_primitive(-c)
    kinks = ndtri(law.values) if isinstance(law, RecalibratedNormal) else np.empty(0)
    lower = primitive_of_square(law.cdf, negligible, kinks)
    if isinstance(law, GeneralizedNormal):
        return lower, lambda c: lower(-c)
    noise = max(negligible, _COMPLEMENT_NOISE)
    reflected = primitive_of_square(lambda u: 1.0 - law.cdf(-u), noise, -kinks)
    return lower, lambda c: reflected(-c)
