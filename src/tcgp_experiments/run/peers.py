"""Optimizers of other libraries, with the same initial designs and budgets.

Each is used as in its own documentation, with its defaults, and with expected improvement if there is a choice. A
library is imported when its optimizer is used.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from tcgp.problems import Problem
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.errors import require

__all__ = ["PEERS", "check_installed"]

Evaluations = Iterator[tuple[FloatArray, float]]


def botorch(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """BoTorch: SingleTaskGP and LogExpectedImprovement, inputs scaled to the unit cube."""
    torch = importlib.import_module("torch")
    models = importlib.import_module("botorch.models")
    fit = importlib.import_module("botorch.fit").fit_gpytorch_mll
    likelihoods = importlib.import_module("gpytorch.mlls")
    analytic = importlib.import_module("botorch.acquisition")
    optimize_acqf = importlib.import_module("botorch.optim").optimize_acqf

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    low, high = problem.bounds.T
    cube = torch.stack([torch.zeros(problem.dim), torch.ones(problem.dim)]).double()
    U = torch.as_tensor((X - low) / (high - low))
    values = torch.as_tensor(-np.asarray(y))[:, None]
    for _ in range(iterations):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = models.SingleTaskGP(U, values)
            fit(likelihoods.ExactMarginalLogLikelihood(model.likelihood, model))
            criterion = analytic.LogExpectedImprovement(model, best_f=values.max())
            candidate, _ = optimize_acqf(criterion, cube, q=1, num_restarts=10, raw_samples=512)
        x = low + candidate[0].numpy() * (high - low)
        value = float(problem.fun(x))
        U = torch.cat([U, candidate])
        values = torch.cat([values, torch.tensor([[-value]]).double()])
        yield x, value


def optuna(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """Optuna: GPSampler for a deterministic objective."""
    library = importlib.import_module("optuna")
    library.logging.set_verbosity(library.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = library.samplers.GPSampler(seed=seed, n_startup_trials=len(X), deterministic_objective=True)
    study = library.create_study(sampler=sampler)
    space = {
        f"x{j}": library.distributions.FloatDistribution(low, high)
        for j, (low, high) in enumerate(problem.bounds.tolist())
    }
    for x, value in zip(X.tolist(), y.tolist(), strict=True):
        parameters = dict(zip(space, x, strict=True))
        study.add_trial(library.trial.create_trial(params=parameters, distributions=space, value=value))
    for _ in range(iterations):
        trial = study.ask(space)
        x = np.array([trial.params[name] for name in space])
        value = float(problem.fun(x))
        study.tell(trial, value)
        yield x, value


def skopt(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """scikit-optimize: its Gaussian process and expected improvement."""
    library = importlib.import_module("skopt")
    bounds = [tuple(pair) for pair in problem.bounds.tolist()]
    optimizer = library.Optimizer(
        bounds, base_estimator="GP", n_initial_points=0, acq_func="EI", random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer.tell(X.tolist(), y.tolist())
        for _ in range(iterations):
            x = np.array(optimizer.ask())
            value = float(problem.fun(x))
            optimizer.tell(x.tolist(), value)
            yield x, value


def smt(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """SMT: EGO with kriging and expected improvement; values are yielded after the whole run."""
    applications = importlib.import_module("smt.applications")
    surrogates = importlib.import_module("smt.surrogate_models")
    space = importlib.import_module("smt.design_space")
    design_space = space.DesignSpace(problem.bounds.tolist())
    ego = applications.EGO(
        n_iter=iterations,
        criterion="EI",
        xdoe=X,
        ydoe=y[:, None],
        surrogate=surrogates.KRG(design_space=design_space, print_global=False),
        seed=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, points, values = ego.optimize(fun=lambda rows: np.asarray(problem.fun(rows))[:, None])
    for x, value in zip(points[len(X) :], values[len(X) :, 0], strict=True):
        yield x, float(value)


def egobox(
    problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int, trego: bool = False
) -> Evaluations:
    """egobox: Egor with its defaults; values are yielded after the whole run."""
    library = importlib.import_module("egobox")
    optimizer = library.Egor(problem.bounds.tolist(), x_doe=X, y_doe=y[:, None], seed=seed, trego=trego)
    evaluations: list[tuple[FloatArray, float]] = []

    def values(rows: FloatArray) -> FloatArray:
        found = [(x, float(problem.fun(x))) for x in np.atleast_2d(rows)]
        evaluations.extend(found)
        return np.array([[value] for _, value in found])

    optimizer.minimize(values, max_iters=iterations)
    yield from evaluations


def trego(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """egobox with local steps in a trust region, its TREGO option."""
    return egobox(problem, X, y, iterations, seed, trego=True)


def hebo(problem: Problem, X: FloatArray, y: FloatArray, iterations: int, seed: int) -> Evaluations:
    """HEBO with its defaults: a GP of warped inputs and values, and an ensemble of three criteria."""
    pandas = importlib.import_module("pandas")
    torch = importlib.import_module("torch")
    space = importlib.import_module("hebo.design_space.design_space").DesignSpace()
    optimizers = importlib.import_module("hebo.optimizers.hebo")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (HEBO draws from the global generators)
    names = [f"x{j}" for j in range(problem.dim)]
    space.parse(
        [
            {"name": name, "type": "num", "lb": low, "ub": high}
            for name, (low, high) in zip(names, problem.bounds.tolist(), strict=True)
        ]
    )
    optimizer = optimizers.HEBO(space, scramble_seed=seed)
    optimizer.observe(pandas.DataFrame(X, columns=names), np.asarray(y)[:, None])
    for _ in range(iterations):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            suggested = optimizer.suggest(n_suggestions=1)
        x = suggested[names].to_numpy(dtype=float)[0]
        value = float(problem.fun(x))
        optimizer.observe(suggested, np.array([[value]]))
        yield x, value


Peer = Callable[[Problem, FloatArray, FloatArray, int, int], Evaluations]

PEERS: dict[str, Peer] = {
    "botorch": botorch,
    "optuna": optuna,
    "skopt": skopt,
    "smt": smt,
    "egobox": egobox,
    "trego": trego,
    "hebo": hebo,
}

# Modules that a peer imports, and packages to install.
_PACKAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "botorch": (("torch", "botorch"), "botorch"),
    "optuna": (("optuna", "torch"), "optuna torch greenlet"),
    "skopt": (("skopt",), "scikit-optimize"),
    "smt": (("smt",), "smt"),
    "egobox": (("egobox",), "egobox"),
    "trego": (("egobox",), "egobox"),
    "hebo": (("hebo", "pandas", "torch"), "hebo"),
}


def check_installed(name: str) -> None:
    """Refuse a peer whose library is not installed."""
    modules, packages = _PACKAGES.get(name, ((), ""))
    for module in modules:
        require(module, f"peer:{name} needs another library", packages)
