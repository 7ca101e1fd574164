"""The runner: what is there is not repeated, what is killed is resumed, shares make a whole."""

import importlib
import io
import json
import os
import signal
import subprocess
import sys
import types

import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.run import peers
from tcgp_experiments.run.runner import Progress, run
from tcgp_experiments.run.store import Store


def results(root):
    """All results under a directory, without the times."""
    found = {}
    for path in sorted(root.rglob("*.json")):
        payload = json.loads(path.read_text())
        payload.pop("seconds")
        found[str(path.relative_to(root))] = payload
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Results of the small plan, made in one go."""
    root = tmp_path_factory.mktemp("whole")
    plan = plans.get("methods", replicates=2, iterations=3, problems=("branin",), methods=("GP", "tcGP"))
    summary = run([plan], Store(root), jobs=1, progress=False)
    assert (summary.n_present, summary.n_computed, summary.failures) == (0, 4, [])
    return root


def test_a_second_run_computes_nothing(whole, small_plan):
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*.json")}
    summary = run([small_plan], Store(whole), jobs=1, progress=False)
    assert (summary.n_present, summary.n_computed) == (4, 0)
    assert before == {path: path.stat().st_mtime_ns for path in whole.rglob("*.json")}


def test_two_shares_in_several_processes_make_the_whole(whole, small_plan, tmp_path):
    first = run([small_plan], Store(tmp_path), jobs=2, shard=(1, 2), progress=False)
    second = run([small_plan], Store(tmp_path), jobs=2, shard=(2, 2), progress=False)
    assert first.n_computed + second.n_computed == 4
    assert results(tmp_path) == results(whole)


def test_a_run_killed_in_the_middle_is_resumed_without_repeating_anything(whole, small_plan, tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    killed = subprocess.run(command, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, check=False)
    assert killed.returncode == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(done) == 2
    summary = run([small_plan], Store(tmp_path), jobs=1, progress=False)
    assert (summary.n_present, summary.n_computed) == (2, 2)
    assert all(path.stat().st_mtime_ns == then for path, then in done.items())
    assert results(tmp_path) == results(whole)


# Killed when the third result has been written under a temporary name.
KILLED = """
import os, signal, sys
from tcgp_experiments.plan import plans
from tcgp_experiments.run.runner import run
from tcgp_experiments.run.store import Store
plan = plans.get("methods", replicates=2, iterations=3, problems=("branin",), methods=("GP", "tcGP"))
replace, done = os.replace, []
def stop(*names):
    done.extend(name for name in names[1:] if str(name).endswith(".json"))
    return replace(*names) if len(done) < 3 else os.kill(os.getpid(), signal.SIGKILL)
os.replace = stop
run([plan], Store(sys.argv[1]), jobs=1, progress=False)
"""


def test_plans_that_share_a_run_compute_it_once_at_the_larger_size(tmp_path):
    names = {"problems": ("branin",), "methods": ("GP",), "replicates": 1}
    short = plans.get("methods", iterations=2, **names)
    scored = plans.get("ablation", iterations=3, **names)
    summary = run([short, scored], Store(tmp_path), jobs=1, progress=False)
    assert summary.n_computed == 1
    (payload,) = results(tmp_path).values()
    assert payload["iterations"] == 3
    assert payload["scores"] is not None
    assert run([short, scored], Store(tmp_path), jobs=1, progress=False).n_computed == 0


def test_a_task_that_fails_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    def fail(problem, X, y, iterations, seed):
        raise ValueError("no")

    monkeypatch.setitem(sys.modules, "smt", types.ModuleType("smt"))
    monkeypatch.setitem(peers.PEERS, "smt", fail)
    plan = plans.get("methods", replicates=1, iterations=2, problems=("branin",), methods=("peer:smt", "GP"))
    failing, other = plan.tasks()
    summary = run([plan], Store(tmp_path), jobs=1, progress=False)
    assert summary.failures == [(failing.path, "ValueError: no")]
    assert summary.n_computed == 1
    assert Store(tmp_path).load(other) is not None


def test_an_unknown_problem_is_refused_before_any_work(tmp_path):
    plan = plans.get("methods", problems=("brannin",))
    with pytest.raises(ExperimentError, match="brannin"):
        run([plan], Store(tmp_path / "results"), progress=False)
    assert not (tmp_path / "results").exists()


def test_a_missing_library_of_a_peer_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "smt", None)
    plan = plans.get("methods", problems=("branin",), methods=("peer:smt",))
    with pytest.raises(ExperimentError, match="pip install smt"):
        run([plan], Store(tmp_path / "results"), progress=False)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("module", "options"), [("joblib", {}), ("distributed", {"scheduler": "tcp://x:1"})])
def test_a_missing_extra_is_refused_with_the_command_that_mends_it(
    module, options, small_plan, tmp_path, monkeypatch
):
    real = importlib.import_module

    def without(name, *rest):
        if name.partition(".")[0] == module:
            raise ImportError(f"No module named {module!r}")
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ExperimentError, match=f"pip install {module}"):
        run([small_plan], Store(tmp_path), progress=False, **options)


def test_a_directory_that_cannot_be_written_is_refused_before_any_work(small_plan, tmp_path):
    (tmp_path / "results").write_text("a file, not a directory")
    with pytest.raises(ExperimentError, match="--results"):
        run([small_plan], Store(tmp_path / "results"), progress=False)


def test_progress_estimates_each_kind_by_its_own_pace(small_plan):
    tasks = list(small_plan.tasks())  # GP, tcGP, GP, tcGP
    stream = io.StringIO()
    line = Progress(tasks, 3, 2, stream)
    line.show(tasks[0], 1.0)
    # One GP at 1 s and two tcGP, unknown and thus also at 1 s, on two workers.
    assert line.seconds_left() == pytest.approx(1.5)
    line.show(tasks[1], 5.0)
    assert line.seconds_left() == pytest.approx((1.0 + 5.0) / 2.0)
    assert "1/4 tasks (3 were there)" in stream.getvalue()
