"""How deep do runs of different methods go, and how narrow is the law? For questions of the README.

    tcgp experiment run ucb --problems ackley10 --methods GP tcGP tcgp:p_min=0 --replicates 30 --as-published \\
        --maximizer multistart --results DIR
    python benchmarks/calibration/compare_runs.py DIR/runs/ackley10/lcb/gp,as_published=True \\
        DIR/runs/ackley10/lcb/tcgp,as_published=True DIR/runs/ackley10/lcb/tcgp,as_published=True,p_min=0

Takes the folders of methods with runs of the same seeds; ``ei-smc`` instead of ``ei`` holds those with the paper's
maximizer. Prints medians over the runs of log10 p(m_n) after each quarter, the number of runs that end lower than those
of the first folder, with a signed-rank test, and medians over the last quarter of the 10 % quantile of the law (−1.28
for the GP) and of the distance of the threshold to the best value. ``--iterations N`` looks at the first N alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from tcgp.laws import GeneralizedNormal

LEVEL = 0.1
Runs = dict[str, dict[str, Any]]  # by seed: the stored run


def load(folder: Path) -> Runs:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def late_law(runs: Runs, n: int) -> str:
    """Quantile of the law and distance of the threshold to the best value, in the last quarter of n iterations."""
    late, quantiles, distances = slice(3 * n // 4, n), [], []
    for run in runs.values():
        if None in run["beta"]:  # the law is normal
            return "– | –"
        laws = GeneralizedNormal(np.array(run["beta"][late]), np.array(run["scale"][late]))
        quantiles.append(np.median(laws.ppf(LEVEL)))
        distances.append(np.median(np.subtract(run["threshold"][late], run["best"][late])))
    return f"{np.median(quantiles):.2f} | {np.median(distances):.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--iterations", type=int, metavar="N", help="of the runs (default: all)")
    arguments = parser.parse_args()
    methods = {f"{folder.parent.name}/{folder.name}": load(folder) for folder in arguments.folders}
    seeds = sorted(set.intersection(*map(set, methods.values())))
    if not seeds:
        parser.error("no seed has a run in all folders: run the experiment first")
    methods = {name: {seed: runs[seed] for seed in seeds} for name, runs in methods.items()}
    n = min(run["iterations"] for runs in methods.values() for run in runs.values())
    if arguments.iterations is not None:
        if not 4 <= arguments.iterations <= n:
            parser.error(f"--iterations must be from 4 to {n}, got {arguments.iterations}")
        n = arguments.iterations
    quarters = [n // 4, n // 2, 3 * n // 4, n]
    header = (
        "method",
        f"log10 p(m_n), n0 + {', '.join(map(str, quarters))}",
        "lower than the first in",
        "p",
        "quantile",
        "t - m_n",
    )
    print(f"{len(seeds)} seeds\n\n| {' | '.join(header)} |\n{'|---' * len(header)}|")
    first = None
    for name, runs in methods.items():
        depths = np.array([run["log10_p"][: n + 1] for run in runs.values()])
        medians = ", ".join(f"{value:.1f}" for value in np.median(depths[:, quarters], axis=0))
        end = depths[:, -1]
        if first is None:
            first, compared = end, "– | –"
        else:
            compared = f"{np.sum(end < first)} of {len(end)} | {wilcoxon(end - first).pvalue:.1g}"
        print(f"| {name} | {medians} | {compared} | {late_law(runs, n)} |")


if __name__ == "__main__":
    main()
