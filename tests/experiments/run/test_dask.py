"""The same plan on a real Dask cluster of several processes, one of which is killed in mid-run."""

import os
import signal
import threading
import time

import distributed
import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.run.runner import run
from tcgp_experiments.run.store import Store


def test_a_killed_worker_costs_no_result_and_changes_none(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    plan = plans.get("methods", replicates=4, iterations=3, problems=("branin",), methods=("GP", "tcGP"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        with distributed.Client(cluster) as client:
            victims = sorted(client.run(os.getpid).values())
        killed = []

        def kill_one():
            """Wait until the work is under way, then kill a worker."""
            while len(list(there.rglob("*.json"))) < 2:
                time.sleep(0.01)
            os.kill(victims[0], signal.SIGKILL)
            killed.append(len(list(there.rglob("*.json"))))

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        summary = run([plan], Store(there), scheduler=cluster.scheduler_address, progress=False)
        thread.join(timeout=60.0)
    assert killed
    assert killed[0] < 8  # it was killed while others were still at work
    assert (summary.n_computed, summary.failures) == (8, [])
    run([plan], Store(here), jobs=1, progress=False)
    for task in plan.tasks():
        assert {**Store(there).load(task), "seconds": None} == {**Store(here).load(task), "seconds": None}


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://"])
def test_an_unreachable_scheduler_is_refused_at_once(address, small_plan, tmp_path, monkeypatch):
    monkeypatch.setattr("tcgp_experiments.run.runner.SECONDS_TO_CONNECT", 1.0)
    with pytest.raises(ExperimentError, match="no Dask scheduler answers") as caught:
        run([small_plan], Store(tmp_path), scheduler=address, progress=False)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*.json"))
