"""Noiseless Gaussian process interpolation, or smoothing, with selected hyperparameters."""

from __future__ import annotations

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.selection import LONGEST, SHORTEST

__all__ = ["GaussianProcess"]


class GaussianProcess(Interpolator):
    """Gaussian process with a constant mean and an anisotropic Matérn covariance, interpolating exact data.

    The mean, the variance and the lengthscales are fitted by maximum likelihood. Given the lengthscales, the first
    two have closed forms, so only d numbers are optimized, with exact gradients.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2: the covariance of a process differentiable p times. The paper uses 2.
    lengthscales : float or (d,) array, optional
        Fixed at this value (in the units of X) instead of fitted.
    mean, variance : float, optional
        Fixed at this value (in the units of y) instead of fitted.
    n_starts : int
        Largest number of full descents of the likelihood when there is no warm start.
    selection : {"ml", "pooled"}
        How lengthscales are fitted: by maximum likelihood (``"ml"``); or near a common level (``"pooled"``, for few
        data or many parameters).
    nugget : float or None
        Variance of ripples too short to be resolved, in units of the process variance. 0 interpolates. None fits it
        with the lengthscales, and the process smooths the data. `predict` gives the smooth part; `leave_one_out`
        predicts the data, including ripples.
    shortest : float or None
        Shortest lengthscale that may be selected, in units of the typical spacing of the data, ``n^(-1/d)`` of the box.
        None: so long that a hundredth of a point is expected within it, and at least 0.1.
    longest : float
        Longest one, in units of the box.

    Attributes
    ----------
    lengthscales_ : (d,) array
    mean_, variance_, log_likelihood_ : float
    objective_ : float
        What the selection maximized: equals ``log_likelihood_`` with ``"ml"``.
    nugget_ : float
        The nugget, including what the Cholesky factorization needed; 0 unless data are nearly dependent or smoothed.
    X_, y_ : arrays of shapes (n, d) and (n,)
        The data, equal rows merged.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import GaussianProcess
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> gp = GaussianProcess().fit(X, np.sin(6.0 * X[:, 0]))
    >>> mean, sd = gp.predict([[0.5]])
    >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01)
    True

    References
    ----------
    Stein, M. L. (1999). Interpolation of Spatial Data. Springer.
    """

    def __init__(
        self,
        smoothness: int = 2,
        *,
        lengthscales: ArrayLike | None = None,
        mean: float | None = None,
        variance: float | None = None,
        n_starts: int = 3,
        selection: str = "ml",
        nugget: float | None = 0.0,
        shortest: float | None = SHORTEST,
        longest: float = LONGEST,
    ) -> None:
        super().__init__(smoothness, n_starts, selection, shortest, longest)
        if nugget is not None and not 0.0 <= nugget < np.inf:
            raise ValueError(
                f"nugget must be at least 0 and finite, or None to learn it, got {plain(nugget)}"
            )
        if nugget is None and lengthscales is not None:
            raise ValueError(
                "nugget must be a number where lengthscales are given, got None: both are learned together"
            )
        if mean is not None and not np.isfinite(mean):
            raise ValueError(f"mean must be a finite number or None, got {plain(mean)}")
        if variance is not None and not 0.0 < variance < np.inf:
            raise ValueError(f"variance must be a positive number or None, got {plain(variance)}")
        self.lengthscales, self.mean, self.variance, self.nugget = lengthscales, mean, variance, nugget
