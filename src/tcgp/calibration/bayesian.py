"""bcrGP: Bayesian calibration of residuals over the whole domain."""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.spatial.distance import pdist, squareform

from tcgp._arrays import as_generator, without_nan
from tcgp._text import plain
from tcgp._typing import ArrayLike, FloatArray, RandomState
from tcgp.laws import GeneralizedNormal

__all__ = ["bayesian_law", "sample_posterior"]

# The grid on which the marginal posterior of beta is inverted: steps of about 1 %.
_SMALLEST_BETA = 0.02
_N_BETA = 600
# Residuals are numbers of standard deviations; beyond these bounds they say nothing more.
_SMALLEST_RESIDUAL, _LARGEST_RESIDUAL = 1e-10, 1e10
# Points at which two distribution functions are compared; both are 1/2 at zero and symmetric.
_N_LEVELS = 32


def bayesian_law(
    residuals: ArrayLike,
    weights: ArrayLike,
    *,
    n_draws: int = 200,
    alpha: float = 0.1,
    draw: str = "cross-ks",
    beta_max: float = 10.0,
    scale_max: float = 10.0,
    rng: RandomState = None,
) -> GeneralizedNormal:
    """Generalized normal law of bcrGP with reweighting (paper, Appendix E.5).

    The leave-one-out residuals are modelled as draws of GN(beta, 0, lambda), with a uniform prior on
    (0, beta_max) × (0, scale_max) and a likelihood whose factors carry the weights as exponents. The law is one
    of n_draws draws of this pseudo-posterior.

    Parameters
    ----------
    residuals : array of shape (n,)
        Leave-one-out standardized residuals.
    weights : array of shape (n,)
        Nonnegative weights, of any positive sum (see `design_weights`); the exponents are rescaled to sum to n.
    n_draws : int
        Number of posterior draws.
    alpha : float
        Level of the selection rule, in [0, 1).
    draw : str
        ``"cross-ks"``: with K_ij the Kolmogorov–Smirnov distance between draws i and j, take the draw whose
        (1 − alpha)-quantile of {K_ij}_j is smallest, the law closest to all that is plausible.
        ``"conservative"``: take the draw whose variance is the (1 − alpha)-quantile of the posterior's.
    beta_max, scale_max : float
        Bounds of the prior.
    rng : int, Generator or None
        Source of randomness.

    Returns
    -------
    GeneralizedNormal

    Notes
    -----
    The paper leaves the selection rule to the original work on bcrGP; both rules and alpha are this package's
    interpretation.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import bayesian_law
    >>> residuals = np.random.default_rng(0).laplace(size=300)
    >>> law = bayesian_law(residuals, np.ones(300), rng=0)
    >>> bool(0.7 < law.beta < 1.4)
    True
    """
    if draw not in _DRAWS:
        raise ValueError(f"draw must be one of {', '.join(map(repr, _DRAWS))}, got {plain(draw)}")
    if not 0.0 <= alpha < 1.0:
        raise ValueError(f"alpha must lie in [0, 1), got {alpha}")
    beta, scale = sample_posterior(
        residuals, weights, n_draws=n_draws, beta_max=beta_max, scale_max=scale_max, rng=rng
    )
    chosen = _DRAWS[draw](beta, scale, alpha)
    return GeneralizedNormal(float(beta[chosen]), float(scale[chosen]))


def sample_posterior(
    residuals: ArrayLike,
    weights: ArrayLike,
    *,
    n_draws: int = 200,
    beta_max: float = 10.0,
    scale_max: float = 10.0,
    rng: RandomState = None,
) -> tuple[FloatArray, FloatArray]:
    """Independent draws of (beta, lambda) from the weighted pseudo-posterior of bcrGP.

    No Markov chain is needed. With S(beta) = Σ w_i |r_i|^beta and Σ w_i = n,

    - lambda^(−beta), given beta, has the Gamma law of shape (n − 1)/beta and rate S(beta), restricted to
      lambda < scale_max;
    - beta has the density proportional to [beta / (2 Γ(1/beta))]^n · beta⁻¹ · Γ((n − 1)/beta) ·
      S(beta)^(−(n−1)/beta) · P(lambda < scale_max | beta), inverted on a grid.

    Parameters
    ----------
    residuals, weights, n_draws, beta_max, scale_max, rng
        As in `bayesian_law`.

    Returns
    -------
    beta, scale : arrays of shape (n_draws,)
        Draws of beta are at least 0.02. For n = 1 there is no proper posterior of the scale; it is taken at n = 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import sample_posterior
    >>> residuals = np.random.default_rng(0).standard_normal(200)
    >>> beta, scale = sample_posterior(residuals, np.ones(200), rng=1)
    >>> np.median(beta).round(1), np.median(scale).round(1)
    (np.float64(2.6), np.float64(1.5))
    """
    residuals, weights = without_nan("residuals", residuals), without_nan("weights", weights)
    if residuals.shape != weights.shape or residuals.ndim != 1 or len(residuals) == 0:
        raise ValueError(
            "residuals and weights must share one shape (n,) with n >= 1, "
            f"got {residuals.shape} and {weights.shape}"
        )
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws}")
    rng = as_generator(rng)
    n = max(len(residuals), 2)
    log_abs = np.log(np.clip(np.abs(residuals), _SMALLEST_RESIDUAL, _LARGEST_RESIDUAL))
    exponents = n * weights / weights.sum()

    grid = np.geomspace(_SMALLEST_BETA, beta_max, _N_BETA)
    log_s = special.logsumexp(grid[:, None] * log_abs, b=exponents, axis=1)
    shape = (n - 1) / grid
    log_density = (
        n * (np.log(0.5 * grid) - special.gammaln(1.0 / grid))
        - np.log(grid)
        + special.gammaln(shape)
        - shape * log_s
        + _log_gamma_tail(shape, log_s - grid * np.log(scale_max))
    )
    beta = _invert_cdf(grid, log_density, rng.random(n_draws))

    log_s = special.logsumexp(beta[:, None] * log_abs, b=exponents, axis=1)
    shape = (n - 1) / beta
    with np.errstate(over="ignore", divide="ignore"):
        restriction = special.gammaincc(shape, np.exp(log_s - beta * np.log(scale_max)))
        tau = special.gammainccinv(shape, rng.random(n_draws) * restriction)
        log_scale = (log_s - np.log(tau)) / beta
    # A restriction that underflows leaves the scale at its bound.
    scale = np.exp(np.minimum(log_scale, np.log(scale_max)))
    return beta, np.maximum(scale, np.finfo(float).tiny)


def _log_gamma_tail(shape: FloatArray, log_x: FloatArray) -> FloatArray:
    """log of Q(shape, x), also where Q underflows: there x is far above shape, and one term is enough."""
    x = np.exp(np.minimum(log_x, 700.0))
    with np.errstate(divide="ignore"):
        out: FloatArray = np.log(special.gammaincc(shape, x))
    far = np.isneginf(out)
    a, x_far = shape[far], x[far]
    out[far] = a * np.log(x_far) - x_far - special.gammaln(a) - np.log(x_far - a + 1.0)
    return out


def _invert_cdf(grid: FloatArray, log_density: FloatArray, levels: FloatArray) -> FloatArray:
    """Quantiles of a density known on a grid, by the trapezoidal rule."""
    density = np.exp(log_density - log_density.max())
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(grid))])
    out: FloatArray = np.interp(levels * cdf[-1], cdf, grid)
    return out


def _cross_ks(beta: FloatArray, scale: FloatArray, alpha: float) -> int:
    """The draw whose distances to the others have the smallest (1 − alpha)-quantile."""
    middle = GeneralizedNormal(float(np.median(beta)), float(np.median(scale)))
    points = middle.ppf(np.linspace(0.5, 1.0, _N_LEVELS + 2)[1:-1])
    cdfs = GeneralizedNormal(beta[:, None], scale[:, None]).cdf(points)
    distances = squareform(pdist(cdfs, "chebyshev"))
    return int(np.argmin(np.quantile(distances, 1.0 - alpha, axis=1)))


def _conservative(beta: FloatArray, scale: FloatArray, alpha: float) -> int:
    """The draw whose variance is the (1 − alpha)-quantile, compared in logarithms: variances may overflow."""
    log_variance = special.gammaln(3.0 / beta) - special.gammaln(1.0 / beta) + 2.0 * np.log(scale)
    rank = int(np.ceil((1.0 - alpha) * len(beta))) - 1
    return int(np.argsort(log_variance, kind="stable")[max(rank, 0)])


_DRAWS = {"cross-ks": _cross_ks, "conservative": _conservative}
