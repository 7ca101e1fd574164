"""The data of a report: a run as plain numbers and strings, ready for JSON."""

from __future__ import annotations

import copy
import logging
import math
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from tcgp import __version__
from tcgp._text import shorten
from tcgp.goals import parameter_names
from tcgp.laws import Normal
from tcgp.models import Model, Prediction
from tcgp.optimizer import Optimizer
from tcgp.optimizer.answer import Answer
from tcgp.optimizer.outlook import Outlook
from tcgp.record.history import Evaluation
from tcgp.report.front import front, knee
from tcgp.report.limits import constraints, known_constraints, law_rows, log_feasible
from tcgp.report.numbers import LONGEST_TEXT, attempt, rounded
from tcgp.scoring import diagnose
from tcgp.scoring.diagnosis import Diagnosis, method_label
from tcgp.scoring.sensitivity import LIMITS, RANKS
from tcgp.space import Categorical, Dimension, Point, Real, on_bounds

__all__ = ["State", "calibration_sentence", "current_model", "report_data"]

logger = logging.getLogger("tcgp")

N_GRID = 61  # points along a 1-D slice
N_HEAT = 31  # points along each side of a 2-D slice
N_FAILURES = 100  # rows of the table of failures, the latest
N_OUTPUTS = 12  # outputs that are shown; the journal has all
MOST_MODELLED = 300  # values that a model is fitted to for the page alone: some seconds
TRACED = ("n", "beta", "scale", "log_ei")  # numbers of the trace that are drawn, beside two values
LEVEL = 0.9  # probability of the intervals in the slices
ABOUT_RIGHT = 1.25  # as in tcgp.scoring.diagnose
FAR_OFF = (
    2.0  # ratio of predicted to observed frequency of low values from which on a model is used with care
)


@dataclass(frozen=True)
class State:
    """State of a run.

    Attributes
    ----------
    running : bool
    text : str
        The same in words: why it ended.
    n_evals : int or None
        Its budget.
    refresh : float or None
        Seconds after which the page loads itself again; None if nothing new will come.
    patience : float or None
        Seconds after which a page that has not been written again says that there is no news, and turns grey.
    """

    running: bool
    text: str
    n_evals: int | None = None
    refresh: float | None = None
    patience: float | None = None


def report_data(
    optimizer: Optimizer,
    state: State,
    *,
    title: str = "tcgp run",
    software: str | None = None,
    fit: bool = False,
) -> dict[str, Any]:
    """Everything a report shows, as plain JSON.

    Parameters
    ----------
    optimizer : Optimizer
    state : State
        State of the run.
    title : str
    software : str, optional
        Software that began the run, if a journal records it.
    fit : bool
        Whether to fit a model if the optimizer has none, which takes seconds.

    Returns
    -------
    dict

    Examples
    --------
    >>> import tcgp
    >>> from tcgp.report import State, report_data
    >>> optimizer = tcgp.Optimizer({"width": (0.0, 2.0)}, rng=0)
    >>> optimizer.tell([0.5], 3.0)
    >>> data = report_data(optimizer, State(running=True, text="running"))
    >>> data["evaluations"]["y"], data["parameters"][0]["name"]
    ([3.0], 'width')
    """
    evaluations, goals = optimizer.evaluations, optimizer.history.goals
    parameters = _parameters(optimizer)
    models = _thinned(optimizer) if fit and (optimizer.model is None or _is_behind(optimizer)) else optimizer
    model = attempt("the model", _model, models, fit)
    outputs = optimizer.history.output_names[:N_OUTPUTS]
    shown = optimizer.history.best or knee(optimizer) or optimizer.history.least_violating
    outlook = attempt("the outputs", Outlook, optimizer) if model is not None else None
    limits = attempt("the constraints", constraints, optimizer, shown, models, outlook) or []
    of_model = _of_model(models, model, outlook, shown)
    return {
        "title": shorten(title),
        "state": {**asdict(state), "written": round(time.time(), 1)},
        "parameters": parameters,
        "goals": {
            "objective": None if goals.objective is None else shorten(goals.objectives[0].text, LONGEST_TEXT),
            "maximize": goals.maximize,
            "outputs": [shorten(name, LONGEST_TEXT) for name in outputs],
        },
        "n_initial": optimizer.settings.n_initial,
        "evaluations": _columns(optimizer, outputs),
        "retries": len(optimizer.history.retries),
        "pending": [{"id": p.id, "x": _words(parameters, optimizer, p.x)} for p in optimizer.pending],
        "order": _order(optimizer),
        "exact": None if shown is None else {"y": repr(shown.y), "x": _words(parameters, optimizer, shown.x)},
        "on_bounds": [] if shown is None else on_bounds(optimizer.space, shown.x),
        "shown": None if shown is None else next(i for i, e in enumerate(evaluations) if e is shown),
        "answer": attempt("the prediction at the best point", _answer, optimizer) if goals.noisy else None,
        "known": known_constraints(optimizer, shown),
        "constraints": limits,
        "failures": _failures(parameters, optimizer),
        "modelled": None
        if models is optimizer
        else {"n": len(models.evaluations), "of": _n_values(optimizer)},
        "front": attempt("the front", front, optimizer),
        **of_model,
        "trust": trust_sentence(of_model["calibration"], limits),
        "trace": _trace(optimizer),
        "settings": _settings(optimizer),
        "versions": _versions(software),
    }


def _columns(optimizer: Optimizer, outputs: Sequence[str]) -> dict[str, list[Any]]:
    """All evaluations, as one list for each thing that is shown of them."""
    evaluations = optimizer.evaluations
    return {
        "x": [_coordinates(optimizer, e.x, 8) for e in evaluations],
        "y": [rounded(e.y, 12) for e in evaluations],
        "outputs": [[rounded((e.outputs or {}).get(name), 8) for name in outputs] for e in evaluations],
        "broken": _broken(optimizer),
        "reason": [None if e.reason is None else shorten(e.reason, LONGEST_TEXT) for e in evaluations],
        "corrected": [_former(optimizer, e) for e in evaluations],
        "id": [e.id for e in evaluations],
        "source": [_source(optimizer, e) for e in evaluations],
        "optimizer": [rounded(_seconds_to_choose(optimizer, e), 4) for e in evaluations],
        "simulator": [rounded(e.seconds, 4) for e in evaluations],
    }


def _of_model(
    models: Optimizer, model: Model | None, outlook: Outlook | None, shown: Evaluation | None
) -> dict[str, Any]:
    """What models say; nothing where there is none."""
    if model is None:
        names = ("slices", "calibration", "importance", "outputs", "share")
        return {**dict.fromkeys(names), "others": []}
    goals = models.history.goals
    return {
        "slices": attempt("the slices", _slices, models, shown),
        "others": [attempt("the slices", _slices, models, shown, j) for j in range(1, len(goals.objectives))],
        "calibration": None
        if goals.has_several
        else attempt("the calibration", _calibration, model, bool(goals.maximize)),
        "share": attempt("the share", _share, models),
        "importance": None if outlook is None else attempt("the importance", _importance, outlook),
        "outputs": None
        if outlook is None
        else attempt("the slices", _slices_of_outputs, outlook, models, shown),
    }


def _trace(optimizer: Optimizer) -> list[dict[str, Any]]:
    """What the models were along the run."""
    return [
        {
            "method": method_label(str(entry.get("method") or optimizer.settings.method)),
            **{name: rounded(entry.get(name), 6) for name in TRACED},
            **{name: rounded(_signed(optimizer, entry.get(name)), 6) for name in ("threshold", "best")},
        }
        for entry in optimizer.trace
    ]


def _answer(optimizer: Optimizer) -> dict[str, Any] | None:
    """The best point of a noisy function, and how well its value is known; None where no noise is seen."""
    answer = Answer.of(optimizer)
    if answer.evaluation is None or not answer.noise:
        return None
    low, high = answer.interval
    numbers = {"value": answer.value, "low": low, "high": high, "noise": answer.noise}
    row = optimizer.evaluations.index(answer.evaluation)
    return {**{name: rounded(number, 8) for name, number in numbers.items()}, "level": LEVEL, "row": row}


def calibration_sentence(diagnosis: Diagnosis, *, maximize: bool = False) -> str:
    """The main result of a diagnosis in a sentence or two, for readers who did not write the script.

    With ``maximize`` the diagnosis is about negated values, and the sentence about the values themselves.
    """
    below, low_values = ("above", "high values") if maximize else ("below", "low values")
    if diagnosis.n_below == 0 or not math.isfinite(diagnosis.kappa_gp):
        return f"No value lies {below} the threshold yet, so nothing can be said about calibration there."
    kappa, (low, high) = diagnosis.kappa_gp, diagnosis.kappa_gp_range
    if 1.0 / ABOUT_RIGHT <= kappa <= ABOUT_RIGHT:
        text = f"{below.capitalize()} the threshold the plain {diagnosis.gp_label} would be about right here"
    elif kappa <= 0.0:
        text = f"The plain {diagnosis.gp_label} would be wrongly certain that there are no {low_values} here"
    else:
        direction, factor = ("over", 1.0 / kappa) if kappa < 1.0 else ("under", kappa)
        text = (
            f"{below.capitalize()} the threshold the plain {diagnosis.gp_label} would be {direction}confident "
            f"by a factor of {_factor(factor)} here"
        )
        if low <= 1.0 <= high:
            text += ", though with so few points this may be chance"
    if diagnosis.n_below <= 2:
        points = "one value" if diagnosis.n_below == 1 else "two values"
        text += f" (only {points} {below} it: too few to judge by)"
    if isinstance(diagnosis.law, Normal):
        return f"{text}; the model in use is this GP."
    return (
        f"{text}; {diagnosis.model_label}, the model in use, gives {low_values} "
        f"{_ratio(diagnosis.kappa_model)} times the probability with which they occur."
    )


def trust_sentence(calibration: Mapping[str, Any] | None, limits: Sequence[Mapping[str, Any]]) -> str:
    """Can the models be trusted, in one sentence."""
    judged = [limit["model"] for limit in limits if limit["model"] is not None]
    wrong = [limit["text"] for limit in limits if limit["model"] is not None and not limit["model"]["right"]]
    doubts = []
    if calibration is not None and calibration["n_below"] > 2:
        kappa = calibration["models"][-1]["kappa"]
        if kappa is not None and not 1.0 / FAR_OFF <= kappa <= FAR_OFF:
            doubts.append(
                f"good values occur {'less' if kappa > 1.0 else 'more'} often than the model expects"
            )
    if wrong:
        doubts.append(f"the models misjudge how often {' and '.join(wrong)} is satisfied")
    if doubts:
        return f"With care: {', and '.join(doubts)}."
    if calibration is None and not judged:
        return "Nothing can be said before a model has been fitted."
    if calibration is not None and calibration["n_below"] <= 2:
        n_below, n = calibration["n_below"], calibration["n"]
        return f"Too early to say: only {n_below} of {n} values are good enough to judge by."
    what = ["good values"] * (calibration is not None) + ["satisfied limits"] * bool(judged)
    return f"Yes: {' and '.join(what)} are about as frequent as the models expect when each value is predicted from "
    "the others."


def _ratio(value: float) -> str:
    """Two decimals where they mean something, two digits elsewhere."""
    return f"{value:.2f}" if 0.095 < value < 9.95 else f"{value:.2g}"


def _factor(value: float) -> str:
    """Two digits, without the powers of ten that few people read."""
    return (
        f"{value:.1f}"
        if value < 9.95
        else f"{float(f'{value:.2g}'):,.0f}"
        if value < 1e6
        else "a million or more"
    )


# ---- parameters and points ----


def _source(optimizer: Optimizer, evaluation: Evaluation) -> str:
    """Where the point of an evaluation came from."""
    return "given" if evaluation.id is None else optimizer.history.proposals[evaluation.id].source


def _seconds_to_choose(optimizer: Optimizer, evaluation: Evaluation) -> float | None:
    """How long a model took to choose the point of an evaluation, if one did."""
    trace = None if evaluation.id is None else optimizer.history.proposals[evaluation.id].trace
    return None if trace is None else (trace.get("t_fit") or 0.0) + (trace.get("t_maximize") or 0.0)


def _parameters(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Name, kind, range and labels of each parameter."""
    space = optimizer.space
    found = []
    for name, dimension in zip(parameter_names(space), space.dimensions, strict=True):
        item: dict[str, Any] = {"name": shorten(name, LONGEST_TEXT), "labels": None}
        if isinstance(dimension, Categorical):
            item |= {"type": "categorical", "low": 0, "high": len(dimension.choices) - 1, "log": False}
            item["labels"] = [_text(choice) for choice in dimension.choices]
        else:
            kind = "real" if isinstance(dimension, Real) else "integer"
            item |= {"type": kind, "low": dimension.low, "high": dimension.high, "log": dimension.log}
        found.append(item)
    return found


def _coordinates(optimizer: Optimizer, x: Point, digits: int) -> list[float]:
    """A point as numbers: choices become their places in the list."""
    pairs = zip(optimizer.space.dimensions, x, strict=True)
    return [
        d.place(v) if isinstance(d, Categorical) else v if isinstance(v, int) else rounded(v, digits)
        for d, v in pairs
    ]


def _words(parameters: Sequence[Mapping[str, Any]], optimizer: Optimizer, x: Point) -> list[str]:
    """A point as exact text, one string per parameter."""
    return [
        parameter["labels"][dimension.place(value)] if isinstance(dimension, Categorical) else repr(value)
        for parameter, dimension, value in zip(parameters, optimizer.space.dimensions, x, strict=True)
    ]


def _broken(optimizer: Optimizer) -> list[list[int] | None]:
    """Which limits each evaluation violates, by their places; None where it failed."""
    data = optimizer.history.data
    rows = zip(data.evaluations, data.excesses.tolist(), strict=True)
    return [None if e.failed else [k for k, excess in enumerate(row) if not excess <= 0.0] for e, row in rows]


def _former(optimizer: Optimizer, evaluation: Evaluation) -> str | None:
    """What was told of an evaluation before it was corrected, as text; None if it was not."""
    outcomes = [before.outcome() for before in optimizer.history.former(evaluation)]
    return shorten(", then ".join(outcomes), LONGEST_TEXT) if outcomes else None


def _signed(optimizer: Optimizer, value: float | None) -> float | None:
    """A value that a model has seen, with the user's sign."""
    return None if value is None else optimizer.history.goals.objectives[0].sign * value


def _order(optimizer: Optimizer) -> list[int]:
    """Rows of the evaluations that succeeded, the best first; with several objectives the front first."""
    data = optimizer.history.data
    front = data.front.tolist() if optimizer.history.goals.has_several else []
    return list(dict.fromkeys([*front, *data.ranking.tolist()]))


def _failures(parameters: Sequence[Mapping[str, Any]], optimizer: Optimizer) -> list[dict[str, Any]]:
    """The latest failed evaluations, with their reasons."""
    failed = [(i, e) for i, e in enumerate(optimizer.evaluations) if e.failed]
    return [
        {
            "number": i + 1,
            "id": e.id,
            "reason": shorten(e.reason or "no reason given", LONGEST_TEXT),
            "x": _words(parameters, optimizer, e.x),
        }
        for i, e in failed[-N_FAILURES:]
    ]


# ---- the model ----


def _model(optimizer: Optimizer, fit: bool) -> Model | None:
    """The model of the last proposal; or, if allowed and possible, one fitted now to all evaluations."""
    if not fit or (optimizer.model is not None and not _is_behind(optimizer)):
        return optimizer.model
    return optimizer.update_model() if optimizer.history.data.has_contrast else None


def _is_behind(optimizer: Optimizer) -> bool:
    """Whether evaluations have come since the last model, as at the end of a run."""
    model, n = optimizer.model, len(optimizer.history.data.distinct)
    return model is not None and len(model.X) < n <= MOST_MODELLED


def _thinned(optimizer: Optimizer) -> Optimizer:
    """An optimizer with the same values, or with a part of them if there are too many; a fit does not touch the run."""
    data = optimizer.history.data
    n = int(data.succeeded.sum())
    if n <= MOST_MODELLED:
        return copy.copy(optimizer) if _is_behind(optimizer) else optimizer
    chosen = [data.evaluations[i] for i in data.sample(MOST_MODELLED)]
    logger.info("the model of the report is fitted to %d of %d values", len(chosen), n)
    few = Optimizer(optimizer.space, rng=optimizer.seed, **asdict(optimizer.settings))
    few.tell([e.x for e in chosen], [e.y if e.outputs is None else e.outputs for e in chosen])
    return few


def _n_values(optimizer: Optimizer) -> int:
    return int(optimizer.history.data.succeeded.sum())


def current_model(optimizer: Optimizer) -> tuple[Optimizer, Model | None]:
    """The model that a report of a journal shows, and the optimizer that has it, perhaps with fewer data."""
    models = _thinned(optimizer) if optimizer.model is None else optimizer
    return models, _model(models, True)


def _importance(outlook: Outlook) -> dict[str, Any]:
    """Total index of each parameter for each objective and output and for satisfying all limits, and three orders."""
    found = outlook.sensitivities()
    names = next(iter(found.of.values())).names
    ranks = [rank for rank in RANKS if rank == "objective" or LIMITS in found.of]
    orders = {rank: [names.index(name) for name in replace(found, rank=rank).names] for rank in ranks}
    return {
        "columns": [shorten(name, LONGEST_TEXT) for name in found.of],
        "totals": [[rounded(v, 4) for v in one.total.tolist()] for one in found.of.values()],
        "orders": orders,
    }


def _slices_of_outputs(
    outlook: Outlook, optimizer: Optimizer, centre: Evaluation | None
) -> list[dict[str, Any]]:
    """Mean and interval along each parameter of the outputs that are not objectives."""
    objectives = [quantity.text for quantity in optimizer.history.goals.objectives]
    return [
        {
            "name": shorten(name, LONGEST_TEXT),
            "level": LEVEL,
            "along": _along(optimizer, centre, partial(_of_output, optimizer, model)),
        }
        for name, model in list(outlook.outputs.items())[: N_OUTPUTS + len(objectives)]
        if centre is not None and name not in objectives
    ]


def _of_output(optimizer: Optimizer, model: Model, points: Sequence[Point]) -> dict[str, list[float | None]]:
    """Predictions of the model of an output at points."""
    mean, sd = model.predict_arrays(optimizer.space.encode(points))
    prediction = Prediction(mean, sd, model.law)
    low, high = prediction.interval(LEVEL)
    columns = {"mean": mean, "sd": sd, "lower": low, "upper": high}
    return {name: [rounded(v, 6) for v in column.tolist()] for name, column in columns.items()}


def _share(optimizer: Optimizer) -> float | None:
    """Predicted share of the space that is better than the best value."""
    share: float | None = rounded(optimizer.share_below(), 4)
    return share


def _slices(optimizer: Optimizer, centre: Evaluation | None, j: int = 0) -> dict[str, Any] | None:
    """Mean, interval and EI along each parameter through the point that is shown, and over the two that matter most.

    Of several objectives this is about one, and there is no EI.
    """
    data, surrogate = optimizer.history.data, optimizer.surrogates[j]
    if centre is None or surrogate.last is None:
        return None
    model = surrogate.updated(data.U[data.succeeded], data.Y[data.succeeded, j]) or surrogate.last.model
    along = _along(optimizer, centre, lambda points: _views(optimizer, model, points, j))
    return {"level": LEVEL, "along": along, "over": _heat_map(optimizer, model, along, centre.x, j)}


def _along(
    optimizer: Optimizer, centre: Evaluation, views: Callable[[Sequence[Point]], dict[str, Any]]
) -> list[dict[str, Any] | None]:
    """Views of points along each parameter through a point."""
    along: list[dict[str, Any] | None] = []
    for i, dimension in enumerate(optimizer.space.dimensions):
        values = _grid(dimension, N_GRID)
        if len(values) < 2:
            along.append(None)
            continue
        points = [[*centre.x[:i], value, *centre.x[i + 1 :]] for value in values]
        along.append({"values": _axis(dimension, values), **views(points)})
    return along


def _heat_map(
    optimizer: Optimizer, model: Model, along: Sequence[Mapping[str, Any] | None], centre: Point, j: int
) -> dict[str, Any] | None:
    """Mean, sd and EI over the two parameters along which the mean changes most."""
    ranges = [-1.0 if view is None else _range(view["mean"]) for view in along]
    i, k = sorted(np.argsort(ranges, kind="stable")[-2:].tolist()) if len(ranges) > 1 else (0, 0)
    if i == k or min(ranges[i], ranges[k]) < 0.0:
        return None
    dimensions = optimizer.space.dimensions
    columns, rows = _grid(dimensions[i], N_HEAT), _grid(dimensions[k], N_HEAT)
    points = []
    for b in rows:
        for a in columns:
            x = list(centre)
            x[i], x[k] = a, b
            points.append(x)
    views = _views(optimizer, model, points, j, digits=4)
    return {"i": i, "j": k, "x": _axis(dimensions[i], columns), "y": _axis(dimensions[k], rows), **views}


def _views(
    optimizer: Optimizer, model: Model, points: Sequence[Point], j: int, digits: int = 6
) -> dict[str, list[float | None]]:
    """Predictions of the models at points.

    Of the objective, with the user's sign; EI counts only improvements that satisfy all limits, as the criterion does;
    and, with limits, the probability of satisfying them.
    """
    U, best = optimizer.space.encode(points), optimizer.history.best
    prediction, sign = model.predict(U), optimizer.history.goals.objectives[j].sign
    low, high = prediction.interval(LEVEL)
    lower, upper = (low, high) if sign > 0.0 else (-high, -low)
    columns = {"mean": sign * prediction.mean, "sd": prediction.sd, "lower": lower, "upper": upper}
    log_p = log_feasible(optimizer, U)
    with np.errstate(under="ignore", over="ignore"):
        if best is not None and best.y is not None:
            log_ei = prediction.log_expected_improvement(sign * best.y)
            columns["ei"] = np.exp(log_ei if log_p is None else log_ei + log_p)
        if log_p is not None:
            columns["feasible"] = np.exp(log_p)
    return {name: [rounded(v, digits) for v in column.tolist()] for name, column in columns.items()}


def _grid(dimension: Dimension, n: int) -> list[Any]:
    """Values along a parameter: at most n of a number, and all choices."""
    if isinstance(dimension, Categorical):
        return list(dimension.choices)
    if dimension.size <= n:
        return list(dimension.values())
    return list(dict.fromkeys(dimension.quantile(float(u)) for u in np.linspace(0.0, 1.0, n)))


def _axis(dimension: Dimension, values: Iterable[Any]) -> list[float | None]:
    """Values as numbers: choices become their places in the list."""
    if isinstance(dimension, Categorical):
        return [dimension.place(value) for value in values]
    return [value if isinstance(value, int) else rounded(value, 8) for value in values]


def _range(values: Sequence[float | None]) -> float:
    known = [v for v in values if v is not None]
    return max(known) - min(known) if known else -1.0


# ---- calibration ----


def _calibration(model: Model, maximize: bool) -> dict[str, Any]:
    """Is the model right below the threshold: numbers, curves and a sentence."""
    diagnosis = diagnose(model)
    return {
        "sentence": calibration_sentence(diagnosis, maximize=maximize),
        "details": ("In detail, with all values negated: " if maximize else "") + str(diagnosis),
        "threshold": rounded(-diagnosis.threshold if maximize else diagnosis.threshold, 8),
        "n": diagnosis.n,
        "n_below": diagnosis.n_below,
        "probability": rounded(diagnosis.probability, 4),
        "models": law_rows(model),
    }


# ---- settings ----


def _settings(optimizer: Optimizer) -> list[list[str]]:
    settings = asdict(optimizer.settings)
    options = settings.pop("options")
    settings["constraints"] = "; ".join(settings["constraints"]) or "none"
    for name in ("objective", "maximize"):
        if isinstance(settings[name], tuple):
            settings[name] = "; ".join(settings[name]) or "none"
    if settings["criterion"] != "lcb":
        del settings["epsilon"]
    rows = {**settings, **{f"option {name}": value for name, value in options.items()}}
    rows["seed"] = optimizer.seed
    return [[name.replace("_", " "), _text(value)] for name, value in rows.items()]


def _versions(software: str | None) -> list[list[str]]:
    rows = [
        ["tcgp", __version__],
        ["Python", platform.python_version()],
        ["numpy", np.__version__],
        ["scipy", scipy.__version__],
        ["system", f"{platform.system()} {platform.machine()}"],
    ]
    return rows if software is None else [["run begun with", shorten(software)], *rows]


def _text(value: object) -> str:
    """A choice or a setting as it reads: strings bare, other values as Python writes them."""
    return shorten(value if isinstance(value, str) else repr(value), LONGEST_TEXT)
