"""Probability integral transforms, and their distance from the uniform distribution."""

from __future__ import annotations

import numpy as np

from tcgp._typing import ArrayLike, FloatArray
from tcgp.calibration import NoisyTailProblem, ks_deviation, tail_problem
from tcgp.calibration.noisy import NoisyLaw
from tcgp.calibration.tail import deviation_of_counted
from tcgp.models import Prediction
from tcgp.scoring._arguments import check_threshold, check_values, check_weights

__all__ = ["ks_pit", "thresholded_pit", "tks_pit"]


def thresholded_pit(
    prediction: Prediction, y: ArrayLike, threshold: float, *, ratio: str = "exact"
) -> FloatArray:
    """Thresholded PIT: U = F(y) / F(t) where y ≤ t, and 1 elsewhere (paper, Section 4.1, U_t).

    If the prediction is calibrated below t, the values of the points with y ≤ t are uniform on [0, 1]. The
    ratio is taken in logarithms, so it holds where F(t) underflows; for a point mass above t it is the limit
    sd → 0, that is 0 for y < t and 1 for y = t.

    Parameters
    ----------
    prediction : Prediction
        Predictive distributions at n points.
    y : (n,) array
        Observed values.
    threshold : float
        Threshold t; with +inf this is the ordinary PIT F(y).
    ratio : {"exact", "plain"}
        By logarithms, or the plain quotient, NaN where F(t) underflows.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import thresholded_pit
    >>> prediction = Prediction(mean=np.zeros(3), sd=np.ones(3), law=Normal())
    >>> thresholded_pit(prediction, [-2.0, -1.0, 0.5], threshold=-1.0).round(3)
    array([0.143, 1.   , 1.   ])
    """
    y, threshold = check_values(prediction, y), check_threshold(threshold)
    pit = np.ones_like(y)
    below = y <= threshold
    if below.any():
        problem = tail_problem(prediction.mean, prediction.sd, y, np.ones_like(y), threshold)
        if isinstance(prediction.law, NoisyLaw):
            noisy = NoisyTailProblem(**vars(problem), noise=prediction.law.noise)
            pit[below] = noisy.thresholded_pit(prediction.law.law)
        else:
            pit[below] = problem.thresholded_pit(prediction.law, ratio=ratio)
    return pit


def tks_pit(
    prediction: Prediction,
    y: ArrayLike,
    threshold: float,
    weights: ArrayLike | None = None,
    *,
    ratio: str = "exact",
) -> float:
    """tKS–PIT: the distance of the thresholded PIT from the uniform distribution, given y ≤ t (paper, Section 4.2).

    The supremum over u of |G(u) − u| is exact: G is a step function, so its jumps and u = 1 suffice.

    Parameters
    ----------
    prediction, y, threshold, ratio
        As in `thresholded_pit`. At least one value must be at or below t. Values whose PIT is NaN are not counted: G
        then ends below one.
    weights : (n,) array, optional
        Weights of the points, of any positive sum; equal by default.

    Returns
    -------
    float
        Between 0 (calibrated below t) and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import tks_pit
    >>> prediction = Prediction(mean=np.zeros(3), sd=np.ones(3), law=Normal())
    >>> round(tks_pit(prediction, [-2.0, -1.5, 0.5], threshold=-1.0), 3)
    0.579
    """
    pit, threshold = thresholded_pit(prediction, y, threshold, ratio=ratio), check_threshold(threshold)
    below = np.asarray(y, dtype=float) <= threshold
    jumps = check_weights(weights, pit.size)[below]
    if not jumps.sum() > 0.0:
        lowest = f"the smallest value is {np.min(y):g}" if pit.size else "there are no values"
        raise ValueError(f"threshold must leave some weight at or below it, got {threshold:g}, and {lowest}")
    if ratio == "plain":
        return float(deviation_of_counted(pit[below], jumps / jumps.sum(), supremum="exact"))
    return float(ks_deviation(pit[below], jumps / jumps.sum()))


def ks_pit(prediction: Prediction, y: ArrayLike, weights: ArrayLike | None = None) -> float:
    """KS–PIT: the distance of the PIT F(y) from the uniform distribution, which is `tks_pit` with t = ∞.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import ks_pit
    >>> prediction = Prediction(mean=np.zeros(3), sd=np.ones(3), law=Normal())
    >>> round(ks_pit(prediction, [-1.0, 0.0, 1.0]), 3)
    0.175
    """
    return tks_pit(prediction, y, np.inf, weights=weights)
