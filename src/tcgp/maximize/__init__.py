"""Maximize a criterion on the unit cube: multistart gradient search, or the paper's SMC + SLSQP."""

from tcgp.maximize import multistart, smc
from tcgp.maximize.maximum import Maximum

__all__ = ["Maximum", "multistart", "smc"]
