"""Examples with real simulators, as a stranger runs them; skipped where the simulator is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcgp.cli import main
from tcgp.optimizer import Optimizer

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(folder, spec, tmp_path, budget):
    shutil.copytree(EXAMPLES / folder, tmp_path / folder)
    path = tmp_path / folder / spec
    assert main(["minimize", str(path), "--budget", str(budget), "--no-plots", "--quiet"]) in (0, 1)
    return Optimizer.read(path.with_suffix(".tcgp") / "journal.jsonl").history


@pytest.mark.skipif(shutil.which("ngspice") is None, reason="needs ngspice: apt-get install ngspice")
def test_an_operational_amplifier(tmp_path):
    history = run("ngspice", "opamp.toml", tmp_path, 2)
    centre = history.evaluations[0].outputs
    # By hand, at the centre of the box: 10 uA of bias, twice that of tail, 4 times that of the second stage, 5 V.
    assert centre["power"] == pytest.approx(5 * (10 + 20 + 40), rel=0.1)
    assert 70 < centre["gain"] < 100
    assert all(not e.failed and len(e.outputs) == 6 for e in history.evaluations)


@pytest.mark.skipif(shutil.which("ccx") is None, reason="needs CalculiX: apt-get install calculix-ccx")
@pytest.mark.parametrize("spec", ["cantilever.toml", "front.toml"])
def test_a_tapered_cantilever(tmp_path, spec):
    history = run("calculix", spec, tmp_path, 2)
    assert history.goals.has_several == (spec == "front.toml")
    for evaluation in history.evaluations:
        root, tip, width = evaluation.x
        outputs = evaluation.outputs
        assert outputs["volume"] == pytest.approx(1000.0 * width * (root + tip) / 2, rel=1e-3)
        # Beam theory: the point of integration lies 21 mm from the wall, in an element with the height at its middle.
        height = root + 0.05 * (tip - root)
        stress = 2000.0 * (1000.0 - 21.1) * 6.0 / (width * height**2)
        assert outputs["stress"] == pytest.approx(stress, rel=0.15)
        x = [100.0 * i + 50.0 for i in range(10)]
        heights = [root + (tip - root) * (i + 0.5) / 10 for i in range(10)]
        bend = sum(
            2000.0 * (1000 - a) ** 2 * 100.0 / (210000 * width * h**3 / 12)
            for a, h in zip(x, heights, strict=True)
        )
        assert outputs["deflection"] == pytest.approx(bend, rel=0.1)
