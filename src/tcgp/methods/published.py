"""The option ``as_published``: every choice as the paper makes it, where ours differ.

Ours serve an optimizer; the paper's are those behind its tables and figures. The reasons for each choice and its effect
are in the theory pages: "As published".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcgp.methods.options import Option

__all__ = ["AS_PUBLISHED", "OURS", "PAPER", "Choices", "check_choices", "choices_of"]

AS_PUBLISHED = Option(
    False, "make every choice as the paper does, see the theory pages", choices=(False, True)
)


@dataclass(frozen=True)
class Choices:
    """Choices where the paper and an optimizer have different needs; the defaults are for an optimizer.

    Attributes
    ----------
    search : str or None
        How (beta, lambda) is searched; None leaves it to the option of that name.
    supremum : {"exact", "samples"}
        The supremum over u in J: see `tcgp.calibration.tail_law`.
    ratio : {"exact", "plain"}
        How F(Z) / F(t) is computed, for J and for scores of generalized normal laws: see `tcgp.calibration.tail_law`.
    always_refits : bool
        Whether lengthscales are selected at every datum, however many there are.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized, unless the user says.
    adjusts_proposals : bool
        Whether a maximizer of the criterion is kept at a distance from the data, put on a face that it all but
        touches, and moved along coordinates without effect.
    draws_particles : bool
        Whether the particles that serve tKS-PIT along a run are drawn at random, or are the first ones.
    """

    search: str | None = None
    supremum: str = "exact"
    ratio: str = "exact"
    always_refits: bool = False
    maximizer: str = "multistart"
    adjusts_proposals: bool = True
    draws_particles: bool = False


OURS = Choices()
PAPER = Choices(
    search="paper",
    supremum="samples",
    ratio="plain",
    always_refits=True,
    maximizer="smc",
    adjusts_proposals=False,
    draws_particles=True,
)


def choices_of(options: Mapping[str, Any]) -> Choices:
    """The choices that go with the options of a method.

    Examples
    --------
    >>> from tcgp.methods.published import choices_of
    >>> choices_of({"delta": 0.1}).maximizer, choices_of({"as_published": True}).maximizer
    ('multistart', 'smc')
    """
    return PAPER if options.get("as_published", False) else OURS


def check_choices(options: Mapping[str, Any]) -> None:
    """Refuse an option that was given and contradicts ``as_published``."""
    search = choices_of(options).search
    if search is not None and options.get("search", search) != search:
        raise ValueError(f"search must be {search!r} with as_published=True, got {options['search']!r}")
