"""tcgp: Bayesian optimization with Gaussian processes calibrated in the lower tail."""

__version__ = "0.1.0"
