"""Proposals under random known constraints, and how many of them violate one: none should.

The constraints are linear, ring-shaped, disconnected, thin, in mixed spaces and functions that say yes or no; see
tests/reliability/random_regions.py. Each problem, known by its seed, gives points of a sample, of a design, and of the
maximization of random criteria. Every point is judged by the package, exactly, and by a plain function, up to 1e-12.
With a log the work can be stopped at any time and goes on where it was.

    python benchmarks/reliability/known_constraints.py 100000 --log known_constraints.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

import random_regions

N_SAMPLE, N_DESIGN, N_CRITERIA = 400, 50, 6


def run(seed: int) -> dict:
    """Proposals and violations of one problem."""
    start = time.process_time()
    problem = random_regions.draw(seed)
    points = random_regions.proposals(problem, N_SAMPLE, N_DESIGN, N_CRITERIA)
    bad = random_regions.violations(problem, points)
    for x in bad[:3]:
        print(f"seed {seed}, {problem.kind}: {x}", flush=True)
    seconds = round(time.process_time() - start, 2)
    return {"seed": seed, "kind": problem.kind, "n": len(points), "violations": len(bad), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", type=int, help="number of proposals, at least")
    parser.add_argument("--log", type=Path, help="file that keeps what is done")
    arguments = parser.parse_args()
    lines = arguments.log.read_text().splitlines() if arguments.log and arguments.log.exists() else []
    done = {record["seed"]: record for record in map(json.loads, lines)}
    seed = 0
    while sum(record["n"] for record in done.values()) < arguments.n:
        if seed not in done:
            done[seed] = run(seed)
            if arguments.log:
                with arguments.log.open("a") as file:
                    file.write(json.dumps(done[seed]) + "\n")
        seed += 1
    proposals, violations, seconds = Counter(), Counter(), Counter()
    for record in done.values():
        proposals[record["kind"]] += record["n"]
        violations[record["kind"]] += record["violations"]
        seconds[record["kind"]] += record["seconds"]
    for kind in proposals:
        print(f"{kind:14}{proposals[kind]:8} proposals{violations[kind]:4} violations{seconds[kind]:8.1f} s")
    print(
        f"{'all':14}{proposals.total():8} proposals{violations.total():4} violations{seconds.total():8.1f} s"
    )


if __name__ == "__main__":
    main()
