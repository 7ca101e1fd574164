"""The search for the best allowed point, against exact answers and against looking everywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, linprog

from tcgp import Categorical, Integer, Real, Space
from tcgp.criteria import LogExpectedImprovement
from tcgp.maximize.rank import rank
from tcgp.methods.fit import fit_model
from tcgp.region import Region

SQUARE = Space([(0.0, 1.0), (0.0, 1.0)])
NO_ANCHORS = np.empty((0, 2))


def plane(recorded: type, direction: np.ndarray) -> object:
    return recorded(lambda X: X @ direction, lambda X: np.tile(direction, (len(X), 1)))


def bump(recorded: type, center: np.ndarray) -> object:
    return recorded(lambda X: -np.sum((X - center) ** 2, axis=1), lambda X: -2.0 * (X - center))


def waves(recorded: type, dim: int, seed: int) -> object:
    """A criterion with many maxima."""
    rng = np.random.default_rng(seed)
    frequency, phase = rng.normal(0.0, 4.0, (6, dim)), rng.uniform(0.0, 6.0, 6)
    return recorded(
        lambda X: np.sin(X @ frequency.T + phase).sum(axis=1),
        lambda X: np.cos(X @ frequency.T + phase) @ frequency,
    )


def search(criterion: object, region: Region, seed: int = 0, anchors: np.ndarray | None = None) -> list:
    """The ranked points, after what must hold of them always."""
    anchors = np.empty((0, region.space.dim)) if anchors is None else anchors
    codes = rank(criterion, region, anchors=anchors, rng=np.random.default_rng(seed))
    ranked = region.space.decode(codes)
    assert ranked
    assert region.allows(ranked).all()
    assert [region.space.check(x) for x in ranked] == ranked
    assert len({tuple(x) for x in ranked}) == len(ranked)
    # Where the data lie close together, log EI of one point differs by up to 1e-8 between batches of points.
    assert np.all(np.diff(criterion(region.space.encode(ranked))) <= 2e-8)
    return ranked


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [2, 5])
def test_the_corner_of_a_polytope_is_found(recorded: type, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d + 2, d))
    b = A @ rng.uniform(0.2, 0.8, d) + 0.1
    direction = rng.normal(size=d)
    space = Space([(-3.0, 7.0)] * d)  # x = 10 u - 3
    region = Region(space, [LinearConstraint(A / 10.0, -np.inf, b - 0.3 * A.sum(axis=1))])
    corner = linprog(-direction, A_ub=A, b_ub=b, bounds=[(0.0, 1.0)] * d).x
    best = space.encode(search(plane(recorded, direction), region)[:1])[0]
    np.testing.assert_allclose(best, corner, atol=1e-7)


@pytest.mark.parametrize(
    "constraint",
    [
        "(x0 - 0.4) ** 2 + (x1 - 0.4) ** 2 <= 0.09",
        "sqrt((x0 - 0.4) ** 2 + (x1 - 0.4) ** 2) <= 0.3",
        NonlinearConstraint(lambda x: np.sum((x - 0.4) ** 2), -np.inf, 0.09),
        NonlinearConstraint(lambda x: np.sum((x - 0.4) ** 2), -np.inf, 0.09, jac=lambda x: 2.0 * (x - 0.4)),
    ],
)
@pytest.mark.parametrize("angle", [0.3, 2.0, 4.0])
def test_curved_limits_are_reached(recorded: type, constraint: object, angle: float) -> None:
    direction = np.array([np.cos(angle), np.sin(angle)])
    region = Region(SQUARE, [constraint])
    best = np.array(search(plane(recorded, direction), region)[0])
    assert best @ direction == pytest.approx(0.4 * direction.sum() + 0.3, abs=1e-8)
    np.testing.assert_allclose(best, 0.4 + 0.3 * direction, atol=1e-5)


def test_a_maximum_inside_is_found(recorded: type) -> None:
    region = Region(SQUARE, ["x0 + x1 <= 1", "x0 * x1 >= 0.01"])
    best = search(bump(recorded, np.array([0.31, 0.42])), region)[0]
    np.testing.assert_allclose(best, [0.31, 0.42], atol=1e-6)


def test_faces_of_the_box_are_reached_exactly(recorded: type) -> None:
    region = Region(SQUARE, ["x0 <= 0.5 * x1"])
    assert search(plane(recorded, np.array([-1.0, 1.0])), region)[0] == [0.0, 1.0]


TWO_DISCS = "min((x0 - 0.2) ** 2 + (x1 - 0.2) ** 2, ((x0 - 0.8) ** 2 + (x1 - 0.7) ** 2) / 4) <= 1e-3"
REGIONS = {
    "polytope": (SQUARE, ["x0 + x1 <= 0.8", "x0 - x1 <= 0.3", "x0 >= 0.1 * x1 + 0.05"]),
    "ring": (SQUARE, ["0.3 <= sqrt((x0 - 0.5) ** 2 + (x1 - 0.5) ** 2) <= 0.35"]),
    "thin ring": (SQUARE, ["0.3 <= sqrt((x0 - 0.5) ** 2 + (x1 - 0.5) ** 2) <= 0.30005"]),
    "discs": (SQUARE, [TWO_DISCS]),
    "function": (SQUARE, [lambda x: bool(abs(np.hypot(x[0] - 0.5, x[1] - 0.5) - 0.3) <= 0.03)]),
    "mixed": (
        Space(
            {
                "rate": Real(1e-3, 1.0, log=True),
                "width": (0.0, 2.0),
                "n": Integer(1, 30),
                "m": Integer(1, 30),
                "c": Categorical([1, 2, 4]),
            }
        ),
        ["n + m <= 10", "rate * n * c <= 0.1", "width <= n / 10"],
    ),
}


@pytest.mark.parametrize("name", REGIONS)
def test_the_search_is_as_good_as_looking_everywhere(recorded: type, name: str) -> None:
    region = Region(*REGIONS[name])
    everywhere = region.sample(20_000, np.random.default_rng(9))
    for seed in range(3):
        criterion = waves(recorded, region.space.dim, seed)
        anchors = everywhere[:20][np.argsort(-criterion(everywhere[:20]))]
        best = region.space.encode(search(criterion, region, seed, anchors)[:1])
        assert criterion(best)[0] >= criterion(everywhere).max()


def test_integers_are_exchanged_along_a_limit(recorded: type) -> None:
    space = Space({"n": Integer(1, 40), "m": Integer(1, 40), "k": Integer(0, 30)})
    region = Region(space, ["n + m + k <= 40", "n * m >= 20"])
    assert region.codes is None
    everywhere = [list(x) for x in itertools.product(range(1, 41), range(1, 41), range(31))]
    codes = space.encode([x for x, good in zip(everywhere, region.allows(everywhere), strict=True) if good])
    for seed in range(3):
        criterion = waves(recorded, 3, seed)
        found = criterion(space.encode(search(criterion, region, seed)[:1]))[0]
        # A matrix product rounds differently for one row and for many.
        assert found == pytest.approx(criterion(codes).max(), rel=1e-12)


def test_few_points_are_all_ranked(recorded: type) -> None:
    region = Region(Space({"n": Integer(0, 9), "m": Integer(0, 9)}), ["n + m <= 3"])
    ranked = search(waves(recorded, 2, 0), region)
    assert sorted(ranked) == sorted(region.space.decode(region.codes))


def test_the_search_is_repeatable(recorded: type) -> None:
    region = Region(*REGIONS["ring"])
    first, again = (search(waves(recorded, 2, 1), region, seed=3) for _ in range(2))
    assert first == again


def test_anchors_that_are_not_allowed_are_not_used(recorded: type) -> None:
    region = Region(*REGIONS["polytope"])
    outside = np.array([[0.9, 0.9], [0.0, 0.5]])
    criterion = waves(recorded, 2, 0)
    assert search(criterion, region, anchors=outside) == search(criterion, region)


def test_a_peak_beside_an_anchor_is_found(recorded: type) -> None:
    center, width = np.array([0.12, 0.34]), 1e-4
    criterion = recorded(
        lambda X: -np.log1p(np.sum((X - center) ** 2, axis=1) / width**2),
        lambda X: -2.0 * (X - center) / (width**2 + np.sum((X - center) ** 2, axis=1))[:, None],
    )
    region = Region(SQUARE, ["x0 + x1 <= 0.46"])
    best = search(criterion, region, anchors=np.array([[0.1195, 0.3395]]))[0]
    np.testing.assert_allclose(best, center, atol=1e-6)


def test_a_criterion_that_is_minus_infinity_everywhere_still_gives_points(recorded: type) -> None:
    criterion = recorded(lambda X: np.full(len(X), -np.inf), np.zeros_like)
    assert len(rank(criterion, Region(*REGIONS["ring"]), anchors=NO_ANCHORS, rng=np.random.default_rng(0)))


@pytest.mark.parametrize("method", ["gp", "tcgp"])
def test_the_criterion_of_a_model_is_maximized(method: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    y = np.sin(7.0 * X[:, 0]) + (X[:, 1] - 0.3) ** 2
    criterion = LogExpectedImprovement(fit_model(X, y, method, bounds=[(0, 1)] * 2), float(y.min()))
    for name in ("polytope", "discs"):
        region = Region(*REGIONS[name])
        everywhere = np.array(region.sample(20_000, rng))
        best = np.array(search(criterion, region, anchors=X[np.argsort(y)])[0])
        assert criterion(best[None])[0] >= criterion(everywhere).max()
