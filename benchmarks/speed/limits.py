"""Where the time of one iteration of tcGP goes, and how far each part is from its limit; and the time of an import.

    python benchmarks/speed/limits.py [--n 60 100 300] [--functions dixon-price ackley] [--states 2] [--repeats 5]

The limit of a part is the time, in the same run, of the calls that it cannot do without, made alone on arrays of the
same sizes as often as the part makes them (they are counted):

- fit: the exponentials of the pairs, ``dpotrf`` and the products of the squared differences with the weights for each
  likelihood, ``dpotri`` and the second product for a gradient; ``dpotrf`` and exponentials to condition on the data;
- calibration: the exponentials of the weights, ``dtrtri`` for leave-one-out, two exponentials for each look-up of a law
  in a table, and the incomplete gammas where the law is exact;
- scan and ascent: the exponentials of the correlations, ``dtrmm`` (two for a gradient, and a product), two
  exponentials for each look-up of log EI, and two incomplete gammas for each node of its table.

The last column has the incomplete gammas that the look-ups stand for, one for a probability and two for an improvement:
what would be the limit without tables.

States are those of peers.py in d = 4. "cold" is the first iteration, "warm" the mean of the six after it. Processor
time on one thread, the smallest of the repeats, means over functions and states.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from unittest import mock

from peers import state  # sets the number of threads, so it comes before numpy

# isort: split
import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri
from scipy.special import gammaincc

import tcgp
from stopwatch import stopwatch
from tcgp.calibration.tail_table import TailTable
from tcgp.criteria import LogExpectedImprovement
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.posterior import Posterior
from tcgp.laws import GeneralizedNormal, tabulated
from tcgp.maximize import multistart
from tcgp.methods import fit, members

DIM = 4
WARM = 6
PLACES = {
    "fit": (members, "fit_model"),  # with the calibration in it
    "calibration": (fit, "calibrate"),
    "scan": (LogExpectedImprovement, "__call__"),
    "ascent": (multistart, "ascend"),
}
PARTS = (*PLACES, "rest")
KINDS = ("LAPACK", "exp", "gamma", "table")
Call = tuple[str, int]  # what was called, and on how many points


# ---- what an iteration does ----


def iterations(function: str, n: int, repeat: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """For each iteration its label and the ask that makes it."""
    problem, X, y = state(function, DIM, n, repeat)
    optimizer = tcgp.Optimizer(problem.bounds, method="tcgp", n_initial=1, rng=0)
    optimizer.tell(X.tolist(), y.tolist())
    points: list[list[float]] = []
    for label in ("cold", *["warm"] * WARM):
        yield label, lambda: points.append(optimizer.ask())
        optimizer.tell(points[-1], problem.fun(points[-1]))


def part_seconds(function: str, n: int, repeat: int) -> dict[str, Counter[str]]:
    """Seconds of each part, of the cold iteration and of all warm ones."""
    seconds: dict[str, Counter[str]] = {"cold": Counter(), "warm": Counter()}
    for label, ask in iterations(function, n, repeat):
        start = time.process_time()
        with stopwatch(PLACES) as spent:
            ask()
        total = time.process_time() - start
        spent["rest"] = total - spent["fit"] - spent["scan"] - spent["ascent"]
        spent["fit"] -= spent["calibration"]
        seconds[label] += spent
    return seconds


def calls(function: str, n: int, repeat: int) -> dict[str, Counter[Call]]:
    """How often each numerical call is made, of the cold iteration and of all warm ones."""
    counts: dict[str, Counter[Call]] = {"cold": Counter(), "warm": Counter()}
    for label, ask in iterations(function, n, repeat):
        with noted(counts[label]):
            ask()
    return counts


@contextlib.contextmanager
def noted(counts: Counter[Call]) -> Iterator[None]:
    """Count the numerical calls of the block."""

    def note(owner: object, name: str, size: Callable[..., int] = lambda *_: 1) -> None:
        original = vars(owner)[name]
        function = getattr(original, "__func__", original)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            counts[name, size(*args)] += 1
            return function(*args, **kwargs)

        is_class_method = isinstance(original, classmethod)
        stack.enter_context(
            mock.patch.object(owner, name, classmethod(wrapper) if is_class_method else wrapper)
        )

    with contextlib.ExitStack() as stack:
        note(ConcentratedLikelihood, "value")
        note(ConcentratedLikelihood, "value_and_gradient")
        note(Posterior, "condition")
        note(Posterior, "leave_one_out")
        note(Posterior, "predict", lambda _, X: len(X))
        note(Posterior, "predict_slopes", lambda _, X: len(X))
        note(TailTable, "log_neg_log_q", lambda _, beta, nu, log_abs: len(beta) * len(log_abs))
        note(tabulated, "log_gamma_spread_and_ratio", lambda a, x, r: len(x))
        note(GeneralizedNormal, "cdf", lambda law, r: np.broadcast(law.beta, r).size)
        note(GeneralizedNormal, "logcdf", lambda law, r: np.broadcast(law.beta, r).size)
        yield


# ---- what it cannot do without ----


def limit(n: int, counts: Counter[Call]) -> dict[str, Counter[str]]:
    """Seconds of the bare calls, by part and by kind, and their number."""
    seconds = {part: Counter[str]() for part in PARTS}
    for (name, size), times in counts.items():
        part, bare = BARE[name]
        seconds[part]["calls"] += times
        for kind, spent in bare(n, size).items():
            seconds[part][kind] += times * spent
    return seconds


def fastest(function: Callable[[], object]) -> float:
    """Seconds of a call, the fastest of several."""
    times = []
    while len(times) < 5 or (sum(times) < 0.01 and len(times) < 50):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def matrix(n: int) -> np.ndarray:
    """A well-conditioned correlation matrix, in Fortran order."""
    return np.asfortranarray(np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n)))))


@functools.cache
def exponentials(m: int) -> float:
    h, out = np.linspace(0.0, 20.0, m), np.empty(m)
    return fastest(lambda: np.exp(h, out=out))


@functools.cache
def gammas(m: int) -> float:
    x = np.linspace(0.0, 20.0, m)
    return fastest(lambda: gammaincc(0.7, x))


@functools.cache
def lapack(name: str, n: int, m: int = 1) -> float:
    """Seconds of a factorization of order n, or of a product of it with m columns."""
    K = matrix(n)
    if name == "dpotrf":
        return fastest(lambda: dpotrf(K, lower=1, clean=0))
    L = dpotrf(K, lower=1, clean=0)[0]
    if name == "dpotri":
        return fastest(lambda: dpotri(L, lower=1))
    if name == "dtrtri":
        return fastest(lambda: dtrtri(L, lower=1))
    k = np.ones((n, m), order="F")
    return fastest(lambda: dtrmm(1.0, L, k, lower=1, overwrite_b=1))


@functools.cache
def product(a: int, b: int, c: int) -> float:
    """Seconds of the product of an (a, b) matrix with a (b, c) matrix."""
    A, B = np.ones((a, b)), np.ones((b, c))
    return fastest(lambda: A @ B)


def pairs(n: int) -> int:
    return n * (n - 1) // 2


# The part that makes a call, and the seconds of what it cannot do without, for n data and m points.
BARE: dict[str, tuple[str, Callable[[int, int], dict[str, float]]]] = {
    "value": (
        "fit",
        lambda n, _: {
            "exp": exponentials(pairs(n)),
            "LAPACK": lapack("dpotrf", n) + product(1, DIM, pairs(n)),
        },
    ),
    "value_and_gradient": (
        "fit",
        lambda n, _: {
            "exp": exponentials(pairs(n)),
            "LAPACK": lapack("dpotrf", n)
            + lapack("dpotri", n)
            + product(1, DIM, pairs(n))
            + product(DIM, pairs(n), 1),
        },
    ),
    "condition": ("fit", lambda n, _: {"exp": exponentials(n * n), "LAPACK": lapack("dpotrf", n)}),
    "leave_one_out": (
        "calibration",
        lambda n, _: {"exp": exponentials(n * n), "LAPACK": lapack("dtrtri", n)},
    ),
    "log_neg_log_q": ("calibration", lambda _, m: {"exp": 2.0 * exponentials(m), "table": gammas(m)}),
    "cdf": ("calibration", lambda _, m: {"gamma": gammas(m)}),
    "logcdf": ("calibration", lambda _, m: {"gamma": gammas(m)}),
    "log_gamma_spread_and_ratio": ("scan", lambda _, m: {"gamma": 2.0 * gammas(m)}),  # the table of log EI
    "predict": (
        "scan",
        lambda n, m: {
            "exp": exponentials(n * m) + 2.0 * exponentials(m),
            "LAPACK": lapack("dtrmm", n, m),
            "table": 2.0 * gammas(m),
        },
    ),
    "predict_slopes": (
        "ascent",
        lambda n, m: {
            "exp": exponentials(n * m) + 2.0 * exponentials(m),
            "LAPACK": 2.0 * lapack("dtrmm", n, m) + product(m, n, DIM),
            "table": 2.0 * gammas(m),
        },
    ),
}


# ---- report ----


def report_parts(sizes: list[int], functions: list[str], states: int, repeats: int) -> None:
    columns = (
        "n", "iteration", "part", "numerical calls", "ms", "share", "limit, ms", "part / limit",
        "LAPACK and BLAS, ms", "exp, ms", "gammaincc, ms", "gammaincc for the tables, ms",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    part_seconds(functions[0], min(sizes), 0)  # imports, and the tables that are made once
    for n in sizes:
        cases = [(function, n, s) for function in functions for s in range(states)]
        needed = [calls(*case) for case in cases]
        measured = [[part_seconds(*case) for _ in range(repeats)] for case in cases]
        for label, times in (("cold", 1), ("warm", WARM)):
            scale = 1e3 / (len(cases) * times)
            ms = {p: scale * sum(min(run[label][p] for run in runs) for runs in measured) for p in PARTS}
            bare = [limit(n, counts[label]) for counts in needed]
            for part in PARTS:
                kinds = [scale * sum(b[part][kind] for b in bare) for kind in KINDS]
                least = sum(kinds[:3])
                ratio = f"{ms[part] / least:.1f}" if least else "–"
                number = sum(b[part]["calls"] for b in bare) / (len(cases) * times)
                cells = [
                    f"{number:.0f}",
                    f"{ms[part]:.2f}",
                    f"{ms[part] / sum(ms.values()):.0%}",
                    f"{least:.2f}",
                    ratio,
                ]
                cells += [f"{k:.2f}" for k in kinds]
                print(f"| {n} | {label} | {part} | {' | '.join(cells)} |", flush=True)


def report_imports(times: int = 5) -> None:
    """Medians over fresh interpreters, after one that loads the files."""
    print("\n| fresh interpreter | seconds | processor seconds |\n|---|---|---|")
    commands = {
        "nothing": ["-c", "pass"],
        "import tcgp": ["-c", "import tcgp"],
        "tcgp --help": ["-m", "tcgp", "--help"],
        "import of what an iteration needs": ["-c", "import tcgp.search.acquisition"],
    }
    for label, command in commands.items():
        spent = []
        for _ in range(times + 1):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
            after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
            spent.append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
        wall, cpu = np.median(spent[1:], axis=0)
        print(f"| {label} | {wall:.3f} | {cpu:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[60, 100, 300])
    parser.add_argument("--functions", nargs="+", default=["dixon-price", "ackley"])
    parser.add_argument("--states", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    report_parts(arguments.n, arguments.functions, arguments.states, arguments.repeats)
    report_imports()


if __name__ == "__main__":
    main()
