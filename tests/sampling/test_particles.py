"""The SMC engine: resampling, levels, and moves that leave a density as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tcgp.sampling import particles


def coordinates(x: np.ndarray) -> np.ndarray:
    """Features that are the points themselves."""
    return x


def cloud_of(points: np.ndarray) -> particles.Cloud:
    return particles.Cloud(points, points, 0, (1.0, 1.0))


def test_residual_resampling_copies_whole_shares_and_is_unbiased() -> None:
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=20)
    expected = 20 * weights / weights.sum()
    counts = np.array([np.bincount(particles.resample(weights, rng), minlength=20) for _ in range(4000)])
    assert np.all(counts.sum(axis=1) == 20)
    assert np.all(counts >= np.floor(expected))
    # Each count is a whole share plus draws of variance below 1.
    np.testing.assert_allclose(counts.mean(axis=0), expected, atol=4 / math.sqrt(4000))


@pytest.mark.parametrize(
    "weights",
    [[1.0], [0.0, 0.0, 3.0], [1e-300, 1e-300], [1e300, 1e300, 0.0], np.repeat([0.0, 1.0], [800, 200])],
)
def test_resampling_keeps_the_size_and_only_the_living(weights: list[float]) -> None:
    weights = np.asarray(weights)
    chosen = particles.resample(weights, np.random.default_rng(0))
    assert len(chosen) == len(weights)
    assert np.all(weights[chosen] > 0)


def test_equal_weights_give_each_particle_equally_often() -> None:
    weights = np.zeros(1000)
    weights[::5] = 1 / 3
    counts = np.bincount(particles.resample(weights, np.random.default_rng(0)), minlength=1000)
    assert np.all(counts[::5] == 5)


def test_effective_sample_size_of_equal_and_single_weights() -> None:
    assert particles.effective_sample_size(np.ones(7)) == pytest.approx(7)
    assert particles.effective_sample_size(np.array([0.0, 2.0])) == 1


def test_bisection_finds_the_level_of_the_wanted_mean_weight() -> None:
    values = np.random.default_rng(0).normal(size=500)

    def mean_weight(level: float) -> float:
        return float(
            stats.norm.cdf((level - values) / 0.3).mean() / stats.norm.cdf((4.0 - values) / 0.3).mean()
        )

    level = particles.next_level_by_bisection(mean_weight, 4.0, -3.0, fraction=0.6)
    assert mean_weight(level) == pytest.approx(0.6, abs=1e-6)


def test_bisection_goes_to_the_target_when_it_can_and_always_makes_progress() -> None:
    assert particles.next_level_by_bisection(lambda u: 0.9, 1.0, 0.0, fraction=0.7) == 0.0
    assert particles.next_level_by_bisection(lambda u: 0.9, 0.0, 1.0, fraction=0.7) == 1.0
    # A weight that falls at once below the fraction: no level is good, but one must be taken.
    level = particles.next_level_by_bisection(lambda u: float(u == 1.0), 1.0, 0.0, fraction=0.7)
    assert 0.0 <= level < 1.0


def test_moves_leave_a_truncated_normal_invariant() -> None:
    rng = np.random.default_rng(0)
    box = [(-0.5, 3.0), (-1.0, 1.0)]
    laws = [stats.truncnorm(-0.5, 3.0), stats.truncnorm(-1.0 / 0.4, 1.0 / 0.4, scale=0.4)]
    points = np.column_stack([law.rvs(4000, random_state=rng) for law in laws])

    def log_density(x: np.ndarray) -> np.ndarray:
        return -0.5 * (x[:, 0] ** 2 + (x[:, 1] / 0.4) ** 2)

    moved = particles.move(cloud_of(points), log_density, coordinates, box, rng)
    assert np.mean(np.any(moved.points != points, axis=1)) > 0.99
    for j, law in enumerate(laws):
        assert stats.kstest(moved.points[:, j], law.cdf).pvalue > 1e-3


def test_moves_find_the_density_from_a_wrong_start() -> None:
    rng = np.random.default_rng(1)
    points = np.full((4000, 2), 0.9) + 0.01 * rng.random((4000, 2))

    def log_density(x: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum((x / 0.2) ** 2, axis=1)

    moved = particles.move(
        cloud_of(points), log_density, coordinates, [(-1, 1)] * 2, rng, max_sweeps=100, mobility=0.99
    )
    for j in range(2):
        assert stats.kstest(moved.points[:, j], stats.norm(scale=0.2).cdf).pvalue > 1e-3


def test_difference_moves_exchange_particles_between_far_modes() -> None:
    # Modes 1000 times farther apart than wide: the first holds 9 particles in 10 and should hold half.
    rng = np.random.default_rng(2)
    centres = np.array([0.25, 0.75])
    points = (centres[(rng.random(2000) < 0.1).astype(int)] + 2.5e-4 * (2 * rng.random(2000) - 1))[:, None]

    def log_density(x: np.ndarray) -> np.ndarray:
        near = np.min(np.abs(x - centres), axis=1) < 2.5e-4
        return np.where(near, 0.0, -np.inf)

    moved = particles.move(
        cloud_of(points), log_density, coordinates, [(0, 1)], rng, max_sweeps=300, mobility=0.99
    )
    # Half, up to the standard deviation 0.011 of 2000 draws.
    assert abs(np.mean(moved.points < 0.5) - 0.5) < 0.05


@pytest.mark.parametrize(
    "kind", ["one point", "two points", "a line", "constant coordinate", "four particles"]
)
def test_degenerate_clouds_spread_over_the_target(kind: str) -> None:
    rng = np.random.default_rng(3)
    n = 4 if kind == "four particles" else 1000
    line = rng.uniform(0.3, 0.6, n)
    points = {
        "one point": np.full((n, 2), 0.4),
        "two points": np.where(rng.random((n, 1)) < 0.5, 0.3, 0.6) * np.ones(2),
        "a line": np.column_stack([line, line]),
        "constant coordinate": np.column_stack([line, np.full(n, 0.5)]),
        "four particles": rng.uniform(0.3, 0.6, (n, 2)),
    }[kind]

    def log_density(x: np.ndarray) -> np.ndarray:
        return np.where(np.all((x > 0.2) & (x < 0.7), axis=1), 0.0, -np.inf)

    moved = particles.move(
        cloud_of(points), log_density, coordinates, [(0, 1)] * 2, rng, max_sweeps=200, mobility=0.999
    )
    assert np.all((moved.points > 0.2) & (moved.points < 0.7))
    assert np.all(np.isfinite(moved.scales))
    if n > 4:
        for j in range(2):
            assert stats.kstest(moved.points[:, j], stats.uniform(0.2, 0.5).cdf).pvalue > 1e-3


def test_cloud_that_cannot_move_is_returned() -> None:
    points = np.full((100, 2), 0.5)

    def log_density(x: np.ndarray) -> np.ndarray:
        return np.where(np.all(x == 0.5, axis=1), 0.0, -np.inf)

    moved = particles.move(cloud_of(points), log_density, coordinates, [(0, 1)] * 2, np.random.default_rng(0))
    np.testing.assert_array_equal(moved.points, points)


def test_acceptance_is_tuned_from_any_start() -> None:
    # After tuning, scales that began a millionfold apart agree.
    def log_density(x: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum((x / 0.1) ** 2, axis=1)

    scales = []
    for start in (1e-3, 1e3):
        rng = np.random.default_rng(4)
        points = 0.1 * rng.standard_normal((1000, 3))
        cloud = particles.Cloud(points, points, 0, (start, start))
        scales.append(
            particles.move(cloud, log_density, coordinates, [(-1, 1)] * 3, rng, mobility=0.9999).scales
        )
    # The range 0.2 to 0.5 of acceptances is a range of scales of about 3.
    assert np.all(np.abs(np.log(np.array(scales[0]) / scales[1])) < math.log(4))


def test_stages_estimate_the_normalising_constant() -> None:
    # From uniform on [-1, 1]^2 to exp(-|x|²/(2 s²)), with s = 0.01: the ratio is 2 pi s² / 4.
    def log_density(x: np.ndarray, level: float) -> np.ndarray:
        return -0.5 * np.sum((x / 0.01) ** 2, axis=1) * level

    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cloud = particles.uniform_cloud(coordinates, [(-1, 1)] * 2, 500, rng)
        level = log_ratio = 0.0
        while level < 1.0:
            features = cloud.features
            following = particles.next_level_by_bisection(
                lambda u: float(np.mean(np.exp(log_density(features, u - level)))),  # noqa: B023
                level,
                1.0,
                fraction=0.5,
            )
            cloud, log_mean = particles.advance(
                cloud,
                log_density(features, following - level),
                lambda x: log_density(x, following),  # noqa: B023
                coordinates,
                [(-1, 1)] * 2,
                rng,
            )
            level, log_ratio = following, log_ratio + log_mean
        errors.append(log_ratio - math.log(2 * math.pi * 0.01**2 / 4))
        np.testing.assert_allclose(cloud.points.std(axis=0), 0.01, rtol=0.2)
    assert abs(np.mean(errors)) < 3.5 * np.std(errors, ddof=1) / math.sqrt(20)
    # Twelve or so stages of mean weight one half, each of relative variance below 1/500.
    assert np.std(errors, ddof=1) < 1.55 * math.sqrt(13 / 500)


def test_features_of_several_columns_follow_their_particles() -> None:
    def evaluate(x: np.ndarray) -> np.ndarray:
        return np.column_stack([x.sum(axis=1), x[:, 0] - x[:, 1], x[:, 0]])

    rng = np.random.default_rng(5)
    cloud = particles.uniform_cloud(evaluate, [(0, 1)] * 2, 200, rng)
    log_weights = -5 * cloud.features[:, 0]
    cloud, _ = particles.advance(cloud, log_weights, lambda f: -5 * f[:, 0], evaluate, [(0, 1)] * 2, rng)
    np.testing.assert_array_equal(cloud.features, evaluate(cloud.points))
