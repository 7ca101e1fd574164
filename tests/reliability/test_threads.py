"""Threads that share an optimizer: every call is carried out as a whole."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.linalg.lapack import dtrtri
from threadpoolctl import ThreadpoolController

from tcgp import Optimizer
from tcgp.gp import GaussianProcess

BOX = [(0.0, 1.0), (-2.0, 3.0)]


def value_at(x: Any) -> float:
    return float((x[0] - 0.3) ** 2 + np.sin(5.0 * x[1]))


def in_threads(n: int, function: Any) -> list[Any]:
    """What a function gives in n threads that begin together."""
    together = threading.Barrier(n)

    def begin(number: int) -> Any:
        together.wait()
        return function(number)

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(begin, range(n)))


def test_four_threads_ask_and_tell_on_one_optimizer(tmp_path: Path) -> None:
    """28 asks gave 11 different points, a KeyError, and a journal that could not be resumed."""
    path = tmp_path / "run.jsonl"
    optimizer = Optimizer(BOX, method="gp", n_initial=8, rng=0, journal=path)

    def work(number: int) -> list[tuple[float, ...]]:
        mine = []
        for i in range(7):
            x = optimizer.ask()
            mine.append(tuple(x))
            optimizer.tell(x, None if i % 5 == 4 else value_at(x))
            optimizer.result()
        return mine

    asked = [x for mine in in_threads(4, work) for x in mine]
    assert len(set(asked)) == len(asked)
    assert {e.x for e in optimizer.evaluations} == set(asked)
    assert optimizer.pending == []
    optimizer.close()
    with Optimizer.resume(path) as resumed:
        assert resumed.history.proposals == optimizer.history.proposals
        assert resumed.evaluations == optimizer.evaluations


def test_a_batch_told_by_several_threads_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Optimizer(BOX, rng=0, journal=path) as optimizer:
        points = optimizer.ask(20)
        in_threads(4, lambda number: optimizer.tell(points, [value_at(x) for x in points]))
        assert len(optimizer.evaluations) == 20
    assert len(path.read_text().splitlines()) == 1 + 20 + 20


def test_one_looks_while_others_tell() -> None:
    optimizer = Optimizer(BOX, n_initial=1000, rng=0)

    def work(number: int) -> None:
        for _ in range(150):
            if number:
                optimizer.tell(optimizer.ask(), 1.0)
                continue
            result = optimizer.result()
            assert len(result.x_iters) == len(result.func_vals) == result.nfev
            U, y = optimizer.history.data.successes
            assert len(U) == len(y)
            assert len(optimizer.history.codes) <= len(optimizer.history)
            assert repr(optimizer)

    in_threads(3, work)
    U, y = optimizer.history.data.successes
    assert len(U) == len(y) == len(optimizer.evaluations) == 300
    assert np.array_equal(U, optimizer.space.encode([e.x for e in optimizer.evaluations]))


def test_two_threads_with_optimizers_of_their_own_choose_what_each_would_alone() -> None:
    def points(number: int) -> list[list[float]]:
        optimizer = Optimizer(BOX, method="tcgp", n_initial=6, rng=number)
        found = []
        for _ in range(10):
            found.append(optimizer.ask())
            optimizer.tell(found[-1], value_at(found[-1]))
        return found

    assert in_threads(2, points) == [points(0), points(1)]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has no threads of BLAS to set")
def test_the_number_of_blas_threads_is_what_it_was_after_several_fits() -> None:
    def counts() -> list[int]:
        infos = ThreadpoolController().select(user_api="blas").info()
        return [info["num_threads"] for info in infos]

    X = np.random.default_rng(0).random((60, 2))
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = counts()
        assert max(before) == 2  # also where the environment says one
        in_threads(4, lambda number: [GaussianProcess().fit(X, X.sum(axis=1)) for _ in range(3)])
        assert counts() == before


def test_what_one_model_computes_once_does_not_wait_for_another() -> None:
    """A lock of all models, as cached properties have before Python 3.12, is never opened in a forked child."""
    begun, may_end = threading.Event(), threading.Event()

    def slow_the_first_time(*args: Any, **options: Any) -> Any:
        if not begun.is_set():
            begun.set()
            may_end.wait(60.0)
        return dtrtri(*args, **options)

    X = np.random.default_rng(0).random((9, 2))
    slow, quick = (GaussianProcess().fit(X, y) for y in (X[:, 0], X[:, 1]))
    with mock.patch("tcgp.gp.posterior.dtrtri", slow_the_first_time):
        thread = threading.Thread(target=slow.leave_one_out)
        thread.start()
        assert begun.wait(60.0)
        other = threading.Thread(target=quick.leave_one_out)
        other.start()
        other.join(10.0)
        waits = other.is_alive()
        may_end.set()
        thread.join()
    assert not waits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_while_others_ask_can_fit_and_has_no_journal(tmp_path: Path) -> None:
    optimizer = Optimizer(BOX, method="gp", n_initial=6, rng=0, journal=tmp_path / "run.jsonl")
    for i in range(8):  # all that is imported is there before anyone forks
        optimizer.tell(optimizer.ask(), float(i))
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            optimizer.tell(optimizer.ask(), float(len(optimizer.evaluations) % 7))

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                signal.alarm(60)
                code = 1
                try:
                    other = Optimizer(BOX, method="gp", n_initial=3, rng=0)
                    for i in range(4):
                        other.tell(other.ask(), float(i))
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    optimizer.close()
    with Optimizer.resume(tmp_path / "run.jsonl") as resumed:
        assert resumed.evaluations == optimizer.evaluations
