"""The scikit-learn bridge: scikit-learn's own checks, and agreement with the core."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import tcgp
from tcgp.integrations.sklearn import TailCalibratedRegressor, TcgpSearchCV


@pytest.fixture(scope="module")
def data():
    problem = tcgp.problems.get("goldstein-price")
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (40, 2))
    return X, problem.fun(X)


def test_scikit_learns_own_checks_pass():
    results = check_estimator(TailCalibratedRegressor(), on_skip=None, on_fail=None)
    others = {(r["check_name"], r["status"], str(r["exception"])) for r in results if r["status"] != "passed"}
    assert len(results) > 40
    # The one check that scikit-learn makes only where array API dispatch was switched on at start.
    skip = "SCIPY_ARRAY_API is not set: not checking array_api input"
    assert others <= {("check_array_api_input", "skipped", skip)}


@pytest.mark.parametrize("method", ["gp", "tcgp", "tcgp-occ", "tcgp-thres", "regp"])
def test_predictions_are_those_of_the_core(data, method):
    X, y = data
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (7, 2))
    bounds = [(-2.0, 2.0)] * 2
    regressor = TailCalibratedRegressor(method, bounds=bounds, delta=0.2).fit(X, y)
    model = tcgp.fit_model(X, y, method, bounds=bounds, delta=0.2)
    expected = model.predict(points)
    mean, std = regressor.predict(points, return_std=True)
    np.testing.assert_array_equal(mean, expected.mean)
    np.testing.assert_array_equal(regressor.predict(points), expected.mean)
    np.testing.assert_allclose(std, expected.sd * np.sqrt(expected.law.variance()))
    levels = [0.01, 0.5, 0.9]
    quantiles = regressor.predict_quantiles(points, levels)
    assert quantiles.shape == (7, 3)
    np.testing.assert_array_equal(quantiles[:, 2], expected.ppf(0.9))
    np.testing.assert_array_equal(regressor.predict_quantiles(points, 0.9), expected.ppf(0.9))
    assert regressor.predict_distribution(points).law == expected.law
    assert regressor.threshold_ == model.threshold
    assert regressor.law_ == model.law


def test_interpolates_the_data_with_certainty(data):
    X, y = data
    mean, std = TailCalibratedRegressor().fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, rtol=1e-6)
    # Rounding leaves a variance of 1e-12 or so of the prior one.
    assert (std < 1e-4 * np.std(y)).all()


def test_works_in_pipelines_and_under_transformed_targets(data):
    X, y = data
    plain = TailCalibratedRegressor().fit(X, y)
    piped = make_pipeline(StandardScaler(), TailCalibratedRegressor()).fit(X, y)
    np.testing.assert_allclose(piped.predict(X + 0.01), plain.predict(X + 0.01), rtol=1e-4)
    quantiles = make_pipeline(FunctionTransformer(), TailCalibratedRegressor()).fit(X, y)
    assert quantiles[-1].predict_quantiles(quantiles[:-1].transform(X)).shape == (40, 3)
    target = TransformedTargetRegressor(TailCalibratedRegressor(), func=np.log, inverse_func=np.exp)
    assert target.fit(X, y).predict(X).shape == (40,)


def test_clone_grid_search_and_cross_validation(data):
    X, y = data
    regressor = TailCalibratedRegressor("tcgp", delta=0.1, options={"p_min": 0.02})
    copy = clone(regressor)
    assert copy.get_params() == regressor.get_params()
    assert cross_val_score(regressor, X, np.log(y), cv=3).mean() > 0.3
    smooth = np.sin(X[:, 0]) * X[:, 1]
    search = GridSearchCV(TailCalibratedRegressor(), {"smoothness": [0, 2]}, cv=3).fit(X, smooth)
    assert search.best_params_ == {"smoothness": 2}


def test_equal_rows_are_averaged():
    X = np.array([[0.0], [1.0], [0.0], [2.0], [0.0], [1.0]])
    y = np.array([1.0, 0.1, 2.0, 5.0, 6.0, 0.1])
    model = TailCalibratedRegressor().fit(X, y).model_
    np.testing.assert_array_equal(model.X, [[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(model.y, [3.0, 0.1, 5.0])


def test_random_state_makes_drawing_methods_repeat(data):
    X, y = data
    first, second = (
        TailCalibratedRegressor(options={"search": "paper"}, random_state=7).fit(X, y).law_ for _ in range(2)
    )
    assert first == second
    TailCalibratedRegressor(options={"search": "paper"}, random_state=np.random.RandomState(7)).fit(X, y)


def test_names_of_columns_are_checked(data):
    X, y = data
    frame = pandas.DataFrame(X, columns=["a", "b"])
    regressor = TailCalibratedRegressor().fit(frame, y)
    assert list(regressor.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(frame[["b", "a"]])


def test_bad_arguments_are_refused_with_a_sentence(data):
    X, y = data
    with pytest.raises(ValueError, match=r"method must be one of .*, got 'forest'"):
        TailCalibratedRegressor("forest").fit(X, y)
    with pytest.raises(ValueError, match="random_state must be"):
        TailCalibratedRegressor(random_state="seven").fit(X, y)
    with pytest.raises(TypeError, match="has no option 'eta'"):
        TailCalibratedRegressor(options={"eta": 1.0}).fit(X, y)
    for options in ([1], "delta"):
        with pytest.raises(ValueError, match="options must be a mapping from names to values or None"):
            TailCalibratedRegressor(options=options).fit(X, y)
    with pytest.raises(NotFittedError):
        TailCalibratedRegressor().predict(X)


@pytest.mark.parametrize(
    "levels", [[[0.1, 0.9]], [0.5, np.nan], np.nan, -0.1, [0.5, 1.5], "half", [[0.1], [0.2, 0.3]]]
)
def test_levels_that_are_no_probabilities_are_refused_with_a_sentence(data, levels):
    regressor = TailCalibratedRegressor("gp").fit(data[0][:10], data[1][:10])
    with pytest.raises(
        ValueError, match="quantiles must be a level between 0 and 1, or a sequence of them, got"
    ):
        regressor.predict_quantiles(data[0][:2], levels)


def test_noise_is_learned_from_repeats_and_predictions_are_without_it():
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0.0, 1.0, 15)[:, None], 3, axis=0)
    y = np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(45)
    regressor = TailCalibratedRegressor("gp", noise=True).fit(X, y)
    assert 0.07 < regressor.model_.noise < 0.13
    mean, std = regressor.predict([[0.5]], return_std=True)
    assert abs(mean[0] - np.sin(3.0)) < 3.0 * std[0] < 0.2


# ---- the search of hyperparameters ----

# Its repr names the tests, and must be the same in each process: a distribution of SciPy shows its address.
CHECKED = TcgpSearchCV(
    LogisticRegression(),
    {"C": tcgp.Real(0.1, 10.0, log=True)},
    n_iter=2,
    cv=2,
    error_score="raise",
    random_state=0,
)


@parametrize_with_checks([CHECKED])
def test_scikit_learns_own_checks_of_a_search_pass(estimator, check):
    check(estimator)


class Scored(BaseEstimator):
    """An estimator whose score is a known function of its parameters; some cannot be fitted."""

    def __init__(self, x=0.0, n=0, kind="a", c=1.0):
        self.x, self.n, self.kind, self.c = x, n, kind, c

    def fit(self, X, y=None):
        if self.kind == "narrow" and self.x > 0.2:
            raise RuntimeError("singular")
        return self

    def score(self, X, y=None):
        return (
            -((self.x - 0.3) ** 2)
            - 0.1 * (self.n - 2) ** 2
            - (self.kind == "b")
            - 0.1 * np.log10(self.c) ** 2
        )


SPACES = {
    "SciPy": {"x": uniform(-1, 2), "n": randint(0, 5), "kind": ["a", "b"], "c": loguniform(1e-3, 1e3)},
    "ours": {
        "x": tcgp.Real(-1, 1),
        "n": tcgp.Integer(0, 4),
        "kind": tcgp.Categorical(["a", "b"]),
        "c": tcgp.Real(1e-3, 1e3, log=True),
    },
    "others": {"x": norm(0.0, 0.5), "n": [0, 1, 2, 3, 4], "kind": ["a", "b"], "c": [0.1, 1.0, 10.0]},
}


@pytest.mark.parametrize("space", SPACES)
def test_finds_the_best_of_a_mixed_space(space):
    search = TcgpSearchCV(Scored(), SPACES[space], n_iter=22, cv=2, noise=False, random_state=0)
    search.fit(np.zeros((10, 1)))
    assert len(search.cv_results_["params"]) == len(search.optimizer_.evaluations) == 22
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > -0.02
    assert (search.best_params_["n"], search.best_params_["kind"]) == (2, "a")
    assert search.best_estimator_.get_params() == search.best_params_


def test_constraints_between_parameters_hold_for_all_candidates():
    search = TcgpSearchCV(
        Scored(), SPACES["ours"], n_iter=12, cv=2, settings={"constraints": ["x <= n - 2"]}, random_state=0
    ).fit(np.zeros((10, 1)))
    assert all(candidate["x"] <= candidate["n"] - 2 for candidate in search.cv_results_["params"])


@pytest.mark.filterwarnings("ignore:.*non-finite", "ignore:Some fits failed")
def test_failed_fits_are_failures_of_the_search_and_rows_of_the_results():
    search = TcgpSearchCV(Scored(kind="narrow"), {"x": uniform(-1, 2)}, n_iter=12, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning):
        search.fit(np.zeros((10, 1)))
    results = search.cv_results_
    x = np.array([params["x"] for params in results["params"]])
    assert x[-1] > 0.2  # a candidate of the model failed, alone in its batch
    assert {len(column) for column in results.values()} == {12}
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), x > 0.2)
    np.testing.assert_array_equal(results["param_x"].astype(float), x)
    assert sorted(e.x[0] for e in search.optimizer_.evaluations if e.failed) == sorted(x[x > 0.2])
    assert results["rank_test_score"][search.best_index_] == 1
    assert 0.1 < search.best_params_["x"] <= 0.2


def test_several_scores_batches_and_a_pipeline():
    X, y = load_iris(return_X_y=True)
    search = TcgpSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": loguniform(1e-3, 1e3)},
        n_iter=8,
        batch_size=3,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        cv=3,
        random_state=0,
    ).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_neg_log_loss"].max()
    assert search.optimizer_.history.goals.noisy
    assert search.predict(X[:2]).shape == (2,)
    assert clone(search).fit(X, y).cv_results_["params"] == search.cv_results_["params"]
    with pytest.raises(ValueError, match="refit must name the score"):
        clone(search).set_params(refit=False).fit(X, y)


def test_a_space_with_few_candidates_ends_the_search_and_what_is_no_distribution_is_refused():
    search = TcgpSearchCV(Scored(), {"kind": ["a", "b"]}, n_iter=5, cv=2, noise=False)
    with pytest.warns(UserWarning, match="the space has 2 candidates"):
        search.fit(np.zeros((10, 1)))
    with pytest.raises(ValueError, match=r"the parameter 'x' must have .* got \(0, 1\)"):
        TcgpSearchCV(Scored(), {"x": (0, 1)}).fit(np.zeros((10, 1)))
