"""Runs on BBOB functions, in COCO's format."""

import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.report.coco import export
from tcgp_experiments.run.runner import run
from tcgp_experiments.run.store import Store

NAMES = ("bbob:f1:d2:i1", "bbob:f3:d2:i2")


@pytest.mark.usefixtures("cocoex")
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
