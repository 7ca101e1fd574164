"""Tail-calibrated regression as a scikit-learn estimator, and a search of hyperparameters."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tcgp._text import plain
from tcgp._typing import ArrayLike, Bounds, FloatArray
from tcgp.integrations._host import Campaign, Parameter, Parameters, check_names, choice
from tcgp.methods.fit import fit_model
from tcgp.models import Prediction
from tcgp.optimizer import Optimizer, SpaceExhausted, check_positive_integer
from tcgp.space import Categorical, Integer, Real

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.sklearn needs scikit-learn 1.6 or later: pip install 'scikit-learn>=1.6'"
    ) from error

__all__ = ["TailCalibratedRegressor", "TcgpSearchCV"]


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


class TcgpSearchCV(BaseSearchCV):
    """Search of hyperparameters by cross-validation, with Bayesian optimization.

    Parameters
    ----------
    estimator : estimator
    param_distributions : mapping
        From names of parameters to SciPy distributions, lists of values (numbers are ordered), or `tcgp.Real`,
        `tcgp.Integer` and `tcgp.Categorical`.
    n_iter : int
        Number of candidates.
    batch_size : int
        Candidates that are evaluated together after the initial design: with ``n_jobs``, as many as keep it busy.
    noise : bool or float
        Noise of the scores; see `tcgp.minimize`. True learns it: then a candidate may be evaluated again.
    settings : mapping, optional
        Further arguments of `tcgp.Optimizer`, such as ``{"method": "tcgp"}`` or ``{"n_initial": 8}``.
    random_state : int, RandomState or None
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn's ``RandomizedSearchCV``. If there are several scores, ``refit`` names the one to maximize.

    Attributes
    ----------
    optimizer_ : tcgp.Optimizer
        The search: ``optimizer_.result()`` has the candidate with the best predicted score.
    cv_results_, best_params_, best_score_, best_estimator_, ...
        As in ``RandomizedSearchCV``. Candidates all of whose fits failed are the last rows of ``cv_results_``.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from tcgp.integrations.sklearn import TcgpSearchCV
    >>> space = {"C": loguniform(1e-3, 1e3), "kernel": ["rbf", "linear"]}
    >>> search = TcgpSearchCV(SVC(), space, n_iter=8, random_state=0).fit(*load_iris(return_X_y=True))
    >>> len(search.cv_results_["params"]), bool(search.best_score_ > 0.95)
    (8, True)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        n_iter: int = 30,
        batch_size: int = 1,
        noise: Any = True,
        settings: Mapping[str, Any] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.noise = noise
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> TcgpSearchCV:
        """Search, and fit the best candidate to all data, as ``RandomizedSearchCV`` does."""
        self._failed: list[dict[str, Any]] = []
        super().fit(X, y, **params)
        for candidate in self._failed:
            _append_failure(self.cv_results_, candidate)
        return self

    def _run_search(
        self, evaluate_candidates: Callable[[Sequence[dict[str, Any]]], Mapping[str, Any]]
    ) -> None:
        check_positive_integer("n_iter", self.n_iter)
        check_positive_integer("batch_size", self.batch_size)
        settings = dict(self.settings or {})
        check_names(
            type(self).__name__, settings, ("space", "objective", "maximize", "noise", "rng", "journal")
        )
        parameters = Parameters(
            {name: _dimension(name, given) for name, given in self.param_distributions.items()}, named=True
        )
        campaign = Campaign(
            parameters,
            rng=_generator(self.random_state),
            n_evals=self.n_iter,
            maximize=True,
            noise=self.noise,
            **settings,
        )
        self.optimizer_: Optimizer = campaign.optimizer
        first = min(self.optimizer_.settings.n_initial or 1, self.n_iter)
        n_scored = 0
        while (done := len(self.optimizer_.evaluations)) < self.n_iter:
            points = self._propose(min(self.batch_size if done else first, self.n_iter - done))
            if not points:
                warnings.warn(
                    f"the space has {done} candidates, fewer than n_iter={self.n_iter}", stacklevel=3
                )
                return
            scores = self._scores(evaluate_candidates, [parameters.values_at(x) for x in points], n_scored)
            n_scored += 0 if scores is None else len(scores)
            for x, score in zip(points, scores or [math.nan] * len(points), strict=True):
                failed = "a fit failed" if math.isnan(score) else None
                self.optimizer_.tell(x, None if failed else score, reason=failed)

    def _scores(
        self,
        evaluate_candidates: Callable[[Sequence[dict[str, Any]]], Mapping[str, Any]],
        candidates: list[dict[str, Any]],
        n_scored: int,
    ) -> list[float] | None:
        """The scores of candidates; None if all their fits failed, where others before them have scores."""
        try:
            results = evaluate_candidates(candidates)
        except ValueError as error:
            if not n_scored or "fits failed" not in str(error):
                raise
            warnings.warn(str(error), FitFailedWarning, stacklevel=4)
            self._failed += candidates
            return None
        return list(results[self._score_name(results)][n_scored:].tolist())

    def _propose(self, n: int) -> list[Any]:
        """At most n new points; fewer where a finite space has no more."""
        points: list[Any] = []
        for _ in range(n):
            try:
                points.append(self.optimizer_.propose().x)
            except SpaceExhausted:
                break
        return points

    def _score_name(self, results: Mapping[str, Any]) -> str:
        if "mean_test_score" in results:
            return "mean_test_score"
        if not isinstance(self.refit, str):
            raise ValueError(
                f"refit must name the score to maximize, as there are several, got {self.refit!r}"
            )
        return f"mean_test_{self.refit}"


def _append_failure(results: dict[str, Any], candidate: Mapping[str, Any]) -> None:
    """Add a row without scores and times, ranked last."""
    for key, column in results.items():
        if key == "params":
            column.append(dict(candidate))
        elif key.startswith("param_"):
            value = np.empty(1, dtype=object)  # which may be a tuple
            value[0] = candidate[key.removeprefix("param_")]
            of_objects = column.dtype == object
            results[key] = np.ma.MaskedArray(np.append(column.data, value if of_objects else value.tolist()))
        elif key.startswith("rank_"):
            results[key] = np.append(column, np.array(column.max() + 1, dtype=column.dtype))
        else:
            results[key] = np.append(column, np.nan)


def _dimension(name: str, given: Any) -> Parameter:
    """Return the dimension that represents a distribution, a list of values, or a dimension of ours."""
    if isinstance(given, Real | Integer | Categorical):
        return Parameter(given)
    if not hasattr(given, "rvs"):
        if isinstance(given, tuple | str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
            raise ValueError(
                f"the parameter {name!r} must have a SciPy distribution, a list of values, or a tcgp.Real, "
                f"tcgp.Integer or tcgp.Categorical, got {given!r}"
            )
        values = list(given)
        return choice(
            values, ordered=all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values)
        )
    low, high = map(float, given.support())
    if hasattr(given, "pmf"):
        if not math.isfinite(high - low):
            raise ValueError(f"the distribution of {name!r} must have finitely many values, got {given!r}")
        return Parameter(Integer(int(low), int(high)))
    kind = given.dist.name
    if kind in ("uniform", "reciprocal", "loguniform"):
        return Parameter(Real(low, high, log=kind != "uniform"))
    # Any other one by its quantiles, the outermost thousandths left out.
    return Parameter(Real(0.001, 0.999), given.cdf, partial(_quantile, given))


def _quantile(distribution: Any, level: float) -> float:
    return float(distribution.ppf(level))


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
