"""The work of an iteration does not grow unnoticed; all methods are in benchmarks/speed/counts.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from counting import count_iterations

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "speed" / "results" / "counts.json").read_text()
)


@pytest.mark.parametrize("method", ["gp", "tcgp"])
def test_an_iteration_takes_no_more_work_than_committed(method: str) -> None:
    counts = count_iterations(method, 50)
    # Another BLAS rounds otherwise, and a search may then take a step more: a tenth more of anything is a change.
    grown = {
        f"{label}, {key}": (number, COMMITTED[method]["50"][label].get(key, 0))
        for label, numbers in counts.items()
        for key, number in numbers.items()
        if number > 1.1 * COMMITTED[method]["50"][label].get(key, 0) + 1
    }
    assert grown == {}, "if this is meant, run benchmarks/speed/counts.py --update"
