"""Maximize a criterion on the unit cube: multistart gradient search, along limits, or the paper's SMC + SLSQP."""

from tcgp.maximize import limits, multistart, smc
from tcgp.maximize.maximum import Maximum

__all__ = ["Maximum", "limits", "multistart", "smc"]
