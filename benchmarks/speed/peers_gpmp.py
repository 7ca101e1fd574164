"""Time of one iteration of gpmp-contrib, on the states of peers.py and into the same file.

    python benchmarks/speed/peers_gpmp.py run [--n 50 100 200 400] [--d 2 4 10]
    python benchmarks/speed/peers.py report

gpmp and gpmp-contrib (GPL) are used through their public interface and are needed by nothing else:

    pip install gpmp gpmp-contrib torch -e .

Its `ExpectedImprovementSMC` (1000 particles) with a constant mean, a Matérn 5/2 covariance and restricted maximum
likelihood, as its examples use it; a step evaluates the function once. What the times mean is said in peers.py.
"""

from __future__ import annotations

import os

os.environ.setdefault("GPMP_BACKEND", "torch")

import peers  # sets the number of threads, so it comes before numpy

# isort: split
import gpmp.num as gnp
import gpmpcontrib
import numpy as np
from gpmpcontrib.optim.expectedimprovement import ExpectedImprovementSMC


def gpmp(problem, X, y, iterations, seed):
    """gpmp-contrib in the form of the other peers."""
    gnp.set_seed(seed)
    new: list[tuple[np.ndarray, float]] = []

    def evaluate(rows):
        rows = np.asarray(gnp.to_np(rows))
        if len(rows) == len(X):
            return y[:, None]
        value = float(problem.fun(rows[0]))
        new.append((rows[0], value))
        return np.array([[value]])

    model = gpmpcontrib.Model_ConstantMean_Maternp_REML("gp", 1, {"type": "constant"}, {"p": 2})
    experiment = gpmpcontrib.ComputerExperiment(problem.dim, problem.bounds.T, single_objective=evaluate)
    strategy = ExpectedImprovementSMC(experiment, model)
    strategy.set_initial_design(X)
    for _ in range(iterations):
        strategy.step()
        yield new[-1]


if __name__ == "__main__":
    peers.main(__doc__, {"gpmp": gpmp})
