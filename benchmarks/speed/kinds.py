"""What an iteration costs with noise and with several objectives, as a multiple of one with a single exact objective.

    python benchmarks/speed/kinds.py [--iterations 12]

After 100 evaluations told at once, in four parameters, with the default method. Processor time on one thread, mean of
the iterations after the first; all kinds in turns in one process.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import tcgp
from tcgp.front import non_dominated

N, DIM = 100, 4
Values = dict[str, float]


def one(x: list[float]) -> Values:
    """A Dixon-Price function on the unit cube."""
    z = 20.0 * np.array(x) - 10.0
    return {
        "f0": float(
            (z[0] - 1.0) ** 2 + sum((i + 1) * (2.0 * z[i] ** 2 - z[i - 1]) ** 2 for i in range(1, DIM))
        )
    }


def noisy(x: list[float]) -> Values:
    scatter = np.random.default_rng(abs(hash(tuple(x)))).standard_normal()
    return {"f0": one(x)["f0"] + 2000.0 * float(scatter)}  # a few percent of the standard deviation


def two(x: list[float]) -> Values:
    return one(x) | {"f1": float(sum((xi - 0.8) ** 2 for xi in x))}


def three(x: list[float]) -> Values:
    """DTLZ2: the front is an eighth of a sphere."""
    radius = 1.0 + sum((xi - 0.5) ** 2 for xi in x[2:])
    a, b = np.pi / 2.0 * np.array(x[:2])
    return {
        "f0": float(radius * np.cos(a) * np.cos(b)),
        "f1": float(radius * np.cos(a) * np.sin(b)),
        "f2": float(radius * np.sin(a)),
    }


KINDS: dict[str, tuple[Callable[[list[float]], Values], bool]] = {
    "one exact objective": (one, False),
    "one noisy objective": (noisy, True),
    "two objectives": (two, False),
    "three objectives, a front of 64": (three, False),
}


def points(kind: str) -> list[list[float]]:
    """Uniform points; for three objectives 64 on the front, and others that these dominate."""
    X = np.random.default_rng(0).random((N, DIM))
    if kind.startswith("three"):
        X[:64, 2:] = 0.5
        X[64:, :2] = X[: N - 64, :2]  # the same directions, farther out
        values = np.array([list(three(x).values()) for x in X.tolist()])
        assert non_dominated(values).sum() == 64, non_dominated(values).sum()
    return X.tolist()


def iterate(kind: str) -> Iterator[float]:
    """Processor seconds of each iteration."""
    fun, noise = KINDS[kind]
    X = points(kind)
    values = [fun(x) for x in X]
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * DIM, rng=0, objective=list(values[0]), noise=noise)
    optimizer.tell(X, values)
    while True:
        start = time.process_time()
        x = optimizer.ask()
        value = fun(x)
        optimizer.tell(x, value)
        yield time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=12)
    n = parser.parse_args().iterations
    rounds = zip(*(itertools.islice(iterate(kind), n + 1) for kind in KINDS), strict=True)
    seconds = dict(zip(KINDS, np.array(list(rounds)[1:]).mean(axis=0), strict=True))
    print("| iteration with | ms | multiple |\n|---|---|---|")
    for kind, mean in seconds.items():
        print(f"| {kind} | {1e3 * mean:.0f} | {mean / seconds['one exact objective']:.2f} |")


if __name__ == "__main__":
    main()
