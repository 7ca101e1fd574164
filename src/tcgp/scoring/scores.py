"""All scores of a model at once, from its own data or from a test set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tcgp._typing import ArrayLike, FloatArray
from tcgp.calibration.noisy import NoisyLaw, latent_sd
from tcgp.laws import Law, Normal
from tcgp.models import Model, Prediction, reflected
from tcgp.scoring._arguments import check_model, check_values, check_weights
from tcgp.scoring.occurrence import predicted_probability
from tcgp.scoring.pit import ks_pit, tks_pit
from tcgp.scoring.ranked_probability import twcrps

__all__ = ["Scores", "leave_one_out_prediction", "loo_scores", "test_scores"]


@dataclass(frozen=True)
class Scores:
    """Calibration below a threshold, and accuracy, of a predictive model.

    Attributes
    ----------
    threshold : float
        Threshold t.
    probability : float
        Probability p_t of {f(X) ≤ t}: estimated from the values, unless it was given.
    predicted : float
        Average predicted probability of {f(X) ≤ t}.
    occurrence : float
        Occurrence discrepancy r = |probability − predicted|.
    kappa : float
        Occurrence ratio predicted / probability: below 1 low values are predicted too rarely. NaN if
        ``probability`` is zero.
    tks_pit : float
        tKS–PIT below t; NaN if no value lies at or below t.
    ks_pit : float
        KS–PIT, over all values.
    twcrps : float
        Mean threshold-weighted CRPS, in the units of y.
    n_below : int
        Number of values at or below t, on which ``tks_pit`` is based.
    """

    threshold: float
    probability: float
    predicted: float
    occurrence: float
    kappa: float
    tks_pit: float
    ks_pit: float
    twcrps: float
    n_below: int


def leave_one_out_prediction(model: Model, law: Law | None = None) -> Prediction:
    """Leave-one-out predictions at the data points, under the model's law or another.

    Parameters
    ----------
    model : Model
        A fitted model.
    law : Law, optional
        Another residual law for the same interpolator; the model's own by default.

    Returns
    -------
    Prediction
        At the n data points, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> from tcgp.scoring import leave_one_out_prediction
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> model = tcgp.fit_model(X, np.sin(6.0 * X[:, 0]), "gp")
    >>> leave_one_out_prediction(model).mean.shape
    (8,)
    """
    check_model(model)
    loo = model.leave_one_out
    if len(model.y) != len(loo.mean):
        raise ValueError(
            f"model was fitted to {len(loo.mean)} points but now holds {len(model.y)}: refit it to all "
            "of them before scoring it by leave-one-out."
        )
    law = model.law if law is None else law
    noise = loo.noise
    if noise is None or isinstance(law, Normal):  # with normal noise a normal law stays normal
        return Prediction(loo.mean, loo.sd, law)
    sd = latent_sd(loo.sd, noise)
    return Prediction(loo.mean, sd, NoisyLaw(law, noise / sd))  # type: ignore[arg-type]


def loo_scores(model: Model, *, threshold: float | None = None, law: Law | None = None) -> Scores:
    """Weighted leave-one-out scores, without new evaluations (paper, Section 4.2).

    Parameters
    ----------
    model : Model
        A fitted model.
    threshold : float, optional
        Threshold t; the model's own by default.
    law : Law, optional
        Another residual law for the same interpolator, such as ``Normal()`` for the plain GP; the
        model's own by default.

    Returns
    -------
    Scores
        Averages over the data are weighted, so that they approximate averages over the box. If high values are good,
        they are scores of the negated values: "below" then means above.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.fit import fit_model
    >>> from tcgp.problems import get
    >>> from tcgp.scoring import loo_scores
    >>> problem = get("goldstein-price")
    >>> X = np.random.default_rng(1).uniform(-2.0, 2.0, (40, 2))
    >>> model = fit_model(X, problem.fun(X), "tcgp", bounds=problem.bounds, delta=0.25)
    >>> scores = loo_scores(model)
    >>> scores.n_below
    10
    >>> 0.0 <= scores.tks_pit <= 1.0
    True
    """
    check_model(model)
    low = model.towards_low
    sign = 1.0 if low is model else -1.0
    if law is not None and sign < 0.0:
        law = reflected(law)
    prediction = leave_one_out_prediction(low, law)
    t = low.threshold if threshold is None else sign * float(threshold)
    below = low.y <= t
    probability = float(low.weights[below].sum() / low.weights.sum())
    scores = _scores(prediction, low.y, t, probability, low.weights, prediction, low.y, low.weights)
    return replace(scores, threshold=sign * t)


def test_scores(
    model: Model,
    X_test: ArrayLike,
    y_test: ArrayLike,
    threshold: float | None = None,  # noqa: PT028  (not a pytest function, only named like one)
    X_tail: ArrayLike | None = None,  # noqa: PT028
    y_tail: ArrayLike | None = None,  # noqa: PT028
    probability: float | None = None,  # noqa: PT028
) -> Scores:
    """Scores on a test set (paper, Appendix E.4).

    Parameters
    ----------
    model : Model
        A fitted model.
    X_test : (m, d) array
        Points drawn uniformly from the box.
    y_test : (m,) array
        Values at these points.
    threshold : float, optional
        Threshold t; the model's own by default.
    X_tail : (k, d) array, optional
        Points drawn from the box given f(X) ≤ t, for the tKS–PIT; by default the test points below t.
    y_tail : (k,) array, optional
        Values at these points.
    probability : float, optional
        p_t, if it is known more accurately than from ``y_test``, for example by subset simulation.

    Returns
    -------
    Scores

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.fit import fit_model
    >>> from tcgp.problems import get
    >>> from tcgp import scoring
    >>> problem, rng = get("goldstein-price"), np.random.default_rng(1)
    >>> X, X_test = rng.uniform(-2.0, 2.0, (40, 2)), rng.uniform(-2.0, 2.0, (500, 2))
    >>> gp = fit_model(X, problem.fun(X), "gp", bounds=problem.bounds, delta=0.25)
    >>> scores = scoring.test_scores(gp, X_test, problem.fun(X_test))
    >>> 0.0 <= scores.occurrence <= 1.0
    True
    """
    check_model(model)
    low = model.towards_low
    sign = 1.0 if low is model else -1.0
    t = low.threshold if threshold is None else sign * float(threshold)
    prediction = low.predict(X_test)
    y = sign * check_values(prediction, y_test)
    if (X_tail is None) != (y_tail is None):
        raise ValueError(
            "X_tail and y_tail must be given together: the points below the threshold, and values."
        )
    tail, y_low = prediction, y
    if X_tail is not None and y_tail is not None:
        tail = low.predict(X_tail)
        y_low = sign * check_values(tail, y_tail)
    p = float(np.mean(y <= t)) if probability is None else float(probability)
    return replace(_scores(prediction, y, t, p, None, tail, y_low, None), threshold=sign * t)


# Otherwise pytest would collect it because of its name.
test_scores.__test__ = False  # type: ignore[attr-defined]


def _scores(
    prediction: Prediction,
    y: FloatArray,
    threshold: float,
    probability: float,
    weights: FloatArray | None,
    tail: Prediction,
    y_tail: FloatArray,
    tail_weights: FloatArray | None,
) -> Scores:
    """Scores from points that represent the box, and from points that represent its part below t."""
    predicted = predicted_probability(prediction, threshold, weights)
    n_below = int(np.count_nonzero(y_tail <= threshold))
    return Scores(
        threshold=threshold,
        probability=probability,
        predicted=predicted,
        occurrence=abs(probability - predicted),
        kappa=predicted / probability if probability > 0.0 else np.nan,
        tks_pit=tks_pit(tail, y_tail, threshold, tail_weights) if n_below else np.nan,
        ks_pit=ks_pit(prediction, y, weights),
        twcrps=float(twcrps(prediction, y, threshold) @ check_weights(weights, y.size)),
        n_below=n_below,
    )
