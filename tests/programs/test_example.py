"""The example of the repository, in C and in Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcgp.programs import RunFailed, Simulator

EXAMPLE = Path(__file__).parents[2] / "examples" / "simulator"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of the example, built."""
    folder = tmp_path_factory.mktemp("example") / "simulator"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.tcgp", "suspension"))
    subprocess.run(["sh", "build.sh"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    "point",
    [
        {"stiffness": 20000.0, "damping": 1000.0, "spring": "linear"},
        {"stiffness": 24000.0, "damping": 1300.0, "spring": "progressive"},
    ],
)
def test_both_versions_of_the_example_agree(example, tmp_path, point):
    arguments = ["{stiffness}", "{damping}", "{spring}"]
    built = Simulator(["./suspension", *arguments], tmp_path, base=example)
    python = Simulator([sys.executable, "{spec_dir}/suspension.py", *arguments], tmp_path, base=example)
    # Printed with twelve digits; six thousand steps may round differently.
    assert built(point) == pytest.approx(python(point), rel=1e-9)


def test_the_example_fails_where_the_suspension_hits_its_stop(example, tmp_path):
    program = Simulator(["./suspension", "2000", "50", "linear"], tmp_path, base=example)
    with pytest.raises(RunFailed, match="exit code 3: the suspension hits its stop"):
        program({})
