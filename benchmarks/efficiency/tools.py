"""auto and other optimizers, each started as its own documentation starts it, for `first_evaluation.py`.

A tool takes a `Recorder`, which it calls at points, and a seed. It may ask for more than the budget: `Spent` ends it.

- ``auto``: `tcgp.minimize` with its defaults, or with the options that are given.
- ``uniform``: the same with the design of version 0.2: 4 d uniform random points, at most half of the budget.
- ``optuna``: `GPSampler` for a deterministic objective: ten random trials come first.
- ``egobox``, ``trego``: `Egor`, without and with local steps in a trust region: a design of d + 1 points, at least 5.
- ``ax``: the strategy that Ax chooses, with noise declared zero: the centre, Sobol' points up to 5, then BoTorch.
- ``botorch``: the same five points, then `SingleTaskGP` and `LogExpectedImprovement`; ``botorch-exact`` declares its
  observations exact (``train_Yvar``, a variance of 1e-6 of theirs).
- ``hebo``, ``smac``: `HEBO`, and the `BlackBoxFacade` of SMAC3.
- ``pybads``, ``cobyqa``: local solvers, from the centre and then, as often as the budget allows, from random points.

Limits are passed to auto, Optuna, egobox and COBYQA; the others are for functions without.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["TOOLS", "Recorder", "Spent"]

N_AX = 5  # points before Ax's first model
EXACT = 1e-6  # variance of an exact observation, of standardized values


class Spent(Exception):
    """All evaluations of the budget are made."""


class Recorder:
    """Objective and limits of a problem, which are kept on record up to a budget.

    Parameters
    ----------
    fun : callable
        From a point (d,) to the objective and the excesses over limits, which a feasible point keeps at ``tolerance``
        or below.
    bounds : array of shape (d, 2)
    budget : int
    n_limits : int, optional
    integers : sequence of int, optional
        Parameters that take integers.
    tolerance : float, optional
    outputs : callable, optional
        From a point to the objective and the quantities that have limits; ``limits`` says which, as in ``"<= 250"``.
        The excesses and 0, if these are not given.
    limits : sequence of str, optional
    """

    def __init__(
        self,
        fun: Callable[[np.ndarray], Any],
        bounds: np.ndarray,
        budget: int,
        n_limits: int = 0,
        integers: Sequence[int] = (),
        tolerance: float = 0.0,
        outputs: Callable[[np.ndarray], Any] | None = None,
        limits: Sequence[str] = (),
    ) -> None:
        self.fun, self.bounds, self.budget = fun, np.array(bounds, dtype=float), budget
        self.n_limits, self.integers, self.tolerance = n_limits, integers, tolerance
        self.outputs, self.limits = outputs, limits or ("<= 0",) * n_limits
        self.rows: list[np.ndarray] = []

    @property
    def dim(self) -> int:
        return len(self.bounds)

    def __call__(self, x: Sequence[float] | np.ndarray) -> np.ndarray:
        if len(self.rows) >= self.budget:
            raise Spent
        self.rows.append(np.atleast_1d(np.asarray(self.fun(np.array(x, dtype=float)), dtype=float)))
        return self.rows[-1]

    def at(self, u: np.ndarray) -> np.ndarray:
        """Objective and limits at a point of the unit cube."""
        low, high = self.bounds.T
        return self(low + np.clip(u, 0.0, 1.0) * (high - low))

    def stated(self, x: Sequence[float] | np.ndarray) -> dict[str, float]:
        """Objective f and the quantities g1, g2, ... that have limits, as people state them."""
        row = self(x)
        values = row if self.outputs is None else self.outputs(np.array(x, dtype=float))
        return {f"g{i}" if i else "f": float(value) for i, value in enumerate(values)}

    def starts(self, seed: int) -> Iterator[np.ndarray]:
        """Starting points of local searches in the unit cube: the centre, then random ones."""
        yield np.full(self.dim, 0.5)
        rng = np.random.default_rng(seed)
        while True:
            yield rng.uniform(size=self.dim)


def auto(record: Recorder, seed: int, options: Mapping[str, Any] | None = None) -> None:
    import tcgp

    logging.getLogger("tcgp").setLevel(logging.ERROR)
    space = [
        tcgp.Integer(int(low), int(high)) if i in record.integers else (low, high)
        for i, (low, high) in enumerate(record.bounds.tolist())
    ]
    limits = [f"g{i} {limit}" for i, limit in enumerate(record.limits, 1)]
    constrained = {"objective": "f", "constraints": limits} if limits else {}
    tcgp.minimize(
        record.stated if limits else lambda x: float(record(x)[0]),
        space,
        n_evals=record.budget,
        rng=seed,
        **constrained,
        **(options or {}),
    )


def uniform(record: Recorder, seed: int) -> None:
    n_initial = min(4 * record.dim, record.budget // 2)
    auto(record, seed, {"n_initial": n_initial, "initial_design": "uniform"})


def optuna(record: Recorder, seed: int) -> None:
    import optuna
    from optuna.distributions import FloatDistribution, IntDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {
        f"x{i}": IntDistribution(int(low), int(high))
        if i in record.integers
        else FloatDistribution(low, high)
        for i, (low, high) in enumerate(record.bounds.tolist())
    }
    constrained = {"constraints_func": lambda trial: trial.user_attrs["limits"]} if record.n_limits else {}
    study = optuna.create_study(
        sampler=optuna.samplers.GPSampler(seed=seed, deterministic_objective=True, **constrained)
    )
    while True:
        trial = study.ask(space)
        f, *limits = record([trial.params[name] for name in space]).tolist()
        trial.set_user_attr("limits", limits)
        study.tell(trial, f)


def egobox(record: Recorder, seed: int, trego: bool = False) -> None:
    import egobox as egx

    specs = [
        egx.XSpec(egx.XType.INT if i in record.integers else egx.XType.FLOAT, bounds)
        for i, bounds in enumerate(record.bounds.tolist())
    ]
    limits = [egx.CstrSpec.leq(0.0, tol=record.tolerance) for _ in range(record.n_limits)]
    optimizer = egx.Egor(specs, cstr_specs=limits or None, seed=seed, trego=trego)
    n_design = max(record.dim + 1, 5)  # the size it chooses: an exception would not end it
    optimizer.minimize(
        lambda rows: np.array([record(x) for x in np.atleast_2d(rows)]), max_iters=record.budget - n_design
    )


def trego(record: Recorder, seed: int) -> None:
    egobox(record, seed, trego=True)


def _ax_client(record: Recorder, seed: int) -> Any:
    from ax import Client, RangeParameterConfig
    from ax.utils.common.logger import set_ax_logger_levels

    set_ax_logger_levels(logging.ERROR)
    client = Client(random_seed=seed)
    client.configure_experiment(
        [
            RangeParameterConfig(name=f"x{i}", bounds=(low, high), parameter_type="float")
            for i, (low, high) in enumerate(record.bounds.tolist())
        ]
    )
    client.configure_optimization(objective="-loss")
    return client


def ax(record: Recorder, seed: int, budget: int | None = None) -> np.ndarray:
    """Run Ax, up to a budget if one is given; the points it chose."""
    _torch(seed)
    client = _ax_client(record, seed)
    points: list[list[float]] = []
    while budget is None or len(points) < budget:
        for index, parameters in client.get_next_trials(max_trials=1).items():
            points.append([parameters[f"x{i}"] for i in range(record.dim)])
            client.complete_trial(index, raw_data={"loss": (float(record(points[-1])[0]), 0.0)})
    return np.array(points)


def botorch(record: Recorder, seed: int, exact: bool = False) -> None:
    from quick_botorch import quick_botorch

    with contextlib.nullcontext() if exact else quick_botorch():
        _log_ei(record, seed, exact)


def _log_ei(record: Recorder, seed: int, exact: bool) -> None:
    import botorch.acquisition
    import botorch.fit
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch = _torch(seed)
    low, high = record.bounds.T
    U = torch.tensor((ax(record, seed, N_AX) - low) / (high - low), dtype=torch.double)
    cube = torch.tensor([[0.0] * record.dim, [1.0] * record.dim], dtype=torch.double)
    while True:
        values = -torch.tensor(np.array(record.rows), dtype=torch.double)
        noise = {"train_Yvar": torch.full_like(values, EXACT * float(values.var()))} if exact else {}
        model = SingleTaskGP(U, values, **noise)
        botorch.fit.fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        criterion = botorch.acquisition.LogExpectedImprovement(model, best_f=values.max())
        candidate, _ = optimize_acqf(criterion, cube, q=1, num_restarts=10, raw_samples=512)
        record.at(candidate[0].numpy())
        U = torch.cat([U, candidate])


def botorch_exact(record: Recorder, seed: int) -> None:
    botorch(record, seed, exact=True)


def _torch(seed: int) -> Any:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return torch


def hebo(record: Recorder, seed: int) -> None:
    import pandas as pd
    from hebo.design_space.design_space import DesignSpace
    from hebo.optimizers.hebo import HEBO

    _torch(seed)
    np.random.seed(seed)  # noqa: NPY002  (HEBO draws from the global generators)
    names = [f"x{i}" for i in range(record.dim)]
    space = DesignSpace().parse(
        [
            {"name": name, "type": "num", "lb": low, "ub": high}
            for name, (low, high) in zip(names, record.bounds.tolist(), strict=True)
        ]
    )
    optimizer = HEBO(space, scramble_seed=seed)
    while True:
        suggested: pd.DataFrame = optimizer.suggest(n_suggestions=1)
        optimizer.observe(suggested, record(suggested[names].to_numpy(dtype=float)[0])[None, :1])


def smac(record: Recorder, seed: int) -> None:
    import tempfile

    from ConfigSpace import ConfigurationSpace
    from smac import BlackBoxFacade, Scenario

    names = [f"x{i}" for i in range(record.dim)]
    space = ConfigurationSpace(dict(zip(names, map(tuple, record.bounds.tolist()), strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=record.budget, seed=seed, output_directory=folder
        )
        facade = BlackBoxFacade(
            scenario,
            lambda config, seed=0: float(record([config[name] for name in names])[0]),
            overwrite=True,
            logging_level=False,
        )
        facade.optimize()


def pybads(record: Recorder, seed: int) -> None:
    from pybads import BADS

    low, high = record.bounds.T
    for number, start in enumerate(record.starts(seed)):
        options = {
            "display": "off",
            "uncertainty_handling": False,
            "random_seed": 1000 * seed + number,
            "max_fun_evals": record.budget - len(record.rows),
        }
        x0 = low + start * (high - low)
        BADS(lambda x: float(record(np.ravel(x))[0]), x0, low, high, options=options).optimize()
        if len(record.rows) == record.budget:
            raise Spent


def cobyqa(record: Recorder, seed: int) -> None:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    latest: dict[bytes, np.ndarray] = {}

    def values(u: np.ndarray) -> np.ndarray:  # objective and limits of a point are one evaluation
        key = u.tobytes()
        if key not in latest:
            latest[key] = record.at(u)
        return latest[key]

    limits = [NonlinearConstraint(lambda u: values(u)[1:], -np.inf, 0.0)] if record.n_limits else []
    cube = Bounds(np.zeros(record.dim), np.ones(record.dim))
    for start in record.starts(seed):
        minimize(lambda u: values(u)[0], start, method="COBYQA", bounds=cube, constraints=limits)


TOOLS: dict[str, Callable[..., Any]] = {
    "auto": auto,
    "uniform": uniform,
    "optuna": optuna,
    "egobox": egobox,
    "trego": trego,
    "ax": ax,
    "botorch": botorch,
    "botorch-exact": botorch_exact,
    "hebo": hebo,
    "smac": smac,
    "pybads": pybads,
    "cobyqa": cobyqa,
}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
