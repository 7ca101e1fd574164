"""log_improvement_and_slope of every law: the slope is cdf / improvement, also where both underflow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tcgp.laws import GeneralizedNormal, Normal
from tcgp.laws.recalibrated import RecalibratedNormal

LAWS = [
    Normal(),
    RecalibratedNormal(levels=[0.1, 0.25, 0.75], values=[0.02, 0.3, 0.9]),
    *(GeneralizedNormal(beta, scale) for beta in (0.1, 0.7, 1.0, 2.0, 10.0) for scale in (0.005, 1.0, 10.0)),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_agrees_with_log_improvement_and_logcdf_taken_apart(law):
    # Down to log g of about -1e4: there the difference of the two logarithms still has eleven digits.
    reach = 100.0 if not isinstance(law, GeneralizedNormal) else law.scale * 1e4 ** (1.0 / law.beta)
    a = np.concatenate([-np.geomspace(1e-6, 1.0, 60), [0.0], np.geomspace(1e-6, 1.0, 60)]) * reach
    log_g, slope = law.log_improvement_and_slope(a)
    assert_allclose(log_g, law.log_improvement(a), rtol=1e-12, atol=1e-13)
    assert_allclose(slope, np.exp(law.logcdf(a) - law.log_improvement(a)), rtol=1e-9)


@pytest.mark.parametrize("beta", [1.0, 2.0, 10.0])
def test_far_tail_has_its_asymptotic_slope(beta):
    # g ~ exp(-x) x^(2a-2): the slope tends to beta |a|^(beta-1) / scale^beta, with relative error of order 1 / x.
    a = -np.array([1e3, 1e6])
    _, slope = GeneralizedNormal(beta, 0.5).log_improvement_and_slope(a)
    assert_allclose(slope, beta * np.abs(a) ** (beta - 1.0) / 0.5**beta, rtol=5e-3)


def test_normal_is_the_generalized_normal_of_beta_two():
    a = np.linspace(-60.0, 60.0, 201)
    normal = Normal().log_improvement_and_slope(a)
    general = GeneralizedNormal(2.0, np.sqrt(2.0)).log_improvement_and_slope(a)
    assert_allclose(normal[0], general[0], rtol=1e-11, atol=1e-13)
    assert_allclose(normal[1], general[1], rtol=1e-11)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_large_arguments_improve_by_themselves(law):
    log_g, slope = law.log_improvement_and_slope(np.array([1e60]))
    assert_allclose(log_g, np.log(1e60), rtol=1e-9)
    assert_allclose(slope, 1e-60, rtol=1e-9)


def test_several_laws_at_once_are_as_one_by_one():
    laws = GeneralizedNormal([[0.3], [10.0]], [[1.0], [0.1]])
    a = np.array([-30.0, -1.0, 0.5])
    log_g, slope = laws.log_improvement_and_slope(a)
    for row, (beta, scale) in enumerate(((0.3, 1.0), (10.0, 0.1))):
        one = GeneralizedNormal(beta, scale).log_improvement_and_slope(a)
        assert_array_equal(log_g[row], one[0])
        assert_array_equal(slope[row], one[1])
