"""Draw the picture of the README from the runs of bo_comparison.py.

python benchmarks/bo_comparison.py --output benchmarks/results/bo_comparison.csv
python benchmarks/plot_comparison.py benchmarks/results/bo_comparison.csv docs/images/comparison.png
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tcgp

LABELS = {"gp": "GP", "tcgp": "tcGP", "regp": "reGP"}
COLORS = {"gp": "#555555", "tcgp": "#D55E00", "regp": "#0072B2"}  # safe for colour-blind readers
TITLES = {
    "goldstein-price": "Goldstein–Price, d = 2",
    "dixon-price4": "Dixon–Price, d = 4",
    "rosenbrock6": "Rosenbrock, d = 6",
    "ackley4": "Ackley, d = 4",
}


def main(source: Path, target: Path) -> None:
    with source.open() as file:
        rows = list(csv.DictReader(file))
    names = list(dict.fromkeys(row["problem"] for row in rows))
    figure = Figure(figsize=(12.0, 3.2), layout="constrained")
    axes = np.ravel(figure.subplots(1, len(names)))
    for ax, name in zip(axes, names, strict=True):
        minimum = tcgp.problems.get(name).minimum
        for method in dict.fromkeys(row["method"] for row in rows):
            runs = [r for r in rows if (r["problem"], r["method"]) == (name, method)]
            best = np.array([[float(v) for k, v in r.items() if k.isdigit()] for r in runs])
            regret = np.maximum(best - minimum, 1e-8)  # the file holds eight digits
            low, median, high = np.quantile(regret, [0.25, 0.5, 0.75], axis=0)
            n = np.arange(len(median))
            ax.plot(n, median, color=COLORS[method], label=LABELS[method], lw=1.8)
            ax.fill_between(n, low, high, color=COLORS[method], alpha=0.15, lw=0)
        ax.set(yscale="log", title=TITLES.get(name, name), xlabel="evaluations after the initial design")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("best value − minimum")
    axes[0].legend(frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
