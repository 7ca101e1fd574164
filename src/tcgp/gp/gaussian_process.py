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

    The mean, the variance and the lengthscales are selected by maximum likelihood. The first two have closed
    forms given the lengthscales, so only d numbers are searched, with exact gradients.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2: the covariance of a process differentiable p times. The paper uses 2.
    lengthscales : float or (d,) array, optional
        Held at this value (in the units of X) instead of selected.
    mean, variance : float, optional
        Held at this value (in the units of y) instead of selected.
    n_starts : int
        Largest number of full descents of the likelihood when there is no warm start.
    selection : {"ml", "map", "pooled", "reml"}
        What selects the lengthscales: the likelihood; the likelihood times a prior, by which lengthscales are
        independent, or about a level they share (for few data, or many parameters); or the restricted likelihood,
        that of the contrasts of the data, in which the unknown mean costs a degree of freedom.
    prior : (float, float), optional
        With ``"map"``: mean and variance of the log-lengthscales, in units of the box. By default
        ``sqrt 2 + log(d) / 2`` and 3.
    nugget : float or None
        Ripples too short to be resolved, as a variance of their own in units of the process variance. 0
        interpolates. None learns it with the lengthscales: the process then runs smoothly between the data.
        `predict` gives the smooth part; `leave_one_out` predicts the data, ripples included.
    shortest, longest : float
        Bounds of the selected lengthscales: the lower in units of the typical spacing of the data, ``n^(-1/d)`` of
        the box, the upper in units of the box.

    Attributes
    ----------
    lengthscales_ : (d,) array
    mean_, variance_, log_likelihood_ : float
    objective_ : float
        What the selection maximized: equals ``log_likelihood_`` with ``"ml"``.
    nugget_ : float
        The nugget, with what the Cholesky factorization needed: 0 unless the data are nearly dependent, or smoothed.
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
        prior: tuple[float, float] | None = None,
        nugget: float | None = 0.0,
        shortest: float = SHORTEST,
        longest: float = LONGEST,
    ) -> None:
        super().__init__(smoothness, n_starts, selection, prior, shortest, longest)
        if nugget is not None and not 0.0 <= nugget < np.inf:
            raise ValueError(
                f"nugget must be at least 0 and finite, or None to learn it, got {plain(nugget)}"
            )
        self.lengthscales, self.mean, self.variance, self.nugget = lengthscales, mean, variance, nugget
