"""Criteria against quadrature and finite differences, for every law."""

import numpy as np
import pytest
from scipy.integrate import quad

from tcgp import GaussianProcess, problems
from tcgp.criteria import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
    formulas,
)
from tcgp.laws import GeneralizedNormal, Normal

LAWS = [Normal(), GeneralizedNormal(0.4, 0.1), GeneralizedNormal(1.0, 2.0), GeneralizedNormal(6.0, 1.5)]


class LawModel:
    """A fitted process with a given residual law."""

    def __init__(self, interpolator, law):
        self.interpolator, self.law = interpolator, law
        self.predict_arrays, self.predict_slopes = interpolator.predict, interpolator.predict_slopes


@pytest.fixture(scope="module")
def interpolator():
    problem = problems.get("ackley4")
    X = np.random.default_rng(0).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (40, 4))
    return GaussianProcess(lengthscales=15.0).fit(X, problem.fun(X), bounds=problem.bounds)


def points(n=25):
    return np.random.default_rng(1).uniform(-30.0, 30.0, (n, 4))


@pytest.mark.parametrize("law", LAWS)
def test_expected_improvement_equals_quadrature(law):
    mean, sd, best = 1.3, 0.7, 0.9
    exact, _ = quad(lambda z: law.cdf((z - mean) / sd), -np.inf, best, epsabs=1e-13, epsrel=1e-11, limit=500)
    ei = formulas.expected_improvement(np.array([mean]), np.array([sd]), law, best)
    assert ei[0] == pytest.approx(exact, rel=1e-8)
    log_ei = formulas.log_expected_improvement(np.array([mean]), np.array([sd]), law, best)
    assert log_ei[0] == pytest.approx(np.log(exact), rel=1e-8)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "criterion", [ExpectedImprovement, LogExpectedImprovement, ProbabilityOfImprovement, LowerConfidenceBound]
)
def test_gradients_equal_finite_differences(law, criterion, interpolator):
    parameter = 0.1 if criterion is LowerConfidenceBound else float(interpolator.y_.min())
    function = criterion(LawModel(interpolator, law), parameter)
    X = points()
    values, gradient = function.value_and_gradient(X)
    np.testing.assert_allclose(values, function(X), rtol=1e-9, atol=1e-300)
    for j, step in enumerate(1e-3 * np.eye(4)):
        # Richardson extrapolation: the error of the difference is of order step^4.
        coarse = (function(X + 2 * step) - function(X - 2 * step)) / 4e-3
        fine = (function(X + step) - function(X - step)) / 2e-3
        difference = (4.0 * fine - coarse) / 3.0
        scale = np.abs(gradient[:, j]).max()
        np.testing.assert_allclose(gradient[:, j], difference, rtol=1e-5, atol=1e-7 * scale)


@pytest.mark.parametrize("law", LAWS)
def test_log_criterion_is_finite_where_improvement_underflows(law, interpolator):
    values, gradient = LogExpectedImprovement(LawModel(interpolator, law), -1e6).value_and_gradient(points())
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    assert (gradient != 0.0).any()


def test_a_point_mass_improves_by_the_distance_to_its_mean():
    mean, sd = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    np.testing.assert_array_equal(formulas.expected_improvement(mean, sd, Normal(), 2.0), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(
        formulas.log_expected_improvement(mean, sd, Normal(), 2.0), [0.0, -np.inf, -np.inf]
    )
    np.testing.assert_array_equal(
        formulas.probability_of_improvement(mean, sd, Normal(), 2.0), [1.0, 1.0, 0.0]
    )
    np.testing.assert_array_equal(formulas.lower_confidence_bound(mean, sd, Normal(), 0.1), mean)


def test_data_points_give_finite_gradients(interpolator):
    for criterion in (ExpectedImprovement, LogExpectedImprovement, ProbabilityOfImprovement):
        _, gradient = criterion(LawModel(interpolator, Normal()), 0.0).value_and_gradient(interpolator.X_)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1])
def test_a_quantile_level_outside_its_range_is_refused(epsilon, interpolator):
    with pytest.raises(ValueError, match="epsilon"):
        LowerConfidenceBound(LawModel(interpolator, Normal()), epsilon)
