"""What a report shows of goals: constraints, outputs, and maxima with the sign of the user."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import tcgp
from tcgp.optimizer import Optimizer
from tcgp.report import State, calibration_sentence, report_data
from tcgp.scoring import diagnose, diagnose_limit, loo_scores

DONE = State(running=False, text="done")
BOUNDS = {"width": (0.1, 2.0), "height": (0.1, 2.0)}


def beam(parameters: dict[str, float]) -> dict[str, Any]:
    width, height = parameters["width"], parameters["height"]
    return {"cost": 3.0, "stress": 1.0 / (width * height**2), "mass": width * height, "note": "fine"}


@pytest.fixture(scope="module")
def optimizer() -> Optimizer:
    goals = {"objective": "mass", "constraints": ["stress <= 2", "cost >= 1"]}
    return tcgp.minimize(beam, BOUNDS, n_evals=14, rng=0, **goals).optimizer


@pytest.fixture(scope="module")
def data(optimizer: Optimizer) -> dict[str, Any]:
    found = report_data(optimizer, DONE, fit=True)
    json.dumps(found, allow_nan=False)
    return found


def test_outputs_are_there_and_those_of_goals_come_first(data: dict, optimizer: Optimizer) -> None:
    assert data["goals"]["outputs"] == ["mass", "stress", "cost", "note"]
    for row, e in zip(data["evaluations"]["outputs"], optimizer.evaluations, strict=True):
        assert row[:3] == pytest.approx([e.outputs[name] for name in ("mass", "stress", "cost")], rel=1e-7)
        assert row[3] is None


def test_violated_constraints_are_named_by_their_places(data: dict, optimizer: Optimizer) -> None:
    assert data["evaluations"]["broken"] == [
        [0] if e.outputs["stress"] > 2.0 else [] for e in optimizer.evaluations
    ]


def test_best_points_keep_all_constraints(data: dict, optimizer: Optimizer) -> None:
    kept = sorted(e.y for e in optimizer.evaluations if e.outputs["stress"] <= 2.0)
    rows = data["order"][: len(kept)]
    assert [optimizer.evaluations[row].y for row in rows] == kept
    assert not any(data["evaluations"]["broken"][row] for row in rows)
    best = optimizer.history.best
    assert optimizer.evaluations[data["shown"]] is best
    assert float(data["exact"]["y"]) == best.y


def test_a_constraint_says_where_the_best_point_is(data: dict, optimizer: Optimizer) -> None:
    stress, cost = data["constraints"]
    best = optimizer.history.best
    assert (stress["text"], stress["bound"]) == ("stress <= 2", 2.0)
    assert stress["here"]["value"] == pytest.approx(best.outputs["stress"], rel=1e-7)
    assert stress["here"]["distance"].startswith(f"{2.0 - best.outputs['stress']:.3g} below the limit")
    assert (stress["kept"], stress["n"]) == (int(optimizer.history.data.feasible.sum()), 14)
    assert cost["here"] == {"value": 3.0, "distance": "2 above the limit", "kept": True, "active": False}


def test_an_active_limit_says_what_relaxing_it_would_buy():
    """Mass is at least 1 / stress: a limit of 2.1 in the place of 2 buys 0.5 - 1 / 2.1."""
    optimizer = Optimizer(
        {"w": (0.1, 2.0)}, objective="mass", constraints=["stress <= 2", "stress >= 0"], rng=0
    )
    for w in (1.9, 1.5, 1.2, 0.9, 0.7, 0.6, 0.55, 0.505, 0.45, 0.4, 0.3):
        optimizer.tell([w], {"mass": w, "stress": 1.0 / w})
    active, other = report_data(optimizer, DONE, fit=True)["constraints"]
    assert active["here"]["active"]
    assert active["relaxed"]["to"] == 2.1
    assert active["relaxed"]["gain"] == pytest.approx(0.5 - 1.0 / 2.1, rel=0.15)  # of a model of eleven runs
    assert not other["here"]["active"]
    assert other["relaxed"] is None


def test_there_are_slices_and_indices_of_every_output_and_of_keeping_the_limits(data, optimizer):
    (stress,) = data["outputs"]  # the cost is constant, and the note no number
    assert stress["name"] == "stress"
    best = optimizer.history.best
    view = stress["along"][0]
    near = int(np.argmin(np.abs(np.array(view["values"]) - best.x[0])))
    assert view["mean"][near] == pytest.approx(1.0 / (view["values"][near] * best.x[1] ** 2), rel=0.2)
    importance = data["importance"]
    assert importance["columns"] == ["mass", "stress", "all limits"]
    assert set(importance["orders"]) == {"objective", "limits", "both"}
    table = optimizer.result().sensitivity("limits")
    assert [["width", "height"][k] for k in importance["orders"]["limits"]] == table.names
    for totals, one in zip(importance["totals"], table.of.values(), strict=True):
        assert totals == pytest.approx(one.total.tolist(), abs=1e-4)  # four digits are kept


def test_the_model_of_a_limit_is_judged_at_the_limit(data: dict, optimizer: Optimizer) -> None:
    current = copy.copy(optimizer)  # the report shows models of all evaluations, the last one included
    current.update_model()
    model = current.surrogates[1].last.model
    shown = data["constraints"][0]["model"]
    assert shown["sentence"] == diagnose_limit(model).summary
    scores = loo_scores(model, threshold=0.0)
    assert shown["models"][-1]["kappa"] == pytest.approx(scores.kappa, rel=1e-3)  # four digits are kept
    assert shown["models"][-1]["tks_pit"] == pytest.approx(scores.tks_pit, rel=1e-3)
    assert len(shown["models"][-1]["u"]) == scores.n_below == np.sum(model.y <= 0.0)


def test_slices_weigh_improvement_by_the_probability_of_keeping_all_constraints(
    data: dict, optimizer: Optimizer
) -> None:
    best = optimizer.history.best
    view, i = data["slices"]["along"][0], 30
    x = [view["values"][i], best.x[1]]
    U = optimizer.space.encode([x])
    models = [
        surrogate.updated(optimizer.history.data.U, excess)
        for surrogate, excess in zip(optimizer.surrogates[1:], optimizer.history.data.excesses.T, strict=True)
    ]
    probability = np.prod([model.predict(U).cdf(0.0)[0] for model in models])
    # The abscissa is rounded to eight digits and the values to six.
    assert view["feasible"][i] == pytest.approx(probability, rel=1e-4, abs=1e-9)
    model = optimizer.surrogates[0].updated(*optimizer.history.data.successes)
    ei = model.predict(U).expected_improvement(best.y)[0]
    assert view["ei"][i] == pytest.approx(ei * probability, rel=1e-3, abs=1e-12)


def test_without_a_point_that_keeps_all_constraints_the_nearest_is_shown() -> None:
    optimizer = Optimizer([(0.0, 1.0)], objective="mass", constraints=["stress <= 0"], n_initial=3, rng=0)
    for x in (0.1, 0.3, 0.9):
        optimizer.tell([x], {"mass": x, "stress": 1.0 + (x - 0.4) ** 2})
    data = report_data(optimizer, DONE, fit=True)
    assert data["shown"] == 1
    assert data["order"] == [1, 0, 2]
    assert data["constraints"][0]["here"]["distance"] == "violated by 1.01"
    assert "ei" not in data["slices"]["along"][0]
    assert data["slices"]["along"][0]["feasible"] is not None


def test_a_maximum_is_shown_with_the_sign_of_the_user() -> None:
    def fun(x: Any) -> float:
        return float(5.0 - (x[0] - 0.3) ** 2)

    settings = {"n_evals": 10, "n_initial": 6, "method": "tcgp", "rng": 0}
    up = tcgp.minimize(fun, [(0.0, 1.0)], maximize=True, **settings).optimizer
    down = tcgp.minimize(lambda x: -fun(x), [(0.0, 1.0)], **settings).optimizer
    shown, mirrored = report_data(up, DONE, fit=True), report_data(down, DONE, fit=True)
    assert shown["evaluations"]["y"] == [-y for y in mirrored["evaluations"]["y"]]
    assert float(shown["exact"]["y"]) == max(e.y for e in up.evaluations) == up.result().fun
    for name, other in (("mean", "mean"), ("lower", "upper"), ("upper", "lower")):
        assert shown["slices"]["along"][0][name] == [-v for v in mirrored["slices"]["along"][0][other]]
    assert shown["slices"]["along"][0]["ei"] == mirrored["slices"]["along"][0]["ei"]
    assert [t["best"] for t in shown["trace"]] == [-t["best"] for t in mirrored["trace"]]
    assert [t["threshold"] for t in shown["trace"]] == [-t["threshold"] for t in mirrored["trace"]]
    assert shown["calibration"]["threshold"] == -mirrored["calibration"]["threshold"]
    current = copy.copy(up)
    diagnosis = diagnose(current.update_model())
    assert "low" in calibration_sentence(diagnosis) or "Below" in calibration_sentence(diagnosis)
    sentence = calibration_sentence(diagnosis, maximize=True)
    assert shown["calibration"]["sentence"] == sentence
    assert "low values" not in sentence
    assert "elow" not in sentence
