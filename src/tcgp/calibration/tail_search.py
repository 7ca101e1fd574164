"""Selection of (beta, lambda) by tail calibration: the paper's random search, and a faster one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy  # scipy.optimize is loaded when it is first used: it takes a fifth of a second

from tcgp._arrays import as_generator, without_nan
from tcgp._text import plain
from tcgp._threads import cached_property
from tcgp._typing import ArrayLike, FloatArray, RandomState
from tcgp.calibration.tail import TailProblem, criterion_named, selection_criterion, tail_problem
from tcgp.calibration.tail_scan import scan
from tcgp.laws import GeneralizedNormal

__all__ = ["BETA_RANGE", "SCALE_RANGE", "TailFit", "tail_law"]

logger = logging.getLogger("tcgp")

#: Bounds on beta and lambda (paper, Appendix E.6).
BETA_RANGE = (0.1, 10.0)
SCALE_RANGE = (0.005, 10.0)

_SEARCHES = ("fast", "paper")
# Candidates of the paper's random search (Appendix E.3).
_N_CANDIDATES = 900


@dataclass(frozen=True)
class TailFit:
    """A law selected by tail calibration.

    Attributes
    ----------
    law : GeneralizedNormal
        The selected law.
    criterion : str
        Name of the criterion that selected it.
    threshold : float
        Threshold below which the law is calibrated.
    problem : TailProblem or None
        The data it was calibrated on; None if there were none.
    value : float
        Value of the criterion at the law, with the exact supremum and ratio; infinite if there were no data to
        calibrate on.
    occurrence_ratio : float
        Occurrence ratio κ at the law, 1 when it is occurrence-calibrated; NaN if there were no data.
    """

    law: GeneralizedNormal
    criterion: str
    threshold: float
    problem: TailProblem | None = field(default=None, repr=False, compare=False)

    @cached_property
    def value(self) -> float:
        if self.problem is None:
            return np.inf
        return float(selection_criterion(self.problem, self.law, self.criterion))

    @cached_property
    def occurrence_ratio(self) -> float:
        return np.nan if self.problem is None else float(self.problem.occurrence_ratio(self.law))


def tail_law(
    mean: ArrayLike,
    sd: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    threshold: float,
    *,
    criterion: str = "joint",
    search: str = "fast",
    supremum: str = "exact",
    ratio: str = "exact",
    rng: RandomState = None,
) -> TailFit:
    """Generalized normal law calibrated below a threshold: tcGP and its variants (paper, Section 5.1).

    The law minimizes a weighted leave-one-out criterion over beta in [0.1, 10] and lambda in [0.005, 10].

    Parameters
    ----------
    mean, sd : array of shape (n,)
        Leave-one-out predictions.
    y : array of shape (n,)
        Observed values.
    weights : array of shape (n,)
        Weights of the observations (see `design_weights`).
    threshold : float
        Threshold t. If no observation lies at or below it, the law is that of the Gaussian process,
        (beta, lambda) = (2, √2).
    criterion : str
        ``"joint"`` (the paper's J), ``"thres"``, ``"occ"``, ``"rule1"``, ``"rule2"`` or ``"rule3"``: see
        `selection_criterion`.
    search : str
        ``"paper"``: 900 candidates drawn uniformly, then Nelder–Mead from the best (Appendix E.3).
        ``"fast"``: a scan of the whole box with tabulated laws, then a local refinement; deterministic.
    supremum, ratio : str
        As in `selection_criterion`; other choices than ``"exact"`` need ``search="paper"``.
    rng : int, Generator or None
        Source of randomness of ``search="paper"``.

    Returns
    -------
    TailFit

    Notes
    -----
    Minimizers are not unique. Few observations lie below t, so laws with very different tails can be equally good; for
    ``"occ"`` and ``"rule1"`` there is a whole curve of them. The paper's search then returns the minimum that its
    random draws favour, the one with the largest basin. So does ``"fast"``: it returns the minimum reached from the
    best of 900 candidates spread evenly over the box, unless its scan knows a value that is better by more than 0.001.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.calibration import tail_law
    >>> y = np.random.default_rng(0).standard_normal(40)
    >>> fit = tail_law(np.zeros(40), np.full(40, 0.5), y, np.ones(40), threshold=np.quantile(y, 0.25))
    >>> bool(fit.law.variance() > 1.0)  # the predictions are overconfident: the law is wider than N(0, 1)
    True
    """
    criterion_named(criterion)  # refuses an unknown name
    if search not in _SEARCHES:
        raise ValueError(f"search must be one of {', '.join(map(repr, _SEARCHES))}, got {plain(search)}")
    for name, value, other in (("supremum", supremum, "samples"), ("ratio", ratio, "plain")):
        allowed = ("exact", other) if search == "paper" else ("exact",)
        if value not in allowed:
            raise ValueError(
                f"{name} must be {' or '.join(map(repr, allowed))} with search={search!r}, got {plain(value)}"
            )
    y, weights = without_nan("y", y), without_nan("weights", weights)
    if not weights[y <= threshold].sum() > 0.0:
        logger.warning("No observation at or below the threshold %g: the law is left Gaussian.", threshold)
        gaussian = GeneralizedNormal(2.0, np.sqrt(2.0))
        return TailFit(gaussian, criterion, threshold)
    problem = tail_problem(mean, sd, y, weights, threshold)
    if search == "fast":
        law = GeneralizedNormal(*scan(problem, criterion, BETA_RANGE, SCALE_RANGE))
    else:
        loss = partial(selection_criterion, problem, criterion=criterion, supremum=supremum, ratio=ratio)
        law = _paper_search(loss, as_generator(rng))
    return TailFit(law, criterion, threshold, problem)


def _paper_search(
    criterion: Callable[[GeneralizedNormal], FloatArray], rng: np.random.Generator
) -> GeneralizedNormal:
    """Uniform candidates, then Nelder–Mead from the best."""
    bounds = np.array([BETA_RANGE, SCALE_RANGE])
    candidates = rng.uniform(bounds[:, 0], bounds[:, 1], size=(_N_CANDIDATES, 2))
    laws = GeneralizedNormal(candidates[:, :1], candidates[:, 1:])
    start = candidates[np.argmin(criterion(laws))]

    def loss(theta: FloatArray) -> float:
        return float(criterion(GeneralizedNormal(theta[0], theta[1])))

    best = scipy.optimize.minimize(loss, start, method="Nelder-Mead", bounds=bounds).x
    return GeneralizedNormal(best[0], best[1])
