"""Random problems through every method, or random specs through the command: no exception, no warning, no NaN.

The problems, and what must hold on them, are in tests/reliability/random_problems.py; a problem is known by its
seed. Every method is fitted to each problem and predicts; one method and one criterion, all in turn, then make two
iterations. Specs are in tests/reliability/random_specs.py: most have a mistake, and real programs are run. The seeds
of failures are printed, and belong into tests/reliability/test_fuzz.py once fixed. With a log the work can be stopped
at any time and goes on where it was.

    python benchmarks/reliability/fuzz.py 10000 --log fuzz.jsonl
    python benchmarks/reliability/fuzz.py 10000 --specs --log fuzz_specs.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

import random_problems
import random_specs

CHUNK = 50

Examine = Callable[[int], tuple[str, list[str]]]


def done_before(log: Path | None) -> dict[int, dict]:
    """Chunks that a log tells of, by their first seed."""
    if log is None or not log.exists():
        return {}
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    return {line["first"]: line for line in lines}


def examine_problem(seed: int) -> tuple[str, list[str]]:
    """What happened to the problem of a seed, and faults."""
    return "fitted", random_problems.faults(random_problems.draw(seed))


def run_chunk(examine: Examine, first: int, n: int) -> dict:
    """Faults and time of ``n`` problems or specs."""
    start, faults, slowest, ends = time.process_time(), {}, 0.0, Counter()
    for seed in range(first, first + n):
        begin = time.process_time()
        end, found = examine(seed)
        ends[end] += 1
        slowest = max(slowest, time.process_time() - begin)
        if found:
            faults[str(seed)] = found
            print(f"seed {seed}: {'; '.join(found)[:500]}", flush=True)
    seconds = round(time.process_time() - start, 2)
    return {
        "first": first,
        "n": n,
        "seconds": seconds,
        "slowest": round(slowest, 2),
        "faults": faults,
        **ends,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", type=int, help="number of problems")
    parser.add_argument("--specs", action="store_true", help="specs instead of problems")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first")
    parser.add_argument("--log", type=Path, help="file that keeps what is done")
    arguments = parser.parse_args()
    examine = random_specs.examine if arguments.specs else examine_problem
    chunks = done_before(arguments.log)
    end = arguments.seed + arguments.n
    for first in range(arguments.seed, end, CHUNK):
        if first in chunks:
            continue
        chunks[first] = run_chunk(examine, first, min(CHUNK, end - first))
        if arguments.log is not None:
            with arguments.log.open("a") as file:
                file.write(json.dumps(chunks[first]) + "\n")
    mine = [chunk for first, chunk in chunks.items() if arguments.seed <= first < end]
    faults = {seed: found for chunk in mine for seed, found in chunk["faults"].items()}
    n, seconds = sum(chunk["n"] for chunk in mine), sum(chunk["seconds"] for chunk in mine)
    slowest = max(chunk["slowest"] for chunk in mine)
    if arguments.specs:
        print(f"{sum(chunk.get('ran', 0) for chunk in mine)} ran, the others were refused")
    what = "specs" if arguments.specs else "problems"
    print(f"{n} {what}, {seconds / n:.3f} s each, the slowest {slowest} s; faults on {len(faults)}")
    print(f"seeds of faults: {' '.join(faults) or 'none'}")


if __name__ == "__main__":
    main()
