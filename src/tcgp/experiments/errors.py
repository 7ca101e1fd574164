"""What can be wrong with an experiment before or while it runs, in one sentence."""

from __future__ import annotations

__all__ = ["ExperimentError"]


class ExperimentError(Exception):
    """Something that the user can mend; the message says how."""
