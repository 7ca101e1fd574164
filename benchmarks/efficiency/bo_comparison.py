"""GP, tcGP and reGP on the paper's four main functions: best value after n0 + 60 evaluations.

    python benchmarks/bo_comparison.py [--seeds 20] [--jobs 2] [--methods gp tcgp regp] [--output FILE.csv]

A method may carry options: tcgp:delta=0.1:search=paper. Every method gets the same initial designs (n0 = 10 d
uniform points) and expected improvement. One line of CSV per run holds the best value after each number of
evaluations; the table gives medians and quartiles at the end, and a sign test of each method against the first.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binomtest

import tcgp

PROBLEMS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4")
ITERATIONS = 60


def run(task: tuple[str, str, int, int]) -> dict[str, object]:
    """One optimization: best value so far after the initial design and after each later evaluation."""
    name, method, seed, iterations = task
    problem = tcgp.problems.get(name)
    n0 = 10 * problem.dim
    X0 = np.random.default_rng([seed, problem.dim]).uniform(
        problem.bounds[:, 0], problem.bounds[:, 1], (n0, problem.dim)
    )
    kind, *pairs = method.split(":")
    options = {key: _number(value) for key, value in (pair.split("=") for pair in pairs)}
    start = time.process_time()
    result = tcgp.minimize(
        problem,
        problem.bounds,
        n_evals=n0 + iterations,
        n_initial=n0,
        x0=X0,
        method=kind,
        rng=seed,
        options=options,
    )
    best = np.minimum.accumulate(result.func_vals)[n0 - 1 :]
    seconds = (time.process_time() - start) / iterations
    return {"problem": name, "method": method, "seed": seed, "seconds": seconds, "best": best}


def _number(text: str) -> float | str:
    """A number if it is one: options are written tcgp:delta=0.1:search=paper."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def table(rows: list[dict], methods: list[str]) -> str:
    """Markdown: median (quartiles) of the final best value, and wins against the first method."""
    lines = ["| function | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name in dict.fromkeys(row["problem"] for row in rows):
        final = {
            method: np.array(
                [
                    r["best"][-1]
                    for r in sorted(rows, key=lambda r: r["seed"])
                    if (r["problem"], r["method"]) == (name, method)
                ]
            )
            for method in methods
        }
        cells = []
        for method in methods:
            low, median, high = np.quantile(final[method], [0.25, 0.5, 0.75])
            cell = f"{median:.3g} ({low:.3g}, {high:.3g})"
            if method != methods[0]:
                wins = int((final[method] < final[methods[0]]).sum())
                cell += f", {wins}/{len(final[method])}, p = {binomtest(wins, len(final[method])).pvalue:.1g}"
            cells.append(cell)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=["gp", "tcgp", "regp"])
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--output", type=Path, default=None)
    args = parser.parse_args()
    tasks = [
        (p, m, s, args.iterations) for s in range(args.seeds) for p in args.problems for m in args.methods
    ]
    rows = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for future in as_completed([pool.submit(run, task) for task in tasks]):
            rows.append(future.result())
            print(f"\r{len(rows)}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows.sort(key=lambda r: (args.problems.index(r["problem"]), args.methods.index(r["method"]), r["seed"]))
    print(table(rows, args.methods))
    print("\nmilliseconds of CPU an iteration:", end=" ")
    for method in args.methods:
        print(
            f"{method} {1e3 * np.mean([r['seconds'] for r in rows if r['method'] == method]):.0f}", end="  "
        )
    print()
    if args.output:
        with args.output.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["problem", "method", "seed", *range(args.iterations + 1)])
            writer.writerows(
                [r["problem"], r["method"], r["seed"], *(f"{v:.8g}" for v in r["best"])] for r in rows
            )


if __name__ == "__main__":
    main()
