"""Spaces: what a point is, and its way to the unit cube and back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds
from scipy.spatial.distance import pdist

import tcgp
from tcgp.space import Categorical, Integer, Real, Space

MIXED = Space(
    {
        "length": Real(-3.0, 5.0),
        "rate": Real(1e-6, 1e2, log=True),
        "count": Integer(-2, 7),
        "layers": Integer(1, 1000, log=True),
        "kind": Categorical(["a", "b", "c"]),
        "flag": Categorical([True, False]),
        "fixed": Categorical(["only"]),
    }
)


def test_pairs_and_scipy_bounds_mean_reals() -> None:
    expected = Space([Real(0.0, 1.0), Real(-2.0, 3.0)])
    assert Space([(0, 1), (-2, 3)]) == expected
    assert Space(np.array([[0.0, 1.0], [-2.0, 3.0]])) == expected
    assert Space(Bounds([0, -2], [1, 3])) == expected
    assert Space(expected) == expected


def test_number_of_coordinates_counts_one_hot_codes() -> None:
    # 2 reals, 2 integers, 3 for three choices, 1 for two choices, 0 for one choice
    assert MIXED.dim == 8
    assert len(MIXED) == 7


def test_size_is_finite_only_without_reals() -> None:
    assert MIXED.size == math.inf
    assert Space([Integer(1, 3), Categorical(["ab", "cd"]), Integer(0, 1)]).size == 12


def test_points_lists_every_point_once() -> None:
    space = Space([Integer(1, 3), Categorical(["x", "y"])])
    assert list(space.points()) == [[1, "x"], [1, "y"], [2, "x"], [2, "y"], [3, "x"], [3, "y"]]


@given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8))
def test_decoded_points_are_valid_and_stay_where_they_are(code: list[float]) -> None:
    (point,) = MIXED.decode([code])
    assert MIXED.check(point) == point
    snapped = MIXED.encode([point])
    assert np.all((snapped >= 0.0) & (snapped <= 1.0))
    (again,) = MIXED.decode(snapped)
    # Discrete values come back exactly; a real goes through one division and one product, or a log and an exp,
    # each with a relative error of a few 1e-16 of the range.
    assert again[2:] == point[2:]
    assert again[0] == pytest.approx(point[0], abs=1e-14)
    assert again[1] == pytest.approx(point[1], rel=1e-13)


@given(st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7))
def test_shares_give_valid_points(shares: list[float]) -> None:
    (point,) = MIXED.from_unit([shares])
    assert MIXED.check(point) == point


def test_values_are_plain_python_objects() -> None:
    (point,) = MIXED.decode(np.full((1, 8), 0.5))
    assert [type(value) for value in point] == [float, float, int, int, str, bool, str]


@pytest.mark.parametrize("dimension", [Integer(-2, 7), Integer(1, 30, log=True), Integer(5, 5)])
def test_integers_round_trip(dimension: Integer) -> None:
    for value in dimension.values():
        assert dimension.decode(dimension.encode(value)) == value


def test_integers_at_the_largest_range_round_trip() -> None:
    dimension = Integer(0, 2**52 - 1)
    for value in (0, 1, 2**51, 2**52 - 1):
        assert dimension.decode(dimension.encode(value)) == value


def test_linear_integers_are_equally_likely() -> None:
    values = [row[0] for row in Space([Integer(0, 4)]).from_unit((np.arange(1000)[:, None] + 0.5) / 1000)]
    assert np.bincount(values).tolist() == [200] * 5


def test_categories_are_equally_far_from_each_other() -> None:
    codes = Space([Categorical(["a", "b", "c", "d"])]).encode([["a"], ["b"], ["c"], ["d"]])
    distances = {round(float(np.linalg.norm(p - q)), 12) for p in codes for q in codes if (p != q).any()}
    assert len(distances) == 1


def test_the_code_of_one_of_many_choices_is_bounded_and_depends_on_the_choice_alone() -> None:
    names = [f"alloy {i}" for i in range(1000)]
    space = Space({"alloy": Categorical(names), "x": Real(0.0, 1.0)})
    assert space.dim == 65
    points = [[name, 0.25] for name in names]
    codes = space.encode(points)
    assert space.decode(codes) == points
    assert space.decode(np.clip(codes + 0.2 * np.sin(np.arange(65)), 0.0, 1.0)) == [
        [name, pytest.approx(0.25, abs=0.2)] for name in names
    ]
    distances = pdist(codes, "sqeuclidean")
    assert distances.min() >= 10.0  # of 32 expected: no two choices are nearly the same
    fewer = Space([Categorical(names[::-5])])
    assert (fewer.encode([["alloy 4"]])[0] == codes[4, :64]).all()


def test_real_bounds_are_reached_exactly() -> None:
    for dimension in (Real(0.1, 0.3), Real(1e-3, 0.7, log=True)):
        assert dimension.quantile(0.0) == dimension.low
        assert dimension.quantile(1.0) == dimension.high


def test_neighbours_differ_in_one_discrete_parameter() -> None:
    (code,) = MIXED.encode([[0.0, 1.0, 3, 10, "a", True, "only"]])
    (point,), neighbours = MIXED.decode([code]), MIXED.decode(MIXED.neighbours(code))
    assert all(sum(a != b for a, b in zip(point, q, strict=True)) == 1 for q in neighbours)
    assert all(MIXED.check(q) == q and q[:2] == point[:2] for q in neighbours)
    assert {q[4] for q in neighbours} == {"a", "b", "c"}
    assert {2, 4} <= {q[2] for q in neighbours}


def test_space_and_points_survive_json() -> None:
    rng = np.random.default_rng(0)
    again = Space.from_json(json.loads(json.dumps(MIXED.to_json())))
    assert again == MIXED
    assert again.names == MIXED.names
    points = MIXED.sample(100, rng)
    assert json.loads(json.dumps(points)) == points


def test_spaces_with_other_names_or_bounds_differ() -> None:
    assert Space({"a": (0, 1)}) != Space({"b": (0, 1)})
    assert Space([(0, 1)]) != Space([(0, 2)])
    assert Space([(0, 1)]) != Space([Integer(0, 1)])


def test_a_function_gets_an_array_a_dict_or_a_list() -> None:
    assert isinstance(Space([(0, 1)]).as_argument([0.5]), np.ndarray)
    assert Space({"a": (0, 1)}).as_argument([0.5]) == {"a": 0.5}
    assert Space([(0, 1), Integer(0, 3)]).as_argument([0.5, 2]) == [0.5, 2]


def test_check_accepts_arrays_mappings_and_numpy_scalars() -> None:
    assert Space([(0, 1), (0, 1)]).check(np.array([0.25, 1])) == [0.25, 1.0]
    assert Space({"a": (0, 1), "n": Integer(0, 9)}).check({"n": np.int64(3), "a": 1}) == [1.0, 3]
    assert Space([(0, 1)]).check(0.5) == [0.5]
    assert Space([Integer(0, 9)]).check([3.0]) == [3]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([0.5], "needs 2 values"),
        ("ab", "needs 2 values"),
        ([0.5, 1.5], r"parameter 1: 1\.5 is not an integer between 0 and 9"),
        ([2.0, 1], r"parameter 0: 2\.0 is not a number between 0\.0 and 1\.0"),
        ([math.nan, 1], "parameter 0: nan"),
        (["x", 1], "parameter 0: 'x'"),
        ([True, 1], "parameter 0: True"),
        ({"a": 1}, "have no names"),
    ],
)
def test_points_outside_the_space_are_refused_with_a_sentence(point: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Space([(0, 1), Integer(0, 9)]).check(point)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(1.0, 1.0), "low < high"),
        (lambda: Real(0.0, math.inf), "finite"),
        (lambda: Real(math.nan, 1.0), "finite"),
        (lambda: Real(-1e308, 1e308), "finite range"),
        (lambda: Real(0.0, 1.0, log=True), "low > 0"),
        (lambda: Real(1e10, math.nextafter(1e10, 2e10), log=True), "logarithms differ"),
        (lambda: Integer(3, 2), "low <= high"),
        (lambda: Integer(0.5, 2), "integers"),  # type: ignore[arg-type]
        (lambda: Integer(0, 5, log=True), "low >= 1"),
        (lambda: Integer(0, 2**60), "use a Real"),
        (lambda: Categorical([]), "at least one"),
        (lambda: Categorical("abc"), "sequence of choices"),
        (lambda: Categorical(["a", "a"]), "differ"),
        (lambda: Categorical([[1], [2]]), "use a name"),
        (lambda: Categorical([math.nan]), "finite number"),
        (lambda: Space([]), "at least one parameter"),
        (lambda: Space({"a": (1, 0)}), "parameter 'a'"),
    ],
)
def test_bad_dimensions_are_refused_with_a_sentence(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("bad", [3, "ab", [3], [(1, 2, 3)]])
def test_what_is_no_space_is_a_type_error(bad: object) -> None:
    with pytest.raises(TypeError, match="pair"):
        Space(bad)


# ---- steps, ordered choices, fixed parameters ----


def test_steps_are_exact_decimals_up_to_the_bound() -> None:
    assert list(Real(0.0, 1.0, step=0.1).values())[3:] == [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert list(Real(-1.0, 1.1, step=0.5).values()) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert list(Real(0.9, 1.0, step=0.1).values()) == [0.9, 1.0]  # 1.0 - 0.9 < 0.1 in binary
    assert list(Integer(1, 10, step=4).values()) == [1, 5, 9]


LADDERS = [
    Real(0.0, 1.0, step=0.1),
    Real(-1.0, 1.1, step=0.5),
    Integer(1, 10, step=4),
    Integer(0, 1000, step=7),
    Categorical(["coarse", "medium", "fine"], ordered=True),
    Categorical([1, 10, 100, 1000], ordered=True),
]


@pytest.mark.parametrize("dimension", LADDERS, ids=repr)
def test_ladders_round_trip_and_keep_their_order(dimension: Real | Integer | Categorical) -> None:
    values = list(dimension.values())
    codes = [dimension.encode(value) for value in values]
    assert len(values) == dimension.size
    assert [dimension.decode(code) for code in codes] == values
    assert [dimension.check(value) for value in values] == values
    assert codes == sorted(codes)
    np.testing.assert_allclose(np.diff([u for (u,) in codes]), 1.0 / len(values))
    (again,) = Space.from_json(json.loads(json.dumps(Space([dimension]).to_json()))).dimensions
    assert again == dimension


@pytest.mark.parametrize("dimension", LADDERS, ids=repr)
@given(u=st.floats(0.0, 1.0))
def test_any_code_of_a_ladder_is_a_value_of_it(dimension: Real | Integer | Categorical, u: float) -> None:
    value = dimension.decode((u,))
    assert dimension.check(value) == value
    assert abs(dimension.encode(value)[0] - u) <= 0.5 / dimension.size + 1e-12
    assert set(dimension.neighbours(value)) <= set(dimension.values()) - {value}


def test_a_value_beside_a_step_is_refused_and_a_rounded_one_is_put_on_it() -> None:
    dimension = Real(0.0, 1.0, step=0.1)
    assert dimension.check(0.1 + 0.2) == 0.3
    with pytest.raises(
        ValueError, match=r"0\.25 is not 0\.0 plus a multiple of the step 0\.1; the nearest is 0\.2"
    ):
        dimension.check(0.25)
    with pytest.raises(ValueError, match="3 is not 1 plus a multiple of the step 4"):
        Integer(1, 10, step=4).check(3)


@pytest.mark.parametrize("bad", [0.0, -0.1, 2.0, math.nan, "x", True, 1e-20])
def test_bad_steps_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="Real needs a step between 0 and high - low"):
        Real(0.0, 1.0, step=bad)  # type: ignore[arg-type]


E24 = [10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91]


def test_a_series_of_resistors_is_searched_on_its_own_values() -> None:
    ohms = [value * 10.0**decade for decade in (1, 2, 3) for value in E24]
    dimension = Real(1e2, 1e4, choices=ohms, log=True)
    assert list(dimension.values()) == [value for value in ohms if 1e2 <= value <= 1e4]
    assert (dimension.low, dimension.high, dimension.size) == (100.0, 10000.0, 49)
    assert all(dimension.decode(dimension.encode(value)) == value for value in dimension.values())
    assert dimension.decode((0.5,)) == 1000.0
    assert dimension.check(4700 * (1 + 1e-12)) == 4700.0
    with pytest.raises(ValueError, match=r"4600 is not one of the choices; the nearest is 4700\.0"):
        dimension.check(4600)
    assert Space.from_json(Space({"R": dimension}).to_json()) == Space({"R": dimension})
    result = tcgp.minimize(lambda p: abs(p["R"] - 4600.0), {"R": dimension}, n_evals=15, rng=0)
    assert result.x == {"R": 4700.0}


@pytest.mark.parametrize("bad", [[1.0], [1.0, math.inf], "12", [1.0, "x"], 3.0])
def test_bad_choices_of_a_real_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="Real needs"):
        Real(choices=bad)


@pytest.mark.parametrize(
    "dimension", [Real(1.0, 2.0, log=True, step=0.1), Integer(10, 1000, log=True, step=10)]
)
def test_steps_go_with_logarithms(dimension: Real | Integer) -> None:
    values = list(dimension.values())
    assert [dimension.decode(dimension.encode(value)) for value in values] == values  # type: ignore[arg-type]
    assert dimension.quantile(0.5) < (dimension.low + dimension.high) / 2
    assert {dimension.quantile(u) for u in np.linspace(0, 1, 5001)} <= set(values)


def test_plain_values_are_fixed_parameters() -> None:
    space = Space({"a": (0.0, 1.0), "b": 2.5, "c": 3, "d": "steel", "e": True})
    assert (space.dim, space.size) == (1, math.inf)
    (point,) = space.decode([[0.25]])
    assert point == [0.25, 2.5, 3, "steel", True]
    assert [type(v) for v in point] == [float, float, int, str, bool]
    with pytest.raises(ValueError, match=r"parameter 'b': 2\.0 is not one of the choices \[2\.5\]"):
        space.check([0.25, 2.0, 3, "steel", True])


def test_fixed_floats_leave_a_vector_a_vector() -> None:
    argument = Space([(0.0, 1.0), 2.5]).as_argument([0.5, 2.5])
    assert isinstance(argument, np.ndarray)
    assert argument.tolist() == [0.5, 2.5]


def test_a_space_of_fixed_values_alone_is_a_mistake() -> None:
    with pytest.raises(
        TypeError, match=r"a \(low, high\) pair for each parameter that is not fixed, got \[0, 1\]"
    ):
        Space([0, 1])


@pytest.mark.parametrize(
    "space",
    [
        Space([(0.3, 7.1), (-2.0, 2.0), Real(1e-3, 50.0, log=True), Real(0.0, 1.0, step=0.1)]),
        Space([Real(choices=[1.0, 2.2, 4.7, 10.0], log=True), Real(0.1, 10.0, log=True, step=0.3)]),
        Space([Integer(-3, 9), Integer(2, 40, step=3), Integer(1, 3000, log=True), Integer(4, 4)]),
        Space(
            [
                Categorical(list("abcd")),
                Categorical([True, False]),
                Categorical([1]),
                Categorical(list("abc"), ordered=True),
            ]
        ),
        Space(
            [
                Categorical(list("xyz"), ordered=True),
                Categorical([f"n{i}" for i in range(70)]),
                "fixed",
                (0, 1),
            ]
        ),
    ],
)
def test_codes_of_many_points_are_those_of_each(space: Space) -> None:
    rng = np.random.default_rng(0)
    codes, shares = rng.random((300, space.dim)), rng.random((300, len(space)))
    codes[:3], shares[:3] = [[0.0], [1.0], [0.5]], [[0.0], [1.0], [0.5]]
    nearest = space.nearest(codes)
    np.testing.assert_array_equal(nearest, space.encode(space.decode(codes)))
    at_shares = space.at_shares(shares)
    assert space.decode(at_shares) == space.from_unit(shares)
    real = space.real_coordinates
    np.testing.assert_array_equal(at_shares[:, ~real], space.nearest(at_shares)[:, ~real])
    assert len(space.distinct(np.concatenate([codes, codes]))) == len(np.unique(nearest, axis=0))
    assert space.nearest(codes[:0]).shape == (0, space.dim)
