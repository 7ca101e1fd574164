"""The diagnosis says what the numbers say, and says so when there are too few of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tcgp.gp import LeaveOneOut
from tcgp.laws import GeneralizedNormal, Normal
from tcgp.methods.fit import fit_model
from tcgp.models import Model
from tcgp.optimizer import Optimizer
from tcgp.problems import get
from tcgp.scoring import diagnose, loo_scores
from tcgp.scoring.diagnosis import distance_limit
from tcgp.space import Space


def model_of(mean, sd, y, threshold, law=None, method="tcgp"):
    """A model with given leave-one-out predictions and equal weights."""
    mean, sd, y = (np.asarray(v, dtype=float) for v in (mean, sd, y))
    interpolator = SimpleNamespace(X_=np.zeros((len(y), 1)), y_=y)
    loo = LeaveOneOut(mean, sd, (y - mean) / sd)
    return Model(method, interpolator, law or Normal(), threshold, np.full(len(y), 1.0 / len(y)), loo)


def calibrated(n, width, law=None, seed=0, **options):
    """Values drawn from N(mean, 1), predicted with a standard deviation of ``width``."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    y = mean + rng.normal(size=n)
    return model_of(mean, np.full(n, width), y, float(np.quantile(y, 0.2)), law, **options)


def test_attributes_are_the_leave_one_out_scores_of_both_laws():
    law = GeneralizedNormal(0.8, 0.5)
    model = calibrated(50, 0.7, law)
    diagnosis, gp, own = diagnose(model), loo_scores(model, law=Normal()), loo_scores(model)
    assert (diagnosis.n, diagnosis.n_below, diagnosis.threshold) == (50, 10, model.threshold)
    assert diagnosis.probability == pytest.approx(0.2)
    assert (diagnosis.kappa_gp, diagnosis.kappa_model) == (gp.kappa, own.kappa)
    assert (diagnosis.tks_pit_gp, diagnosis.tks_pit_model) == (gp.tks_pit, own.tks_pit)
    assert (diagnosis.twcrps_gp, diagnosis.twcrps_model) == (gp.twcrps, own.twcrps)
    # Equal weights: ten points count as ten.
    assert diagnosis.tks_pit_limit == pytest.approx(stats.kstwo.ppf(0.95, 10))


@pytest.mark.parametrize("n", [1, 2, 5, 20, 300])
def test_the_limit_of_the_distance_is_the_quantile_of_kolmogorov_and_smirnov(n):
    assert distance_limit(n) == pytest.approx(stats.kstwo.ppf(0.95, n), rel=3e-6)  # as its docstring says


def test_the_range_of_the_ratio_is_that_of_a_poisson_count():
    diagnosis = diagnose(calibrated(50, 0.7))
    low, high = (diagnosis.kappa_gp * 10.0 / bound for bound in diagnosis.kappa_gp_range)
    # With a mean of ``low`` a count of ten or fewer has probability 5 %; with ``high`` ten or more.
    assert stats.poisson.cdf(10, low) == pytest.approx(0.05)
    assert stats.poisson.sf(9, high) == pytest.approx(0.05)


def test_too_little_predicted_probability_is_called_overconfident():
    n = 200
    y = np.concatenate((np.full(20, -1.0) - np.arange(20) / 20.0, np.full(n - 20, 5.0)))
    text = str(diagnose(model_of(np.full(n, 5.0), np.full(n, 3.0), y, -0.9)))
    # Every point predicts Φ(−5.9/3) = 0.0246, a quarter of the frequency 0.1.
    assert "20 of 200 points, about 10 % of the box" in text
    assert "the GP gives 0.25 times" in text
    assert "overconfident about the absence of low values, by a factor 4.06." in text


@pytest.mark.parametrize(("n_below", "share"), [(199, "100 %"), (198, "99 %"), (15, "7.5 %")])
def test_the_share_of_the_box_is_written_without_an_exponent(n_below, share):
    y = np.where(np.arange(200) < n_below, -1.0 - np.arange(200) / 200.0, 5.0)
    text = str(diagnose(model_of(np.full(200, 1.0), np.full(200, 3.0), y, -0.9)))
    assert f"({n_below} of 200 points, about {share} of the box)" in text


def test_too_much_predicted_probability_is_called_underconfident():
    n = 200
    y = np.concatenate((np.full(20, -1.0), np.full(n - 20, 5.0)))
    text = str(diagnose(model_of(np.full(n, 0.0), np.full(n, 3.0), y, -0.9)))
    assert "underconfident, it expects low values more often than they occur, by a factor 3.8" in text


def test_a_calibrated_prediction_is_called_right():
    text = str(diagnose(calibrated(2000, 1.0, seed=4)))
    assert "about right" in text
    assert "lie where it expects them" in text
    assert "Only" not in text


@pytest.mark.parametrize(("shift", "word"), [(-2.0, "lower"), (2.0, "higher")])
def test_a_shifted_tail_is_called_by_its_direction(shift, word):
    rng = np.random.default_rng(0)
    mean = np.zeros(300)
    y = shift + rng.normal(size=300)
    assert f"lie {word} than it expects" in str(diagnose(model_of(mean, np.ones(300), y, shift - 0.2)))


def test_a_calibrated_model_is_described_by_its_parameters_and_the_gp_only_once():
    law = GeneralizedNormal(0.5, 0.25)
    text = str(diagnose(calibrated(50, 0.7, law)))
    assert "tcGP (beta = 0.5, lambda = 0.25) gives" in text
    assert "on the data that chose it" in text
    assert "on the data" not in str(diagnose(calibrated(50, 0.7, method="gp")))


@pytest.mark.parametrize(("n_below", "words"), [(1, "Only 1 point lies"), (2, "Only 2 points lie")])
def test_one_or_two_points_are_called_too_little(n_below, words):
    y = np.arange(20.0)
    diagnosis = diagnose(model_of(y + 0.5, np.ones(20), y, y[n_below - 1]))
    assert diagnosis.n_below == n_below
    assert words in str(diagnosis)
    assert "too little to judge by" in str(diagnosis)


def test_chance_is_named_where_few_points_can_show_as_much():
    y = np.arange(20.0)
    # Φ(−2/3.2) = 0.27 is predicted and 3 of 20 = 0.15 seen: too much by 1.8, which three points can show.
    text = str(diagnose(model_of(np.full(20, 4.0), np.full(20, 3.2), y, 2.0)))
    assert "though with so few points this may be chance" in text


def test_nothing_below_the_threshold_is_said_in_words():
    diagnosis = diagnose(model_of(np.zeros(5), np.ones(5), np.arange(5.0), -1.0))
    assert diagnosis.n_below == 0
    assert "nothing can be said" in str(diagnosis)


def test_no_predicted_probability_at_all_is_said_in_words():
    y = np.concatenate(([0.0, 0.0, 0.0], np.full(20, 1e6)))
    text = str(diagnose(model_of(np.full(23, 1e6), np.full(23, 1e-3), y, 0.0)))
    assert "wrongly certain that there are no low values" in text


@pytest.mark.parametrize(
    "method", ["gp", "tcgp", "tcgp-occ", "tcgp-thres", "bcrgp", "ongp", "regp", "tcregp"]
)
def test_every_fitted_method_can_be_diagnosed(method):
    problem = get("goldstein-price")
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (30, 2))
    model = fit_model(X, problem.fun(X), method, bounds=problem.bounds, delta=0.25)
    text = str(diagnose(model))
    assert ("relaxed GP" in text) == (method in ("regp", "tcregp"))
    assert "nan" not in text


def test_where_high_values_are_good_the_upper_tail_is_diagnosed():
    problem = get("branin")
    X = np.random.default_rng(0).uniform(*np.array(problem.bounds).T, (24, 2))
    model = fit_model(X, problem.fun(X), "tcgp", bounds=problem.bounds, delta=0.25)
    space = Space([(0.0, 1.0)] * 2)
    high = model.over(space, negated=True)
    low, up = diagnose(model), diagnose(high)
    assert (up.threshold, up.above, low.above) == (-low.threshold, True, False)
    assert (up.n_below, up.kappa_model, up.twcrps_model) == (low.n_below, low.kappa_model, low.twcrps_model)
    assert str(up).startswith("Above t = -")
    assert "values above t lie" in str(up)
    assert "stays below" in str(up)
    scores = loo_scores(model)
    assert loo_scores(high) == replace(scores, threshold=-scores.threshold)
    assert loo_scores(high, threshold=-30.0).n_below == loo_scores(model, threshold=30.0).n_below


@pytest.mark.parametrize("given", [None, Optimizer([(0.0, 1.0)]).result()])
def test_what_is_no_model_is_refused_with_the_way_to_one(given):
    with pytest.raises(TypeError, match=r"model must be a model, .* result\.optimizer\.fit_model\(\), got"):
        diagnose(given)
