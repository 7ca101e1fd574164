"""Sobol' points, against SciPy's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc

from tcgp.sampling.sobol import sobol

DIMENSIONS = (1, 2, 3, 7, 13, 30, 31, 40)


@pytest.mark.parametrize("dim", DIMENSIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 64, 1000])
def test_points_are_scipys(dim: int, n: int) -> None:
    expected = qmc.Sobol(dim, scramble=False).random_base2(max(n - 1, 0).bit_length())[:n]
    np.testing.assert_array_equal(sobol(n, dim), expected)


@pytest.mark.parametrize("dim", DIMENSIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_scrambled_points_are_scipys(dim: int, seed: int) -> None:
    expected = qmc.Sobol(dim, scramble=True, rng=seed).random_base2(6)
    np.testing.assert_array_equal(sobol(64, dim, scramble=np.random.default_rng(seed)), expected)


def test_neither_a_proposal_nor_a_report_loads_scipy_stats(tmp_path: Path) -> None:
    script = (
        "import sys, tcgp\n"
        "tcgp.minimize(lambda x: sum(x), [(0.0, 1.0)] * 2, n_evals=6, n_initial=4, report=sys.argv[1])\n"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "run.html")], check=True)
    assert '"importance":{' in (tmp_path / "run.html").read_text(encoding="utf-8")
