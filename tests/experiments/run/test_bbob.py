"""BBOB functions as problems."""

import numpy as np
import pytest

from tcgp.experiments.errors import ExperimentError
from tcgp.experiments.run import problems


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
