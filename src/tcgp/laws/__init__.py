"""Residual laws: univariate distributions of the standardized prediction error."""

from __future__ import annotations

from tcgp.laws.base import Law
from tcgp.laws.generalized_normal import GeneralizedNormal
from tcgp.laws.normal import Normal
from tcgp.laws.recalibrated import RecalibratedNormal

__all__ = ["GeneralizedNormal", "Law", "Normal", "RecalibratedNormal"]
