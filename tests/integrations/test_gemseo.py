"""The optimizer of GEMSEO, found by its entry point, on GEMSEO's own problems."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp

pytest.importorskip("gemseo_tcgp", reason="needs GEMSEO: pip install packages/gemseo")

from gemseo import create_design_space, create_discipline, create_scenario, execute_algo
from gemseo.algos.optimization_problem import OptimizationProblem
from gemseo.core.mdo_functions.mdo_function import MDOFunction
from gemseo.problems.mdo.sobieski.core.design_space import SobieskiDesignSpace
from gemseo.problems.multiobjective_optimization.binh_korn import BinhKorn
from gemseo.problems.optimization.power_2 import Power2

QUIET = {"log_problem": False, "enable_progress_bar": False, "rng": 0}


def _solve(problem, n, **settings):
    return execute_algo(problem, algo_name="TCGP", max_iter=n, **{**QUIET, **settings})


def _power2():
    """GEMSEO's Power2 without its equality."""
    problem = Power2()
    problem.constraints = [c for c in problem.constraints if c.name != "eq"]
    return problem


class _Bowl(OptimizationProblem):
    """A bowl of two variables, with its minimum at (0.3, 0.6), that counts its calls."""

    def __init__(self, hook=lambda x: None, **changes):
        space = create_design_space()
        space.add_variable("x", size=2, lower_bound=0.0, upper_bound=1.0, value=0.9, **changes)
        super().__init__(space)
        self.calls, self._hook = [], hook
        self.objective = MDOFunction(self._compute, "bowl")

    def _compute(self, x):
        self.calls.append(tuple(x))
        given = self._hook(x)
        return float(np.sum((x - [0.3, 0.6]) ** 2)) if given is None else given


def test_finds_the_minimum_of_power2_that_keeps_the_constraints():
    result = _solve(_power2(), 25)
    assert result.is_feasible
    assert result.f_opt == pytest.approx(2.0 * 0.5 ** (2.0 / 3.0), abs=1e-3)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match="equality"):
        _solve(Power2(), 10)
    with pytest.raises(ValueError, match="inital"):
        _solve(_power2(), 10, n_inital=4)
    unbounded = _Bowl()
    unbounded.design_space.set_upper_bound("x", np.array([np.inf, 1.0]))
    with pytest.raises(ValueError, match=r"'x\[0\]' must have finite bounds"):
        _solve(unbounded, 10)


def test_failed_evaluations_are_recorded_and_avoided(tmp_path):
    def fails(x):
        if x[0] < 0.2:
            raise RuntimeError("the mesh was bad")
        return float("nan") if x[1] > 0.8 and x[0] < 0.8 else None

    problem = _Bowl(fails)
    result = _solve(problem, 20, journal=tmp_path / "run.jsonl")
    evaluations = tcgp.Optimizer.read(tmp_path / "run.jsonl").evaluations
    reasons = {e.reason for e in evaluations if e.failed}
    assert reasons == {"RuntimeError: the mesh was bad", "the output 'bowl': the value is nan"}
    assert len(evaluations) == len(problem.calls) == 20
    assert result.f_opt == pytest.approx(0.0, abs=1e-3)


def test_a_run_that_was_killed_goes_on_from_its_journal_and_repeats_no_evaluation(tmp_path):
    def killed(x):
        if len(stopped.calls) == 9:
            raise KeyboardInterrupt

    whole = _Bowl()
    expected = _solve(whole, 16)
    stopped, again = _Bowl(killed), _Bowl()
    journal = {"journal": tmp_path / "run.jsonl"}
    with pytest.raises(KeyboardInterrupt):
        _solve(stopped, 16, **journal)
    result = _solve(again, 16, **journal)
    assert [*stopped.calls[:8], *again.calls] == whole.calls
    assert result.x_opt.tolist() == expected.x_opt.tolist()
    assert len(again.database) == 16
    done = _Bowl()
    assert _solve(done, 16, **journal).f_opt == expected.f_opt
    assert done.calls == []


def test_a_first_point_that_failed_is_not_evaluated_again(tmp_path):
    first = _Bowl(lambda x: float("nan") if x[0] == 0.9 else None)
    _solve(first, 6, journal=tmp_path / "run.jsonl")
    again = _Bowl()
    _solve(again, 8, journal=tmp_path / "run.jsonl")
    assert (len(first.calls), len(again.calls)) == (6, 2)


def test_several_objectives_have_a_front(tmp_path):
    result = _solve(BinhKorn(), 16, journal=tmp_path / "run.jsonl")
    front = tcgp.Optimizer.read(tmp_path / "run.jsonl").result().front
    assert len(front) == len(result.pareto_front.f_optima) >= 6


def test_maximizing_is_told_to_the_journal_in_the_sense_of_the_user(tmp_path):
    problem = _Bowl()
    problem.minimize_objective = False
    result = _solve(problem, 12, journal=tmp_path / "run.jsonl")
    ours = tcgp.Optimizer.read(tmp_path / "run.jsonl").result()
    assert ours.fun == pytest.approx(0.49 + 0.36)
    assert result.f_opt == -ours.fun  # GEMSEO's sense
    assert set(ours.outputs) == {"bowl"}


def test_integers_and_the_values_of_an_earlier_design():
    problem = _Bowl()
    problem.design_space.add_variable("k", lower_bound=1, upper_bound=4, value=2, type_="integer")
    problem.objective = MDOFunction(lambda x: float(np.sum((x[:2] - 0.3) ** 2) + (x[2] - 3) ** 2), "bowl")
    execute_algo(problem, algo_type="doe", algo_name="LHS", n_samples=8, log_problem=False)
    result = _solve(problem, 12)
    assert result.x_opt[2] == 3.0
    assert result.f_opt < 0.01
    assert len(problem.database) == 8 + 11  # GEMSEO begins at the best point of the design


def test_a_scenario_of_sobieski_improves_the_range_within_the_constraints(tmp_path):
    names = ("SobieskiPropulsion", "SobieskiAerodynamics", "SobieskiStructure", "SobieskiMission")
    scenario = create_scenario(
        create_discipline(names),
        "y_4",
        SobieskiDesignSpace(),
        formulation_name="MDF",
        maximize_objective=True,
    )
    for name in ("g_1", "g_2", "g_3"):
        scenario.add_constraint(name, constraint_type="ineq")
    scenario.execute(algo_name="TCGP", max_iter=30, journal=tmp_path / "run.jsonl", **QUIET)
    result = scenario.optimization_result
    assert result.is_feasible
    assert -result.f_opt > 1000.0  # 536 at the start, which is not feasible; the optimum is 3964
    outputs = tcgp.Optimizer.read(tmp_path / "run.jsonl").result().outputs
    assert {"y_4", "g_1[0]", "g_2", "g_3[2]"} <= set(outputs)
