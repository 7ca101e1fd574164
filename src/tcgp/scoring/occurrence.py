"""Does the model predict values below a threshold as often as they occur?"""

from __future__ import annotations

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike
from tcgp.models import Prediction
from tcgp.scoring._arguments import check_threshold, check_weights

__all__ = ["occurrence_discrepancy", "predicted_probability"]


def predicted_probability(
    prediction: Prediction, threshold: float, weights: ArrayLike | None = None
) -> float:
    """Average predicted probability of {f(X) ≤ t}, the paper's E_n[F(t | X)].

    Parameters
    ----------
    prediction : Prediction
        Predictive distributions at n points spread uniformly over the box, or weighted accordingly.
    threshold : float
        Threshold t.
    weights : (n,) array, optional
        Weights of the points, of any positive sum; equal by default.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import predicted_probability
    >>> prediction = Prediction(mean=np.array([0.0, 1.0]), sd=np.ones(2), law=Normal())
    >>> round(predicted_probability(prediction, threshold=0.0), 4)
    0.3293
    """
    weights = check_weights(weights, np.size(prediction.mean))
    return float(prediction.cdf(check_threshold(threshold)) @ weights)


def occurrence_discrepancy(
    prediction: Prediction, threshold: float, probability: float, weights: ArrayLike | None = None
) -> float:
    """Occurrence discrepancy r = |p_t − E[F(t | X)]| (paper, Section 4.1).

    Parameters
    ----------
    prediction, threshold, weights
        As in `predicted_probability`.
    probability : float
        p_t, the probability of {f(X) ≤ t}, in [0, 1].

    Returns
    -------
    float
        0 when low values are predicted as often as they occur.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.laws import Normal
    >>> from tcgp.models import Prediction
    >>> from tcgp.scoring import occurrence_discrepancy
    >>> prediction = Prediction(mean=np.array([0.0, 1.0]), sd=np.ones(2), law=Normal())
    >>> round(occurrence_discrepancy(prediction, threshold=0.0, probability=0.5), 4)
    0.1707
    """
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability must lie in [0, 1], got {plain(probability)}")
    return abs(probability - predicted_probability(prediction, threshold, weights))
