"""The model of one quantity during a run, on the scale that suits its data best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tcgp._quantiles import quantile
from tcgp._typing import FloatArray
from tcgp.gp.units import merge_duplicates
from tcgp.methods.detection import noise_in
from tcgp.methods.members import Fit, Members, State, record_of, rows_to_compare, states_in
from tcgp.methods.portfolio import COMPARISON_LEVEL, PORTFOLIOS, noisy_method, options_of
from tcgp.methods.scales import AS_IT_IS, scales_of
from tcgp.models import Model

__all__ = ["Surrogate"]

# Scales are compared again when the data have grown by this share.
GROWTH = 0.1
# By how much, in log units, the data must be likelier on another scale than as they are.
HANDICAP = 1.0
# By how much they must be likelier with noise, unless repeats differ: a short lengthscale looks like noise.
HANDICAP_OF_NOISE = 2.0
# Noise of a smaller share of the standard deviation of leave-one-out predictions of low values does not matter to the
# search. Else models of exact values have every third turn: those with noise, alike as they are, share their errors.
LITTLE_NOISE, EVERY = 0.3, 3
NOISY, NOISELESS = "noisy", "noiseless"  # names under which states of these two models are kept
# A function that repeats itself is looked at for noise whenever there are so many evaluations more, up to the most: a
# look takes eight fits from scratch.
LOOK_EVERY, MOST_LOOKED_AT = 10, 300


class Surrogate:
    """Fits of one quantity during a run: see `Members`.

    What is optimized is modelled as it is. The excess over a limit, which stays at 0, is modelled on the scale on which
    values left out are likeliest. A model says how likely they are on its scale; times the slope of the scale that is
    a density of the values as they are.

    A quantity that may be noisy is modelled with noise, as it is, wherever its data speak for noise: it is known, or
    repeats differ, or the data are likelier with it; far likelier, as `noise_in` finds, if repeats are equal. Else the
    quantity is modelled as an exact one. What is optimized by a portfolio is searched with models of exact values, of
    the predictions at the data, as long as `noise_is_little`, and at every third point after that.

    Parameters
    ----------
    method : str
    options : mapping
    bound : float or None
        The limit, if there is one.
    noisy : bool
        Whether the quantity may be noisy.

    Attributes
    ----------
    states : list of (int, dict)
        As in `Members`, with the name of the scale as ``"scale"``, if it is not the plain one.
    last : Fit or None
        The last fit; with noise always one that knows of it.
    scale : Scale
        That of the last fit.
    smoother : Model or None
        The model with noise, if there is any, whose predictions stand for the values.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.surrogate import Surrogate
    >>> surrogate = Surrogate("gp", {}, bound=250.0)
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> stress = 1e3 * np.exp(-5.0 * X[:, 0])
    >>> model, record = surrogate.fit(X, stress - 250.0, turn=0, seed=np.random.SeedSequence(0))
    >>> surrogate.scale, bool(model.predict([[0.5]]).cdf(0.0)[0] > 0.99)
    (Scale(name='log', unit=250.0), True)
    """

    def __init__(
        self, method: str, options: Mapping[str, Any], bound: float | None = None, noisy: bool = False
    ) -> None:
        self.method, self.options, self.bound, self.noisy = method, dict(options), bound, noisy
        self.states: list[tuple[int, State]] = []
        self.scale = AS_IT_IS
        self.smoother: Model | None = None
        self._members: dict[str, Members] = {}  # by the name of the scale
        self._chosen = self.on_scale()
        self._look: tuple[int, bool] | None = (
            None  # number of data that were looked at, and whether they look noisy
        )

    @property
    def last(self) -> Fit | None:
        """The last fit, on its scale."""
        return self._chosen.last

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        turn: int,
        seed: np.random.SeedSequence,
        level: float | None = None,
        n: int | None = None,
        sd: FloatArray | None = None,
        place: int | None = None,
        repeats_differ: bool | None = None,
    ) -> tuple[Model, State | None]:
        """The model on the scale that suits the data best, and the record of its fit: see `Members.fit`.

        ``place`` is that of the next point in the run, None if the model is not to choose one. With noise turns go by
        it, as improvements may be luck. ``repeats_differ`` says whether evaluations of one point do, None if there are
        none.
        """
        n, level = len(y) if n is None else n, level if self.bound is None else 0.0
        found: list[State] = []
        self.smoother = None
        if self.noisy:
            sd = np.full(len(y), np.nan) if sd is None else sd
            first = 0 if self._compares else place or 0
            self.smoother, found = self._with_noise(X, y, sd, first, seed, n, repeats_differ)
        if self.smoother is None:
            model, new = self._without_noise(X, y, turn, seed, level, n)
            return model, record_of(n, found + new)
        model, new = self.smoother, []
        is_exact = place is not None and (place % EVERY == EVERY - 1 or noise_is_little(model))
        if self._compares and is_exact:
            X, y = model.X, model.predict_arrays(model.X)[0]
            model, new = self._without_noise(X, y, turn, seed, level, n)
        elif self._compares and place is not None:
            turn = place - place // EVERY
            model, record = self.on_scale(NOISY).fit(X, y, turn=turn, seed=seed, n=n, sd=sd)
            new = [] if model is self.smoother else _states(NOISY, record)
        self.scale, self._chosen = AS_IT_IS, self.on_scale(NOISY)
        return model, record_of(n, found + new)

    @property
    def _compares(self) -> bool:
        """Whether models of exact values may choose points though there is noise."""
        return self.bound is None and self.method in PORTFOLIOS and PORTFOLIOS[self.method].compares

    def _without_noise(
        self,
        X: FloatArray,
        y: FloatArray,
        turn: int,
        seed: np.random.SeedSequence,
        level: float | None,
        n: int,
    ) -> tuple[Model, list[State]]:
        """The model of exact values, and new states, its own last."""
        found: list[State] = []
        scales = {"plain": AS_IT_IS} if self.bound is None else scales_of(X, y, self.bound)
        names = self._in_question(scales, n)
        rows = rows_to_compare(self.states, len(y), n)
        if len(names) > 1 and len(rows) < len(y):
            compared = [state for m, state in self.states if m == n]  # for another point of a batch
            if not compared:
                trial = Surrogate(self.method, self.options, self.bound)
                trial.remember(trial.fit(X[rows], y[rows], turn=turn, seed=seed, level=level, n=n)[1])
                compared = [state for _, state in trial.states]
                found += compared[:-1]
            names = [name for name in names if name == _scale_of(compared[-1])] or ["plain"]
        models, states, scores = {}, {}, {}
        values = merge_duplicates(X, y)[1]  # noise may have been looked for with repeats, which are equal
        for name in names:
            scale, members = scales[name], self.on_scale(name)
            models[name], record = members.fit(X, scale(y), turn=turn, seed=seed, level=level, n=n)
            states[name] = _states(name, record)
            if len(names) > 1:
                scores[name] = _log_score(models[name], scale.log_slope(values)) - HANDICAP * (
                    name != "plain"
                )
        best = max(names, key=scores.__getitem__) if len(names) > 1 else names[0]
        self.scale, self._chosen = scales[best], self._members[best]
        new = [state for name in names if name != best for state in states[name]] + states[best]
        return models[best], found + new

    def _with_noise(
        self,
        X: FloatArray,
        y: FloatArray,
        sd: FloatArray,
        turn: int,
        seed: np.random.SeedSequence,
        n: int,
        repeats_differ: bool | None,
    ) -> tuple[Model | None, list[State]]:
        """The model with noise, None if the data do not speak for noise; and new states."""
        is_learned = bool(np.isnan(sd).all())
        if is_learned and repeats_differ is False and not self._looks_noisy(X, y):
            return None, []
        noisy, states = self.on_scale(NOISY), []
        model, record = noisy.fit(X, y, turn=turn, seed=seed, n=n, sd=sd)
        if is_learned and repeats_differ is None:
            rival, of_rival = self.on_scale(NOISELESS).fit(X, y, turn=turn, seed=seed, n=n)
            states = _states(NOISELESS, of_rival)
            gain = model.interpolator.log_likelihood_ - rival.interpolator.log_likelihood_
            if not gain > HANDICAP_OF_NOISE:
                return None, _states(NOISY, record) + states
        return model, states + _states(NOISY, record)

    def _looks_noisy(self, X: FloatArray, y: FloatArray) -> bool:
        """Whether the first data, a multiple of `LOOK_EVERY`, look noisy: looked at once, also after a resume."""
        X, y = merge_duplicates(X, y)
        n = min(len(y) - len(y) % LOOK_EVERY, MOST_LOOKED_AT)
        if not n:
            return False
        if self._look is None or self._look[0] != n:
            self._look = n, noise_in(X[:n], y[:n], much=True) is not None
        return self._look[1]

    def remember(self, record: Mapping[str, Any] | None) -> None:
        """Add the states of a fit that a journal has recorded."""
        if record is not None:
            self.states += [(record["n"], state) for state in states_in(record)]

    def updated(self, X: FloatArray, y: FloatArray) -> Model | None:
        """The last model given the values told since it was fitted, NaN for those not known: see `Members.updated`.

        One that is not on its scale, as a negative output is not on a logarithmic one, waits for the next fit.
        """
        values = self.scale(y)
        known = np.isfinite(values)
        return self._chosen.updated(X[known], values[known])

    def on_scale(self, name: str = "plain") -> Members:
        """Fits on the scale of this name."""
        method, options = self.method, self.options
        if name in (NOISY, NOISELESS):
            method = noisy_method(method)
            options = {option: value for option, value in options.items() if option in options_of(method)}
        members = self._members.setdefault(name, Members(method, options))
        members.states = [(n, state) for n, state in self.states if _scale_of(state) == name]
        return members

    def _in_question(self, scales: Collection[str], n: int) -> list[str]:
        """Names of the scales to compare: that of the last fit to fewer data, if these have hardly grown since."""
        kept = ((m, _scale_of(state)) for m, state in self.states if m < n)
        earlier = [(m, name) for m, name in kept if name not in (NOISY, NOISELESS)]
        compared = [m for (m, name), (k, other) in itertools.pairwise(earlier) if m == k and name != other]
        if earlier and earlier[-1][1] in scales and compared and n < (1.0 + GROWTH) * max(compared):
            return [earlier[-1][1]]
        return list(scales)


def noise_is_little(model: Model) -> bool:
    """Whether the noise is little of what is not known of low values, by leave-one-out predictions."""
    loo, (mean, _) = model.leave_one_out, model.predict_arrays(model.X)
    low = mean <= quantile(mean, COMPARISON_LEVEL)
    assert loo.noise is not None
    return float(np.mean((loo.noise[low] / loo.sd[low]) ** 2)) < LITTLE_NOISE**2


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
    mark = {} if name == "plain" else {"scale": name}
    return [{**state, **mark} for state in states_in(record)]
