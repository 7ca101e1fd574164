"""Sequential Monte Carlo, and subset simulation on it."""

from tcgp.sampling import particles
from tcgp.sampling.subset import SubsetSimulation, subset_simulation

__all__ = ["SubsetSimulation", "particles", "subset_simulation"]
