"""Work of one iteration, counted: likelihoods, criterion and distribution functions, beside the committed counts.

Times depend on the machine and on what else it does; these numbers hardly do (another BLAS rounds otherwise, and a
search may take a step more or less), so that they show what a change has really made cheaper or dearer. They are in
results/counts.json; tests/reliability/test_counts.py compares two methods with them.

    python benchmarks/speed/counts.py             # compare, and say what differs by more than a tenth
    python benchmarks/speed/counts.py --update    # after a change that was meant
    python benchmarks/speed/counts.py --runs 3 --methods tcgp auto    # whole runs instead: a table of likelihoods
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

from counting import count_in_runs, count_iterations

from tcgp.methods import METHODS

FILE = Path(__file__).parent / "results" / "counts.json"
SIZES = (50, 100)
N_MORE = 10
TOLERANCE = 0.1
# Numbers of data between which the iterations of whole runs are counted.
WINDOWS = ((30, 50), (50, 70), (70, 90), (90, 110))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--update", action="store_true", help="write the counts")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="count in N runs on each function, write nothing"
    )
    arguments = parser.parse_args()
    logging.getLogger("tcgp").setLevel(logging.ERROR)
    if arguments.runs is not None:
        if arguments.runs < 1:
            parser.error(f"--runs must be at least 1, got {arguments.runs}")
        print_runs(arguments.methods, arguments.runs)
        return
    committed = json.loads(FILE.read_text()) if FILE.exists() else {}
    keys = ("nll", "rough nll", "nll gradient", "log EI points", "log EI gradient points", "cdf calls")
    print("| method | n | fit | " + " | ".join(keys) + " | differs |\n" + "|---" * (len(keys) + 4) + "|")
    n_different = 0
    for method in arguments.methods:
        for n in SIZES:
            counts = count_iterations(method, n, N_MORE)
            before = committed.setdefault(method, {}).get(str(n), {})
            for label, numbers in counts.items():
                different = [
                    key
                    for key in {*numbers, *before.get(label, {})}
                    if abs(numbers.get(key, 0) - before.get(label, {}).get(key, 0))
                    > TOLERANCE * before.get(label, {}).get(key, 0) + 1
                ]
                n_different += len(different)
                cells = [f"{numbers.get(key, 0):g}" for key in keys]
                print(
                    f"| {method} | {n} | {label} | {' | '.join(cells)} | {', '.join(sorted(different))} |",
                    flush=True,
                )
            committed[method][str(n)] = counts
    if arguments.update:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(committed, indent=1) + "\n")
        print(f"written to {FILE}")
    else:
        print(f"counts that differ by more than {TOLERANCE:.0%}: {n_different}")
        sys.exit(n_different > 0)


def print_runs(methods: list[str], n_runs: int) -> None:
    """A table of the likelihoods with gradient in whole runs."""
    print("| method | " + " | ".join(f"n = {a} to {b - 1}" for a, b in WINDOWS) + " | in one warm fit |")
    print("|---" * (len(WINDOWS) + 2) + "|")
    for method in methods:
        counts = count_in_runs(method, n_runs, WINDOWS)
        cells = [f"{numbers['nll gradient']:.1f}" for numbers in counts]
        in_warm = sum(numbers["nll gradient of warm fits"] for numbers in counts)
        cells.append(f"{in_warm / sum(numbers['warm fits'] for numbers in counts):.1f}")
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
