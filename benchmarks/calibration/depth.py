"""Is the calibration at the best value m_n worse because a run is deep? tKS–PIT along runs, and at equal p(m_n).

    tcgp experiment run ablation --problems ackley4 --methods GP tcGP --iterations 60 --replicates 30 --as-published \\
        --maximizer multistart --results DIR
    python benchmarks/calibration/depth.py DIR/runs/ackley4/ei/gp,as_published=True \\
        DIR/runs/ackley4/ei/tcgp,as_published=True

Takes the folders of two methods with runs of the same seeds: ``ei-smc`` instead of ``ei`` holds those with the paper's
maximizer. Prints medians over the runs of tKS–PIT within parts of a run, with a signed-rank test, and then medians over
the iterations whose p(m_n) lies in a range, with the number of runs that have any.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

PARTS = ((0, 5), (5, 10), (10, 15), (15, 20), (20, 30), (30, 45), (45, 60))
DEPTHS = ((-2, -1), (-3, -2), (-4, -3), (-6, -4), (-9, -6), (-16, -9))
Runs = dict[str, tuple[np.ndarray, np.ndarray]]  # by seed: tKS–PIT and log10 p(m_n) at each iteration


def load(folder: Path) -> Runs:
    runs = {}
    for path in sorted(folder.glob("*.json")):
        payload = json.loads(path.read_text())
        if payload["scores"] is None:  # of an experiment that asks for none
            continue
        scores = np.array(payload["scores"]["tks_pit"], dtype=float)
        runs[path.stem] = scores, np.array(payload["log10_p"][: len(scores)])
    return runs


def at_depth(runs: Runs, low: float, high: float) -> str:
    """Median of tKS–PIT where p(m_n) lies between two powers of ten, and the number of runs."""
    chosen = [scores[(depth > low) & (depth <= high)] for scores, depth in runs.values()]
    chosen = [scores for scores in chosen if len(scores)]
    return f"{np.nanmedian(np.concatenate(chosen)):.2f} ({len(chosen)} runs)" if chosen else "–"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    arguments = parser.parse_args()
    first, second = load(arguments.first), load(arguments.second)
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        parser.error("no seed has a run with scores in both folders: run the experiment ablation first")
    first, second = ({seed: runs[seed] for seed in seeds} for runs in (first, second))
    print(
        f"{len(seeds)} seeds\n\n| iterations | first | second | second lower in | p |\n|---|---|---|---|---|"
    )
    for part in PARTS:
        a, b = (
            np.array([np.nanmedian(scores[slice(*part)]) for scores, _ in runs.values()])
            for runs in (first, second)
        )
        p = wilcoxon(b - a).pvalue
        print(
            f"| {part[0]} to {part[1]} | {np.median(a):.2f} | {np.median(b):.2f} | {np.sum(b < a)} | {p:.1g} |"
        )
    print("\n| log10 p(m_n) | first | second |\n|---|---|---|")
    for low, high in DEPTHS:
        print(f"| {low} to {high} | {at_depth(first, low, high)} | {at_depth(second, low, high)} |")


if __name__ == "__main__":
    main()
