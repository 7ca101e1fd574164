"""Augmented expected improvement, for noisy evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcgp._typing import FloatArray
from tcgp.criteria import formulas
from tcgp.criteria.base import Criterion, PredictiveModel
from tcgp.criteria.criteria import LogExpectedImprovement
from tcgp.laws.base import Improvement

if TYPE_CHECKING:
    from tcgp.models import Model

__all__ = ["LogAugmented", "LogAugmentedImprovement"]


@dataclass(frozen=True)
class LogAugmentedImprovement:
    """Logarithm of the augmented expected improvement [1]_.

        AEI(x) = EI(x) (1 - tau / sqrt(sd(x)^2 + tau^2)),

    where EI is for the noiseless function, below ``best``, the prediction at the evaluated point that is best with some
    certainty. The factor is small where the function is known more precisely than one more evaluation would measure it.
    Without noise it is 1.

    Attributes
    ----------
    model : PredictiveModel
        Of the noiseless function.
    best : float
    noise : float
        Standard deviation tau of the noise of an evaluation.
    improvement : Improvement, optional
        Replaces the model's law, for instance a table of it.

    References
    ----------
    .. [1] D. Huang, T. T. Allen, W. I. Notz and N. Zeng, "Global optimization of stochastic black-box systems via
       sequential kriging meta-models", Journal of Global Optimization 34, 441-466 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.criteria import LogAugmentedImprovement
    >>> from tcgp.laws import Normal
    >>> class Known:  # the mean is 0, and the standard deviation x
    ...     law = Normal()
    ...
    ...     def predict_arrays(self, X):
    ...         return np.zeros(len(X)), X[:, 0]
    >>> X = np.array([[0.1], [1.0]])
    >>> np.exp(LogAugmentedImprovement(Known(), best=0.0, noise=1.0)(X)).round(4)
    array([0.0002, 0.1168])
    """

    model: PredictiveModel
    best: float
    noise: float
    improvement: Improvement | None = None

    def __call__(self, X: FloatArray) -> FloatArray:
        """Log AEI at the rows of X, of shape (m,); -inf where nothing is left to learn."""
        mean, sd = self.model.predict_arrays(X)
        law = self.improvement or self.model.law
        return formulas.log_expected_improvement(mean, sd, law, self.best) + _log_share(sd, self.noise)[0]

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log AEI (m,) and its gradient (m, d), which is zero where log AEI is not differentiable."""
        mean, sd, slopes = self.model.predict_slopes(X)
        log_ei = LogExpectedImprovement(self.model, self.best, self.improvement)
        value, by_mean, by_sd = log_ei.derivatives(mean, sd)
        log_share, slope = _log_share(sd, self.noise)
        with np.errstate(invalid="ignore", over="ignore"):
            return value + log_share, formulas.without_undefined(slopes(by_mean, by_sd + slope))


@dataclass(frozen=True)
class LogAugmented:
    """A logarithmic criterion times the shares of uncertainty that one more evaluation would remove.

    With several models it is the geometric mean of their shares.

    Attributes
    ----------
    criterion : Criterion
    models : sequence of Model
        Their ``noise`` is that of an evaluation.
    """

    criterion: Criterion
    models: Sequence[Model]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Values at the rows of X, of shape (m,)."""
        shares = [_log_share(model.predict_arrays(X)[1], model.noise)[0] for model in self.models]
        return np.asarray(self.criterion(X) + np.mean(shares, axis=0))

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, d)."""
        value, gradient = self.criterion.value_and_gradient(X)
        for model in self.models:
            _, sd, slopes = model.predict_slopes(X)
            log_share, slope = _log_share(sd, model.noise)
            value = value + log_share / len(self.models)
            gradient = gradient + slopes(np.zeros_like(sd), slope / len(self.models))
        return value, gradient


def _log_share(sd: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Logarithm of 1 - tau / sqrt(sd^2 + tau^2), and its derivative with respect to sd, zero where sd is.

    With r = sqrt(sd^2 + tau^2) the share is sd^2 / (r (r + tau)): no difference of nearly equal numbers.
    """
    r = np.hypot(sd, tau)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_share = np.where(tau == 0.0, 0.0, 2.0 * np.log(sd) - np.log(r) - np.log(r + tau))
        slope = np.where(sd > 0.0, tau * (r + tau) / (r**2 * sd), 0.0)
    return log_share, slope
