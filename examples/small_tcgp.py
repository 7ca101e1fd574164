"""A small tcGP to read: Bayesian optimization with a Gaussian process calibrated for low values.

This is the method of Pion and Vazquez, "Goal-Oriented Lower-Tail Calibration of Gaussian Processes for Bayesian
Optimization" (ICML 2026), as the paper states it, with NumPy and SciPy alone. Names and equations are those of the
paper. The library is faster and handles what this file leaves out: constraints, failures, mixed spaces, rounding.

    python examples/small_tcgp.py

minimizes the Goldstein-Price function, whose minimum is 3, with 80 evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize as descend
from scipy.spatial.distance import cdist
from scipy.special import gamma as gamma_function
from scipy.special import gammaincc
from scipy.stats import gaussian_kde

BETA, LAMBDA = (0.1, 10.0), (5e-3, 10.0)  # ranges of the search, Appendix F of the paper
DELTA, P_MIN = 0.05, 0.015  # of the threshold: quantile level, and smallest probability below it
LENGTHSCALES = (0.02, 20.0)  # in units of the box
NUGGET = 1e-10  # relative to the variance: keeps K positive definite despite rounding


# ---- 1. A Gaussian process: constant mean, Matérn covariance of order 5/2, maximum likelihood -----------------------


class GP(NamedTuple):
    """A Gaussian process with mean m0 and covariance sigma² k, given Z at the points X of the unit cube."""

    X: np.ndarray
    Z: np.ndarray
    rho: np.ndarray  # lengthscales
    m0: float
    sigma: float
    factor: tuple  # of K, by Cholesky
    a: np.ndarray  # K⁻¹ (Z - m0)

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean f_n and standard deviation sigma_n at points x."""
        k = matern(x, self.X, self.rho)
        reduction = np.sum(k * cho_solve(self.factor, k.T).T, axis=1)
        return self.m0 + k @ self.a, self.sigma * np.sqrt(np.maximum(1.0 - reduction, 0.0))

    def leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation at each X_i given all other data, in closed form."""
        diagonal = np.diag(cho_solve(self.factor, np.eye(len(self.Z))))
        return self.Z - self.a / diagonal, self.sigma / np.sqrt(diagonal)


def matern(x: np.ndarray, y: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Correlations (1 + h + h²/3) exp(-h), where h is √5 times the scaled distance."""
    h = np.sqrt(5.0) * cdist(x / rho, y / rho)
    return (1.0 + h + h**2 / 3.0) * np.exp(-h)


def condition(X: np.ndarray, Z: np.ndarray, rho: np.ndarray) -> GP:
    """The process with these lengthscales, and m0 and sigma of maximum likelihood in closed form."""
    factor = cho_factor(matern(X, X, rho) + NUGGET * np.eye(len(Z)), lower=True)
    ones = cho_solve(factor, np.ones(len(Z)))
    m0 = ones @ Z / ones.sum()
    a = cho_solve(factor, Z - m0)
    return GP(X, Z, rho, m0, np.sqrt((Z - m0) @ a / len(Z)), factor, a)


def negative_log_likelihood(log_rho: np.ndarray, X: np.ndarray, Z: np.ndarray) -> tuple[float, np.ndarray]:
    """n/2 log sigma² + 1/2 log det K, and its gradient with respect to log lengthscales."""
    gp = condition(X, Z, np.exp(log_rho))
    value = len(Z) * np.log(gp.sigma) + np.log(np.diag(gp.factor[0])).sum()
    inner = cho_solve(gp.factor, np.eye(len(Z))) - np.outer(gp.a, gp.a) / gp.sigma**2
    h = np.sqrt(5.0) * cdist(X / gp.rho, X / gp.rho)
    inner *= 5.0 / 3.0 * (1.0 + h) * np.exp(-h)  # times (x_j - y_j)² / rho_j² this is dK / d log rho_j
    differences = (X[:, None, :] - X[None, :, :]) / gp.rho
    return value, 0.5 * np.einsum("kl,klj->j", inner, differences**2)


def fit(X: np.ndarray, Z: np.ndarray, starts: np.ndarray) -> GP:
    """The process of maximum likelihood, from several starts."""
    bounds = [np.log(LENGTHSCALES)] * X.shape[1]
    found = [
        descend(negative_log_likelihood, start, (X, Z), "L-BFGS-B", jac=True, bounds=bounds)
        for start in starts
    ]
    return condition(X, Z, np.exp(min(found, key=lambda result: result.fun).x))


# ---- 2. The generalized normal law GN(beta, 0, lambda) replaces the normal law of the residuals ----------------------


def theta(s: np.ndarray, beta: float) -> np.ndarray:
    """Distribution function Θ_β of GN(beta, 0, 1). β = 2 is N(0, 1/2); a smaller β has heavier tails."""
    tail = 0.5 * gammaincc(1.0 / beta, np.abs(s) ** beta)
    return np.where(s < 0.0, tail, 1.0 - tail)


def expected_improvement(z: np.ndarray, scale: np.ndarray, beta: float) -> np.ndarray:
    """γ(z, λ, β) of Proposition 4: the mean of (z - R)₊ where R has the law GN(beta, 0, λ)."""
    s = z / scale
    second = gammaincc(2.0 / beta, np.abs(s) ** beta) * gamma_function(2.0 / beta)
    return z * theta(s, beta) + scale / (2.0 * gamma_function(1.0 / beta)) * second


# ---- 3. Calibration below a threshold t, on weighted leave-one-out residuals -----------------------------------------


def design_weights(X: np.ndarray) -> np.ndarray:
    """Weights w̃ that turn averages over the design into averages over the box: 1 / density, by a Gaussian KDE."""
    w = 1.0 / gaussian_kde(X.T)(X.T)  # Scott's rule, full covariance
    return w / w.sum()


def discrepancy(beta: float, lam: float, t: float, gp: GP, w: np.ndarray) -> float:
    """J(β, λ): how far leave-one-out predictions are from being calibrated below t.

    It is the largest distance, over u in [0, 1], between G(u), the weighted share of values below t whose U is at most
    u, and κ u, where κ is the predicted probability of values below t over their frequency. G is a step function, and
    the supremum is attained at one side of a step, or at u = 1.
    """
    mean, sd = gp.leave_one_out()
    below = t >= gp.Z
    F_t = theta((t - mean) / (lam * sd), beta)
    F_Z = theta((gp.Z - mean) / (lam * sd), beta)[below]
    U = np.divide(F_Z, F_t[below], out=np.ones_like(F_Z), where=F_t[below] > 0.0)
    p = w[below].sum()
    kappa = w @ F_t / p
    order = np.argsort(U)
    U, G = U[order], np.cumsum(w[below][order]) / p
    before = np.concatenate([[0.0], G[:-1]])
    return float(max(np.abs(G - kappa * U).max(), np.abs(before - kappa * U).max(), abs(1.0 - kappa)))


def calibrate(t: float, gp: GP, w: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """(β*, λ*) with the smallest J: the best of 900 random candidates, refined by Nelder-Mead."""
    candidates = rng.uniform(*np.transpose([BETA, LAMBDA]), (900, 2))
    start = min(candidates, key=lambda p: discrepancy(*p, t, gp, w))
    found = descend(lambda p: discrepancy(*p, t, gp, w), start, method="Nelder-Mead", bounds=[BETA, LAMBDA])
    return tuple(found.x)


def threshold(Z: np.ndarray, w: np.ndarray, previous: float | None) -> float:
    """t_n: the quantile of the data, or the last threshold if too little weight lies below the quantile."""
    q = float(np.quantile(Z, DELTA))
    return q if previous is None or w[q >= Z].sum() >= P_MIN else previous


# ---- 4. The loop -----------------------------------------------------------------------------------------------------


def propose(gp: GP, beta: float, lam: float, rng: np.random.Generator) -> np.ndarray:
    """The point of maximum expected improvement: gradient ascent from the best of many candidates."""

    def loss(x: np.ndarray) -> np.ndarray:
        mean, sd = gp.predict(np.atleast_2d(x))
        gain = expected_improvement(gp.Z.min() - mean, lam * np.maximum(sd, 1e-12 * gp.sigma), beta)
        return -np.log(np.maximum(gain, 1e-300))

    d = gp.X.shape[1]
    step = 10.0 ** rng.uniform(-4, -1, (1000, 1)) * rng.standard_normal((1000, d))
    candidates = np.concatenate([rng.random((2000, d)), np.clip(gp.X[np.argmin(gp.Z)] + step, 0.0, 1.0)])
    losses = loss(candidates)
    starts = candidates[np.argsort(losses)[:5]]
    found = [descend(lambda x: loss(x)[0], x, method="L-BFGS-B", bounds=[(0.0, 1.0)] * d) for x in starts]
    best = min(found, key=lambda result: result.fun)
    return best.x if best.fun <= losses.min() else starts[0]


def minimize(
    fun: Callable[[np.ndarray], float], bounds: np.ndarray, budget: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """All points and their values: 10 d uniform points, then those proposed by tcGP."""
    rng, (low, high) = np.random.default_rng(seed), np.transpose(bounds)
    X = rng.random((10 * len(low), len(low)))
    Z = np.array([fun(low + (high - low) * x) for x in X])
    t, rho = None, np.full(len(low), 0.3)
    while len(Z) < budget:
        starts = [np.log(rho), *rng.uniform(np.log(0.1), np.log(5.0), (4, len(low)))]
        gp, w = fit(X, Z, np.array(starts)), design_weights(X)
        t, rho = threshold(Z, w, t), gp.rho
        x = propose(gp, *calibrate(t, gp, w, rng), rng)
        X, Z = np.vstack([X, x]), np.append(Z, fun(low + (high - low) * x))
    return low + (high - low) * X, Z


def goldstein_price(x: np.ndarray) -> float:
    """A function of two variables that spans six orders of magnitude, with minimum 3 at (0, -1)."""
    a, b = x
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    two = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return float(one * two)


if __name__ == "__main__":
    points, values = minimize(goldstein_price, np.array([[-2.0, 2.0], [-2.0, 2.0]]), budget=80)
    print(f"minimum {values.min():.4f} at {np.round(points[values.argmin()], 3)}")
