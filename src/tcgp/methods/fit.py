"""`fit_model`: apply the recipe of a named method to data."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcgp import calibration
from tcgp._arrays import as_generator, check_bounds, check_noise
from tcgp._quantiles import quantile
from tcgp._text import plain
from tcgp._typing import ArrayLike, Bounds, FloatArray, RandomState
from tcgp.gp import GaussianProcess, LeaveOneOut, RelaxedGaussianProcess
from tcgp.gp.descent import unpack
from tcgp.gp.interpolator import Interpolator
from tcgp.gp.noise import NoisyGaussianProcess
from tcgp.gp.units import Units, check_data
from tcgp.laws import Law, Normal
from tcgp.methods.options import check_options
from tcgp.methods.portfolio import (
    COMPARISON_LEVEL,
    PORTFOLIOS,
    check_method,
    has_enough_data,
    interpolating,
    member_options,
    members_of,
    noisy_method,
    options_of,
)
from tcgp.methods.published import check_choices, choices_of
from tcgp.methods.recipes import RECIPES, Recipe
from tcgp.methods.states import check_state
from tcgp.models import Model
from tcgp.scoring import leave_one_out_prediction, twcrps

__all__ = ["COLD_FIT_GROWTH", "above", "calibrate", "fit_for_comparison", "fit_model", "low_value_score"]

# A warm start follows one optimum of the likelihood as data come in; a cold fit looks around each time the data
# have grown by this factor.
COLD_FIT_GROWTH = 1.25
# Lengthscales are selected again at every new datum below n = 250, and at every k-th for n = 150 + 50 k: one datum
# among many hardly moves the optimum, and a selection costs ten times what all else does.
_REFIT_FROM, _REFIT_STEP = 150, 50
# Probability that does not count where members are compared: they must differ by a factor of two to change anything.
_NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class _Task:
    """What a model is fitted to; names as in `fit_model`."""

    X: FloatArray
    y: FloatArray
    bounds: FloatArray | None
    rng: RandomState
    state: Mapping[str, Any] | None
    level: float | None
    noise: bool | float = False  # of evaluations: True, or a standard deviation
    sd: ArrayLike | None = None
    kept_for: float = 1.0  # growth of the data until which the lengthscales of the state are kept


def fit_model(
    X: ArrayLike,
    y: ArrayLike,
    method: str = "tcgp",
    *,
    bounds: Bounds | None = None,
    rng: RandomState = None,
    state: Mapping[str, Any] | None = None,
    level: float | None = None,
    noise: bool | float = False,
    sd: ArrayLike | None = None,
    **options: Any,
) -> Model:
    """Fit one of the named predictive models to exact evaluations, or to noisy ones.

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
        threshold. Our own, not in the paper: ``"tcregp"``: tail calibration of the relaxed GP; ``"tcgp-additive"``:
        tcGP with a covariance for each coordinate in addition to the common one; ``"tcgp-rotated"``: tcGP with a
        covariance of linear combinations of the coordinates; ``"gp-nugget"``: a smoothing GP, with a nugget fitted
        with the lengthscales; ``"auto"``: of tcGP, reGP, the additive and the rotated tcGP the one that predicts low
        values best by leave-one-out (an `Optimizer` lets these and ``"gp-nugget"`` take turns).
    bounds : (d, 2) array, optional
        The box; weights refer to the uniform distribution on it. By default the range of the data.
    rng : int, Generator or None
        Used by ``search="paper"`` and ``"bcrgp"`` only.
    state : mapping, optional
        ``model.state`` of an earlier fit, for a warm start: lengthscales and threshold.
    level : float, optional
        The value at which decisions are taken: the limit of a constraint, or the best value that satisfies all limits.
        The smallest value of y by default. Levels of quantiles (``delta``, and where values are relaxed) then refer to
        the values above it: with a share p of y below ``level``, ``delta`` stands for ``p + (1 - p) delta``.
    noise : bool or float
        False: evaluations are exact. True: they have independent normal noise, whose standard deviation is learned. A
        number: the known standard deviation, in the units of y. Points may then have several values. Predictions are
        about the function without noise. For ``"gp"``, tcGP and its variants, and ``"auto"``, a GP with pooled
        lengthscales then.
    sd : (n,) array, optional
        Standard deviation of the noise of each value, where it is known; NaN stands for ``noise`` if that is a number,
        and else for the typical one of those given.
    **options
        Options of the method. All have ``delta``, ``p_min``, ``w_max`` and ``smoothness``. All but ``"auto"`` have
        ``shortest`` and ``longest``; of these, all but ``"tcgp-additive"`` and ``"tcgp-rotated"`` have ``selection``.
        Further ones are ``search`` and ``rule`` (tcGP), ``n_draws``, ``alpha`` and ``draw`` (bcrGP), ``eta`` (onGP),
        ``least`` (reGP) and ``relax_delta`` (tcreGP). With ``as_published=True`` a method of the paper makes every
        choice as the paper does. Meanings, ranges and defaults: the table of options in the reference.

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
    check_method(method)
    check_options(method, options_of(method), options)
    check_choices(options)
    X, y = check_data(X, y)
    box = None if bounds is None else check_bounds(bounds, X.shape[1])
    check_state(state, X.shape[1])
    if level is not None and (not isinstance(level, numbers.Real) or math.isnan(level)):
        raise ValueError(f"level must be a number or None, got {plain(level)}")
    if check_noise(noise) or sd is not None:
        member = members_of(noisy_method(method))[0]
        task = _Task(X, y, box, rng, state, level, noise or True, sd)
        return _fit(task, member.method, member_options(method, member, options))
    task = _Task(X, y, box, rng, state, level)
    return (_fit_best_member if method in PORTFOLIOS else _fit)(task, method, options)


def calibrate(
    interpolator: Interpolator,
    method: str = "tcgp",
    *,
    rng: RandomState = None,
    state: Mapping[str, Any] | None = None,
    level: float | None = None,
    **options: Any,
) -> Model:
    """Give a fitted interpolator the residual law of a named method; parameters as in `fit_model`.

    A portfolio's is the law of its first member with an interpolator of this kind.
    """
    check_method(method)
    settings = check_options(method, options_of(method), options)
    if method in PORTFOLIOS:
        relaxed = isinstance(interpolator, RelaxedGaussianProcess)
        member = next(m for m in members_of(method) if RECIPES[m.method].relaxed == relaxed)
        given = member_options(method, member, options)
        return calibrate(interpolator, member.method, rng=rng, state=state, level=level, **given)
    recipe, y = RECIPES[method], interpolator.y_
    weights = calibration.design_weights(interpolator.unit_points(), w_max=settings["w_max"])
    if recipe.law == "normal" and isinstance(interpolator, RelaxedGaussianProcess):
        threshold = (
            interpolator.threshold
        )  # nothing is calibrated: what matters is where the relaxation starts
    else:
        previous = (state or {}).get("threshold")
        delta = above(level, settings["delta"], y)
        threshold = calibration.next_threshold(
            y, weights, delta=delta, p_min=settings["p_min"], previous=previous
        )
    loo = interpolator.leave_one_out()
    if loo.noise is not None and recipe.law != "normal":
        law: Law = calibration.noisy_tail_law(
            calibration.noisy_tail_problem(loo.mean, loo.sd, loo.noise, y, weights, threshold),
            recipe.law,
        )
    else:
        law = _select_law(recipe.law, y, loo, weights, threshold, as_generator(rng), settings)
    return Model(method, interpolator, law, threshold, weights, loo, n_selected=len(y))


def _select_law(
    name: str,
    y: FloatArray,
    loo: LeaveOneOut,
    weights: FloatArray,
    threshold: float,
    rng: np.random.Generator,
    settings: Mapping[str, Any],
) -> Law:
    """The residual law of a recipe."""
    if name == "normal" or (y == y[0]).all():  # equal values say nothing about the size of residuals
        return Normal()
    if name == "bayesian":
        rule = {option: settings[option] for option in ("n_draws", "alpha", "draw")}
        return calibration.bayesian_law(loo.residuals, weights, rng=rng, **rule)
    if name == "online":
        return calibration.online_law(loo.residuals, eta=settings["eta"])
    choices = choices_of(settings)
    return calibration.tail_law(
        loo.mean,
        loo.sd,
        y,
        weights,
        threshold,
        criterion=f"rule{settings['rule']}" if settings.get("rule") else name,
        search=choices.search or settings["search"],
        supremum=choices.supremum,
        ratio=choices.ratio,
        rng=rng,
    ).law


def above(level: float | None, delta: float, y: FloatArray) -> float:
    """Level of the quantile of y that is the ``delta``-quantile of the values above ``level``.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.fit import above
    >>> above(3.0, 0.5, np.array([1.0, 2.0, 3.0, 4.0])), above(None, 0.05, np.arange(4.0))
    (0.75, 0.05)
    """
    share = 0.0 if level is None else float(np.mean(y < level))
    return share + (1.0 - share) * delta


def low_value_score(model: Model, level: float | None = None) -> float:
    """How well a model predicts left-out low values: twCRPS below the lower quartile of the data, smaller is better."""
    threshold = float(quantile(model.y, above(level, COMPARISON_LEVEL, model.y)))
    scores = twcrps(leave_one_out_prediction(model), model.y, threshold, negligible=_NEGLIGIBLE)
    return float(scores @ model.weights)


def _fit_best_member(task: _Task, method: str, options: Mapping[str, Any]) -> Model:
    """The member of a portfolio that predicts left-out low values best; its ``method`` says which it is.

    Members that smooth are left out: a model of exact data should pass through them.
    """
    members = members_of(method)
    models = []
    for member in (members[number] for number in interpolating(members)):
        if has_enough_data(member, *task.X.shape):
            warm = task.state if (task.state or {}).get("method") == member.method else None
            given = member_options(method, member, options)
            models.append(_fit(replace(task, state=warm), member.method, given))
    return min(models, key=lambda model: low_value_score(model, task.level))


def fit_for_comparison(
    X: FloatArray,
    y: FloatArray,
    method: str,
    bounds: FloatArray,
    rng: RandomState,
    state: Mapping[str, Any] | None,
    level: float | None,
    options: Mapping[str, Any],
) -> Model:
    """The model of a single method; it keeps the lengthscales of ``state`` until the data have grown by a quarter."""
    return _fit(_Task(X, y, bounds, rng, state, level, kept_for=COLD_FIT_GROWTH), method, options)


def _fit(task: _Task, method: str, options: Mapping[str, Any]) -> Model:
    """The model of a single method."""
    recipe = RECIPES[method]
    interpolator, n_selected = _fit_interpolator(task, recipe, check_options(method, recipe.options, options))
    model = calibrate(interpolator, method, rng=task.rng, state=task.state, level=task.level, **options)
    return replace(model, n_selected=n_selected)


def _relaxation_threshold(task: _Task, recipe: Recipe, settings: Mapping[str, Any]) -> float:
    """The value above which data are relaxed: a quantile, with the memory of the paper's Algorithm 1."""
    X, y = task.X, task.y
    # A law calibrated below a threshold of its own has that in its state.
    previous = (task.state or {}).get("threshold") if recipe.law == "normal" else None
    delta = settings.get("relax_delta", settings["delta"])
    share = settings.get("least", 0) * X.shape[1] / len(y)
    delta = above(task.level, min(max(delta, share), 1.0), y)
    weights = calibration.design_weights(Units.of(X, y, task.bounds).x_to_unit(X), w_max=settings["w_max"])
    return calibration.next_threshold(y, weights, delta=delta, p_min=settings["p_min"], previous=previous)


def _looks_around(n_before: int, n: int) -> bool:
    """Whether the data have passed a power of the growth factor since the last fit."""
    before, now = np.floor(np.log([max(n_before, 1), n]) / np.log(COLD_FIT_GROWTH))
    return bool(now > before)


def _fit_interpolator(task: _Task, recipe: Recipe, settings: Mapping[str, Any]) -> tuple[Interpolator, int]:
    """Fit from the warm lengthscales; cold if there are none, and look around now and then.

    Returns the number of data from which they were selected, too.
    """
    names = ("smoothness", "selection", "shortest", "longest")
    given = {name: settings[name] for name in names if name in settings}
    is_noisy, n, state = bool(task.noise), len(task.y), task.state or {}
    choices = choices_of(settings)

    def fit(start: ArrayLike | None = None, **search: bool) -> Interpolator:
        rest: dict[str, Any] = {
            "bounds": task.bounds,
            "start": start,
            "curvature": unpack(state.get("curvature", ())),
            **search,
        }
        if is_noisy:
            return NoisyGaussianProcess(task.noise, **given).fit(task.X, task.y, sd=task.sd, **rest)
        if recipe.relaxed:
            threshold = _relaxation_threshold(task, recipe, settings)
            return RelaxedGaussianProcess(threshold, **given).fit(task.X, task.y, **rest)
        nugget = None if recipe.learns_nugget else 0.0
        return GaussianProcess(**given, nugget=nugget, covariance=recipe.covariance).fit(
            task.X, task.y, **rest
        )

    start = state.get("lengthscales" if recipe.covariance == "product" else "kernel")
    if start is None:
        return fit(), n
    if recipe.learns_nugget or is_noisy:
        start = [*start, state["nugget"]]
    before = state.get("n", n - 1)
    is_recent = n - before < (n - _REFIT_FROM) // _REFIT_STEP or n < task.kept_for * before
    if is_recent and not choices.always_refits:
        return fit(start, refine=False), before
    return fit(start, look_around=_looks_around(before, n)), n
