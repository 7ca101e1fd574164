"""A small experiment on COCO's bbob suite.

python examples/coco_experiment.py [--budget 40] [--functions 1,8,15] [--dimension 2] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import tempfile

import cocoex

from tcgp.integrations import coco

LOG = "beta-lambda-threshold.csv"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--functions", default="1,8,15")
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--folder", default=None, help="for the data; a temporary folder by default")
    parser.add_argument("--figure", type=pathlib.Path, default=None)
    args = parser.parse_args()
    figure = args.figure and args.figure.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        run_coco(args)
        if figure:
            draw(folder / LOG, figure)
        print(f"{sum(1 for path in folder.rglob('*') if path.is_file())} files of data")


def run_coco(args: argparse.Namespace) -> None:
    options = f"dimensions:{args.dimension} function_indices:{args.functions} instance_indices:1"
    suite = cocoex.Suite("bbob", "", options)
    observer = cocoex.Observer("bbob", "result_folder: tcgp algorithm_name: tcgp")
    # The paper's method: of the turns of "auto", the default, not all have a beta and a lambda to log.
    solver = coco.Solver(args.budget, method="tcgp", rng=0, log=LOG)
    for problem in suite:
        problem.observe_with(observer)
        result = solver(problem)
        print(f"COCO {problem.id}: {result.nfev} evaluations, target hit: {bool(problem.final_target_hit)}")


def draw(log: pathlib.Path, path: pathlib.Path) -> None:
    """What the log holds, problem by problem: best value and threshold, and the parameters of the law."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "tcgp"
    from matplotlib import pyplot as plt

    with log.open() as file:
        rows = list(csv.DictReader(file))
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    figure, axes = plt.subplots(2, len(problems), figsize=(3.2 * len(problems), 4.6), squeeze=False)
    for (top, bottom), problem in zip(axes.T, problems, strict=True):
        data = {key: [row[key] for row in rows if row["problem"] == problem] for key in rows[0]}
        n = [int(value) for value in data["evaluation"]]
        for axis, keys in ((top, ("best", "threshold")), (bottom, ("beta", "lambda"))):
            for key in keys:
                axis.plot(n, [float(value) for value in data[key]], label=key)
        top.set(title=problem, yscale="symlog", xlim=(0, n[-1]))
        bottom.set(yscale="log", xlabel="evaluations", xlim=(0, n[-1]))
    axes[0, 0].legend(frameon=False)
    axes[1, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
