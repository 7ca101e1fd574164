"""Outputs, limits and sense in a run: what is modelled, what is kept, and what is best."""

from __future__ import annotations

import copy
import json
import logging
import math
from pathlib import Path

import numpy as np
import pytest

import tcgp
from tcgp import Optimizer
from tcgp.optimizer import JournalError, read_campaign
from tcgp.report import report_from_journal

BOX = {"width": (0.1, 2.0), "height": (0.1, 2.0)}
GOALS = {"objective": "mass", "constraints": ["stress <= 2.5", "slack >= -0.5"]}


def simulate(p):
    """Light beams break: the best one is slender, with a stress of 2.5 and a slack of -0.5."""
    width, height = p["width"], p["height"]
    return {
        "mass": width * height,
        "stress": 1.0 / (width * height**2),
        "slack": width - height,
        "extra": 7.0,
    }


def test_the_best_point_keeps_all_limits_and_lies_on_the_active_one():
    result = tcgp.minimize(simulate, BOX, n_evals=20, n_initial=8, rng=0, **GOALS)
    assert result.success
    assert result.outputs["stress"] <= 2.5
    assert result.outputs["slack"] >= -0.5
    assert result.fun == result.outputs["mass"]
    # Where both limits are active: height - width = 0.5 and width height^2 = 0.4.
    height = np.roots([1.0, -0.5, 0.0, -0.4]).real.max()
    assert result.fun == pytest.approx(height * (height - 0.5), rel=0.02)
    kept = [simulate(x)["stress"] <= 2.5 for x in result.x_iters]
    slack = [x["width"] - x["height"] >= -0.5 for x in result.x_iters]
    assert result.feasible.tolist() == [a and b for a, b in zip(kept, slack, strict=True)]


def test_maximizing_is_minimizing_the_negative_and_keeps_the_sign():
    gain = tcgp.minimize(
        lambda x: -((x[0] - 0.3) ** 2), [(0, 1)], n_evals=10, n_initial=5, rng=0, maximize=True
    )
    loss = tcgp.minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], n_evals=10, n_initial=5, rng=0)
    assert gain.x_iters == loss.x_iters
    assert gain.fun == -loss.fun
    assert gain.fun == gain.func_vals.max()
    named = tcgp.minimize(
        lambda x: {"gain": -((x[0] - 0.3) ** 2)}, [(0, 1)], n_evals=10, n_initial=5, rng=0, maximize="gain"
    )
    assert named.x_iters == gain.x_iters


def test_a_target_to_be_exceeded_stops_the_run():
    result = tcgp.minimize(
        lambda x: float(x[0]), [(0, 1)], n_evals=30, n_initial=4, rng=0, maximize=True, target=0.9
    )
    assert result.status == 1
    assert result.fun >= 0.9


def test_with_no_feasible_point_the_nearest_is_given_and_said():
    result = tcgp.minimize(
        lambda x: {"cost": x[0], "load": 5.0 + (x[0] - 0.4) ** 2},
        [(0, 1)],
        n_evals=12,
        n_initial=5,
        rng=0,
        objective="cost",
        constraints="load <= 1",
    )
    assert not result.success
    assert "no evaluation satisfies all constraints" in result.message
    loads = [5.0 + (x[0] - 0.4) ** 2 for x in result.x_iters]
    assert result.outputs["load"] == min(loads)
    assert abs(result.x[0] - 0.4) < 0.05  # the search went where the limit is nearest


def test_outputs_are_journaled_also_those_that_no_goal_names(tmp_path: Path):
    journal = tmp_path / "run.jsonl"
    whole = tcgp.minimize(simulate, BOX, n_evals=10, n_initial=8, rng=1, journal=journal, **GOALS)
    told = [e for e in map(json.loads, journal.read_text().splitlines()) if e.get("event") == "tell"]
    assert all(set(event["outputs"]) == {"mass", "stress", "slack", "extra"} for event in told)
    campaign = read_campaign(journal)
    assert [e.outputs for e in campaign.history.evaluations] == [
        e.outputs for e in whole.optimizer.evaluations
    ]
    assert campaign.history.best == whole.optimizer.history.best


def test_a_resumed_run_goes_on_with_the_same_points(tmp_path: Path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    whole = tcgp.minimize(simulate, BOX, n_evals=14, n_initial=8, rng=2, journal=a, **GOALS)
    for n in (6, 10, 12, 14):
        part = tcgp.minimize(simulate, BOX, n_evals=n, n_initial=8, rng=2, journal=b, **GOALS)
    assert part.x_iters == whole.x_iters
    with pytest.raises(tcgp.JournalError, match="its method is"):
        tcgp.minimize(simulate, BOX, n_evals=15, journal=b, method="gp", **GOALS)


def test_a_missing_output_fails_the_evaluation_by_name_and_keeps_the_others(caplog):
    optimizer = Optimizer(BOX, rng=0, **GOALS)
    with caplog.at_level(logging.ERROR, logger="tcgp"):
        optimizer.tell([1.0, 1.0], {"mass": 1.0, "slack": 0.0})
        optimizer.tell([1.0, 1.5], {"mass": 1.0, "stress": math.nan, "slack": 0.0})
        optimizer.tell([1.0, 1.7], {"mass": 1.0, "stress": 1.0, "slack": 0.0, "extra": math.inf})
    missing, nan, fine = optimizer.evaluations
    assert missing.reason == "the output 'stress' is missing"
    assert missing.outputs == {"mass": 1.0, "slack": 0.0}
    assert nan.reason == "the output 'stress': the value is nan"
    assert nan.outputs == {"mass": 1.0, "stress": None, "slack": 0.0}
    assert not fine.failed
    assert fine.outputs["extra"] is None


def test_a_misspelt_output_is_told_from_one_that_is_missing():
    optimizer = Optimizer(BOX, rng=0, objective="mas", constraints=["stress <= 2"])
    optimizer.tell([1.0, 1.0], {"mass": 1.0, "stress": 0.0})
    assert optimizer.evaluations[0].reason == "the output 'mas' is missing; did you mean 'mass'?"


def test_numbers_and_mappings_that_do_not_fit_the_goals_are_failures_with_a_sentence():
    with_goals, without = Optimizer(BOX, rng=0, **GOALS), Optimizer(BOX, rng=0)
    with_goals.tell([1.0, 1.0], 3.0)
    assert "return a mapping" in with_goals.evaluations[0].reason
    without.tell([1.0, 1.0], {"mass": 1.0, "cost": 2.0})
    assert without.evaluations[0].reason == "objective must name one of the outputs 'mass', 'cost', got None"
    assert without.evaluations[0].outputs == {"mass": 1.0, "cost": 2.0}


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ({"constraints": ["stress <= 1"]}, "objective must name the output"),
        ({"constraints": ["widht <= 1"]}, "did you mean the parameter 'width'"),
        ({"objective": "a", "maximize": "b"}, "must name one output"),
        ({"objective": 3}, "objective must be the name"),
        ({"maximize": 1}, "maximize must be"),
    ],
)
def test_bad_goals_get_one_sentence_before_anything_is_evaluated(goals, sentence, tmp_path: Path):
    with pytest.raises(ValueError, match=sentence):
        Optimizer(BOX, journal=tmp_path / "run.jsonl", **goals)
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize(
    "constraints", [["width <= height"], [lambda p: p["width"] <= p["height"]]], ids=["text", "callable"]
)
def test_smc_among_known_constraints_is_refused_at_once(constraints):
    with pytest.raises(ValueError, match="maximizer must be 'multistart' with constraints on parameters"):
        Optimizer(BOX, maximizer="smc", constraints=constraints)


def test_smc_with_learned_constraints_works():
    result = tcgp.minimize(
        simulate, BOX, n_evals=10, n_initial=8, rng=0, maximizer="smc", method="gp", **GOALS
    )
    assert result.nfev == 10


@pytest.mark.parametrize("criterion", ["ei", "lcb"])
def test_a_limit_without_any_number_leads_to_exploration(criterion):
    goals = {"objective": "mass", "constraints": ["log(slack - 9) <= 0"]}  # not defined anywhere
    result = tcgp.minimize(simulate, BOX, n_evals=8, n_initial=5, rng=0, criterion=criterion, **goals)
    assert not result.success
    sources = [proposal.source for proposal in result.optimizer.history.proposals]
    assert sources == ["design"] * 5 + ["exploration"] * 3


@pytest.mark.parametrize("method", ["tcgp", "regp", "ongp"])
def test_fit_model_keeps_the_sign_of_the_user(method):
    """Its predictions mirror those of the same run with negated values, the asymmetric law of onGP included."""

    def loss(p):
        return (p["width"] - 0.3) ** 2 + np.exp(p["height"])

    options = {"n_evals": 16, "n_initial": 14, "rng": 0, "method": method}
    low = tcgp.minimize(loss, BOX, **options).optimizer.fit_model()
    high = tcgp.minimize(lambda p: -loss(p), BOX, **options, maximize=True).optimizer.fit_model()
    points = [{"width": w, "height": h} for w, h in [(0.2, 0.3), (1.0, 1.9), (0.35, 0.12)]]
    a, b = low.predict(points), high.predict(points)
    np.testing.assert_array_equal(b.mean, -a.mean)
    np.testing.assert_array_equal(b.sd, a.sd)
    levels = np.array([[0.01], [0.3], [0.8]])
    np.testing.assert_allclose(b.ppf(levels), -a.ppf(1.0 - levels), rtol=1e-9)
    z = b.mean + b.sd * np.array([[-1.234], [0.321], [0.987]])  # at no atom of the law
    np.testing.assert_allclose(b.cdf(z), 1.0 - a.cdf(-z), rtol=1e-9)
    if method != "regp":  # which relaxes: at a data point others give back what the user's function gave
        truth = [-loss(dict(zip(BOX, x, strict=True))) for x in high.points]
        np.testing.assert_allclose(high.predict(high.points).mean, truth)
    np.testing.assert_array_equal(high.y, -low.y)
    assert high.threshold == -low.threshold
    np.testing.assert_array_equal(high.leave_one_out.residuals, -low.leave_one_out.residuals)
    codes = np.array([[0.2, 0.7]])
    (mean, sd, slopes), (low_mean, low_sd, low_slopes) = (m.predict_slopes(codes) for m in (high, low))
    np.testing.assert_array_equal((mean, sd), (-low_mean, low_sd))
    for by in ([[1.0], [0.0]], [[0.0], [1.0]]):
        sign = 1.0 - 2.0 * by[0][0]  # of the gradient of the mean, and of that of the standard deviation
        np.testing.assert_array_equal(slopes(*np.array(by)), sign * low_slopes(*np.array(by)))
    ours, theirs = (m.condition(codes, [sign * 2.0]) for m, sign in ((high, -1.0), (low, 1.0)))
    np.testing.assert_array_equal(ours.predict_arrays(codes)[0], -theirs.predict_arrays(codes)[0])


def test_a_run_with_constraints_that_are_no_text_can_be_read(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    tcgp.minimize(
        simulate,
        BOX,
        n_evals=9,
        n_initial=7,
        rng=0,
        journal=path,
        objective="mass",
        constraints=["stress <= 2.5", "height <= 1.9", lambda p: p["width"] <= p["height"]],
    )
    read = Optimizer.read(path)
    assert read.result().nfev == 9
    assert read.update_model().y.shape == (9,)
    assert read.region.labels == ("height <= 1.9",)
    report_from_journal(path, tmp_path / "run.html")
    for ask in (read.ask, lambda: read.ask(2), read.propose):
        with pytest.raises(JournalError, match=r"give them to tcgp\.Optimizer\.resume"):
            ask()
    with pytest.raises(JournalError, match=r"has 1 constraints not given as text.*got 0"):
        Optimizer.resume(path)
    with Optimizer.resume(path, constraints=[lambda p: p["width"] <= p["height"]]) as resumed:
        x = resumed.ask()
    assert x["width"] <= x["height"]


@pytest.mark.parametrize("criterion", ["ei", "lcb"])
def test_batches_failures_and_both_criteria_work_with_limits(criterion):
    optimizer = Optimizer(BOX, n_initial=6, rng=3, criterion=criterion, **GOALS)
    for i in range(8):
        for j, x in enumerate(optimizer.ask(2)):
            optimizer.tell(x, None if (i + j) % 7 == 3 else simulate(x))
    assert len({e.x for e in optimizer.evaluations}) == 16
    assert optimizer.result().success


def test_workers_hand_outputs_over():
    result = tcgp.minimize(simulate, BOX, n_evals=10, n_initial=6, rng=0, workers=2, **GOALS)
    assert all(set(e.outputs) == {"mass", "stress", "slack", "extra"} for e in result.optimizer.evaluations)


def test_levels_of_quantiles_are_counted_from_the_limit():
    """Below the best feasible value nothing matters: thresholds lie above it."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = X.sum(axis=1)
    low = tcgp.fit_model(X, y, "tcgp", bounds=[(0, 1)] * 2)
    high = tcgp.fit_model(X, y, "tcgp", bounds=[(0, 1)] * 2, level=float(np.quantile(y, 0.6)))
    assert low.threshold == np.quantile(y, 0.05)
    assert high.threshold == pytest.approx(np.quantile(y, 0.6 + 0.4 * 0.05), rel=1e-9)
    relaxed = tcgp.fit_model(X, y, "regp", bounds=[(0, 1)] * 2, level=float(np.quantile(y, 0.6)))
    assert relaxed.interpolator.threshold == pytest.approx(np.quantile(y, 0.6 + 0.4 * 0.25), rel=1e-9)


def test_a_table_of_evaluations_has_all_outputs():
    result = tcgp.minimize(simulate, BOX, n_evals=9, n_initial=6, rng=0, **GOALS)
    table = result.to_dataframe()
    columns = ["id", "width", "height", "mass", "stress", "slack", "extra", "feasible", "reason", "seconds"]
    assert list(table.columns) == columns
    assert table["feasible"].tolist() == result.feasible.tolist()
    assert table["mass"].tolist() == result.func_vals.tolist()


def test_a_copy_of_a_constrained_run_goes_on_alike():
    optimizer = Optimizer(BOX, n_initial=6, rng=4, **GOALS)
    for _ in range(9):
        x = optimizer.ask()
        optimizer.tell(x, simulate(x))
    assert copy.deepcopy(optimizer).ask() == optimizer.ask()
