"""PIT scores against naive loops and SciPy's Kolmogorov–Smirnov statistic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from tcgp.laws import GeneralizedNormal, Normal
from tcgp.models import Prediction
from tcgp.scoring import ks_pit, thresholded_pit, tks_pit

LAWS = [Normal(), GeneralizedNormal(0.1, 0.02), GeneralizedNormal(0.7, 0.5), GeneralizedNormal(10.0, 1.5)]


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    n = 60
    return rng.normal(size=n), np.exp(rng.normal(size=n)), rng.normal(size=n), rng.random(n)


def cdf_ratio(law, low, high):
    """F(low) / F(high) with numbers that do not underflow: light tails have CDFs of e^(−1e6) here."""

    def cdf(r):
        if isinstance(law, Normal):
            return mpmath.ncdf(r)
        x = mpmath.mpf(abs(r) / law.scale) ** law.beta
        tail = mpmath.gammainc(1 / mpmath.mpf(law.beta), x, regularized=True) / 2
        return tail if r < 0.0 else 1 - tail

    return float(cdf(low) / cdf(high))


def naive_supremum(pit, weights):
    """sup |G(u) − u| by looking at both sides of every jump, and at both ends."""
    weights = weights / weights.sum()
    best = 0.0
    for u in [*pit, 0.0, 1.0]:
        at = sum(w for p, w in zip(pit, weights, strict=True) if p <= u)
        just_below = sum(w for p, w in zip(pit, weights, strict=True) if p < u)
        best = max(best, abs(at - u), abs(just_below - u))
    return best


@pytest.mark.parametrize("law", LAWS)
def test_thresholded_pit_is_the_ratio_of_cdfs(law, data):
    mean, sd, y, _ = data
    t = -0.2
    pit = thresholded_pit(Prediction(mean, sd, law), y, t)
    for i in range(len(y)):
        expected = cdf_ratio(law, (y[i] - mean[i]) / sd[i], (t - mean[i]) / sd[i]) if y[i] <= t else 1.0
        # The logarithms are of size 1e3, hence 1e-12 after the exponential; far smaller ratios are zero.
        assert pit[i] == pytest.approx(expected, rel=1e-9, abs=1e-100)


@pytest.mark.parametrize("law", LAWS)
def test_tks_pit_equals_a_naive_double_loop(law, data):
    mean, sd, y, weights = data
    t = 0.1
    below = np.flatnonzero(y <= t)
    pit = [cdf_ratio(law, (y[i] - mean[i]) / sd[i], (t - mean[i]) / sd[i]) for i in below]
    prediction = Prediction(mean, sd, law)
    # Sums of sixty weights in another order.
    assert tks_pit(prediction, y, t, weights) == pytest.approx(naive_supremum(pit, weights[below]), abs=1e-12)
    assert tks_pit(prediction, y, t) == pytest.approx(naive_supremum(pit, np.ones(len(below))), abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_ks_pit_equals_scipys_statistic_and_the_limit_of_tks_pit(law, data):
    mean, sd, y, weights = data
    prediction = Prediction(mean, sd, law)
    assert ks_pit(prediction, y) == pytest.approx(
        stats.kstest(prediction.cdf(y), "uniform").statistic, abs=1e-13
    )
    # Far above all values the threshold no longer matters; F(1e30) is 1 to rounding for every law here.
    assert ks_pit(prediction, y, weights) == pytest.approx(tks_pit(prediction, y, 1e30, weights), abs=1e-12)


def test_repeating_a_point_is_doubling_its_weight(data):
    mean, sd, y, _ = data
    law, t = GeneralizedNormal(1.3, 1.0), 0.0
    weights = np.ones(len(y))
    weights[:10] = 2.0
    repeated = [np.concatenate((v, v[:10])) for v in (mean, sd, y)]
    twice = tks_pit(Prediction(repeated[0], repeated[1], law), repeated[2], t)
    assert tks_pit(Prediction(mean, sd, law), y, t, weights) == pytest.approx(twice, abs=1e-13)


def test_values_drawn_from_the_prediction_have_small_distances():
    rng = np.random.default_rng(11)
    n, law = 5000, GeneralizedNormal(0.6, 0.4)
    prediction = Prediction(rng.normal(size=n), np.exp(rng.normal(size=n)), law)
    y = prediction.sample(1, rng)[0]
    t = float(np.quantile(y, 0.2))
    # Exceeded once in a thousand times, by chance.
    assert ks_pit(prediction, y) < stats.kstwo.ppf(0.999, n)
    assert tks_pit(prediction, y, t) < stats.kstwo.ppf(0.999, np.count_nonzero(y <= t))
    # A law half as wide is found out.
    narrow = Prediction(prediction.mean, 0.5 * prediction.sd, law)
    assert tks_pit(narrow, y, t) > 2.0 * tks_pit(prediction, y, t)


@pytest.mark.parametrize("law", LAWS)
def test_pit_scores_do_not_depend_on_the_units_of_y(law, data):
    mean, sd, y, weights = data
    a, c, t = 1e4, -3e5, 0.1
    here, there = Prediction(mean, sd, law), Prediction(a * mean + c, a * sd, law)
    # Rounding of a y + c moves a CDF by 1e-16 · 3e5 / (1e4 sd) at most.
    assert tks_pit(there, a * y + c, a * t + c, weights) == pytest.approx(
        tks_pit(here, y, t, weights), abs=1e-9
    )
    assert ks_pit(there, a * y + c, weights) == pytest.approx(ks_pit(here, y, weights), abs=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_point_masses_and_underflow_give_numbers(law):
    # In turn: mass at y, mass above t with y below t and at t, mass below y, and far tails that underflow.
    mean = np.array([0.5, 2.0, 2.0, 0.0, 1e6, 1e6])
    sd = np.array([0.0, 0.0, 0.0, 0.0, 1e-3, 1e-3])
    y = np.array([0.5, 0.5, 1.0, 0.5, -1.0, 1.0])
    pit = thresholded_pit(Prediction(mean, sd, law), y, 1.0)
    np.testing.assert_array_equal(pit[:4], [1.0, 0.0, 1.0, 1.0])
    assert np.isfinite(pit).all()
    assert pit[4] <= pit[5] == 1.0
    assert 0.0 <= tks_pit(Prediction(mean, sd, law), y, 1.0) <= 1.0
    assert 0.0 <= ks_pit(Prediction(mean, sd, law), y) <= 1.0


def test_tpit_in_the_far_tail_is_accurate_where_both_cdfs_underflow():
    # Φ(−x) ≈ φ(x)/x, so Φ(−60)/Φ(−59.9) = exp(−(60² − 59.9²)/2) · 59.9/60 to a few 1e-6.
    pit = thresholded_pit(Prediction(np.zeros(1), np.ones(1), Normal()), [-60.0], -59.9)
    assert pit[0] == pytest.approx(np.exp(-(60.0**2 - 59.9**2) / 2.0) * 59.9 / 60.0, rel=1e-5)


def test_bad_arguments_are_refused():
    prediction = Prediction(np.zeros(2), np.ones(2), Normal())
    with pytest.raises(ValueError, match="leave some weight at or below it, got -5"):
        tks_pit(prediction, [0.0, 1.0], -5.0)
    with pytest.raises(ValueError, match="leave some weight"):
        tks_pit(prediction, [0.0, 1.0], 0.5, [0.0, 1.0])
    with pytest.raises(ValueError, match="weights must have one value per point"):
        tks_pit(prediction, [0.0, 1.0], 0.5, [1.0])
    with pytest.raises(ValueError, match="nonnegative"):
        ks_pit(prediction, [0.0, 1.0], [-1.0, 2.0])
    np.testing.assert_array_equal(thresholded_pit(prediction, [0.0, 1.0], -5.0), 1.0)


def test_values_with_a_plain_ratio_that_underflows_are_not_counted():
    prediction = Prediction(mean=np.array([0.0, 0.0, 100.0]), sd=np.ones(3), law=Normal())
    y, t = [-2.0, -1.5, -1.1], -1.0
    pit = thresholded_pit(prediction, y, t, ratio="plain")
    np.testing.assert_allclose(pit[:2], thresholded_pit(prediction, y, t)[:2], rtol=1e-12)
    assert np.isnan(pit[2])
    # G ends at 2/3: at u = 1 the distance is at least 1/3.
    gaps = [
        1 / 3,
        *(abs(g - u) for u, g in zip(pit[:2], (1 / 3, 2 / 3), strict=True)),
        pit[0],
        pit[1] - 1 / 3,
    ]
    assert tks_pit(prediction, y, t, ratio="plain") == pytest.approx(max(gaps), rel=1e-12)
