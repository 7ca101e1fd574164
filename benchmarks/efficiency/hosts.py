"""Inside a host, how many runs of the model does it take to come as far as what the host ships?

    python benchmarks/efficiency/hosts.py run [--seeds 5] [--store FILE]      (stop and repeat at will)
    python benchmarks/efficiency/hosts.py report [--store FILE]

The host is OpenMDAO, with our driver and SciPy's COBYLA and differential evolution as OpenMDAO drives them, without
derivatives. Ours and COBYLA start at the same uniform point of a seed; differential evolution takes no start. Budgets
differ (BUDGET). The problem is OpenMDAO's Sellar problem with its two constraints. A run counts the model's
executions until the objective of a feasible one is within a share of the known optimum; a violation of up to 1e-6 is
feasible, as COBYLA ends on the boundary.
"""

from __future__ import annotations

import argparse
import csv
import math
import pathlib
import statistics
import tempfile

import numpy as np

STORE = pathlib.Path(__file__).parent / "results" / "hosts.csv"
COLUMNS = ("host", "problem", "method", "seed", "share", "runs")
METHODS = ("TailCalibratedDriver", "COBYLA", "differential_evolution")
SHARES = (0.1, 0.01, 0.001)
BUDGET = {"TailCalibratedDriver": 40, "COBYLA": 1000, "differential_evolution": 1000}
OPTIMUM = 3.18339395  # the value in OpenMDAO's own test
TOLERANCE = 1e-6


def values(method: str, seed: int) -> list[float]:
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
    return found


def run(store: pathlib.Path, seeds: int) -> None:
    done = {(row["method"], int(row["seed"])) for row in _rows(store)}
    for seed in range(seeds):
        for method in METHODS:
            if (method, seed) in done:
                continue
            found = values(method, seed)
            with store.open("a", newline="") as file:
                writer = csv.writer(file)
                if not file.tell():
                    writer.writerow(COLUMNS)
                for share in SHARES:
                    reached = [k + 1 for k, value in enumerate(found) if value <= OPTIMUM * (1.0 + share)]
                    writer.writerow(
                        ["openmdao", "sellar", method, seed, share, reached[0] if reached else math.inf]
                    )
            print(seed, method, len(found), min(found), flush=True)


def report(store: pathlib.Path) -> None:
    rows = list(_rows(store))
    print("| within | " + " | ".join(METHODS) + " |\n" + "|---" * (len(METHODS) + 1) + "|")
    for share in SHARES:
        cells = []
        for method in METHODS:
            runs = [
                float(row["runs"]) for row in rows if row["method"] == method and float(row["share"]) == share
            ]
            n_reached = sum(map(math.isfinite, runs))
            cells.append(f"{statistics.median(runs):g} ({n_reached} of {len(runs)})")
        print(f"| {share:.1%} | " + " | ".join(cells) + " |")


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
    args = parser.parse_args()
    if args.task == "run":
        run(args.store, args.seeds)
    else:
        report(args.store)
