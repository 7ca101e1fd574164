"""The search for the best point of a space, against looking everywhere."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from tcgp import Categorical, Integer, Optimizer, Real, Space
from tcgp.maximize import multistart
from tcgp.maximize.mixed import order, rank_everywhere


@dataclass(frozen=True)
class Waves:
    """A criterion with many maxima, whose best is different in each slice of the cube."""

    frequency: np.ndarray
    phase: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = X @ self.frequency.T + self.phase
        return np.sin(angle).sum(axis=1), np.cos(angle) @ self.frequency


def waves(dim: int, seed: int) -> Waves:
    rng = np.random.default_rng(seed)
    return Waves(rng.normal(0.0, 4.0, (6, dim)), rng.uniform(0.0, 6.0, 6))


@pytest.mark.parametrize("seed", range(5))
def test_mixed_spaces_are_searched_as_well_as_by_a_fine_grid(seed: int) -> None:
    space = Space([Real(0.0, 1.0), Integer(0, 6), Categorical(["a", "b", "c", "d"])])
    criterion = waves(space.dim, seed)
    grid = [list(x) for x in itertools.product(np.linspace(0, 1, 401), range(7), "abcd")]
    best_of_grid = criterion(space.encode(grid)).max()
    ranked = rank_everywhere(
        criterion,
        space,
        maximize=multistart.maximize,
        anchors=np.empty((0, space.dim)),
        rng=np.random.default_rng(0),
    )
    points = space.decode(ranked)
    values = criterion(space.encode(points))
    assert values[0] >= best_of_grid - 1e-9  # the search goes on between the points of the grid
    assert np.all(np.diff(values) <= 0.0)
    assert len({tuple(x) for x in points}) == len(ranked)


@pytest.mark.parametrize("seed", range(5))
def test_large_discrete_spaces_are_searched_as_well_as_by_looking_at_all(seed: int) -> None:
    space = Space([Integer(0, 40), Integer(1, 60, log=True), Categorical([True, False]), Integer(0, 9)])
    criterion = waves(space.dim, seed)
    best = criterion(space.encode(space.points())).max()
    ranked = rank_everywhere(
        criterion,
        space,
        maximize=multistart.maximize,
        anchors=np.empty((0, space.dim)),
        rng=np.random.default_rng(0),
    )
    # A matrix product rounds differently for one row and for many.
    assert criterion(space.encode(space.decode(ranked[:1])))[0] == pytest.approx(best, rel=1e-12)


def test_codes_are_ordered_by_the_criterion() -> None:
    space = Space([Integer(0, 9)])
    criterion = waves(1, 0)
    points = list(space.points())
    ranked = order(criterion, space, space.encode(points))
    assert sorted(space.decode(ranked)) == points
    assert np.all(np.diff(criterion(ranked)) <= 0.0)


def test_the_proposal_has_the_largest_criterion_of_a_finite_space() -> None:
    space = Space([Integer(0, 11), Categorical(["a", "b", "c"])])
    optimizer = Optimizer(space, method="gp", n_initial=8, rng=0)
    for x in optimizer.ask(8):
        optimizer.tell(x, (x[0] - 7) ** 2 + len(x[1]))
    x = optimizer.ask()
    model = optimizer.model
    assert model is not None
    asked = {tuple(e.x) for e in optimizer.evaluations}
    left = [p for p in space.points() if tuple(p) not in asked]
    best = optimizer.result().fun
    log_ei = model.predict(space.encode(left)).log_expected_improvement(best)
    assert left[int(np.argmax(log_ei))] == x
