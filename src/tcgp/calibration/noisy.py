"""Calibration below a threshold from noisy data: the law of the function, judged by that of its evaluations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used
from scipy.special import gammaln, ndtr

from tcgp._typing import ArrayLike, FloatArray, IntArray
from tcgp.calibration.tail import TailProblem, selection_criterion, tail_problem
from tcgp.calibration.tail_search import BETA_RANGE, SCALE_RANGE
from tcgp.laws import GeneralizedNormal, Law

__all__ = [
    "NoisyLaw",
    "NoisyTailProblem",
    "convolved_cdf",
    "latent_sd",
    "noisy_tail_law",
    "noisy_tail_problem",
]

# Weight of the distance to the normal law where all is noise: the best of 0.03, 0.1 and 0.3.
PENALTY = 0.1
# Standard deviations of the latent prediction below this share of that of the noise count as this: rounding is below.
SMALLEST = 1e-3
_GRID = 16  # points along each of beta and lambda from which the best is refined
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_NODES, _WEIGHTS = _NODES[:, None, None], _WEIGHTS / _WEIGHTS.sum()
_LEVELS, _SHARES = np.polynomial.legendre.leggauss(40)
_LEVELS, _SHARES = 0.5 + 0.5 * _LEVELS[:, None, None], 0.5 * _SHARES


def convolved_cdf(law: Law, z: FloatArray, noise: FloatArray) -> FloatArray:
    """P(R + noise E ≤ z), with R of the law and E of the standard normal law.

    Parameters
    ----------
    law : Law
        Its parameters may be arrays of shape (m, 1).
    z, noise : array of shape (n,)

    Returns
    -------
    array of shape (n,) or (m, n)

    Notes
    -----
    Where the noise is smaller than 1, the spread of R about, the mean over E by Gauss-Hermite quadrature of the law's
    CDF; elsewhere the mean over the law's quantiles, by Gauss-Legendre, of the normal CDF: each is smooth there.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration.noisy import convolved_cdf
    >>> from tcgp.laws import Normal
    >>> convolved_cdf(Normal(), np.array([-2.0, -2.0]), np.array([0.0, np.sqrt(3.0)])).round(3)
    array([0.023, 0.159])
    """
    rough = noise < 1.0
    by_noise = np.tensordot(_WEIGHTS, law.cdf(z[rough] - noise[rough] * _NODES), 1)
    by_law = np.tensordot(_SHARES, ndtr((z[~rough] - law.ppf(_LEVELS)) / noise[~rough]), 1)
    out = np.empty((len(by_noise), len(z)))
    out[:, rough], out[:, ~rough] = by_noise, by_law
    return out if np.ndim(getattr(law, "beta", 0.0)) else out[0]


@dataclass(frozen=True)
class NoisyLaw:
    """The law of noisy observations of residuals with another law: what scores need of it.

    Attributes
    ----------
    law : Law
    noise : array of shape (n,)
        Standard deviation of the noise at each of n points, in units of the sd of what is predicted there.
    """

    law: Law
    noise: FloatArray

    def cdf(self, r: ArrayLike) -> FloatArray:
        """P(R + noise E <= r), for r that ends in (n,)."""
        r, noise = np.broadcast_arrays(np.asarray(r, dtype=float), self.noise)
        return convolved_cdf(self.law, r.ravel(), noise.ravel()).reshape(r.shape)

    def logcdf(self, r: ArrayLike) -> FloatArray:
        """Its logarithm."""
        return np.asarray(np.log(np.maximum(self.cdf(r), np.finfo(float).tiny)))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles, by bisection."""
        q = np.broadcast_to(np.asarray(q, dtype=float), np.broadcast_shapes(np.shape(q), self.noise.shape))
        size = 40.0 * np.sqrt(np.asarray(self.law.variance()) + self.noise**2)
        low, high = np.broadcast_to(-size, q.shape).copy(), np.broadcast_to(size, q.shape).copy()
        for _ in range(60):
            middle = 0.5 * (low + high)
            is_above = self.cdf(middle) >= q
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        return 0.5 * (low + high)

    def variance(self) -> FloatArray:
        """Of each."""
        return np.asarray(self.law.variance() + self.noise**2)


@dataclass(frozen=True)
class NoisyTailProblem(TailProblem):
    """Calibration below a threshold of noisy observations, in units of the sd of what is predicted without noise.

    Attributes
    ----------
    noise : array of shape (n,)
        Standard deviation of the noise of each observation in these units.
    """

    noise: FloatArray

    def thresholded_pit(self, law: Law, *, ratio: str = "exact") -> FloatArray:
        """See `TailProblem`: of the law with noise."""
        noise = self.noise[self.below]
        values = convolved_cdf(law, self.at_values, noise)
        threshold = convolved_cdf(law, self.at_threshold[self.below], noise)
        tiny = np.finfo(float).tiny
        return np.where(threshold > tiny, np.minimum(values / np.maximum(threshold, tiny), 1.0), 1.0)

    def occurrence_ratio(self, law: Law) -> FloatArray:
        """See `TailProblem`: of the law with noise."""
        expected = convolved_cdf(law, self.at_threshold, self.noise)
        return np.asarray(expected @ self.weights / self.excursion_frequency)


def noisy_tail_problem(
    mean: FloatArray, sd: FloatArray, noise: FloatArray, y: FloatArray, weights: FloatArray, threshold: float
) -> NoisyTailProblem:
    """Standardize leave-one-out predictions of noisy values about a threshold.

    Parameters
    ----------
    mean, sd : array of shape (n,)
        Leave-one-out predictions of the observations, noise included.
    noise : array of shape (n,)
        Standard deviation of the noise of each.
    y, weights : array of shape (n,)
    threshold : float
        Of the observations.
    """
    latent = latent_sd(sd, noise)
    plain = tail_problem(mean, latent, y, weights, threshold)
    return NoisyTailProblem(**vars(plain), noise=noise / np.where(latent > 0.0, latent, 1.0))


def latent_sd(sd: FloatArray, noise: FloatArray) -> FloatArray:
    """Standard deviation of a prediction without noise, from those of the observation and of the noise."""
    return np.asarray(np.sqrt(np.maximum(sd**2 - noise**2, (SMALLEST * noise) ** 2)))


def noisy_tail_law(problem: NoisyTailProblem, criterion: str = "joint") -> GeneralizedNormal:
    """The generalized normal law of the function whose observations, noise included, are calibrated below a threshold.

    It minimizes the criterion of the law with noise plus c s (|log(beta / 2)| + |log variance| / 2), c = 0.1, which
    returns the normal law where the data do not determine it: s is the weighted share of the noise in the variance of
    what is predicted below the threshold. Without noise this is the paper's criterion.
    """
    below: IntArray = problem.below
    shares = problem.noise[below] ** 2 / (1.0 + problem.noise[below] ** 2)
    penalty = PENALTY * float(problem.jumps @ shares)

    def value(log_beta: FloatArray, log_variance: FloatArray) -> FloatArray:
        law = _law_of(log_beta, log_variance)
        distance = np.abs(log_beta - np.log(2.0)) + 0.5 * np.abs(log_variance)
        found: FloatArray = selection_criterion(problem, law, criterion) + penalty * distance.ravel()
        return found

    low, high = np.log(BETA_RANGE)
    bounds = [(low, high), (2.0 * np.log(SCALE_RANGE[0]), 2.0 * np.log(SCALE_RANGE[1]))]
    beta, variance = np.meshgrid(
        np.append(np.linspace(low, high, _GRID), np.log(2.0)), np.append(np.linspace(-4.0, 4.0, _GRID), 0.0)
    )
    found = value(beta.reshape(-1, 1), variance.reshape(-1, 1))
    start = np.array([beta.ravel()[np.argmin(found)], variance.ravel()[np.argmin(found)]])
    best = scipy.optimize.minimize(
        lambda theta: float(value(theta[:1], theta[1:])[0]),
        start,
        method="Nelder-Mead",
        bounds=bounds,
        options={"initial_simplex": start + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]), "xatol": 1e-3},
    ).x
    law = _law_of(best[0], best[1])
    return GeneralizedNormal(float(law.beta), float(law.scale))


def _law_of(log_beta: FloatArray, log_variance: FloatArray) -> GeneralizedNormal:
    """The law with this shape and variance; lambda stays within its bounds."""
    beta = np.exp(log_beta)
    log_scale = 0.5 * (log_variance + gammaln(1.0 / beta) - gammaln(3.0 / beta))
    return GeneralizedNormal(beta, np.clip(np.exp(log_scale), *SCALE_RANGE))
