"""Which readings of the paper's calibration come closest to its two tables?

    python benchmarks/calibration/published_choices.py [--data-sets 100] [--problems ...] [--output FILE.csv]

The data sets and test points are those of ``tcgp experiment run table1 table2``. Each reading is a search of (beta,
lambda), a supremum over u, and a ratio F(Z) / F(t), in the selection and in the score tKS-PIT; see "As published" in
the theory pages. A cell agrees if |ours - paper| is at most 2 sqrt 2 standard errors of ours, beyond rounding. All
readings share data, Gaussian processes and test points, so that their differences are theirs. The rows of reGP, which
has no (beta, lambda), are left out.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tcgp import fit_model, scoring
from tcgp.calibration import design_weights, empirical_quantile, tail_law
from tcgp.laws import Normal
from tcgp.models import Prediction
from tcgp.sampling import subset_simulation
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.published import METRICS, TABLE1, TABLE2, TABLE_PROBLEMS, printed_cell
from tcgp_experiments.plan.tasks import Row
from tcgp_experiments.report.statistics import mean_of
from tcgp_experiments.report.tables import Cell
from tcgp_experiments.run import problems

LEVELS = (0.25, 0.1, 0.05, 0.0)
N_TEST = 4000


class Reading(NamedTuple):
    """A reading of the paper: the arguments of `tail_law`, and the ratio of the score."""

    search: str
    supremum: str
    ratio: str
    score: str


READINGS = {
    "ours": Reading("fast", "exact", "exact", "exact"),
    "paper's search": Reading("paper", "exact", "exact", "exact"),
    "samples": Reading("paper", "samples", "exact", "exact"),
    "plain score": Reading("paper", "exact", "exact", "plain"),
    "plain": Reading("paper", "exact", "plain", "plain"),
    "samples, plain score": Reading("paper", "samples", "exact", "plain"),
    "samples, plain": Reading("paper", "samples", "plain", "plain"),
}


def rows() -> list[tuple[str, float, str, str | None, float]]:
    """Table, level of the score, label, criterion (None for the GP) and delta of each row."""
    names = {"GP": None, "tcGP": "joint", "tcGP-occ": "occ", "tcGP-thres": "thres"}
    first = [("table1", q, label, criterion, q) for q in LEVELS[:3] for label, criterion in names.items()]
    second = [("table2", 0.0, f"tcGP δ={q}", "joint", q) for q in (0.05, 0.1, 0.25)]
    return [*first, ("table2", 0.0, "GP", None, 0.05), *second]


def score(name: str, replicate: int) -> dict[tuple[Any, ...], float]:
    """All scores on one data set, by reading, table, level, label and metric."""
    problem, streams = problems.get(name), problems.streams(name, replicate)
    X = problems.uniform_points(problem, 30 * problem.dim, streams.design)
    y = np.asarray(problem.fun(X))
    thresholds = {q: empirical_quantile(y, q) if q else float(y.min()) for q in LEVELS}
    tails, simulation = {}, None
    for q in LEVELS:
        simulation = (
            subset_simulation(
                problem.fun,
                problem.bounds,
                thresholds[q],
                n_particles=N_TEST,
                rng=np.random.default_rng(streams.levels),
            )
            if simulation is None
            else simulation.continue_to(thresholds[q])
        )
        tails[q] = simulation
    X_test = problems.uniform_points(problem, N_TEST, streams.test)
    y_test = np.asarray(problem.fun(X_test))
    gp = fit_model(X, y, "gp", bounds=problem.bounds)
    loo, weights = gp.leave_one_out, design_weights(gp.interpolator.unit_points())
    everywhere = gp.predict_arrays(X_test)
    below = {q: gp.predict_arrays(tails[q].particles) for q in LEVELS}
    laws: dict[Any, Any] = {}
    shared: dict[Any, tuple[float, float]] = {}
    found: dict[tuple[Any, ...], float] = {}
    for reading, choice in READINGS.items():
        for table, level, label, criterion, delta in rows():
            how = choice[:3] if criterion in ("joint", "thres") else (choice.search, "exact", "exact")
            key = (criterion, delta, *how)
            if key not in laws:
                t = thresholds[delta]
                laws[key] = (
                    Normal()
                    if criterion is None
                    else tail_law(
                        loo.mean,
                        loo.sd,
                        y,
                        weights,
                        t,
                        criterion=criterion,
                        search=choice.search,
                        supremum=choice.supremum,
                        ratio=choice.ratio,
                        rng=replicate,
                    ).law
                )
            law, tail, t = laws[key], tails[level], thresholds[level]
            if (key, level) not in shared:
                prediction = Prediction(*everywhere, law)
                r = abs(tail.probability - scoring.predicted_probability(prediction, t))
                shared[key, level] = (float(np.mean(scoring.twcrps(prediction, y_test, t))), r)
            tks = scoring.tks_pit(Prediction(*below[level], law), tail.values, t, ratio=choice.score)
            for metric, value in zip(METRICS, (*shared[key, level], tks), strict=True):
                found[reading, table, level, label, metric] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--problems", nargs="*", default=TABLE_PROBLEMS)
    parser.add_argument("--output", default=None)
    args = parser.parse_args()
    cells = []
    for name in args.problems:
        scores = []
        for replicate in range(args.data_sets):
            scores.append(score(name, replicate))
            print(f"\r{name} {replicate + 1}/{args.data_sets}", end="", file=sys.stderr, flush=True)
        for key in scores[0]:
            reading, table, level, label, metric = key
            place = len(METRICS) * TABLE_PROBLEMS.index(name) + METRICS.index(metric)
            printed = printed_cell({"table1": TABLE1, "table2": TABLE2}[table], level, label, place)
            values = np.array([each[key] for each in scores])
            row = Row(level, Method(label, "gp"))
            cells.append((reading, table, Cell(name, metric, row, values, mean_of(values), printed)))
    print(file=sys.stderr)
    columns = [("table1", metric) for metric in METRICS] + [("table2", metric) for metric in METRICS]
    print("| reading |", *(f"{table} {metric} |" for table, metric in columns), "all |")
    print("|---" * (len(columns) + 2) + "|")
    for reading in READINGS:
        mine = [(table, cell) for name, table, cell in cells if name == reading]
        groups = [[c for table, c in mine if (table, c.metric) == column] for column in columns]
        texts = [f"{sum(c.agrees for c in group)}/{len(group)}" for group in [*groups, [c for _, c in mine]]]
        print("|", reading, "|", " | ".join(texts), "|")
    if args.output:
        with open(args.output, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                [
                    "reading",
                    "table",
                    "problem",
                    "level",
                    "method",
                    "metric",
                    "data_sets",
                    "mean",
                    "error",
                    "paper",
                    "agrees",
                ]
            )
            for reading, table, cell in cells:
                paper = "" if cell.printed is None else cell.printed.text
                numbers = (
                    cell.ours.n,
                    f"{cell.ours.value:.5g}",
                    f"{cell.ours.error:.2g}",
                    paper,
                    cell.agrees,
                )
                writer.writerow(
                    [
                        reading,
                        table,
                        cell.problem,
                        cell.row.level,
                        cell.row.method.label,
                        cell.metric,
                        *numbers,
                    ]
                )


if __name__ == "__main__":
    main()
