"""Relaxed Gaussian process interpolation (reGP): exact below a threshold, free above it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from tcgp._typing import BoolArray, FloatArray
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.likelihood import ConcentratedLikelihood, Prior, evenly
from tcgp.gp.posterior import EPSILON, Factorization, Posterior, factorize, solve_mean
from tcgp.gp.selection import LONGEST_RELAXED, SHORTEST, selection_prior
from tcgp.gp.units import Units

__all__ = ["RelaxedGaussianProcess", "RelaxedLikelihood"]

logger = logging.getLogger("tcgp")

_MAX_PIVOTS = 60
_MAX_STEPS = 1000
_ROUGH_PIVOTS = 3
# The variance of the solution is known to a quarter where K is nearly singular (against 60 digits): one that the
# rounding of relaxed values has made larger by more than this factor is not kept.
_LARGER = 1.5


class RelaxedLikelihood(ConcentratedLikelihood):
    """Likelihood of the completed data, the relaxed values at their optimum given the lengthscales.

    Minimizing ``(v - m0)' K^-1 (v - m0)`` over m0 and the relaxed values ``y >= t`` is a convex quadratic
    program. Its solution makes ``a = K^-1 (v - m0)`` zero where a relaxed value is free and nonnegative where
    it sits at the bound t, so it is found by moving points between those two sets: one small Cholesky
    factorization a move. Many points are moved at once, which is quick but may cycle where K is nearly singular; then
    points are held one after another, which cannot cycle.

    By the envelope theorem the gradient with respect to the lengthscales is the one of
    the plain likelihood at that solution (variable projection), so d numbers are searched instead of d + n.
    """

    takes_nugget = False

    def __init__(
        self,
        X: FloatArray,
        z: FloatArray,
        p: int,
        threshold: float,
        *,
        prior: Prior | None = None,
    ) -> None:
        super().__init__(X, z, p, prior=prior)
        self.optima = "many" if prior is None else "some"
        self.threshold = threshold
        self.relaxed = z > threshold
        self._free = self.relaxed.copy()  # the last solution's free set: the next one is usually close
        self._max_pivots = _MAX_PIVOTS
        self._is_hard = False  # whether the pivots of the last solution did not settle

    def part(self, m: int) -> RelaxedLikelihood:
        """The same likelihood of m of the data. Those below the threshold say most: they are half, or all there are."""
        exact, relaxed = np.flatnonzero(~self.relaxed), np.flatnonzero(self.relaxed)
        exact = evenly(exact, max(m // 2, m - len(relaxed)))
        rows = np.sort(np.concatenate([exact, evenly(relaxed, m - len(exact))]))
        return RelaxedLikelihood(self.X[rows], self.z[rows], self.p, self.threshold, prior=self.prior)

    def rough_value(self, theta: FloatArray) -> float:
        """An upper bound of the NLL: its feasible but not yet optimal values come from a few pivots."""
        self._max_pivots = _ROUGH_PIVOTS
        try:
            return self.value(theta)
        finally:
            self._max_pivots = _MAX_PIVOTS

    def complete(self, theta: FloatArray) -> FloatArray:
        """The data, with the relaxed values at their optimum given the log-lengthscales."""
        K = self.correlation_matrix(theta)
        return self.project(K, factorize(K))[0]

    def solution(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """The completed data given the log-lengthscales, ``a``, and the variance that makes them likeliest."""
        K = self.correlation_matrix(theta)
        completed, a, quadratic = self._solution(K, factorize(K))
        return completed, a, quadratic / self.n

    def _solve(self, K: FloatArray, factor: Factorization) -> tuple[FloatArray, float]:
        _, a, quadratic = self._solution(K, factor)
        return a, quadratic

    def _solution(self, K: FloatArray, factor: Factorization) -> tuple[FloatArray, FloatArray, float]:
        completed, a, converged = self.project(K, factor)
        if not converged:  # a bound from above: the completed vector is feasible
            _, a, quadratic = solve_mean(factor, completed)
            return completed, a, quadratic
        return completed, a, float(completed @ a)  # the mean drops out: 1'a = 0

    def project(self, K: FloatArray, factor: Factorization) -> tuple[FloatArray, FloatArray, bool]:
        """Completed values, ``a``, and whether the optimality conditions hold (block principal pivoting)."""
        t, relaxed = self.threshold, self.relaxed
        K = _symmetric(K, factor.nugget)
        # The smallest pivot is about the inverse of the condition number: what a and the values are known to.
        tolerance = max(1e-10, EPSILON / float(factor.L.diagonal().min()) ** 2)
        values = np.where(relaxed, t, self.z)
        settled = None if self._is_hard else self._pivot(K, values, tolerance)
        if settled is None and self._max_pivots == _MAX_PIVOTS:
            self._is_hard = True
            settled = _hold(K, values, relaxed, ~self._free, tolerance * (1.0 + abs(t)))
        if settled is None:
            completed, a = _solve_given_free(K, values, self._free)
            return np.where(relaxed, np.maximum(completed, t), completed), a, False
        completed, a, self._free = settled
        is_known = not (
            self._is_hard and factor.nugget
        )  # else a and the quadratic form are little but rounding
        return np.where(relaxed, np.maximum(completed, t), completed), a, is_known

    def _pivot(
        self, K: FloatArray, values: FloatArray, tolerance: float
    ) -> tuple[FloatArray, FloatArray, BoolArray] | None:
        """Completed values, ``a`` and the free set by block principal pivoting; None if they do not settle."""
        t, relaxed, free = self.threshold, self.relaxed, self._free
        fewest, patience = self.n + 1, 3
        for _ in range(self._max_pivots):
            completed, a = _solve_given_free(K, values, free)
            scale = float(np.abs(a).max())
            below = free & (completed < t - tolerance * (1.0 + abs(t)))
            pulled = relaxed & ~free & (a < -tolerance * scale)
            wrong = below | pulled
            count = int(wrong.sum())
            if not count:
                return completed, a, free
            if count < fewest:
                fewest, patience = count, 3
            elif patience:
                patience -= 1
            else:  # moving one point at a time cannot cycle (Murty's rule)
                last = int(np.flatnonzero(wrong)[-1])
                wrong = np.zeros_like(wrong)
                wrong[last] = True
            free = free ^ wrong
        return None


def _hold(
    K: FloatArray, values: FloatArray, relaxed: BoolArray, held: BoolArray, tolerance: float
) -> tuple[FloatArray, FloatArray, BoolArray] | None:
    """Completed values, ``a`` and the free set by holding ever more relaxed values at the bound.

    The dual of the program is to maximize ``values'a - a'K a / 2`` with ``1'a = 0`` and a nonnegative where values are
    relaxed: nonnegative least squares, solved as by Lawson and Hanson. Its value grows with every step, so that no
    set of held points comes twice.
    """
    held = held.copy()
    while True:  # a first point that is feasible
        completed, a = _solve_given_free(K, values, ~held)
        negative = relaxed & held & (a < 0.0)
        if not negative.any():
            break
        held[negative] = False
    for _ in range(_MAX_STEPS):
        gaps = np.where(relaxed & ~held, values - completed, 0.0)
        worst = int(np.argmax(gaps))
        if gaps[worst] <= tolerance:
            return completed, a, ~held
        held[worst] = True
        before = a
        while True:
            completed, a = _solve_given_free(K, values, ~held)
            below = np.flatnonzero(relaxed & held & (a < 0.0))
            if not len(below):
                break
            steps = before[below] / (before[below] - a[below])
            before = before + float(steps.min()) * (a - before)
            dropped = below[steps <= steps.min()]
            if worst in dropped:  # it would have to be held and cannot: rounding decides from here on
                held[dropped] = False
                return (*_solve_given_free(K, values, ~held), ~held)
            held[dropped] = False
    return None


def _symmetric(K: FloatArray, nugget: float) -> FloatArray:
    """Full matrix from its lower triangle (the upper one is zero), with the nugget that its factor needed.

    All pivots must see one matrix: with nuggets of their own the blocks of a nearly singular K contradict each other,
    and the pivots go round in circles.
    """
    full: FloatArray = K + K.T
    full.ravel()[:: len(K) + 1] = 1.0 + nugget
    return full


def _solve_given_free(K: FloatArray, values: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Predict the free values from the others: the completed vector, and ``a``, which is zero where free."""
    held = np.flatnonzero(~free)
    K_held = K[np.ix_(held, held)].T  # symmetric: the transpose only sets the memory order
    rhs = np.empty((len(held), 2), order="F")
    rhs[:, 0], rhs[:, 1] = 1.0, values[held]
    nugget = 0.0
    while True:
        L, info = dpotrf(K_held, lower=1)
        if info == 0:
            break
        nugget = max(10.0 * nugget, 1e-14)
        K_held = K_held + nugget * np.eye(len(held))
    solved = dpotrs(L, rhs, lower=1)[0]
    mean = float(solved[:, 0] @ rhs[:, 1] / solved[:, 0].sum())
    a = np.zeros(len(values))
    a[held] = solved[:, 1] - mean * solved[:, 0]
    completed = values.copy()
    completed[free] = mean + K[np.ix_(free, held)] @ a[held]
    return completed, a


class RelaxedGaussianProcess(Interpolator):
    """Gaussian process that interpolates below a threshold and is relaxed above it (reGP).

    Values above ``threshold`` are replaced by values that only have to stay above it, chosen with the
    lengthscales to maximize the likelihood. The model does not have to follow high values, and predicts
    better below the threshold.

    Parameters
    ----------
    threshold : float
        Values strictly above it are relaxed.
    smoothness : {0, 1, 2, 3}
        p in nu = p + 1/2.
    n_starts : int, optional
        Number of descents of the likelihood when there is no warm start: 4, or 2 with a prior. One is not enough: the
        likelihood of the completed data has poor local optima.
    selection, shortest
        As in `GaussianProcess`.
    longest : float
        Longest lengthscale, in units of the box: 10. With few exact values the relaxed ones can follow ever smoother
        functions. The likelihood then grows with the lengthscales until rounding stops it, and has no optimum.

    Attributes
    ----------
    relaxed_values_ : (n,) array
        The completed data: ``y_`` up to the threshold, the relaxed values above it.
    lengthscales_, mean_, variance_, log_likelihood_, nugget_, X_, y_
        As in `GaussianProcess`; the likelihood is the one of the completed data.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp import RelaxedGaussianProcess
    >>> X = np.linspace(-2.0, 2.0, 12)[:, None]
    >>> y = X[:, 0] ** 8
    >>> model = RelaxedGaussianProcess(threshold=1.0).fit(X, y)
    >>> bool(np.all(model.relaxed_values_[y > 1.0] >= 1.0))
    True

    References
    ----------
    Petit, S. J., Bect, J. and Vazquez, E. (2025). Relaxed Gaussian process interpolation: a goal-oriented
    approach to Bayesian optimization. Journal of Machine Learning Research, 26(195).
    """

    _exact = "values up to the threshold"

    def __init__(
        self,
        threshold: float,
        *,
        smoothness: int = 2,
        n_starts: int | None = None,
        selection: str = "ml",
        shortest: float | None = SHORTEST,
        longest: float = LONGEST_RELAXED,
    ) -> None:
        if n_starts is None:
            n_starts = 4 if selection_prior(selection) is None else 2
        super().__init__(smoothness, n_starts, selection, shortest, longest)
        if np.isnan(threshold):
            raise ValueError("threshold must be a number, got NaN")
        self.threshold = float(threshold)

    @property
    def relaxed_values_(self) -> FloatArray:
        self._check_fitted()
        return np.where(self.y_ > self.threshold, self.units_.y_from_unit(self.posterior_.z), self.y_)

    def _values_to_fit(self, y: FloatArray) -> FloatArray:
        # Values above the threshold are only known to be above it: far ones must not set the scale.
        ceiling = self.threshold + 2.0 * max(self.threshold - float(y.min()), 0.0)
        return np.minimum(y, ceiling)

    def _select(self, likelihood: ConcentratedLikelihood, **search: Any) -> tuple[FloatArray, Posterior]:
        # Where K is nearly singular, a from the relaxed values is mostly their rounding: the solution knows it better.
        theta, posterior = super()._select(likelihood, **search)
        assert isinstance(likelihood, RelaxedLikelihood)
        completed, a, variance = likelihood.solution(theta)
        if 0.0 < _LARGER * variance < posterior.variance:
            means = completed - posterior.correlation_with_data(posterior.X) @ a - posterior.factor.nugget * a
            mean = float(means[~likelihood.relaxed].mean())
            posterior = replace(posterior, z=completed, a=a, mean=mean, variance=variance)
        return theta, posterior

    def _likelihood(
        self, points: FloatArray, z: FloatArray, units: Units, **options: Any
    ) -> ConcentratedLikelihood:
        threshold = float(units.y_to_unit(np.asarray(self.threshold)))
        return RelaxedLikelihood(points, z, self.smoothness, threshold, prior=options["prior"])
