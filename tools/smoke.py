"""Smoke test of an installed tcgp ("core", the default) and of the extras named, in a few seconds.

python tools/smoke.py [core] [plot] [experiments] [optuna] [botorch] [sklearn] [ax] [gest] [openmdao] [mcp] [coco]
"""

from __future__ import annotations

import io
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import tcgp


def core() -> None:
    result = tcgp.minimize(bowl, [(0.0, 1.0)] * 2, n_evals=15, rng=0)
    assert result.nfev == 15
    assert result.fun < 0.05
    command = Path(sysconfig.get_path("scripts")) / "tcgp"
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split() == ["tcgp", tcgp.__version__]


def plot() -> None:
    result = tcgp.minimize(bowl, [(0.0, 1.0)] * 2, n_evals=10, rng=0)
    file = io.BytesIO()
    result.plot().savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")


def experiments() -> None:
    import distributed  # noqa: F401

    from tcgp_experiments.plan import plans
    from tcgp_experiments.run.runner import run
    from tcgp_experiments.run.store import Store

    plan = plans.get("methods", replicates=1, iterations=2, problems=("branin",), methods=("GP",))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        run([plan], store, jobs=1, progress=False)
        (task,) = plan.tasks()
        assert len(store.load(task)["best"]) > 2


def optuna() -> None:
    import optuna

    from tcgp.integrations.optuna import TailCalibratedSampler

    study = optuna.create_study(sampler=TailCalibratedSampler(seed=0, n_startup_trials=5))
    study.optimize(lambda trial: (trial.suggest_float("x", -1.0, 1.0) - 0.3) ** 2, n_trials=8)
    assert "tcgp:log_ei" in study.trials[-1].user_attrs


def botorch() -> None:
    import torch
    from botorch.models import SingleTaskGP

    from tcgp.integrations.botorch import TailCalibratedLogExpectedImprovement, calibrate

    X = torch.rand(12, 2, dtype=torch.double)
    Y = -(X - 0.3).square().sum(dim=1, keepdim=True)
    model = SingleTaskGP(X, Y)
    criterion = TailCalibratedLogExpectedImprovement(model, Y.max(), calibrate(model))
    assert criterion(X[:3, None]).isfinite().all()


def sklearn() -> None:
    from tcgp.integrations.sklearn import TailCalibratedRegressor

    X = np.random.default_rng(0).random((20, 2))
    y = np.array([bowl(x) for x in X])
    np.testing.assert_allclose(TailCalibratedRegressor().fit(X, y).predict(X), y, atol=1e-4)


def ax() -> None:
    from ax import Client, RangeParameterConfig
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    from tcgp.integrations.ax import TailCalibratedNode

    client = Client()
    client.configure_experiment([RangeParameterConfig(name="x", bounds=(-1.0, 1.0), parameter_type="float")])
    client.configure_optimization(objective="-loss")
    node = TailCalibratedNode(seed=0, n_initial=3)
    client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tcgp"))
    for _ in range(4):
        for index, parameters in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, raw_data={"loss": (parameters["x"] - 0.3) ** 2})
    assert len(node.trace) == 1


def gest() -> None:
    from gest_api.vocs import VOCS

    from tcgp.integrations.gest import TailCalibratedGenerator

    vocs = VOCS(variables={"x": [-1.0, 1.0]}, objectives={"f": "MINIMIZE"})
    generator = TailCalibratedGenerator(vocs, rng=0)
    for _ in range(8):
        generator.ingest([{**point, "f": (point["x"] - 0.3) ** 2} for point in generator.suggest()])
    assert generator.optimizer.result().fun < 0.05


def openmdao() -> None:
    import openmdao.api as om

    from tcgp.integrations.openmdao import TailCalibratedDriver

    problem = om.Problem(driver=TailCalibratedDriver(n_evals=8, rng=0), reports=False)
    problem.model.add_subsystem("bowl", om.ExecComp("f = (x - 0.3) ** 2"), promotes=["*"])
    problem.model.add_design_var("x", lower=-1.0, upper=1.0)
    problem.model.add_objective("f")
    assert problem.setup().run_driver().success
    assert problem.get_val("f").item() < 0.05


def mcp() -> None:
    import asyncio

    from mcp import Client

    from tcgp.cli.mcp import build_server

    async def tools() -> list[str]:
        async with Client(build_server(".", read_only=True)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "status" in asyncio.run(tools())


def coco() -> None:
    import cocoex

    from tcgp.integrations.coco import solve

    suite = cocoex.Suite("bbob", "", "dimensions:2 function_indices:8 instance_indices:1")
    assert solve(next(iter(suite)), 10, rng=0).nfev == 10


def bowl(x: np.ndarray) -> float:
    return float(((x - 0.3) ** 2).sum())


TESTS = {
    "core": core,
    "plot": plot,
    "experiments": experiments,
    "optuna": optuna,
    "botorch": botorch,
    "sklearn": sklearn,
    "ax": ax,
    "gest": gest,
    "openmdao": openmdao,
    "mcp": mcp,
    "coco": coco,
}

if __name__ == "__main__":
    assert Path(tcgp.__file__).is_relative_to(sys.prefix), f"not the installed package: {tcgp.__file__}"
    for name in sys.argv[1:] or ["core"]:
        TESTS[name]()
