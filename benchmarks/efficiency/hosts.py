"""Inside a host, how many evaluations does it take to come as far as with what the host ships?

    python benchmarks/efficiency/hosts.py run [--seeds 5] [--hosts openmdao gemseo xopt sklearn]   (resumes)
    python benchmarks/efficiency/hosts.py report

- OpenMDAO: its Sellar problem with two constraints, our driver, and SciPy's COBYLA and differential evolution as
  OpenMDAO drives them, without derivatives. Ours and COBYLA start at the same uniform point of a seed; differential
  evolution takes no start. Each gets its usual budget (BUDGET). A violation of up to 1e-6 is feasible, as COBYLA ends
  on the boundary.
- GEMSEO: its Power2 problem without the equality, our algorithm, and the COBYQA and the differential evolution of SciPy
  as GEMSEO drives them. All start at the same uniform point of a seed.
- Xopt: Branin's function, our generator, and Xopt's expected improvement and upper confidence bound with BoTorch, which
  begin with five random points of Xopt. 30 evaluations.
- scikit-learn: penalty and kernel width of a kernel ridge regression of the diabetes data, by the mean squared error of
  five folds. Our search, `RandomizedSearchCV`, and `HalvingRandomSearchCV` with candidates for the same cost; a fit to
  a part of the data counts as this part of an evaluation. 20 evaluations. With scikit-optimize installed, its
  `BayesSearchCV`, too.

A run counts evaluations until the value is within a share of the known optimum. Each host is imported only if it runs.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
import pathlib
import statistics
import tempfile
import warnings

import numpy as np

STORE = pathlib.Path(__file__).parent / "results" / "hosts.csv"
COLUMNS = ("host", "problem", "method", "seed", "share", "runs")
SHARES = (0.1, 0.01, 0.001)
BUDGET = {
    "TailCalibratedDriver": 40,
    "COBYLA": 1000,
    "differential_evolution": 1000,
    "TCGP": 40,
    "COBYQA": 1000,
    "DIFFERENTIAL_EVOLUTION": 1000,
}
N_XOPT, N_SEARCH = 30, 20
FACTOR = 3  # of HalvingRandomSearchCV, in three rounds
OPTIMA = {
    "openmdao": 3.18339395,  # the value in OpenMDAO's own test
    "gemseo": 2.0 * 0.5 ** (2.0 / 3.0),
    "xopt": 0.39788736,
    "sklearn": 2888.95,  # the smallest of 14 x 14 points of a logarithmic grid
}
TOLERANCE = 1e-6

Progress = list[tuple[float, float]]  # evaluations so far, and a value


def openmdao(method: str, seed: int) -> Progress:
    """The objective after each execution of the model; infinite where it is not feasible."""
    import openmdao.api as om
    from openmdao.test_suite.components.sellar_feature import SellarMDA

    from tcgp.integrations.openmdao import TailCalibratedDriver

    problem = om.Problem(SellarMDA(), reports=False)
    if method == "TailCalibratedDriver":
        problem.driver = TailCalibratedDriver(n_evals=BUDGET[method], rng=seed)
    else:
        problem.driver = om.ScipyOptimizeDriver(optimizer=method, maxiter=BUDGET[method], disp=False)
        if method == "differential_evolution":
            problem.driver.options["maxiter"] = 21  # generations of 15 points for each of three parameters
            problem.driver.opt_settings |= {"seed": seed, "polish": False}
    for name in ("x", "z"):
        problem.model.add_design_var(name, lower=0.0, upper=10.0)
    problem.model.add_objective("obj")
    for name in ("con1", "con2"):
        problem.model.add_constraint(name, upper=0.0)
    problem.set_solver_print(level=-1)
    with tempfile.TemporaryDirectory() as folder:
        problem.driver.add_recorder(om.SqliteRecorder(pathlib.Path(folder) / "cases.sql"))
        problem.setup()
        start = np.random.default_rng(seed).uniform(0.0, 10.0, 3)
        problem.set_val("x", start[0])
        problem.set_val("z", start[1:])
        problem.run_driver()
        problem.cleanup()
        reader = om.CaseReader(pathlib.Path(folder) / "cases.sql")
        cases = [reader.get_case(name) for name in reader.list_cases("driver", out_stream=None)]
    found = []
    for case in cases:
        kept = max(case["con1"].item(), case["con2"].item()) <= TOLERANCE
        found.append(case["obj"].item() if kept else math.inf)
    return list(enumerate(found, 1))


def gemseo(method: str, seed: int) -> Progress:
    """The objective after each evaluation; infinite where it is not feasible."""
    from gemseo import execute_algo
    from gemseo.problems.optimization.power_2 import Power2

    problem = Power2()
    problem.constraints = [c for c in problem.constraints if c.name != "eq"]
    problem.design_space.set_current_value(np.random.default_rng(seed).uniform(-1.0, 1.0, 3))
    settings = {"TCGP": {"rng": seed}, "DIFFERENTIAL_EVOLUTION": {"seed": seed}}.get(method, {})
    quiet = {"log_problem": False, "enable_progress_bar": False}
    execute_algo(problem, algo_name=method, max_iter=BUDGET[method], **quiet, **settings)
    found = []
    for outputs in problem.database.values():
        known = all(name in outputs for name in ("pow2", *problem.constraints.get_names()))
        kept = known and all(outputs[c.name].item() <= TOLERANCE for c in problem.constraints)
        found.append(outputs["pow2"].item() if kept else math.inf)
    return list(enumerate(found, 1))


def xopt(method: str, seed: int) -> Progress:
    """The values of Branin's function, one after the other."""
    import torch
    from gest_api.vocs import VOCS
    from xopt import Evaluator, Xopt
    from xopt.generators import bayesian

    import tcgp
    from tcgp.integrations.gest import TailCalibratedGenerator

    branin = tcgp.problems.get("branin")
    vocs = VOCS(
        variables={f"x{i}": list(b) for i, b in enumerate(branin.bounds)}, objectives={"f": "MINIMIZE"}
    )
    torch.manual_seed(seed)
    ours = method == "TailCalibratedGenerator"
    generator = TailCalibratedGenerator(vocs, rng=seed) if ours else getattr(bayesian, method)(vocs=vocs)
    evaluator = Evaluator(function=lambda point: {"f": float(branin([point["x0"], point["x1"]]))})
    run = Xopt(generator=generator, evaluator=evaluator)
    n_random = 0 if ours else 5
    if n_random:
        run.random_evaluate(n_random, seed=seed)
    for _ in range(N_XOPT - n_random):
        run.step()
    return list(enumerate(run.data["f"].tolist(), 1))


def sklearn(method: str, seed: int) -> Progress:
    """The error of each candidate that was fitted to all data, and what was spent when it was known."""
    from scipy.stats import loguniform
    from sklearn.datasets import load_diabetes
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import HalvingRandomSearchCV, KFold, RandomizedSearchCV, cross_val_score

    from tcgp.integrations.sklearn import TcgpSearchCV

    X, y = load_diabetes(return_X_y=True)
    model, ranges = KernelRidge(kernel="rbf"), {"alpha": (1e-4, 1e2), "gamma": (1e-2, 1e3)}
    laws = {name: loguniform(*bounds) for name, bounds in ranges.items()}
    options = {
        "scoring": "neg_mean_squared_error",
        "cv": KFold(5, shuffle=True, random_state=0),
        "refit": False,
        "random_state": seed,
    }
    if method == "HalvingRandomSearchCV":
        # Three rounds with a ninth, a third and all of the data, each as expensive as the first.
        n = N_SEARCH // 3 * FACTOR**2
        options |= {"n_candidates": n, "factor": FACTOR, "min_resources": len(y) // FACTOR**2}
        results = HalvingRandomSearchCV(model, laws, **options).fit(X, y).cv_results_
        spent = np.cumsum(results["n_resources"] / len(y))
        last = results["iter"] == results["iter"].max()
        costs, points = (
            spent[last],
            [p for p, is_last in zip(results["params"], last, strict=True) if is_last],
        )
        scoring = {name: options[name] for name in ("scoring", "cv")}
        scores = [cross_val_score(model.set_params(**point), X, y, **scoring).mean() for point in points]
        return list(zip(costs.tolist(), (-np.array(scores)).tolist(), strict=True))
    if method == "BayesSearchCV":
        from skopt import BayesSearchCV

        space = {name: (*bounds, "log-uniform") for name, bounds in ranges.items()}
        search = BayesSearchCV(model, space, n_iter=N_SEARCH, **options)
    else:
        kind = TcgpSearchCV if method == "TcgpSearchCV" else RandomizedSearchCV
        search = kind(model, laws, n_iter=N_SEARCH, **options)
    return list(enumerate((-search.fit(X, y).cv_results_["mean_test_score"]).tolist(), 1))


HOSTS = {
    "openmdao": (openmdao, "sellar", ("TailCalibratedDriver", "COBYLA", "differential_evolution")),
    "gemseo": (gemseo, "power2", ("TCGP", "COBYQA", "DIFFERENTIAL_EVOLUTION")),
    "xopt": (
        xopt,
        "branin",
        ("TailCalibratedGenerator", "ExpectedImprovementGenerator", "UpperConfidenceBoundGenerator"),
    ),
    "sklearn": (
        sklearn,
        "diabetes",
        (
            "TcgpSearchCV",
            "RandomizedSearchCV",
            "HalvingRandomSearchCV",
            *(["BayesSearchCV"] if importlib.util.find_spec("skopt") else []),
        ),
    ),
}


def run(store: pathlib.Path, seeds: int, hosts: list[str]) -> None:
    done = {(row["host"], row["method"], int(row["seed"])) for row in _rows(store)}
    for host in hosts:
        values, problem, methods = HOSTS[host]
        for seed, method in ((seed, method) for seed in range(seeds) for method in methods):
            if (host, method, seed) in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = values(method, seed)
            with store.open("a", newline="") as file:
                writer = csv.writer(file)
                if not file.tell():
                    writer.writerow(COLUMNS)
                for share in SHARES:
                    reached = [cost for cost, value in found if value <= OPTIMA[host] * (1.0 + share)]
                    runs = f"{min(reached, default=math.inf):.4g}"
                    writer.writerow([host, problem, method, seed, share, runs])
            print(host, seed, method, len(found), min(value for _, value in found), flush=True)


def report(store: pathlib.Path) -> None:
    rows = list(_rows(store))
    print("| host, problem | method | " + " | ".join(f"within {share:.1%}" for share in SHARES) + " |")
    print("|---" * (2 + len(SHARES)) + "|")
    for host, problem, method in dict.fromkeys((row["host"], row["problem"], row["method"]) for row in rows):
        cells = []
        for share in SHARES:
            same = (row for row in rows if (row["host"], row["method"]) == (host, method))
            runs = [float(row["runs"]) for row in same if float(row["share"]) == share]
            n_reached = sum(map(math.isfinite, runs))
            cells.append(f"{statistics.median(runs):g} ({n_reached} of {len(runs)})")
        print(f"| {host}, {problem} | `{method}` | " + " | ".join(cells) + " |")


def _rows(store: pathlib.Path) -> list[dict[str, str]]:
    if not store.exists():
        return []
    with store.open(newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("run", "report"))
    parser.add_argument("--store", type=pathlib.Path, default=STORE)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hosts", nargs="+", choices=HOSTS, default=list(HOSTS))
    args = parser.parse_args()
    if args.task == "run":
        run(args.store, args.seeds, args.hosts)
    else:
        report(args.store)
