"""The threshold rule and its memory."""

from __future__ import annotations

import numpy as np
import pytest

from tcgp.calibration import empirical_quantile, next_threshold


@pytest.mark.parametrize("delta", [0.05, 0.1, 0.25, 0.29, 1.0])
@pytest.mark.parametrize("n", [1, 2, 20, 21, 101])
def test_quantile_is_numpys(n: int, delta: float) -> None:
    y = np.random.default_rng(n).standard_normal(n)
    # Where the level falls on an order statistic NumPy's interpolation may miss it by a few ulps.
    assert empirical_quantile(y, delta) == pytest.approx(np.quantile(y, delta), rel=1e-9)


def test_quantile_reaches_the_order_statistic_it_falls_on() -> None:
    # 0.29 · 100 rounds to 28.999999999999996.
    y = np.random.default_rng(0).standard_normal(101) + 1e6
    assert empirical_quantile(y, 0.29) == np.sort(y)[29]


def test_first_threshold_is_the_quantile_whatever_its_weight() -> None:
    y = np.arange(11.0)
    weights = np.r_[1e-9, np.full(10, 0.1)]
    assert next_threshold(y, weights, delta=0.05, p_min=0.5) == 0.5


def test_threshold_moves_only_if_enough_weight_lies_below() -> None:
    y = np.arange(11.0)
    weights = np.r_[0.01, 0.01, np.full(9, 0.98 / 9)]
    assert next_threshold(y, weights, delta=0.1, p_min=0.02, previous=7.0) == 1.0
    assert next_threshold(y, weights, delta=0.1, p_min=0.021, previous=7.0) == 7.0


def test_weights_need_not_be_normalized() -> None:
    y = np.arange(11.0)
    weights = np.r_[0.01, 0.01, np.full(9, 0.98 / 9)]
    assert next_threshold(y, 1e6 * weights, delta=0.1, p_min=0.021, previous=7.0) == 7.0


def test_threshold_of_constant_values_is_that_constant() -> None:
    assert next_threshold(np.full(10, 3.7), np.full(10, 0.1), delta=0.05, previous=5.0) == 3.7


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.1, np.nan])
def test_a_bad_level_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must be"):
        next_threshold([1.0, 2.0], [0.5, 0.5], delta=delta)


def test_empty_values_are_refused() -> None:
    with pytest.raises(ValueError, match="y must have shape"):
        empirical_quantile([], 0.1)


def test_values_with_nan_or_without_their_weights_are_refused() -> None:
    with pytest.raises(ValueError, match=r"y must have no NaN, got .*; leave failed evaluations out"):
        next_threshold([1.0, np.nan], [0.5, 0.5], delta=0.5)
    with pytest.raises(ValueError, match=r"y and weights must share one shape \(n,\), got \(2,\) and \(1,\)"):
        next_threshold([1.0, 2.0], [1.0], delta=0.5)
