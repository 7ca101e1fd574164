"""Pooled lengthscales and learned nugget, against densities written from scratch."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm

from tcgp import GaussianProcess, RelaxedGaussianProcess, problems
from tcgp.gp.kernels import SMOOTHNESSES, correlation
from tcgp.gp.likelihood import ConcentratedLikelihood, PooledPrior
from tcgp.gp.relaxed import RelaxedLikelihood
from tcgp.gp.selection import SCAN_DATA, log_rho_bounds, selection_prior

LOG_RHO = np.log([0.4, 0.8, 2.0])
POOLED = PooledPrior(0.4)


def log_prior(log_rho, prior):
    """Log-density up to a constant: the deviations from a level, at the level that is best for them."""
    return norm(np.mean(log_rho), np.sqrt(prior.variance)).logpdf(log_rho).sum()


def data(n=25, d=3, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 - 0.3 * X[:, -1] + noise * rng.standard_normal(n)


def covariance(X, lengthscales, nugget=0.0):
    K = correlation(cdist(X / lengthscales, X / lengthscales, "sqeuclidean"), 2)
    return K + nugget * np.eye(len(X))


def central_difference(function, x, step=1e-5):
    return np.array(
        [(function(x + step * e) - function(x - step * e)) / (2.0 * step) for e in np.eye(len(x))]
    )


def goldstein(n=40, seed=0):
    problem = problems.get("goldstein-price")
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, 2))
    return X, problem.fun(X)


# ---- likelihoods ----


def test_the_prior_adds_minus_its_log_density():
    X, z = data()
    shift = np.array([0.3, -0.2, 0.1])
    plain, penalized = ConcentratedLikelihood(X, z, 2), ConcentratedLikelihood(X, z, 2, prior=POOLED)

    def added(log_rho):
        return penalized.value(log_rho) - plain.value(log_rho)

    def expected(log_rho):
        return -log_prior(log_rho, POOLED)

    assert added(LOG_RHO + shift) - added(LOG_RHO) == pytest.approx(
        expected(LOG_RHO + shift) - expected(LOG_RHO)
    )


def test_the_nugget_is_noise_of_its_own():
    X, z = data(noise=0.1)
    K = covariance(X, np.exp(LOG_RHO), 0.03)
    expected = -multivariate_normal(np.full(len(z), 0.2), 1.7 * K).logpdf(z)
    known = {"mean": 0.2, "variance": 1.7}
    learned = ConcentratedLikelihood(X, z, 2, nugget=None, **known)
    assert learned.value(np.append(LOG_RHO, np.log(0.03))) == pytest.approx(expected, rel=1e-9)
    held = ConcentratedLikelihood(X, z, 2, nugget=0.03, **known)
    assert held.value(LOG_RHO) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", SMOOTHNESSES)
@pytest.mark.parametrize("prior", [None, POOLED])
@pytest.mark.parametrize("nugget", [0.0, 0.03, None])
@pytest.mark.parametrize("known", [{}, {"variance": 1.7}])
def test_gradients_equal_finite_differences(p, prior, nugget, known):
    X, z = data(noise=0.05)
    theta = LOG_RHO if nugget is not None else np.append(LOG_RHO, np.log(0.02))
    likelihood = ConcentratedLikelihood(X, z, p, nugget=nugget, prior=prior, **known)
    value, gradient = likelihood.value_and_gradient(theta)
    assert value == pytest.approx(likelihood.value(theta), rel=1e-12)
    # Central differences of a value near 30, known to 1e-13 or so: 1e-8 of absolute error at a step of 1e-5.
    np.testing.assert_allclose(gradient, central_difference(likelihood.value, theta), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("prior", [None, POOLED])
@pytest.mark.parametrize("level", [0.1, 0.3, 0.6])
def test_relaxed_gradients_equal_finite_differences(level, prior):
    X, z = data(n=40)
    threshold = float(np.quantile(z, level))
    likelihood = RelaxedLikelihood(X, z, 2, threshold, prior=prior)
    value, gradient = likelihood.value_and_gradient(LOG_RHO)
    assert value == pytest.approx(likelihood.value(LOG_RHO), rel=1e-12)
    np.testing.assert_allclose(gradient, central_difference(likelihood.value, LOG_RHO), rtol=1e-5, atol=1e-6)


def test_relaxing_nothing_gives_the_plain_variants():
    X, z = data()
    for prior in (None, POOLED):
        plain = ConcentratedLikelihood(X, z, 2, prior=prior).value(LOG_RHO)
        assert RelaxedLikelihood(X, z, 2, np.inf, prior=prior).value(LOG_RHO) == pytest.approx(
            plain, rel=1e-12
        )


# ---- fits ----


def interpolators():
    yield "pooled", GaussianProcess(selection="pooled")
    yield "nugget", GaussianProcess(nugget=None)
    yield "nugget pooled", GaussianProcess(nugget=None, selection="pooled")
    yield "relaxed pooled", RelaxedGaussianProcess(200.0, selection="pooled")


EVERY = [pytest.param(model, id=name) for name, model in interpolators()]


def log_density(X, y, lengthscales, *, nugget=0.0, selection="ml"):
    """What a fit maximizes, up to a constant, in the units of the data scaled to the cube [-2, 2]."""
    K = covariance(X, lengthscales, nugget)
    ones, n = np.ones(len(y)), len(y)
    b = np.linalg.solve(K, ones)
    deviation = y - b @ y / b.sum()
    quadratic = deviation @ np.linalg.solve(K, deviation)
    value = -0.5 * (n * np.log(quadratic) + np.linalg.slogdet(K)[1])
    if selection == "pooled":
        value += log_prior(np.log(lengthscales / 4.0), selection_prior(selection))
    return value


@pytest.mark.parametrize("model", EVERY)
def test_no_small_change_of_a_hyperparameter_is_better(model):
    X, y = goldstein()
    # Noise puts the nugget inside its range; in these units the relaxation starts among the data.
    y = 40.0 * (np.log(y) + np.random.default_rng(1).standard_normal(len(y)))
    model.fit(X, y, bounds=[(-2.0, 2.0)] * 2)
    values = getattr(model, "relaxed_values_", model.y_)
    nugget = model.nugget_ if getattr(model, "nugget", 0.0) is None else 0.0

    def value(factors, growth=1.0):
        return log_density(
            X, values, model.lengthscales_ * factors, nugget=nugget * growth, selection=model.selection
        )

    best = value(np.ones(2))
    for factor in (0.97, 1.03):
        for factors in ([factor, 1.0], [1.0, factor]):
            if np.all(model.lengthscales_ * factors <= 4.0 * model.longest):
                assert value(np.array(factors)) < best + 1e-5
        if nugget:
            assert value(np.ones(2), factor) < best


@pytest.mark.parametrize("model", EVERY)
def test_no_other_start_ends_better(model):
    """From many starts, L-BFGS-B on the likelihood itself finds nothing better by 0.01."""
    X, y = goldstein(30)
    model.fit(X, y, bounds=[(-2.0, 2.0)] * 2)
    best = model.objective_
    size = 3 if getattr(model, "nugget", 0.0) is None else 2
    for start in np.exp(np.random.default_rng(1).uniform(np.log(0.1), np.log(20.0), (15, size))):
        if size == 3:
            start[2] = min(start[2], 1.0)
        other = model.fit(X, y, bounds=[(-2.0, 2.0)] * 2, start=start).objective_
        assert other < best + 1e-2


@pytest.mark.parametrize("function", ["goldstein-price", "michalewicz4"])
def test_a_scan_of_a_part_of_many_data_ends_where_one_of_all_does(function, monkeypatch):
    problem = problems.get(function)
    X = np.random.default_rng(0).uniform(*problem.bounds.T, (SCAN_DATA + 20, problem.dim))
    y = problem.fun(X)
    part = GaussianProcess().fit(X, y, bounds=problem.bounds).log_likelihood_
    monkeypatch.setattr("tcgp.gp.selection.SCAN_DATA", len(X))
    whole = GaussianProcess().fit(X, y, bounds=problem.bounds).log_likelihood_
    assert part == pytest.approx(whole, abs=0.5)


@pytest.mark.parametrize("model", EVERY)
def test_fits_do_not_depend_on_units(model):
    X, y = goldstein()
    relaxed = isinstance(model, RelaxedGaussianProcess)
    new = np.random.default_rng(1).uniform(-2.0, 2.0, (10, 2))
    a = model.fit(X, y, bounds=[(-2.0, 2.0)] * 2).predict(new)
    if relaxed:
        model = RelaxedGaussianProcess(200.0 * 50.0 - 7.0, selection=model.selection)
    b = model.fit(X * [3.0, 100.0], 50.0 * y - 7.0, bounds=[(-6.0, 6.0), (-200.0, 200.0)]).predict(
        new * [3.0, 100.0]
    )
    # L-BFGS-B stops at 1e-8 of the likelihood, so lengthscales agree to 1e-4 or so.
    np.testing.assert_allclose((b[0] + 7.0) / 50.0, a[0], rtol=1e-3, atol=1e-3 * y.std())
    np.testing.assert_allclose(b[1] / 50.0, a[1], rtol=1e-2, atol=1e-4 * y.std())


def test_pooled_lengthscales_predict_where_free_ones_fit_anything():
    """Three data for each of 20 lengthscales: errors and their scatter in units of the predicted one."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2.0, 2.0, (60, 20)), rng.uniform(-2.0, 2.0, (300, 20))
    curvature = np.linspace(1.0, 10.0, 20)
    y, truth = ((Z - 0.3) ** 2 @ curvature for Z in (X, new))
    explained, ratio = {}, {}
    for selection in ("ml", "pooled"):
        mean, sd = GaussianProcess(selection=selection).fit(X, y, bounds=[(-2.0, 2.0)] * 20).predict(new)
        explained[selection] = 1.0 - np.mean((mean - truth) ** 2) / truth.var()
        ratio[selection] = np.sqrt(np.mean(((mean - truth) / sd) ** 2))
    assert explained["pooled"] > explained["ml"] + 0.1
    assert 1.0 < ratio["pooled"] < 0.8 * ratio["ml"]  # less overconfident


def test_a_coordinate_without_effect_is_found_by_pooled_lengthscales_too():
    X, _ = data(n=60, d=6)
    model = GaussianProcess(selection="pooled").fit(X, np.sin(5.0 * X[:, 0]), bounds=[(0.0, 1.0)] * 6)
    assert model.lengthscales_[1:].min() > 5.0 * model.lengthscales_[0]


def test_lengthscales_are_no_longer_than_told():
    X, _ = data()
    free = GaussianProcess().fit(X, X[:, 0], bounds=[(0.0, 1.0)] * 3)
    bound = GaussianProcess(longest=30.0).fit(X, X[:, 0], bounds=[(0.0, 1.0)] * 3)
    assert free.lengthscales_.max() > 31.0
    assert bound.lengthscales_.max() <= 30.0 * (1.0 + 1e-9)


# ---- the smoothed process ----


def test_smooth_predictions_are_those_of_kriging_with_noise():
    X, y = data(noise=0.1)
    model = GaussianProcess(lengthscales=[0.4, 0.8, 2.0], mean=0.2, variance=1.7, nugget=0.03).fit(
        X, y, bounds=[(0.0, 1.0)] * 3
    )
    new = np.random.default_rng(1).random((6, 3))
    rho = np.array([0.4, 0.8, 2.0])
    K, k = covariance(X, rho, 0.03), correlation(cdist(new / rho, X / rho, "sqeuclidean"), 2)
    mean, sd = model.predict(new)
    np.testing.assert_allclose(mean, 0.2 + k @ np.linalg.solve(K, y - 0.2), rtol=1e-9)
    latent = 1.0 - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
    np.testing.assert_allclose(sd, np.sqrt(1.7 * latent), rtol=1e-9)


def test_smooth_leave_one_out_predicts_the_left_out_datum():
    X, y = data(noise=0.1)
    held = {"lengthscales": [0.4, 0.8, 2.0], "mean": 0.2, "variance": 1.7, "nugget": 0.03}
    loo = GaussianProcess(**held).fit(X, y, bounds=[(0.0, 1.0)] * 3).leave_one_out()
    for i in (0, 7, 24):
        rest = np.arange(len(y)) != i
        mean, sd = (
            GaussianProcess(**held).fit(X[rest], y[rest], bounds=[(0.0, 1.0)] * 3).predict(X[i : i + 1])
        )
        assert loo.mean[i] == pytest.approx(mean[0], rel=1e-9)
        assert loo.sd[i] == pytest.approx(np.sqrt(sd[0] ** 2 + 1.7 * 0.03), rel=1e-9)


def test_a_learned_nugget_finds_the_noise_and_vanishes_without_it():
    X, clean = data(n=80, noise=0.0)
    _, noisy = data(n=80, noise=0.2)
    smooth = GaussianProcess(nugget=None).fit(X, noisy)
    share = smooth.nugget_ * smooth.variance_
    assert 0.02 < share < 0.08  # 0.2 squared, within a factor of two
    assert GaussianProcess(nugget=None).fit(X, clean).nugget_ < 1e-5


def test_smooth_gradients_equal_finite_differences():
    X, y = data(noise=0.1)
    model = GaussianProcess(nugget=None).fit(X, y)
    x = np.array([0.4, 0.5, 0.6])
    _, _, mean_gradient, sd_gradient = model.predict_gradient(x[None])
    np.testing.assert_allclose(
        mean_gradient[0], central_difference(lambda u: model.predict(u[None])[0][0], x), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        sd_gradient[0], central_difference(lambda u: model.predict(u[None])[1][0], x), rtol=1e-4, atol=1e-7
    )


def test_added_data_are_exact_and_the_old_stay_smooth():
    X, y = data(noise=0.1)
    model = GaussianProcess(nugget=None).fit(X, y)
    more = model.condition([[0.5, 0.5, 0.5]], [3.0])
    mean, sd = more.predict([[0.5, 0.5, 0.5]])
    assert mean[0] == pytest.approx(3.0, abs=1e-6)
    assert sd[0] < 1e-6
    assert more.predict(X[:1])[1][0] > 0.0


def test_a_warm_start_takes_the_nugget_along():
    X, y = data(n=60, noise=0.1)
    cold = GaussianProcess(nugget=None).fit(X, y)
    warm = GaussianProcess(nugget=None).fit(X, y, start=[*cold.lengthscales_, cold.nugget_])
    assert warm.objective_ == pytest.approx(cold.objective_, abs=1e-6)
    with pytest.raises(ValueError, match="start must be one number or 4 numbers"):
        GaussianProcess(nugget=None).fit(X, y, start=cold.lengthscales_)


# ---- bounds ----


@pytest.mark.parametrize(
    ("dim", "volume"), [(3, 4.0 / 3.0 * np.pi), (4, np.pi**2 / 2.0), (10, np.pi**5 / 120.0)]
)
def test_a_hundredth_of_a_point_is_expected_within_the_shortest_lengthscale(dim, volume):
    """In many dimensions that is much longer than a tenth of the spacing, in few it is not."""
    shortest = np.exp(log_rho_bounds(50, dim, shortest=None)[0])
    assert 50 * volume * shortest**dim == pytest.approx(0.01)
    assert log_rho_bounds(50, 2, shortest=None) == log_rho_bounds(50, 2, shortest=0.1)


def test_two_close_points_do_not_make_every_lengthscale_short():
    """The second point of a pair differs by a ripple."""
    X = np.random.default_rng(1).random((30, 10))
    X[-1] = X[0] + 0.01
    y = ((X - 0.5) ** 2).sum(axis=1)
    y[-1] += 2.0
    short, long = (
        GaussianProcess(selection="pooled", shortest=s).fit(X, y).lengthscales_ for s in (0.1, None)
    )
    assert short.max() < 0.1
    assert long.min() > 0.3


# ---- refusals ----


@pytest.mark.parametrize("kind", [GaussianProcess, lambda **options: RelaxedGaussianProcess(1.0, **options)])
def test_bad_selections_get_one_clear_sentence(kind):
    with pytest.raises(ValueError, match="selection must be one of 'ml', 'pooled', got 'best'"):
        kind(selection="best")


@pytest.mark.parametrize("kind", [GaussianProcess, lambda **options: RelaxedGaussianProcess(1.0, **options)])
@pytest.mark.parametrize(
    "bound", [{"shortest": 0.0}, {"longest": -1.0}, {"shortest": np.nan}, {"longest": None}]
)
def test_bounds_of_lengthscales_are_positive(kind, bound):
    with pytest.raises(ValueError, match=f"{next(iter(bound))} must be a number above 0, got "):
        kind(**bound)


def test_a_negative_nugget_is_refused():
    with pytest.raises(ValueError, match="nugget must be at least 0"):
        GaussianProcess(nugget=-1.0)
