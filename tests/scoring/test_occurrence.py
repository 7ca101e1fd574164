"""The occurrence discrepancy against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from tcgp.laws import GeneralizedNormal, Normal
from tcgp.models import Prediction
from tcgp.scoring import occurrence_discrepancy, predicted_probability


@pytest.mark.parametrize("law", [Normal(), GeneralizedNormal(0.4, 0.1)])
def test_occurrence_discrepancy_is_probability_minus_mean_cdf(law):
    rng = np.random.default_rng(0)
    mean, sd, weights, t = rng.normal(size=30), rng.random(30), rng.random(30), -0.3
    cdf = [float(law.cdf((t - m) / s)) for m, s in zip(mean, sd, strict=True)]
    prediction = Prediction(mean, sd, law)
    assert occurrence_discrepancy(prediction, t, 0.2) == pytest.approx(abs(0.2 - np.mean(cdf)), abs=1e-15)
    weighted = sum(w * c for w, c in zip(weights, cdf, strict=True)) / weights.sum()
    assert occurrence_discrepancy(prediction, t, 0.2, weights) == pytest.approx(
        abs(0.2 - weighted), abs=1e-14
    )


def test_a_calibrated_prediction_has_no_discrepancy():
    rng = np.random.default_rng(1)
    n = 20_000
    prediction = Prediction(rng.normal(size=n), np.exp(rng.normal(size=n)), Normal())
    y = prediction.sample(1, rng)[0]
    # A frequency of n values has a standard error below 1/(2√n) = 0.0035.
    assert occurrence_discrepancy(prediction, -1.0, float(np.mean(y <= -1.0))) < 4 * 0.0035


def test_point_masses_count_as_zero_or_one():
    prediction = Prediction(np.array([0.0, 1.0, 2.0]), np.zeros(3), Normal())
    assert predicted_probability(prediction, 1.0) == pytest.approx(2.0 / 3.0, abs=1e-15)


@pytest.mark.parametrize("probability", [-0.1, 1.1, np.nan])
def test_a_probability_outside_its_range_is_refused(probability):
    with pytest.raises(ValueError, match="probability must lie in"):
        occurrence_discrepancy(Prediction(np.zeros(1), np.ones(1), Normal()), 0.0, probability)
