"""The table of a generalized normal law's improvement."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tcgp.laws import GeneralizedNormal, Normal
from tcgp.laws.tabulated import TabulatedImprovement, tabulated

LAWS = [GeneralizedNormal(beta, scale) for beta in np.geomspace(0.1, 10.0, 9) for scale in (0.005, 0.7, 10.0)]


def arguments(law: GeneralizedNormal) -> np.ndarray:
    """Both signs, from nothing to where log g is about -1e6."""
    reach = law.scale * 1e6 ** (1.0 / law.beta)
    size = np.geomspace(1e-25, reach, 3000)
    return np.concatenate([-size, [0.0], size])


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_agrees_with_the_law(law):
    a = arguments(law)
    log_g, slope = TabulatedImprovement(law).log_improvement_and_slope(a)
    exact, exact_slope = law.log_improvement_and_slope(a)
    # A search has converged when it is right to 1e-6 of log EI; 3e-8 is what h^4 / 384 of a cubic leaves.
    assert_allclose(log_g, exact, rtol=1e-7, atol=1e-7)
    # Below the median of a heavy tail the slope is a difference of nearly equal heights.
    assert_allclose(slope, exact_slope, rtol=1e-3 if law.beta < 0.2 else 1e-5 if law.beta > 0.3 else 1e-4)
    assert_allclose(TabulatedImprovement(law).log_improvement(a), log_g, rtol=0.0)


@pytest.mark.parametrize("law", LAWS[::4], ids=repr)
def test_slope_is_the_derivative_of_the_table_itself(law):
    # A line search compares the two: they must agree better than either agrees with the law.
    table = TabulatedImprovement(law)
    median = abs(float(law.ppf(0.25)))
    a = -median * np.array([0.011, 0.31, 0.93, 1.07, 1.9])
    step = 1e-6 * np.abs(a)
    difference = (table.log_improvement(a + step) - table.log_improvement(a - step)) / (2.0 * step)
    assert_allclose(table.log_improvement_and_slope(a)[1], difference, rtol=1e-5)


@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
def test_infinite_and_huge_arguments_have_the_order_of_their_limits(beta):
    table = TabulatedImprovement(GeneralizedNormal(beta, 0.5))
    log_g, slope = table.log_improvement_and_slope(np.array([-np.inf, -1e200, 1e200, np.inf]))
    assert log_g[0] <= log_g[1] < -1e19
    assert_allclose(log_g[2], np.log(1e200))
    assert log_g[3] == np.inf
    assert (slope >= 0.0).all()
    assert np.isfinite(slope).all()


def test_what_a_table_cannot_serve_serves_itself():
    for law in (
        Normal(),
        GeneralizedNormal(20.0, 1.0),
        GeneralizedNormal(2.0, 0.0),
        GeneralizedNormal([1, 2], 1.0),
    ):
        assert tabulated(law) is law
    assert isinstance(tabulated(GeneralizedNormal(2.0, 1.0)), TabulatedImprovement)
