"""A real Dask cluster: workers killed in mid-run, a scheduler lost and found again, programs on its nodes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tcgp
from tcgp.cli import main
from tcgp.optimizer import read_campaign

distributed = pytest.importorskip("distributed")

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def started(n: int, processes: bool) -> Any:
    return distributed.LocalCluster(
        n_workers=n,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp",
        dashboard_address=":0",  # any free port: clusters of other tests may be open
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes; one that is killed is replaced."""
    with started(2, processes=True) as local:
        yield local


class Deadly:
    """A function that kills its process at the third evaluation, the first time; it notes every call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, p: dict[str, float]) -> float:
        calls = len(list(self.folder.glob("call-*")))
        (self.folder / f"call-{time.time_ns()}-{p['x']!r},{p['y']!r}").touch()
        if calls == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def test_a_worker_killed_in_mid_run_costs_nothing_but_its_evaluation(cluster: Any, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with distributed.Client(cluster) as client:
        result = tcgp.minimize(
            Deadly(tmp_path), SQUARE, n_evals=10, n_initial=6, rng=0, workers=client, journal=journal
        )
    assert (result.status, result.nfev, result.failures) == (0, 10, [])
    called = [name.name.split("-", 2)[2] for name in tmp_path.glob("call-*")]
    assert len(set(called)) == 10
    assert len(called) <= 12  # those that were under way on the killed worker are made again


def test_a_scheduler_that_is_lost_ends_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    options: dict[str, Any] = {"n_evals": 12, "n_initial": 8, "journal": journal}
    with started(1, processes=False) as local:  # the client cannot tell threads from processes
        client = distributed.Client(local)

        def lose(result: Any) -> None:
            if result.nfev == 4:
                local.close()

        try:
            first = tcgp.minimize(slow_bowl, SQUARE, rng=0, workers=client, callback=lose, **options)
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=1)
    assert (first.status, first.success) == (7, False)
    assert 4 <= first.nfev < 12
    assert first.failures == []
    with started(1, processes=False) as local, distributed.Client(local) as client:
        second = tcgp.minimize(slow_bowl, SQUARE, workers=client, **options)
    assert (second.status, second.nfev, second.failures) == (0, 12, [])
    assert second.x_iters[: first.nfev] == first.x_iters


def slow_bowl(p: dict[str, float]) -> float:
    time.sleep(0.05)
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


SPEC = """
command = ["{python}", "-I", "-S", "{{spec_dir}}/program.py", "{{x}}", "{{y}}"]
budget = 8
n_initial = 5
seed = 1
workers = {{scheduler = "{address}"}}
[parameters]
x = {{low = 0.0, high = 1.0}}
y = {{low = 0.0, high = 1.0}}
"""

# Kills the worker that waits for it, once: the parent of its supervisor.
PROGRAM = """
import os, pathlib, signal, sys, time
mark = pathlib.Path(__file__).with_name("killed")
if not mark.exists():
    mark.touch()
    worker = next(int(line.split()[1]) for line in open(f"/proc/{os.getppid()}/status") if line.startswith("PPid"))
    os.kill(worker, signal.SIGKILL)
    time.sleep(2.0)
pathlib.Path("started").touch()
x, y = map(float, sys.argv[1:])
print((x - 0.3) ** 2 + (y - 0.6) ** 2)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the program finds its worker through /proc"
)
def test_a_program_runs_on_the_nodes_and_survives_its_worker(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(python=sys.executable, address=cluster.scheduler_address))
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    history = read_campaign(tmp_path / "spec.tcgp" / "journal.jsonl").history
    assert (history.n_done, len(history.data.failures)) == (8, 0)
    assert (tmp_path / "killed").exists()
    started = sorted(path.parent.name for path in (tmp_path / "spec.tcgp" / "runs").glob("*/started"))
    assert started == [f"{i:04d}" for i in range(8)]  # the program went on, and was not started twice


def test_a_scheduler_that_does_not_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcgp.programs.cluster.CONNECTION_TIMEOUT", 0.5)
    (tmp_path / "program.py").write_text(PROGRAM)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(python=sys.executable, address="tcp://127.0.0.1:9"))
    assert main(["minimize", str(spec), "--quiet"]) == 2
    assert "the scheduler 'tcp://127.0.0.1:9' cannot be reached" in capsys.readouterr().err
    spec.write_text(SPEC.format(python=sys.executable, address="node1"))
    assert main(["minimize", str(spec), "--quiet"]) == 2
    assert (
        "must be the address of a Dask scheduler such as 'tcp://node1:8786', got 'node1'"
        in capsys.readouterr().err
    )
