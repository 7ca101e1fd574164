"""BBOB functions in the harness, and runs in COCO's format."""

import cocoex
import numpy as np
import pytest

from tcgp.experiments import plans, problems
from tcgp.experiments.bbob import export
from tcgp.experiments.errors import ExperimentError
from tcgp.experiments.runner import run
from tcgp.experiments.store import Store

NAMES = ("bbob:f1:d2:i1", "bbob:f3:d2:i2")


def test_values_are_those_of_the_suite():
    suite = cocoex.Suite("bbob", "instances:2", "dimensions:2 function_indices:3")
    reference = suite.get_problem(0)
    problem = problems.get("bbob:f3:d2:i2")
    points = np.random.default_rng(0).uniform(-5.0, 5.0, (5, 2))
    np.testing.assert_array_equal(problem.fun(points), [reference(x) for x in points])
    assert problem.fun(points[0]) == reference(points[0])
    assert problem.bounds.tolist() == [[-5.0, 5.0]] * 2


@pytest.mark.parametrize("name", ["bbob:f1", "bbob:f99:d2:i1", "bbob:f1:d7:i1"])
def test_a_function_that_does_not_exist_is_refused(name):
    with pytest.raises(ExperimentError, match="bbob"):
        problems.get(name)


def test_coco_gets_every_evaluation_of_the_runs_and_no_other(tmp_path):
    plan = plans.get("methods", replicates=1, iterations=3, problems=NAMES, methods=("GP", "tcGP"))
    store = Store(tmp_path / "results")
    run([plan], store, jobs=1, progress=False)
    directories = export([plan], store, tmp_path / "exdata")
    assert [directory.name for directory in directories] == ["gp", "tcgp"]
    for directory, label in zip(directories, ("GP", "tcGP"), strict=True):
        for name, function in zip(NAMES, (1, 3), strict=True):
            (task,) = [t for t in plan.tasks() if t.problem == name and t.method.label == label]
            (info,) = directory.glob(f"*f{function}.info")
            instance = name[-1]
            # "1:23|..." says: instance 1, 23 evaluations, the best difference to the optimum.
            assert f"{instance}:23|" in info.read_text()
            (data,) = directory.glob(f"data_f{function}/*.tdat")
            values = [float(line.split()[4]) for line in data.read_text().splitlines() if line[0] != "%"]
            best = min(values[-1], *values)
            assert best == pytest.approx(store.load(task)["best"][-1], rel=1e-8)
    with pytest.raises(ExperimentError, match="exists already"):
        export([plan], store, tmp_path / "exdata")


def test_without_such_runs_there_is_nothing_to_export(tmp_path):
    with pytest.raises(ExperimentError, match="no runs on BBOB"):
        export([plans.get("methods", replicates=1)], Store(tmp_path), tmp_path / "exdata")
