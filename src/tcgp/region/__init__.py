"""The part of a space that known constraints allow."""

from tcgp.region.region import EmptyRegionError, Region
from tcgp.space import parameter_names

__all__ = ["EmptyRegionError", "Region", "parameter_names"]
