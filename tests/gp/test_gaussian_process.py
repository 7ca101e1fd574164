"""The Gaussian process against explicit refits, scikit-learn, finite differences and changes of unit."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from tcgp import GaussianProcess, RelaxedGaussianProcess, problems
from tcgp.gp.gaussian_process import COVARIANCES
from tcgp.gp.kernels import SMOOTHNESSES
from tcgp.gp.selection import SELECTIONS


def design(name="dixon-price4", n=60, seed=0):
    problem = problems.get(name)
    X = np.random.default_rng(seed).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, problem.dim))
    return problem, X, problem.fun(X)


def smooth_data(n=40, seed=0):
    X = np.random.default_rng(seed).random((n, 3))
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 * X[:, 2]


FIXED = {"lengthscales": [0.5, 0.8, 1.5], "mean": 0.3, "variance": 2.0}


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_leave_one_out_equals_refit(p):
    X, y = smooth_data()
    gp = GaussianProcess(p, **FIXED).fit(X, y, bounds=[(0, 1)] * 3)
    loo = gp.leave_one_out()
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        mean, sd = GaussianProcess(p, **FIXED).fit(X[rest], y[rest], bounds=[(0, 1)] * 3).predict(X[[i]])
        assert loo.mean[i] == pytest.approx(mean[0], rel=1e-7, abs=1e-7 * sd[0])
        assert loo.sd[i] == pytest.approx(sd[0], rel=1e-7)
        assert loo.residuals[i] == pytest.approx((y[i] - mean[0]) / sd[0], rel=1e-6)


def test_prediction_equals_scikit_learn():
    X, y = smooth_data()
    gp = GaussianProcess(2, lengthscales=[0.5, 0.8, 1.5], mean=0.0, variance=2.0).fit(X, y)
    kernel = ConstantKernel(2.0) * Matern([0.5, 0.8, 1.5], nu=2.5)
    reference = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    new = np.random.default_rng(1).random((200, 3))
    mean, sd = gp.predict(new)
    expected_mean, expected_sd = reference.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sd, expected_sd, rtol=1e-7, atol=1e-7)


def test_log_likelihood_equals_scikit_learn():
    X, y = smooth_data()
    gp = GaussianProcess(2, lengthscales=[0.5, 0.8, 1.5], mean=0.0, variance=2.0).fit(X, y)
    kernel = ConstantKernel(2.0) * Matern([0.5, 0.8, 1.5], nu=2.5)
    reference = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    assert gp.log_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-9)


@pytest.mark.parametrize("p", SMOOTHNESSES)
def test_gradients_of_mean_and_sd_equal_finite_differences(p):
    problem, X, y = design()
    gp = GaussianProcess(p, lengthscales=[8.0, 10.0, 12.0, 15.0]).fit(X, y, bounds=problem.bounds)
    new = np.random.default_rng(1).uniform(-9.0, 9.0, (30, 4))
    mean, sd, mean_gradient, sd_gradient = gp.predict_gradient(new)
    np.testing.assert_allclose((mean, sd), gp.predict(new), rtol=1e-10)
    for j, step in enumerate(1e-4 * np.eye(4)):
        (mean_up, sd_up), (mean_down, sd_down) = gp.predict(new + step), gp.predict(new - step)
        # The differences carry rounding of 1e-16 cond(K) / 1e-4, relative to the steepest slope.
        for gradient, difference in [(mean_gradient, mean_up - mean_down), (sd_gradient, sd_up - sd_down)]:
            scale = np.abs(gradient[:, j]).max()
            np.testing.assert_allclose(gradient[:, j], difference / 2e-4, rtol=1e-5, atol=1e-5 * scale)


def test_interpolates_the_data_with_zero_sd():
    _, X, y = design("goldstein-price", 30)
    gp = GaussianProcess().fit(X, y)
    mean, sd = gp.predict(X)
    assert gp.nugget_ == 0.0
    np.testing.assert_allclose(mean, y, atol=1e-6 * y.std())
    # 1 - k'K^-1 k is zero to rounding, and sd its square root.
    assert sd.max() < 1e-5 * np.sqrt(gp.variance_)


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("n", [0, 12])
def test_two_values_close_together_are_interpolated_at_any_distance(n, gap):
    X = np.append(np.random.default_rng(0).random(n), [0.3, 0.3 + gap])[:, None]
    y = np.sin(6.0 * X[:, 0])
    mean, _ = GaussianProcess().fit(X, y, bounds=[(0, 1)]).predict(X)
    # Of two values alone the scale is their difference.
    np.testing.assert_allclose(mean, y, rtol=0.0, atol=1e-6 * y.std())


@pytest.mark.parametrize(("factor", "shift"), [(1e6, -3e7), (1e-9, 0.0)])
@pytest.mark.parametrize("name", ["hartmann6", "goldstein-price", "ackley4"])
def test_predictions_follow_the_units_of_y(name, factor, shift):
    problem, X, y = design(name, 15 * problems.get(name).dim)
    new = np.random.default_rng(1).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (100, problem.dim))
    mean, sd = GaussianProcess().fit(X, y, bounds=problem.bounds).predict(new)
    mean_2, sd_2 = GaussianProcess().fit(X, factor * y + shift, bounds=problem.bounds).predict(new)
    np.testing.assert_allclose((mean_2 - shift) / factor, mean, rtol=1e-8, atol=1e-8 * y.std())
    np.testing.assert_allclose(sd_2 / factor, sd, rtol=1e-8, atol=1e-8 * y.std())


@pytest.mark.parametrize("name", ["hartmann6", "goldstein-price", "ackley4"])
def test_predictions_follow_the_units_of_x(name):
    problem, X, y = design(name, 15 * problems.get(name).dim)
    scale, shift = np.geomspace(1e-6, 1e6, problem.dim), np.linspace(-3.0, 7.0, problem.dim)
    new = np.random.default_rng(1).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (100, problem.dim))
    mean, sd = GaussianProcess().fit(X, y, bounds=problem.bounds).predict(new)
    bounds = problem.bounds * scale[:, None] + (shift * scale)[:, None]
    other = GaussianProcess().fit((X + shift) * scale, y, bounds=bounds)
    mean_2, sd_2 = other.predict((new + shift) * scale)
    np.testing.assert_allclose(mean_2, mean, rtol=1e-8, atol=1e-8 * y.std())
    np.testing.assert_allclose(sd_2, sd, rtol=1e-8, atol=1e-8 * y.std())


def test_equal_rows_with_equal_values_are_merged():
    X, y = smooth_data()
    gp = GaussianProcess().fit(np.vstack([X, X[:3]]), np.concatenate([y, y[:3]]))
    np.testing.assert_array_equal(gp.X_, X)
    assert gp.log_likelihood_ == GaussianProcess().fit(X, y).log_likelihood_


def test_equal_rows_with_different_values_are_refused_by_name():
    X, y = smooth_data()
    with pytest.raises(
        ValueError, match=r"rows 2 and 40 .* = -?[\d.e-]+ and .* = -?[\d.e-]+: evaluations are exact"
    ):
        GaussianProcess().fit(np.vstack([X, X[2]]), np.append(y, y[2] + 1e-9))


def test_nearly_dependent_data_get_the_smallest_nugget_recorded():
    rng = np.random.default_rng(0)
    X = 0.5 + 1e-7 * rng.random((40, 2))
    X = np.vstack([X, rng.random((20, 2))])
    gp = GaussianProcess(lengthscales=1.0).fit(X, np.sin(3.0 * X[:, 0]), bounds=[(0, 1)] * 2)
    assert 0.0 < gp.nugget_ <= 1e-12
    mean, sd = gp.predict(rng.random((50, 2)))
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()


def rugged(X):
    """Values without any pattern."""
    return np.modf(1e4 * np.sin(1e4 * X.sum(axis=1)))[0]


def noisy(X):
    """A bowl, with ripples too short to be resolved."""
    return ((X - 0.37) ** 2).sum(axis=1) + 1e-3 * rugged(X)


def clustered(values, n=40, dim=2, closest=-3.0):
    """Data half of which are in clusters about the lowest, as late in a run: from 10^closest on."""
    rng = np.random.default_rng(0)
    spread = rng.random((n // 2, dim))
    lowest = spread[np.argsort(values(spread))[:5]]
    scale = 10.0 ** rng.uniform(closest, -0.5, (n // 2, 1))
    centre = lowest[rng.integers(5, size=n // 2)]
    near = np.clip(centre + scale * rng.standard_normal((n // 2, dim)), 0.0, 1.0)
    X = np.vstack([spread, near])
    return X, values(X)


@pytest.mark.parametrize(
    "model",
    [
        *(GaussianProcess(selection=selection) for selection in SELECTIONS),
        RelaxedGaussianProcess(0.3),
        GaussianProcess(covariance="additive"),
        GaussianProcess(covariance="rotated"),
    ],
)
def test_the_nugget_that_rounding_needs_does_not_become_noise(model):
    # Lengthscales of 1000 boxes with a variance of 1e13 and a nugget of 1e-14 were likelier: white noise, in fact.
    X, y = clustered(rugged)
    model.fit(X, y, bounds=[(0, 1)] * 2)
    exact = model.y_ <= getattr(model, "threshold", np.inf)
    np.testing.assert_allclose(model.predict(X)[0][exact], y[exact], atol=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_nugget_is_learned_with_every_covariance_and_started_from(covariance):
    X, y = smooth_data()
    y = y + 0.1 * np.random.default_rng(1).standard_normal(len(y))
    options = {"nugget": None, "selection": "pooled", "covariance": covariance}
    gp = GaussianProcess(**options).fit(X, y, bounds=[(0, 1)] * 3)
    assert 0.0 < gp.nugget_ < 1.0
    start = gp.lengthscales_ if covariance == "product" else gp.parameters_
    again = GaussianProcess(**options)
    again.fit(X, y, bounds=[(0, 1)] * 3, start=[*start, gp.nugget_], refine=False)
    np.testing.assert_allclose(again.predict(X)[0], gp.predict(X)[0], rtol=1e-9)


def test_lengthscales_that_would_make_it_noise_are_not_kept():
    X, y = clustered(rugged)
    cold = GaussianProcess().fit(X, y, bounds=[(0, 1)] * 2)
    kept = GaussianProcess().fit(X, y, bounds=[(0, 1)] * 2, start=[1000.0, 1000.0], refine=False)
    np.testing.assert_array_equal(kept.lengthscales_, cold.lengthscales_)
    warm = GaussianProcess().fit(X, y, bounds=[(0, 1)] * 2, start=[1000.0, 1000.0])
    assert np.abs(warm.predict(X)[0] - y).max() < 1e-2 * y.std()


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_jump_between_points_that_rounding_makes_one_is_smoothed_with_a_warning(covariance, caplog):
    X, y = smooth_data()
    X, y = np.vstack([X, X[0] + 1e-12]), np.append(y, y[0] + 1.0)
    gp = GaussianProcess(covariance=covariance).fit(X, y, bounds=[(0, 1)] * 3)
    assert "too close together to tell apart" in caplog.text
    new = np.random.default_rng(1).random((20, 3))
    mean, sd = gp.predict(new)
    assert np.abs(mean).max() < 10.0 * np.abs(y).max()
    assert np.isfinite(sd).all()


@pytest.mark.parametrize(("level", "dim"), [(1.0, 1), (0.25, 2)], ids=["plain", "relaxed"])
def test_ripples_in_tight_clusters_are_smoothed_with_a_warning(level, dim, caplog):
    # The relaxed one had the shortest lengthscales: predictions were wrong by 130 standard deviations of the values.
    X, y = clustered(noisy, 100, dim, closest=-7.0)
    threshold = np.quantile(y, level)
    model = GaussianProcess() if level == 1.0 else RelaxedGaussianProcess(threshold)
    model.fit(X, y, bounds=[(0, 1)] * dim)
    assert "too close together to tell apart" in caplog.text
    new = np.random.default_rng(1).random((500, dim))
    truth = ((new - 0.37) ** 2).sum(axis=1)
    low = truth <= threshold
    error = model.predict(new[low])[0] - truth[low]
    assert np.sqrt(np.mean(error**2)) < 5e-3  # the ripples are of 1e-3


def test_a_mean_that_rounding_alone_keeps_from_the_data_is_smoothed_with_a_warning(caplog):
    # No nugget is needed here, but the sums that give the mean are rounded by half a standard deviation of the values.
    X, y = clustered(rugged, dim=1, closest=-7.0)
    gp = GaussianProcess().fit(X, y, bounds=[(0, 1)])
    assert "too close together to tell apart" in caplog.text
    mean, sd = gp.predict(np.random.default_rng(1).random((500, 1)))
    assert np.abs(mean).max() <= np.abs(y).max()
    assert sd.max() <= y.std()


def test_smoothing_learns_its_nugget():
    X, y = clustered(noisy, 100, 1, closest=-7.0)
    smoothed = GaussianProcess().fit(X, y, bounds=[(0, 1)])
    smooth = GaussianProcess(nugget=None).fit(X, y, bounds=[(0, 1)])
    np.testing.assert_array_equal(smoothed.lengthscales_, smooth.lengthscales_)
    assert smoothed.nugget_ == smooth.nugget_
    assert smoothed.log_likelihood_ == smooth.log_likelihood_


def test_warm_start_reaches_the_cold_optimum():
    problem, X, y = design("ackley4", 80)
    cold = GaussianProcess().fit(X, y, bounds=problem.bounds)
    warm = GaussianProcess().fit(X, y, bounds=problem.bounds, start=1.3 * cold.lengthscales_)
    assert warm.log_likelihood_ == pytest.approx(cold.log_likelihood_, abs=1e-3)


def test_condition_equals_fit_with_held_hyperparameters():
    X, y = smooth_data()
    gp = GaussianProcess(**FIXED).fit(X[:30], y[:30], bounds=[(0, 1)] * 3)
    both = GaussianProcess(**FIXED).fit(X, y, bounds=[(0, 1)] * 3)
    new = np.random.default_rng(1).random((20, 3))
    np.testing.assert_allclose(gp.condition(X[30:], y[30:]).predict(new), both.predict(new), rtol=1e-8)
    assert len(gp.y_) == 30


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, 1e-300])
@pytest.mark.parametrize("n", [1, 2, 10])
def test_constant_values_give_a_usable_model_and_a_warning(value, n, caplog):
    X = np.random.default_rng(0).random((n, 2))
    with caplog.at_level(logging.WARNING, "tcgp"):
        gp = GaussianProcess().fit(X, np.full(n, value), bounds=[(0, 1)] * 2)
    assert "equal" in caplog.text
    mean, sd = gp.predict([[0.2, 0.9]])
    assert mean[0] == pytest.approx(value)
    assert sd[0] > 0.0


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_values_do_not_overflow(scale):
    X, y = smooth_data()
    mean, sd = GaussianProcess().fit(X, scale * y).predict(X[:5] + 0.01)
    reference_mean, reference_sd = GaussianProcess().fit(X, y).predict(X[:5] + 0.01)
    np.testing.assert_allclose(mean / scale, reference_mean, rtol=1e-6)
    np.testing.assert_allclose(sd / scale, reference_sd, rtol=1e-6)


def test_three_points_in_twenty_dimensions():
    rng = np.random.default_rng(0)
    mean, sd = GaussianProcess().fit(rng.random((3, 20)), [1.0, 2.0, 0.5]).predict(rng.random((4, 20)))
    assert np.isfinite(mean).all()
    assert (sd > 0.0).all()


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.zeros(3), np.zeros(3), r"X must have shape \(n, d\)"),
        (np.zeros((3, 2)), np.zeros(2), r"y has shape \(2,\) but X has 3 rows"),
        (np.zeros((0, 2)), np.zeros(0), "at least one evaluated point"),
        (np.zeros((2, 0)), np.zeros(2), "no columns"),
        ([[0.0, np.nan]], [1.0], r"X\[0, 1\] = nan must be finite"),
        ([[0.0], [1.0]], [1.0, np.inf], r"y\[1\] = inf must be finite"),
        ([[0.0], [1.0]], np.ma.array([1, -999], mask=[False, True]), r"y\[1\] = nan must be finite"),
        ([["a"]], [1.0], "array of numbers"),
    ],
)
def test_bad_data_get_one_clear_sentence(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        GaussianProcess().fit(X, y)


@pytest.mark.parametrize(
    "bounds", [[(1.0, 0.0)], [(0.0, 0.0)], [(0.0, np.inf)], [(0.0,)], [(0, 1), (0, 1)], "ab"]
)
def test_bad_bounds_get_one_clear_sentence(bounds):
    with pytest.raises(ValueError, match="bounds"):
        GaussianProcess().fit([[0.2], [0.7]], [1.0, 2.0], bounds=bounds)


def test_prediction_before_fit_and_with_wrong_columns_is_refused():
    with pytest.raises(ValueError, match="call fit"):
        GaussianProcess().predict([[0.0]])
    with pytest.raises(ValueError, match="3 columns but the model was fitted with 1"):
        GaussianProcess().fit([[0.2], [0.7]], [1.0, 2.0]).predict(np.zeros((1, 3)))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    log_scale=st.floats(-250.0, 250.0),
    shift=st.sampled_from([0.0, 1.0, -1e8]),
    cluster=st.sampled_from([1.0, 1e-3, 1e-9]),
    rounding=st.sampled_from([None, 1]),
)
def test_any_finite_data_give_finite_predictions(n, d, seed, log_scale, shift, cluster, rounding):
    rng = np.random.default_rng(seed)
    X = 0.5 + cluster * (rng.random((n, d)) - 0.5)
    y = shift + 10.0**log_scale * rng.standard_normal(n)
    if rounding is not None:  # plateaus and equal values
        y = np.round(y, rounding)
    gp = GaussianProcess().fit(X, y, bounds=[(0.0, 1.0)] * d)
    mean, sd = gp.predict(rng.random((5, d)))
    loo = gp.leave_one_out()
    assert np.isfinite([*mean, *sd, *loo.mean, *loo.sd, *loo.residuals]).all()
    assert (sd >= 0.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variance": -1.0}, "variance must be a positive number or None, got -1"),
        ({"variance": 0.0}, "variance must be a positive number"),
        ({"mean": np.nan}, "mean must be a finite number or None, got nan"),
        ({"n_starts": 0}, "n_starts must be a positive integer, got 0"),
        ({"nugget": None, "lengthscales": 0.3}, "nugget must be a number where lengthscales are given"),
    ],
)
def test_parameters_that_make_no_process_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess(**settings)
