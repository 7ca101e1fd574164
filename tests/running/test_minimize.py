"""One call: budgets, stops, failures, workers and journals."""

from __future__ import annotations

import concurrent.futures
import io
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

from tcgp import Categorical, Integer, Real, Space, minimize
from tcgp.optimizer import Optimizer
from tcgp.record.journal import JournalError
from tcgp.running.crews import WorkersError, crew_for
from tcgp.running.progress import ProgressLine

SQUARE = [(0, 1), (0, 1)]


def bowl(x: Any) -> float:
    """A smooth function with its minimum 0 at (0.3, 0.3)."""
    return float((x[0] - 0.3) ** 2 + 2.0 * (x[1] - 0.3) ** 2)


# ---- what comes back ----


def test_the_result_is_scipys_and_complete() -> None:
    result = minimize(bowl, SQUARE, n_evals=16, method="gp", n_initial=8, rng=0)
    assert isinstance(result, OptimizeResult)
    assert (result.success, result.status) == (True, 0)
    assert result.nfev == len(result.x_iters) == len(result.func_vals) == 16
    assert result.nit == 8
    assert isinstance(result.x, np.ndarray)
    assert result.fun == bowl(result.x) == result.func_vals.min() < 1e-3
    assert "16" in result.message
    assert isinstance(result.optimizer, Optimizer)
    assert "message" in repr(result)


def test_the_same_rng_gives_the_same_points() -> None:
    a, b = (minimize(bowl, SQUARE, n_evals=11, n_initial=8, rng=4).x_iters for _ in range(2))
    c = minimize(bowl, SQUARE, n_evals=9, n_initial=8, rng=5).x_iters
    assert a == b
    assert a[:9] != c


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [
        (Bounds([0, 0], [1, 1]), np.ndarray),
        ({"a": Real(0, 1), "b": Real(0, 1)}, dict),
        ([Real(0, 1), Integer(0, 5)], list),
    ],
)
def test_the_function_gets_the_form_that_its_space_says(bounds: object, kind: type) -> None:
    seen = []

    def fun(x: Any) -> float:
        seen.append(type(x))
        return float(sum(x.values() if isinstance(x, dict) else x))

    result = minimize(fun, bounds, n_evals=4, rng=0)
    assert set(seen) == {kind}
    assert isinstance(result.x, kind)
    assert fun(result.x) == result.fun


def test_a_result_draws_itself() -> None:
    figure = minimize(bowl, SQUARE, n_evals=10, n_initial=6, rng=0).plot()
    assert figure.axes


def test_a_campaign_begins_without_scipy() -> None:
    """Loading SciPy takes longer than the whole initial design."""
    script = """
import sys, tcgp
optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
optimizer.tell(optimizer.ask(), 1.0)
tcgp.minimize
print([name for name in ("matplotlib", "scipy") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


# ---- budgets ----


@pytest.mark.parametrize(("n_evals", "n_design"), [(1, 1), (2, 1), (3, 1), (7, 3), (40, 20)])
def test_the_default_design_is_at_most_half_of_the_budget(n_evals: int, n_design: int) -> None:
    result = minimize(bowl, SQUARE, n_evals=n_evals, method="gp", rng=0)
    assert result.nfev == n_evals
    assert result.optimizer.settings.n_initial == n_design


def test_a_budget_smaller_than_the_design_is_kept() -> None:
    result = minimize(bowl, SQUARE, n_evals=5, n_initial=20, rng=0)
    assert result.nfev == 5
    assert result.nit == 0


def test_one_and_fifty_dimensions_work() -> None:
    assert minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], n_evals=10, rng=0).fun < 1e-2
    assert minimize(lambda x: float(np.sum(x)), [(0, 1)] * 50, n_evals=6, rng=0).nfev == 6


def test_a_space_of_twelve_points_is_searched_to_the_end() -> None:
    space = Space([Integer(1, 3), Categorical(["x", "y"]), Categorical([True, False])])
    result = minimize(lambda x: abs(x[0] - 2) + (x[1] == "x") + x[2], space, n_evals=50, rng=0)
    assert (result.nfev, result.status, result.success) == (12, 2, True)
    assert result.x == [2, "y", False]
    assert "every point" in result.message


def test_a_space_of_one_point_is_evaluated_once() -> None:
    result = minimize(lambda x: 2.0, [Integer(3, 3), Categorical(["a"])], n_evals=5, rng=0)
    assert (result.nfev, result.status, result.x, result.fun) == (1, 2, [3, "a"], 2.0)


def test_a_constant_function_ends_well() -> None:
    result = minimize(lambda x: 3.0, SQUARE, n_evals=12, rng=0)
    assert (result.fun, result.nfev, result.success) == (3.0, 12, True)


# ---- stops ----


def test_the_target_ends_the_run() -> None:
    result = minimize(bowl, SQUARE, n_evals=60, method="gp", n_initial=10, rng=0, target=1e-3)
    assert result.status == 1
    assert result.fun <= 1e-3
    assert np.all(result.func_vals[:-1] > 1e-3)


def test_wall_time_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def fun(x: Any) -> float:
        clock[0] += 0.0625
        return bowl(x)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    result = minimize(fun, SQUARE, n_evals=10_000, rng=0, max_time=0.25)
    assert (result.status, result.nfev) == (4, 4)


def test_a_callback_sees_each_evaluation_and_may_stop() -> None:
    seen: list[int] = []

    def callback(result: OptimizeResult) -> None:
        seen.append(result.nfev)
        if result.nfev == 4:
            raise StopIteration

    result = minimize(bowl, SQUARE, n_evals=30, rng=0, callback=callback)
    assert seen == [1, 2, 3, 4]
    assert (result.status, result.nfev, result.success) == (5, 4, True)


def test_a_callback_sees_the_number_of_evaluations_that_the_result_has() -> None:
    seen: list[int] = []
    told = {"x0": [[0.0, 1.0], [1.0, 0.0]], "y0": [3.0, 4.0]}
    result = minimize(bowl, SQUARE, n_evals=3, rng=0, callback=lambda r: seen.append(r.nfev), **told)
    assert (seen, result.nfev) == ([1, 2, 3], 3)


def test_a_callback_that_compares_numbers_of_numpy_may_stop() -> None:
    result = minimize(bowl, SQUARE, n_evals=9, rng=0, callback=lambda result: result.func_vals[-1] < np.inf)
    assert (result.status, result.nfev) == (5, 1)


def test_ctrl_c_returns_what_there_is(tmp_path: Path) -> None:
    def fun(x: Any) -> float:
        if len(calls) == 7:
            raise KeyboardInterrupt
        calls.append(x)
        return bowl(x)

    calls: list[Any] = []
    result = minimize(fun, SQUARE, n_evals=12, rng=0, journal=tmp_path / "run.jsonl")
    assert (result.status, result.success, result.nfev) == (6, False, 7)
    assert result.fun == min(map(bowl, calls))
    calls.clear()
    resumed = minimize(bowl, SQUARE, n_evals=12, rng=0, journal=tmp_path / "run.jsonl")
    assert resumed.x_iters == minimize(bowl, SQUARE, n_evals=12, rng=0).x_iters


@pytest.mark.parametrize("workers", [1, 2])
def test_a_real_sigint_returns_what_there_is(workers: int) -> None:
    script = f"""
import os, time, tcgp
def fun(x):
    os.write(1, b"started\\n")  # in one piece, whatever the other worker writes
    time.sleep(600 if x[0] < 0.95 else 0)
    return 1.0
if __name__ == "__main__":
    result = tcgp.minimize(fun, [(0, 1)], n_evals=5, x0=[[1.0]], rng=0, workers={workers})
    print(result.status, result.nfev, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    for _ in range(workers + 1):  # the last of these starts after the first evaluation has been told
        assert process.stdout.readline() == "started\n"
    # As a terminal does: to the whole group, workers included.
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert out.splitlines()[-1] == "6 1"
    assert process.returncode == 0


# ---- points of the user ----


def test_runs_already_made_are_used_and_not_counted() -> None:
    X = np.random.default_rng(0).random((12, 2))
    calls = []
    result = minimize(
        lambda x: calls.append(x) or bowl(x),
        SQUARE,
        n_evals=5,
        n_initial=10,
        x0=X,
        y0=[bowl(x) for x in X],
        rng=0,
    )
    assert (len(calls), result.nfev, result.nit) == (5, 5, 5)
    assert result.x_iters[:12] == X.tolist()
    assert len(result.func_vals) == 17


def test_failed_runs_already_made_are_taken_as_failures() -> None:
    result = minimize(bowl, SQUARE, n_evals=3, x0=[[0.1, 0.1], [0.2, 0.2]], y0=[None, 0.5], rng=0)
    assert result.failures[0][0] == 0


@pytest.mark.parametrize(
    ("bounds", "x0", "first"),
    [
        (SQUARE, [0.25, 0.75], [[0.25, 0.75]]),
        (SQUARE, [[0.25, 0.75], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]),
        (SQUARE, np.array([[0.25, 0.75]]), [[0.25, 0.75]]),
        ([(0, 1)], 0.5, [[0.5]]),
        ({"a": (0, 1), "c": Categorical(["u", "v"])}, {"c": "v", "a": 0.5}, [{"a": 0.5, "c": "v"}]),
        (
            {"a": (0, 1), "c": Categorical(["u", "v"])},
            [{"c": "v", "a": 0.5}, [0.1, "u"]],
            [{"a": 0.5, "c": "v"}, {"a": 0.1, "c": "u"}],
        ),
    ],
)
def test_points_of_the_user_are_evaluated_first(bounds: object, x0: object, first: list[Any]) -> None:
    result = minimize(lambda x: 1.0, bounds, n_evals=4, x0=x0, rng=0)
    assert result.x_iters[: len(first)] == first
    assert result.nfev == 4


# ---- failures ----


def test_a_function_that_crashes_on_a_third_of_the_box_is_minimized_and_every_failure_recorded() -> None:
    def fun(x: Any) -> float | None:
        if x[0] > 0.9:
            raise RuntimeError("the mesh is tangled")
        if x[1] > 0.9:
            return math.nan
        if x[0] + x[1] < 0.45:
            return None
        return bowl(x)

    result = minimize(fun, SQUARE, n_evals=40, method="gp", n_initial=15, rng=0)
    assert result.success
    assert result.nfev == 40
    assert result.fun < 1e-3
    failed = np.flatnonzero(np.isnan(result.func_vals))
    assert [i for i, _ in result.failures] == failed.tolist()
    for i, reason in result.failures:
        x = result.x_iters[i]
        expected = "RuntimeError: the mesh is tangled" if x[0] > 0.9 else "nan" if x[1] > 0.9 else "no value"
        assert expected in reason


def test_when_everything_fails_the_result_says_so() -> None:
    def fun(x: Any) -> float:
        raise OSError("no licence")

    result = minimize(fun, SQUARE, n_evals=15, n_initial=5, rng=0, max_failures=15)
    assert (result.success, result.nfev, result.x) == (False, 15, None)
    assert "no licence" in result.message
    assert math.isnan(result.fun)


def test_an_exit_of_the_function_is_a_failure() -> None:
    result = minimize(lambda x: sys.exit("bad input"), SQUARE, n_evals=2, rng=0)
    assert result.failures == [(0, "SystemExit: bad input"), (1, "SystemExit: bad input")]


class TookTooLong(BaseException):
    """As of packages that end a function after some time."""


def takes_too_long(x: Any) -> float:
    raise TookTooLong("10 s")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_that_is_none_of_pythons_errors_is_a_failure_too(workers: int) -> None:
    result = minimize(takes_too_long, SQUARE, n_evals=2, rng=0, workers=workers)
    assert [reason for _, reason in result.failures] == ["TookTooLong: 10 s", "TookTooLong: 10 s"]


def test_a_part_of_the_space_too_thin_for_two_points_is_said_to_be_so() -> None:
    thin = ["x0 + x1 >= 1.9999999"]
    result = minimize(lambda x: x[0], [(0, 1), (0, 1)], n_evals=5, constraints=thin, rng=0)
    assert result.status == 2
    assert "all allowed points differ from evaluated ones by less than 1e-07 of the ranges" in result.message


def test_a_number_that_cannot_be_computed_is_a_failure() -> None:
    class Lazy:
        def __float__(self) -> float:
            raise RuntimeError("out of device memory")

    result = minimize(lambda x: Lazy() if x[0] > 0.2 else bowl(x), SQUARE, n_evals=6, rng=0)
    assert {reason for _, reason in result.failures} == {"RuntimeError: out of device memory"}
    outputs = minimize(lambda x: {"y": Lazy()}, SQUARE, n_evals=2, objective="y", rng=0)
    assert len(outputs.failures) == 2


def test_an_exception_without_words_is_a_failure() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def fun(x: Any) -> float:
        raise Speechless

    assert minimize(fun, SQUARE, n_evals=2, rng=0).failures == [(0, "Speechless"), (1, "Speechless")]


# ---- workers ----


def logged_bowl(x: Any) -> float:
    """A bowl that leaves a line for each call, and takes a little time that depends on where it is."""
    with open(os.environ["TCGP_TEST_LOG"], "a") as log:
        log.write(repr([float(v) for v in x]) + "\n")
    time.sleep(0.02 * float(x[0]))
    return bowl(x)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "calls.log"
    path.touch()
    monkeypatch.setenv("TCGP_TEST_LOG", str(path))
    return path


def test_a_callback_sees_every_evaluation_of_a_batch_and_no_result_is_dropped_when_it_stops() -> None:
    seen: list[int] = []

    def callback(result: OptimizeResult) -> None:
        seen.append(result.nfev)
        if result.nfev == 6:
            raise StopIteration

    result = minimize(bowl, SQUARE, n_evals=20, rng=0, workers=map, n_parallel=4, callback=callback)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert (result.status, result.nfev) == (5, 8)


@pytest.mark.parametrize("kind", ["processes", "executor", "process executor", "map", "pool map"])
def test_with_workers_nothing_is_lost_and_nothing_evaluated_twice(kind: str, log: Path) -> None:
    def run(workers: Any) -> OptimizeResult:
        return minimize(logged_bowl, SQUARE, n_evals=24, method="gp", n_initial=12, rng=0, workers=workers)

    if kind == "processes":
        result = run(3)
    elif kind == "executor":
        with concurrent.futures.ThreadPoolExecutor(3) as executor:
            result = run(executor)
    elif kind == "process executor":
        with concurrent.futures.ProcessPoolExecutor(2) as executor:
            result = run(executor)
    elif kind == "map":
        result = run(map)
    else:
        with multiprocessing.Pool(2) as pool:
            result = run(pool.map)
    calls = log.read_text().splitlines()
    assert len(calls) == 24
    assert sorted(calls) == sorted(repr(x) for x in result.x_iters)
    assert max(Counter(calls).values()) == 1
    assert result.func_vals.tolist() == [bowl(x) for x in result.x_iters]
    assert (result.status, result.nfev) == (0, 24)


class ForeignFuture:
    """A future with no more than those of Dask and of concurrent.futures have in common."""

    def __init__(self, future: concurrent.futures.Future[Any]) -> None:
        self._future = future

    def add_done_callback(self, callback: Any) -> None:
        self._future.add_done_callback(lambda _: callback(self))

    def result(self) -> Any:
        return self._future.result()

    def cancel(self) -> None:
        self._future.cancel()


class ForeignExecutor:
    """An executor that is no `concurrent.futures.Executor`, and says how many workers it has as Dask does."""

    def __init__(self, executor: concurrent.futures.Executor) -> None:
        self._executor = executor

    def submit(self, function: Any, *arguments: Any) -> ForeignFuture:
        return ForeignFuture(self._executor.submit(function, *arguments))

    def nthreads(self) -> dict[str, int]:
        return {"tcp://one": 2, "tcp://two": 1}


def test_an_executor_of_another_make_serves_as_it_is() -> None:
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        foreign = ForeignExecutor(executor)
        assert crew_for(foreign, bowl).capacity == 3
        result = minimize(bowl, SQUARE, n_evals=12, method="gp", n_initial=9, rng=0, workers=foreign)
    assert (result.nfev, result.status) == (12, 0)
    assert result.func_vals.tolist() == [bowl(x) for x in result.x_iters]


def test_evaluations_run_at_the_same_time() -> None:
    barrier = threading.Barrier(3, timeout=120)

    def fun(x: Any) -> float:
        barrier.wait()  # passes only if three calls are under way at once
        return bowl(x)

    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        result = minimize(fun, SQUARE, n_evals=9, n_initial=9, rng=0, workers=executor)
    assert result.failures == []


def test_n_parallel_limits_what_is_under_way() -> None:
    under_way, most = [0], [0]
    lock = threading.Lock()

    def fun(x: Any) -> float:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.01)
        with lock:
            under_way[0] -= 1
        return bowl(x)

    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        minimize(fun, SQUARE, n_evals=10, n_initial=10, rng=0, workers=executor, n_parallel=2)
    assert most[0] <= 2


def dies_on_the_right(x: Any) -> float:
    """A simulator that kills its process on a part of the box."""
    if x[0] > 0.6:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


def test_a_worker_that_dies_costs_its_own_evaluation_only() -> None:
    result = minimize(dies_on_the_right, SQUARE, n_evals=16, method="gp", n_initial=10, rng=0, workers=2)
    assert (result.nfev, result.status) == (16, 0)
    for x, y in zip(result.x_iters, result.func_vals, strict=True):
        assert math.isnan(y) == (x[0] > 0.6)
    assert result.failures
    assert all("died with exit code -9" in reason for _, reason in result.failures)


def test_a_broken_executor_ends_the_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    executor = concurrent.futures.ThreadPoolExecutor(2)

    def callback(result: OptimizeResult) -> None:
        if result.nfev == 4:
            executor.shutdown()

    result = minimize(
        bowl, SQUARE, n_evals=12, rng=0, workers=executor, callback=callback, journal=tmp_path / "run.jsonl"
    )
    assert (result.status, result.success) == (7, False)
    assert "no more work" in result.message
    assert result.nfev >= 4
    resumed = minimize(bowl, SQUARE, n_evals=12, rng=0, journal=tmp_path / "run.jsonl")
    assert resumed.nfev == 12
    assert resumed.x_iters[: result.nfev] == result.x_iters


def test_a_map_that_fails_ends_the_run() -> None:
    def broken(fun: Any, arguments: Any) -> Any:
        raise ConnectionError("the cluster is gone")

    result = minimize(bowl, SQUARE, n_evals=5, rng=0, workers=broken)
    assert result.status == 7
    assert "the cluster is gone" in result.message


@pytest.mark.parametrize("error", [ConnectionError("a node is lost"), KeyboardInterrupt()])
def test_a_map_that_ends_early_costs_no_evaluation_that_has_ended(error: BaseException) -> None:
    def ends_early(fun: Any, arguments: Any) -> Any:
        yield from map(fun, arguments[:3])
        raise error

    result = minimize(bowl, SQUARE, n_evals=8, rng=0, workers=ends_early, n_parallel=4)
    assert result.func_vals.tolist() == [bowl(x) for x in result.x_iters]
    assert (result.nfev, result.success) == (3, False)


def test_a_map_gives_none_for_a_point_that_failed() -> None:
    def left_only(fun: Any, arguments: Any) -> Any:
        return [None if x[0] > 0.5 else fun(x) for x in arguments]

    result = minimize(bowl, SQUARE, n_evals=8, rng=0, workers=left_only, n_parallel=4)
    assert [i for i, _ in result.failures] == [i for i, x in enumerate(result.x_iters) if x[0] > 0.5]
    assert (result.nfev, result.success) == (8, True)


def test_a_function_that_cannot_travel_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = multiprocessing.get_context("spawn")
    monkeypatch.setattr(multiprocessing, "get_context", lambda: spawn)
    with pytest.raises(WorkersError, match="top level of a module"):
        crew_for(2, lambda x: 1.0)


def test_target_reached_with_workers_leaves_no_process_behind(log: Path) -> None:
    before = {p.pid for p in multiprocessing.active_children()}
    result = minimize(logged_bowl, SQUARE, n_evals=50, n_initial=50, rng=0, workers=3, target=0.05)
    assert result.status == 1
    assert {p.pid for p in multiprocessing.active_children()} <= before


# ---- journal ----


def naps(x: Any) -> float:
    time.sleep(0.02)
    if x[0] < 0.5:
        raise RuntimeError("it crashed")
    return float(x[0])


@pytest.mark.parametrize("workers", [1, 2, map, "threads"])
def test_every_crew_says_how_long_evaluations_took(workers: Any) -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        chosen = executor if workers == "threads" else workers
        result = minimize(naps, [(0, 1)], n_evals=4, method="gp", rng=0, workers=chosen, n_parallel=2)
    assert all(e.seconds is not None and e.seconds > 0.019 for e in result.optimizer.evaluations)


def test_a_journal_continues_a_run_and_a_larger_budget_extends_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    arguments: dict[str, Any] = {"method": "gp", "n_initial": 6, "rng": 3}
    whole = minimize(bowl, SQUARE, n_evals=14, **arguments)
    short = minimize(bowl, SQUARE, n_evals=9, journal=path, **arguments)
    assert short.x_iters == whole.x_iters[:9]
    calls: list[Any] = []
    longer = minimize(lambda x: calls.append(x) or bowl(x), SQUARE, n_evals=14, journal=path, **arguments)
    assert longer.x_iters == whole.x_iters
    assert longer.nit == whole.nit
    assert len(calls) == 5
    spent = minimize(lambda x: 1 / 0, SQUARE, n_evals=14, journal=path, **arguments)
    assert spent.x_iters == whole.x_iters


def test_runs_already_made_are_not_told_twice_on_resume(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    arguments: dict[str, Any] = {"x0": [[0.1, 0.1]], "y0": [bowl([0.1, 0.1])], "rng": 0, "journal": path}
    minimize(bowl, SQUARE, n_evals=3, **arguments)
    result = minimize(bowl, SQUARE, n_evals=5, **arguments)
    assert result.nfev == 5
    assert len(result.x_iters) == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": [(0, 1), (0, 1), (0, 1)]}, "bounds"),
        ({"bounds": [(5, 6), (7, 8)]}, "bounds"),
        ({"bounds": {"a": (0, 1), "b": (0, 1)}}, "bounds"),
        ({"method": "tcgp"}, "method is 'gp', not 'tcgp'"),
        ({"criterion": "lcb"}, "criterion"),
        ({"rng": 1}, "rng"),
        ({"options": {"delta": 0.3}}, "options"),
    ],
)
def test_a_journal_of_another_run_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "run.jsonl"
    arguments: dict[str, Any] = {"bounds": SQUARE, "n_evals": 3, "method": "gp", "n_initial": 2, "rng": 0}
    minimize(bowl, journal=path, **arguments)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=f"(another run|cannot be continued).*{message}"):
        minimize(bowl, journal=path, **{**arguments, **changes})
    assert path.read_bytes() == before


def test_the_journal_is_free_again_after_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    result = minimize(bowl, SQUARE, n_evals=3, rng=0, journal=path)
    with pytest.raises(JournalError, match="no longer open"):
        result.optimizer.ask()
    assert len(Optimizer.resume(path).evaluations) == 3


# ---- progress ----


def test_progress_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, SQUARE, n_evals=6, rng=0, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(r"\[#+\] 6/6 +best ", captured.err)


def test_without_progress_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, SQUARE, n_evals=6, rng=0)
    assert capsys.readouterr() == ("", "")


def test_the_progress_line_rewrites_itself_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    line = ProgressLine(10, stream=terminal)
    line.show(1, None, 1)
    line.show(2, 0.5, 1)
    line.close()
    first, second = terminal.getvalue().split("\r")[1:]
    assert "no value yet" in first
    assert "1 failed" in first
    assert "best 0.5" in second
    assert second.endswith("\n")


def test_the_default_gets_on_with_many_parameters_and_few_data():
    """Thirty lengthscales from forty data by maximum likelihood fit anything: tcGP finds nothing better here."""

    def sphere(x):
        return float(np.sum((np.asarray(x) - 0.3) ** 2))

    result = minimize(sphere, [(-2.0, 2.0)] * 30, n_evals=50, n_initial=40, rng=0)
    assert result.fun < 0.5 * result.func_vals[:40].min()
