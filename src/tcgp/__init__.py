"""tcgp: Bayesian optimization with Gaussian processes calibrated in the lower tail."""

from tcgp.gp import GaussianProcess, RelaxedGaussianProcess

__version__ = "0.1.0"
__all__ = ["GaussianProcess", "RelaxedGaussianProcess"]
