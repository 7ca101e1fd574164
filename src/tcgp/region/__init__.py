"""The part of a space that known constraints allow."""

from tcgp.region.checks import parameter_names
from tcgp.region.region import EmptyRegionError, Region

__all__ = ["EmptyRegionError", "Region", "parameter_names"]
