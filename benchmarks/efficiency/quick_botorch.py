"""BoTorch without its overhead: the same fits and the same criterion, several times faster.

    python benchmarks/efficiency/quick_botorch.py          (needs torch==2.13.0 and botorch)

Most of a BoTorch run goes into the overhead of a few hundred small likelihoods and predictions at each iteration, too
much for twenty runs on each of many functions. In a block of `quick_botorch` BoTorch keeps its model, its priors, its
bounds, its starting points, its optimizers and its formula for log EI; only the likelihood with its gradient and the
predicted mean and standard deviation that it asks for are computed here. They are the same to rounding, which the
command shows; a fit that stops by a tolerance then ends a step apart at times, as it does when the inputs are changed
by 1e-16, which it shows too. Times of BoTorch are always measured without this.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
from scipy.linalg import lapack

import functions

__all__ = ["quick_botorch"]

# Minus the log-likelihood over the number of data, and its gradient.
Loss = Callable[[], tuple[Any, tuple[Any, ...]]]


@contextlib.contextmanager
def quick_botorch() -> Iterator[None]:
    """Within the block, fits of a `SingleTaskGP` and its `LogExpectedImprovement` are quick."""
    fitting, acquisition = (importlib.import_module(f"botorch.{name}") for name in ("fit", "acquisition"))
    fit = fitting.fit_gpytorch_mll
    with (
        mock.patch.object(fitting, "fit_gpytorch_mll", lambda mll: fit(mll, closure=loss(mll))),
        mock.patch.object(acquisition, "LogExpectedImprovement", quick_criterion()),
    ):
        yield


def quick_criterion() -> type:
    """BoTorch's LogExpectedImprovement with a prediction of its own."""
    torch = importlib.import_module("torch")
    log_ei: Any = importlib.import_module("botorch.acquisition").LogExpectedImprovement

    class QuickLogExpectedImprovement(log_ei):
        @torch.no_grad()
        def __init__(self, model: Any, best_f: Any) -> None:
            super().__init__(model, best_f)
            self._prior_mean = model.mean_module.constant.clone()
            self._lengthscales = model.covar_module.lengthscale.clone()
            self._points = model.train_inputs[0] / self._lengthscales
            K = self._correlations(self._points)
            K.diagonal().add_(model.likelihood.noise)
            self._L = torch.linalg.cholesky(K)
            residuals = model.train_targets - self._prior_mean
            self._weights = torch.cholesky_solve(residuals[:, None], self._L)
            self._center, self._scale = (
                t.item() for t in (model.outcome_transform.means, model.outcome_transform.stdvs)
            )

        def _correlations(self, points: Any) -> Any:
            return torch.exp(-0.5 * (points[:, None] - self._points).square().sum(-1))

        def _mean_and_sigma(
            self, X: Any, compute_sigma: bool = True, min_var: float = 1e-12
        ) -> tuple[Any, Any]:
            k = self._correlations(X.squeeze(-2) / self._lengthscales)
            mean = self._center + self._scale * (self._prior_mean + k @ self._weights)
            halves = torch.linalg.solve_triangular(self._L, k.T, upper=False)
            variance = self._scale**2 * (1.0 - halves.square().sum(0))
            return mean, variance.clamp_min(min_var).sqrt()[:, None]

    return QuickLogExpectedImprovement


def loss(mll: Any) -> Loss:
    """What BoTorch minimises to fit a SingleTaskGP with its default kernel and priors."""
    torch = importlib.import_module("torch")
    parameters = dict(mll.named_parameters())
    expected = ["noise_covar.raw_noise", "mean_module.raw_constant", "covar_module.raw_lengthscale"]
    if [name.partition(".")[2] for name in parameters] != expected:
        raise TypeError(f"not a SingleTaskGP with a noise, a mean and lengthscales: {list(parameters)}")
    # Views of what BoTorch changes.
    noise, mean, lengthscales = (parameter.detach().numpy() for parameter in parameters.values())
    noise_prior = log_normal(mll.likelihood.noise_covar.noise_prior)
    lengthscale_prior = log_normal(mll.model.covar_module.lengthscale_prior)
    X, y = mll.model.train_inputs[0].numpy(), mll.model.train_targets.numpy()
    n, d = X.shape
    squares = np.ascontiguousarray(((X[:, None] - X) ** 2).reshape(n * n, d).T)

    def value_and_gradient() -> tuple[Any, tuple[Any, ...]]:
        correlations = np.exp((-0.5 / lengthscales[0] ** 2) @ squares)
        K = correlations.copy()
        K[:: n + 1] += noise[0]
        L, failed = lapack.dpotrf(K.reshape(n, n).T, lower=1, overwrite_a=1)
        if failed:
            raise RuntimeError("singular matrix")  # BoTorch takes a step back
        residuals = y - mean
        weights, _ = lapack.dpotrs(L, residuals, lower=1)
        log_determinant = 2 * np.log(L.diagonal()).sum()
        value = -0.5 * (residuals @ weights + log_determinant + n * math.log(2 * math.pi))
        inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)  # its lower half: the upper is zero
        slopes = (np.outer(weights, weights) - 2 * inverse.T).ravel() * correlations
        noise_density, noise_slope = noise_prior(noise[0])
        lengthscale_density, lengthscale_slopes = lengthscale_prior(lengthscales[0])
        value += noise_density + lengthscale_density
        gradient = (
            0.5 * (weights @ weights - inverse.trace()) + noise_slope,
            weights.sum(),
            0.5 * (squares @ slopes) / lengthscales[0] ** 3 + lengthscale_slopes,
        )
        return torch.as_tensor(-value / n), tuple(
            torch.as_tensor(-np.asarray(g) / n).view(parameter.shape)
            for g, parameter in zip(gradient, parameters.values(), strict=True)
        )

    return value_and_gradient


def log_normal(prior: Any) -> Callable[[Any], tuple[float, Any]]:
    """A log-normal law's log-density, summed, and its derivatives; constants in single precision, as BoTorch's are."""
    location, variance, log_scale = float(prior.loc), float(prior.scale**2), float(prior.scale.log())

    def log_density(x: Any) -> tuple[float, Any]:
        log_x = np.log(x)
        z = log_x - location
        terms = -log_x - log_scale - 0.5 * math.log(2 * math.pi) - 0.5 * z**2 / variance
        return terms.sum(), -(1 + z / variance) / x

    return log_density


# ---- comparison with BoTorch's own ----


def main() -> None:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    print("| | n | d | likelihood differs by | its gradient | ms, BoTorch's | here", end=" | ")
    print("log EI differs by | its gradient | ms, BoTorch's | here", end=" | ")
    print("likelihood where the fit ends differs by | BoTorch's own, inputs changed by 1e-16 |")
    print("|---" * 13 + "|")
    for n, name in ((20, "branin"), (60, "otl-circuit"), (120, "borehole")):
        problem = functions.get(name)
        low, high = problem.bounds.T
        U = rng.random((n, problem.dim))
        y = -np.asarray(problem.fun(low + U * (high - low)))
        parts = (compare_likelihoods(U, y, rng), compare_criteria(U, y, rng), compare_fits(U, y, rng))
        print(f"| {name} | {n} | {problem.dim} | " + " | ".join(parts) + " |")


def likelihood_of(U: np.ndarray, y: np.ndarray) -> Any:
    """BoTorch's marginal likelihood of its default model."""
    torch, models, mlls = map(importlib.import_module, ("torch", "botorch.models", "gpytorch.mlls"))
    model = models.SingleTaskGP(torch.as_tensor(U), torch.as_tensor(y)[:, None])
    return mlls.ExactMarginalLogLikelihood(model.likelihood, model).train()


def compare_likelihoods(U: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> str:
    """Largest differences over random parameters, those of gradients relative to their largest entry, and times."""
    torch, closures = map(importlib.import_module, ("torch", "botorch.optim.closures"))
    mll = likelihood_of(U, y)
    theirs, ours = closures.get_loss_closure_with_grads(mll, dict(mll.named_parameters())), loss(mll)
    values, gradients = [], []
    for _ in range(20):
        with torch.no_grad():
            for parameter in mll.parameters():
                parameter.copy_(torch.as_tensor(np.exp(rng.normal(-1.0, 1.0, parameter.shape))))
        (a, slopes_a), (b, slopes_b) = theirs(), ours()
        values.append(abs(a.item() - b.item()))
        gradients += [distance(u, v) for u, v in zip(slopes_a, slopes_b, strict=True)]
    return f"{max(values):.0e} | {max(gradients):.0e} | {milliseconds(theirs):.2f} | {milliseconds(ours):.2f}"


def compare_criteria(U: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> str:
    """Relative differences at random points and near two of the data, and times."""
    torch, acquisition, fitting = map(
        importlib.import_module, ("torch", "botorch.acquisition", "botorch.fit")
    )
    mll = likelihood_of(U, y)
    fitting.fit_gpytorch_mll(mll, closure=loss(mll))
    points = torch.as_tensor(np.vstack([rng.random((8, U.shape[1])), U[:2] + 1e-4])[:, None]).requires_grad_(
        True
    )

    def evaluate(criterion: Any) -> tuple[Any, Any]:
        values = criterion(points)
        return values.detach(), torch.autograd.grad(values.sum(), points)[0]

    both = (
        acquisition.LogExpectedImprovement(mll.model, best_f=y.max()),
        quick_criterion()(mll.model, y.max()),
    )
    theirs, ours = (functools.partial(evaluate, criterion) for criterion in both)
    (a, slopes_a), (b, slopes_b) = theirs(), ours()
    differences = f"{distance(a, b):.0e} | {distance(slopes_a, slopes_b):.0e}"
    return f"{differences} | {milliseconds(theirs):.2f} | {milliseconds(ours):.2f}"


def compare_fits(U: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> str:
    """How far apart fits end, with either likelihood, and with BoTorch's own on inputs that differ by rounding."""
    fit = importlib.import_module("botorch.fit").fit_gpytorch_mll

    def end(U: np.ndarray, quick: bool = False) -> float:
        mll = likelihood_of(U, y)
        fit(mll, closure=loss(mll) if quick else None)
        return float(loss(mll)()[0])

    reference, quick, moved = end(U), end(U, quick=True), end(U + 1e-16 * rng.choice([-1, 1], U.shape))
    return f"{abs(quick - reference):.0e} | {abs(moved - reference):.0e}"


def distance(a: Any, b: Any) -> float:
    return float((a - b).abs().max() / a.abs().max())


def milliseconds(function: Callable[[], Any], repeats: int = 100) -> float:
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats * 1e3


if __name__ == "__main__":
    main()
