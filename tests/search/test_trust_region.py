"""When the search is local, and how far around the best point."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp
from tcgp.search.trust_region import FIRST, LARGEST, SMALLEST, trust_region

BEST = np.array([0.5, 0.5])
FAR = np.array([0.9, 0.1])
DESIGN = [(FAR, 10.0), (BEST, 5.0)]


def region_after(*steps: tuple[np.ndarray, float | None]) -> tuple[np.ndarray, np.ndarray] | None:
    points, values = zip(*DESIGN, *steps, strict=True)
    return trust_region(points, values, n_design=len(DESIGN))


def radius_after(*steps: tuple[np.ndarray, float | None]) -> float:
    region = region_after(*steps)
    assert region is not None
    return float(0.5 * (region[1] - region[0])[0])


def test_the_first_step_is_global() -> None:
    assert region_after() is None


def test_a_global_improvement_is_followed_by_a_global_step() -> None:
    assert region_after((FAR + 0.01, 2.0)) is None


@pytest.mark.parametrize("value", [7.0, None, 4.9999])
def test_a_global_step_without_improvement_is_followed_by_a_local_one(value: float | None) -> None:
    region = region_after((FAR, value))
    assert region is not None
    centre = FAR if value is not None and value < 5.0 else BEST
    np.testing.assert_allclose(region, np.clip([centre - FIRST, centre + FIRST], 0.0, 1.0))


def test_a_local_improvement_is_followed_by_a_local_step_in_twice_the_cube() -> None:
    assert radius_after((FAR, 7.0), (BEST + 0.04, 3.0)) == pytest.approx(2.0 * FIRST)


@pytest.mark.parametrize("value", [7.0, None])
def test_a_local_failure_ends_the_local_search_and_halves_the_cube(value: float | None) -> None:
    assert region_after((FAR, 7.0), (BEST + 0.04, value)) is None
    assert radius_after((FAR, 7.0), (BEST + 0.04, value), (FAR, 8.0)) == pytest.approx(0.5 * FIRST)


def test_a_small_local_gain_widens_the_cube_but_the_next_step_is_global() -> None:
    small = (BEST + 0.04, 4.9999)
    assert region_after((FAR, 7.0), small) is None
    assert radius_after((FAR, 7.0), small, (FAR, 8.0)) == pytest.approx(2.0 * FIRST)


def test_the_cube_keeps_its_bounds_and_those_of_the_space() -> None:
    point, steps = BEST.copy(), []
    for k in range(1, 6):
        point = point + 0.04
        steps += [(FAR, 7.0), (point, 5.0 - k)]
    assert radius_after(*steps) == pytest.approx(LARGEST)
    failures = [step for _ in range(12) for step in ((FAR, 7.0), (BEST + 1e-4, 6.0))]
    assert radius_after(*failures, (FAR, 7.0)) == pytest.approx(SMALLEST)
    corner = trust_region([BEST, np.zeros(2), FAR], [9.0, 1.0, 5.0])
    assert corner is not None
    np.testing.assert_allclose(corner, [[0.0, 0.0], [FIRST, FIRST]])


def test_a_minimum_at_two_limits_is_found_to_a_millionth() -> None:
    """Where limits cross, the value falls with the distance, and points must come as close as that."""

    def corner(x: list[float]) -> dict[str, float]:
        a, b = x
        return {"f": a + 4.0 * b, "g": 1.0 - a * b, "h": 0.5 - b + 0.1 * a}

    result = tcgp.minimize(
        corner,
        [(0.0, 3.0), (0.0, 3.0)],
        n_evals=32,
        n_initial=8,
        objective="f",
        constraints=["g <= 0", "h <= 0"],
        rng=0,
    )
    b = 0.25 + np.sqrt(0.0625 + 0.1)  # b^2 - 0.5 b = 0.1 where both are active
    assert result.fun >= 1.0 / b + 4.0 * b - 1e-9
    assert result.fun <= 1.0 / b + 4.0 * b + 3e-6


def test_a_minimum_far_along_the_edge_of_two_limits_is_found() -> None:
    """Across the edge the value is steep, along it nearly flat: the criterion is a thin curved ridge."""

    def edge(x: list[float]) -> dict[str, float]:
        a, b, z = x
        return {
            "f": a + b - 1.54 * z + 0.5 * z**2,
            "g": 0.25 * np.sin(4.0 * z) + 0.5 * z + 0.25 - a,
            "h": 0.25 * np.cos(4.0 * z) + 0.5 * z + 0.25 - b,
        }

    result = tcgp.minimize(
        edge,
        [(0.0, 1.2), (0.0, 1.2), (0.0, 1.0)],
        n_evals=32,
        objective="f",
        constraints=["g <= 0", "h <= 0"],
        rng=0,
    )
    z = np.linspace(0.0, 1.0, 100_001)
    least = np.min(0.25 * (np.sin(4.0 * z) + np.cos(4.0 * z)) + 0.5 - 0.54 * z + 0.5 * z**2)
    assert least - 1e-9 <= result.fun <= least + 1e-6
