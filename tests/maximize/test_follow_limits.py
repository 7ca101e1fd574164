"""Points along learned limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tcgp import Space
from tcgp.maximize.limits import MARGINS, follow_limits
from tcgp.region import Region

CUBE = Region(Space([(0.0, 1.0)] * 3))
LOW, HIGH = np.zeros(3), np.ones(3)


@dataclass
class Known:
    """A model that knows a function up to a constant standard deviation."""

    fun: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    sd: float = 1e-6
    n_calls: int = 0

    def predict_arrays(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.fun(X), np.full(len(X), self.sd)

    def predict_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Callable]:
        self.n_calls += 1
        return *self.predict_arrays(X), lambda by_mean, _: by_mean[:, None] * self.gradient(X)


def helix() -> tuple[Known, list[Known]]:
    """Two limits that meet in a curve, across which the objective is steep and along which it falls slowly."""
    slope = np.array([1.0, 1.0, -1.54])
    objective = Known(lambda X: X @ slope, lambda X: np.tile(slope, (len(X), 1)))

    def wall(f: Callable, slope: Callable, axis: int) -> Known:
        def gradient(X: np.ndarray) -> np.ndarray:
            out = np.zeros_like(X)
            out[:, axis] = -1.0
            out[:, 2] = 0.25 * slope(4.0 * X[:, 2]) * 4.0 + 0.5
            return out

        return Known(lambda X: 0.25 * f(4.0 * X[:, 2]) + 0.5 * X[:, 2] - X[:, axis] + 0.25, gradient)

    return objective, [wall(np.sin, np.cos, 0), wall(np.cos, lambda t: -np.sin(t), 1)]


def values(models: list[Known], x: np.ndarray) -> np.ndarray:
    return np.array([model.fun(x[None])[0] for model in models])


def test_points_on_the_way_are_better_and_keep_the_limits() -> None:
    objective, limits = helix()
    start = np.array([1.0, 1.0, 0.1])
    points = follow_limits(objective, limits, start, LOW, HIGH, CUBE)
    assert ((points >= LOW) & (points <= HIGH)).all()
    kept = np.array([values(limits, x).max() <= 0.0 for x in points])
    # Along the curve the objective is 0.25 (sin 4z + cos 4z) - 0.54 z + 0.5, with its least value at the end.
    least = 0.25 * (np.sin(4.0) + np.cos(4.0)) - 0.04
    np.testing.assert_allclose(objective.fun(points[kept]).min(), least, atol=1e-4)


def test_no_more_calls_than_planned() -> None:
    objective, limits = helix()
    follow_limits(objective, limits, np.array([1.0, 1.0, 0.1]), LOW, HIGH, CUBE)
    assert 0 < objective.n_calls <= 1 + sum(MARGINS.values())
    assert limits[0].n_calls == objective.n_calls


def test_held_coordinates_stay() -> None:
    objective, limits = helix()
    start = np.array([1.0, 0.8, 0.1])
    low, high = LOW.copy(), HIGH.copy()
    low[1] = high[1] = start[1]
    points = follow_limits(objective, limits, start, low, high, CUBE)
    assert (points[:, 1] == start[1]).all()
    assert points[:, 2].max() > start[2]
    np.testing.assert_array_equal(follow_limits(objective, limits, start, start, start, CUBE), start[None])


def test_known_constraints_are_kept_at_the_end() -> None:
    objective, limits = helix()
    region = Region(Space([(0.0, 1.0)] * 3), ["x2 <= 0.3 + 0.1 * x0"])
    points = follow_limits(objective, limits, np.array([0.9, 0.9, 0.1]), LOW, HIGH, region)
    allowed = points[region.allows_codes(points)]
    slacks = region.slacks(allowed)[0][:, 0]
    assert slacks[np.argmin(objective.fun(allowed))] < 1e-7


@pytest.mark.filterwarnings("error")
def test_predictions_that_are_no_numbers_end_the_search() -> None:
    lost = Known(lambda X: np.full(len(X), np.nan), lambda X: np.full(X.shape, np.nan))
    start = np.array([0.5, 0.5, 0.5])
    assert np.isfinite(follow_limits(lost, [lost], start, LOW, HIGH, CUBE)).all()
