"""The part of a space that known constraints allow: exact checks, uniform samples, even designs, clear refusals."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import LinearConstraint, NonlinearConstraint
from scipy.spatial.distance import cdist

from tcgp import Categorical, Integer, Optimizer, Real, Space
from tcgp.expressions import Expression, parse_constraint
from tcgp.region import EmptyRegionError, Region, parameter_names
from tcgp.region.region import spread_evenly

SQUARE = Space([(0.0, 1.0), (0.0, 1.0)])
MIXED = Space(
    {
        "rate": Real(1e-4, 1.0, log=True),
        "width": Real(-1.0, 3.0),
        "n": Integer(1, 40),
        "steps": Integer(1, 1000, log=True),
        "order": Categorical([1, 2, 4]),
        "scheme": Categorical(["explicit", "implicit"]),
    }
)


def on_ring(x: np.ndarray) -> bool:
    return bool(0.3 <= math.hypot(*(x - 0.5)) <= 0.31)


def implicit_or_slow(x: dict) -> bool:
    return x["scheme"] == "implicit" or x["rate"] < 0.01


REGIONS = {
    "half": (SQUARE, ["x0 <= x1"]),
    "polytope": (Space([(0, 1)] * 5), ["x0 + x1 + x2 + x3 + x4 <= 0.3", "x0 >= x1"]),
    "thin polytope": (Space([(-5, 5)] * 3), ["-1e-7 <= x0 - x1 <= 1e-7", "x2 <= x0"]),
    "ring": (SQUARE, ["0.3 <= sqrt((x0 - 0.5) ** 2 + (x1 - 0.5) ** 2) <= 0.31"]),
    "thin ring": (SQUARE, ["0.3 <= sqrt((x0 - 0.5) ** 2 + (x1 - 0.5) ** 2) <= 0.30005"]),
    "discs": (SQUARE, ["min((x0 - 0.2) ** 2 + (x1 - 0.2) ** 2, (x0 - 0.8) ** 2 + (x1 - 0.7) ** 2) <= 1e-8"]),
    "mixed": (MIXED, ["rate * n * order <= 0.01", "n + width <= 10", "steps >= 10 * n", implicit_or_slow]),
    "sum of integers": (
        Space({"a": (0, 1), "n": Integer(0, 99), "m": Integer(0, 99)}),
        ["120 <= n + m <= 120"],
    ),
    "function": (SQUARE, [on_ring]),
    "linear": (
        Space([(0, 1)] * 3),
        [LinearConstraint([[1, 1, 1], [1, -1, 0]], [-np.inf, 0.0], [0.5, np.inf])],
    ),
    "numbers": (SQUARE, [NonlinearConstraint(lambda x: [x[0] * x[1], x[0]], [0.2, -np.inf], [0.22, 0.5])]),
    "few points": (Space({"n": Integer(0, 30), "m": Integer(0, 30)}), ["n * m <= 20", "n >= m"]),
}


def sampled(region: Region, n: int, seed: int = 0) -> list:
    """Points of a sample."""
    return region.space.decode(region.sample(n, np.random.default_rng(seed)))


@pytest.fixture(params=REGIONS, scope="module")
def region(request: pytest.FixtureRequest) -> Region:
    return Region(*REGIONS[request.param])


def test_samples_and_designs_are_allowed_and_repeatable(region: Region) -> None:
    sample = sampled(region, 300, 1)
    design = region.space.decode(region.design(20, np.random.default_rng(1)))
    for points in (sample, design):
        assert region.allows(points).all()
        assert (region.violations(points) == 0.0).all()
        assert [region.space.check(x) for x in points] == points
    assert len(sample) == 300
    assert len({tuple(x) for x in design}) == len(design) == 20
    again = Region(region.space, region.checks)
    assert sampled(again, 300, 1) == sample
    assert again.space.decode(again.design(20, np.random.default_rng(1))) == design
    assert sampled(region, 300, 2) != sample
    assert sampled(region, 0, 1) == []


def test_points_are_judged_alike_alone_and_among_others(region: Region) -> None:
    points = sampled(region, 50) + region.space.sample(50, np.random.default_rng(0))
    together = region.allows(points)
    assert together[:50].all()
    assert not together.all()
    assert [bool(region.allows([x])[0]) for x in points] == together.tolist()
    np.testing.assert_array_equal((region.violations(points) == 0.0).all(axis=1), together)


def test_codes_are_judged_as_the_points_they_decode_to(region: Region) -> None:
    points = sampled(region, 50) + region.space.sample(50, np.random.default_rng(0))
    codes = region.space.encode(points)
    np.testing.assert_array_equal(region.allows_codes(codes), region.allows(region.space.decode(codes)))


def test_allows_is_what_the_text_says() -> None:
    region = Region(
        MIXED, ["rate * n * order <= 0.1", "n + width <= 10", "steps >= 10 * n", implicit_or_slow]
    )
    points = MIXED.sample(2000, np.random.default_rng(0))
    expected = [
        r * n * o <= 0.1 and n + w <= 10 and t >= 10 * n and (s == "implicit" or r < 0.01)
        for r, w, n, t, o, s in points
    ]
    assert 0 < sum(expected) < 2000
    assert region.allows(points).tolist() == expected


def test_a_step_that_is_the_limit_is_found() -> None:
    # In floats 3 * 0.1 is more than 0.3.
    space = Space([Real(0.0, 1.0, step=0.1), (0.0, 1.0)])
    sample = sampled(Region(space, ["x0 <= 0.3"]), 200)
    assert {x[0] for x in sample} == {0.0, 0.1, 0.2, 0.3}
    only = space.decode(Region(space, ["0.25 <= x0 <= 0.3"]).design(3, np.random.default_rng(0)))
    assert {x[0] for x in only} == {0.3}


def test_scipy_constraints_mean_what_they_mean_in_scipy() -> None:
    space = Space({"a": (0, 1), "odd name": (0, 1), "n": Integer(0, 5)})
    A, lower, upper = np.array([[1.0, -2.0, 0.1], [0.0, 1.0, 1.0]]), [-0.5, -np.inf], [0.5, 3.0]
    points = space.sample(500, np.random.default_rng(0))
    values = np.array(points, dtype=float) @ A.T
    expected = ((values >= lower) & (values <= upper)).all(axis=1)
    assert 0 < expected.sum() < 500
    for constraint in (LinearConstraint(A, lower, upper), NonlinearConstraint(lambda x: A @ x, lower, upper)):
        np.testing.assert_array_equal(Region(space, [constraint]).allows(points), expected)


def test_parameters_without_names_are_numbered() -> None:
    assert parameter_names(SQUARE) == ("x0", "x1")
    assert parameter_names(MIXED) == MIXED.names
    assert Region(SQUARE, ["x1 <= 0.5"]).allows([[0.9, 0.4], [0.1, 0.6]]).tolist() == [True, False]


def test_parsed_and_unparsed_constraints_are_alike() -> None:
    text = "0.2 <= x0 <= x1"
    points = SQUARE.sample(100, np.random.default_rng(0))
    parsed = parse_constraint(text)
    for constraints in ([text], [parsed], list(parsed)):
        region = Region(SQUARE, constraints)
        assert region.labels == ("0.2 <= x0", "x0 <= x1")
        np.testing.assert_array_equal(region.allows(points), [0.2 <= a <= b for a, b in points])


def test_no_constraints_allow_all() -> None:
    region = Region(SQUARE, [])
    assert region.allows_all
    assert not region.is_empty
    assert region.allows([[0.5, 0.5]]).all()
    assert region.violations([[0.5, 0.5]]).shape == (1, 0)
    assert sampled(region, 3) == SQUARE.sample(3, np.random.default_rng(0))


# ---- uniform ----


def test_a_ring_of_a_ten_thousandth_is_sampled_uniformly() -> None:
    region = Region(*REGIONS["thin ring"])
    points = np.array(region.sample(600, np.random.default_rng(1))) - 0.5
    angle, radius = np.arctan2(points[:, 1], points[:, 0]), np.hypot(*points.T)
    # Equal areas: sectors, and the inner and the outer half of the ring.
    sector = np.floor((angle + np.pi) / (2 * np.pi) * 24).astype(int) % 24
    outer = radius**2 > (0.3**2 + 0.30005**2) / 2
    assert stats.chisquare(np.bincount(2 * sector + outer, minlength=48)).pvalue > 1e-3


@pytest.mark.parametrize("size", [1e-3, 3e-4, 1e-5])
def test_disconnected_parts_get_their_shares(size: float) -> None:
    # Discs of radius r and 2 r, of 1.6e-5 to 1.6e-9 of the square: by rejection, on the way, and by simulation.
    text = f"min(hypot2, hypot1 / 4) <= {size**2!r}"
    text = text.replace("hypot2", "(x0 - 0.2) ** 2 + (x1 - 0.2) ** 2")
    text = text.replace("hypot1 / 4", "((x0 - 0.8) ** 2 + (x1 - 0.7) ** 2) / 4")
    points = np.array(Region(SQUARE, [text]).sample(500, np.random.default_rng(1)))
    small = points[:, 0] < 0.5
    # Subset simulation carries the scatter of a few hundred survivors per level, which a sample of 500 adds to.
    assert small.mean() == pytest.approx(0.2, abs=0.07)
    for part, center, radius in ((points[small], (0.2, 0.2), size), (points[~small], (0.8, 0.7), 2 * size)):
        squared = np.sum((part - center) ** 2, axis=1) / radius**2
        assert stats.kstest(squared, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("d", [4, 10])
def test_a_corner_of_the_cube_is_sampled_uniformly(d: int) -> None:
    text = " + ".join(f"x{i}" for i in range(d)) + " <= 0.5"  # 0.26 % and 2.7e-10 of the cube
    points = 2.0 * np.array(Region(Space([(0, 1)] * d), [text]).sample(1000, np.random.default_rng(1)))
    assert stats.kstest(points.sum(axis=1) ** d, "uniform").pvalue > 1e-3
    for column in points.T:
        assert stats.kstest(column, stats.beta(1, d).cdf).pvalue > 1e-3


def test_a_small_ball_is_sampled_uniformly() -> None:
    d, radius = 6, 0.02  # 3.3e-10 of the cube
    text = " + ".join(f"(x{i} - 0.3) ** 2" for i in range(d)) + f" <= {radius**2!r}"
    points = np.array(Region(Space([(0, 1)] * d), [text]).sample(1000, np.random.default_rng(0))) - 0.3
    inner = (np.linalg.norm(points, axis=1) / radius) ** d
    assert stats.kstest(inner, "uniform").pvalue > 1e-3
    assert np.abs(points.mean(axis=0) / radius).max() < 0.07


def test_finite_spaces_are_sampled_as_the_unit_cube_is() -> None:
    space = Space({"n": Integer(1, 8, log=True), "c": Categorical(["a", "b"])})
    region = Region(space, [lambda x: x["c"] == "a" or x["n"] <= 2])
    sample = sampled(region, 4000)
    weights = {n: math.log((n + 0.5) / (n - 0.5)) for n in range(1, 9)}
    expected = {(n, c): w for n, w in weights.items() for c in "ab" if c == "a" or n <= 2}
    counts = [sum(tuple(x) == key for x in sample) for key in expected]
    shares = np.array(list(expected.values())) / sum(expected.values())
    assert sum(counts) == 4000
    assert stats.chisquare(counts, 4000 * shares).pvalue > 1e-3


# ---- even ----


def test_designs_fill_a_thin_ring_evenly() -> None:
    region = Region(*REGIONS["thin ring"])
    for seed in range(3):
        points = np.array(region.design(36, np.random.default_rng(seed))) - 0.5
        counts = np.bincount(
            np.floor((np.arctan2(*points.T) + np.pi) / (2 * np.pi) * 12).astype(int) % 12, minlength=12
        )
        # As even as independent points would be once in a thousand times.
        assert stats.chisquare(counts).pvalue > 0.999


@pytest.mark.parametrize("name", ["half", "polytope", "ring", "mixed", "few points"])
def test_designs_are_spread_as_large_samples_are(name: str) -> None:
    region = Region(*REGIONS[name])
    rng = np.random.default_rng(0)
    reference = region.space.nearest(region.sample(1000, rng))

    def energy(codes: np.ndarray) -> float:
        codes = region.space.nearest(codes)
        return float(2.0 * cdist(codes, reference).mean() - cdist(codes, codes).mean())

    designs = [energy(region.design(16, rng)) for _ in range(3)]
    samples = [energy(region.sample(16, rng)) for _ in range(10)]
    assert max(designs) < min(samples)


def test_designs_give_disconnected_parts_their_shares() -> None:
    text = "min((x0 - 0.2) ** 2 + (x1 - 0.2) ** 2, ((x0 - 0.8) ** 2 + (x1 - 0.7) ** 2) / 4) <= 1e-3"
    points = np.array(Region(SQUARE, [text]).design(20, np.random.default_rng(0)))
    assert 3 <= (points[:, 0] < 0.5).sum() <= 5


def test_few_points_are_all_in_a_design_that_asks_for_more() -> None:
    region = Region(Space({"n": Integer(0, 9), "m": Integer(0, 9)}), ["n + m <= 2"])
    design = region.design(50, np.random.default_rng(0))
    assert sorted(design.tolist()) == sorted(region.codes.tolist())
    assert len(design) == 6


def test_spread_evenly_takes_points_once() -> None:
    chosen = spread_evenly(np.array([[0.0], [0.0], [1.0]]), 3)
    assert sorted(chosen.tolist()) == [0, 1, 2]


# ---- slacks ----


@pytest.mark.parametrize("with_jacobian", [True, False])
def test_slacks_and_their_gradients(with_jacobian: bool) -> None:
    space = Space({"rate": Real(1e-3, 1.0, log=True), "n": Integer(1, 9), "width": Real(-1.0, 3.0)})
    numbers = NonlinearConstraint(
        lambda x: [x[0] * x[2], x[2] ** 2],
        [-np.inf, 0.1],
        [1.0, 4.0],
        jac=(lambda x: [[x[2], 0.0, x[0]], [0.0, 0.0, 2 * x[2]]]) if with_jacobian else "2-point",
    )
    region = Region(space, ["0 <= rate * n - width <= 2", "exp(width) <= n", numbers])
    codes = space.encode(space.sample(20, np.random.default_rng(0)))
    slacks, gradients = region.slacks(codes)
    assert slacks.shape == (20, 6)
    np.testing.assert_array_equal((slacks >= 0.0).all(axis=1), region.allows(space.decode(codes)))
    assert not gradients[:, :, 1].any()
    for j in (0, 2):
        step = np.zeros(3)
        step[j] = 1e-6
        difference = (region.slacks(codes + step)[0] - region.slacks(codes - step)[0]) / 2e-6
        np.testing.assert_allclose(gradients[:, :, j], difference, rtol=1e-4, atol=1e-4)


def test_straight_slacks_are_recognized() -> None:
    space = Space({"a": (0, 1), "b": (0, 1), "rate": Real(0.1, 1.0, log=True), "n": Integer(1, 9)})
    region = Region(space, ["0 <= a + b <= 1.5", "a * n <= 5", "a * b <= 1", "a <= rate", "n ** 2 <= 50"])
    assert region.straight.tolist() == [True, True, True, False, False, True]


# ---- refusals ----


@pytest.mark.parametrize(
    ("space", "constraint", "message"),
    [
        (MIXED, "widht <= 3", "\"widht <= 3\" mentions 'widht', which is not a parameter: did you mean 'width'?"),
        (SQUARE, "y <= 3", "constraints: \"y <= 3\" mentions 'y', which is not a parameter: the parameters are x0, x1"),
        (MIXED, "scheme <= 3", "\"scheme <= 3\" computes with 'scheme', whose choices are not all numbers; "),
        (SQUARE, "0.5 <= x0 <= 0.5", 'constraints: "0.5 <= x0 <= 0.5" is an equality, which leaves nothing to search'),
        (SQUARE, LinearConstraint([[1, 1]], 1, 1), "is an equality"),
        (SQUARE, NonlinearConstraint(math.dist, 1, 1), 'constraints: "dist" is an equality'),
        (SQUARE, LinearConstraint([[1, 1, 1]], 0, 1), "must have 2 columns of finite numbers"),
        (SQUARE, LinearConstraint([[0, 0]], 1, 2), "a row of zeros in a LinearConstraint must allow 0, got 1.0 to 2.0"),
        (MIXED, LinearConstraint([[1] * 6], 0, 1), "needs numbers only, and 'order' is a Categorical"),
        (SQUARE, "x0 <=", "ends at column 6"),
    ],
)  # fmt: skip
def test_constraints_that_do_not_fit_are_refused(space: Space, constraint: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Region(space, [constraint])


@pytest.mark.parametrize("constraint", [3, None, {"type": "ineq"}, ()])
def test_other_objects_are_refused(constraint: object) -> None:
    with pytest.raises(
        TypeError, match=r"^constraints must be text such as .*, functions that return True or False"
    ):
        Region(SQUARE, [constraint])


def test_a_lonely_constraint_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^constraints must be a list, got 'x0 <= 1'; write \['x0 <= 1'\]"):
        Region(SQUARE, "x0 <= 1")  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [0.5, 1, None, np.array([True]), "yes"])
def test_functions_must_say_yes_or_no(answer: object) -> None:
    def heavy(x: np.ndarray) -> object:
        return answer

    message = r"^constraints: heavy must return True or False, got .*; use scipy.optimize.NonlinearConstraint"
    with pytest.raises(ValueError, match=message):
        Region(SQUARE, [heavy]).allows([[0.5, 0.5]])


def test_functions_are_asked_only_where_the_rest_holds() -> None:
    def asked(x: np.ndarray) -> bool:
        return bool(math.sqrt(x[0] - 0.5) >= 0.0)

    region = Region(SQUARE, ["x0 >= 0.5", asked])
    assert region.allows([[0.2, 0.5], [0.7, 0.5]]).tolist() == [False, True]
    assert len(region.sample(100, np.random.default_rng(0))) == 100


def test_errors_of_functions_are_not_swallowed() -> None:
    def broken(x: np.ndarray) -> bool:
        raise KeyError("mass")

    with pytest.raises(KeyError, match="mass"):
        Region(SQUARE, [broken]).sample(1, np.random.default_rng(0))


# ---- nothing left ----

CUBE = Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)})


@pytest.mark.parametrize(
    ("space", "constraints", "message"),
    [
        (
            CUBE,
            ["a + b >= 1.5", "c <= 0.5", "a <= 0.4"],
            'constraints: "a + b >= 1.5" and "a <= 0.4" exclude each other within the bounds',
        ),
        (CUBE, ["c <= 0.5", "a >= 2"], 'constraints: "a >= 2" holds nowhere within the bounds'),
        (
            Space({"a": (0, 1), "n": Integer(1, 20_000)}),
            ["a >= n", "n >= 2"],
            'constraints: "a >= n" and "n >= 2" exclude each other within the bounds',
        ),
        (
            CUBE,
            ["a ** 2 + b ** 2 <= 0.01", "c <= 0.5", "a * b >= 0.2"],
            'constraints: no point was found that satisfies "a ** 2 + b ** 2 <= 0.01" and "a * b >= 0.2"; the ',
        ),
        (
            Space({"n": Integer(1, 50), "m": Integer(1, 50)}),
            ["n * m <= 3", "n <= 40", "n + m >= 50"],
            'constraints: no point of the space satisfies "n * m <= 3" and "n + m >= 50"',
        ),
        (
            CUBE,
            [lambda x: False],
            'constraints: no point was found that satisfies "<lambda>"; the closest, a = ',
        ),
    ],
)
def test_nothing_left_is_an_error_that_says_why(space: Space, constraints: list, message: str) -> None:
    region = Region(space, constraints)
    assert region.is_empty
    for make in (region.sample, region.design):
        with pytest.raises(EmptyRegionError, match="^" + re.escape(message)):
            make(3, np.random.default_rng(0))


def test_the_closest_point_is_told() -> None:
    region = Region(CUBE, ["(a - 0.3) ** 2 + b ** 2 <= -1"])
    with pytest.raises(EmptyRegionError) as caught:
        region.sample(1, np.random.default_rng(0))
    found = re.search(r"the closest, a = (\S+), b = (\S+), c = \S+, violates .* by (\S+)$", str(caught.value))
    assert float(found[1]) == pytest.approx(0.3, abs=0.05)
    assert float(found[2]) == pytest.approx(0.0, abs=0.05)
    assert float(found[3]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("term", ["x1", "x0 * x1"])
def test_a_constraint_of_thousands_of_terms_is_evaluated_a_few_times_for_the_first_point(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 1 + 16_000 // len(f" + {term}")
    evaluated: list[int] = []
    run = Expression.evaluate

    def counted(self: Expression, values: Any, wrt: Any) -> Any:
        evaluated.append(len(self.program))
        return run(self, values, wrt)

    monkeypatch.setattr(Expression, "evaluate", counted)
    Optimizer(SQUARE, rng=0, constraints=[f"{' + '.join(n * [term])} <= {n // 2}"]).ask()
    assert sum(length > n for length in evaluated) < 20  # each takes a tenth of a second


def test_rejection_needs_no_scipy() -> None:
    code = (
        "import sys, numpy as np; from tcgp.region import Region; from tcgp.space import Space; "
        "Region(Space([(0, 1)] * 2), ['x0 <= 0.1 * x1']).design(5, np.random.default_rng(0)); "
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
