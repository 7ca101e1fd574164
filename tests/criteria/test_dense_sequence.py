"""Proposition 5.3: with fixed hyperparameters, EI under any generalized normal law leaves no hole in the box."""

import itertools

import numpy as np
import pytest

from tcgp import GaussianProcess, problems
from tcgp.criteria.formulas import log_expected_improvement
from tcgp.laws import GeneralizedNormal

GRID = np.linspace(0.0, 1.0, 501)[:, None]


@pytest.mark.parametrize(("beta", "scale"), list(itertools.product((0.1, 10.0), (0.005, 10.0))))
def test_holes_shrink_at_the_corners_of_the_parameter_box(beta, scale):
    """300 iterations in 1-D and 2-D are in benchmarks/calibration/dense_sequence.py; here 80 on a grid."""
    f, law = problems.get("forrester"), GeneralizedNormal(beta, scale)
    chosen = [40, 230, 470]
    holes = []
    for _ in range(80):
        y = f.fun(GRID[chosen]) / 5.0
        gp = GaussianProcess(lengthscales=0.2, mean=0.0, variance=1.0).fit(
            GRID[chosen], y, bounds=[(0.0, 1.0)]
        )
        log_ei = log_expected_improvement(*gp.predict(GRID), law, float(y.min()))
        log_ei[chosen] = -np.inf
        chosen.append(int(np.argmax(log_ei)))
        holes.append(np.abs(GRID - GRID[chosen].T).min(axis=1).max())
    # 80 evenly spread points would leave holes of 0.006.
    assert holes[19] < 0.3
    assert holes[39] < 0.1
    assert holes[79] < 0.03
