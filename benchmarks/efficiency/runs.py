"""Optimization runs on file: one line of CSV each, with the best value only where it improves.

The columns are function, method, seed, ``n0`` (size of the initial design), ``evaluations`` (in all), ``seconds``
(processor time of an iteration) and ``steps``: pairs ``evaluation:gap``, where gap is the best value so far minus the
minimum of the function. Evaluations are counted from the first of the design; the first pair is for the whole design,
which all methods of a seed share.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import wilcoxon

__all__ = [
    "LEVEL",
    "SOLVED",
    "Key",
    "Run",
    "Task",
    "decode",
    "encode",
    "load",
    "make_runs",
    "shares_of_evaluations",
    "shares_table",
    "verdict",
]

COLUMNS = ("function", "method", "seed", "n0", "evaluations", "seconds", "steps")
DIGITS = 10  # with nine, runs that end in the same local minimum tie where they did not, and tests change
SOLVED = 1e-6  # regrets below this share of the regret of a random point count as this: solved
LEVEL = 0.1  # medians of log10 regret nearer than this are level, where there are too few seeds for a test


class Key(NamedTuple):
    """What tells one run from another."""

    function: str
    method: str
    seed: int
    n0: int


class Task(NamedTuple):
    """A run to make: evaluations after those of the initial design."""

    key: Key
    iterations: int


@dataclass(frozen=True)
class Run:
    """A run that was made."""

    key: Key
    seconds: float  # of processor time, an iteration; NaN if it was not kept
    gaps: np.ndarray  # best value minus minimum after n0 evaluations, n0 + 1, ...

    @property
    def iterations(self) -> int:
        return len(self.gaps) - 1


def encode(gaps: np.ndarray, first: int, digits: int = DIGITS) -> str:
    """The pairs of a curve that begins at evaluation ``first``, where it changes."""
    texts = [f"{gap:.{digits}g}" for gap in gaps]
    return " ".join(f"{first + i}:{text}" for i, text in enumerate(texts) if i == 0 or text != texts[i - 1])


def decode(steps: str, last: int) -> np.ndarray:
    """The curve up to evaluation ``last``, one value for each evaluation."""
    pairs = [pair.split(":") for pair in steps.split()]
    evaluations = np.array([int(evaluation) for evaluation, _ in pairs] + [last + 1])
    return np.repeat([float(gap) for _, gap in pairs], np.diff(evaluations))


def load(store: Path) -> dict[Key, Run]:
    """The longest run of each kind."""
    runs: dict[Key, Run] = {}
    if not store.exists():
        return runs
    with store.open(newline="") as file:
        for row in csv.DictReader(file):
            key = Key(row["function"], row["method"], int(row["seed"]), int(row["n0"]))
            run = Run(key, float(row["seconds"] or "nan"), decode(row["steps"], int(row["evaluations"])))
            if key not in runs or runs[key].iterations <= run.iterations:
                runs[key] = run
    return runs


def append(store: Path, run: Run, digits: int = DIGITS) -> None:
    store.parent.mkdir(parents=True, exist_ok=True)
    new = not store.exists()
    with store.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        seconds = "" if np.isnan(run.seconds) else round(run.seconds, 4)
        steps = encode(run.gaps, run.key.n0, digits)
        writer.writerow([*run.key, run.key.n0 + run.iterations, seconds, steps])
        file.flush()
        os.fsync(file.fileno())


def make_runs(optimize: Callable[[Task], Run], tasks: Iterable[Task], jobs: int, store: Path) -> None:
    """Make the runs that the store lacks, or has with fewer evaluations; each is written when it is done."""
    known = load(store)
    missing = [t for t in tasks if t.key not in known or known[t.key].iterations < t.iterations]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(optimize, task) for task in missing]
        for done, future in enumerate(as_completed(futures), 1):
            append(store, future.result())
            print(f"\r{done}/{len(missing)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def verdict(difference: np.ndarray) -> int:
    """1, 0 or -1: positive, level or negative. By the signed-rank test at 5 % if there are 6 pairs or more."""
    if not np.any(difference):
        return 0
    sign = int(np.sign(np.median(difference)))
    if len(difference) < 6:
        return sign if abs(np.median(difference)) > LEVEL else 0
    return sign if wilcoxon(difference).pvalue < 0.05 else 0


def shares_of_evaluations(mine: np.ndarray, theirs: np.ndarray) -> tuple[float, float, bool]:
    """Evaluations that one curve needs for the last value of another, as shares of the other's.

    Curves of regret begin at the end of the design. A value that is never reached counts as reached at the end.

    Returns
    -------
    of_all, of_needed : float
        As a share of all evaluations of the other, and of those after which it had that value itself.
    is_reached : bool
    """
    mine, theirs = mine[: len(theirs)], theirs[: len(mine)]
    needed, reached = (np.flatnonzero(curve <= theirs[-1] + 1e-9) for curve in (theirs, mine))
    n = max(int(reached[0]), 1) if len(reached) else len(mine) - 1
    return n / (len(mine) - 1), n / max(int(needed[0]), 1), bool(len(reached))


def shares_table(reference: str, shares: Mapping[str, Mapping[str, tuple[float, float, bool]]]) -> str:
    """Markdown: geometric means of `shares_of_evaluations`, by method and function."""
    lines = [
        f"| {reference} reaches the final median of | with this share of all its evaluations "
        "| of those it needed itself | never, on |",
        "|---|---|---|---|",
    ]
    for method, rows in shares.items():
        if rows:
            of_all, of_needed = np.exp(np.log([row[:2] for row in rows.values()]).mean(axis=0))
            never = [name for name, (_, _, is_reached) in rows.items() if not is_reached]
            names = f"{len(never)} of {len(rows)}" + (f": {', '.join(never)}" if never else "")
            lines.append(f"| {method} | {of_all:.2f} | {of_needed:.2f} | {names} |")
    return "\n".join(lines) + "\n"
