"""Maximize a criterion on the unit cube: multistart gradient search, or the paper's SMC + SLSQP."""

from tcgp.maximize.criterion import Criterion, Maximum

__all__ = ["Criterion", "Maximum"]
