"""The named methods as wholes: composition, options, robustness."""

import functools
import json
import math

import numpy as np
import pytest

import tcgp
from tcgp.laws import GeneralizedNormal, Normal
from tcgp.methods import METHODS
from tcgp.methods.fit import calibrate

ALL = tuple(METHODS)


def design(name="goldstein-price", n=40, seed=0):
    problem = tcgp.problems.get(name)
    X = np.random.default_rng(seed).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, problem.dim))
    return problem, X, problem.fun(X)


@functools.cache
def fitted(method):
    """The model of a method, which several tests look at."""
    problem, X, y = design()
    return tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=0)


@pytest.mark.parametrize("method", ALL)
def test_every_method_predicts_proper_laws(method):
    y, model = design()[2], fitted(method)
    new = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 2))
    prediction = model.predict(new)
    z = np.linspace(y.min() - 1e6, y.max() + 1e6, 50)[:, None]
    cdf = prediction.cdf(z)
    assert cdf.shape == (50, 20)
    assert (np.diff(cdf, axis=0) >= 0.0).all()
    assert ((cdf >= 0.0) & (cdf <= 1.0)).all()
    lower, upper = prediction.interval(0.9)
    assert (lower < upper).all()
    # The definition of a quantile, which holds for a law with atoms (onGP) too.
    quantile, margin = prediction.ppf(0.3), 1e-9 * prediction.sd
    assert (prediction.cdf(quantile - margin) <= 0.3 + 1e-6).all()
    assert (prediction.cdf(quantile + margin) >= 0.3 - 1e-6).all()
    # Below 1e-300 the probability itself loses digits and then underflows.
    best = y.min()
    np.testing.assert_allclose(np.exp(prediction.logcdf(best)), prediction.cdf(best), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("method", ALL)
def test_expected_improvement_equals_sampling(method):
    y, prediction = design()[2], fitted(method).predict([[0.1, -0.9], [1.5, 0.5]])
    best = float(np.quantile(y, 0.5))
    # Stratified uniforms: the error of the average is far below that of independent draws.
    levels = (np.arange(20_000) + 0.5) / 20_000
    improvement = np.maximum(best - prediction.ppf(levels[:, None]), 0.0).mean(axis=0)
    np.testing.assert_allclose(prediction.expected_improvement(best), improvement, rtol=2e-3)
    np.testing.assert_allclose(prediction.probability_of_improvement(best), prediction.cdf(best))


def test_samples_follow_the_predictive_law():
    problem, X, y = design()
    prediction = tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds).predict([[0.1, -0.9], [1.5, 0.5]])
    sample = prediction.sample(20_000, rng=0)
    assert sample.shape == (20_000, 2)
    # Kolmogorov's 0.1 % critical value is 1.95 / sqrt(n).
    for j in range(2):
        pits = np.sort(prediction.cdf(sample)[:, j])
        assert np.abs(pits - (np.arange(20_000) + 0.5) / 20_000).max() < 1.95 / np.sqrt(20_000)


def test_wrong_arguments_of_a_prediction_are_named():
    problem, X, y = design()
    prediction = tcgp.fit_model(X, y, "gp", bounds=problem.bounds).predict([[0.1, -0.9]])
    for level in ("wide", None, 1.5):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            prediction.interval(level)
    for n in (-1, 1.5, "many"):
        with pytest.raises(ValueError, match="n must be an integer >= 0"):
            prediction.sample(n)
    for rng in ("seed", -1, 1.5):
        with pytest.raises(TypeError, match="rng must be an integer >= 0"):
            prediction.sample(1, rng=rng)
        with pytest.raises(TypeError, match="rng must be an integer >= 0"):
            tcgp.fit_model(X, y, "bcrgp", bounds=problem.bounds, rng=rng)


def test_laws_are_those_of_the_methods():
    models = {method: fitted(method) for method in ALL}
    for method in ("gp", "regp"):
        assert models[method].law == Normal()
    for method in ("tcgp", "tcgp-occ", "tcgp-thres", "bcrgp", "tcregp"):
        assert isinstance(models[method].law, GeneralizedNormal)
    for method in ("gp", "tcgp", "bcrgp", "ongp"):  # calibration leaves location and scale alone
        np.testing.assert_array_equal(models[method].leave_one_out.mean, models["gp"].leave_one_out.mean)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [1, 5])
def test_equal_values_leave_the_law_normal(method, n):
    """Residuals of zero, or of a single value, would make a law of any width."""
    X = np.linspace(0.0, 1.0, n)[:, None]
    model = tcgp.fit_model(X, np.full(n, 3.0), method, bounds=[(0.0, 1.0)], rng=0)
    assert isinstance(model.law, Normal)
    prediction = model.predict([[0.55]])
    assert prediction.mean[0] == pytest.approx(3.0)
    assert prediction.sd[0] < 10.0


def test_the_threshold_is_the_quantile_and_the_relaxation_has_its_own():
    problem, X, y = design()
    assert tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds).threshold == np.quantile(y, 0.05)
    assert tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, delta=0.1).threshold == np.quantile(y, 0.1)
    assert tcgp.fit_model(X, y, "regp", bounds=problem.bounds).threshold == np.quantile(y, 0.25)
    both = tcgp.fit_model(X, y, "tcregp", bounds=problem.bounds)
    assert both.threshold == np.quantile(y, 0.05)
    assert both.interpolator.threshold == np.quantile(y, 0.25)


def test_the_threshold_is_kept_when_too_little_weight_lies_below_the_quantile():
    problem, X, y = design()
    state = tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds).state
    crowd = np.array([0.0, -1.0]) + 1e-3 * np.random.default_rng(2).standard_normal((60, 2))
    X, y = np.vstack([X, crowd]), np.concatenate([y, problem.fun(crowd)])
    model = tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, state=state)
    assert model.weights[y <= np.quantile(y, 0.05)].sum() < 0.015
    assert model.threshold == state["threshold"]


@pytest.mark.parametrize("method", ALL)
def test_the_state_survives_json_and_makes_refits_identical(method):
    problem, X, y = design()
    first = tcgp.fit_model(X[:-1], y[:-1], method, bounds=problem.bounds, rng=0)
    stored = json.loads(json.dumps(first.state))
    a = tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=1, state=first.state)
    b = tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=1, state=stored)
    new = np.random.default_rng(1).uniform(-2.0, 2.0, (5, 2))
    np.testing.assert_array_equal(a.predict(new).ppf(0.1), b.predict(new).ppf(0.1))


def test_calibrate_gives_the_law_that_fit_model_gives():
    problem, X, y = design()
    whole = tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, delta=0.1)
    parts = calibrate(tcgp.fit_model(X, y, "gp", bounds=problem.bounds).interpolator, "tcgp", delta=0.1)
    assert parts.law == whole.law


def test_rules_differ_and_rule_zero_is_the_default():
    problem, X, y = design("ackley4", 80)
    laws = [tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, rule=k, delta=0.1).law for k in range(4)]
    assert tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, delta=0.1).law == laws[0]
    assert len({(law.beta, law.scale) for law in laws}) == 4


def test_condition_interpolates_the_new_point_with_the_law_held():
    problem, X, y = design()
    model = tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds)
    new = np.array([[0.3, 0.4]])
    other = model.condition(new, problem.fun(new))
    assert other.law == model.law
    prediction = other.predict(new)
    assert prediction.mean[0] == pytest.approx(problem.fun(new)[0], rel=1e-6)
    assert prediction.sd[0] < 1e-3 * model.predict(new).sd[0]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(("factor", "shift"), [(1e6, -3e7), (1e-9, 0.0)])
def test_laws_do_not_depend_on_the_units_of_y(method, factor, shift):
    problem, X, y = design("ackley4", 60)
    new = np.random.default_rng(1).uniform(-30.0, 30.0, (20, 4))
    a = tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=0).predict(new).ppf(0.2)
    b = tcgp.fit_model(X, factor * y + shift, method, bounds=problem.bounds, rng=0).predict(new).ppf(0.2)
    # The search of (beta, lambda) stops at 1e-6 or so of its optimum; locations agree far better.
    np.testing.assert_allclose((b - shift) / factor, a, rtol=1e-5, atol=1e-5 * y.std())


def hard_designs():
    rng = np.random.default_rng(0)
    goldstein = tcgp.problems.get("goldstein-price").fun
    X = rng.uniform(-2.0, 2.0, (20, 2))
    yield "duplicates", np.vstack([X, X[:5]]), np.concatenate([goldstein(X), goldstein(X[:5])])
    line = np.column_stack([np.linspace(-2.0, 2.0, 25), np.linspace(-2.0, 2.0, 25)])
    yield "collinear", line, goldstein(line)
    constant = np.column_stack([X[:, 0], np.zeros(20)])
    yield "constant coordinate", constant, goldstein(constant)
    crowd = np.vstack([X, np.array([0.0, -1.0]) + 1e-3 * rng.standard_normal((60, 2))])
    yield "clustered", crowd, goldstein(crowd)
    yield "one point", X[:1], goldstein(X[:1])
    yield "two points", X[:2], goldstein(X[:2])
    yield "three points", X[:3], goldstein(X[:3])
    yield "constant y", X, np.full(20, 3.0)
    yield "one low point", X, np.where(np.arange(20) == 3, -1.0, 5.0)
    yield "spread of 1e12", X, np.geomspace(1e-3, 1e9, 20)
    yield "huge", X, 1e300 * np.cos(X[:, 0])
    yield "tiny", X, 1e-300 * np.cos(X[:, 0])
    yield "outlier", X, np.where(np.arange(20) == 7, 1e15, np.sin(X[:, 0]))
    yield "plateau below", X, np.maximum(goldstein(X), np.median(goldstein(X)))


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(("X", "y"), [pytest.param(X, y, id=name) for name, X, y in hard_designs()])
def test_hard_designs_give_usable_laws(method, X, y):
    model = tcgp.fit_model(X, y, method, bounds=[(-2.0, 2.0)] * 2, rng=0)
    best = float(y.min())
    probe = np.vstack([np.random.default_rng(1).uniform(-2.0, 2.0, (20, 2)), X[:2]])
    prediction = model.predict(probe)
    assert np.isfinite(model.weights).all()
    assert np.isfinite(model.threshold)
    assert np.isfinite(prediction.cdf(best)).all()
    assert np.isfinite(prediction.expected_improvement(best)).all()
    assert not np.isnan(prediction.log_expected_improvement(best)).any()
    assert np.isfinite(prediction.ppf(0.1)).all()
    assert np.isfinite(float(model.law.variance()))


@pytest.mark.parametrize(
    ("method", "options", "error", "sentence"),
    [
        ("nogp", {}, ValueError, "method must be one of 'gp', 'tcgp', .*, got 'nogp'"),
        ("gp", {"rule": 1}, TypeError, "method 'gp' has no option 'rule'"),
        ("tcgp", {"delta": 0.0}, ValueError, "delta must be a number in"),
        ("tcgp", {"rule": 7}, ValueError, "rule must be one of 0, 1, 2, 3, got 7"),
        ("tcgp", {"search": "magic"}, ValueError, "search"),
        ("tcgp", {"p_min": 2.0}, ValueError, "p_min"),
        ("bcrgp", {"draw": "magic"}, ValueError, "draw must be one of"),
    ],
)
def test_bad_options_get_one_clear_sentence(method, options, error, sentence):
    _, X, y = design()
    with pytest.raises(error, match=sentence):
        tcgp.fit_model(X, y, method, **options)


@pytest.mark.parametrize("method", ["tcgp", "regp", "gp-nugget"])
def test_lengthscales_of_many_data_are_held_for_some_time(method):
    rng = np.random.default_rng(0)
    X = rng.random((303, 2))
    y = np.exp(np.sin(17.0 * X[:, 0])) + np.abs(X[:, 1] - 0.3)
    box = [(0.0, 1.0)] * 2

    def fit(n, state):
        return tcgp.fit_model(X[:n], y[:n], method, bounds=box, state=state)

    first = fit(300, None)
    second = fit(302, first.state)
    third = fit(303, second.state)
    np.testing.assert_allclose(second.lengthscales, first.lengthscales, rtol=1e-12)
    assert second.state["n"] == 300
    assert third.state["n"] == 303
    assert np.abs(third.lengthscales / first.lengthscales - 1.0).max() > 1e-9
    # The data are all in the model, whatever its lengthscales.
    if method == "tcgp":
        np.testing.assert_allclose(second.predict(X[301:302]).mean, y[301:302], atol=1e-6)


def test_a_cold_fit_looks_around_once_the_data_have_grown_by_a_quarter():
    problem = tcgp.problems.get("hartmann6")
    X = np.random.default_rng(0).random((76, 6))
    y = problem.fun(X)
    best = tcgp.fit_model(X, y, "gp", bounds=problem.bounds)
    # A warm start where nothing is to be learned: all lengthscales tiny, a flat region of the likelihood.
    lost = {**best.state, "lengthscales": [1e-3] * 6}
    del lost["curvature"]
    near = tcgp.fit_model(X, y, "gp", bounds=problem.bounds, state={**lost, "n": 75})
    later = tcgp.fit_model(X, y, "gp", bounds=problem.bounds, state={**lost, "n": 60})
    assert near.interpolator.log_likelihood_ < best.interpolator.log_likelihood_ - 1.0
    # A fit along a run leaves gains below 3e-4, as predicted, to the next one.
    np.testing.assert_allclose(
        later.interpolator.log_likelihood_, best.interpolator.log_likelihood_, rtol=0, atol=1e-2
    )


def test_the_threshold_of_regp_has_memory():
    problem = tcgp.problems.get("branin")
    X = np.random.default_rng(0).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (30, 2))
    y, state = problem.fun(X), {"lengthscales": [5.0, 5.0], "threshold": 50.0, "n": 29}

    def threshold(method="regp", **given):
        return tcgp.fit_model(X, y, method, bounds=problem.bounds, **given).interpolator.threshold

    quantile = pytest.approx(np.quantile(y, 0.25), rel=1e-12)
    # No quantile has all of the box below it, so that the threshold must stay where it was.
    assert threshold(state=state, p_min=1.0) == 50.0
    assert threshold(state=state) == threshold(state=state, p_min=0.0) == threshold(p_min=1.0) == quantile
    # The state of tcreGP has the threshold of its law, which is another.
    assert threshold("tcregp", state=state, p_min=1.0) == quantile


@pytest.mark.parametrize("level", ["low", math.nan])
def test_a_level_that_is_no_number_is_refused(level):
    with pytest.raises(ValueError, match=f"level must be a number or None, got {level!r}"):
        tcgp.fit_model([[0.0], [0.5], [1.0]], [1.0, 3.0, 2.0], level=level)
