"""Which parameters matter: Sobol' indices of a model's mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcgp._arrays import as_generator
from tcgp._text import did_you_mean, html_table, plain
from tcgp._typing import FloatArray, IntArray, RandomState
from tcgp.models import Model, SpaceModel
from tcgp.sampling.sobol import sobol
from tcgp.scoring._arguments import check_model
from tcgp.space import Dimension, Real, Space, Value, parameter_names

__all__ = ["LIMITS", "RANKS", "Sensitivities", "Sensitivity", "indices", "indices_over", "sensitivity"]

BAR = 30  # characters of the longest bar
LIMITS = "all limits"  # name of the probability of satisfying them, among the outputs
RANKS = ("objective", "limits", "both")


@dataclass(frozen=True)
class Sensitivity:
    """How much of the variance of a model's mean each parameter explains, over the whole space.

    ``str(sensitivity)`` is a table with bars, the most important parameter first.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    first : array of shape (d,)
        First-order Sobol' indices: the share of the variance that the parameter explains alone.
    total : array of shape (d,)
        Total Sobol' indices: the share that involves the parameter, interactions included. With a total index of 0 it
        has no effect.
    """

    names: tuple[str, ...]
    first: FloatArray
    total: FloatArray

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.names, "parameter"))
        lines = [f"{'parameter':<{width}}  total  alone"]
        for i in np.argsort(-self.total, kind="stable"):
            bar = "#" * round(BAR * min(float(self.total[i]), 1.0))
            lines.append(
                f"{self.names[i]:<{width}}  {self.total[i]:5.2f}  {self.first[i]:5.2f}  {bar}".rstrip()
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [self.names[i], f"{self.total[i]:.2f}", f"{self.first[i]:.2f}"]
            for i in np.argsort(-self.total, kind="stable")
        ]
        return html_table(["parameter", "total", "alone"], rows)


@dataclass(frozen=True)
class Sensitivities:
    """Which parameters matter for each objective, each output, and the probability of satisfying all limits.

    ``str(sensitivities)`` is a table of total indices, the most important parameter first.

    Attributes
    ----------
    of : dict of Sensitivity
        By objective and output; with limits, also of the probability, under ``"all limits"``.
    objectives : tuple of str
        The keys that are objectives.
    rank : {"objective", "limits", "both"}
        Order of the table.
    """

    of: dict[str, Sensitivity]
    objectives: tuple[str, ...]
    rank: str = "both"

    def __post_init__(self) -> None:
        if self.rank not in RANKS:
            hint = did_you_mean(self.rank, RANKS)
            raise ValueError(f"rank must be 'objective', 'limits' or 'both', got {plain(self.rank)}{hint}")
        if self.rank == "limits" and LIMITS not in self.of:
            raise ValueError("rank must be 'objective': the run has no limits on outputs")

    @property
    def names(self) -> list[str]:
        """The parameters, the most important first."""
        columns = {"objective": self.objectives, "limits": (LIMITS,), "both": (*self.objectives, LIMITS)}
        totals = [self.of[name].total for name in columns[self.rank] if name in self.of]
        parameters = next(iter(self.of.values())).names if self.of else ()
        order = np.argsort(-np.max(totals, axis=0), kind="stable") if totals else range(len(parameters))
        return [parameters[i] for i in order]

    def _rows(self) -> list[list[str]]:
        """The parameter and its total indices, as texts."""
        totals = [dict(zip(one.names, one.total, strict=True)) for one in self.of.values()]
        return [[name, *(f"{column[name]:.2f}" for column in totals)] for name in self.names]

    def __str__(self) -> str:
        rows = [["parameter", *self.of], *self._rows()]
        width = max(len(row[0]) for row in rows)
        heads = [max(len(output), 5) for output in self.of]
        return "\n".join(
            "  ".join(
                [f"{row[0]:<{width}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], heads, strict=True))]
            )
            for row in rows
        )

    def _repr_html_(self) -> str:
        return html_table(["parameter", *self.of], self._rows())


def sensitivity(model: Model, bounds: object = None, *, n: int = 1024, rng: RandomState = 0) -> Sensitivity:
    """Sobol' indices of the mean of a model: which parameters matter.

    The parameters vary independently, each uniformly over its range, on its scale. The indices are those of the model's
    mean, so they are as good as the model.

    Parameters
    ----------
    model : Model
        For instance ``result.optimizer.fit_model()``, which knows its space.
    bounds : Space, or what `tcgp.Space` takes, optional
        Ranges of the parameters; by default the model's space, or the range of its data.
    n : int
        Size of the samples, a power of 2: ``n (d + 2)`` predictions are made.
    rng : int, numpy.random.Generator or None

    Returns
    -------
    Sensitivity

    References
    ----------
    I. M. Sobol', "Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates",
    Mathematics and Computers in Simulation 55, 2001. A. Saltelli et al., "Variance based sensitivity analysis of model
    output", Computer Physics Communications 181, 2010.

    Examples
    --------
    >>> import numpy as np, tcgp
    >>> from tcgp.scoring import sensitivity
    >>> X = np.random.default_rng(0).random((30, 3))
    >>> model = tcgp.fit_model(X, 3.0 * X[:, 0] + X[:, 1], "gp", bounds=[(0, 1)] * 3)
    >>> np.round(sensitivity(model, [(0, 1)] * 3).total, 2).tolist()
    [0.9, 0.1, 0.0]
    """
    check_model(model)
    if isinstance(model, SpaceModel):
        space = model.space if bounds is None else _as_named(Space(bounds), model.space)
    else:
        space = Space(
            list(zip(model.X.min(axis=0), model.X.max(axis=0), strict=True)) if bounds is None else bounds
        )

    if isinstance(model, SpaceModel):
        codes = None if bounds is None else model.space
        return indices_over(space, lambda U: model.predict_arrays(U)[0], n, rng, codes=codes)

    def mean(shares: FloatArray) -> FloatArray:  # (len(space), m) to (m,)
        columns = [_values(dimension, row) for dimension, row in zip(space.dimensions, shares, strict=True)]
        return model.predict(np.stack([np.array(v, dtype=float)[place] for v, place in columns], axis=1)).mean

    return Sensitivity(tuple(parameter_names(space)), *indices(mean, len(space), n, rng))


def indices_over(
    space: Space,
    fun: Callable[[FloatArray], FloatArray],
    n: int = 1024,
    rng: RandomState = 0,
    *,
    codes: Space | None = None,
) -> Sensitivity:
    """Sobol' indices over a space of a function of codes, which may be those of another space."""

    def of_shares(shares: FloatArray) -> FloatArray:  # (len(space), m) to (m,)
        rows = []
        for i, (dimension, row) in enumerate(zip(space.dimensions, shares, strict=True)):
            if codes is None and isinstance(dimension, Real) and dimension.continuous:
                rows.append(row[:, None])  # a share of the range is its code
            else:
                values, place = _values(dimension, row)
                rows.append(_codes(codes or space, i, values)[place])
        return fun(np.concatenate(rows, axis=1))

    return Sensitivity(tuple(parameter_names(space)), *indices(of_shares, len(space), n, rng))


def _as_named(space: Space, known: Space) -> Space:
    """The space with its parameters in the order of the model; refuse other parameters."""
    if space.names is None or known.names is None:
        if len(space) != len(known):
            raise ValueError(f"bounds must have the {len(known)} parameters of the model, got {len(space)}")
        return space
    if set(space.names) != set(known.names):
        raise ValueError(
            f"bounds must have the parameters of the model, {list(known.names)!r}, got {list(space.names)!r}"
        )
    ranges = dict(zip(space.names, space.dimensions, strict=True))
    return Space({name: ranges[name] for name in known.names})


def indices(fun: Any, d: int, n: int, rng: RandomState) -> tuple[FloatArray, FloatArray]:
    """First-order and total indices of a function of shares, within [0, 1]; zero for a constant function.

    The estimates are those of `scipy.stats.sobol_indices`, whose import takes half a second.
    """
    if d == 1:  # a single parameter explains everything
        varies = float(np.ptp(fun(np.linspace(0.0, 1.0, n)[None])) > 0.0)
        return np.array([varies]), np.array([varies])
    a, b = np.split(sobol(n, 2 * d, scramble=as_generator(rng)).T, 2)
    mixed = np.tile(a, (d, 1, 1))  # the i-th of these has the i-th row of b
    mixed[range(d), range(d)] = b
    values = np.asarray(fun(np.concatenate([a, b, *mixed], axis=1)), dtype=np.float64)
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return np.zeros(d), np.zeros(d)
    f_a, f_b, *f_mixed = np.split(values - values[: 2 * n].mean(), d + 2)
    variance = np.var([f_a, f_b])
    first = np.mean(f_b * (np.array(f_mixed) - f_a), axis=1) / variance
    total = 0.5 * np.mean((f_a - np.array(f_mixed)) ** 2, axis=1) / variance
    return np.clip(first, 0.0, 1.0), np.clip(total, 0.0, 1.0)


# In the samples of Saltelli's scheme each share of a parameter occurs d + 1 times: with 40 parameters, converting the
# distinct ones is 10 times as fast as converting all points.


def _values(dimension: Dimension, shares: FloatArray) -> tuple[list[Value], IntArray]:
    """Values at the distinct shares of a parameter, and the place of each share among them."""
    distinct, places = np.unique(shares, return_inverse=True)
    return [dimension.quantile(u) for u in distinct.tolist()], places


def _codes(space: Space, i: int, values: list[Value]) -> FloatArray:
    """Codes of values of the i-th parameter of a space, one row for each."""
    dimension: Any = space.dimensions[i]  # one that checks a value also encodes it
    try:
        rows = [dimension.encode(dimension.check(value)) for value in values]
    except ValueError as error:
        raise ValueError(f"parameter {parameter_names(space)[i]!r}: {error}") from None
    return np.array(rows, dtype=np.float64).reshape(len(rows), dimension.width)
