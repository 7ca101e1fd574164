"""Several objectives, all minimized: dominance, volumes, and the choice of a compromise."""

from tcgp.front.choice import choose, knee
from tcgp.front.dominance import non_dominated
from tcgp.front.volume import boxes, hypervolume, reference_point

__all__ = ["boxes", "choose", "hypervolume", "knee", "non_dominated", "reference_point"]
