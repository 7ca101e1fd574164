"""Gaussian process interpolation: kernels, likelihood, and the interpolators built on them."""

from tcgp.gp.gaussian_process import GaussianProcess
from tcgp.gp.noise import NoisyGaussianProcess
from tcgp.gp.posterior import LeaveOneOut
from tcgp.gp.relaxed import RelaxedGaussianProcess

__all__ = ["GaussianProcess", "LeaveOneOut", "NoisyGaussianProcess", "RelaxedGaussianProcess"]
