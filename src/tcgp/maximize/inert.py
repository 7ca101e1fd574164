"""Choose values along coordinates that have no effect in the model."""

from __future__ import annotations

import numpy as np

from tcgp._typing import FloatArray
from tcgp.criteria.base import Criterion

__all__ = ["spread_inert"]

# In units of the box. Over a tenth of its lengthscale a Matérn process hardly moves.
_INERT_LENGTHSCALE = 10.0
# Loss of log EI that is put up with: a model that calls a coordinate inert knows EI no better than this.
_TOLERANCE = 0.3
_TRIALS = 16
# Share of the trials, spread over the whole coordinate, that must be as good. A linear trend has a long lengthscale
# too, and its maximizer belongs on the face.
_FLAT = 0.75


def spread_inert(
    criterion: Criterion,
    x: FloatArray,
    lengthscales: FloatArray,
    data: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Move a maximizer along inert coordinates, where the criterion is flat, away from the data.

    Maximum likelihood often finds a coordinate without effect (a lengthscale of many box widths) when its effect
    is small beside others'. The criterion is then flat along it, and its exact maximizer sits on a face of the
    box, iteration after iteration: nothing new is ever learned about that coordinate. Dixon–Price in d = 4 is
    lost in this way. Along such coordinates any point is as good, so the one farthest from the data is taken.

    Parameters
    ----------
    criterion : Criterion
        On the unit cube, on a logarithmic scale.
    x : (d,) array
        Its maximizer.
    lengthscales : (d,) array
        Of the model, in units of the cube.
    data : (n, d) array
        Evaluated points.
    rng : numpy.random.Generator

    Returns
    -------
    (d,) array
        ``x`` with some inert coordinates changed; the criterion there is at most 0.3 lower.
    """
    inert = np.flatnonzero(lengthscales > _INERT_LENGTHSCALE)
    if not len(inert):
        return x
    floor = float(criterion(x[None])[0]) - _TOLERANCE
    for j in rng.permutation(inert):
        trials = np.repeat(x[None], _TRIALS + 1, axis=0)
        trials[1:, j] = rng.random(_TRIALS)
        good = criterion(trials) >= floor
        if good.mean() >= _FLAT:
            candidates = trials[good]
            distance = np.square(candidates[:, None] - data).sum(axis=2).min(axis=1)
            x = candidates[np.argmax(distance)]
    return x
