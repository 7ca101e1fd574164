"""BBOB functions as problems."""

import numpy as np
import pytest

import tcgp
from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.run import problems
from tcgp_experiments.run.bbob import constrained_bbob_problem


def test_values_are_those_of_the_suite(cocoex):
    suite = cocoex.Suite("bbob", "instances:2", "dimensions:2 function_indices:3")
    reference = suite.get_problem(0)
    problem = problems.get("bbob:f3:d2:i2")
    points = np.random.default_rng(0).uniform(-5.0, 5.0, (5, 2))
    np.testing.assert_array_equal(problem.fun(points), [reference(x) for x in points])
    assert problem.fun(points[0]) == reference(points[0])
    assert problem.bounds.tolist() == [[-5.0, 5.0]] * 2


@pytest.mark.usefixtures("cocoex")
@pytest.mark.parametrize("name", ["bbob:f1", "bbob:f99:d2:i1", "bbob:f1:d7:i1"])
def test_a_function_that_does_not_exist_is_refused(name):
    with pytest.raises(ExperimentError, match="bbob"):
        problems.get(name)


def test_constrained_problem_gives_what_coco_gives(cocoex):
    suite = cocoex.Suite("bbob-constrained", "instances:2", "dimensions:2 function_indices:2")
    reference = suite.get_problem(0)
    problem = constrained_bbob_problem("bbob-constrained:f2:d2:i2")
    assert problem.constraints == ("g1 <= 0", "g2 <= 0", "g3 <= 0")
    np.testing.assert_array_equal(problem.bounds, [[-5.0, 5.0]] * 2)
    for x in np.random.default_rng(0).uniform(-5.0, 5.0, (5, 2)):
        outputs = problem.fun(x)
        assert outputs["f"] == reference(x)
        assert [outputs[f"g{i}"] for i in (1, 2, 3)] == list(reference.constraint(x))


@pytest.mark.usefixtures("cocoex")
def test_constrained_problem_can_be_minimized():
    problem = constrained_bbob_problem("bbob-constrained:f1:d2:i1")
    result = tcgp.minimize(
        problem.fun, problem.bounds, n_evals=24, objective="f", constraints=problem.constraints, rng=0
    )
    assert result.success
    assert problem.fun(np.array(result.x))["g1"] <= 0.0
    assert result.fun == pytest.approx(1030.319, abs=1.0)  # COCO's optimum


@pytest.mark.usefixtures("cocoex")
@pytest.mark.parametrize("name", ["bbob-constrained:f55:d2:i1", "bbob-constrained:f1"])
def test_a_constrained_function_that_does_not_exist_is_refused(name):
    with pytest.raises(ExperimentError, match="bbob-constrained"):
        constrained_bbob_problem(name)
