"""Names of problems, scores and thresholds in figures and tables."""

from __future__ import annotations

import re

__all__ = ["METRIC_TITLES", "problem_title", "threshold_title"]

METRIC_TITLES = {
    "p_mn": "p_mn",
    "twcrps": "twCRPS",
    "occurrence": "r",
    "tks_pit": "tKS–PIT",
    "ks_pit": "KS–PIT",
    "seconds": "seconds",
}

_PROBLEM_TITLES = {
    "goldstein-price": "Goldstein–Price",
    "cross-in-tray": "Cross-in-Tray",
    "dixon-price": "Dixon–Price",
}


def problem_title(name: str) -> str:
    """Title of a problem.

    Examples
    --------
    >>> from tcgp_experiments.report.titles import problem_title
    >>> problem_title("dixon-price4"), problem_title("ackley10")
    ('Dixon–Price 4', 'Ackley 10')
    """
    match = re.fullmatch(r"([a-z-]+?)(\d*)", name)
    if match is None:
        return name
    family = _PROBLEM_TITLES.get(match[1], match[1].capitalize())
    return f"{family} {match[2]}".strip()


def threshold_title(level: float) -> str:
    """The threshold of a table: a quantile of the data, or at level 0 the best value."""
    return "m_n" if level == 0.0 else f"q_{level:g}"
