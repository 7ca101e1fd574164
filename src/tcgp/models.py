"""The named methods: an interpolator and a calibrated residual law make a predictive model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tcgp import calibration
from tcgp._bounds import check_bounds
from tcgp._typing import ArrayLike, Bounds, FloatArray, RandomState
from tcgp.criteria import formulas
from tcgp.gp import GaussianProcess, LeaveOneOut, RelaxedGaussianProcess
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.selection import LONGEST, SHORTEST
from tcgp.gp.units import check_data, check_lengthscales
from tcgp.laws import Law, Normal

__all__ = [
    "METHODS",
    "Member",
    "Model",
    "Prediction",
    "calibrate",
    "check_state",
    "fit_model",
    "member_options",
]

logger = logging.getLogger("tcgp")

# A warm start follows one optimum of the likelihood as data come in; a cold fit looks around each time the data
# have grown by this factor.
_COLD_FIT_GROWTH = 1.25
# Lengthscales are selected again at every new datum below n = 250, and at every k-th for n = 150 + 50 k: one datum
# among many hardly moves the optimum, and a selection costs ten times what all else does.
_REFIT_FROM, _REFIT_STEP = 150, 50


@dataclass(frozen=True)
class Prediction:
    """Predictive laws at m points: ``law`` shifted by ``mean`` and scaled by ``sd``.

    Where ``sd`` is zero (at a data point) the law is a point mass. Arguments broadcast against the points: a
    scalar, an array of shape (m,), or (k, 1) for k values at every point.

    Attributes
    ----------
    mean, sd : (m,) arrays
    law : Law
        The standardised residual law that all points share.
    """

    mean: FloatArray
    sd: FloatArray
    law: Law

    def cdf(self, z: ArrayLike) -> FloatArray:
        """Predictive probability of a value at most z."""
        return self.law.cdf(self._standardize(z))

    def logcdf(self, z: ArrayLike) -> FloatArray:
        """Logarithm of `cdf`, accurate in the far lower tail."""
        return self.law.logcdf(self._standardize(z))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Predictive quantile of level q."""
        quantile = np.asarray(self.law.ppf(q))
        with np.errstate(invalid="ignore", over="ignore"):  # values near the largest float
            return np.where(self.sd > 0.0, self.mean + self.sd * quantile, self.mean)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Central interval of probability ``level``: lower and upper ends, each of shape (m,)."""
        if not 0.0 <= level <= 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        return self.ppf(0.5 - 0.5 * level), self.ppf(0.5 + 0.5 * level)

    def sample(self, n: int, rng: RandomState = None) -> FloatArray:
        """Draw n values at each point, independently across points: shape (n, m)."""
        return self.ppf(np.random.default_rng(rng).random((n, len(self.mean))))

    def expected_improvement(self, best: float) -> FloatArray:
        """Expected improvement below ``best``."""
        return formulas.expected_improvement(self.mean, self.sd, self.law, best)

    def log_expected_improvement(self, best: float) -> FloatArray:
        """Logarithm of the expected improvement, finite where the improvement itself underflows."""
        return formulas.log_expected_improvement(self.mean, self.sd, self.law, best)

    def probability_of_improvement(self, best: float) -> FloatArray:
        """Predictive probability of a value at most ``best``."""
        return formulas.probability_of_improvement(self.mean, self.sd, self.law, best)

    def lower_confidence_bound(self, eps: float = 0.1) -> FloatArray:
        """Predictive quantile of level ``eps``: the paper's (1 - eps) lower confidence bound."""
        return formulas.lower_confidence_bound(self.mean, self.sd, self.law, eps)

    def _standardize(self, z: ArrayLike) -> FloatArray:
        return formulas.standardize(np.asarray(z, dtype=float), self.mean, self.sd)


@dataclass(frozen=True)
class Model:
    """A fitted predictive model: an interpolator and one residual law.

    Attributes
    ----------
    method : str
    interpolator : GaussianProcess or RelaxedGaussianProcess
        Gives location and scale, and holds the data.
    law : Law
        Residual law selected from the leave-one-out residuals.
    threshold : float
        Threshold below which the model is calibrated (relaxed above it, for reGP).
    weights : (n,) array
        Density-ratio weights of the data points, summing to one.
    leave_one_out : LeaveOneOut
        Leave-one-out predictions of the interpolator at the data points.
    n_selected : int
        Number of data when the lengthscales were last selected.
    """

    method: str
    interpolator: Interpolator
    law: Law
    threshold: float
    weights: FloatArray
    leave_one_out: LeaveOneOut
    n_selected: int = 0

    @property
    def X(self) -> FloatArray:
        """Data points (n, d), equal rows merged."""
        return self.interpolator.X_

    @property
    def y(self) -> FloatArray:
        """Data values (n,)."""
        return self.interpolator.y_

    @property
    def lengthscales(self) -> FloatArray:
        """Lengthscales (d,), in the units of X."""
        return self.interpolator.lengthscales_

    @property
    def state(self) -> dict[str, Any]:
        """What the next fit starts from, as plain JSON: lengthscales (and nugget, if learned) and threshold."""
        learned = METHODS[self.method].nugget is None
        return {
            "method": self.method,
            "n": self.n_selected,
            "lengthscales": self.lengthscales.tolist(),
            "threshold": self.threshold,
            **({"nugget": self.interpolator.nugget_} if learned else {}),
        }

    def predict(self, X: ArrayLike) -> Prediction:
        """Predictive laws at the rows of X, of shape (m, d)."""
        return Prediction(*self.interpolator.predict(X), self.law)

    def predict_arrays(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Location and scale at the rows of X, each of shape (m,)."""
        return self.interpolator.predict(X)

    def predict_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Location (m,), scale (m,) and their gradients (m, d)."""
        return self.interpolator.predict_gradient(X)

    def condition(self, X: ArrayLike, y: ArrayLike) -> Model:
        """Add data with hyperparameters and law held; weights and leave-one-out stay those of the fit."""
        return replace(self, interpolator=self.interpolator.condition(X, y))


@dataclass(frozen=True)
class _Evidence:
    """What a calibrator may use: the data, their leave-one-out predictions, and the options."""

    y: FloatArray
    loo: LeaveOneOut
    weights: FloatArray
    threshold: float
    rng: np.random.Generator
    options: Mapping[str, Any]


def _normal(evidence: _Evidence) -> Law:
    return Normal()


def _tail(criterion: str) -> Callable[[_Evidence], Law]:
    """Tail calibration with a selection criterion: tcGP and its variants."""

    def select(evidence: _Evidence) -> Law:
        rule = evidence.options.get("rule", 0)
        return calibration.tail_law(
            evidence.loo.mean,
            evidence.loo.sd,
            evidence.y,
            evidence.weights,
            evidence.threshold,
            criterion=f"rule{rule}" if rule else criterion,
            search=evidence.options["search"],
            rng=evidence.rng,
        ).law

    return select


def _bayesian(evidence: _Evidence) -> Law:
    names = ("n_draws", "alpha", "selection")
    options = {name: evidence.options[name] for name in names}
    return calibration.bayesian_law(evidence.loo.residuals, evidence.weights, rng=evidence.rng, **options)


def _online(evidence: _Evidence) -> Law:
    return calibration.online_law(evidence.loo.residuals, eta=evidence.options["eta"])


@dataclass(frozen=True)
class Member:
    """One of the methods of a portfolio, with its options, and whether it sees high values compressed."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    compressed: bool = False


@dataclass(frozen=True)
class _Method:
    """One named method: how its law is chosen, its interpolator, the options it takes.

    A portfolio has members, and passes its own options on to those that have them with the same default: that is, the
    same meaning.
    """

    calibrate: Callable[[_Evidence], Law]
    relaxed: bool
    options: Mapping[str, Any]
    nugget: float | None = 0.0
    members: tuple[Member, ...] = ()


_SHARED: dict[str, Any] = {"p_min": 0.015, "w_max": None, "smoothness": 2}
_COMMON: dict[str, Any] = _SHARED | {
    "delta": 0.05,
    "selection": "ml",
    "shortest": SHORTEST,
    "longest": LONGEST,
}
_TAIL = _COMMON | {"search": "fast"}

METHODS: dict[str, _Method] = {
    "gp": _Method(_normal, False, _COMMON),
    "tcgp": _Method(_tail("joint"), False, _TAIL | {"rule": 0}),
    "tcgp-occ": _Method(_tail("occ"), False, _TAIL),
    "tcgp-thres": _Method(_tail("thres"), False, _TAIL),
    "bcrgp": _Method(_bayesian, False, _COMMON | {"n_draws": 200, "alpha": 0.1, "selection": "cross-ks"}),
    "ongp": _Method(_online, False, _COMMON | {"eta": 0.05}),
    "regp": _Method(_normal, True, _COMMON | {"delta": 0.25, "least": 0}),
    # Ours, not the paper's: tail calibration of a relaxed GP.
    "tcregp": _Method(_tail("joint"), True, _TAIL | {"rule": 0, "relax_delta": 0.25}),
    # Ours: a GP that smooths ripples away, by a learned nugget.
    "gp-nugget": _Method(_normal, False, _COMMON, nugget=None),
    # Ours: members that take turns, see tcgp.portfolio. Its law is that of the member with the same interpolator.
    "auto": _Method(
        _normal,
        False,
        _SHARED | {"delta": 0.05, "search": "fast", "rule": 0},
        members=(
            Member("tcgp", {"selection": "pooled"}, compressed=True),
            Member("regp", {"selection": "pooled", "shortest": 1.0, "least": 5}),
            Member("gp-nugget", {"selection": "pooled"}, compressed=True),
        ),
    ),
}


def fit_model(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "tcgp",
    *,
    bounds: Bounds | None = None,
    rng: RandomState = None,
    state: Mapping[str, Any] | None = None,
    **options: Any,
) -> Model:
    """Fit one of the named predictive models to exact evaluations.

    Parameters
    ----------
    X : (n, d) array
        Points, in user units.
    y : (n,) array
        Values; smaller is better.
    method : str
        ``"gp"``: plain Gaussian process; ``"tcgp"``: calibrated below a low threshold (the paper's method);
        ``"tcgp-occ"``, ``"tcgp-thres"``: only occurrence or only the shape below the threshold is calibrated;
        ``"bcrgp"``: calibrated globally; ``"ongp"``: recalibrated online; ``"regp"``: relaxed above a
        threshold. Ours, not the paper's: ``"tcregp"``: tail calibration of the relaxed GP; ``"gp-nugget"``: a GP
        that smooths, by a nugget learned with the lengthscales; ``"auto"``: of tcGP and reGP the one that predicts
        low values best by leave-one-out (an `Optimizer` lets these two and ``"gp-nugget"`` take turns).
    bounds : (d, 2) array, optional
        The box: weights refer to the uniform law on it. The range of the data by default.
    rng : int, Generator or None
        Used by ``search="paper"`` and ``"bcrgp"`` only.
    state : mapping, optional
        ``model.state`` of an earlier fit: warm lengthscales and the threshold's memory.
    **options
        ``delta`` (level of the threshold's quantile: 0.05, and 0.25 for reGP), ``p_min`` (0.015), ``rule``
        (0 to 3), ``search`` ("fast" or "paper"), ``w_max`` (clipping of weights), ``smoothness`` (2),
        ``selection`` of the lengthscales ("ml", "map", "pooled" or "reml"; bcrGP has a rule of its own by this
        name) and their bounds ``shortest`` and ``longest``, see `GaussianProcess`; ``n_draws``, ``alpha`` and
        ``selection`` (bcrGP), ``eta`` (onGP), ``least`` (reGP: number of values for each parameter that are not
        relaxed even if ``delta`` would) and ``relax_delta`` (tcreGP).

    Returns
    -------
    Model

    Examples
    --------
    >>> import numpy as np
    >>> import tcgp
    >>> problem = tcgp.problems.get("goldstein-price")
    >>> X = np.random.default_rng(0).uniform(-2.0, 2.0, (30, 2))
    >>> model = tcgp.fit_model(X, problem.fun(X), "tcgp", bounds=problem.bounds)
    >>> prediction = model.predict([[0.0, -1.0]])
    >>> prediction.expected_improvement(best=100.0).shape
    (1,)
    """
    recipe = _lookup(method)
    settings = _check_options(method, recipe.options, options)
    X, y = check_data(X, y)
    box = None if bounds is None else check_bounds(bounds, X.shape[1])
    check_state(state, X.shape[1])
    if recipe.members:
        from tcgp.portfolio import fit_best_member  # it stands above this module

        return fit_best_member(X, y, method, bounds=box, rng=rng, state=state, options=options)
    interpolator, n_selected = _fit_interpolator(recipe, settings, X, y, box, state or {})
    model = calibrate(interpolator, method, rng=rng, state=state, **options)
    return replace(model, n_selected=n_selected)


def calibrate(
    interpolator: Interpolator,
    method: str = "tcgp",
    *,
    rng: RandomState = None,
    state: Mapping[str, Any] | None = None,
    **options: Any,
) -> Model:
    """Give a fitted interpolator the residual law of a named method; parameters as in `fit_model`.

    A portfolio's is the law of its first member with an interpolator of this kind.
    """
    recipe = _lookup(method)
    if recipe.members:
        relaxed = isinstance(interpolator, RelaxedGaussianProcess)
        member = next(m for m in recipe.members if METHODS[m.method].relaxed == relaxed)
        _check_options(method, recipe.options, options)
        given = member_options(method, member, options)
        return calibrate(interpolator, member.method, rng=rng, state=state, **given)
    settings = _check_options(method, recipe.options, options)
    y = interpolator.y_
    weights = calibration.design_weights(interpolator.unit_points(), w_max=settings["w_max"])
    if recipe.calibrate is _normal and isinstance(interpolator, RelaxedGaussianProcess):
        threshold = (
            interpolator.threshold
        )  # nothing is calibrated: what matters is where the relaxation starts
    else:
        previous = (state or {}).get("threshold")
        threshold = calibration.next_threshold(
            y, weights, delta=settings["delta"], p_min=settings["p_min"], previous=previous
        )
    loo = interpolator.leave_one_out()
    evidence = _Evidence(y, loo, weights, threshold, np.random.default_rng(rng), settings)
    return Model(method, interpolator, recipe.calibrate(evidence), threshold, weights, loo, n_selected=len(y))


def check_state(state: object, dim: int) -> None:
    """Refuse what cannot be the `Model.state` of a model of ``dim`` coordinates; None is no state."""
    if state is None:
        return
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be the state of a model, a mapping, got {state!r}")
    if state.get("lengthscales") is not None:
        check_lengthscales(state["lengthscales"], dim, "the lengthscales of a state")
    for name in ("threshold", "nugget", "n", "member"):
        value = state.get(name)
        if value is not None and not (isinstance(value, int | float) and np.isfinite(value)):
            raise ValueError(f"{name} of a state must be a finite number, got {value!r}")


def member_options(method: str, member: Member, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a member of a portfolio: its own, and those given to the portfolio that mean the same to it."""
    shared, own = METHODS[method].options, METHODS[member.method].options
    passed_on = {name: value for name, value in options.items() if own.get(name, "") == shared[name]}
    return {**member.options, **passed_on}


def _lookup(method: str) -> _Method:
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
    return METHODS[method]


def _check_options(method: str, defaults: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge options with the method's defaults, refusing what the method does not have."""
    for name in options:
        if name not in defaults:
            known = ", ".join(sorted(defaults))
            raise TypeError(f"method {method!r} has no option {name!r}: it takes {known}")
    settings = {**defaults, **options}
    for name in ("delta", "relax_delta"):
        if name in settings and not 0.0 < settings[name] <= 1.0:
            raise ValueError(f"{name} must lie in (0, 1], got {settings[name]!r}")
    if not 0.0 <= settings["p_min"] <= 1.0:
        raise ValueError(f"p_min must lie in [0, 1], got {settings['p_min']!r}")
    if settings.get("rule", 0) not in (0, 1, 2, 3):
        raise ValueError(f"rule must be 0, 1, 2 or 3, got {settings['rule']!r}")
    return settings


def _looks_around(n_before: int, n: int) -> bool:
    """Whether the data have passed a power of the growth factor since the last fit."""
    before, now = np.floor(np.log([max(n_before, 1), n]) / np.log(_COLD_FIT_GROWTH))
    return bool(now > before)


def _fit_interpolator(
    recipe: _Method,
    settings: Mapping[str, Any],
    X: FloatArray,
    y: FloatArray,
    bounds: FloatArray | None,
    state: Mapping[str, Any],
) -> tuple[Interpolator, int]:
    """Fit from the warm lengthscales; cold if there are none, and now and then beside the warm fit.

    Returns the number of data from which the lengthscales were selected, too.
    """

    def fit(start: ArrayLike | None, refine: bool = True) -> Interpolator:
        given = {name: settings[name] for name in ("smoothness", "shortest", "longest")}
        if recipe.calibrate is not _bayesian:  # whose option of this name is another
            given["selection"] = settings["selection"]
        if not recipe.relaxed:
            return GaussianProcess(**given, nugget=recipe.nugget).fit(
                X, y, bounds=bounds, start=start, refine=refine
            )
        level = settings.get("relax_delta", settings["delta"])
        share = settings.get("least", 0) * X.shape[1] / n
        threshold = float(np.quantile(y, min(max(level, share), 1.0)))
        return RelaxedGaussianProcess(threshold, **given).fit(X, y, bounds=bounds, start=start, refine=refine)

    n, start = len(y), state.get("lengthscales")
    if start is None:
        return fit(None), n
    if recipe.nugget is None:
        start = [*start, state["nugget"]]
    before = state.get("n", n - 1)
    if n - before < (n - _REFIT_FROM) // _REFIT_STEP:
        return fit(start, refine=False), before
    warm = fit(start)
    if not _looks_around(before, n):
        return warm, n
    return max(warm, fit(None), key=lambda interpolator: interpolator.objective_), n
