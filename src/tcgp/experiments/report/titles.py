"""How problems are called in figures and tables."""

from __future__ import annotations

import re

__all__ = ["problem_title"]

_TITLES = {
    "goldstein-price": "Goldstein–Price",
    "cross-in-tray": "Cross-in-Tray",
    "dixon-price": "Dixon–Price",
    "shekel": "Shekel",
}


def problem_title(name: str) -> str:
    """Title of a problem.

    Examples
    --------
    >>> from tcgp.experiments.names import problem_title
    >>> problem_title("dixon-price4"), problem_title("ackley10")
    ('Dixon–Price 4', 'Ackley 10')
    """
    match = re.fullmatch(r"([a-z-]+?)(\d*)", name)
    if match is None:
        return name
    family = _TITLES.get(match[1], match[1].capitalize())
    return f"{family} {match[2]}".strip()
