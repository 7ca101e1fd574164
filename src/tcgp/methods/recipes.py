"""The named methods: an interpolator and a residual law each, and the options they take.

Only data: `tcgp.methods.fit` carries a recipe out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcgp.methods.options import Option
from tcgp.methods.published import AS_PUBLISHED

__all__ = ["RECIPES", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """One named method.

    Attributes
    ----------
    law : {"normal", "joint", "occ", "thres", "bayesian", "online"}
        How the residual law is selected: not at all; by tail calibration, with both parts of the criterion J or with
        one (`tcgp.calibration.tail_law`); over the whole range (`bayesian_law`); or online (`online_law`).
    options : mapping
        Its options, by name.
    relaxed : bool
        Whether the interpolator is the relaxed GP.
    learns_nugget : bool
        Whether the GP smooths, by a nugget learned with the lengthscales, instead of interpolating.
    covariance : {"product", "additive", "rotated"}
        That of the GP: a product over the coordinates; one with terms of single coordinates beside it; or one of
        linear combinations of the coordinates.
    """

    law: str
    options: Mapping[str, Option]
    relaxed: bool = False
    learns_nugget: bool = False
    covariance: str = "product"


_DELTA = Option(0.05, "level of the quantile of y that is the threshold", low=0.0, high=1.0, open_low=True)
_P_MIN = Option(
    0.015,
    "weighted share of the data that must lie below a new threshold, or the last is kept",
    low=0.0,
    high=1.0,
)
_W_MAX = Option(None, "clip the weights at this multiple of 1/n", low=0.0, open_low=True, optional=True)
_SMOOTHNESS = Option(2, "p in the Matérn covariance of order p + 1/2", choices=(0, 1, 2, 3))
_SELECTION = Option(
    "ml",
    "what selects the lengthscales: see `tcgp.GaussianProcess`",
    choices=("ml", "pooled"),
)
_SHORTEST = Option(
    0.1,
    "shortest lengthscale, in units of the typical spacing of the data; None: longer with many parameters",
    low=0.0,
    open_low=True,
    optional=True,
)
_LONGEST = Option(1e3, "longest lengthscale, in units of the box", low=0.0, open_low=True)
_SEARCH = Option(
    "fast",
    "how (beta, lambda) is found: a deterministic scan, or the paper's 900 draws and Nelder-Mead",
    choices=("fast", "paper"),
)
_RULE = Option(0, "selection rule of the paper's Appendix F; 0 is the main one", choices=(0, 1, 2, 3))

SHARED = {"delta": _DELTA, "p_min": _P_MIN, "w_max": _W_MAX, "smoothness": _SMOOTHNESS}
_GP = {**SHARED, "selection": _SELECTION, "shortest": _SHORTEST, "longest": _LONGEST}
_WITH_OWN_PRIOR = {**SHARED, "shortest": _SHORTEST, "longest": _LONGEST, "search": _SEARCH, "rule": _RULE}
_TAIL = {**_GP, "search": _SEARCH}
_TCGP = {**_TAIL, "rule": _RULE}
_PAPER = {"as_published": AS_PUBLISHED}
_BCRGP = {
    "n_draws": Option(200, "number of draws of the posterior of (beta, lambda)", low=1, integer=True),
    "alpha": Option(0.1, "level of the rule that picks one of them", low=0.0, high=1.0, open_high=True),
    "draw": Option(
        "cross-ks",
        "which draw: the one closest to all others, or the one with the (1 - alpha)-quantile of the variance",
        choices=("cross-ks", "conservative"),
    ),
}
_ONGP = {"eta": Option(0.05, "step of the recursion", low=0.0, open_low=True)}
_RELAXED = {"longest": _LONGEST.with_default(10.0)}
_REGP = {
    **_RELAXED,
    "delta": _DELTA.with_default(0.25),
    "least": Option(0, "values for each parameter that are never relaxed, whatever delta is", low=0.0),
}

RECIPES: dict[str, Recipe] = {
    "gp": Recipe("normal", {**_GP, **_PAPER}),
    "tcgp": Recipe("joint", {**_TCGP, **_PAPER}),
    "tcgp-occ": Recipe("occ", {**_TAIL, **_PAPER}),
    "tcgp-thres": Recipe("thres", {**_TAIL, **_PAPER}),
    "bcrgp": Recipe("bayesian", {**_GP, **_BCRGP, **_PAPER}),
    "ongp": Recipe("online", {**_GP, **_ONGP, **_PAPER}),
    "regp": Recipe("normal", {**_GP, **_REGP, **_PAPER}, relaxed=True),
    # Ours, not the paper's: tail calibration of a relaxed GP.
    "tcregp": Recipe(
        "joint",
        {
            **_TCGP,
            **_RELAXED,
            "relax_delta": Option(
                0.25, "level of the quantile above which y is relaxed", low=0.0, high=1.0, open_low=True
            ),
        },
        relaxed=True,
    ),
    # Ours: tail calibration of a GP that sees sums of functions of one parameter each.
    "tcgp-additive": Recipe("joint", _WITH_OWN_PRIOR, covariance="additive"),
    # Ours: tail calibration of a GP that sees valleys oblique to the axes.
    "tcgp-rotated": Recipe("joint", _WITH_OWN_PRIOR, covariance="rotated"),
    # Ours: a GP that smooths ripples away.
    "gp-nugget": Recipe("normal", _GP, learns_nugget=True),
}
