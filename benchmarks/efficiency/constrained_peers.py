"""Other optimizers with constraints, as their own documentation uses them, on the problems of constrained_problems.py.

Each takes a problem, the points and values of the design, the number of evaluations after it, and a seed, and gives
the values, rows of objective and limits, in the order of the evaluations. A peer that stops early gives fewer.

- ``botorch``: `LogConstrainedExpectedImprovement` on a `SingleTaskGP` for each output, as it comes; while no point is
  feasible, `LogProbabilityOfFeasibility`.
- ``scbo``: the tutorial of BoTorch on SCBO, with its settings; a trust region that has become too small is begun anew
  around the best point with the data of the run, and a model that BoTorch fails to fit keeps its first parameters.
- ``optuna``: `GPSampler` with ``constraints_func``, greenlet installed.
- ``egobox``: `Egor` with its defaults; the tolerance of a limit is that of the comparison.
- ``cobyqa``: SciPy's COBYQA from the best points of the design, one after another.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable

import numpy as np

from constrained_problems import TOLERANCE, Problem, is_feasible

__all__ = ["PEERS"]


class _Enough(Exception):
    """The evaluations are spent."""


class _Recorder:
    """The problem, with its evaluations on record."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.values: list[np.ndarray] = []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if len(self.values) == self.budget:
            raise _Enough
        self.values.append(self.problem(x))
        return self.values[-1]


def _order(V: np.ndarray) -> np.ndarray:
    """Indices by violation, then by value: the best first."""
    violation = np.where(is_feasible(V), 0.0, np.maximum(V[:, 1:], 0.0).sum(axis=1))
    return np.lexsort([V[:, 0], violation])


# ---- BoTorch ----


def botorch(problem: Problem, X: np.ndarray, V: np.ndarray, budget: int, seed: int) -> list[np.ndarray]:
    import torch
    from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import SumMarginalLogLikelihood

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    low, high = problem.bounds.T
    cube = torch.tensor([[0.0] * problem.dim, [1.0] * problem.dim], dtype=torch.double)
    U, V = (X - low) / (high - low), V.copy()
    for _ in range(budget):
        inputs, outputs = torch.tensor(U), torch.tensor(V)
        model = ModelListGP(*(SingleTaskGP(inputs, outputs[:, [j]]) for j in range(V.shape[1])))
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        limits = dict.fromkeys(range(1, V.shape[1]), (None, 0.0))
        feasible = is_feasible(V)
        if feasible.any():
            best = float(V[feasible, 0].min())
            criterion = LogConstrainedExpectedImprovement(model, best, 0, limits, maximize=False)
        else:
            criterion = LogProbabilityOfFeasibility(model, limits)
        u, _ = optimize_acqf(criterion, cube, q=1, num_restarts=10, raw_samples=512)
        u = u.detach().numpy()[0]
        x = problem.round(low + u * (high - low))
        U, V = np.vstack([U, (x - low) / (high - low)]), np.vstack([V, problem(x)])
    return list(V[len(X) :])


def scbo(problem: Problem, X: np.ndarray, V: np.ndarray, budget: int, seed: int) -> list[np.ndarray]:
    import gpytorch
    import torch
    from botorch.exceptions.errors import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms.outcome import Standardize
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch.quasirandom import SobolEngine

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    d, batch, n_candidates = problem.dim, 4, 2000
    largest, smallest, start = 1.6, 0.5**7, 0.8
    patience, success_tolerance = math.ceil(max(4.0 / batch, d / batch)), 10
    low, high = problem.bounds.T
    U, V = (X - low) / (high - low), V.copy()

    def fitted(y: np.ndarray) -> SingleTaskGP:
        kernel = ScaleKernel(
            MaternKernel(nu=2.5, ard_num_dims=d, lengthscale_constraint=Interval(0.005, 4.0))
        )
        likelihood = GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3))
        model = SingleTaskGP(
            torch.tensor(U),
            torch.tensor(y)[:, None],
            covar_module=kernel,
            likelihood=likelihood,
            outcome_transform=Standardize(m=1),
        )
        with gpytorch.settings.max_cholesky_size(float("inf")), contextlib.suppress(ModelFittingError):
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    length, successes, failures = start, 0, 0
    while len(V) - len(X) < budget:
        centre = torch.tensor(U[_order(V)[0]])
        lower, upper = torch.clamp(centre - length / 2, 0.0, 1.0), torch.clamp(centre + length / 2, 0.0, 1.0)
        objective = fitted(-V[:, 0])
        limits = ModelListGP(*(fitted(V[:, j]) for j in range(1, V.shape[1])))
        sobol = SobolEngine(d, scramble=True, seed=int(torch.randint(2**31, ())))
        candidates = lower + (upper - lower) * sobol.draw(n_candidates).to(dtype=torch.double)
        mask = torch.rand(n_candidates, d, dtype=torch.double) <= min(20.0 / d, 1.0)
        empty = torch.where(mask.sum(dim=1) == 0)[0]
        mask[empty, torch.randint(0, d, size=(len(empty),))] = True
        candidates = torch.where(mask, candidates, centre)
        sampling = ConstrainedMaxPosteriorSampling(
            model=objective, constraint_model=limits, replacement=False
        )
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(float("inf")):
            chosen = sampling(candidates, num_samples=batch).numpy()
        points = problem.round(low + chosen * (high - low))
        old = V[_order(V)[0]]
        U = np.vstack([U, (points - low) / (high - low)])
        V = np.vstack([V, [problem(x) for x in points]])
        new = V[_order(V)[0]]
        if is_feasible(new)[0] and not is_feasible(old)[0]:
            better = True
        elif is_feasible(new)[0]:
            better = new[0] < old[0] - 1e-3 * abs(old[0])
        else:
            better = np.maximum(new[1:], 0.0).sum() < np.maximum(old[1:], 0.0).sum()
        successes, failures = (successes + 1, 0) if better else (0, failures + 1)
        if successes == success_tolerance:
            length, successes = min(2.0 * length, largest), 0
        elif failures == patience:
            length, failures = length / 2.0, 0
        if length < smallest:
            length, successes, failures = start, 0, 0
    return list(V[len(X) :][:budget])


# ---- others ----


def optuna(problem: Problem, X: np.ndarray, V: np.ndarray, budget: int, seed: int) -> list[np.ndarray]:
    import optuna
    from optuna.distributions import FloatDistribution, IntDistribution

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = {
        f"x{i}": IntDistribution(int(low), int(high))
        if i in problem.integers
        else FloatDistribution(low, high)
        for i, (low, high) in enumerate(problem.bounds)
    }
    sampler = optuna.samplers.GPSampler(
        seed=seed,
        deterministic_objective=True,
        n_startup_trials=len(X),
        constraints_func=lambda trial: trial.user_attrs["limits"],
    )
    study = optuna.create_study(sampler=sampler)
    values: list[np.ndarray] = []
    for i in range(len(X) + budget):
        if i < len(X):
            point = {
                k: int(v) if isinstance(kinds[k], IntDistribution) else float(v)
                for k, v in zip(kinds, X[i], strict=True)
            }
            study.enqueue_trial(point)
        trial = study.ask(kinds)
        value = V[i] if i < len(X) else problem(np.array([trial.params[name] for name in kinds], dtype=float))
        values.append(value)
        trial.set_user_attr("limits", value[1:].tolist())
        study.tell(trial, float(value[0]))
    return values[len(X) :]


def egobox(problem: Problem, X: np.ndarray, V: np.ndarray, budget: int, seed: int) -> list[np.ndarray]:
    import egobox as egx

    record = _Recorder(problem, budget)
    specs = [
        egx.XSpec(egx.XType.INT if i in problem.integers else egx.XType.FLOAT, bounds.tolist())
        for i, bounds in enumerate(problem.bounds)
    ]
    optimizer = egx.Egor(
        specs,
        cstr_specs=[egx.CstrSpec.leq(0.0, tol=TOLERANCE) for _ in range(problem.n_limits)],
        x_doe=X,
        y_doe=V,
        seed=seed,
    )
    optimizer.minimize(lambda rows: np.array([record(x) for x in np.atleast_2d(rows)]), max_iters=budget)
    return record.values


def cobyqa(problem: Problem, X: np.ndarray, V: np.ndarray, budget: int, seed: int) -> list[np.ndarray]:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    record = _Recorder(problem, budget)
    low, high = problem.bounds.T
    latest: dict[bytes, np.ndarray] = {}

    def values(u: np.ndarray) -> np.ndarray:  # the objective and the limits of a point are one evaluation
        key = u.tobytes()
        if key not in latest:
            latest[key] = record(low + np.clip(u, 0.0, 1.0) * (high - low))
        return latest[key]

    try:
        for start in X[_order(V)]:
            minimize(
                lambda u: values(u)[0] / problem.random_gap,
                (start - low) / (high - low),
                method="COBYQA",
                bounds=Bounds(np.zeros(problem.dim), np.ones(problem.dim)),
                constraints=NonlinearConstraint(lambda u: values(u)[1:], -np.inf, 0.0),
            )
    except _Enough:
        pass
    return record.values


Peer = Callable[[Problem, np.ndarray, np.ndarray, int, int], list[np.ndarray]]
PEERS: dict[str, Peer] = {
    "botorch": botorch,
    "scbo": scbo,
    "optuna": optuna,
    "egobox": egobox,
    "cobyqa": cobyqa,
}
