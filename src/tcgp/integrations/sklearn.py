"""Tail-calibrated regression as a scikit-learn estimator."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike, Bounds, FloatArray
from tcgp.methods.fit import fit_model
from tcgp.models import Prediction

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.sklearn needs scikit-learn 1.6 or later: pip install 'scikit-learn>=1.6'"
    ) from error

__all__ = ["TailCalibratedRegressor"]


class TailCalibratedRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process interpolation with predictive distributions calibrated below a low threshold.

    The predicted frequency and size of values below the threshold agree with leave-one-out predictions.

    Parameters
    ----------
    method : str
        Method; see `tcgp.fit_model`. The default is the method of the paper. ``"auto"`` is tcGP, reGP, the
        additive or the rotated tcGP, whichever predicts left-out low values best.
    delta : float, optional
        Level of the quantile of y that is used as threshold. The default depends on the method (0.05 for most).
    smoothness : {0, 1, 2, 3}
        Integer p of the Matérn covariance with nu = p + 1/2.
    bounds : (d, 2) array, optional
        Bounds of the inputs; the range of the data by default.
    options : mapping, optional
        Further options of the method; see `tcgp.fit_model`.
    random_state : int, RandomState or None
        Used by randomized methods: ``"bcrgp"``, and ``search="paper"``.
    noise : bool or float
        Whether y has noise: False, True (its standard deviation is learned) or its standard deviation; see
        `tcgp.fit_model`. Predictions are then about the function without noise.

    Attributes
    ----------
    model_ : tcgp.Model
        The fitted model.
    threshold_ : float
        Threshold below which the model is calibrated.
    law_ : tcgp.laws.Law
        Distribution of the standardized residuals; a generalized normal law has ``beta`` and ``scale``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Defined if X has feature names.

    Notes
    -----
    Without ``noise`` the values y are assumed to be exact. If equal rows of X have different values, their mean is
    interpolated.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.integrations.sklearn import TailCalibratedRegressor
    >>> X = np.linspace(0.0, 1.0, 15)[:, None]
    >>> regressor = TailCalibratedRegressor().fit(X, np.sin(6.0 * X[:, 0]))
    >>> mean, std = regressor.predict([[0.52]], return_std=True)
    >>> regressor.predict_quantiles([[0.52]], [0.05, 0.95]).shape
    (1, 2)
    """

    def __init__(
        self,
        method: str = "tcgp",
        *,
        delta: float | None = None,
        smoothness: int = 2,
        bounds: Bounds | None = None,
        options: dict[str, Any] | None = None,
        random_state: Any = None,
        noise: bool | float = False,
    ) -> None:
        self.method = method
        self.delta = delta
        self.smoothness = smoothness
        self.bounds = bounds
        self.options = options
        self.random_state = random_state
        self.noise = noise

    def fit(self, X: ArrayLike, y: ArrayLike) -> TailCalibratedRegressor:
        """Fit the model to data.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        self
        """
        points, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        if not self.noise:
            points, values = _average_duplicates(points, np.asarray(values, dtype=np.float64))
        if not isinstance(self.options, Mapping | None):
            raise ValueError(
                f"options must be a mapping from names to values or None, got {plain(self.options)}"
            )
        options = {"smoothness": self.smoothness, **(self.options or {})}
        if self.delta is not None:
            options["delta"] = self.delta
        rng = _generator(self.random_state)
        self.model_ = fit_model(
            points, values, self.method, bounds=self.bounds, rng=rng, noise=self.noise, **options
        )
        self.threshold_ = self.model_.threshold
        self.law_ = self.model_.law
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict the mean and, optionally, the standard deviation.

        Parameters
        ----------
        X : array of shape (m, d)
        return_std : bool
            Whether to return the standard deviations of the predictive distributions; infinite if the variance
            overflows.

        Returns
        -------
        mean : array of shape (m,)
        std : array of shape (m,)
            Only if ``return_std`` is True.
        """
        prediction = self.predict_distribution(X)
        if not return_std:
            return prediction.mean
        return prediction.mean, prediction.sd * np.sqrt(float(prediction.law.variance()))

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)) -> FloatArray:
        """Predict quantiles.

        Parameters
        ----------
        X : array of shape (m, d)
        quantiles : float or sequence of k floats
            Levels, in [0, 1].

        Returns
        -------
        array of shape (m, k), or (m,) for a single level
        """
        prediction = self.predict_distribution(X)
        try:
            levels = np.asarray(quantiles, dtype=np.float64)
        except (TypeError, ValueError):
            levels = np.array(np.nan)
        if levels.ndim > 1 or not ((levels >= 0.0) & (levels <= 1.0)).all():
            raise ValueError(
                f"quantiles must be a level between 0 and 1, or a sequence of them, got {plain(quantiles)}"
            )
        if levels.ndim == 0:
            return prediction.ppf(levels)
        return np.ascontiguousarray(prediction.ppf(levels[:, None]).T)

    def predict_distribution(self, X: ArrayLike) -> Prediction:
        """Return the predictive distributions as a `tcgp.Prediction`, with ``cdf``, ``ppf``, ``interval`` etc."""
        check_is_fitted(self)
        return self.model_.predict(validate_data(self, X, dtype=np.float64, reset=False))


def _average_duplicates(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Merge equal rows, in order of first appearance; average their values where they differ."""
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return X, y
    group = group.ravel()
    mean = np.bincount(group, weights=y) / np.bincount(group)
    agree = np.ones(len(first), dtype=bool)
    agree[group[y != y[first][group]]] = False
    merged = np.where(agree, y[first], mean)
    order = np.argsort(first)
    return X[first[order]], merged[order]


def _generator(random_state: Any) -> np.random.Generator:
    """Convert a scikit-learn random state to a generator; a fit advances a RandomState or a Generator, no seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    if isinstance(random_state, numbers.Integral):
        return np.random.default_rng(int(random_state))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise ValueError(f"random_state must be None, an integer or a RandomState, got {plain(random_state)}")
