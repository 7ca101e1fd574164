"""Tail-calibrated log EI in the loop of BoTorch's tutorials, on Goldstein and Price's function.

python examples/botorch_loop.py [--n-evals 60] [--device cuda]
"""

from __future__ import annotations

import argparse

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

import tcgp
from tcgp.integrations.botorch import TailCalibratedLogExpectedImprovement, calibrate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n-evals", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.manual_seed(0)
    problem = tcgp.problems.get("goldstein-price")
    bounds = torch.tensor(problem.bounds, dtype=torch.double, device=args.device).T

    def f(X: torch.Tensor) -> torch.Tensor:
        return -torch.tensor(problem.fun(X.cpu().numpy())).to(X)[:, None]  # BoTorch maximizes

    X = bounds[0] + (bounds[1] - bounds[0]) * torch.rand(20, 2, dtype=torch.double, device=args.device)
    Y, law = f(X), None
    while len(Y) < args.n_evals:
        # The function is deterministic: a small fixed noise says so.
        noise = 1e-6 * Y.var() * torch.ones_like(Y)
        model = SingleTaskGP(X, Y, train_Yvar=noise, input_transform=Normalize(2, bounds=bounds))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        law = calibrate(model, previous=law)  # the first line that changes
        acquisition = TailCalibratedLogExpectedImprovement(model, Y.max(), law)  # and the second
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)
        X, Y = torch.cat([X, x]), torch.cat([Y, f(x)])
    print(f"best value {-Y.max():.4g} (minimum {problem.minimum:g}) at {X[Y.argmax()].tolist()}")
    print(f"last law: beta {law.beta:.3g}, lambda {law.scale:.3g}, threshold {law.threshold:.4g}")


if __name__ == "__main__":
    main()
