"""Constraints in a report: the distance of the best point from each, and the quality of its model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tcgp._text import shorten
from tcgp._typing import FloatArray
from tcgp.laws import Law, Normal
from tcgp.models import Model
from tcgp.optimizer import Optimizer
from tcgp.optimizer.outlook import Outlook
from tcgp.record.history import Evaluation
from tcgp.report.numbers import LONGEST_TEXT, attempt, rounded
from tcgp.scoring import diagnose_limit, leave_one_out_prediction, loo_scores, thresholded_pit
from tcgp.scoring.diagnosis import base_label, method_label

__all__ = ["constraints", "known_constraints", "law_rows", "log_feasible"]


def constraints(
    optimizer: Optimizer, shown: Evaluation | None, models: Optimizer, outlook: Outlook | None
) -> list[dict[str, Any]]:
    """For each limit on outputs, its distance from the shown point, and whether its model is right.

    The models are those of the other optimizer, which may know fewer evaluations. With an outlook, the gain from
    relaxing each active limit of a single objective.
    """
    data, limits = optimizer.history.data, optimizer.history.goals.limits
    margins = [None] * len(limits) if shown is None else data.margins(shown)
    columns = data.excesses[data.succeeded].T
    active = [j for j, margin in enumerate(margins) if margin is not None and margin.active]
    relaxed = {}
    if outlook is not None and active and not optimizer.history.goals.has_several:
        gains = attempt("the gain from relaxing limits", outlook.gains, active) or []
        relaxed = {j: {"to": rounded(to, 6), "gain": rounded(gain, 3)} for j, to, gain in gains}
    found = []
    for j, (limit, margin, column, surrogate) in enumerate(
        zip(limits, margins, columns, models.surrogates[data.n_objectives :], strict=True)
    ):
        kept, last = column <= 0.0, surrogate.last
        item: dict[str, Any] = {
            "text": shorten(limit.text, LONGEST_TEXT),
            "bound": rounded(limit.shown_bound, 8),
            "kept": int(kept.sum()),
            "n": len(kept),
            "here": None,
            "relaxed": relaxed.get(j),
            "model": None if last is None else attempt("a limit's model", _limit_model, last.model),
        }
        if margin is not None:
            item["here"] = {
                "value": rounded(margin.value, 8),
                "distance": margin.distance,
                "kept": margin.kept,
                "active": margin.active,
            }
        found.append(item)
    return found


def known_constraints(optimizer: Optimizer, shown: Evaluation | None) -> list[dict[str, Any]]:
    """For each side of the constraints on parameters, its distance from the shown point."""
    history = optimizer.history
    if not history.evaluations:
        return []
    margins = history.data.known_margins((shown or history.evaluations[0]).x)
    return [
        {
            "text": shorten(margin.limit.text, LONGEST_TEXT),
            "bound": rounded(margin.bound, 8),
            "value": None if shown is None else rounded(margin.value, 8),
            "distance": None if shown is None else margin.distance,
            "kept": None if shown is None else margin.kept,
            "active": shown is not None and margin.active,
        }
        for margin in margins
    ]


def _limit_model(model: Model) -> dict[str, Any]:
    """Is the model right about its limit, which is 0: counts, curves and words."""
    diagnosis = diagnose_limit(model)
    return {
        "sentence": diagnosis.summary,
        "right": diagnosis.verdict == "about right",
        "bands": [
            {"label": b.label, "n": b.n, "expected": rounded(b.expected, 4), "kept": b.kept}
            for b in diagnosis.bands
        ],
        "models": law_rows(replace(model, threshold=0.0)),
    }


def law_rows(model: Model) -> list[dict[str, Any]]:
    """Calibration below the threshold by leave-one-out, of the plain GP and of the law in use: scores and curves."""
    laws: list[tuple[str, Law]] = [(f"plain {base_label(model)}", Normal())]
    if not isinstance(model.law, Normal):
        laws.append((f"{method_label(model.method)}, in use", model.law))
    rows = []
    for label, law in laws:
        scores = loo_scores(model, law=law)
        rows.append(
            {
                "label": label,
                "kappa": rounded(scores.kappa, 4),
                "r": rounded(scores.occurrence, 4),
                "predicted": rounded(scores.predicted, 4),
                "tks_pit": rounded(scores.tks_pit, 4),
                **_curve(model, law),
            }
        )
    return rows


def _curve(model: Model, law: Law) -> dict[str, list[float | None]]:
    """Weighted distribution function of the thresholded PIT: where it steps, and to what."""
    below = model.y <= model.threshold
    pit = thresholded_pit(leave_one_out_prediction(model, law), model.y, model.threshold)[below]
    weights: FloatArray = model.weights[below]
    order = np.argsort(pit)
    share = np.cumsum(weights[order] / weights.sum()) if pit.size else weights
    return {
        "u": [rounded(u, 5) for u in pit[order].tolist()],
        "share": [rounded(s, 5) for s in share.tolist()],
    }


def log_feasible(optimizer: Optimizer, U: FloatArray) -> FloatArray | None:
    """Logarithm of the probability that all limits are satisfied at points of the unit cube; None without their
    models."""
    data = optimizer.history.data
    limits = optimizer.surrogates[data.n_objectives :]
    models = [
        surrogate.updated(data.U, column) for surrogate, column in zip(limits, data.excesses.T, strict=True)
    ]
    if not models or None in models:
        return None
    return np.asarray(sum(model.predict(U).logcdf(0.0) for model in models if model is not None))
