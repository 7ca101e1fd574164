"""Sequential Monte Carlo, and subset simulation on it."""

from tcgp.sampling import smc
from tcgp.sampling.subset import SubsetSimulation, subset_simulation

__all__ = ["SubsetSimulation", "smc", "subset_simulation"]
