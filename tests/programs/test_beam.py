"""The beam of the repository: its outputs are those of the textbook. docs/tutorials/constraints.md runs its spec."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tcgp.programs import RunFailed, Simulator

EXAMPLE = Path(__file__).parents[2] / "examples" / "beam"


def test_outputs_of_a_straight_beam_are_those_of_the_textbook(tmp_path):
    program = Simulator(
        [sys.executable, "{spec_dir}/beam.py", "200", "1", "5"], tmp_path, base=EXAMPLE, outputs="json"
    )
    outputs = program({})
    area, inertia = 0.08 * 0.2 - 0.07 * 0.19, (0.08 * 0.2**3 - 0.07 * 0.19**3) / 12
    assert outputs["mass"] == pytest.approx(7850 * area * 2.0)
    # The beam is cut into 400 sections, and the midpoint rule is off by 1/400 where it matters.
    assert outputs["stress"] == pytest.approx(12e3 * 2.0 * 0.1 / inertia / 1e6, rel=3e-3)
    assert outputs["deflection"] == pytest.approx(12e3 * 2.0**3 / (3 * 210e9 * inertia) * 1e3, rel=1e-4)


def test_walls_that_meet_fail(tmp_path):
    program = Simulator([sys.executable, "{spec_dir}/beam.py", "100", "0.2", "11"], tmp_path, base=EXAMPLE)
    with pytest.raises(RunFailed, match="exit code 3: the walls meet"):
        program({})
