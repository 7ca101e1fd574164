"""Subset simulation against plain Monte Carlo and exact volumes, and its behaviour on awkward functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import Bounds

from tcgp import problems
from tcgp.sampling import SubsetSimulation, subset_simulation

P0 = 0.2
UNIT_SQUARE = [(0.0, 1.0), (0.0, 1.0)]


def ideal_scatter(log_p: float, n_particles: int = 1000) -> float:
    """Standard deviation of log p for independent particles (Cérou et al., 2012)."""
    return math.sqrt(log_p / math.log(P0) * (1 - P0) / (P0 * n_particles))


def log_ball_volume(d: int) -> float:
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def squared_radius(x: np.ndarray) -> np.ndarray:
    return np.sum((x - 0.5) ** 2, axis=1)


def check_errors(errors: np.ndarray, log_p: float, reference_error: float = 0.0) -> None:
    """Mean within 3.5 standard errors of zero, scatter about that of independent particles at most."""
    # Levels set at quantiles of the particles bias log p by half its variance, upwards, to first order in 1/n.
    ideal = ideal_scatter(log_p)
    standard_error = math.hypot(ideal / math.sqrt(len(errors)), reference_error)
    assert abs(errors.mean() - ideal**2 / 2) < 3.5 * standard_error
    # A standard deviation from n draws is itself known to 1 in sqrt(2 n).
    assert errors.std(ddof=1) < (1 + 3.5 / math.sqrt(2 * len(errors))) * ideal


@pytest.mark.parametrize("name", ["goldstein-price", "ackley4"])
def test_agrees_with_monte_carlo_at_one_in_a_hundred_and_a_thousand(name: str) -> None:
    problem = problems.get(name)
    n = 1_000_000
    rng = np.random.default_rng(1)
    values = np.concatenate(
        [problem.fun(rng.uniform(*problem.bounds.T, (n // 10, problem.dim))) for _ in range(10)]
    )
    upper, lower = np.quantile(values, [1e-2, 1e-3])
    runs = [subset_simulation(problem.fun, problem.bounds, upper, rng=seed) for seed in range(20)]
    continued = [run.continue_to(lower) for run in runs]
    for simulations, p in ((runs, 1e-2), (continued, 1e-3)):
        errors = np.array([s.log_probability for s in simulations]) - math.log(p)
        check_errors(errors, math.log(p), reference_error=1 / math.sqrt(n * p))


def test_ball_of_volume_one_in_a_hundred_million() -> None:
    d, log_p = 4, math.log(1e-8)
    radius = math.exp((log_p - log_ball_volume(d)) / d)
    bounds = [(0.0, 1.0)] * d
    runs = [subset_simulation(squared_radius, bounds, radius**2, rng=seed) for seed in range(20)]
    check_errors(np.array([run.log_probability for run in runs]) - log_p, log_p)


def test_particles_are_uniform_below_the_threshold() -> None:
    d, radius = 3, 0.01
    clouds = [subset_simulation(squared_radius, [(0, 1)] * d, radius**2, rng=seed) for seed in range(5)]
    particles = np.concatenate([cloud.particles for cloud in clouds])
    offsets = (particles - 0.5) / radius
    depth = np.sum(offsets**2, axis=1) ** (d / 2)  # uniform on (0, 1) for a uniform point of the ball
    # Particles descend from one another, so fewer count than there are: a fifth, at most, is assumed.
    assert stats.kstest(depth[::5], "uniform").pvalue > 1e-3
    spread = math.sqrt(1 / (d + 2))  # of a coordinate of a uniform point of the unit ball
    assert np.all(np.abs(offsets.mean(axis=0)) < 4 * spread / math.sqrt(len(particles) / 5))
    np.testing.assert_allclose(offsets.std(axis=0), spread, rtol=0.05)


def test_narrow_ellipsoid_is_as_easy_as_a_ball() -> None:
    # Condition number 1e8 in rotated axes; the volume is that of a ball times a determinant.
    d, threshold = 4, 1e-4
    rotation = stats.special_ortho_group.rvs(d, random_state=3)
    precisions = np.logspace(0, 8, d)

    def fun(x: np.ndarray) -> np.ndarray:
        return np.sum(precisions * ((x - 0.5) @ rotation) ** 2, axis=1)

    log_p = log_ball_volume(d) + d / 2 * math.log(threshold) - 0.5 * np.log(precisions).sum()
    errors = [
        subset_simulation(fun, [(0, 1)] * d, threshold, rng=s).log_probability - log_p for s in range(10)
    ]
    check_errors(np.array(errors), log_p)


def test_rosenbrock_valley_leads_to_the_ellipsoid_at_its_end() -> None:
    # Near the minimum the function is its quadratic form; at 1e-3 the next term changes the volume by 1 %.
    d, threshold = 6, 1e-3
    problem = problems.get("rosenbrock6")
    half_hessian = np.diag([401.0] + [501.0] * (d - 2) + [100.0]) - 200 * (np.eye(d, k=1) + np.eye(d, k=-1))
    log_p = (
        log_ball_volume(d)
        + d / 2 * math.log(threshold)
        - 0.5 * np.linalg.slogdet(half_hessian)[1]
        - d * math.log(15)
    )
    errors = [
        subset_simulation(problem.fun, problem.bounds, threshold, rng=s).log_probability - log_p
        for s in range(2)
    ]
    # The valley is not crossed in one stage's sweeps, so the scatter exceeds that of independent particles:
    # 1.0 to 1.3 times (benchmarks/calibration/subset_simulation.py).
    ideal = ideal_scatter(log_p)
    assert abs(np.mean(errors) - ideal**2 / 2) < 3.5 * 1.3 * ideal / math.sqrt(2)


def test_ackley_wells_lead_to_the_cone_at_the_origin() -> None:
    # Near the origin f = 4 r / sqrt(d) + O(r²); at 1e-4 the next term changes the volume by 0.2 %.
    d, threshold = 4, 1e-4
    problem = problems.get("ackley4")
    log_p = log_ball_volume(d) + d * math.log(threshold * math.sqrt(d) / 4) - d * math.log(2 * 32.768)
    errors = [
        subset_simulation(problem.fun, problem.bounds, threshold, rng=s).log_probability - log_p
        for s in range(6)
    ]
    check_errors(np.array(errors), log_p)


def test_two_components_keep_their_shares() -> None:
    # Discs of radius r and r/2, far apart: four fifths of the area belong to the first.
    centres, sizes = np.array([[0.2, 0.3], [0.8, 0.7]]), np.array([1.0, 2.0])

    def fun(x: np.ndarray) -> np.ndarray:
        return np.min(sizes * np.linalg.norm(x[:, None, :] - centres, axis=2), axis=1)

    radius = 1e-3
    runs = [subset_simulation(fun, UNIT_SQUARE, radius, rng=seed) for seed in range(10)]
    shares = np.array([np.mean(run.particles[:, 0] < 0.5) for run in runs])
    log_p = math.log(math.pi * radius**2 * 1.25)
    check_errors(np.array([run.log_probability for run in runs]) - log_p, log_p)
    # The share drifts from level to level with the scatter of a proportion among 1000, as often as levels.
    n_levels = log_p / math.log(P0)
    drift = math.sqrt(0.8 * 0.2 / 1000 * (1 - P0) / P0 * n_levels)
    assert abs(shares.mean() - 0.8) < 3.5 * drift / math.sqrt(10)


def test_continuing_in_steps_equals_one_run() -> None:
    thresholds = np.geomspace(0.1, 1e-3, 12) ** 2
    log_p = math.log(math.pi * 1e-6)
    in_steps = []
    for seed in range(20):
        run = subset_simulation(squared_radius, UNIT_SQUARE, thresholds[0], rng=seed)
        for threshold in thresholds[1:]:
            run = run.continue_to(threshold)
            assert run.values.max() <= threshold
        in_steps.append(run.log_probability)
    check_errors(np.array(in_steps) - log_p, log_p)


def test_same_rng_same_result() -> None:
    def run(rng: int | np.random.Generator) -> SubsetSimulation:
        return subset_simulation(squared_radius, UNIT_SQUARE, 1e-4, n_particles=100, rng=rng)

    first, second = run(5), run(np.random.default_rng(5))
    assert first.log_probability == second.log_probability
    np.testing.assert_array_equal(first.particles, second.particles)
    assert run(6).log_probability != first.log_probability


def test_continuing_neither_changes_the_run_nor_depends_on_the_callers_generator() -> None:
    generator = np.random.default_rng(0)
    run = subset_simulation(squared_radius, UNIT_SQUARE, 1e-2, n_particles=100, rng=generator)
    before = run.particles.copy()
    first = run.continue_to(1e-4)
    generator.random(10)
    second = run.continue_to(1e-4)
    np.testing.assert_array_equal(first.particles, second.particles)
    np.testing.assert_array_equal(run.particles, before)
    assert first.n_evaluations > run.n_evaluations


def test_particles_stay_in_the_box_and_values_belong_to_them() -> None:
    problem = problems.get("branin")
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += len(x)
        assert np.all((x >= problem.bounds[:, 0]) & (x <= problem.bounds[:, 1]))
        return np.asarray(problem.fun(x))

    run = subset_simulation(fun, problem.bounds, 1.0, rng=0)
    assert run.n_evaluations == calls
    np.testing.assert_array_equal(run.values, problem.fun(run.particles))
    assert run.values.max() <= 1.0
    assert len(np.unique(run.particles, axis=0)) > 950  # copies have moved away from one another


def test_equal_threshold_gives_the_same_object_and_a_higher_one_is_refused() -> None:
    run = subset_simulation(squared_radius, UNIT_SQUARE, 0.01, rng=0, n_particles=100)
    assert run.continue_to(0.01) is run
    with pytest.raises(ValueError, match=r"threshold must be at most the present one"):
        run.continue_to(0.02)


def test_everything_below_the_threshold_has_probability_one() -> None:
    for threshold in (10.0, math.inf):
        run = subset_simulation(squared_radius, UNIT_SQUARE, threshold, rng=0, n_particles=100)
        assert run.probability == 1.0
        assert run.particles.shape == (100, 2)


@pytest.mark.parametrize(("threshold", "probability"), [(3.5, 1.0), (3.0, 1.0), (2.5, 0.0)])
def test_constant_function_is_all_or_nothing(threshold: float, probability: float) -> None:
    run = subset_simulation(lambda x: np.full(len(x), 3.0), UNIT_SQUARE, threshold, rng=0)
    assert run.probability == probability
    assert len(run.particles) == (1000 if probability else 0)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_two_valued_function_is_plain_monte_carlo(threshold: float) -> None:
    # The set {0} has probability 0.05: an atom at 1 holds the p0-quantile and must not stop the descent.
    run = subset_simulation(lambda x: np.where(x[:, 0] < 0.05, 0.0, 1.0), UNIT_SQUARE, threshold, rng=0)
    assert abs(run.probability - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 1000)
    assert np.all(run.particles[:, 0] < 0.05)
    assert abs(run.particles[:, 0].mean() - 0.025) < 0.005


def test_staircase_is_descended_step_by_step() -> None:
    # floor(log2(1/...)): values -k with probability 2^-k exactly, each an atom as large as all below it.
    runs = [
        subset_simulation(lambda x: np.ceil(np.log2(x[:, 0])), UNIT_SQUARE, -20.0, rng=seed)
        for seed in range(10)
    ]
    errors = np.array([run.log_probability for run in runs]) + 20 * math.log(2)
    check_errors(errors, -20 * math.log(2))


def test_threshold_on_an_atom_counts_the_atom() -> None:
    # f = max(r², 0.01): the atom at 0.01 is the disc of radius 0.1.
    runs = [
        subset_simulation(lambda x: np.maximum(squared_radius(x), 0.01), UNIT_SQUARE, 0.01, rng=seed)
        for seed in range(20)
    ]
    log_p = math.log(math.pi * 0.01)
    check_errors(np.array([run.log_probability for run in runs]) - log_p, log_p)
    assert runs[0].continue_to(0.0099).probability == 0.0


def test_threshold_below_the_minimum_ends_with_probability_zero() -> None:
    run = subset_simulation(squared_radius, UNIT_SQUARE, -1.0, rng=0, n_particles=50)
    assert run.probability == 0.0
    assert run.log_probability == -math.inf
    assert run.particles.shape == (0, 2)
    assert run.values.shape == (0,)
    assert run.continue_to(-2.0).probability == 0.0


def test_probability_too_small_for_a_double_is_zero() -> None:
    # Around 0 doubles never run out before the probability does.
    run = subset_simulation(lambda x: np.abs(x).max(axis=1), [(-1, 1)] * 2, 1e-200, rng=0, n_particles=20)
    assert run.probability == 0.0


def test_nan_and_inf_are_above_every_threshold() -> None:
    def fun(x: np.ndarray) -> np.ndarray:
        values = np.where(x[:, 0] < 0.9, np.nan, x[:, 1])
        return np.where(x[:, 0] > 0.95, np.inf, values)

    # A twentieth of the square is defined: fewer than p0.
    runs = [subset_simulation(fun, UNIT_SQUARE, 0.01, rng=seed) for seed in range(20)]
    errors = np.array([run.log_probability for run in runs]) - math.log(0.05 * 0.01)
    # The first level keeps a twentieth, not a fifth: its variance is 0.95/0.05/1000.
    scatter = math.hypot(ideal_scatter(math.log(0.01)), math.sqrt(0.019))
    assert abs(errors.mean()) < 3.5 * scatter / math.sqrt(20)
    assert np.all(np.isfinite(runs[0].values))


def test_single_survivor_repopulates_its_set() -> None:
    # A slot in a plateau, found by about one particle in a hundred: a handful must fill it.
    def fun(x: np.ndarray) -> np.ndarray:
        inside = np.all((x > 0.3) & (x < 0.4), axis=1)
        return np.where(inside, 0.0, 1.0)

    run = next(
        run
        for seed in range(20)
        if (run := subset_simulation(fun, UNIT_SQUARE, 0.0, n_particles=100, rng=seed)).probability
        == pytest.approx(0.01)
    )
    assert np.all((run.particles > 0.3) & (run.particles < 0.4))
    # One survivor, a hundred descendants: uniform on the slot, with standard deviation 0.1/sqrt(12) = 0.029.
    assert np.all(run.particles.std(axis=0) > 0.02)


@pytest.mark.parametrize("n_particles", [10, 11, 25])
def test_few_particles_in_many_dimensions_do_not_break(n_particles: int) -> None:
    run = subset_simulation(squared_radius, [(0, 1)] * 8, 0.1, n_particles=n_particles, rng=0)
    assert 0 < run.probability < 0.1
    assert run.particles.shape == (n_particles, 8)


def test_one_dimension_and_unequal_scales() -> None:
    bounds = Bounds([-1e6, 3.0], [1e6, 3.0 + 1e-6])

    def fun(x: np.ndarray) -> np.ndarray:
        return np.hypot(x[:, 0] / 2e6, (x[:, 1] - 3.0 - 5e-7) / 1e-6)

    runs = [subset_simulation(fun, bounds, 1e-3, rng=seed) for seed in range(10)]
    log_p = math.log(math.pi * 1e-6)
    check_errors(np.array([run.log_probability for run in runs]) - log_p, log_p)
    line = [subset_simulation(lambda x: x[:, 0], [(2, 4)], 2.00002, rng=s).log_probability for s in range(10)]
    check_errors(np.array(line) - math.log(1e-5), math.log(1e-5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": [(0, 1, 2)]}, "pairs"),
        ({"bounds": []}, "pairs"),
        ({"bounds": [(1, 0)]}, "low < high"),
        ({"bounds": [(0, math.inf)]}, "finite"),
        ({"threshold": math.nan}, "threshold"),
        ({"threshold": -math.inf}, "threshold"),
        ({"threshold": "low"}, "threshold must be .* got 'low'"),
        ({"threshold": None}, "threshold must be .* got None"),
        ({"p0": "0.2"}, "p0 must be .* got '0.2'"),
        ({"n_particles": 9}, "n_particles .* got 9"),
        ({"n_particles": 100.0}, "n_particles .* got 100.0"),
        ({"p0": 0.0}, "p0 .* got 0.0"),
        ({"p0": 1.0}, "p0 .* got 1.0"),
        ({"max_sweeps": 0}, "max_sweeps .* got 0"),
        ({"fun": lambda x: x}, "shape"),
        ({"fun": lambda x: 1.0}, "shape"),
    ],
)
def test_bad_input_is_refused(arguments: dict, message: str) -> None:
    usual = {"fun": squared_radius, "bounds": UNIT_SQUARE, "threshold": 0.1, "rng": 0}
    with pytest.raises(ValueError, match=message):
        subset_simulation(**{**usual, **arguments})
