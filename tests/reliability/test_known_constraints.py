"""No proposal violates a random known constraint; the long version is benchmarks/reliability/known_constraints.py."""

from __future__ import annotations

import pytest
import random_regions


@pytest.mark.parametrize("seed", range(6), ids=lambda seed: random_regions.KINDS[seed])
def test_no_proposal_violates_a_known_constraint(seed: int) -> None:
    problem = random_regions.draw(seed)
    points = random_regions.proposals(problem, n_sample=100, n_design=20, n_criteria=2)
    assert len(points) > 120
    assert random_regions.violations(problem, points) == []


def test_a_violation_is_seen() -> None:
    problem = random_regions.draw(1)
    points = problem.space.sample(20, random_regions.np.random.default_rng(0))
    assert len(random_regions.violations(problem, points)) > 0
