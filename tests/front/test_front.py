"""Fronts, volumes and boxes: against brute force, inclusion and exclusion, and plain Monte Carlo."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tcgp.front import boxes, choose, hypervolume, knee, non_dominated, reference_point


def clouds():
    """Data of two to four objectives; the second half has ties in single objectives, and equal rows."""
    for m, seed in itertools.product((2, 3, 4), range(4)):
        Y = np.random.default_rng(seed).random((12, m))
        if seed % 2:
            Y = np.round(4.0 * Y) / 4.0
        yield pytest.param(Y, id=f"m={m}, seed {seed}")


CLOUDS = list(clouds())


def dominated_by_some(Y, points):
    return (Y[None] <= points[:, None]).all(axis=2).any(axis=1)


@pytest.mark.parametrize("Y", CLOUDS)
def test_points_that_nothing_dominates_are_found_by_comparing_all_pairs(Y):
    expected = [
        not any((Y[j] <= Y[i]).all() and ((Y[j] < Y[i]).any() or j < i) for j in range(len(Y)) if j != i)
        for i in range(len(Y))
    ]
    assert non_dominated(Y).tolist() == expected


@pytest.mark.parametrize("Y", CLOUDS)
def test_hypervolume_equals_inclusion_and_exclusion(Y):
    reference = np.full(Y.shape[1], 0.95)
    inside = Y[(reference > Y).all(axis=1)]
    inside = inside[non_dominated(inside)]
    expected = sum(
        (-1) ** (k + 1) * np.prod(reference - inside[list(rows)].max(axis=0))
        for k in range(1, len(inside) + 1)
        for rows in itertools.combinations(range(len(inside)), k)
    )
    # Up to 4,095 terms of at most 1, each correct to rounding.
    assert hypervolume(Y, reference) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("Y", CLOUDS)
def test_boxes_hold_each_point_that_is_not_dominated_exactly_once(Y):
    reference = np.full(Y.shape[1], 0.9)
    lower, upper = boxes(Y, reference)
    points = np.random.default_rng(9).uniform(-0.5, 1.0, (4000, Y.shape[1]))
    held = ((lower < points[:, None]) & (points[:, None] <= upper)).all(axis=2).sum(axis=1)
    expected = (points <= reference).all(axis=1) & ~dominated_by_some(Y, points)
    assert held.tolist() == expected.astype(int).tolist()


@pytest.mark.parametrize("Y", CLOUDS)
def test_boxes_and_the_dominated_part_fill_the_space_below_the_reference(Y):
    reference, floor = np.full(Y.shape[1], 1.0), np.full(Y.shape[1], -0.25)
    lower, upper = boxes(Y, reference)
    free = np.prod(upper - np.maximum(lower, floor), axis=1).sum()
    assert free + hypervolume(Y, reference) == pytest.approx(np.prod(reference - floor), abs=1e-13)


@pytest.mark.parametrize(("m", "per_point"), [(2, 1), (3, 2)])
def test_boxes_are_as_few_as_can_be(m, per_point):
    sphere = np.abs(np.random.default_rng(0).standard_normal((30, m)))
    front = 1.0 - sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
    assert len(boxes(front, np.ones(m))[0]) == per_point * len(front) + 1


def test_without_a_point_below_the_reference_there_is_one_box_and_no_volume():
    front, reference = np.array([[2.0, 0.0]]), np.ones(2)
    assert [side.tolist() for side in boxes(front, reference)] == [[[-np.inf, -np.inf]], [[1.0, 1.0]]]
    assert hypervolume(front, reference) == 0.0


def test_reference_lies_a_tenth_of_the_range_beyond_the_front():
    front = np.array([[0.0, 5.0, 1.0], [10.0, 4.0, 0.0]])
    assert reference_point(front, np.vstack([front, [50.0, 7.0, 9.0]])).tolist() == [11.0, 5.1, 1.1]


def test_while_one_point_dominates_all_others_the_reference_comes_from_the_next_best():
    data = np.array([[0.0, 0.0], [0.0, 10.0], [9.0, 20.0], [10.0, 10.0], [1e6, 1e9]])
    assert reference_point(data[:1], data).tolist() == [11.0, 22.0]
    assert reference_point(data[:1], data[:1]).tolist() == [1.0, 1.0]


def test_choices_depend_on_no_units():
    front = np.array([[0.0, 9.0], [1.0, 4.0], [2.0, 2.0], [5.0, 1.0], [9.0, 0.0]])
    other = front * [1e6, 1e-9] + [3.0, -7.0]
    assert knee(front) == knee(other) == 2
    for weights in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 5.0]):
        assert choose(front, np.array(weights)) == choose(other, np.array(weights))


def test_each_point_of_a_concave_front_is_chosen_by_some_weights():
    angle = np.linspace(0.0, np.pi / 2, 7)
    front = np.column_stack([np.sin(angle), np.cos(angle)])
    chosen = {choose(front, np.array([w, 1.0 - w])) for w in np.linspace(0.0, 1.0, 101)}
    assert chosen == set(range(7))


def test_all_weight_on_one_objective_gives_its_best_point_even_among_equals():
    front = np.array([[0.0, 5.0, 3.0], [0.0, 4.0, 4.0], [1.0, 0.0, 0.0]])
    assert choose(front, np.array([1.0, 0.0, 0.0])) == 0
    assert choose(front, np.array([0.0, 1.0, 0.0])) == 2
