"""Data that users bring along: points nearly the same, outside known constraints, rounded, masked, or in a table."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint

from tcgp import Categorical, Integer, Optimizer, Real, minimize
from tcgp.optimizer import JournalError
from tcgp.region import EmptyRegionError


def square(x: float) -> float:
    return (x - 0.5) ** 2


# ---- points that a model cannot tell apart ----

TWINS = {
    "logarithmic": (Real(1e-3, 1e3, log=True), [0.7, 0.7000000000000001, 0.05, 5.0]),
    "linear": ((-1.0, 1.0), [0.0, 0.1 * 3 - 0.3, 0.5, -0.5]),
}


@pytest.mark.parametrize("method", ["auto", "tcgp", "regp"])
@pytest.mark.parametrize("kind", TWINS)
def test_two_points_with_one_code_do_not_end_a_run(kind: str, method: str) -> None:
    dimension, xs = TWINS[kind]
    optimizer = Optimizer([dimension], rng=0, n_initial=3, method=method)
    optimizer.tell([[x] for x in xs], [square(x) for x in xs])
    for _ in range(3):
        (x,) = optimizer.ask()
        optimizer.tell([x], square(x))
    assert len(optimizer.evaluations) == 7
    assert optimizer.fit_model().y.min() == optimizer.result().fun


def test_a_failure_beside_a_success_with_its_code_does_not_end_a_run() -> None:
    dimension, xs = TWINS["logarithmic"]
    optimizer = Optimizer([dimension], rng=0, n_initial=3)
    optimizer.tell([[x] for x in xs], [square(xs[0]), None, *map(square, xs[2:])])
    optimizer.ask()
    optimizer.ask()


def test_points_that_a_step_makes_one_keep_their_values() -> None:
    optimizer = Optimizer([(0.0, 1.0)], rng=0, n_initial=2, method="gp")
    optimizer.tell([[0.3], [0.3 + 5e-8], [0.9]], [2.0, 1.0, 3.0])
    optimizer.change_space([Real(0.0, 1.0, step=0.1)])
    optimizer.ask()
    assert optimizer.result().fun == 1.0
    optimizer.change_space([(0.0, 1.0)])
    assert [e.x for e in optimizer.evaluations] == [(0.3,), (0.3 + 5e-8,), (0.9,)]


def test_a_correction_of_a_point_moved_onto_a_step_lasts() -> None:
    optimizer = Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell([0.3 + 5e-8], 1.0)
    optimizer.change_space([Real(0.0, 1.0, step=0.1)])
    optimizer.correct([0.3], 50.0)
    optimizer.change_space([(0.0, 1.0)])
    assert [(e.x, e.y) for e in optimizer.evaluations] == [((0.3 + 5e-8,), 50.0)]


def test_rounded_copies_of_the_design_count_once() -> None:
    optimizer = Optimizer([(0.0, 1.0)], n_initial=6, rng=0, method="gp")
    sources = []
    for _ in range(7):
        proposal = optimizer.propose()
        sources.append(proposal.source)
        x = round(proposal.x[0], 8)
        optimizer.tell([x], x**2)
    assert sources == 6 * ["design"] + ["criterion"]
    assert len(optimizer.history) == len(optimizer.history.codes) == 7


# ---- points outside the known constraints ----


@pytest.mark.parametrize(
    "constraint", ["w >= 0.5", lambda p: p["w"] >= 0.5, LinearConstraint([[1.0]], lb=0.5)]
)
def test_a_value_outside_the_known_constraints_is_not_the_best(constraint: object) -> None:
    optimizer = Optimizer({"w": (0.0, 1.0)}, constraints=[constraint], rng=0, n_initial=2, method="gp")
    optimizer.tell([{"w": 0.1}, {"w": 0.8}], [0.0, 1.0])
    result = optimizer.result()
    assert (result.x, result.fun, result.success) == ({"w": 0.8}, 1.0, True)
    assert result.feasible.tolist() == [False, True]
    optimizer.ask()
    assert optimizer.trace[0]["best"] == 1.0


def test_a_run_resumed_with_a_function_as_constraint_has_the_same_best(tmp_path: Path) -> None:
    def allowed(x: np.ndarray) -> bool:
        return bool(x[0] >= 0.5)

    with Optimizer([(0.0, 1.0)], constraints=[allowed], rng=0, journal=tmp_path / "j.jsonl") as optimizer:
        optimizer.tell([[0.1], [0.8]], [0.0, 1.0])
    with Optimizer.resume(tmp_path / "j.jsonl", constraints=[allowed]) as resumed:
        assert resumed.result().fun == 1.0
        resumed.change_space([(0.0, 2.0)])
        assert resumed.result().fun == 1.0


def test_only_allowed_values_reach_the_target() -> None:
    result = minimize(
        lambda x: float(x[0]),
        [(0.0, 1.0)],
        n_evals=2,
        constraints="x0 >= 0.5",
        x0=[[0.1], [0.2]],
        y0=[0.1, 0.2],
        target=0.15,
        method="gp",
        rng=0,
    )
    assert result.nfev == 2
    assert result.fun >= 0.5


def test_without_an_allowed_value_there_is_no_success() -> None:
    optimizer = Optimizer([(0.0, 1.0)], constraints="x0 >= 0.5", rng=0)
    optimizer.tell([0.1], 0.0)
    result = optimizer.result()
    assert not result.success
    assert "no evaluation satisfies all constraints" in result.message


# ---- constraints are refused before a journal is written ----


@pytest.mark.parametrize(
    ("wrong", "error"),
    [("a >= 2", EmptyRegionError), (3, TypeError), (lambda p: 5, ValueError), ({}, TypeError)],
)
def test_wrong_constraints_leave_no_journal(wrong: object, error: type[Exception], tmp_path: Path) -> None:
    def run(constraints: object) -> None:
        minimize(lambda p: p["a"], {"a": (0, 1)}, n_evals=2, constraints=constraints, rng=0, journal=path)

    path = tmp_path / "run.jsonl"
    with pytest.raises(error, match="constraints"):
        run(wrong)
    assert not path.exists()
    run("a >= 0.2")


def test_a_limit_on_text_is_refused_at_once(tmp_path: Path) -> None:
    space = {"a": (0.0, 1.0), "c": Categorical(["u", "v"])}
    with pytest.raises(
        ValueError, match=r"'s <= 1 \+ c' computes with 'c', whose choices are not all numbers"
    ):
        Optimizer(space, objective="m", constraints="s <= 1 + c", journal=tmp_path / "run.jsonl")
    assert not (tmp_path / "run.jsonl").exists()


# ---- numbers that are none, and numbers of NumPy ----


@pytest.mark.parametrize(
    "answer",
    [np.ma.masked, np.ma.array([5.0], mask=[True]), np.complex128(1 + 2j), np.array([1 + 2j]), 1 + 2j],
)
def test_masked_and_complex_answers_are_failures(answer: object) -> None:
    result = minimize(lambda x: answer, [(0.0, 1.0)], n_evals=1, rng=0)
    assert len(result.failures) == 1
    assert math.isnan(result.fun)


@pytest.mark.parametrize("answer", [[3.0], (3.0,), np.array([[3.0]]), pd.Series([3.0]), [np.float32(3.0)]])
def test_an_answer_of_one_number_is_this_number(answer: object) -> None:
    optimizer = Optimizer([(0.0, 1.0), (0.0, 1.0)], rng=0)
    optimizer.tell([0.5, 0.5], answer)
    assert optimizer.result().fun == 3.0


def test_numbers_of_numpy_are_kept_in_a_journal(tmp_path: Path) -> None:
    settings = {
        "n_evals": np.int64(4),
        "n_initial": np.int64(2),
        "epsilon": np.float32(0.25),
        "patience": np.int32(9),
        "min_improvement": np.int64(1),
        "options": {"n_draws": np.int64(50)},
        "method": "bcrgp",
    }
    result = minimize(lambda x: x[0], [(0.0, 1.0)], journal=tmp_path / "run.jsonl", rng=0, **settings)
    assert result.nfev == 4
    with Optimizer.resume(tmp_path / "run.jsonl") as optimizer:
        assert (optimizer.settings.n_initial, optimizer.settings.epsilon) == (2, 0.25)


def test_a_step_never_leads_beyond_the_bound(tmp_path: Path) -> None:
    with Optimizer([Real(0, 100, step=100 / 3)], rng=0, journal=tmp_path / "run.jsonl") as optimizer:
        for _ in range(4):
            x = optimizer.ask()
            optimizer.tell(x, -x[0])
        assert optimizer.result().x[0] == 100.0
    Optimizer.resume(tmp_path / "run.jsonl").close()
    for n in range(2, 40):
        values = list(Real(0.0, 10.0, step=10.0 / n).values())
        assert len(values) == n + 1
        assert max(values) <= 10.0
    assert (
        Real(0, 100, step=100 / 3).check(100.00000000000001) == 100.0
    )  # as earlier versions kept it in journals


# ---- tables ----

TABLE = pd.DataFrame({"w": [0.1, 0.2], "mass": [3.0, 2.0], "s": [1.0, 1.0]})


def test_a_column_of_values_is_the_objective() -> None:
    given = {"x0": TABLE, "n_evals": 1, "rng": 0}
    named = minimize(lambda p: {"mass": p["w"]}, {"w": (0, 1)}, objective="mass", y0=TABLE["mass"], **given)
    assert named.func_vals[:2].tolist() == [3.0, 2.0]
    plain = minimize(lambda p: p["w"], {"w": (0, 1)}, y0=TABLE[["mass"]], **given)
    assert plain.func_vals[:2].tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y0": TABLE[["mass", "s"]]}, r"y0 must have one column unless objective .* got \['mass', 's'\]"),
        (
            {"y0": TABLE["mass"], "objective": "mass", "constraints": "s <= 2"},
            r"y0 must be mappings with the outputs \['mass', 's'\], got 3\.0",
        ),
        (
            {"y0": TABLE, "objective": "mas"},
            r"y0 must have the output 'mas', got \['w', 'mass', 's'\]; did you mean 'mass'",
        ),
        (
            {"y0": TABLE, "objective": "mass", "constraints": "strain <= 2"},
            "y0 must have the output 'strain'",
        ),
        (
            {"y0": [{"mass": 3.0}, {"mass": 2.0}]},
            r"y0 must be numbers unless objective names .* got the outputs \['mass'\]",
        ),
    ],
)
def test_values_that_are_not_enough_are_refused(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(lambda p: p["w"], {"w": (0, 1)}, n_evals=1, x0=TABLE, rng=0, **wrong)


def test_values_of_other_rows_are_refused() -> None:
    """Pandas matches rows by label, so values that were sorted belong to other points than their order says."""
    given = {"bounds": {"w": (0, 1)}, "n_evals": 1, "x0": TABLE[["w"]], "rng": 0}
    by_value = TABLE.sort_values("mass")["mass"]
    with pytest.raises(ValueError, match=r"y0 must have the row labels of x0 .* got \[1, 0\]"):
        minimize(lambda p: p["w"], y0=by_value, **given)
    with pytest.raises(ValueError, match=r"x0 in the same order, \[1, 0\], got \[0, 1\]"):
        minimize(lambda p: p["w"], y0=TABLE["mass"], **{**given, "x0": TABLE[["w"]].loc[[1, 0]]})
    for y0 in (by_value.loc[TABLE.index], by_value.sort_index().to_numpy()):
        assert minimize(lambda p: p["w"], y0=y0, **given).func_vals[:2].tolist() == [3.0, 2.0]


def test_tell_takes_the_rows_of_a_table_and_no_mapping_of_columns() -> None:
    optimizer = Optimizer({"w": (0, 1)}, objective="mass", rng=0)
    optimizer.tell([[0.1], [0.2]], TABLE[["mass", "s"]])
    assert [e.outputs for e in optimizer.evaluations] == [{"mass": 3.0, "s": 1.0}, {"mass": 2.0, "s": 1.0}]
    for wrong in ({"mass": [3.0, 2.0], "s": [1.0, 1.0]}, "ab"):
        with pytest.raises(ValueError, match="y must be a list of values, one for each point"):
            optimizer.tell([[0.3], [0.4]], wrong)


def test_the_labels_of_a_series_are_names() -> None:
    seen = []
    given = pd.Series({"b": 0.9, "a": 0.1})
    minimize(lambda p: seen.append(p) or 1.0, {"a": (0, 1), "b": (0, 1)}, n_evals=1, x0=given)
    assert seen == [{"a": 0.1, "b": 0.9}]


def test_a_point_of_arrays_without_dimensions_is_one_point() -> None:
    optimizer = Optimizer([(0, 1), (0, 1)], rng=0)
    optimizer.tell([np.array(0.3), np.array(0.4)], 1.0)
    assert optimizer.evaluations[0].x == (0.3, 0.4)


def test_the_row_of_a_wrong_point_is_named() -> None:
    with pytest.raises(ValueError, match=r"x0\[1\]: parameter 0: 7 is not a number between 0\.0 and 1\.0"):
        minimize(lambda x: 1.0, [(0, 1), (0, 1)], n_evals=1, x0=[[0.5, 0.5], [7, 0.5]])


# ---- what is left to find ----


def test_a_space_that_is_all_known_promises_nothing() -> None:
    optimizer = Optimizer({"k": Integer(0, 20)}, rng=0, method="gp")
    for k in range(21):
        optimizer.tell({"k": k}, (k - 7.3) ** 2)
    assert optimizer.share_below() == 0.0


def test_damage_is_still_damage(tmp_path: Path) -> None:
    """A value beyond the bound by more than rounding is refused in a journal, too."""
    path = tmp_path / "run.jsonl"
    with Optimizer([Real(0, 100, step=25)], rng=0, journal=path) as optimizer:
        optimizer.tell([100.0], 1.0)
    path.write_text(path.read_text().replace('"x": [100.0]', '"x": [101.0]'))
    with pytest.raises(JournalError, match="is damaged"):
        Optimizer.resume(path)


def test_points_of_the_user_that_count_as_one_are_not_left_out_silently(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for n_evals in (1, 2, 3):  # resumed, what is known is nothing to speak of
        minimize(
            sum,
            [(0.0, 1e12)],
            n_evals=n_evals,
            n_initial=3,
            x0=[[1.0], [5e11], [2.0]],
            journal=tmp_path / "run",
        )
    assert [record.getMessage()[:28] for record in caplog.records] == ["the point [2.0] is left out:"]
    optimizer = Optimizer([(0.0, 1e12)])
    optimizer.tell([3.0], 3.0)
    optimizer.enqueue([3.0])
    optimizer.enqueue([4.0])
    assert "the point [4.0] is left out" in caplog.records[-1].getMessage()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("model", ["fit_model", "update_model"])
def test_a_model_of_nothing_is_refused_in_a_sentence(model: str) -> None:
    with pytest.raises(ValueError, match="a model needs evaluations with at least two different values"):
        getattr(Optimizer([(0.0, 1.0)], rng=0), model)()


def test_a_model_predicts_at_the_rows_of_a_table() -> None:
    rows = [{"a": 0.2, "b": 1.5}, {"a": 0.9, "b": 0.1}]
    named = minimize(
        lambda p: p["a"] ** 2 + p["b"], {"a": (0, 1), "b": (0, 2)}, n_evals=5, rng=0
    ).optimizer.fit_model()
    expected = named.predict(rows).mean
    np.testing.assert_array_equal(named.predict(pd.DataFrame(rows)[["b", "a"]]).mean, expected)
    single = minimize(lambda x: x[0] ** 2, [(0, 1)], n_evals=5, rng=0).optimizer.fit_model()
    points = [[0.2], [0.9]]
    np.testing.assert_array_equal(single.predict(pd.DataFrame(points)).mean, single.predict(points).mean)
