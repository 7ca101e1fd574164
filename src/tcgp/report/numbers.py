"""Numbers and parts of a report that may be missing."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

__all__ = ["LONGEST_TEXT", "attempt", "rounded"]

logger = logging.getLogger("tcgp")

LONGEST_TEXT = 300  # characters of a name, a choice or a reason


def rounded(value: Any, digits: int) -> Any:
    """A number rounded to so many digits; None if it is not finite, because JSON has no NaN."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{float(value):.{digits}g}") if math.isfinite(value) else None


def attempt(what: str, compute: Callable[..., Any], *arguments: Any) -> Any:
    """One part of the report, or None: a part that cannot be computed must not cost the others."""
    try:
        return compute(*arguments)
    except Exception as error:
        logger.info("the report lacks %s: %s: %s", what, type(error).__name__, error)
        return None
