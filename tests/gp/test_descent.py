"""Quasi-Newton descents: minima in a box, and what a remembered curvature saves."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from tcgp import problems
from tcgp.gp.descent import descend, pack, unpack
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.selection import log_rho_bounds, select_lengthscales
from tcgp.methods.fit import fit_model


class Counted:
    """An objective that counts its evaluations."""

    def __init__(self, objective):
        self.objective, self.n = objective, 0

    def __call__(self, x):
        self.n += 1
        return self.objective(x)


def quadratic(matrix, centre):
    return lambda x: (0.5 * (x - centre) @ matrix @ (x - centre), matrix @ (x - centre))


def random_matrix(rng, dim):
    return (factor := rng.normal(size=(dim, dim))) @ factor.T + 0.1 * np.eye(dim)


def likelihood_of(name, n, seed=0):
    problem = problems.get(name)
    rng = np.random.default_rng(seed)
    unit = rng.random((n, problem.dim))
    y = problem.fun(problem.bounds[:, 0] + unit * np.ptp(problem.bounds, axis=1))
    box = [log_rho_bounds(n, problem.dim)] * problem.dim
    return ConcentratedLikelihood(unit, (y - y.mean()) / y.std(), 2), box


@pytest.mark.parametrize("seed", range(20))
def test_minima_of_quadratics_in_a_box_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 8))
    objective = quadratic(random_matrix(rng, dim), rng.normal(size=dim))
    bounds = [tuple(sorted(pair)) for pair in rng.uniform(-1.5, 1.5, (dim, 2))]
    expected = minimize(
        objective, np.zeros(dim), jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14}
    )
    found = descend(objective, rng.normal(size=dim), bounds, gain=1e-10)
    assert found.value == pytest.approx(expected.fun, rel=1e-5, abs=1e-8)
    low, high = np.transpose(bounds)
    assert np.all((found.point >= low) & (found.point <= high))


def test_a_curved_valley_is_followed_to_its_end():
    found = descend(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), [(-5.0, 5.0)] * 2, gain=1e-12)
    np.testing.assert_allclose(found.point, 1.0, atol=1e-5)


def test_with_the_right_curvature_a_quadratic_takes_two_evaluations():
    rng = np.random.default_rng(0)
    matrix = random_matrix(rng, 5)
    objective = Counted(quadratic(matrix, rng.uniform(-1.0, 1.0, 5)))
    descend(objective, np.zeros(5), [(-9.0, 9.0)] * 5, curvature=matrix)
    assert objective.n == 2


@pytest.mark.parametrize(
    "curvature", [1e8 * np.eye(2), 1e-12 * np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])]
)
def test_a_wrong_curvature_costs_time_but_not_the_minimum(curvature):
    objective = quadratic(np.diag([1.0, 50.0]), np.array([0.3, -0.2]))
    point = np.array([2.0, 2.0])
    for _ in range(60):  # refits, each with what the last one left
        found = descend(objective, point, [(-3.0, 3.0)] * 2, gain=1e-6, curvature=curvature)
        point, curvature = found.point, found.curvature
    assert found.value < 1e-5


def test_a_curvature_that_decided_alone_is_trusted_less():
    start = descend(
        quadratic(np.eye(2), np.zeros(2)), np.full(2, 1e-4), [(-1.0, 1.0)] * 2, curvature=np.eye(2)
    )
    np.testing.assert_array_equal(start.point, 1e-4)
    assert np.all(np.diag(start.curvature) < 1.0)


def test_rounding_does_not_keep_a_descent_busy():
    """Steps as of a likelihood whose matrix needs now this nugget and now that."""
    rng = np.random.default_rng(1)

    def noisy(x):
        return float(x @ x) + 1e-3 * rng.random(), 2.0 * x + 1e-2 * rng.normal(size=2)

    objective = Counted(noisy)
    descend(objective, np.array([1.0, -2.0]), [(-3.0, 3.0)] * 2, gain=1e-6)
    assert objective.n < 100


def test_undefined_values_end_a_descent():
    found = descend(lambda x: (np.nan, np.full(2, np.nan)), np.zeros(2), [(-1.0, 1.0)] * 2)
    np.testing.assert_array_equal(found.point, 0.0)


@pytest.mark.parametrize("name", ["goldstein-price", "hartmann6", "ackley4"])
def test_a_likelihood_is_maximized_as_by_scipy(name):
    likelihood, box = likelihood_of(name, 60)
    for start in np.log([0.3, 1.0, 3.0]):
        theta = np.full(likelihood.dim, start)
        found = descend(likelihood.value_and_gradient, theta, box)
        expected = minimize(likelihood.value_and_gradient, theta, jac=True, bounds=box, method="L-BFGS-B")
        assert found.value < expected.fun + 1e-3


def test_the_error_of_a_value_is_how_far_values_of_equal_parameters_scatter():
    rng = np.random.default_rng(0)
    clustered = 0.5 + rng.standard_normal((80, 2)) * 10.0 ** rng.uniform(-3.0, -0.5, (80, 1))
    likelihood = ConcentratedLikelihood(clustered, np.abs(clustered - 0.5).sum(axis=1), 2)
    theta = np.log([40.0, 40.0])
    values = [likelihood.value_and_gradient(theta + 1e-9 * rng.standard_normal(2))[0] for _ in range(40)]
    assert 0.1 < np.std(values) / likelihood.rounding < 10.0
    assert likelihood.rounding > 1e-3  # the gain that a warm fit would look for is far smaller
    even, _ = likelihood_of("hartmann3", 60)
    even.value_and_gradient(np.log([0.3] * 3))
    assert even.rounding < 1e-9


def test_gains_below_the_error_of_the_values_are_not_looked_for():
    rng = np.random.default_rng(0)
    matrix, error = random_matrix(rng, 4), 1e-2

    def noisy(x):
        value, gradient = quadratic(matrix, np.zeros(4))(x)
        return value + error * rng.standard_normal(), gradient + 0.1 * error**0.5 * rng.standard_normal(4)

    counts = []
    for rounding in (0.0, error):
        objective, found = Counted(noisy), []
        for _ in range(20):
            start = rng.normal(size=4)
            end = descend(
                objective, start, [(-9.0, 9.0)] * 4, rounding=lambda e=rounding: e, curvature=matrix
            )
            found.append(quadratic(matrix, np.zeros(4))(end.point)[0])
        counts.append(objective.n)
        assert max(found) < 5.0 * error
    assert counts[1] < 0.5 * counts[0]


@pytest.mark.parametrize("method", ["tcgp", "regp", "gp-nugget", "tcgp-additive", "tcgp-rotated"])
def test_fits_along_a_run_need_few_likelihoods_and_lose_nothing(method, monkeypatch):
    """At most five with gradient for each new datum on the average, and 1e-2 of log-likelihood."""
    problem = problems.get("hartmann3")
    rng = np.random.default_rng(4)
    X = problem.bounds[:, 0] + rng.random((75, 3)) * np.ptp(problem.bounds, axis=1)
    y, state, counts = problem.fun(X), None, []
    counted = Counted(ConcentratedLikelihood.value_and_gradient)
    monkeypatch.setattr(
        ConcentratedLikelihood, "value_and_gradient", lambda self, theta: _call(counted, self, theta)
    )
    losses = []
    for n in range(56, 70):  # between two looks around
        counted.n = 0
        model = fit_model(X[:n], y[:n], method, bounds=problem.bounds, state=state)
        counts.append(counted.n)
        forgetful = None if state is None else {k: v for k, v in state.items() if k != "curvature"}
        other = fit_model(X[:n], y[:n], method, bounds=problem.bounds, state=forgetful)
        losses.append(other.interpolator.objective_ - model.interpolator.objective_)
        state = model.state
    assert np.mean(counts[1:]) <= 5.0
    assert max(losses) < 1e-2


def _call(counted, likelihood, theta):
    counted.n += 1
    return counted.objective(likelihood, theta)


def test_packed_curvatures_stay_positive_definite():
    rng = np.random.default_rng(0)
    for dim in (1, 2, 5, 12):
        matrix = random_matrix(rng, dim) * np.outer(scales := 10.0 ** rng.uniform(-3, 3, dim), scales)
        again = unpack(pack(matrix))
        assert np.linalg.eigvalsh(again).min() > 0.0
        np.testing.assert_allclose(
            again, matrix, rtol=1e-2, atol=1e-3 * np.sqrt(np.outer(*[np.diag(matrix)] * 2)).max()
        )
    assert pack(np.array([[1.0, 2.0], [2.0, 1.0]])) == []
    assert unpack([]) is None


def test_a_descent_is_given_up_from_the_third_step_on():
    x, values = np.array([-1.2, 1.0, 0.5]), []

    def give_up(x, value, gain):
        values.append((value, gain))
        return True

    stopped = descend(lambda x: (rosen(x), rosen_der(x)), x, [(-5.0, 5.0)] * 3, give_up=give_up)
    two_steps = descend(lambda x: (rosen(x), rosen_der(x)), x, [(-5.0, 5.0)] * 3, max_iterations=2)
    assert len(values) == 1
    assert values[0][1] > 0.0
    assert stopped.value == two_steps.value


@pytest.mark.parametrize(("name", "n"), [("goldstein-price", 30), ("goldstein-price", 60), ("ackley4", 60)])
def test_looks_beside_a_known_optimum_find_what_looks_from_scratch_find(name, n):
    """With fewer data the likelihood has many optima, and a look beside one makes fewer descents."""
    likelihood, _ = likelihood_of(name, n)
    scratch = select_lengthscales(likelihood, n_starts=2)
    known = np.full(likelihood.dim, np.log(3.0))
    beside = select_lengthscales(likelihood, n_starts=2, start=known, look_around=True)
    assert beside.value < scratch.value + 1e-2
