"""tPIT, occurrence ratio and selection criteria against the paper's definitions, written out naively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gennorm

from tcgp.calibration import CRITERIA, TailProblem, ks_deviation, selection_criterion, tail_problem
from tcgp.calibration.tail import deviation_of_counted
from tcgp.laws import GeneralizedNormal, Normal

LAWS = [(2.0, np.sqrt(2.0)), (0.4, 0.05), (1.0, 0.7), (10.0, 3.0)]


def random_data(seed: int, n: int = 40) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n)
    return {
        "mean": y + 0.7 * rng.standard_normal(n),
        "sd": rng.uniform(0.2, 1.5, n),
        "y": y,
        "weights": rng.uniform(0.1, 3.0, n),
        "threshold": float(np.quantile(y, 0.2)),
    }


def naive_criteria(data: dict[str, Any], beta: float, scale: float) -> dict[str, float]:
    """The definitions of Sections 4.2 and 5.1 and of Appendix F.2, with loops and a grid of u."""
    mean, sd, y, t = data["mean"], data["sd"], data["y"], data["threshold"]
    weights = data["weights"] / data["weights"].sum()

    def cdf(z: float, i: int) -> float:
        return float(gennorm.cdf((z - mean[i]) / sd[i], beta, scale=scale))

    n = len(y)
    p = sum(weights[i] for i in range(n) if y[i] <= t)
    pit = [cdf(y[i], i) / cdf(t, i) if y[i] <= t else 1.0 for i in range(n)]
    expected = sum(weights[i] * cdf(t, i) for i in range(n))
    kappa = expected / p
    u = np.unique(np.concatenate([np.linspace(0.0, 1.0, 100_001), pit, np.nextafter(pit, -1.0).clip(0.0)]))
    G = np.zeros_like(u)
    for i in range(n):
        if y[i] <= t:
            G += weights[i] * (pit[i] <= u) / p
    return {
        "joint": np.abs(G - kappa * u).max(),
        "thres": np.abs(G - u).max(),
        "occ": abs(p - expected),
        "rule1": np.abs(G - u).max() * abs(p - expected),
        "rule2": np.abs(G / kappa - u).max(),
        "rule3": np.abs(G - u / kappa).max(),
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("criterion", CRITERIA)
def test_criteria_equal_their_definitions(criterion: str, seed: int) -> None:
    data = random_data(seed)
    problem = tail_problem(**data)
    for beta, scale in LAWS:
        expected = naive_criteria(data, beta, scale)[criterion]
        got = float(selection_criterion(problem, GeneralizedNormal(beta, scale), criterion))
        # The grid holds every jump and the number just below it, so the two differ by rounding only.
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_laws_at_once_equal_one_at_a_time(criterion: str) -> None:
    problem = tail_problem(**random_data(7))
    beta, scale = np.array(LAWS).T
    together = selection_criterion(problem, GeneralizedNormal(beta[:, None], scale[:, None]), criterion)
    one_by_one = [float(selection_criterion(problem, GeneralizedNormal(*law), criterion)) for law in LAWS]
    # A sum of 40 terms as a matrix product or as a dot product.
    np.testing.assert_allclose(together, one_by_one, rtol=1e-12)


def test_a_plain_gaussian_process_is_the_law_2_sqrt_2() -> None:
    problem = tail_problem(**random_data(3))
    as_normal = selection_criterion(problem, Normal())
    as_generalized = selection_criterion(problem, GeneralizedNormal(2.0, np.sqrt(2.0)))
    assert as_normal == pytest.approx(float(as_generalized), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.001, 1.0)), min_size=1, max_size=8),
    st.floats(0.0, 5.0),
    st.floats(0.0, 5.0),
)
def test_supremum_is_that_of_a_fine_grid(
    points: list[tuple[float, float]], height: float, slope: float
) -> None:
    pit, jumps = np.array(points).T
    jumps = jumps / jumps.sum()
    u = np.linspace(0.0, 1.0, 20_001)
    deviation = np.abs(height * (jumps[:, None] * (pit[:, None] <= u)).sum(axis=0) - slope * u)
    exact = float(ks_deviation(pit, jumps, height=height, slope=slope))
    # The grid is a lower bound, and misses the supremum by at most the slope times its step.
    assert deviation.max() <= exact + 1e-12
    assert exact <= deviation.max() + slope / 20_000 + 1e-12


def test_supremum_of_equal_values_is_that_of_one_jump() -> None:
    one = ks_deviation(np.array([0.4]), np.ones(1), slope=1.3)
    three = ks_deviation(np.full(3, 0.4), np.array([0.2, 0.5, 0.3]), slope=1.3)
    assert three == pytest.approx(float(one), abs=1e-15)


def test_results_do_not_depend_on_the_units_of_y() -> None:
    data = random_data(11)
    a, b = 1e-9, 3e-7
    moved = data | {
        "mean": a * data["mean"] + b,
        "sd": a * data["sd"],
        "y": a * data["y"] + b,
        "threshold": a * data["threshold"] + b,
    }
    law = GeneralizedNormal(0.8, 0.5)
    # Adding b costs three digits of the differences.
    assert selection_criterion(tail_problem(**moved), law) == pytest.approx(
        float(selection_criterion(tail_problem(**data), law)), rel=1e-11
    )


def test_a_threshold_far_below_the_predictions_is_computed_in_logarithms() -> None:
    # Φ(−40) underflows; U = Φ(−41) / Φ(−40) does not.
    problem = tail_problem(mean=[0.0, 5.0], sd=[1.0, 1.0], y=[-41.0, 4.0], weights=[1, 1], threshold=-40.0)
    pit = problem.thresholded_pit(Normal())
    assert pit == pytest.approx(np.exp(Normal().logcdf(-41.0) - Normal().logcdf(-40.0)), rel=1e-12)
    assert 0.0 < pit[0] < 1.0


def test_a_point_mass_prediction_has_its_limits() -> None:
    problem = tail_problem(
        mean=[0.0, 1.0, 3.0, 3.0, 9.0],
        sd=np.zeros(5),
        y=[0.0, 0.5, 1.0, 2.0, 9.0],
        weights=np.ones(5),
        threshold=2.0,
    )
    for law in (Normal(), GeneralizedNormal(0.1, 10.0), GeneralizedNormal(10.0, 0.005)):
        # Mean at the value; mean above the value, below t; above t, value below t; above t, value at t.
        np.testing.assert_array_equal(problem.thresholded_pit(law), [1.0, 0.0, 0.0, 1.0])
        assert problem.occurrence_ratio(law) == pytest.approx((2 / 5) / (4 / 5))


HARD: dict[str, dict[str, Any]] = {
    "one point": {"mean": [1.0], "sd": [1.0], "y": [0.5], "weights": [1.0], "threshold": 0.5},
    "no point above the threshold": random_data(1) | {"threshold": 100.0},
    "one point below the threshold": random_data(2) | {"threshold": float(random_data(2)["y"].min())},
    "all weight on one point": random_data(3)
    | {"weights": (np.arange(40) == np.argmin(random_data(3)["y"])).astype(float)},
    "certain predictions": random_data(4) | {"sd": np.zeros(40)},
    "some certain predictions": random_data(5) | {"sd": random_data(5)["sd"] * (np.arange(40) % 3 > 0)},
    "tiny sd": random_data(6) | {"sd": np.full(40, 1e-200)},
    "huge sd": random_data(6) | {"sd": np.full(40, 1e200)},
    "exact predictions": random_data(7) | {"mean": random_data(7)["y"]},
    "hopeless predictions": random_data(8) | {"mean": random_data(8)["y"] + 1e8},
    "constant values": random_data(9) | {"y": np.zeros(40), "threshold": 0.0},
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_criterion_is_ever_nan(name: str, criterion: str) -> None:
    problem = tail_problem(**HARD[name])
    beta, scale = np.meshgrid([0.1, 0.5, 2.0, 10.0], [0.005, 0.3, 10.0])
    values = selection_criterion(
        problem, GeneralizedNormal(beta.reshape(-1, 1), scale.reshape(-1, 1)), criterion
    )
    assert np.all(values >= 0.0)
    assert np.any(np.isfinite(values)) or criterion in ("rule2", "rule3")


@pytest.mark.parametrize("criterion", ["rule2", "rule3"])
def test_a_law_without_excursions_has_an_infinite_value_where_kappa_divides(criterion: str) -> None:
    problem = tail_problem(mean=[1e6, 1e6], sd=[1.0, 1.0], y=[0.0, 1.0], weights=[1, 1], threshold=0.0)
    assert problem.occurrence_ratio(Normal()) == 0.0
    assert selection_criterion(problem, Normal(), criterion) == np.inf


def test_no_weight_below_the_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="threshold must leave some weight"):
        tail_problem([0.0], [1.0], [1.0], [1.0], threshold=0.5)


def test_unequal_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="must share one shape"):
        tail_problem([0.0, 1.0], [1.0], [1.0], [1.0], threshold=2.0)


def test_an_unknown_criterion_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(ValueError, match="'joint', 'thres', 'occ'"):
        selection_criterion(tail_problem(**random_data(0)), Normal(), "rule4")


def test_problem_holds_normalized_weights() -> None:
    problem = tail_problem(**random_data(0))
    assert isinstance(problem, TailProblem)
    assert problem.weights.sum() == pytest.approx(1.0)
    assert problem.jumps.sum() == pytest.approx(1.0)
    assert problem.excursion_frequency == pytest.approx(problem.weights[problem.below].sum())


def test_deviation_of_counted_values_is_that_of_a_fine_grid() -> None:
    rng = np.random.default_rng(0)
    grid = np.linspace(0.0, 1.0, 20_001)
    for _ in range(20):
        pit, jumps = rng.random(7), rng.dirichlet(np.ones(7))
        pit[rng.random(7) < 0.3] = np.nan
        slope = float(rng.uniform(0.3, 2.0))

        def distance(u, pit=pit, jumps=jumps, slope=slope):
            return np.abs((pit <= u[:, None]) @ jumps - slope * u).max(initial=0.0)

        exact = deviation_of_counted(pit, jumps, slope=slope, supremum="exact")
        assert exact == pytest.approx(distance(grid), abs=3e-4)
        samples = deviation_of_counted(pit, jumps, slope=slope)
        assert samples == pytest.approx(distance(pit[~np.isnan(pit)]), rel=1e-12)
        assert samples <= exact


def test_without_missing_values_the_exact_supremum_is_that_of_ks_deviation() -> None:
    pit, jumps = np.random.default_rng(1).random((5, 9)), np.full(9, 1.0 / 9.0)
    kappa = np.linspace(0.5, 2.0, 5)
    np.testing.assert_allclose(
        deviation_of_counted(pit, jumps, slope=kappa, supremum="exact"),
        ks_deviation(pit, jumps, slope=kappa),
        rtol=1e-12,
    )


def test_with_no_value_counted_the_supremum_over_samples_is_infinite() -> None:
    assert deviation_of_counted(np.full(3, np.nan), np.full(3, 1.0 / 3.0)) == np.inf


def test_the_plain_ratio_is_missing_where_the_cdf_underflows() -> None:
    problem = tail_problem([0.0, 100.0], [1.0, 1.0], [-1.0, -2.0], [1.0, 1.0], threshold=0.0)
    plain = problem.thresholded_pit(Normal(), ratio="plain")
    exact = problem.thresholded_pit(Normal())
    assert plain[0] == pytest.approx(exact[0], rel=1e-12)
    assert np.isnan(plain[1])
    assert 0.0 <= exact[1] <= 1.0
