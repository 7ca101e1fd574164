"""Values that cannot be meant are refused in a sentence, before anything is evaluated and before a journal is begun."""

from __future__ import annotations

import concurrent.futures
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcgp
from tcgp import Optimizer, minimize
from tcgp.running.pace import seconds_left

BOX = [(0.0, 1.0), (0.0, 1.0)]

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "target nan": ({"target": math.nan}, "target must be a number, or None, got nan"),
    "target text": ({"target": "1"}, "target must be a number, or None, got '1'"),
    "target true": ({"target": True}, "target must be a number, or None, got True"),
    "max_time nan": ({"max_time": math.nan}, "max_time must be a number above 0, or None, got nan"),
    "max_time negative": ({"max_time": -1}, "max_time must be a number above 0, or None, got -1"),
    "max_time zero": ({"max_time": 0}, "max_time must be a number above 0, or None, got 0"),
    "n_evals true": ({"n_evals": True}, "n_evals must be a whole number of at least 1, got True"),
    "n_evals zero": ({"n_evals": 0}, "n_evals must be a whole number of at least 1, got 0"),
    "n_evals real": ({"n_evals": 5.0}, "n_evals must be a whole number of at least 1, got 5.0"),
    "n_initial true": ({"n_initial": True}, "n_initial must be a positive integer, got True"),
    "n_initial real": ({"n_initial": 2.5}, "n_initial must be a positive integer, got 2.5"),
    "n_parallel zero": ({"n_parallel": 0}, "n_parallel must be a positive integer, got 0"),
    "n_parallel true": ({"n_parallel": True}, "n_parallel must be a positive integer, got True"),
    "callback": ({"callback": 3}, "callback must be callable or None, got 3"),
    "epsilon text": ({"epsilon": "x"}, r"epsilon must be a number in \(0, 1\), got 'x'"),
    "epsilon nan": ({"epsilon": math.nan}, r"epsilon must be a number in \(0, 1\), got nan"),
    "method": ({"method": "magic"}, "method must be one of 'gp'.*'magic'"),
    "method list": ({"method": []}, r"method must be one of .*, got \[\]"),
    "criterion": ({"criterion": None}, "criterion must be one of 'ei', 'lcb', got None"),
    "maximizer": ({"maximizer": 1}, "maximizer must be one of .*, got 1"),
    "initial_design": ({"initial_design": {}}, r"initial_design must be one of .*, got \{\}"),
    "options number": ({"options": 3}, "options must be a mapping from names to values, got 3"),
    "options pairs": ({"options": [("delta", 0.1)]}, "options must be a mapping from names to values, got"),
    "options unknown": ({"options": {"gamma": 1}}, "options: "),
    "rng text": ({"rng": "seed"}, "rng must be an integer >= 0"),
    "rng negative": ({"rng": -1}, "rng must be an integer >= 0"),
    "workers zero": ({"workers": 0}, "workers must be a positive integer, got 0"),
    "workers true": ({"workers": True}, "workers must be a positive integer, got True"),
    "workers text": ({"workers": "four"}, "workers must be an integer, an executor, .* got 'four'"),
    "workers real": ({"workers": 2.0}, "workers must be an integer, an executor, .* got 2.0"),
    "report": ({"report": 3}, "report must be the name of a file, got 3"),
    "report nowhere": (
        {"report": "no/such/directory/run.html"},
        "report must be a file in a directory that exists",
    ),
    "x0 outside": ({"x0": [2.0, 2.0]}, "parameter 0: 2.0 is not a number between 0.0 and 1.0"),
    "x0 text": ({"x0": "ab"}, "x0: a point needs 2 values"),
    "x0 number": ({"x0": 0.5}, "x0: a point needs 2 values"),
    "x0 generator": ({"x0": (x for x in [[0.1, 0.2], [0.1, 7.0]])}, "parameter 1: 7.0 is not a number"),
    "x0 not allowed": (
        {"x0": [0.9, 0.9], "constraints": ["x0 + x1 <= 1"]},
        r"the point \[0.9, 0.9\] violates the known constraint",
    ),
    "y0 alone": ({"y0": [1.0]}, "y0 needs x0"),
    "y0 short": ({"x0": [[0.1, 0.2], [0.3, 0.4]], "y0": [1.0]}, "x0 and y0 must have equal lengths"),
    "y0 table": (
        {"x0": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]], "y0": np.ones((2, 2))},
        r"y0 must be one value for each point, got an array of shape \(2, 2\)",
    ),
    "y0 text": ({"x0": [0.1, 0.2], "y0": "high"}, "y0 must be numbers"),
    "y0 contradicts": (
        {"x0": [[0.1, 0.2], [0.1, 0.2]], "y0": [1.0, 2.0]},
        r"the point \[0.1, 0.2\] gave 1.0 and now 2.0",
    ),
}


def never(x: Any) -> float:
    raise AssertionError("nothing must be evaluated")


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_minimize_refuses_before_anything_is_evaluated_or_written(
    arguments: dict[str, Any], words: str, tmp_path: Path
) -> None:
    journal = tmp_path / "run.jsonl"
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        minimize(never, BOX, **{"n_evals": 5, "rng": 0, "journal": journal, **arguments})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fun", [None, 3, "f"])
def test_minimize_refuses_what_is_no_function(fun: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="fun must be callable, got "):
        minimize(fun, BOX, n_evals=3, journal=tmp_path / "run.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("journal", [3, True, b"run.jsonl", ["run.jsonl"]])
def test_a_journal_is_the_name_of_a_file(journal: Any) -> None:
    for call in (
        lambda: minimize(never, BOX, n_evals=3, journal=journal),
        lambda: Optimizer(BOX, journal=journal),
        lambda: Optimizer.resume(journal),
        lambda: Optimizer.read(journal),
    ):
        with pytest.raises(TypeError, match="journal must be the name of a file, got "):
            call()


OF_THE_OPTIMIZER = (
    "n_initial",
    "epsilon",
    "method",
    "criterion",
    "maximizer",
    "initial_design",
    "options",
    "rng",
)
SETTINGS = {name: case for name, case in REFUSED.items() if set(case[0]) <= set(OF_THE_OPTIMIZER)}


@pytest.mark.parametrize(("arguments", "words"), SETTINGS.values(), ids=SETTINGS)
def test_an_optimizer_refuses_them_before_its_journal_is_begun(
    arguments: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Optimizer(BOX, **{"rng": 0, "journal": tmp_path / "run.jsonl", **arguments})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n", [0, True, 1.5, "2", -1])
def test_ask_refuses_a_number_that_is_none(n: Any) -> None:
    with pytest.raises(ValueError, match="n must be a positive integer"):
        Optimizer(BOX, rng=0).ask(n)


GENERATORS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "generators": lambda: ((x for x in [[0.1, 0.2], [0.3, 0.4]]), (y for y in [1.0, 2.0])),
    "maps": lambda: (map(list, [(0.1, 0.2), (0.3, 0.4)]), map(float, [1, 2])),
    "arrays": lambda: (np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([1.0, 2.0])),
    "zip": lambda: (zip([0.1, 0.3], [0.2, 0.4], strict=True), {0: 1.0, 1: 2.0}.values()),
}


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_points_and_values_may_come_from_a_generator(make: Callable[[], tuple[Any, Any]]) -> None:
    x0, y0 = make()
    result = minimize(lambda x: 3.0, BOX, n_evals=1, rng=0, x0=x0, y0=y0)
    assert result.x_iters[:2] == [[0.1, 0.2], [0.3, 0.4]]
    assert result.func_vals[:2].tolist() == [1.0, 2.0]
    x0, _ = make()
    result = minimize(lambda x: 3.0, BOX, n_evals=2, rng=0, x0=x0)
    assert result.x_iters == [[0.1, 0.2], [0.3, 0.4]]


def test_masked_values_are_failures() -> None:
    y0 = np.ma.array([3.0, -999.0], mask=[False, True])
    result = minimize(lambda x: 4.0, BOX, n_evals=1, rng=0, x0=[[0.1, 0.2], [0.3, 0.4]], y0=y0)
    assert (result.fun, [i for i, _ in result.failures]) == (3.0, [1])


def test_numbers_of_numpy_are_numbers() -> None:
    result = minimize(
        lambda x: float(x[0]),
        BOX,
        n_evals=np.int64(4),
        n_initial=np.int32(2),
        target=np.float64(-1.0),
        max_time=np.float32(100.0),
        epsilon=np.float64(0.2),
        workers=np.int64(1),
        rng=np.int64(3),
    )
    assert result.nfev == 4


# ---- telling several points ----


@pytest.mark.parametrize(
    ("points", "values"),
    [
        ([[0.1, 0.1], [0.2, 7.0]], [1.0, 2.0]),
        ([[0.1, 0.1], [0.2]], [1.0, 2.0]),
        ([[0.1, 0.1], [0.1, 0.1]], [1.0, 2.0]),
        ([[0.1, 0.1], [0.9, 0.9]], [1.0, 2.0]),  # the second is known, with another value
        ([[0.1, 0.1], [0.2, 0.2]], [1.0]),
        ([[0.1, 0.1], [0.2, 0.2]], 1.0),
    ],
)
def test_of_several_points_with_a_bad_one_none_is_told(points: Any, values: Any, tmp_path: Path) -> None:
    with Optimizer(BOX, rng=0, journal=tmp_path / "run.jsonl") as optimizer:
        optimizer.tell([0.9, 0.9], 5.0)
        before = (tmp_path / "run.jsonl").read_bytes()
        with pytest.raises(ValueError):
            optimizer.tell(points, values)
        assert [e.y for e in optimizer.evaluations] == [5.0]
        assert (tmp_path / "run.jsonl").read_bytes() == before


def test_several_points_answer_what_is_pending_each_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Optimizer(BOX, rng=0, journal=path) as optimizer:
        first, second = optimizer.ask(2)
        nearby = [first[0] * (1.0 + 1e-12), first[1]]  # a rounded copy of the first
        optimizer.tell([second, [0.25, 0.5], nearby, first], [1.0, 2.0, 3.0, 4.0])
        assert [e.id for e in optimizer.evaluations] == [1, None, 0, None]
    with Optimizer.resume(path) as resumed:
        assert resumed.evaluations == optimizer.evaluations
        assert resumed.pending == []


# ---- the bridges ----


def test_the_sampler_for_optuna_refuses_them() -> None:
    pytest.importorskip("optuna")
    from tcgp.integrations.optuna import TailCalibratedSampler

    for arguments in (
        {"method": []},
        {"criterion": 1},
        {"seed": "a"},
        {"n_startup_trials": True},
        {"n_startup_trials": -1},
        {"epsilon": "x"},
    ):
        with pytest.raises((ValueError, TypeError), match=f"{next(iter(arguments))} must be"):
            TailCalibratedSampler(**arguments)


def test_the_node_for_ax_refuses_them() -> None:
    pytest.importorskip("ax")
    from tcgp.integrations.ax import TailCalibratedNode

    for arguments in ({"method": []}, {"n_initial": True}, {"seed": "a"}):
        with pytest.raises((ValueError, TypeError), match=f"{next(iter(arguments))} must be"):
            TailCalibratedNode(**arguments)


def test_a_time_that_no_clock_can_wait_for_is_as_good_as_none(tmp_path: Path) -> None:
    for workers in (1, 2, map):
        result = minimize(
            lambda x: float(x[0]), BOX, n_evals=3, rng=0, max_time=1e10, workers=workers, n_parallel=2
        )
        assert result.status == 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert minimize(lambda x: 1.0, BOX, n_evals=3, rng=0, max_time=1e300, workers=pool).status == 0


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("n_calls", "n_evals"),
        ("n_trials", "n_evals"),
        ("random_state", "rng"),
        ("n_jobs", "workers"),
        ("acq_func", "criterion"),
        ("dimensions", "bounds"),
        ("n_eval", "n_evals"),
    ],
)
def test_names_of_other_tools_are_answered_with_ours(theirs: str, ours: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=f"minimize\\(\\) has no argument '{theirs}'; did you mean '{ours}'"):
        tcgp.minimize(sum, [(0, 1)], **{"n_evals": 3, theirs: 3})
    if ours in ("rng", "criterion", "bounds"):
        name = "space" if ours == "bounds" else ours
        with pytest.raises(TypeError, match=f"Optimizer\\(\\) has no .*; did you mean '{name}'"):
            tcgp.Optimizer(**{"space": [(0, 1)], theirs: 3})


def test_no_time_is_promised_before_a_model_has_chosen_a_point() -> None:
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    for seconds, known in ((0.2, False), (0.2, False), (0.2, False), (0.2, True)):
        x = optimizer.ask()
        optimizer.tell(x, x[0] ** 2, seconds=seconds)
        assert (seconds_left(optimizer.history, 60, 1) is not None) == known
    left = seconds_left(optimizer.history, 60, 1)
    assert left is not None
    assert left > 0.2 * 56


def test_the_first_line_of_a_run_lists_the_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    tcgp.minimize(sum, [(0, 5)], n_evals=2, rng=0, progress=True)
    assert capsys.readouterr().err.splitlines()[0] == "parameters   x0: real from 0 to 5"
