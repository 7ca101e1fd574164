"""The cells of the tables, against the scores computed another way."""

import numpy as np
import pytest

from tcgp import fit_model, scoring
from tcgp.laws import GeneralizedNormal, Normal
from tcgp.methods.published import OURS, PAPER
from tcgp.models import Prediction
from tcgp_experiments.plan import plans
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.tasks import Row
from tcgp_experiments.run import problems
from tcgp_experiments.run.fixed_data import score_rows
from tcgp_experiments.run.tail_scores import tks_pit

ROWS = (
    Row(0.25, Method("GP", "gp")),
    Row(0.25, Method("tcGP", "tcgp", {"delta": 0.25})),
    Row(0.0, Method("reGP", "regp", {"delta": 0.1})),
)


@pytest.fixture(scope="module")
def result():
    return score_rows("goldstein-price", 3, ROWS)["rows"]


def data():
    problem, streams = problems.get("goldstein-price"), problems.streams("goldstein-price", 3)
    X = problems.uniform_points(problem, 60, streams.design)
    X_test = problems.uniform_points(problem, 4000, streams.test)
    return problem, X, problem.fun(X), X_test, problem.fun(X_test)


@pytest.mark.parametrize("i", range(3))
def test_cells_equal_the_scores_of_a_model_fitted_on_its_own(result, i):
    problem, X, y, X_test, y_test = data()
    row, cell = ROWS[i], result[i]
    model = fit_model(X, y, row.method.name, bounds=problem.bounds, **dict(row.method.options))
    scores = scoring.test_scores(model, X_test, y_test, threshold=np.quantile(y, row.level))
    assert cell["threshold"] == pytest.approx(np.quantile(y, row.level), rel=1e-12)
    assert cell["twcrps"] == pytest.approx(scores.twcrps, rel=1e-9)
    assert cell["occurrence_same_points"] == pytest.approx(scores.occurrence, rel=1e-9)


def test_tail_scores_agree_with_those_of_plain_sampling(result):
    problem, X, y, _, _ = data()
    t = np.quantile(y, 0.25)
    points = np.random.default_rng(5).uniform(-2.0, 2.0, (40_000, 2))
    values = problem.fun(points)
    below = values <= t
    model = fit_model(X, y, "gp", bounds=problem.bounds)
    plain = scoring.tks_pit(model.predict(points[below]), values[below], t)
    # Both distances come from thousands of points: each has an error below 1.36 / sqrt(4000) = 0.02.
    assert result[0]["tks_pit"] == pytest.approx(plain, abs=0.04)
    expected = np.mean(model.predict(points).cdf(t))
    assert result[0]["kappa"] == pytest.approx(expected / np.mean(below), rel=0.1)


def test_both_tables_are_made_of_the_same_data_sets():
    tasks = [next(iter(plans.get(name).tasks())) for name in ("table1", "table2")]
    first, second = (score_rows("goldstein-price", 0, task.rows[:1])["rows"][0] for task in tasks)
    assert first["threshold"] > second["threshold"]
    streams = problems.streams("goldstein-price", 0)
    problem = problems.get("goldstein-price")
    y = problem.fun(problems.uniform_points(problem, 60, streams.design))
    assert second["threshold"] == y.min()


def test_a_data_set_does_not_depend_on_the_rows_scored(result):
    alone = score_rows("goldstein-price", 3, ROWS[1:2])["rows"][0]
    assert alone["twcrps"] == result[1]["twcrps"]


@pytest.mark.parametrize("law", [Normal(), GeneralizedNormal(2.0, np.sqrt(2.0))])
def test_scores_as_published_take_the_plain_ratio_of_generalized_normal_laws(law):
    prediction, values = Prediction(np.array([0.0, 100.0]), np.ones(2), law), np.array([-2.0, -1.5])
    ours, published = (tks_pit(prediction, values, -1.0, choices) for choices in (OURS, PAPER))
    assert (published != ours) == isinstance(law, GeneralizedNormal)
