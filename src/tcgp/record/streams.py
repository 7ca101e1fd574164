"""Random streams, one for each decision.

No decision draws from a running stream, so that a resumed run repeats an uninterrupted one bit for bit.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from tcgp._text import plain
from tcgp._typing import RandomState

__all__ = ["DESIGN", "FIT", "INERT", "SEARCH", "SHARE", "SPREAD", "Streams"]

DESIGN, FIT, SEARCH, SPREAD, INERT, SHARE = range(6)


@dataclass(frozen=True)
class Streams:
    """All randomness of a run, from one number."""

    root: int

    @classmethod
    def of(cls, rng: RandomState) -> Streams:
        """The streams of an integer, of a generator, or of a number drawn now."""
        if rng is None:
            return cls(int(np.random.SeedSequence().entropy))  # type: ignore[arg-type]
        if isinstance(rng, np.random.Generator):
            return cls(int(rng.integers(2**63)))
        if not isinstance(rng, numbers.Integral) or isinstance(rng, bool) or rng < 0:
            raise TypeError(
                f"rng must be an integer >= 0, a numpy.random.Generator or None, got {plain(rng)}"
            )
        return cls(int(rng))

    def seed(self, *key: int) -> np.random.SeedSequence:
        """Seed of the decision with this key."""
        return np.random.SeedSequence(self.root, spawn_key=key)

    def rng(self, *key: int) -> np.random.Generator:
        """Generator of the decision with this key."""
        return np.random.default_rng(self.seed(*key))
