"""Design weights: the density estimate of SciPy where it works, and usable weights everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde

from tcgp.calibration import design_weights


@pytest.mark.parametrize(("n", "d"), [(5, 1), (30, 2), (60, 4), (200, 6)])
def test_weights_are_inverse_to_scipys_density_estimate(n: int, d: int) -> None:
    X = np.random.default_rng(n).random((n, d))
    expected = 1.0 / gaussian_kde(X.T)(X.T)
    # Two summations of n terms in different orders, with distances that cancel to about 1e-14.
    np.testing.assert_allclose(design_weights(X), expected / expected.sum(), rtol=1e-11)


def test_weights_equal_scipys_on_a_design_that_concentrates() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((40, 3)), 0.3 + 1e-3 * rng.standard_normal((60, 3))])
    expected = 1.0 / gaussian_kde(X.T)(X.T)
    weights = design_weights(X)
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-11)
    assert weights[40:].max() < weights[:40].min()


def test_weights_do_not_depend_on_a_rescaling_of_a_coordinate() -> None:
    X = np.random.default_rng(1).random((50, 3))
    rescaled = X * np.array([1.0, 1e-7, 1.0]) + np.array([0.0, 0.5, 0.0])
    # Adding 0.5 to numbers of order 1e-7 leaves 9 digits of them.
    np.testing.assert_allclose(design_weights(rescaled), design_weights(X), rtol=1e-6)


def test_a_constant_coordinate_is_ignored() -> None:
    X = np.random.default_rng(2).random((25, 2))
    # Scott's factor knows the dimension, hence a comparison with two copies of one coordinate.
    constant = np.column_stack([X, np.full(25, 0.3)])
    collinear = np.column_stack([X, 0.2 + 0.5 * X[:, 0]])
    for singular in (constant, collinear):
        weights = design_weights(singular)
        assert np.all(np.isfinite(weights) & (weights > 0.0))
        assert np.corrcoef(weights, design_weights(X))[0, 1] > 0.95


SINGULAR = {
    "one point": np.array([[0.2, 0.7]]),
    "two points": np.array([[0.2, 0.7], [0.9, 0.1]]),
    "fewer points than dimensions": np.random.default_rng(0).random((3, 8)),
    "equal points": np.full((10, 3), 0.4),
    "collinear points": np.linspace(0.0, 1.0, 20)[:, None] * np.ones(4),
    "sixty points near a minimizer": 0.5 + 1e-3 * np.random.default_rng(1).standard_normal((60, 2)),
    "sixty points nearer": 0.5 + 1e-12 * np.random.default_rng(1).standard_normal((60, 2)),
    "a grid": np.array([[i, j] for i in range(4) for j in range(4)]) / 3.0,
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("w_max", [None, 1.5, 0.5])
def test_every_design_gets_positive_weights_of_sum_one(name: str, w_max: float | None) -> None:
    weights = design_weights(SINGULAR[name], w_max=w_max)
    assert weights.shape == (len(SINGULAR[name]),)
    assert np.all(weights > 0.0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 12), d=st.integers(1, 5), digits=st.integers(0, 14), seed=st.integers(0, 10_000))
def test_rounded_designs_get_positive_weights(n: int, d: int, digits: int, seed: int) -> None:
    weights = design_weights(np.random.default_rng(seed).random((n, d)).round(digits))
    assert np.all(weights > 0.0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_clipping_bounds_the_ratio_of_a_weight_to_the_average() -> None:
    rng = np.random.default_rng(3)
    X = np.vstack([rng.random((5, 2)), 0.3 + 1e-2 * rng.standard_normal((45, 2))])
    free, clipped = design_weights(X), design_weights(X, w_max=2.0)
    expected = np.minimum(free, 2.0 / 50)
    np.testing.assert_allclose(clipped, expected / expected.sum(), rtol=1e-14)
    assert free.max() > 2.0 / 50


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 2))])
def test_a_bad_shape_is_refused(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="X_unit must have shape"):
        design_weights(X)


def test_a_bad_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="w_max must be positive"):
        design_weights(np.zeros((2, 1)), w_max=0.0)


def test_points_with_nan_are_refused() -> None:
    with pytest.raises(ValueError, match="X_unit must have no NaN"):
        design_weights([[0.1], [np.nan]])


def test_weights_that_the_caller_changes_are_not_those_of_the_next() -> None:
    X = np.random.default_rng(0).random((20, 2))
    first = design_weights(X)
    kept = first.copy()
    first[:] = 0.0
    np.testing.assert_array_equal(design_weights(X), kept)
