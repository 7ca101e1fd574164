"""The fast search for (beta, lambda) beside the paper's (900 uniform candidates, then Nelder–Mead), on one thread.

    python benchmarks/calibration/calibration_search.py [--repeats 10] [--criterion joint]

Data: uniform designs of 10 d, 15 d, 20 d and 30 d points of five functions of the paper, with thresholds at the
quantiles 0.05, 0.1 and 0.25 in turn. Three questions:

- how far the criterion of the fast search ends above that of the paper's (it should never be more than 0.001);
- how the two laws differ where their criteria do not: minimizers are not unique;
- whether the two predict alike (r_{t,n} and tKS–PIT as in `table1` at n = 30 d, on points the fit has not seen).

Every time is processor time, the fastest of three runs; what counts is the ratio, taken in one run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

from tcgp import GaussianProcess, problems
from tcgp.calibration import CRITERIA, TailFit, design_weights, ks_deviation, next_threshold, tail_law
from tcgp.laws import GeneralizedNormal

PROBLEMS = ("goldstein-price", "rosenbrock6", "hartmann6", "dixon-price4", "ackley4")
SIZES = (10, 15, 20, 30)
DELTAS = (0.05, 0.1, 0.25)
SEARCHES = ("paper", "fast")
N_TEST = 20_000


def timed(function: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """The result, and the processor seconds of the fastest of several runs."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return result, min(times)


def test_scores(
    law: GeneralizedNormal, y: np.ndarray, mean: np.ndarray, sd: np.ndarray, t: float
) -> tuple[float, float]:
    """Occurrence discrepancy and tKS–PIT on uniform test points."""
    below = y <= t
    occurrence = abs(below.mean() - law.cdf((t - mean) / sd).mean())
    log_pit = law.logcdf((y - mean) / sd)[below] - law.logcdf((t - mean) / sd)[below]
    return occurrence, float(ks_deviation(np.exp(log_pit), np.full(below.sum(), 1.0 / below.sum())))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10, help="designs of each function and size")
    parser.add_argument("--criterion", choices=list(CRITERIA), default="joint")
    arguments = parser.parse_args()

    fits: dict[str, list[TailFit]] = {search: [] for search in SEARCHES}
    seconds: dict[str, list[float]] = {search: [] for search in SEARCHES}
    labels: list[str] = []
    print(f"criterion {arguments.criterion}; test scores are r_t,n / tKS-PIT at n = 30 d, all thresholds\n")
    print(f"{'':17s}{'median J':>18s}{'fast - paper':>14s}{'ms':>16s}{'test scores':>28s}")
    print(
        f"{'':17s}{'paper':>9s}{'fast':>9s}{'worst':>14s}{'paper':>8s}{'fast':>8s}{'paper':>15s}{'fast':>13s}"
    )
    for name in PROBLEMS:
        problem = problems.get(name)
        low, high = np.asarray(problem.bounds, dtype=float).T
        first = len(labels)
        scores: dict[str, list[tuple[float, float]]] = {search: [] for search in SEARCHES}
        for size in SIZES:
            for repeat in range(arguments.repeats):
                rng = np.random.default_rng([PROBLEMS.index(name), size, repeat])
                X = rng.uniform(low, high, (size * len(low), len(low)))
                y = problem.fun(X)
                gp = GaussianProcess().fit(X, y, bounds=problem.bounds)
                loo = gp.leave_one_out()
                weights = design_weights((X - low) / (high - low))
                delta = DELTAS[repeat % len(DELTAS)]
                t = next_threshold(y, weights, delta=delta)
                if size == max(SIZES):
                    test_points = rng.uniform(low, high, (N_TEST, len(low)))
                    test = (problem.fun(test_points), *gp.predict(test_points))
                for search in SEARCHES:
                    fit, duration = timed(
                        lambda data=(loo.mean, loo.sd, y, weights, t), search=search, repeat=repeat: tail_law(
                            *data, criterion=arguments.criterion, search=search, rng=repeat
                        )
                    )
                    fits[search].append(fit)
                    seconds[search].append(duration)
                    if size == max(SIZES):
                        scores[search].append(test_scores(fit.law, *test, t))
                labels.append(f"{name}, n = {len(X)}, delta = {delta}, design {repeat}")
        J = {search: np.array([fit.value for fit in fits[search][first:]]) for search in SEARCHES}
        ms = {search: 1e3 * np.median(seconds[search][first:]) for search in SEARCHES}
        mean_scores = {search: np.mean(scores[search], axis=0) for search in SEARCHES}
        print(
            f"{name:17s}{np.median(J['paper']):9.4f}{np.median(J['fast']):9.4f}"
            f"{(J['fast'] - J['paper']).max():+14.5f}{ms['paper']:8.1f}{ms['fast']:8.1f}"
            + "".join(f"  {mean_scores[search][0]:.4f}/{mean_scores[search][1]:.3f}" for search in SEARCHES),
            flush=True,
        )
    report(fits, seconds, labels)


def report(fits: dict[str, list[TailFit]], seconds: dict[str, list[float]], labels: list[str]) -> None:
    """Differences of criteria, ratios of times, and how far apart equally good laws are."""
    difference = np.array(
        [fast.value - paper.value for paper, fast in zip(fits["paper"], fits["fast"], strict=True)]
    )
    worst = int(np.argmax(difference))
    print(f"\n{len(labels)} data sets")
    print(f"fast - paper: worst {difference[worst]:+.5f} ({labels[worst]}), mean {difference.mean():+.5f}")
    print(
        f"  more than 0.001 above: {(difference > 1e-3).sum()}; more than 0.001 below: {(difference < -1e-3).sum()}"
    )
    paper_seconds, fast_seconds = np.array(seconds["paper"]), np.array(seconds["fast"])
    print(
        f"time: {1e3 * paper_seconds.mean():.1f} ms against {1e3 * fast_seconds.mean():.1f} ms, "
        f"{paper_seconds.sum() / fast_seconds.sum():.1f} times faster in all "
        f"(median of ratios {np.median(paper_seconds / fast_seconds):.1f})"
    )
    tied = np.flatnonzero(np.abs(difference) <= 1e-3)
    log_ratio = np.array(
        [
            [np.log(fast.law.beta / paper.law.beta), np.log(fast.law.scale / paper.law.scale)]
            for paper, fast in zip(fits["paper"], fits["fast"], strict=True)
        ]
    )
    apart = np.abs(log_ratio[tied]).max(axis=1) > 0.2
    print(f"of {len(tied)} ties, {apart.sum()} have beta or lambda more than 20 % apart, for instance")
    for i in tied[apart][:5]:
        paper, fast = fits["paper"][i], fits["fast"][i]
        print(
            f"  {labels[i]}: ({paper.law.beta:.2f}, {paper.law.scale:.3f}) J {paper.value:.4f}; "
            f"({fast.law.beta:.2f}, {fast.law.scale:.3f}) J {fast.value:.4f}"
        )


if __name__ == "__main__":
    main()
