"""The weight of failures: its values and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

from tcgp.criteria.feasibility import (
    DOUBT,
    LARGEST_BANDWIDTH,
    Feasibility,
    WeightedCriterion,
    stand_in_values,
)

RNG = np.random.default_rng(0)
SUCCEEDED, FAILED, LENGTHSCALES = RNG.random((12, 3)), RNG.random((5, 3)), np.array([0.1, 0.3, 5.0])


def naive_probability(x: np.ndarray) -> float:
    """The formula of the docstring, point by point."""
    widths = [min(s, LARGEST_BANDWIDTH * 3**0.5) for s in LENGTHSCALES]

    def k(c: np.ndarray) -> float:
        return float(np.exp(-0.5 * sum(((a - b) / w) ** 2 for a, b, w in zip(x, c, widths, strict=True))))

    success, failure = sum(map(k, SUCCEEDED)), sum(map(k, FAILED))
    return (DOUBT + success) / (DOUBT + success + failure)


def test_probability_is_the_share_of_successes_nearby() -> None:
    X = RNG.random((20, 3))
    log_p = Feasibility(SUCCEEDED, FAILED, LENGTHSCALES).log_probability(X)
    # Squared distances are expanded into products: absolute errors of a few 1e-16 times the squared scaled size.
    assert np.exp(log_p) == pytest.approx([naive_probability(x) for x in X], rel=1e-10)


def test_gradient_is_that_of_finite_differences() -> None:
    feasibility = Feasibility(SUCCEEDED, FAILED, LENGTHSCALES)
    X, h = RNG.random((10, 3)), 1e-6
    _, gradient = feasibility.log_probability_and_gradient(X)
    steps = h * np.eye(3)
    differences = [
        (feasibility.log_probability(X + s) - feasibility.log_probability(X - s)) / (2 * h) for s in steps
    ]
    # Central differences: truncation h^2 times the third derivative (up to 1e4), rounding 1e-14 / h.
    assert gradient == pytest.approx(np.array(differences).T, rel=1e-6, abs=1e-6)


def test_weighted_criterion_adds_values_and_gradients() -> None:
    class Linear:
        def __call__(self, X: np.ndarray) -> np.ndarray:
            return X.sum(axis=1)

        def value_and_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self(X), np.ones_like(X)

    feasibility = Feasibility(SUCCEEDED, FAILED, LENGTHSCALES)
    X = RNG.random((4, 3))
    log_p, log_p_gradient = feasibility.log_probability_and_gradient(X)
    weighted = WeightedCriterion(Linear(), feasibility, 2.0)
    value, gradient = weighted.value_and_gradient(X)
    assert np.array_equal(value, weighted(X))
    assert value == pytest.approx(X.sum(axis=1) + 2.0 * log_p)
    assert gradient == pytest.approx(1.0 + 2.0 * log_p_gradient)


def test_where_nothing_failed_nearby_success_is_certain() -> None:
    feasibility = Feasibility(np.array([[0.1]]), np.array([[0.9]]), np.array([0.05]))
    assert feasibility.log_probability(np.array([[0.1], [0.4]])) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.exp(feasibility.log_probability(np.array([[0.9]]))) == pytest.approx([DOUBT / (1 + DOUBT)])


def test_stand_in_values_promise_no_improvement() -> None:
    y = np.array([4.0, 1.0, 2.0, 3.0, 5.0])
    assert stand_in_values(np.array([-7.0, 9.0]), y, 0.25).tolist() == [2.0, 9.0]
    assert stand_in_values(np.array([-7.0, 9.0]), y, 0.0).tolist() == [1.0, 9.0]
