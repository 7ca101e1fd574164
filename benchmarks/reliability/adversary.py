"""Journals amid kills, full disks, interrupts, threads, copies, and other programs that change them.

    python benchmarks/reliability/adversary.py [1000] [--steps 20]

Random sequences of all that is in tests/reliability/adversary.py, on real files, threads and processes, made by
hypothesis. After every step all that was acknowledged must be in the journal, or in the rescue file that has taken its
place, once; what is read back must be what is in memory; and no other file may be touched. Prints the number of cases
and, of a case that fails, the shortest like it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

from adversary import Adversary

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=int, nargs="?", default=1000)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    many = settings(
        max_examples=options.cases,
        stateful_step_count=options.steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=(Phase.generate, Phase.shrink),
    )
    logging.disable()  # of torn lines and changed goals
    start = time.monotonic()
    run_state_machine_as_test(Adversary, settings=many)
    print(
        f"{Adversary.cases} cases in {time.monotonic() - start:.0f} s: nothing lost, nothing twice, nothing touched"
    )
