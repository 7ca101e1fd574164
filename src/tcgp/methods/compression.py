"""High values drawn in, so that a few huge ones do not make a stationary model rough everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcgp._quantiles import median, quantile
from tcgp._typing import FloatArray

__all__ = ["Compression"]

# The unit of compression, as a share of the values: below it they differ by little more than rounding.
_SMALLEST_UNIT = 1e-9


@dataclass(frozen=True)
class Compression:
    """Values above a middle one grow with the logarithm: with s the unit, middle + s x becomes middle + s log(1 + x).

    Order is kept, and so is all that lies below the middle: what a model says of improvements needs no translation.

    Attributes
    ----------
    middle : float
        Infinite if values stay as they are.
    unit : float

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp.methods.compression import Compression
    >>> y = np.array([1.0, 2.0, 3.0, 1e2, 1e9])
    >>> compression = Compression.of(y)
    >>> compression(y).round(1)
    array([ 1. ,  2. ,  3. , 10.8, 43.1])

    The density of values is that of the compressed ones times the derivatives:

    >>> print(round(compression.log_derivative(y), 2))
    -23.93
    """

    middle: float
    unit: float

    @classmethod
    def of(cls, known: FloatArray, level: float = 0.5, share: float = 0.0) -> Compression:
        """The middle is a quantile of the data, and the unit its distance to the lowest.

        Parameters
        ----------
        known : array of shape (n,)
            The data.
        level : float
            Level of the quantile: the median, or less if low values span orders of magnitude, too.
        share : float
            Leave this share of the data out of account: the lowest, where decisions are taken above them.
        """
        if share or level != 0.5:
            lowest, middle = map(float, quantile(known, [share, share + (1.0 - share) * level]))
        else:
            lowest, middle = float(np.min(known)), float(median(known))
        with np.errstate(over="ignore"):
            unit = max(np.subtract(middle, lowest), _SMALLEST_UNIT * max(abs(lowest), abs(middle)))
        if not (middle > lowest and np.finfo(float).tiny < unit < np.inf):
            return cls(np.inf, 1.0)
        return cls(middle, float(unit))

    def __call__(self, values: FloatArray) -> FloatArray:
        """The values as a model sees them; (m,)."""
        above = values > self.middle
        compressed = values.copy()
        compressed[above] = self.middle + self.unit * self._logarithms(values[above])
        return compressed

    def log_derivative(self, values: FloatArray) -> float:
        """Sum of the logarithms of the derivatives at the values."""
        return -float(self._logarithms(values[values > self.middle]).sum())

    def _logarithms(self, values: FloatArray) -> FloatArray:
        """log(1 + x) of values above the middle, by way of log x, where x may be larger than any float."""
        with np.errstate(divide="ignore"):
            log_x = np.log(0.5 * values - 0.5 * self.middle) - np.log(0.5 * self.unit)
        out: FloatArray = np.logaddexp(0.0, log_x)
        return out
