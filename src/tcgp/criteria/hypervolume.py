"""Several objectives: the expected gain of the volume that a front dominates.

For independent laws it is exact: with boxes ``(l, u]`` that fill what the front does not dominate, and
``I_j(c) = E[(c - Y_j)_+]``, it is ``sum over boxes of prod over j of [I_j(u_j) - I_j(l_j)]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcgp._threads import cached_property
from tcgp._typing import FloatArray, IntArray
from tcgp.criteria import formulas
from tcgp.criteria.base import PredictiveModel
from tcgp.front.volume import boxes
from tcgp.laws.tabulated import tabulated

__all__ = ["LogExpectedHypervolumeImprovement", "probability_of_non_dominance"]

MOST = 1_000_000  # products, of points and boxes, at a time


@dataclass(frozen=True)
class LogExpectedHypervolumeImprovement:
    """Logarithm of the expected gain of the volume that a front dominates, up to a reference.

    Exact for any independent laws. Units of the objectives only add a constant.

    Attributes
    ----------
    models : sequence of PredictiveModel
        One for each of the m objectives.
    front : array of shape (k, m)
    reference : array of shape (m,)

    References
    ----------
    .. [1] M. Emmerich, K. Yang, A. Deutz, H. Wang and C. Fonseca, "A multicriteria generalization of Bayesian global
       optimization", in Advances in Stochastic and Deterministic Global Optimization, Springer, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> from tcgp.criteria import LogExpectedHypervolumeImprovement
    >>> X = np.linspace(0.0, 1.0, 5)[:, None]
    >>> models = [tcgp.fit_model(X, (X[:, 0] - c) ** 2, "gp") for c in (0.2, 0.8)]
    >>> front = np.array([[0.0, 0.4], [0.4, 0.0]])
    >>> criterion = LogExpectedHypervolumeImprovement(models, front, np.array([0.5, 0.5]))
    >>> np.exp(criterion(np.array([[0.5], [1.0]]))).round(2)
    array([0.1, 0. ])
    """

    models: Sequence[PredictiveModel]
    front: FloatArray
    reference: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Values (n,) at the rows of X; -inf where no gain is possible."""
        logs = []
        for model, edges in zip(self.models, self._edges, strict=True):
            mean, sd = (part[:, None] for part in model.predict_arrays(X))
            log_i = formulas.log_expected_improvement(mean, sd, tabulated(model.law), edges.levels)
            logs.append(edges.differences(log_i)[0])
        parts = self._parts(len(X))
        return np.concatenate([_log_sum(self._products([log[part] for log in logs]))[0] for part in parts])

    def value_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (n,) and gradients (n, d); the gradient is zero where there is none."""
        predictions = [model.predict_slopes(X) for model in self.models]
        sides = [
            edges.slopes(mean[:, None], sd[:, None], model)
            for model, edges, (mean, sd, _) in zip(self.models, self._edges, predictions, strict=True)
        ]
        values, derivatives = np.empty(len(X)), np.empty((len(sides), 2, len(X)))  # by mean, by sd
        for part in self._parts(len(X)):
            values[part], weights = _log_sum(self._products([log[part] for log, _, _ in sides]))
            for edges, (_, *by_edge), by in zip(self._edges, sides, derivatives, strict=True):
                for i in (0, 1):
                    by[i, part] = np.einsum("nb,nb->n", weights, by_edge[i][part][:, edges.of_box])
        derivatives[:, :, ~np.isfinite(values)] = 0.0
        gradients = [slopes(*by) for (_, _, slopes), by in zip(predictions, derivatives, strict=True)]
        return values, formulas.without_undefined(np.sum(gradients, axis=0))

    @cached_property
    def _edges(self) -> list[_Edges]:
        lower, upper = boxes(self.front, self.reference)
        return [_Edges.of(low, high) for low, high in zip(lower.T, upper.T, strict=True)]

    def _products(self, logs: Sequence[FloatArray]) -> FloatArray:
        """Logarithms of what each box contributes, (n, b)."""
        terms = [log[:, edges.of_box] for log, edges in zip(logs, self._edges, strict=True)]
        return np.asarray(np.sum(terms, axis=0))

    def _parts(self, n: int) -> list[slice]:
        """Slices of rows that are computed together."""
        size = max(MOST // len(self._edges[0].of_box), 1)
        return [slice(start, start + size) for start in range(0, max(n, 1), size)]


@dataclass(frozen=True)
class _Edges:
    """Where boxes begin and end in one objective.

    Attributes
    ----------
    levels : array of shape (k,)
        The finite ends, in order.
    low, high : arrays of int of shape (p,)
        Of each pair of ends that a box has, the places among the levels; -1 for a box without a lower end.
    of_box : array of int of shape (b,)
        The pair of each box.
    """

    levels: FloatArray
    low: IntArray
    high: IntArray
    of_box: IntArray

    @classmethod
    def of(cls, lower: FloatArray, upper: FloatArray) -> _Edges:
        levels = np.unique(np.append(lower[np.isfinite(lower)], upper))
        low = np.where(np.isfinite(lower), np.searchsorted(levels, lower), -1)
        ends = np.column_stack([low, np.searchsorted(levels, upper)])
        pairs, of_box = np.unique(ends, axis=0, return_inverse=True)
        return cls(levels, pairs[:, 0], pairs[:, 1], of_box.reshape(-1))

    def differences(self, log_i: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log [I(u) - I(l)] of each pair, (n, p), from log I of the levels; and the ratios I(l) / I(u)."""
        upper = log_i[:, self.high]
        with np.errstate(invalid="ignore", divide="ignore"):
            drop = np.where(self.low < 0, -np.inf, log_i[:, self.low] - upper)
            drop[np.isnan(drop)] = -np.inf  # both are zero
            return upper + np.log(-np.expm1(np.minimum(drop, 0.0))), np.exp(drop)

    def slopes(
        self, mean: FloatArray, sd: FloatArray, model: PredictiveModel
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log [I(u) - I(l)] of each pair, (n, p), and its derivatives with respect to the mean and the sd.

        With ``rho = F / g``: those of log I are ``-rho / sd`` and ``(1 - a rho) / sd``.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = (self.levels - mean) / sd
            log_g, rho = tabulated(model.law).log_improvement_and_slope(np.where(sd > 0.0, a, 0.0))
            log_i = np.where(sd > 0.0, np.log(sd) + log_g, np.log(np.maximum(self.levels - mean, 0.0)))
            logs, ratio = self.differences(log_i)
            by_mean, by_sd = (
                (slope[:, self.high] - np.where(self.low < 0, 0.0, ratio * slope[:, self.low]))
                / (1.0 - ratio)
                for slope in (-rho / sd, (1.0 - a * rho) / sd)
            )
        # An interval of probability 0 has no weight, but its slope must be a number.
        by_mean, by_sd = (np.where(np.isfinite(slope), slope, 0.0) for slope in (by_mean, by_sd))
        return logs, by_mean, by_sd


def _log_sum(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithm of the sum of each row, given logarithms, and the shares of its terms."""
    largest = logs.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        terms = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        total = terms.sum(axis=1, keepdims=True)
        return (largest + np.log(total))[:, 0], terms / total


def probability_of_non_dominance(
    models: Sequence[PredictiveModel], X: FloatArray, front: FloatArray, reference: FloatArray
) -> FloatArray:
    """Predictive probability that no row of the front dominates the values, which are below the reference, (n,).

    It is ``sum over boxes of prod over j of [F_j(u_j) - F_j(l_j)]``.
    """
    lower, upper = boxes(front, reference)
    product = np.ones((len(X), len(lower)))
    for model, low, high in zip(models, lower.T, upper.T, strict=True):
        mean, sd = (part[:, None] for part in model.predict_arrays(X))
        F_high, F_low = (formulas.probability_of_improvement(mean, sd, model.law, c) for c in (high, low))
        product *= F_high - F_low
    return np.asarray(product.sum(axis=1))
