"""The test problems against published figures, mpmath and brute force."""

from __future__ import annotations

import pickle
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize

from tcgp import problems

ALL = (*problems.names(), "michalewicz2", "michalewicz5", "michalewicz10", "rosenbrock2", "ackley1")

# Minima as printed by the Virtual Library of Simulation Experiments (Styblinski-Tang is left out: it prints
# -39.16599 per coordinate, which its own minimiser contradicts) and by Forrester et al. (2008).
PUBLISHED = {
    "goldstein-price": "3",
    "hartmann3": "-3.86278",
    "hartmann6": "-3.32237",
    "michalewicz2": "-1.8013",
    "michalewicz5": "-4.687658",
    "michalewicz10": "-9.66015",
    "cross-in-tray": "-2.06261",
    "shekel5": "-10.1532",
    "shekel7": "-10.4029",
    "shekel10": "-10.5364",
    "forrester": "-6.02074",
    "branin": "0.397887",
    "six-hump-camel": "-1.0316",
}


def close_to_minimum(problem: problems.Problem) -> float:
    """Relative 1e-9; for minima at 0, 1e-9 of a unit, which is 1e-9 or less of each function's range."""
    return 1e-9 * max(1.0, abs(problem.minimum))


@pytest.mark.parametrize("name", ALL)
def test_minimizer_lies_in_the_box_and_attains_the_minimum(name: str) -> None:
    problem = problems.get(name)
    assert problem.bounds.shape == (problem.dim, 2)
    assert problem.minimizer.shape == (problem.dim,)
    assert np.all(problem.bounds[:, 0] <= problem.minimizer)
    assert np.all(problem.minimizer <= problem.bounds[:, 1])
    assert problem(problem.minimizer) == pytest.approx(problem.minimum, abs=close_to_minimum(problem), rel=0)


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_minimum_agrees_with_published_figures(name: str, published: str) -> None:
    last_digit = 10.0 ** -len(published.partition(".")[2])
    assert problems.get(name).minimum == pytest.approx(float(published), abs=0.6 * last_digit, rel=0)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_lower_in_many_points(name: str) -> None:
    problem = problems.get(name)
    rng = np.random.default_rng(0)
    low, high = problem.bounds.T
    for _ in range(2):
        anywhere = rng.uniform(low, high, (50_000, problem.dim))
        scale = 10.0 ** rng.uniform(-8, 0, (50_000, 1)) * (high - low)
        nearby = np.clip(problem.minimizer + scale * rng.normal(size=anywhere.shape), low, high)
        # Rounding: a few ulp of the largest intermediate term, 1e-12 is a thousand times that.
        slack = 1e-12 * max(1.0, abs(problem.minimum))
        assert min(problem(anywhere).min(), problem(nearby).min()) >= problem.minimum - slack


@pytest.mark.parametrize("name", ALL)
def test_local_polish_does_not_go_lower(name: str) -> None:
    problem = problems.get(name)
    polished = minimize(
        problem, problem.minimizer, method="Nelder-Mead", bounds=problem.bounds, options={"maxfev": 2000}
    )
    assert polished.fun >= problem.minimum - 1e-12 * max(1.0, abs(problem.minimum))


HARTMANN3 = (
    [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]],
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]],
)
HARTMANN6 = (
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ],
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ],
)
SHEKEL = [
    (0.1, (4, 4, 4, 4)),
    (0.2, (1, 1, 1, 1)),
    (0.2, (8, 8, 8, 8)),
    (0.4, (6, 6, 6, 6)),
    (0.4, (3, 7, 3, 7)),
    (0.6, (2, 9, 2, 9)),
    (0.3, (5, 3, 5, 3)),
    (0.7, (8, 1, 8, 1)),
    (0.5, (6, 2, 6, 2)),
    (0.5, (7, 3.6, 7, 3.6)),
]


def decimal(value: float) -> mp.mpf:
    """The decimal number as printed, not its nearest double."""
    return mp.mpf(repr(value))


def mp_hartmann(constants, *x):
    a, p = constants
    return -sum(
        decimal(c)
        * mp.exp(
            -sum(decimal(aj) * (xj - mp.mpf(pj) / 10000) ** 2 for aj, xj, pj in zip(ai, x, pi, strict=True))
        )
        for c, ai, pi in zip([1.0, 1.2, 3.0, 3.2], a, p, strict=True)
    )


def mp_shekel(m, *x):
    return -sum(
        1 / (decimal(beta) + sum((xj - decimal(cj)) ** 2 for xj, cj in zip(x, centre, strict=True)))
        for beta, centre in SHEKEL[:m]
    )


def mp_cross_in_tray(x, y):
    wave = mp.sin(x) * mp.sin(y) * mp.exp(abs(100 - mp.sqrt(x**2 + y**2) / mp.pi))
    return -mp.mpf("0.0001") * (abs(wave) + 1) ** mp.mpf("0.1")


def mp_six_hump_camel(x, y):
    return 4 * x**2 - mp.mpf("2.1") * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4


ORACLES = {
    "hartmann3": partial(mp_hartmann, HARTMANN3),
    "hartmann6": partial(mp_hartmann, HARTMANN6),
    "shekel5": partial(mp_shekel, 5),
    "shekel7": partial(mp_shekel, 7),
    "shekel10": partial(mp_shekel, 10),
    "cross-in-tray": mp_cross_in_tray,
    "six-hump-camel": mp_six_hump_camel,
    "forrester": lambda x: (6 * x - 2) ** 2 * mp.sin(12 * x - 4),
    "styblinski-tang1": lambda x: (x**4 - 16 * x**2 + 5 * x) / 2,
    "schwefel1": lambda x: mp.mpf("418.98288727243370627") - x * mp.sin(mp.sqrt(x)),
}


@pytest.mark.parametrize("name", ORACLES)
def test_minimizer_is_stationary_in_40_digits(name: str) -> None:
    problem, oracle = problems.get(name), ORACLES[name]
    with mp.workdps(40):
        d = problem.dim
        x = [mp.mpf(v) for v in problem.minimizer]
        partials = [tuple(int(i == j) for i in range(d)) for j in range(d)]

        def gradient(*u):
            return [mp.diff(oracle, u, order) for order in partials]

        exact = mp.findroot(
            gradient if d > 1 else lambda u: mp.diff(oracle, u), x if d > 1 else x[0], tol=1e-25
        )
        exact = list(exact) if d > 1 else [exact]
        minimum = float(oracle(*exact))
        distance = max(float(abs(a - b)) for a, b in zip(exact, x, strict=True))
    # The minimiser is the exact one rounded to double; the minimum is rounded once.
    assert distance <= np.spacing(np.abs(problem.minimizer).max())
    assert problem.minimum == pytest.approx(minimum, rel=1e-15, abs=1e-13)


@pytest.mark.parametrize("i", [1, 2, 3, 4, 5, 7, 20, 33])
def test_michalewicz_coordinate_is_the_best_of_a_fine_grid(i: int) -> None:
    x = np.linspace(0, np.pi, 2_000_001)
    term = np.sin(x) * np.sin(i * x**2 / np.pi) ** 20
    minimizer = problems.get(f"michalewicz{i}").minimizer[-1]
    # The grid's spacing is 1.6e-6; the function varies quadratically at its maximum.
    assert minimizer == pytest.approx(x[np.argmax(term)], abs=2e-6)
    assert np.sin(minimizer) * np.sin(i * minimizer**2 / np.pi) ** 20 >= term.max()


def test_perm_of_the_paper_vanishes_at_reciprocals() -> None:
    # The paper's formula written out as two loops, with beta = 1.
    rng = np.random.default_rng(1)
    x = rng.uniform(-6, 6, 6)
    value = sum(sum((j + 1) * (x[j - 1] ** i - 1 / j**i) for j in range(1, 7)) ** 2 for i in range(1, 7))
    problem = problems.get("perm6")
    assert problem(x) == pytest.approx(value, rel=1e-12)
    assert problem(1 / np.arange(1, 7)) < 1e-28


def test_shekel_and_hartmann_agree_with_mpmath_away_from_the_minimum() -> None:
    rng = np.random.default_rng(2)
    for name in (
        "hartmann3",
        "hartmann6",
        "shekel5",
        "shekel7",
        "shekel10",
        "cross-in-tray",
        "six-hump-camel",
    ):
        problem = problems.get(name)
        for x in rng.uniform(*problem.bounds.T, (20, problem.dim)):
            # Sums of at most ten positive terms: a few hundred ulp even where exponents amplify rounding.
            assert problem(x) == pytest.approx(float(ORACLES[name](*map(mp.mpf, x))), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_rows_are_evaluated_one_by_one(name: str) -> None:
    problem = problems.get(name)
    x = np.random.default_rng(3).uniform(*problem.bounds.T, (20, problem.dim))
    values = problem(x)
    assert values.shape == (20,)
    assert all(type(problem.fun(row)) is float for row in x)
    # Sums may be taken in another order, hence rounding of the largest term.
    np.testing.assert_allclose(values, [problem.fun(row) for row in x], rtol=1e-12)
    assert problem(x[:0]).shape == (0,)


@pytest.mark.parametrize("name", ALL)
def test_problem_survives_pickling(name: str) -> None:
    problem = problems.get(name)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(problem.minimizer) == problem(problem.minimizer)


def test_problem_cannot_be_changed() -> None:
    problem = problems.get("branin")
    with pytest.raises(AttributeError):
        problem.minimum = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        problem.bounds[0, 0] = 0.0


@pytest.mark.parametrize("name", ["nonsense", "", "shekel3", "hartmann4", "ackley04", "ackley-4", "10"])
def test_unknown_name_is_answered_with_the_list(name: str) -> None:
    with pytest.raises(ValueError, match=r"goldstein-price.*ackley<d>"):
        problems.get(name)


@pytest.mark.parametrize("name", ["ackley", "rosenbrock1", "levy0"])
def test_missing_dimension_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="dimension of at least"):
        problems.get(name)


def test_name_must_be_a_string() -> None:
    with pytest.raises(TypeError, match=r"name must be one of tcgp\.problems\.names\(\), got 4"):
        problems.get(4)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(), (3,), (5, 3), (2, 2, 2)])
def test_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"rows of shape \(n, 2\)"):
        problems.get("branin")(np.zeros(shape))
