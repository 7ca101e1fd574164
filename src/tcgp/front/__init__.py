"""Several objectives, all to be minimized: what dominates what, volumes, and the choice of one compromise."""

from tcgp.front.choice import choose, knee
from tcgp.front.dominance import non_dominated
from tcgp.front.volume import boxes, hypervolume, reference_point

__all__ = ["boxes", "choose", "hypervolume", "knee", "non_dominated", "reference_point"]
