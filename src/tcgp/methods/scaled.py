"""The model of an output with a limit along a run: a Gaussian process on the scale that suits its data best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.methods.scales import AS_IT_IS, scales_of
from tcgp.methods.surrogate import Fit, State, Surrogate
from tcgp.models import Model

__all__ = ["ScaledSurrogate"]

# Scales are compared again when the data have grown by this share.
GROWTH = 0.1
# By how much, in log units, the data must be likelier on another scale than as they are.
HANDICAP = 1.0


class ScaledSurrogate:
    """Fits of how far an output lies above its limit, which stays at 0: see `Surrogate`.

    The scale is the one on which values left out are likeliest. A model says how likely they are on its scale; times
    the slope of the scale that is a density of the values as they are.

    Parameters
    ----------
    method : str
    options : mapping
    bound : float
        The limit on the output.

    Attributes
    ----------
    states : list of (int, dict)
        As in `Surrogate`, with the name of the scale as ``"scale"``, if it is not the plain one.
    last : Fit or None
    scale : Scale
        That of the last fit.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.scaled import ScaledSurrogate
    >>> surrogate = ScaledSurrogate("gp", {}, bound=250.0)
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> stress = 1e3 * np.exp(-5.0 * X[:, 0])
    >>> model, record = surrogate.fit(X, stress - 250.0, turn=0, seed=np.random.SeedSequence(0))
    >>> surrogate.scale, bool(model.predict([[0.5]]).cdf(0.0)[0] > 0.99)
    (Scale(name='log', unit=250.0), True)
    """

    def __init__(self, method: str, options: Mapping[str, Any], bound: float) -> None:
        self.method, self.options, self.bound = method, dict(options), bound
        self.states: list[tuple[int, State]] = []
        self.scale = AS_IT_IS
        self._surrogates: dict[str, Surrogate] = {}  # by the name of the scale
        self._chosen: Surrogate | None = None

    @property
    def last(self) -> Fit | None:
        """The last fit, on its scale."""
        return None if self._chosen is None else self._chosen.last

    def fit(
        self,
        X: FloatArray,
        excess: FloatArray,
        *,
        turn: int,
        seed: np.random.SeedSequence,
        n: int | None = None,
    ) -> tuple[Model, State | None]:
        """The model on the scale that suits the data best, and the record of its fit: see `Surrogate.fit`."""
        n = len(excess) if n is None else n
        scales = scales_of(X, excess, self.bound)
        names = self._in_question(scales, n)
        models, states, scores = {}, {}, {}
        for name in names:
            scale, surrogate = scales[name], self._of(name)
            models[name], record = surrogate.fit(X, scale(excess), turn=turn, seed=seed, level=0.0, n=n)
            states[name] = _states(name, record)
            scores[name] = _log_score(models[name], scale.log_slope(excess)) - HANDICAP * (name != "plain")
        best = max(names, key=scores.__getitem__)
        self.scale, self._chosen = scales[best], self._surrogates[best]
        new = [state for name in names if name != best for state in states[name]] + states[best]
        if not new:
            return models[best], None
        *rivals, state = new
        return models[best], {"n": n, "state": state, **({"rivals": rivals} if rivals else {})}

    def remember(self, record: Mapping[str, Any] | None) -> None:
        """Add the states of a fit that a journal has recorded."""
        if record is not None:
            self.states += [(record["n"], state) for state in (*record.get("rivals", ()), record["state"])]

    def updated(self, X: FloatArray, excess: FloatArray) -> Model | None:
        """The last model given the values told since it was fitted: see `Surrogate.updated`.

        One that is not on its scale, as a negative output is not on a logarithmic one, waits for the next fit.
        """
        if self._chosen is None:
            return None
        values = self.scale(excess)
        known = np.isfinite(values)
        return self._chosen.updated(X[known], values[known])

    def _of(self, name: str) -> Surrogate:
        """Fits on the scale of this name."""
        surrogate = self._surrogates.setdefault(name, Surrogate(self.method, self.options))
        surrogate.states = [(n, state) for n, state in self.states if _scale_of(state) == name]
        return surrogate

    def _in_question(self, scales: Collection[str], n: int) -> list[str]:
        """Names of the scales to compare: that of the last fit to fewer data, if these have hardly grown since."""
        earlier = [(m, _scale_of(state)) for m, state in self.states if m < n]
        compared = [m for (m, name), (k, other) in itertools.pairwise(earlier) if m == k and name != other]
        if earlier and earlier[-1][1] in scales and compared and n < (1.0 + GROWTH) * max(compared):
            return [earlier[-1][1]]
        return list(scales)


def _scale_of(state: State) -> str:
    return str(state.get("scale", "plain"))


def _log_score(model: Model, log_slopes: FloatArray) -> float:
    """Logarithm of the likelihood of each value given all others, over all values."""
    loo = model.leave_one_out
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        score = float(np.sum(model.law.logpdf(loo.residuals) - np.log(loo.sd) + log_slopes))
    return score if math.isfinite(score) else -math.inf


def _states(name: str, record: State | None) -> list[State]:
    """The states in a record, with the name of the scale."""
    if record is None:
        return []
    mark = {} if name == "plain" else {"scale": name}
    return [{**state, **mark} for state in (*record.get("rivals", ()), record["state"])]
