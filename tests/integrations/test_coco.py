"""The solver for COCO and IOHprofiler, on their own problems and with their own loggers."""

from __future__ import annotations

import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tcgp.integrations import coco


@pytest.fixture
def coco_problem(cocoex):
    """Opens a problem of a suite; a problem does not outlive its suite, so the suites are kept."""
    suites = []

    def open_problem(suite="bbob", dimension=2, function=1):
        options = f"dimensions:{dimension} function_indices:{function} instance_indices:1"
        suites.append(cocoex.Suite(suite, "", options))
        return next(iter(suites[-1]))

    return open_problem


def test_budget_and_bounds_are_kept_on_a_coco_problem(coco_problem):
    problem = coco_problem(function=8)  # Rosenbrock's: too hard to be solved in so few
    result = coco.solve(problem, 25, rng=0)
    assert result.nfev == problem.evaluations == 25
    assert (np.array(result.x_iters) >= problem.lower_bounds).all()
    assert (np.array(result.x_iters) <= problem.upper_bounds).all()
    assert result.fun == problem.best_observed_fvalue1
    design = result.func_vals[:12].min()  # half of the budget
    assert result.fun < design


def test_a_run_ends_when_the_final_target_is_hit(coco_problem):
    problem = coco_problem(dimension=2, function=5)  # a slope: the optimum is a corner
    result = coco.solve(problem, 60, rng=0, n_initial=5)
    assert problem.final_target_hit
    assert result.nfev == problem.evaluations < 60


def test_observers_of_coco_see_every_evaluation(cocoex, coco_problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = coco_problem()
    observer = cocoex.Observer("bbob", "result_folder: tcgp algorithm_name: tcgp")
    problem.observe_with(observer)
    coco.solve(problem, 12, rng=0)
    assert problem.evaluations == 12
    problem.free()
    assert any((tmp_path / "exdata").rglob("*.info"))


def test_integers_of_a_mixed_suite_stay_integers(coco_problem):
    problem = coco_problem("bbob-mixint", dimension=5)
    result = coco.solve(problem, 20, rng=0)
    integers = np.array(result.x_iters, dtype=float)[:, : problem.number_of_integer_variables]
    np.testing.assert_array_equal(integers, np.round(integers))
    assert len({tuple(x) for x in result.x_iters}) == 20


def test_two_objectives_are_a_front_that_coco_logs(cocoex, coco_problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, differences = tmp_path / "log.csv", {}
    for name in ("tcgp", "random"):
        problem = coco_problem("bbob-biobj")  # two spheres
        problem.observe_with(cocoex.Observer("bbob-biobj", f"result_folder: {name}"))
        if name == "tcgp":
            result = coco.solve(problem, 20, rng=0, log=log)
            nadir = problem.largest_fvalues_of_interest
        else:
            rng = np.random.default_rng(0)
            for _ in range(20):
                problem(rng.uniform(problem.lower_bounds, problem.upper_bounds))
        problem.free()
        (indicator,) = (tmp_path / "exdata" / name).rglob("*_hyp.tdat")
        differences[name] = float(indicator.read_text().split()[-1])  # COCO's, at the end of the run
    assert result.nfev == 20
    assert (result.optimizer.history.data.reference == nadir).all()
    assert differences["tcgp"] < 0.2 < differences["random"]
    with log.open() as file:
        rows = [[float(value) for value in row["value"].split()] for row in csv.DictReader(file)]
    assert rows == [[e.outputs["value0"], e.outputs["value1"]] for e in result.optimizer.evaluations]


def test_constraints_of_coco_are_learned(coco_problem):
    problem = coco_problem("bbob-constrained", function=2)  # a sphere with three constraints
    result = coco.solve(problem, 24, rng=0, n_initial=8, method="tcgp")
    assert result.nfev == problem.evaluations == problem.evaluations_constraints == 24
    assert result.success
    assert max(problem.constraint(np.array(result.x))) <= 0.0
    assert result.fun == pytest.approx(-2024.807, abs=0.1)  # COCO's optimum


def test_the_log_of_a_constrained_problem_has_the_best_feasible_value(coco_problem, tmp_path):
    log = tmp_path / "log.csv"
    result = coco.solve(coco_problem("bbob-constrained"), 10, rng=0, log=log, n_initial=8, method="tcgp")
    with log.open() as file:
        rows = list(csv.DictReader(file))
    running = np.fmin.accumulate(np.where(result.feasible, result.func_vals, np.nan))
    assert not result.feasible[0]  # so that the log begins without a best value
    assert result.feasible.any()
    np.testing.assert_array_equal([float(row["best"]) for row in rows], running)
    np.testing.assert_array_equal([float(row["value"]) for row in rows], result.func_vals)


def test_constraints_of_the_user_are_added_to_those_of_the_problem(coco_problem):
    problem = coco_problem("bbob-constrained", function=2)
    for constraints in ("x0 <= x1", ["x0 <= x1"]):
        result = coco.solve(problem, 6, rng=0, n_initial=4, method="tcgp", constraints=constraints)
        assert len(result.optimizer.surrogates[1:]) == problem.number_of_constraints == 3
        assert all(x[0] <= x[1] for x in result.x_iters)


def test_bad_arguments_are_refused_before_anything_is_evaluated():
    with pytest.raises(TypeError, match="has no argument 'methud'; did you mean 'method'"):
        coco.Solver(6, methud="tcgp")
    with pytest.raises(TypeError, match="takes no 'objective': the problem determines"):
        coco.Solver(6, objective="f")
    with pytest.raises(TypeError, match="takes no 'maximize': the problem determines"):
        coco.Solver(6, maximize=True)
    with pytest.raises(ValueError, match="n_initial must be a positive integer"):
        coco.Solver(6, n_initial=0)


def test_what_is_no_problem_is_refused():
    with pytest.raises(TypeError, match=r"use tcgp\.minimize"):
        coco.solve(lambda x: 0.0, 10)
    with pytest.raises(ValueError, match="budget must be a positive integer"):
        coco.Solver(0)


def test_the_log_holds_every_evaluation_with_beta_lambda_and_threshold(coco_problem, tmp_path):
    log = tmp_path / "log.csv"
    solver = coco.Solver(15, rng=0, log=log, n_initial=8, method="tcgp")
    for function in (1, 2):
        problem = coco_problem(function=function)
        result = solver(problem)
    with log.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert {row["problem"] for row in rows} == {"bbob_f001_i01_d02", "bbob_f002_i01_d02"}
    last = rows[15:]
    assert [int(row["evaluation"]) for row in last] == list(range(1, 16))
    np.testing.assert_array_equal([float(row["value"]) for row in last], result.func_vals)
    running = np.minimum.accumulate(result.func_vals)
    np.testing.assert_array_equal([float(row["best"]) for row in last], running)
    assert all(math.isnan(float(row["beta"])) for row in last[:8])
    trace = result.optimizer.trace
    assert [float(row["beta"]) for row in last[8:]] == [t["beta"] for t in trace]
    assert [float(row["lambda"]) for row in last[8:]] == [t["scale"] for t in trace]
    assert [float(row["threshold"]) for row in last[8:]] == [t["threshold"] for t in trace]


def test_same_seed_same_run_and_each_run_of_a_solver_its_own(coco_problem):
    runs = []
    solver = coco.Solver(6, rng=1)
    for s in (solver, solver, coco.Solver(6, rng=1)):
        problem = coco_problem()
        runs.append(s(problem).x_iters)
    assert runs[0] == runs[2] != runs[1]


class _Bits:
    """A problem as IOHprofiler presents it: count the ones among eight bits, as many as possible."""

    bounds = SimpleNamespace(lb=np.zeros(8, dtype=int), ub=np.ones(8, dtype=int))
    meta_data = SimpleNamespace(
        name="OneMax", instance=1, n_variables=8, optimization_type=SimpleNamespace(name="MAX")
    )

    def __init__(self):
        self.state = SimpleNamespace(evaluations=0, final_target_found=False)

    def __call__(self, x):
        self.state.evaluations += 1
        self.state.final_target_found |= sum(x) == 8
        return float(sum(x))


def test_problems_of_ioh_are_maximized_until_their_target_is_found():
    problem = _Bits()
    result = coco.solve(problem, 60, rng=0, n_initial=10)
    assert problem.state.final_target_found
    assert result.fun == 8.0
    assert problem.state.evaluations == result.nfev < 60


def test_all_values_of_a_maximized_problem_have_its_sign(tmp_path):
    log = tmp_path / "log.csv"
    solver = coco.Solver(16, rng=0, n_initial=10, method="tcgp", log=log)
    result = solver(_Bits())
    with log.open() as file:
        rows = list(csv.DictReader(file))
    values, best, thresholds = ([float(row[name]) for row in rows] for name in ("value", "best", "threshold"))
    assert values == result.func_vals.tolist()
    assert best == np.maximum.accumulate(values).tolist()
    assert result.fun == max(values)
    assert len(rows) > 10
    assert all(min(values) <= threshold <= max(values) for threshold in thresholds[10:])
    assert solver.threshold == thresholds[-1]


@pytest.fixture
def ioh():
    return pytest.importorskip("ioh", reason="ioh is an extra of its own: pip install -e '.[ioh]'")


def test_ioh_problems_are_solved_and_counted(ioh):
    problem = ioh.get_problem("Sphere", 1, 2, ioh.ProblemClass.BBOB)
    result = coco.solve(problem, 25, rng=0)
    assert problem.state.evaluations == result.nfev
    assert result.fun == pytest.approx(problem.state.current_best.y)


def test_ioh_problems_over_bits_are_maximized(ioh):
    problem = ioh.get_problem("OneMax", 1, 8, ioh.ProblemClass.PBO)
    result = coco.solve(problem, 60, rng=0, n_initial=10)
    assert problem.state.final_target_found
    assert problem.state.current_best.y == 8.0
    assert result.fun == 8.0
    assert result.nfev < 60


def test_ioh_experiments_log_beta_lambda_and_threshold(ioh, tmp_path):
    names = ["beta", "lambda_", "threshold"]
    experiment = ioh.Experiment(
        coco.Solver(14, rng=0, n_initial=8, method="tcgp"),
        fids=[1],
        iids=[1],
        dims=[2],
        reps=2,
        problem_class=ioh.ProblemClass.BBOB,
        logger_triggers=[ioh.logger.trigger.ALWAYS],
        output_directory=str(tmp_path),
        folder_name="run",
        logged_attributes=names,
        zip_output=False,
    )
    experiment()
    (data,) = tmp_path.rglob("*.dat")
    lines = [line.split() for line in data.read_text().splitlines() if line.strip()]
    headings = [i for i, line in enumerate(lines) if "evaluations" in line[0]]
    assert len(headings) == 2
    assert lines[0][-3:] == names
    first = lines[1 : headings[1]]
    assert len(first) == 14
    assert all(0.1 <= float(line[-3]) <= 10.0 for line in first[8:])
