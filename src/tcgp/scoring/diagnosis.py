"""Is the model over- or underconfident about low values, and by how much? In words."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, smirnovi

from tcgp._typing import FloatArray
from tcgp.gp import RelaxedGaussianProcess
from tcgp.laws import GeneralizedNormal, Law, Normal
from tcgp.models import Model
from tcgp.scoring.pit import thresholded_pit
from tcgp.scoring.scores import Scores, leave_one_out_prediction, loo_scores

__all__ = ["Diagnosis", "base_label", "diagnose", "distance_limit", "method_label"]

_LABELS = {
    "gp": "GP",
    "tcgp": "tcGP",
    "tcgp-occ": "tcGP-occ",
    "tcgp-thres": "tcGP-thres",
    "bcrgp": "bcrGP",
    "ongp": "onGP",
    "regp": "reGP",
    "tcregp": "tcreGP",
    "tcgp-additive": "additive tcGP",
    "tcgp-rotated": "rotated tcGP",
    "gp-nugget": "GP with nugget",
    "auto": "auto",
}

# Occurrence ratios between 1/1.25 and 1.25 count as right: finer differences do not change a decision.
_CLOSE_TO_ONE = 1.25

# Words to swap if high values are good; a distance that "stays below" a limit has no side.
_OPPOSITE = {"Below": "Above", "below": "above", "low": "high", "lower": "higher", "higher": "lower"}
_SIDES = re.compile(r"(?<!stays )\b(?:Below|below|low|lower|higher)\b")


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Calibration of a model, and of the underlying GP, below the threshold, by weighted leave-one-out.

    ``str(diagnosis)`` is a summary in a few lines. For methods without calibration (``"gp"``, ``"regp"``) the two
    are the same.

    Attributes
    ----------
    threshold : float
        Threshold t.
    n, n_below : int
        Number of data points, and of those with a value at or below t.
    probability : float
        Weighted frequency of {y ≤ t}: an estimate of the fraction of the box where f is at most t.
    kappa_gp, kappa_model : float
        Occurrence ratios: predicted probability of {y ≤ t} over its frequency. Below 1 the model is
        overconfident that low values are absent. NaN if no value lies at or below t.
    kappa_gp_range, kappa_model_range : (float, float)
        Approximate 90 % range of each ratio, due to the small number of points below t.
    tks_pit_gp, tks_pit_model : float
        Distance of the values below t from their predicted distribution, between 0 and 1 (tKS–PIT).
    tks_pit_limit : float
        95 % quantile of the tKS–PIT of a calibrated model with this number of points.
    tpit_mean_gp, tpit_mean_model : float
        Mean thresholded PIT below t: less than 1/2 if the values lie lower than predicted.
    twcrps_gp, twcrps_model : float
        Mean threshold-weighted CRPS, in the units of y.
    gp_label, model_label : str
        Their names in the text.
    law : Law
        Residual law of the model.
    above : bool
        Whether high values are good: "below" then means above, and "low" means high.
    """

    threshold: float
    n: int
    n_below: int
    probability: float
    kappa_gp: float
    kappa_model: float
    kappa_gp_range: tuple[float, float]
    kappa_model_range: tuple[float, float]
    tks_pit_gp: float
    tks_pit_model: float
    tks_pit_limit: float
    tpit_mean_gp: float
    tpit_mean_model: float
    twcrps_gp: float
    twcrps_model: float
    gp_label: str
    model_label: str
    law: Law
    above: bool = False

    def __repr__(self) -> str:
        verdict = (
            _occurrence_verdict(self.kappa_gp, self.kappa_gp_range) if self.n_below else "nothing to judge by"
        )
        below = f"{self.n_below} of {self.n} points below t = {self.threshold:.6g}"
        return self._turned(f"<Diagnosis: {below}; {self.gp_label}: {verdict}>")

    def __str__(self) -> str:
        if self.n_below == 0:
            return self._turned(
                f"No value lies at or below t = {self.threshold:.6g}: nothing can be said about calibration "
                "there. Choose a higher threshold (a larger delta)."
            )
        lines = [
            f"Below t = {self.threshold:.6g} ({self.n_below} of {self.n} points, "
            f"about {_percent(self.probability)} % of the box) the {self.gp_label} gives "
            f"{_times(self.kappa_gp, self.kappa_gp_range)} the probability it should: "
            f"{_occurrence_verdict(self.kappa_gp, self.kappa_gp_range)}.",
            f"The values below t lie {self._shape_verdict(self.tks_pit_gp, self.tpit_mean_gp)} "
            f"(tKS-PIT {self.tks_pit_gp:.2f}; chance alone stays below {self.tks_pit_limit:.2f}).",
        ]
        if not isinstance(self.law, Normal):
            lines.append(
                f"{self.model_label}{_parameters(self.law)} gives "
                f"{_times(self.kappa_model, self.kappa_model_range)} and a tKS-PIT of "
                f"{self.tks_pit_model:.2f}, on the data that chose it."
            )
        if self.n_below == self.n:
            lines.append(
                "All values lie at or below t: this is a check of all values, not of low ones. A lower threshold "
                "(a smaller delta) would make it one."
            )
        elif self.n_below <= 2:
            points = "1 point lies" if self.n_below == 1 else "2 points lie"
            lines.append(
                f"Only {points} at or below t: too little to judge by. More data, or a higher threshold "
                "(a larger delta), would give firmer numbers."
            )
        return self._turned("\n".join(lines))

    def _turned(self, text: str) -> str:
        """The text, with the sides swapped if high values are good."""
        return _SIDES.sub(lambda side: _OPPOSITE[side[0]], text) if self.above else text

    def _shape_verdict(self, tks: float, mean: float) -> str:
        """Where the values below t lie, compared with the prediction."""
        if tks <= self.tks_pit_limit:
            return "where it expects them"
        return "lower than it expects" if mean < 0.5 else "higher than it expects"


def diagnose(model: Model) -> Diagnosis:
    """Check whether a model, and the underlying GP, is over- or underconfident below the threshold.

    The check uses weighted leave-one-out on the data of the model. No new evaluations are needed.

    Parameters
    ----------
    model : Model
        A fitted model.

    Returns
    -------
    Diagnosis
        Numbers as attributes; ``print`` it for a summary.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.fit import fit_model
    >>> from tcgp.problems import get
    >>> from tcgp.scoring import diagnose
    >>> problem = get("goldstein-price")
    >>> X = np.random.default_rng(1).uniform(-2.0, 2.0, (40, 2))
    >>> diagnosis = diagnose(fit_model(X, problem.fun(X), "tcgp", bounds=problem.bounds, delta=0.25))
    >>> str(diagnosis).split(" the GP ")[0]
    'Below t = 2598.67 (10 of 40 points, about 24 % of the box)'
    """
    gp, own = loo_scores(model, law=Normal()), loo_scores(model)
    above = model.towards_low is not model
    model = model.towards_low
    below = model.y <= model.threshold
    weights = model.weights[below]
    # Kish's effective number of points below t.
    n_effective = float(weights.sum() ** 2 / (weights**2).sum()) if gp.n_below else 0.0
    return Diagnosis(
        threshold=gp.threshold,
        n=len(model.y),
        n_below=gp.n_below,
        probability=gp.probability,
        kappa_gp=gp.kappa,
        kappa_model=own.kappa,
        kappa_gp_range=_ratio_range(gp, n_effective),
        kappa_model_range=_ratio_range(own, n_effective),
        tks_pit_gp=gp.tks_pit,
        tks_pit_model=own.tks_pit,
        tks_pit_limit=distance_limit(max(round(n_effective), 1)),
        tpit_mean_gp=_tpit_mean(model, Normal(), weights),
        tpit_mean_model=_tpit_mean(model, model.law, weights),
        twcrps_gp=gp.twcrps,
        twcrps_model=own.twcrps,
        gp_label=base_label(model),
        model_label=method_label(model.method),
        law=model.law,
        above=above,
    )


def base_label(model: Model) -> str:
    """Name of the model without its calibration."""
    return "relaxed GP" if isinstance(model.interpolator, RelaxedGaussianProcess) else "GP"


def method_label(method: str) -> str:
    """A method's name as the paper writes it."""
    return _LABELS.get(method, method)


def _ratio_range(scores: Scores, n_effective: float) -> tuple[float, float]:
    """90 % range of an occurrence ratio whose denominator is a Poisson count (Garwood's limits)."""
    if scores.n_below == 0:
        return (np.nan, np.nan)
    most, least = gammaincinv(n_effective + 1.0, 0.95), gammaincinv(n_effective, 0.05)
    return (float(scores.kappa * n_effective / most), float(scores.kappa * n_effective / least))


def distance_limit(n: int) -> float:
    """95 % quantile of the Kolmogorov–Smirnov distance of n uniform values.

    Both one-sided distances hardly ever exceed it together: this is 2e-6 of it too large at most.
    """
    return float(smirnovi(n, 0.025))


def _tpit_mean(model: Model, law: Law, weights: FloatArray) -> float:
    """Weighted mean of the thresholded PIT of the values at or below the threshold."""
    if weights.size == 0:
        return np.nan
    pit = thresholded_pit(leave_one_out_prediction(model, law), model.y, model.threshold)
    return float(np.average(pit[model.y <= model.threshold], weights=weights))


def _percent(probability: float) -> str:
    """Percents with two digits, and never with an exponent."""
    return f"{float(f'{100.0 * probability:.2g}'):g}"


def _times(kappa: float, bounds: tuple[float, float]) -> str:
    """The ratio in words, with its range."""
    return f"{_ratio(kappa)} times (90 % range {_ratio(bounds[0])} to {_ratio(bounds[1])})"


def _occurrence_verdict(kappa: float, bounds: tuple[float, float]) -> str:
    """What an occurrence ratio means, and whether it can be chance."""
    if 1.0 / _CLOSE_TO_ONE <= kappa <= _CLOSE_TO_ONE:
        return "about right"
    if kappa <= 0.0:
        return "wrongly certain that there are no low values"
    factor = f"by a factor {_ratio(max(kappa, 1.0 / kappa))}"
    verdict = (
        f"overconfident about the absence of low values, {factor}"
        if kappa < 1.0
        else f"underconfident, it expects low values more often than they occur, {factor}"
    )
    by_chance = bounds[0] <= 1.0 <= bounds[1]
    return f"{verdict}, though with so few points this may be chance" if by_chance else verdict


def _ratio(value: float) -> str:
    """Two decimals, or two digits for small numbers."""
    return f"{value:.2f}" if 0.095 < value < 9.95 else f"{value:.2g}"


def _parameters(law: Law) -> str:
    """The parameters of a generalized normal law, in brackets; nothing for other laws."""
    if isinstance(law, GeneralizedNormal):
        return f" (beta = {law.beta:.3g}, lambda = {law.scale:.3g})"
    return ""
