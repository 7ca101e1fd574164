"""What does each tool find from the first evaluation on, started as its own documentation starts it?

    python benchmarks/efficiency/first_evaluation.py run --set SET --method TOOL... [--seeds 40 41 ...]
        [--options JSON] [--label NAME] [--per-dimension 20] [--at-most 100] [--match REGEX] [--store FILE]
    python benchmarks/efficiency/first_evaluation.py report --set SET [--method TOOL...] [--reference auto]
        [--picture FILE]

SET is ``tuning`` or ``validation`` (`functions.THIRD_TUNING` and `THIRD_VALIDATION`) or, with limits,
``constrained-tuning`` or ``constrained-validation`` (engineering_problems.py), all written down before any run, or
``real``, the circuit of examples/ngspice.
Tools are those of tools.py. ``--options`` are arguments of `tcgp.minimize` for auto, for instance
``'{"n_initial": 5, "initial_design": "sobol"}'``; ``--label`` is the name under which the runs are stored. Runs have
20 d evaluations, at most 100, and are kept in the format of runs.py from the first evaluation on (``n0`` is 1), in
results/first_evaluation.csv. A run that is there already is not repeated, so that a stopped benchmark continues where
it was. Problems come in a random but fixed order, all tools on one before the next, and one seed after another.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np

import constrained_problems
import engineering_problems
import functions
from first_report import MOST, draw, evaluations, is_constrained, report
from runs import Key, Run, append, load
from tools import TOOLS, Recorder, Spent, quiet

SETS = {
    "tuning": functions.THIRD_TUNING,
    "validation": functions.THIRD_VALIDATION,
    "constrained-tuning": engineering_problems.TUNING,
    "constrained-validation": engineering_problems.VALIDATION,
    "real": engineering_problems.REAL,
}
STORE = Path(__file__).parent / "results" / "first_evaluation.csv"
DIGITS = 5


class Task(NamedTuple):
    """A run to make."""

    key: Key
    tool: str
    budget: int


def main() -> None:
    arguments = _arguments()
    names = [name for name in SETS[arguments.set] if re.search(arguments.match, name)]
    if arguments.command == "run":
        run(arguments, names)
    else:
        runs = load(arguments.store)
        print(report(runs, names, arguments.method, arguments.reference))
        if arguments.picture:
            draw(runs, names, arguments.method, arguments.picture)


def run(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Make the runs that the store lacks, or has with fewer evaluations; each is written when it is done."""
    options = {"options": json.loads(arguments.options)} if arguments.options else {}
    for task in plan(arguments, names):
        known = load(arguments.store).get(task.key)  # anew: another process may write to the same store
        if known is None or known.iterations + 1 < task.budget:
            found = optimize(task, options)
            append(arguments.store, found, DIGITS)
            print(*task.key[:3], f"{found.seconds * task.budget:.1f} s", flush=True)


def plan(arguments: argparse.Namespace, names: Sequence[str]) -> Iterator[Task]:
    """The runs of all tools on all problems, seed by seed."""
    order = np.random.default_rng(0).permutation(len(names))
    for seed in arguments.seeds:
        for name in (names[i] for i in order):
            for tool in arguments.method:
                label = arguments.label or tool
                budget = min(evaluations(name, arguments.per_dimension), arguments.at_most)
                yield Task(Key(name, label, seed, 1), tool, budget)


def optimize(task: Task, options: dict[str, object]) -> Run:
    """Make one run; a tool that stops early keeps its best value."""
    record, minimum = recorder(task.key.function, task.budget)
    start = time.process_time()
    try:
        with quiet():
            TOOLS[task.tool](record, task.key.seed, **options)
    except Spent:
        pass
    except Exception:  # what a tool raises is its own end
        traceback.print_exc()
    seconds = (time.process_time() - start) / task.budget
    if not record.rows:
        raise SystemExit(f"{task.tool} evaluated nothing on {task.key.function}")
    if len(record.rows) < task.budget:
        print(*task.key[:3], f"stopped after {len(record.rows)} of {task.budget}", flush=True)
    V = np.array(record.rows)
    feasible = np.all(V[:, 1:] <= record.tolerance, axis=1)
    gaps = np.minimum.accumulate(np.where(feasible, V[:, 0], np.inf)) - minimum
    return Run(task.key, seconds, np.pad(gaps, (0, task.budget - len(gaps)), mode="edge"))


def recorder(name: str, budget: int) -> tuple[Recorder, float]:
    """A problem with or without limits, and its minimum."""
    if not is_constrained(name):
        problem = functions.get(name)
        return Recorder(problem.fun, problem.bounds, budget), problem.minimum
    design = constrained_problems.get(name)
    tolerance, limits = constrained_problems.TOLERANCE, design.limits
    outputs = design.outputs and (lambda x: design.outputs(design.round(x)))
    record = Recorder(
        design, design.bounds, budget, design.n_limits, design.integers, tolerance, outputs, limits
    )
    return record, design.minimum


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--set", choices=SETS, required=True)
    parser.add_argument("--method", nargs="+", default=list(TOOLS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[40])
    parser.add_argument("--options", help="arguments of tcgp.minimize for auto, as JSON")
    parser.add_argument("--label", help="name of these runs in the store; the tool, if none is given")
    parser.add_argument("--per-dimension", type=int, default=20)
    parser.add_argument("--at-most", type=int, default=MOST)
    parser.add_argument("--match", default="", help="only problems whose name this regular expression finds")
    parser.add_argument("--reference", default="auto", help="whom the report compares with the others")
    parser.add_argument(
        "--picture", type=Path, help="file for a picture of the regrets of the report's tools on BBOB"
    )
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
