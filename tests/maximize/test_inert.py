"""Inert coordinates."""

import numpy as np

from tcgp.maximize.inert import spread_inert


class Ridge:
    """A criterion with its maximum at x_0 = 0.3, and next to flat along the other coordinates."""

    def __init__(self, slope):
        self.slope = slope

    def __call__(self, X):
        return -np.square(X[:, 0] - 0.3) + self.slope * X[:, 1:].sum(axis=1)


X = np.array([0.3, 1.0, 1.0])
DATA = np.array([[0.3, 1.0, 0.9], [0.2, 0.9, 1.0], [0.5, 1.0, 1.0]])


def test_an_inert_coordinate_moves_away_from_the_data_and_the_others_stay():
    moved = spread_inert(Ridge(1e-3), X, np.array([0.2, 500.0, 0.5]), DATA, np.random.default_rng(0))
    assert moved[0] == X[0]
    assert moved[2] == X[2]
    assert moved[1] < 0.5


def test_nothing_moves_where_the_criterion_is_steep():
    moved = spread_inert(Ridge(1e6), X, np.array([0.2, 500.0, 500.0]), DATA, np.random.default_rng(0))
    np.testing.assert_array_equal(moved, X)


def test_a_trend_with_a_long_lengthscale_keeps_its_maximizer_on_the_face():
    moved = spread_inert(Ridge(1.0), X, np.array([0.2, 500.0, 500.0]), DATA, np.random.default_rng(0))
    np.testing.assert_array_equal(moved, X)


def test_nothing_moves_without_inert_coordinates():
    moved = spread_inert(Ridge(0.0), X, np.array([0.2, 1.0, 3.0]), DATA, np.random.default_rng(0))
    np.testing.assert_array_equal(moved, X)


def test_the_loss_is_bounded():
    criterion = Ridge(0.25)
    moved = spread_inert(criterion, X, np.full(3, 500.0), DATA, np.random.default_rng(0))
    assert not np.array_equal(moved, X)
    assert criterion(moved[None])[0] >= criterion(X[None])[0] - 0.3


def test_a_criterion_of_minus_infinity_is_survived():
    class Nothing:
        def __call__(self, points):
            return np.full(len(points), -np.inf)

    moved = spread_inert(Nothing(), X, np.full(3, 500.0), DATA, np.random.default_rng(0))
    assert ((moved >= 0.0) & (moved <= 1.0)).all()
