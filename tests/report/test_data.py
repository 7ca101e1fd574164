"""What a report shows is what the run was."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tcgp
from tcgp.laws import Normal
from tcgp.optimizer import Optimizer
from tcgp.report import State, calibration_sentence, report_data
from tcgp.scoring import diagnose, loo_scores

RUNNING = State(running=True, text="running", n_evals=30, refresh=10.0)
SPACE = {
    "width": tcgp.Real(0.1, 10.0, log=True),
    "layers": tcgp.Integer(1, 6),
    "alloy": tcgp.Categorical(["steel", "brass", None]),
}


def simulate(parameters: dict) -> float:
    if parameters["layers"] == 6:
        raise RuntimeError("the mesh broke")
    extra = {"steel": 0.0, "brass": 1.0, None: 2.0}[parameters["alloy"]]
    return math.log(parameters["width"]) ** 2 + (parameters["layers"] - 3) ** 2 + extra


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    tcgp.minimize(simulate, SPACE, n_evals=24, n_initial=12, rng=3, journal=path)
    return path


@pytest.fixture(scope="module")
def optimizer(journal: Path) -> Optimizer:
    return Optimizer.read(journal)


@pytest.fixture(scope="module")
def data(optimizer: Optimizer) -> dict:
    return report_data(optimizer, RUNNING, fit=True)


def test_evaluations_are_those_of_the_history(data: dict, optimizer: Optimizer) -> None:
    shown, history = data["evaluations"], optimizer.evaluations
    assert [y is None for y in shown["y"]] == [e.failed for e in history]
    assert any(e.failed for e in history)
    values = [e.y for e in history if e.y is not None]
    # Twelve digits are kept.
    np.testing.assert_allclose([y for y in shown["y"] if y is not None], values, rtol=1e-11)
    for x, evaluation in zip(shown["x"], history, strict=True):
        assert x[0] == pytest.approx(evaluation.x[0], rel=1e-7)  # eight digits are kept
        assert x[1] == evaluation.x[1]
        assert SPACE["alloy"].choices[x[2]] == evaluation.x[2]


def test_best_point_is_exact(data: dict, optimizer: Optimizer) -> None:
    best = optimizer.history.best
    assert best is not None
    exact = data["exact"]
    assert float(exact["y"]) == best.y
    assert float(exact["x"][0]) == best.x[0]
    assert exact["x"][2] == str(best.x[2])
    values = [optimizer.evaluations[row].y for row in data["order"]]
    assert values == sorted(e.y for e in optimizer.evaluations if not e.failed)


def test_failures_have_their_reasons(data: dict) -> None:
    assert data["failures"]
    assert {f["reason"] for f in data["failures"]} == {"RuntimeError: the mesh broke"}


def test_evaluations_say_where_points_came_from_and_what_choosing_them_took(
    data: dict, optimizer: Optimizer
) -> None:
    sources = data["evaluations"]["source"]
    assert sources[:12] == ["design"] * 12
    seconds = data["evaluations"]["optimizer"]
    assert seconds[:12] == [None] * 12
    expected = [entry["t_fit"] + entry["t_maximize"] for entry in optimizer.trace]
    np.testing.assert_allclose(
        [s for s in seconds if s is not None], expected, rtol=1e-3
    )  # four digits are kept


def test_seconds_of_the_simulator_are_those_told() -> None:
    optimizer = Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell(optimizer.ask(), 1.0, seconds=12.5)
    optimizer.tell([0.25], 2.0)
    shown = report_data(optimizer, RUNNING)["evaluations"]
    assert shown["simulator"] == [12.5, None]
    assert shown["id"] == [0, None]
    assert shown["source"] == ["design", "given"]


def test_slices_are_the_models_predictions(data: dict, optimizer: Optimizer) -> None:
    best, model = optimizer.history.best, optimizer.model
    assert best is not None
    assert model is not None
    for i, view in enumerate(data["slices"]["along"]):
        # Far from the best point: next to it the sd is a difference of nearly equal numbers.
        k = -1 if i == 2 else 0
        value = view["values"][k]
        point = list(best.x)
        point[i] = SPACE["alloy"].choices[value] if i == 2 else value
        prediction = model.predict(optimizer.space.encode([point]))
        # The abscissa is rounded to eight digits and the values to six.
        assert view["mean"][k] == pytest.approx(prediction.mean[0], rel=1e-5, abs=1e-5)
        assert view["ei"][k] == pytest.approx(prediction.expected_improvement(best.y)[0], rel=1e-3, abs=1e-9)
    assert [len(view["values"]) for view in data["slices"]["along"]] == [61, 6, 3]


def test_heat_map_is_over_the_parameters_along_which_the_mean_changes_most(data: dict) -> None:
    ranges = [max(view["mean"]) - min(view["mean"]) for view in data["slices"]["along"]]
    over = data["slices"]["over"]
    assert {over["i"], over["j"]} == set(np.argsort(ranges)[-2:].tolist())
    assert len(over["mean"]) == len(over["x"]) * len(over["y"])


@pytest.mark.parametrize("method", ["tcgp", "gp"])
def test_calibration_is_the_leave_one_out_scores(method: str) -> None:
    optimizer = tcgp.minimize(simulate, SPACE, n_evals=18, n_initial=12, rng=3, method=method).optimizer
    model = copy.copy(optimizer).update_model()  # of all evaluations, as on the last page of a run
    assert model is not None
    laws = [Normal(), model.law] if method == "tcgp" else [Normal()]
    data = report_data(optimizer, RUNNING, fit=True)
    for shown, law in zip(data["calibration"]["models"], laws, strict=True):
        scores = loo_scores(model, law=law)
        assert shown["kappa"] == pytest.approx(scores.kappa, rel=1e-3)  # four digits are kept
        assert shown["r"] == pytest.approx(scores.occurrence, rel=1e-3)
        assert len(shown["u"]) == scores.n_below
        assert shown["share"][-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kappa", "bounds", "words"),
    [
        (0.32, (0.2, 0.6), "overconfident by a factor of 3.1 here;"),
        (0.32, (0.2, 1.6), "overconfident by a factor of 3.1 here, though with so few points"),
        (0.0021, (0.001, 0.01), "overconfident by a factor of 480 here"),
        (4.0, (2.0, 6.0), "underconfident by a factor of 4.0 here"),
        (1.1, (0.5, 2.0), "about right here"),
        (0.0, (0.0, 0.0), "wrongly certain"),
    ],
)
def test_sentence_says_how_wrong_the_plain_gp_would_be(
    optimizer: Optimizer, data: dict, kappa: float, bounds: tuple[float, float], words: str
) -> None:
    from dataclasses import replace

    assert optimizer.model is not None
    diagnosis = replace(diagnose(optimizer.model), kappa_gp=kappa, kappa_gp_range=bounds, n_below=5)
    assert words in calibration_sentence(diagnosis)
    assert "No value" in calibration_sentence(replace(diagnosis, n_below=0))


def test_data_of_a_run_without_success_are_plain_json() -> None:
    optimizer = Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell([0.5], math.nan, reason="no luck")
    optimizer.ask()
    data = report_data(optimizer, RUNNING, fit=True)
    json.dumps(data, allow_nan=False)
    assert data["order"] == []
    assert data["exact"] is data["slices"] is data["outputs"] is None
    assert "before a model has been fitted" in data["trust"]
    assert len(data["pending"]) == 1


def test_a_part_that_cannot_be_computed_costs_no_other(
    optimizer: Optimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(model: object) -> None:
        raise ArithmeticError("no")

    monkeypatch.setattr("tcgp.report.data.diagnose", fail)
    data = report_data(optimizer, RUNNING, fit=True)
    assert data["calibration"] is None
    assert data["slices"] is not None


def test_slices_know_values_told_after_the_last_fit(journal: Path) -> None:
    optimizer = Optimizer.read(journal)
    optimizer.propose()
    x = [0.11, 5, "brass"]  # far from all others, so that such a value is possible there
    optimizer.tell(x, -5.0)
    along = report_data(optimizer, RUNNING)["slices"]["along"][1]
    # The slice goes through the new best point, where the model interpolates.
    assert along["mean"][along["values"].index(x[1])] == pytest.approx(-5.0, abs=1e-3)


def test_several_objectives_have_a_front_and_slices_of_each():
    goals = {"objective": ["near", "far + 0"], "constraints": ["near <= 2"]}
    result = tcgp.minimize(
        lambda p: {"near": p[0] ** 2 + p[1], "far": (p[0] - 1.0) ** 2},
        [(0.0, 1.0)] * 2,
        n_evals=8,
        rng=0,
        **goals,
    )
    data = report_data(result.optimizer, State(running=False, text="done"))
    assert data["front"]["names"] == ["near", "far + 0"]
    assert data["front"]["on"] == [point.index for point in result.front]
    assert data["front"]["volume"][-1] == 1.0
    assert data["shown"] == result.knee().index
    assert data["order"][: len(result.front)] == data["front"]["on"]
    (second,) = data["others"]
    assert len(second["along"]) == 2
    assert [view["name"] for view in data["outputs"]] == ["far"]
    assert data["importance"]["columns"] == ["near", "far + 0", "far", "all limits"]
    json.dumps(data, allow_nan=False)
