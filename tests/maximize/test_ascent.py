"""The batched projected quasi-Newton method, from given starts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from tcgp.maximize.ascent import ascend


def _quadratic(recorded, dim, rng, centre):
    """A concave quadratic with condition number 1e4 and random axes."""
    Q, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    A = Q @ np.diag(np.logspace(0, 4, dim)) @ Q.T
    return recorded(
        lambda X: -0.5 * np.einsum("ni,ij,nj->n", X - centre, A, X - centre),
        lambda X: -(X - centre) @ A,
    )


def _lbfgsb(criterion, start):
    """The independent oracle: SciPy's L-BFGS-B, as converged as it gets."""

    def negated(x):
        value, gradient = criterion.value_and_gradient(np.clip(x, 0.0, 1.0)[None])
        return -value[0], -gradient[0]

    bounds = [(0.0, 1.0)] * len(start)
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000, "maxfun": 50000}
    return optimize.minimize(negated, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


@pytest.mark.parametrize("dim", [1, 2, 5, 20, 50])
def test_interior_maximum_of_a_quadratic_is_that_of_lbfgsb(recorded, dim):
    rng = np.random.default_rng(dim)
    criterion = _quadratic(recorded, dim, rng, rng.uniform(0.2, 0.8, dim))
    starts = rng.random((4, dim))
    # In 50 dimensions the model of the curvature is poor, and what it promises a thousandth of what is left.
    ascent = ascend(criterion, starts, tolerance=1e-13)
    assert ascent.converged.all()
    for start, x, value in zip(starts, ascent.x, ascent.values, strict=True):
        oracle = _lbfgsb(criterion, start)
        # With curvature at least 1, a value within 1e-9 means a point within sqrt(2e-9).
        assert value == pytest.approx(-oracle.fun, abs=1e-9)
        np.testing.assert_allclose(x, oracle.x, atol=5e-5)


@pytest.mark.parametrize("dim", [2, 5, 20])
def test_maximum_on_the_faces_of_a_coupled_quadratic_is_that_of_lbfgsb(recorded, dim):
    rng = np.random.default_rng(dim)
    criterion = _quadratic(recorded, dim, rng, rng.uniform(-0.5, 1.5, dim))
    starts = rng.random((4, dim))
    ascent = ascend(criterion, starts, tolerance=1e-13)
    assert ascent.converged.all()
    for start, x, value in zip(starts, ascent.x, ascent.values, strict=True):
        oracle = _lbfgsb(criterion, start)
        assert value == pytest.approx(-oracle.fun, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(x, oracle.x, atol=5e-5)


def test_local_maximum_of_a_multimodal_function_is_stationary_and_above_its_start(recorded):
    criterion = recorded(
        lambda X: np.sum(np.cos(20.0 * X) - X**2, axis=1), lambda X: -20.0 * np.sin(20.0 * X) - 2.0 * X
    )
    starts = np.random.default_rng(0).random((30, 3))
    ascent = ascend(criterion, starts)
    assert (ascent.values >= criterion(starts)).all()
    outward = ((ascent.x == 0.0) & (ascent.gradients < 0.0)) | ((ascent.x == 1.0) & (ascent.gradients > 0.0))
    # Curvature is about 400: a last gain of 1e-9 leaves a gradient of about sqrt(2 * 400 * 1e-9) = 1e-3.
    assert np.abs(np.where(outward, 0.0, ascent.gradients)).max() < 2e-3
    np.testing.assert_array_equal(ascent.values, criterion(ascent.x))


def test_rosenbrock_valley_is_followed_to_its_end(recorded):
    # The box [-2, 2]^2 scaled to the cube; the maximum, 0, is at (1, 1), that is (0.75, 0.75).
    def value(X):
        x = 4.0 * X - 2.0
        return -(100.0 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1.0 - x[:, 0]) ** 2)

    def gradient(X):
        x = 4.0 * X - 2.0
        residual = x[:, 1] - x[:, 0] ** 2
        along = 400.0 * x[:, 0] * residual + 2.0 * (1.0 - x[:, 0])
        return 4.0 * np.column_stack([along, -200.0 * residual])

    ascent = ascend(recorded(value, gradient), np.random.default_rng(0).random((20, 2)), tolerance=1e-14)
    np.testing.assert_allclose(ascent.x, 0.75, atol=1e-5)


def test_start_in_a_corner_with_inward_gradient_leaves_it(recorded):
    criterion = recorded(lambda X: -np.sum((X - 0.5) ** 2, axis=1), lambda X: 1.0 - 2.0 * X)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(ascend(criterion, corners).x, 0.5, atol=1e-4)


def test_each_start_climbs_as_if_it_were_alone(recorded):
    criterion = recorded(lambda X: np.sum(np.cos(9.0 * X), axis=1), lambda X: -9.0 * np.sin(9.0 * X))
    starts = np.random.default_rng(1).random((10, 3))
    together = ascend(criterion, starts)
    for i, start in enumerate(starts):
        # Not bit for bit: the sums of a batch may be rounded in another order.
        np.testing.assert_allclose(ascend(criterion, start[None]).x[0], together.x[i], rtol=0.0, atol=1e-12)


def test_known_curvature_saves_evaluations(recorded):
    rng = np.random.default_rng(3)
    criterion = _quadratic(recorded, 8, rng, rng.uniform(0.3, 0.7, 8))
    start = rng.random((1, 8))
    cold = ascend(criterion, start)
    warm = ascend(criterion, start, inverse_hessians=cold.inverse_hessians)
    assert warm.values[0] == pytest.approx(0.0, abs=1e-8)
    assert warm.n_evaluations < cold.n_evaluations


def test_race_keeps_the_best_and_saves_evaluations(recorded):
    criterion = recorded(
        lambda X: np.sum(np.cos(20.0 * X) - X**2, axis=1), lambda X: -20.0 * np.sin(20.0 * X) - 2.0 * X
    )
    starts = np.random.default_rng(0).random((64, 4))
    full = ascend(criterion, starts)
    raced = ascend(criterion, starts, halve_every=4.0)
    assert raced.n_evaluations < 0.7 * full.n_evaluations
    assert raced.converged.sum() < full.converged.sum()
    assert raced.values.max() == pytest.approx(full.values.max(), abs=1e-8)


def test_scale_of_the_criterion_does_not_matter_when_the_tolerance_follows_it(recorded):
    starts = np.random.default_rng(0).random((10, 3))
    ends = []
    for factor in (1e-12, 1.0, 1e12):
        criterion = recorded(
            lambda X, factor=factor: factor * np.sum(np.cos(9.0 * X), axis=1),
            lambda X, factor=factor: -9.0 * factor * np.sin(9.0 * X),
        )
        ends.append(ascend(criterion, starts, tolerance=1e-9 * factor).x)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    np.testing.assert_allclose(ends[2], ends[1], atol=1e-6)


@pytest.mark.parametrize("level", [0.0, -1e6, -np.inf])
def test_flat_criterion_leaves_the_starts_where_they_are(recorded, level):
    criterion = recorded(lambda X: np.full(len(X), level), np.zeros_like)
    starts = np.random.default_rng(0).random((5, 3))
    ascent = ascend(criterion, starts)
    np.testing.assert_array_equal(ascent.x, starts)
    assert ascent.converged.all()
    assert ascent.n_evaluations == 5


def test_half_space_of_minus_infinity_is_never_entered(recorded):
    def value(X):
        return np.where(X[:, 0] <= 0.6, X[:, 0] - (X[:, 1] - 0.5) ** 2, -np.inf)

    def gradient(X):
        inside = np.column_stack([np.ones(len(X)), 1.0 - 2.0 * X[:, 1]])
        return np.where((X[:, 0] <= 0.6)[:, None], inside, np.nan)

    ascent = ascend(recorded(value, gradient), np.array([[0.1, 0.2], [0.55, 0.9], [0.9, 0.5]]))
    assert np.isfinite(ascent.values[:2]).all()
    assert (ascent.x[:2, 0] <= 0.6).all()
    # The wall is a discontinuity, not a face: the climb stops near it, after a bounded number of halvings.
    assert (ascent.values[:2] > [0.1 - 0.09, 0.55 - 0.16]).all()
    np.testing.assert_array_equal(ascent.x[2], [0.9, 0.5])


def test_reported_evaluations_are_true(recorded):
    criterion = recorded(lambda X: np.sum(np.cos(9.0 * X), axis=1), lambda X: -9.0 * np.sin(9.0 * X))
    ascent = ascend(criterion, np.random.default_rng(0).random((20, 4)), halve_every=3.0)
    assert ascent.n_evaluations == criterion.n_evaluations == criterion.n_gradients


def test_starts_are_not_modified(recorded):
    criterion = recorded(lambda X: X[:, 0], lambda X: np.eye(1, X.shape[1]).repeat(len(X), axis=0))
    starts = np.full((3, 2), 0.5)
    ascent = ascend(criterion, starts)
    np.testing.assert_array_equal(starts, 0.5)
    np.testing.assert_array_equal(ascent.x[:, 0], 1.0)
