"""How often does a rule stop too early, and how late does it stop?

Each run is made once, to its budget, with `Optimizer.trace_share_below`; every rule is then applied to its record. An
improvement counts if it is larger than 1 % of the distance from the median of the initial design to the minimum, which
is ``min_improvement`` of all rules. A run is solved once its best value is that close to the minimum. A rule stops too
early if the run is not solved then, and wastes the evaluations between the first solved one and its stop.

    python benchmarks/reliability/stopping.py --functions forrester branin hartmann3 --seeds 5

Runs are kept in results/stopping.jsonl; what is there is not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tcgp
from tcgp.methods.portfolio import turns_of

STORE = Path(__file__).parent / "results" / "stopping.jsonl"
FUNCTIONS = (
    "forrester",
    "branin",
    "goldstein-price",
    "cross-in-tray",
    "hartmann3",
    "ackley4",
    "shekel10",
    "hartmann6",
)
SHARE_OF_RANGE = 0.01
TURNS = len(turns_of("auto"))


def run(name: str, seed: int) -> dict[str, Any]:
    """A run to its budget: values, and what the models said before each point that they chose."""
    problem = tcgp.problems.get(name)
    n_initial, n_evals = 4 * problem.dim, 4 * problem.dim + 40
    optimizer = tcgp.Optimizer(problem.bounds, n_initial=n_initial, rng=seed)
    design = [optimizer.ask() for _ in range(n_initial)]
    values = [float(problem(np.array(x))) for x in design]
    optimizer.tell(design, values)
    tolerance = SHARE_OF_RANGE * float(np.median(values) - problem.minimum)
    optimizer.trace_share_below(tolerance)
    start = time.process_time()
    while len(values) < n_evals:
        x = optimizer.ask()
        values.append(float(problem(np.array(x))))
        optimizer.tell(x, values[-1])
    return {
        "function": name,
        "seed": seed,
        "n_initial": n_initial,
        "regret": [v - problem.minimum for v in np.minimum.accumulate(values)],
        "tolerance": tolerance,
        "share": [entry["share"] for entry in optimizer.trace],
        "log_ei": [entry["log_ei"] for entry in optimizer.trace],
        "seconds": time.process_time() - start,
    }


def patience(record: dict[str, Any], n: int) -> int | None:
    """Evaluations at which ``patience=n`` stops."""
    reference, since = np.inf, 0
    for i, regret in enumerate(record["regret"]):
        since = 0 if i < record["n_initial"] else since + 1
        if regret < reference - record["tolerance"]:
            reference, since = regret, 0
        if since >= n:
            return i + 1
    return None


def below(record: dict[str, Any], name: str, limit: float) -> int | None:
    """Evaluations at which a number of the trace has been below a limit for each model in turn."""
    low = [name == "log_ei" if v is None else v < limit for v in record[name]]
    for i in range(TURNS, len(low) + 1):
        if all(low[i - TURNS : i]):
            return int(record["n_initial"]) + i - 1  # the point that was chosen last is not evaluated
    return None


RULES: dict[str, Callable[[dict[str, Any]], int | None]] = {
    "patience = 5": lambda r: patience(r, 5),
    "patience = 10": lambda r: patience(r, 10),
    "patience = 20": lambda r: patience(r, 20),
    "stop_when_share_below = 1e-2": lambda r: below(r, "share", 1e-2),
    "stop_when_share_below = 1e-3": lambda r: below(r, "share", 1e-3),
    "stop_when_share_below = 1e-4": lambda r: below(r, "share", 1e-4),
    "log EI below -20 (removed)": lambda r: below(r, "log_ei", -20.0),
}


def table(records: list[dict[str, Any]]) -> Iterator[str]:
    """For each rule: how often it stopped too early, how late otherwise, and how often it never did."""
    yield "| rule | stopped | too early | evaluations after the solution, median (largest) | solved, not stopped |"
    yield "|---|---|---|---|---|"
    for name, rule in RULES.items():
        stops = [(rule(r), _solved(r)) for r in records]
        fired = [(stop, solved) for stop, solved in stops if stop is not None]
        early = sum(solved is None or solved > stop for stop, solved in fired)
        late = [stop - solved for stop, solved in fired if solved is not None and solved <= stop]
        never = sum(stop is None and solved is not None for stop, solved in stops)
        spent = f"{np.median(late):g} ({max(late)})" if late else "–"
        yield f"| `{name}` | {len(fired)} of {len(records)} | {early} | {spent} | {never} |"


def _solved(record: dict[str, Any]) -> int | None:
    """Evaluations after which the run is solved."""
    found = [i + 1 for i, regret in enumerate(record["regret"]) if regret <= record["tolerance"]]
    return found[0] if found else None


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--max-time", type=float, default=float("inf"), help="start no run after so many seconds"
    )
    options = parser.parse_args()
    records = [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {(record["function"], record["seed"]) for record in records}
    start = time.monotonic()
    for seed in range(options.seeds):
        for name in options.functions:
            if (name, seed) in done or time.monotonic() - start > options.max_time:
                continue
            records.append(run(name, seed))
            with STORE.open("a") as file:
                file.write(json.dumps(records[-1]) + "\n")
            print(name, seed, f"{records[-1]['seconds']:.0f} s", flush=True)
    wanted = [r for r in records if r["function"] in options.functions and r["seed"] < options.seeds]
    solved = sum(_solved(r) is not None for r in wanted)
    print(f"\n{len(wanted)} runs, {solved} of them solved within their budget\n")
    print("\n".join(table(wanted)))


if __name__ == "__main__":
    main()
