"""Scores of fitted models against loops over points that follow the paper's formulas."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from tcgp import scoring
from tcgp.laws import GeneralizedNormal, Normal
from tcgp.methods.fit import fit_model
from tcgp.problems import get
from tcgp.scoring import Scores, loo_scores, tks_pit, twcrps

PROBLEM = get("goldstein-price")


def design(n, seed=0):
    X = np.random.default_rng(seed).uniform(PROBLEM.bounds[:, 0], PROBLEM.bounds[:, 1], (n, 2))
    return X, PROBLEM.fun(X)


@pytest.fixture(scope="module", params=["gp", "tcgp"])
def model(request):
    X, y = design(40)
    return fit_model(X, y, request.param, bounds=PROBLEM.bounds, delta=0.25)


def cdf_of(law):
    """The CDF in numbers that do not underflow: a light tail may have been selected."""

    def generalized_normal(r):
        x = mpmath.mpf(abs(r) / law.scale) ** law.beta
        tail = mpmath.gammainc(1 / mpmath.mpf(law.beta), x, regularized=True) / 2
        return tail if r < 0.0 else 1 - tail

    return mpmath.ncdf if isinstance(law, Normal) else generalized_normal


def naive_scores(F, mean, sd, y, weights, t):
    """p̂, Σ w F(t), tKS–PIT, KS–PIT and the number below t, as the paper writes them, point by point."""
    n = len(y)
    w = weights / weights.sum()
    p = sum(w[i] for i in range(n) if y[i] <= t)
    predicted = sum(w[i] * F((t - mean[i]) / sd[i]) for i in range(n))
    tpit = {i: F((y[i] - mean[i]) / sd[i]) / F((t - mean[i]) / sd[i]) for i in range(n) if y[i] <= t}
    pit = {i: F((y[i] - mean[i]) / sd[i]) for i in range(n)}

    def supremum(values):
        total = sum(w[i] for i in values)
        best = 0.0
        for u in values.values():
            at = sum(w[i] for i in values if values[i] <= u) / total
            before = sum(w[i] for i in values if values[i] < u) / total
            best = max(best, abs(at - u), abs(before - u))
        return best

    return p, float(predicted), float(supremum(tpit)), float(supremum(pit)), len(tpit)


def test_loo_scores_equal_loops_over_the_points(model):
    t, loo = model.threshold, model.leave_one_out
    p, predicted, tks, ks, n_below = naive_scores(
        cdf_of(model.law), loo.mean, loo.sd, model.y, model.weights, t
    )
    scores = loo_scores(model)
    # Sums of forty terms in another order, and another implementation of the CDF.
    assert scores.threshold == t
    assert scores.probability == pytest.approx(p, rel=1e-12)
    assert scores.predicted == pytest.approx(predicted, rel=1e-10)
    assert scores.occurrence == pytest.approx(abs(p - predicted), abs=1e-11)
    assert scores.kappa == pytest.approx(predicted / p, rel=1e-10)
    assert scores.tks_pit == pytest.approx(tks, abs=1e-10)
    assert scores.ks_pit == pytest.approx(ks, abs=1e-10)
    assert scores.n_below == n_below
    prediction = scoring.leave_one_out_prediction(model)
    mean_score = sum(model.weights * twcrps(prediction, model.y, t))
    assert scores.twcrps == pytest.approx(mean_score, rel=1e-12)


def test_loo_scores_of_another_law_and_threshold(model):
    t, law = float(np.median(model.y)), GeneralizedNormal(1.1, 0.8)
    loo = model.leave_one_out
    p, predicted, tks, _, _ = naive_scores(cdf_of(law), loo.mean, loo.sd, model.y, model.weights, t)
    scores = loo_scores(model, threshold=t, law=law)
    assert scores.kappa == pytest.approx(predicted / p, rel=1e-10)
    assert scores.tks_pit == pytest.approx(tks, abs=1e-10)


def test_calibration_lowers_the_criterion_it_minimizes():
    X, y = design(60, seed=4)
    tcgp = fit_model(X, y, "tcgp", bounds=PROBLEM.bounds, delta=0.25)
    gp, own = loo_scores(tcgp, law=Normal()), loo_scores(tcgp)
    # J is at least |1 − κ| and at most tKS–PIT + |1 − κ|, so its minimum bounds the occurrence ratio of tcGP.
    assert abs(1.0 - own.kappa) <= gp.tks_pit + abs(1.0 - gp.kappa)


def test_test_scores_equal_loops_over_the_points(model):
    X, y = design(300, seed=9)
    t = model.threshold
    prediction = model.predict(X)
    p, predicted, tks, ks, n_below = naive_scores(
        cdf_of(model.law), prediction.mean, prediction.sd, y, np.ones(300), t
    )
    scores = scoring.test_scores(model, X, y)
    assert scores.probability == pytest.approx(p, rel=1e-12)
    assert scores.kappa == pytest.approx(predicted / p, rel=1e-9)
    assert scores.tks_pit == pytest.approx(tks, abs=1e-9)
    assert scores.ks_pit == pytest.approx(ks, abs=1e-9)
    assert scores.n_below == n_below
    assert scores.twcrps == pytest.approx(np.mean(twcrps(prediction, y, t)), rel=1e-12)


def test_tail_points_and_a_given_probability_replace_the_test_points_own(model):
    X, y = design(300, seed=9)
    t = float(np.quantile(model.y, 0.4))
    tail = y <= t
    scores = scoring.test_scores(model, X[:100], y[:100], t, X[tail], y[tail], probability=0.37)
    assert scores.probability == 0.37
    assert scores.n_below == tail.sum()
    assert scores.tks_pit == tks_pit(model.predict(X[tail]), y[tail], t)
    assert scores.occurrence == pytest.approx(abs(0.37 - model.predict(X[:100]).cdf(t).mean()), abs=1e-14)


def test_without_values_below_the_threshold_only_what_rests_on_them_is_missing(model):
    X, y = design(50, seed=9)
    scores = scoring.test_scores(model, X, y, threshold=y.min() - 1.0)
    assert scores.n_below == 0
    assert scores.probability == 0.0
    assert np.isnan(scores.tks_pit)
    assert np.isnan(scores.kappa)
    assert np.isfinite([scores.occurrence, scores.twcrps, scores.ks_pit]).all()


def test_scores_do_not_depend_on_units_but_for_twcrps():
    X, y = design(40)
    a, c = 1e-3, 5.0
    low, high = PROBLEM.bounds.T
    here = loo_scores(fit_model(X, y, "tcgp", bounds=PROBLEM.bounds, delta=0.25))
    there = loo_scores(
        fit_model((X - low) / (high - low), a * y + c, "tcgp", bounds=[(0.0, 1.0)] * 2, delta=0.25)
    )
    # The fit itself is equivariant to the tolerance of its likelihood search only.
    assert there.tks_pit == pytest.approx(here.tks_pit, abs=1e-3)
    assert there.ks_pit == pytest.approx(here.ks_pit, abs=1e-3)
    assert there.kappa == pytest.approx(here.kappa, rel=1e-3)
    assert there.twcrps == pytest.approx(a * here.twcrps, rel=1e-3)


def test_scoring_a_conditioned_model_by_leave_one_out_is_refused(model):
    conditioned = model.condition([[0.1, 0.2]], [700.0])
    with pytest.raises(ValueError, match="refit it to all of them"):
        loo_scores(conditioned)


def test_tail_points_need_their_values(model):
    X, y = design(20, seed=9)
    with pytest.raises(ValueError, match="given together"):
        scoring.test_scores(model, X, y, X_tail=X)


def test_scores_of_a_constant_function_are_numbers():
    X, _ = design(12)
    scores = loo_scores(fit_model(X, np.full(12, 3.0), "tcgp", bounds=PROBLEM.bounds))
    assert isinstance(scores, Scores)
    assert scores.n_below == 12
    assert np.isfinite([scores.kappa, scores.occurrence, scores.tks_pit, scores.ks_pit, scores.twcrps]).all()
