"""Runs over fixed parameters, steps and ordered choices: only valid points, and the right one in the end."""

from __future__ import annotations

import pytest

import tcgp

MESH = ["coarse", "medium", "fine", "finest"]
SPACE = {
    "length": tcgp.Real(0.0, 5.0, step=0.25),
    "layers": tcgp.Integer(2, 20, step=3),
    "mesh": tcgp.Categorical(MESH, ordered=True),
    "angle": (-1.0, 1.0),
    "gravity": 9.81,
    "alloy": "steel",
}


def cost(p):
    return (
        (p["length"] - 3.1) ** 2
        + 0.1 * (p["layers"] - 12) ** 2
        + (MESH.index(p["mesh"]) - 2) ** 2
        + (p["angle"] - 0.4) ** 2
        + p["gravity"]
    )


@pytest.mark.parametrize("constraints", [(), ("length + 0.1 * layers <= 5",), ("angle * gravity <= 8",)])
def test_the_best_of_the_allowed_points_is_found(constraints, tmp_path):
    journal = tmp_path / "run.jsonl"
    result = tcgp.minimize(cost, SPACE, n_evals=28, constraints=constraints, rng=0, journal=journal)
    for x in result.x_iters:
        tcgp.Space(SPACE).check(x)
    assert (result.x["length"], result.x["layers"], result.x["mesh"]) == (3.0, 11, "fine")
    assert (result.x["gravity"], result.x["alloy"]) == (9.81, "steel")
    assert result.x["angle"] == pytest.approx(0.4, abs=0.05)
    again = tcgp.minimize(cost, SPACE, n_evals=28, constraints=constraints, journal=journal)
    assert again.fun == result.fun


def test_fixed_parameters_do_not_enlarge_the_initial_design():
    free = {"a": (0.0, 1.0), "b": tcgp.Integer(0, 9)}
    fixed = {"c": 9.81, "d": "steel", "e": tcgp.Integer(3, 3)}
    assert (
        tcgp.Optimizer({**free, **fixed}).settings.n_initial == tcgp.Optimizer(free).settings.n_initial == 4
    )
    assert tcgp.Optimizer([tcgp.Integer(3, 3)]).settings.n_initial == 3


def test_a_finite_space_of_steps_is_exhausted_without_repetition():
    result = tcgp.minimize(
        lambda p: (p["a"] - 0.3) ** 2 + p["b"],
        {"a": tcgp.Real(0.0, 1.0, step=0.1), "b": 1.0},
        n_evals=30,
        rng=0,
    )
    assert (result.nfev, result.fun) == (11, 1.0)
    assert result.status == 2


@pytest.mark.parametrize("constraint", ["a + b <= 2", lambda p: p["a"] + p["b"] <= 2])
def test_a_design_larger_than_the_allowed_part_ends_with_its_last_point(constraint):
    space = {"a": tcgp.Integer(0, 5), "b": tcgp.Integer(0, 5)}
    result = tcgp.minimize(lambda p: p["a"] - p["b"], space, n_evals=30, constraints=[constraint], rng=0)
    assert (result.nfev, result.fun, result.status) == (6, -2.0, 2)


def test_the_report_shows_them(tmp_path):
    path = tmp_path / "run.html"
    tcgp.minimize(cost, SPACE, n_evals=9, rng=0, report=path)
    assert "steel" in path.read_text()
