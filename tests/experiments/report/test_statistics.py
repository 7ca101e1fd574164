"""Summaries and paired comparisons."""

import numpy as np
import pytest
from scipy import stats

from tcgp_experiments.report.statistics import band, compare_pairs, mean_of


def test_mean_and_standard_error():
    values = np.random.default_rng(0).normal(size=50)
    mean = mean_of(values)
    assert mean.value == pytest.approx(values.mean())
    assert mean.error == pytest.approx(stats.sem(values))
    assert mean.n == 50


def test_a_single_replicate_has_no_standard_error():
    assert np.isnan(mean_of([1.0]).error)


def test_band_is_median_and_outer_deciles():
    curves = [np.array([i, 10.0 * i]) for i in range(11)]
    middle, low, high = band(curves)
    assert middle.tolist() == [5.0, 50.0]
    assert low.tolist() == [1.0, 10.0]
    assert high.tolist() == [9.0, 90.0]


def test_pairs_are_compared_in_logarithms_by_wilcoxon():
    rng = np.random.default_rng(1)
    a, b = 10.0 ** rng.normal(-4.0, 1.0, 40), 10.0 ** rng.normal(-3.0, 1.0, 40)
    pair = compare_pairs(a, b)
    assert pair.p_value == pytest.approx(stats.wilcoxon(np.log10(a / b)).pvalue)
    assert pair.log_ratio == pytest.approx(np.median(np.log10(a / b)))
    assert pair.wins == pytest.approx(np.mean(a < b))


def test_replicates_that_one_method_lacks_are_left_out():
    pair = compare_pairs([1e-3, np.nan, 1e-2], [1e-2, 1e-2, np.nan])
    assert pair.n == 1
    assert pair.log_ratio == pytest.approx(-1.0)


def test_equal_results_are_a_tie():
    pair = compare_pairs([1e-3, 1e-4], [1e-3, 1e-4])
    assert (pair.wins, pair.p_value, pair.log_ratio) == (0.5, 1.0, 0.0)


def test_a_probability_of_zero_is_the_smallest():
    assert compare_pairs([0.0, 0.0], [1e-20, 1e-20]).log_ratio < -200.0
