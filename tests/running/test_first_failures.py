"""Functions that are wrong from the first evaluation on: said once, clearly, and before the budget is spent."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tcgp
from tcgp.running.minimize import Status

BOX = [(0.0, 1.0), (0.0, 1.0)]


def test_a_function_that_forgets_to_return_is_stopped_after_three(tmp_path: Path) -> None:
    calls: list[Any] = []
    journal = tmp_path / "run.jsonl"
    result = tcgp.minimize(calls.append, BOX, n_evals=20, rng=0, journal=journal)
    assert (result.status, result.success, result.nfev) == (Status.UNREAD, False, 3)
    assert "the first 3 evaluations ended normally, without a value: there is no value" in result.message
    resumed = tcgp.minimize(sum, BOX, n_evals=6, rng=0, journal=journal)
    assert (resumed.nfev, len(resumed.failures)) == (6, 3)


def test_failures_after_a_value_do_not_stop_it() -> None:
    rest = iter([None, None, 1.0, None, None, None])
    result = tcgp.minimize(lambda x: next(rest), BOX, n_evals=6, rng=0)
    assert (result.status, result.nfev) == (Status.BUDGET, 6)


@pytest.mark.parametrize("workers", [1, 2])
def test_three_failures_in_one_way_stop_it(workers: int) -> None:
    result = tcgp.minimize(_always_raises, BOX, n_evals=20, rng=0, workers=workers)
    assert (result.status, result.success) == (Status.FAILURES, False)
    assert 3 <= result.nfev <= 2 + workers
    assert "the first 3 evaluations all failed in the same way: ZeroDivisionError: " in result.message


@pytest.mark.parametrize("options", [{}, {"max_failures": 10}])
def test_nan_is_a_failure_in_one_way_and_max_failures_allows_it(options: dict[str, Any]) -> None:
    result = tcgp.minimize(lambda x: math.nan, BOX, n_evals=5, rng=0, **options)
    assert result.nfev == (5 if options else 3)


def test_failures_in_several_ways_do_not_stop_it() -> None:
    rest = iter([0.0, None, 1.0, 0.0])
    result = tcgp.minimize(lambda x: 1.0 / next(rest), BOX, n_evals=4, rng=0)
    assert (result.status, result.nfev) == (Status.BUDGET, 4)


def test_as_long_as_all_fail_in_one_way_each_start_stops_after_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_evals": 8, "rng": 0, "journal": tmp_path / "run.jsonl"}
    assert tcgp.minimize(lambda x: 1 / 0, BOX, **options).nfev == 3
    assert tcgp.minimize(lambda x: 1 / 0, BOX, **options).nfev == 4
    fixed = tcgp.minimize(sum, BOX, **options)
    assert (fixed.status, fixed.nfev, len(fixed.failures)) == (Status.BUDGET, 8, 4)


def _always_raises(x: Any) -> float:
    raise ZeroDivisionError(f"at {x[0]}")


@pytest.mark.parametrize("workers", [1, 2])
def test_several_objectives_get_one_sentence_once(workers: int, caplog: pytest.LogCaptureFixture) -> None:
    result = tcgp.minimize(_two_objectives, BOX, n_evals=20, rng=0, workers=workers)
    assert result.status == Status.UNREAD
    assert result.nfev <= workers
    assert "there are several values, [0." in result.message
    assert (
        "return one number, or a mapping of named outputs, and name one of them as objective"
        in result.message
    )
    assert "np.float64" not in result.message
    if workers == 1:
        assert len([r for r in caplog.records if "several values" in r.getMessage()]) == 1


def test_a_series_of_several_values_stops_it_at_once() -> None:
    result = tcgp.minimize(lambda x: pd.Series({"mass": 1.5, "stress": 2.0}), BOX, n_evals=20, rng=0)
    assert (result.status, result.nfev) == (Status.UNREAD, 1)
    assert "there are several values, [1.5, 2.0]: return one number, or a mapping" in result.message


def _two_objectives(x: Any) -> Any:
    return x[0] + 0.0 * np.float64(1.0), np.float64(x[1])


def test_outputs_without_an_objective_stop_it_at_once() -> None:
    result = tcgp.minimize(lambda x: {"mass": x[0], "cost": x[1]}, BOX, n_evals=20, rng=0)
    assert (result.status, result.nfev) == (Status.UNREAD, 1)
    assert "objective must name one of the outputs 'mass', 'cost', got None" in result.message


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_exception_of_each_kind_is_logged_with_its_traceback(
    workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    result = tcgp.minimize(_raises, BOX, n_evals=10, n_initial=10, rng=0, workers=workers)
    kinds = {reason.partition(":")[0] for _, reason in result.failures}
    assert kinds == {"ZeroDivisionError", "KeyError"}
    logged = [r.getMessage() for r in caplog.records if "Traceback" in r.getMessage()]
    assert sorted(text.split()[2] for text in logged) == ["KeyError", "ZeroDivisionError"]
    assert all("in _raises" in text and "in evaluate" not in text for text in logged)


def _raises(x: Any) -> float:
    if x[0] < 0.5:
        return float(1 / 0)
    return float({}["stress"])


# ---- too many failures ----


def test_too_many_failures_stop_a_run_that_can_be_continued(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rng": 0, "journal": tmp_path / "run.jsonl"}
    result = tcgp.minimize(lambda x: 1 / 0, BOX, n_evals=12, max_failures=4, **options)
    assert (result.status, result.nfev, result.success) == (Status.FAILURES, 5, False)
    assert "max_failures = 4 allows: 5, the last one because: ZeroDivisionError" in result.message
    assert result.message.count("the last one because") == 1
    stuck = tcgp.minimize(sum, BOX, n_evals=12, max_failures=4, **options)
    assert (stuck.status, stuck.nfev) == (Status.FAILURES, 5)
    fixed = tcgp.minimize(sum, BOX, n_evals=12, max_failures=5, **options)
    assert (fixed.status, fixed.nfev) == (Status.BUDGET, 12)


def test_failures_that_were_given_do_not_count() -> None:
    x0 = [[0.1, 0.1], [0.2, 0.2]]
    result = tcgp.minimize(sum, BOX, n_evals=5, x0=x0, y0=[None, None], rng=0, max_failures=0)
    assert (result.status, result.nfev) == (Status.BUDGET, 5)


@pytest.mark.parametrize("limit", [-1, 1.0, 0.0, math.nan, True, "many"])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="max_failures must be a whole number >= 0, a share"):
        tcgp.minimize(sum, BOX, n_evals=5, max_failures=limit)


# ---- what is said ----


def test_failures_are_told_by_number_and_by_name(caplog: pytest.LogCaptureFixture) -> None:
    space = {"width": (0.0, 1.0), "alloy": tcgp.Categorical(["steel", "brass"])}
    with caplog.at_level(logging.WARNING, "tcgp"):
        result = tcgp.minimize(lambda p: math.nan, space, n_evals=2, rng=0)
    width, alloy = result.x_iters[1].values()
    assert f"run 1 at width = {width!r}, alloy = {alloy!r} failed: the value is nan" in caplog.messages
