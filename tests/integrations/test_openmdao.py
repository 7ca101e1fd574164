"""The driver of OpenMDAO, on OpenMDAO's own problems."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

om = pytest.importorskip("openmdao.api", reason="needs OpenMDAO: pip install openmdao")

from openmdao.test_suite.components.sellar_feature import SellarMDA  # noqa: E402
from openmdao.test_suite.test_examples.beam_optimization.beam_group import BeamGroup  # noqa: E402

import tcgp  # noqa: E402
from tcgp.integrations.openmdao import TailCalibratedDriver  # noqa: E402


def _problem(model, **options):
    problem = om.Problem(model, driver=TailCalibratedDriver(rng=0, **options), reports=False)
    problem.set_solver_print(level=-1)
    return problem


def _bowl(**options):
    """(x - 1)^2 + (k - 2)^2 with x in centimetres and an integer, which fails for k = 4 and where x is negative."""

    class Bowl(om.ExplicitComponent):
        def setup(self):
            self.add_input("x", 0.5, units="m")
            self.add_discrete_input("k", 1)
            self.add_output("f", 0.0)
            self.add_output("g", np.zeros(2))

        def compute(self, inputs, outputs, discrete_inputs, discrete_outputs):
            (x,), k = inputs["x"], discrete_inputs["k"]
            if k == 4:
                outputs["f"] = np.nan
                raise om.AnalysisError("the mesh was bad")
            outputs["f"] = (x - 1.0) ** 2 + (k - 2) ** 2
            outputs["g"] = x, k

    problem = _problem(om.Group(), **options)
    problem.model.add_subsystem("bowl", Bowl(), promotes=["*"])
    problem.model.add_design_var("x", lower=-200.0, upper=200.0, units="cm", ref=100.0)
    problem.model.add_design_var("k", lower=0, upper=4)
    return problem


def test_sellar_with_its_constraints():
    problem = _problem(SellarMDA(), n_evals=20)
    problem.model.add_design_var("x", lower=0.0, upper=10.0)
    problem.model.add_design_var("z", lower=0.0, upper=10.0, ref=5.0)
    problem.model.add_objective("obj")
    problem.model.add_constraint("con1", upper=0.0)
    problem.model.add_constraint("con2", upper=0.0)
    result = problem.setup().run_driver()
    assert result.success
    assert problem.get_val("obj").item() == pytest.approx(3.18339, rel=1e-3)  # OpenMDAO's test with gradients
    assert problem.get_val("con1").item() <= 0.0
    assert list(problem.driver.optimum.x) == ["x", "z[0]", "z[1]"]
    assert result.model_evals in (20, 21)  # once more where the best point was not the last


def test_beam_with_a_bound_on_its_volume():
    class Beam(BeamGroup):
        def setup(self):
            super().setup()
            volume = self._responses["volume_comp.volume"]
            volume["equals"], volume["upper"] = None, 0.01

    problem = _problem(Beam(E=1.0, L=1.0, b=0.1, volume=0.01, num_elements=3), n_evals=20)
    assert problem.setup().run_driver().success
    even = _problem(BeamGroup(E=1.0, L=1.0, b=0.1, volume=0.01, num_elements=3), n_evals=1).setup()
    even.set_val("h", 0.1)
    even.run_model()
    assert problem.get_val("volume_comp.volume").item() <= 0.01
    stiffest, uniform = (p.get_val("compliance_comp.compliance").item() for p in (problem, even))
    assert stiffest < uniform


def test_an_equality_and_missing_bounds_are_refused():
    problem = _problem(BeamGroup(E=1.0, L=1.0, b=0.1, volume=0.01, num_elements=2), n_evals=5).setup()
    with pytest.raises(ValueError, match=r"'volume_comp.volume' must have a lower and an upper bound"):
        problem.run_driver()
    problem = _problem(om.Group(), n_evals=5)
    problem.model.add_subsystem("line", om.ExecComp("f = x"), promotes=["*"])
    problem.model.add_design_var("x", lower=0.0)
    problem.model.add_objective("f")
    with pytest.raises(ValueError, match=r"'x' must have finite bounds"):
        problem.setup().run_driver()


def test_units_integers_failures_and_the_cases_of_a_recorder(tmp_path):
    problem = _bowl(n_evals=22)
    problem.model.add_objective("f", ref=10.0)
    problem.model.add_constraint("g", indices=[0], lower=-0.5, upper=0.8)
    recorder = om.SqliteRecorder(tmp_path / "cases.sql")
    problem.driver.add_recorder(recorder)
    assert problem.setup().run_driver().success
    problem.cleanup()
    found = problem.driver.optimum
    assert found.x_iters[0] == {"x": 50.0, "k": 1}  # where the model was, in the units of the design variable
    assert found.x["x"] == pytest.approx(80.0, abs=1.0)
    assert (found.x["k"], problem["k"]) == (2, 2)
    reader = om.CaseReader(tmp_path / "cases.sql")
    cases = [reader.get_case(name) for name in reader.list_cases("driver", out_stream=None)]
    failed = [case for case in cases if not case.success]
    assert len(cases) in (22, 23)  # once more where the best point was not the last
    assert [case.msg for case in failed] == [reason for _, reason in found.failures]
    assert failed[0].msg.endswith("the mesh was bad")
    assert {case.outputs["k"] for case in failed} == {4}


def test_a_journal_continues_and_is_that_of_an_uninterrupted_run(tmp_path):
    def run(n_evals, journal):
        problem = _bowl(n_evals=n_evals, journal=tmp_path / journal)
        problem.model.add_objective("f")
        problem.setup().run_driver()
        return problem.driver.optimum.x_iters

    whole = run(11, "whole.jsonl")
    run(8, "parts.jsonl")
    assert run(11, "parts.jsonl") == whole
    assert len(tcgp.Optimizer.read(tmp_path / "parts.jsonl").evaluations) == 11


def test_a_negative_scaler_maximizes():
    problem = _problem(om.Group(), n_evals=15)
    problem.model.add_subsystem("hill", om.ExecComp("f = 3 - (x - 1) ** 2"), promotes=["*"])
    problem.model.add_design_var("x", lower=-2.0, upper=2.0)
    problem.model.add_objective("f", scaler=-1.0)
    assert problem.setup().run_driver().success
    assert problem.driver.optimum.fun == problem.get_val("f").item() == pytest.approx(3.0, abs=1e-2)


def test_several_objectives_leave_the_model_at_the_knee():
    problem = _problem(om.Group(), n_evals=12)
    expressions = ["f = x ** 2", "h = (x - 1) ** 2"]
    problem.model.add_subsystem("two", om.ExecComp(expressions), promotes=["*"])
    problem.model.add_design_var("x", lower=-2.0, upper=2.0)
    problem.model.add_objective("f")
    problem.model.add_objective("h")
    assert problem.setup().run_driver().success
    assert len(problem.driver.optimum.front) > 3
    assert problem.get_val("x").item() == problem.driver.optimum.knee().x["x"]


def test_a_failure_leaves_nothing_behind_that_the_next_run_begins_with():
    class Diverging(om.ExplicitComponent):
        """Solvers begin with the state that they ended with."""

        def setup(self):
            self.add_input("x", 0.0)
            self.add_output("state", 1.0)

        def compute(self, inputs, outputs):
            if inputs["x"] > 0.5:
                outputs["state"] = np.nan
                raise om.AnalysisError("diverged")
            outputs["state"] = 0.0 * outputs["state"] + inputs["x"]

    problem = _problem(om.Group(), n_evals=12)
    problem.model.add_subsystem("solver", Diverging(), promotes=["*"])
    problem.model.add_design_var("x", lower=-1.0, upper=1.0)
    problem.model.add_objective("state")
    assert problem.setup().run_driver().success
    failed = [problem.driver.optimum.x_iters[i]["x"] for i, _ in problem.driver.optimum.failures]
    assert failed
    assert min(failed) > 0.5


def test_it_says_what_it_supports_and_refuses_to_run_in_several_processes():
    class Two:
        """A communicator of MPI with two processes, as far as it is looked at."""

        rank, size = 0, 2

    class Distributed(om.DefaultVector):
        """Instead of PETSc's, which need not be installed."""

        distributed = True

    problem = _bowl(n_evals=5)
    for name in ("optimization", "inequality_constraints", "two_sided_constraints", "multiple_objectives"):
        assert problem.driver.supports[name]
    for name in ("gradients", "equality_constraints", "distributed_design_vars", "simultaneous_derivatives"):
        assert not problem.driver.supports[name]
    problem.comm = Two()
    with pytest.raises(RuntimeError, match="runs in one process, got 2 of MPI"):
        problem.setup(distributed_vector_class=Distributed)


def test_options_that_there_are_not_are_refused_and_the_entry_point_leads_to_the_driver():
    with pytest.raises(KeyError, match="n_eval"):
        TailCalibratedDriver(n_eval=5)
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    ((name, value),) = project["entry-points"]["openmdao_driver"].items()
    assert EntryPoint(name, value, "openmdao_driver").load() is TailCalibratedDriver
