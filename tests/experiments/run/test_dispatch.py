"""From a task to its result, or to the reason why there is none."""

import json

import pytest

from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.tasks import FixedTask, Row, RunTask
from tcgp_experiments.run import dispatch

GP = Method("GP", "gp")


@pytest.mark.parametrize(
    "task",
    [
        FixedTask("branin", 0, (Row(0.25, GP),), "rows"),
        RunTask("branin", 0, GP, "ei", 2),
        RunTask("branin", 0, GP, "lcb", 2, diagnostics=True),
    ],
    ids=lambda task: task.kind,
)
def test_the_result_of_a_task_answers_it_also_after_a_file(task):
    assert task.accepts(json.loads(json.dumps(dispatch.compute(task))))


def test_an_error_in_a_task_is_reported_not_raised(monkeypatch):
    def fail(task):
        raise FloatingPointError("overflow")

    monkeypatch.setattr(dispatch, "compute", fail)
    task = RunTask("branin", 0, GP, "ei", 2)
    assert dispatch.attempt(task)[:3] == (task, None, "FloatingPointError: overflow")
