"""Results on disk: whole or absent, never computed twice, never lost."""

import errno
import json
import os
import shutil
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.run.store import Store


def task(iterations=3):
    return RunTask("branin", 7, Method("GP", "gp"), "ei", iterations)


def payload(iterations=3):
    return {"spec": task().spec, "iterations": iterations, "scores": None, "best": [1.0] * (iterations + 1)}


def test_what_is_saved_is_found_again(tmp_path):
    store = Store(tmp_path)
    assert store.load(task()) is None
    store.save(task(), payload())
    assert store.load(task())["best"] == [1.0] * 4
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["0007.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"spec": {}}', "\x00" * 100])
def test_a_damaged_file_counts_as_absent(tmp_path, text):
    store = Store(tmp_path)
    store.save(task(), payload())
    (tmp_path / task().path).write_text(text)
    assert store.load(task()) is None
    store.save(task(), payload())
    assert store.load(task()) is not None


def test_a_result_of_other_settings_counts_as_absent(tmp_path):
    store = Store(tmp_path)
    other = payload()
    other["spec"] = {**other["spec"], "seed": 1}
    path = tmp_path / task().path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(other))
    assert store.load(task()) is None


def test_a_longer_run_is_not_replaced_by_a_shorter_one(tmp_path):
    store = Store(tmp_path)
    store.save(task(9), payload(9))
    store.save(task(3), payload(3))
    assert store.load(task(9))["iterations"] == 9
    assert store.load(task(3))["iterations"] == 9


def test_a_full_disk_leaves_no_partial_file_and_says_so(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    store = Store(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExperimentError, match="No space left on device") as caught:
        store.save(task(), payload())
    assert "\n" not in str(caught.value)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    with pytest.raises(ExperimentError, match="No space left on device"):
        store.check_writable(1)


def test_too_little_room_is_refused_before_any_work(tmp_path, monkeypatch):
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 10**6, 10**6))
    Store(tmp_path).check_writable(10)
    with pytest.raises(ExperimentError, match="make room"):
        Store(tmp_path).check_writable(1000)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="--results"):
        Store(tmp_path / "file" / "results").check_writable(1)


def test_shares_that_begin_together_do_not_disturb_each_other(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Store(tmp_path).check_writable, [1] * 200))
    assert not list(tmp_path.iterdir())
