"""Noiseless Gaussian process interpolation, or smoothing, with selected hyperparameters."""

from __future__ import annotations

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike
from tcgp.gp.additive import Additive
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.product import Product
from tcgp.gp.rotated import Rotated
from tcgp.gp.selection import LONGEST, SHORTEST

__all__ = ["COVARIANCES", "GaussianProcess"]

COVARIANCES: dict[str, type[Product]] = {"product": Product, "additive": Additive, "rotated": Rotated}


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
    n_starts : int, optional
        Largest number of full descents of the likelihood when there is no warm start: 3, or 2 where the covariance has
        a prior of its own.
    selection : {"ml", "pooled"}
        How lengthscales are fitted: by maximum likelihood (``"ml"``); or near a common level (``"pooled"``, for few
        data or many parameters). Other covariances than a product have priors of their own.
    nugget : float or None
        Variance of ripples too short to be resolved, in units of the process variance. 0 interpolates. None fits it
        with the lengthscales, and the process smooths the data. `predict` gives the smooth part; `leave_one_out`
        predicts the data, including ripples.
    shortest : float or None
        Shortest lengthscale that may be selected, in units of the typical spacing of the data, ``n^(-1/d)`` of the box.
        None: so long that a hundredth of a point is expected within it, and at least 0.1.
    longest : float
        Longest one, in units of the box.
    covariance : {"product", "additive", "rotated"}
        A product over all coordinates; a weighted sum of such a product and of a function of each coordinate, for
        functions that are nearly sums; or a function of linear combinations of the coordinates, for valleys oblique to
        the axes. ``start`` is then ``parameters_`` of an earlier fit.

    Attributes
    ----------
    lengthscales_ : (d,) array
        For another covariance than a product: those of a similar product.
    parameters_ : array or None
        Parameters of such a covariance: the lengthscales of the product and of single coordinates, and the weights of
        these; or the lengthscales and links of linear combinations.
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
        n_starts: int | None = None,
        selection: str = "ml",
        nugget: float | None = 0.0,
        shortest: float | None = SHORTEST,
        longest: float = LONGEST,
        covariance: str = "product",
    ) -> None:
        if covariance not in COVARIANCES:
            raise ValueError(
                f"covariance must be one of {', '.join(map(repr, COVARIANCES))}, got {plain(covariance)}"
            )
        if covariance != "product":
            selection = "pooled"
        if n_starts is None:
            n_starts = 3 if covariance == "product" else 2
        super().__init__(smoothness, n_starts, selection, shortest, longest)
        self.covariance, self._form = covariance, COVARIANCES[covariance]
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
