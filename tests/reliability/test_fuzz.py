"""Random problems through every method; the long version is benchmarks/reliability/fuzz.py."""

from __future__ import annotations

import pytest
import random_problems
import random_specs

FAILED_ONCE = [
    183,  # predictions so far outside the range of the data that squared distances overflow
    2832,  # a score of values near 1e308 under a wide law
    1501,  # an interval beyond the largest float, of a wide law and values near 1e300
    60321,  # a left-out value near 1e308, predicted beyond the largest float
]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_nothing_breaks_on_random_problems(first: int) -> None:
    problems = [random_problems.draw(seed) for seed in range(first, first + 20)]
    found = {problem.seed: random_problems.faults(problem) for problem in problems}
    assert {seed: faults for seed, faults in found.items() if faults} == {}


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_what_failed_once_does_not_fail_again(seed: int) -> None:
    assert random_problems.faults(random_problems.draw(seed)) == []


def test_the_command_answers_random_specs_without_a_traceback() -> None:
    ended = [random_specs.examine(seed) for seed in range(20)]
    assert [faults for _, faults in ended if faults] == []
    assert sum(end == "ran" for end, _ in ended) > 6
