"""Our reGP compared with that of gpmp-contrib, on the data sets of `table2`: do both find the same optimum?

    python benchmarks/calibration/gpmp_crosscheck.py [--problem goldstein-price] [--deltas 0.1 0.25] [--datasets 4]

gpmp and gpmp-contrib (GPL) are used through their public interface and are needed by nothing else:

    pip install gpmp gpmp-contrib torch -e .

One line per data set gives twCRPS, occurrence discrepancy and tKS-PIT at t = m_n for both; the last lines their means
and standard errors. gpmp-contrib selects by restricted maximum likelihood, from y in units of t - m_n: with y as it
is, its search ends at once on functions of a large range.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("GPMP_BACKEND", "torch")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gpmp
import gpmp.num as gnp
import numpy as np
from gpmpcontrib import regp

from tcgp import fit_model, scoring
from tcgp.laws import Normal
from tcgp.models import Prediction
from tcgp.sampling import subset_simulation
from tcgp_experiments.run import problems

N_TEST = 4000


def constant_mean(x, param):
    return gnp.ones((x.shape[0], 1))


def matern52(x, y, covparam, pairwise=False):
    return gpmp.kernel.maternp_covariance(x, y, 2, covparam, pairwise)


def peer_prediction(U, y, t, V):
    """Mean and standard deviation at V of gpmp-contrib's reGP, relaxed above t."""
    best = y.min()
    unit = t - best
    model = gpmp.core.Model(constant_mean, matern52, meantype="linear_predictor")
    _, (mean, variance), *_ = regp.predict(
        model,
        gnp.asarray(U),
        gnp.asarray((y - best) / unit),
        gnp.asarray(V),
        np.array([[(t - best) / unit, np.inf]]),
    )
    mean, variance = (np.asarray(gnp.to_np(array)).ravel() for array in (mean, variance))
    return best + unit * mean, unit * np.sqrt(np.maximum(variance, 0.0))


def scores(mean, sd, y_test, tail):
    """twCRPS, occurrence discrepancy and tKS-PIT below the threshold of the tail."""
    everywhere = Prediction(mean[:N_TEST], sd[:N_TEST], Normal())
    below = Prediction(mean[N_TEST:], sd[N_TEST:], Normal())
    return [
        np.mean(scoring.twcrps(everywhere, y_test, tail.threshold)),
        abs(tail.probability - scoring.predicted_probability(everywhere, tail.threshold)),
        scoring.tks_pit(below, tail.values, tail.threshold),
    ]


def compare(name: str, delta: float, replicate: int) -> tuple[list[float], list[float], float]:
    """Scores of theirs and of ours on one data set, and the seconds theirs took."""
    problem, streams = problems.get(name), problems.streams(name, replicate)
    low, high = problem.bounds.T
    X = problems.uniform_points(problem, 30 * problem.dim, streams.design)
    y = problem.fun(X)
    X_test = problems.uniform_points(problem, N_TEST, streams.test)
    tail = subset_simulation(
        problem.fun, problem.bounds, y.min(), n_particles=N_TEST, rng=np.random.default_rng(streams.levels)
    )
    points = np.vstack([X_test, tail.particles])
    start = time.perf_counter()
    theirs = peer_prediction(
        (X - low) / (high - low), y, float(np.quantile(y, delta)), (points - low) / (high - low)
    )
    seconds = time.perf_counter() - start
    ours = fit_model(X, y, "regp", bounds=problem.bounds, delta=delta).interpolator.predict(points)
    y_test = problem.fun(X_test)
    return scores(*theirs, y_test, tail), scores(*ours, y_test, tail), seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", default="goldstein-price")
    parser.add_argument("--deltas", type=float, nargs="+", default=[0.25])
    parser.add_argument("--datasets", type=int, default=4)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "delta  data set  gpmp-contrib: twCRPS  r  tKS-PIT   tcgp: twCRPS  r  tKS-PIT   seconds of gpmp-contrib"
    )
    for delta in args.deltas:
        rows = []
        for replicate in range(args.datasets):
            theirs, ours, seconds = compare(args.problem, delta, replicate)
            rows.append(theirs + ours)
            cells = "  ".join(f"{value:9.3g}" for value in rows[-1])
            print(f"{delta:5g}  {replicate:8d}  {cells}  {seconds:.1f}", flush=True)
        errors = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(6, np.nan)
        cells = "  ".join(f"{m:.3g} ± {e:.1g}" for m, e in zip(np.mean(rows, axis=0), errors, strict=True))
        print(f"{delta:5g}      mean  {cells}")


if __name__ == "__main__":
    main()
