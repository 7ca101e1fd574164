"""The result of an optimization."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from tcgp._text import html_table, plain, shorten
from tcgp.goals import parameter_names
from tcgp.optimizer.answer import Answer
from tcgp.optimizer.front import Front, FrontPoint
from tcgp.record.history import History

if TYPE_CHECKING:
    from tcgp.optimizer.optimizer import Optimizer
    from tcgp.scoring import Sensitivities
    from tcgp.search.acquisition import Models

__all__ = ["Result", "columns_of", "rows_of"]

MOST_LISTED = 12  # points of a front in a notebook


class Result(OptimizeResult):  # type: ignore[misc]
    """A `scipy.optimize.OptimizeResult` that can draw itself.

    Attributes
    ----------
    x : array, list or dict
        Best point that satisfies all constraints, in the form the function takes. If there is none, the point that
        comes closest, and ``success`` is False. None if every evaluation failed, and with several objectives.
    fun : float or None
        Its value, with the sign of the function; NaN if every evaluation failed; None with several objectives. With
        ``noise`` x is the evaluated point whose prediction is best if one standard deviation is added, and this is the
        prediction, without noise.
    interval : (float, float)
        With ``noise``, the interval that contains the value without noise at x with probability 0.9; else ``fun``
        twice.
    best_observed : float
        The best observed value that satisfies all constraints. With ``noise`` it owes something to luck.
    noise : float, or dict with several objectives
        Standard deviation of the noise of a typical evaluation, known or learned; 0 for exact ones.
    outputs : dict or None
        All outputs at this point, if the function has several.
    front : Front
        Only with several objectives, as the next two: the points that satisfy all constraints and that no other
        dominates; with ``noise`` by their predictions.
    hypervolume : array of shape (n,)
        The volume dominated after each evaluation, up to ``reference``.
    reference : dict
        For each objective the value up to which volumes count; empty while no point satisfies all constraints.
    feasible : array of shape (n,)
        For each evaluation, whether it succeeded and satisfies all constraints on outputs.
    nfev, nit : int
        Evaluations of the function, and how many of the points were chosen by a criterion.
    success : bool
    status : int
        Why the run ended; see `tcgp.minimize`.
    message, stopped : str
        The same in words; the message adds, if no evaluation succeeded, how the last one failed.
    x_iters : list of dicts or lists
        All evaluated points, in the order of the results: dicts if the parameters have names.
    constraints : list of str
        ``x`` compared with each constraint, in words.
    func_vals : array of shape (n,), or (n, m) with m objectives
        Their values; NaN where the evaluation failed.
    failures : list of (int, str)
        For each failed evaluation, its place in ``x_iters`` and the reason.
    optimizer : Optimizer
        The optimizer, with the full history and the ``trace`` of the models.
    """

    @classmethod
    def of(cls, optimizer: Optimizer) -> Result:
        """The result of an optimizer so far."""
        history, evaluations = optimizer.history, optimizer.evaluations
        answer, observed = Answer.of(optimizer), history.best
        best = answer.evaluation
        message = "the front so far" if history.goals.has_several else "the best so far"
        if not answer.feasible:
            message = (
                f"no evaluation {'has succeeded' if best is None else 'satisfies all constraints'} so far"
            )
        result = cls(
            x=None if best is None else optimizer.space.as_argument(best.x),
            fun=answer.value,
            interval=answer.interval,
            best_observed=math.nan if observed is None else observed.y,
            noise=answer.noise,
            outputs=None if best is None or best.outputs is None else dict(best.outputs),
            constraints=[] if best is None else history.data.described_margins(best),
            nfev=len(evaluations),
            nit=len(optimizer.trace),
            success=answer.feasible,
            status=0,
            message=message,
            x_iters=[optimizer.space.as_named(e.x) for e in evaluations],
            func_vals=np.array([math.nan if e.y is None else e.y for e in evaluations], dtype=np.float64),
            feasible=history.data.feasible,
            failures=[(i, e.reason) for i, e in enumerate(evaluations) if e.failed],
            optimizer=optimizer,
        )
        if history.goals.has_several:
            result.update(_of_several(history, optimizer.smoothed))
        return result

    def knee(self) -> FrontPoint:
        """The knee of the front, where a step in either direction costs more than it gains."""
        return self._front.knee()

    def choose(self, weights: Mapping[str, float]) -> FrontPoint:
        """The point of the front that suits weights of the objectives best: see ``Front.choose``."""
        return self._front.choose(weights)

    @property
    def _front(self) -> Front:
        if "front" not in self:
            raise ValueError("there is no front: the run has one objective, and its best point is x")
        return self["front"]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        several = "front" in self
        lines = {
            **({"front": self.front} if several else {"fun": self._named_value()}),
            **self._uncertainty(),
            **({} if several else {"x": plain(self.x)}),
            **({"outputs": _listed(self.outputs)} if self.get("outputs") else {}),
            **({"constraints": "; ".join(self.constraints)} if self.get("constraints") else {}),
            "evaluations": self._counts(),
            "message": self.message,
        }
        return "\n".join(f"{name + ':':<13}{shorten(str(value))}" for name, value in lines.items())

    def _repr_html_(self) -> str:
        """What a notebook shows: the best point with its outputs, limits and parameters, or the points of the front."""
        if "optimizer" not in self:
            return html_table([], [[str(name), plain(value)] for name, value in self.items()])
        ends = [["evaluations", self._counts()], ["message", self.message]]
        if "front" in self:
            return self._card_of_front() + html_table([], ends)
        names = parameter_names(self.optimizer.space)
        point = [] if self.x is None else list(self.x.values() if isinstance(self.x, Mapping) else self.x)
        goals = self.optimizer.history.goals
        rows = [[goals.objective or "value", _shown(self.fun)]]
        rows += [[name, value] for name, value in self._uncertainty().items()]
        rows += [[n, _shown(v)] for n, v in (self.get("outputs") or {}).items() if n != goals.objective]
        limits = [text.rpartition(": ") for text in self.get("constraints", ())]
        return "".join(
            [
                html_table(["best point" if self.success else "nearest point", ""], rows),
                html_table(["limit", "at this point"], [[a, b] for a, _, b in limits]) if limits else "",
                html_table(["parameter", ""], [[n, _shown(v)] for n, v in zip(names, point, strict=False)]),
                html_table([], ends),
            ]
        )

    def _card_of_front(self) -> str:
        """The points of the front, some of them if there are many, with the knee marked."""
        front: Front = self["front"]
        names = parameter_names(self.optimizer.space)
        evaluations = self.optimizer.evaluations
        stride = -(-len(front) // MOST_LISTED)
        knee = front.knee().index if len(front) else None
        rows = [
            ["knee" if point.index == knee else "", *map(_shown, point.values.values())]
            + [_shown(value) for value in evaluations[point.index].x]
            for i, point in enumerate(front)
            if i % stride == 0 or point.index == knee or i == len(front) - 1
        ]
        return html_table([f"front: {len(front)} points", *front.names, *names], rows)

    def _uncertainty(self) -> dict[str, str]:
        """The rows about noise."""
        if not self.noise:
            return {}
        if isinstance(self.noise, Mapping):
            return {"noise": _listed({name: sd for name, sd in self.noise.items() if sd})}
        low, high = self.interval
        return {
            "interval": f"{low:.6g} to {high:.6g}",
            "noise": f"{self.noise:.3g}",
            "observed": f"{plain(self.best_observed)} at best",
        }

    def _named_value(self) -> str:
        """The value, with the name of its output."""
        name = self.optimizer.history.goals.objective if "optimizer" in self else None
        return plain(self.fun) + (f" ({name})" if name else "")

    def _counts(self) -> str:
        failed, given = len(self.failures), len(self.func_vals) - self.nfev
        words = [f"{given} of them given"] if given > 0 else []
        words += [f"{failed} of them failed"] if failed else []
        if "optimizer" in self and self.optimizer.history.goals.limits:
            words += [f"{int(self.feasible.sum())} of them satisfy all constraints"]
        return ", ".join([f"{len(self.func_vals)}", *words])

    def to_dataframe(self) -> Any:
        """Every evaluation as a row of a pandas DataFrame: parameters, objective, outputs, and how it ended.

        Examples
        --------
        >>> import tcgp
        >>> def simulate(p):
        ...     return {"mass": p["width"] ** 2, "stress": 1.0 / p["width"]}
        >>> result = tcgp.minimize(simulate, {"width": (0.1, 2.0)}, n_evals=6, objective="mass", rng=0)
        >>> list(result.to_dataframe().columns)
        ['id', 'width', 'mass', 'stress', 'feasible', 'reason', 'seconds']
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from None
        return pandas.DataFrame(rows_of(self.optimizer.history))

    def sensitivity(self, rank: str = "both") -> Sensitivities:
        """Which parameters matter for each output, and for the probability of satisfying all limits.

        Parameters
        ----------
        rank : {"objective", "limits", "both"}
            Order of the table.

        Returns
        -------
        tcgp.scoring.Sensitivities
            Sobol' indices of Gaussian processes of the outputs; printed, a table.

        Examples
        --------
        >>> import tcgp
        >>> def simulate(p):
        ...     return {"mass": p["area"], "heat": p["power"] + 0.1 * p["area"]}
        >>> goals = {"objective": "mass", "constraints": "heat <= 0.5"}
        >>> space = {"area": (0.0, 1.0), "power": (0.0, 1.0)}
        >>> result = tcgp.minimize(simulate, space, n_evals=9, rng=0, **goals)
        >>> result.sensitivity("objective").names, result.sensitivity("limits").names
        (['area', 'power'], ['power', 'area'])
        """
        from tcgp.optimizer.outlook import Outlook

        return Outlook(self.optimizer).sensitivities(rank)

    def plot(self, **options: Any) -> Any:
        """Plot the run: convergence, sampled points, and the law over time (needs matplotlib)."""
        from tcgp import plotting

        return plotting.plot_result(self, **options)


def _shown(value: object) -> str:
    """A value for a table: six digits of a number, choices as they are."""
    return f"{value:.6g}" if isinstance(value, float) else "none" if value is None else str(value)


def _listed(outputs: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in outputs.items())


def _of_several(history: History, models: Models | None) -> dict[str, Any]:
    """What a result says otherwise with several objectives."""
    data, objectives = history.data if models is None else models.data, history.goals.objectives
    noise = (
        {}
        if models is None
        else {q.text: m.noise for q, m in zip(objectives, models.objectives, strict=True)}
    )
    signs = np.array([quantity.sign for quantity in objectives])
    end = [] if data.reference is None else (signs * data.reference).tolist()
    return {
        "x": None,
        "fun": None,
        "outputs": None,
        "noise": noise,
        "func_vals": signs * history.data.Y[:, : len(objectives)],
        "front": Front(history, models),
        "hypervolume": data.hypervolumes,
        "reference": {quantity.text: value for quantity, value in zip(objectives, end, strict=False)},
    }


def columns_of(history: History) -> list[str]:
    """Names of the columns of `rows_of`: a name that is taken, by a parameter or an output, gets a line below."""
    parameters = parameter_names(history.space)
    taken = set(parameters)

    def free(names: Sequence[str]) -> list[str]:
        found = []
        for name in names:
            while name in taken:
                name += "_"
            taken.add(name)
            found.append(name)
        return found

    values = free([*(history.output_names or ["value"]), *_computed(history)])
    front = ["front"] if history.goals.has_several else []
    return [*free(["id"]), *parameters, *values, *free(["feasible", *front, "reason", "seconds"])]


def _computed(history: History) -> list[str]:
    """The objectives that are computed from outputs."""
    known = {*history.output_names, *parameter_names(history.space), "value"}
    return [quantity.text for quantity in history.goals.objectives if quantity.text not in known]


def rows_of(history: History) -> list[dict[str, Any]]:
    """Every evaluation as a row: its number, parameters, outputs and objectives, and how it ended.

    Those outside the present bounds come last; they count as not feasible. With several objectives a column says which
    are on the front.
    """
    columns, outputs, data = columns_of(history), history.output_names, history.data
    feasible = data.feasible.tolist()
    on_front = np.isin(np.arange(len(feasible)), data.front).tolist()
    inside = zip(data.evaluations, feasible, on_front, strict=True)
    outside = (
        (replace(e, reason=e.reason or "outside the present bounds"), False, False) for e in history.outside
    )
    goals, computed = history.goals, _computed(history)
    rows = []
    for e, is_feasible, is_front in (*inside, *outside):
        values = [(e.outputs or {}).get(name) for name in outputs] if outputs else [e.y]
        values += [goals.objective_values(e.x, e.y, e.outputs)[text] for text in computed]
        ends = [is_feasible, *([is_front] if goals.has_several else []), e.reason, e.seconds]
        rows.append(dict(zip(columns, [e.id, *e.x, *values, *ends], strict=True)))
    return rows
