"""Verdicts on the paper's claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.claims import Check, Claim
from tcgp_experiments.report.blocks import Block, Heading, Items, Paragraph
from tcgp_experiments.report.statistics import Paired
from tcgp_experiments.report.titles import METRIC_TITLES, problem_title, threshold_title

__all__ = ["Finding", "Lookup", "claim_blocks", "judge"]

SIGNIFICANT = 0.05
MIN_PAIRS = 6  # with fewer, no outcome of the signed-rank test is below 0.05

# Values over replicates of a labelled method on a problem, for a metric and a place (a level of a table, or a
# part of a run); None where they are not there.
Lookup = Callable[[str, str, Check], FloatArray | None]
Compare = Callable[[FloatArray, FloatArray], Paired]


@dataclass(frozen=True)
class Finding:
    """What the data say of a check: ``"yes"``, ``"no"``, ``"open"`` (too little to tell) or ``"no data"``."""

    check: Check
    verdict: str
    pair: Paired | None
    labels: tuple[str, str]


def judge(check: Check, lookup: Lookup, compare: Compare) -> Finding:
    """Hold a check against the data."""
    a, b = _best(check.a, check, lookup), _best(check.b, check, lookup)
    if a is None or b is None:
        return Finding(check, "no data", None, (check.a[0], check.b[0]))
    pair = compare(a[1], b[1])
    return Finding(check, _verdict(check, pair), pair, (a[0], b[0]))


def _best(labels: tuple[str, ...], check: Check, lookup: Lookup) -> tuple[str, FloatArray] | None:
    """The label with the smallest average, and its values."""
    found = [(label, lookup(check.problem, label, check)) for label in labels]
    present = [(label, values) for label, values in found if values is not None and values.size]
    if not present:
        return None
    return min(
        present,
        key=lambda item: (
            float(np.nanmedian(item[1])) if check.metric == "p_mn" else float(np.nanmean(item[1]))
        ),
    )


def _verdict(check: Check, pair: Paired) -> str:
    if pair.n < MIN_PAIRS:
        return "open" if pair.n else "no data"
    certain = pair.p_value < SIGNIFICANT
    small = abs(pair.log_ratio) <= math.log10(check.factor)
    if check.relation == "similar":
        return "yes" if small else ("no" if certain else "open")
    if check.relation == "different":
        return "no" if small else ("yes" if certain else "open")
    if check.relation == "not higher":
        return "no" if certain and pair.log_ratio > 0.0 else "yes"
    if not certain:
        return "open"
    return "yes" if pair.log_ratio < 0.0 else "no"


def claim_blocks(claims: Sequence[Claim], lookup: Lookup, compare: Compare, test: str) -> list[Block]:
    """What the paper says, and what our data say of it."""
    if not claims:
        return []
    blocks: list[Block] = [
        Heading("What the paper says, and what these data say of it"),
        Paragraph(
            f"Each claim comes to one or more comparisons on the same replicates. Test: {test}. "
            "**yes**: the difference is as claimed with p < 0.05 (or the ratio is within the factor "
            "given); **no**: it is certain the other way; **open**: these replicates cannot tell. "
            "P-values are not corrected for the number of comparisons."
        ),
    ]
    for claim in claims:
        findings = [judge(check, lookup, compare) for check in claim.checks]
        blocks.append(Paragraph(f"**{_summary(findings, claim.needs)}** — {claim.text} ({claim.where})"))
        blocks.append(Items([_line(finding) for finding in findings]))
    return blocks


def _summary(findings: Sequence[Finding], needs: str) -> str:
    """All verdicts of a claim in a few words."""
    counts = {name: sum(f.verdict == name for f in findings) for name in ("yes", "no", "open", "no data")}
    total = len(findings)
    if counts["no data"] == total:
        return "No data yet"
    if counts["yes"] == total or (needs == "any" and counts["yes"]):
        words = "Supported"
    elif counts["yes"]:
        words = "Partly supported"
    else:
        words = "Not supported" if counts["no"] else "Undecided"
    parts = [f"{counts['yes']} of {total} yes"]
    parts += [f"{counts[name]} {name}" for name in ("no", "open", "no data") if counts[name]]
    return f"{words} ({', '.join(parts)})"


def _line(finding: Finding) -> str:
    """A comparison with its numbers."""
    check, pair = finding.check, finding.pair
    words = {
        "lower": "lower than",
        "similar": f"within a factor {check.factor:g} of",
        "different": f"not within a factor {check.factor:g} of",
        "not higher": "not higher than",
    }[check.relation]
    place = check.at if isinstance(check.at, str) else threshold_title(check.at)
    subject = (
        f"{problem_title(check.problem)}, {METRIC_TITLES[check.metric]} ({place}): "
        f"{finding.labels[0]} {words} {finding.labels[1]}"
    )
    if pair is None:
        return f"{subject}: no data"
    return (
        f"{subject}: **{finding.verdict}** (ratio {_ratio(pair.log_ratio)}, smaller in "
        f"{100.0 * pair.wins:.0f} % of {pair.n}, p = {pair.p_value:.2g})"
    )


def _ratio(log_ratio: float) -> str:
    """A ratio near 1 as a number, a far one as a power of ten."""
    return f"{10.0**log_ratio:.2f}" if abs(log_ratio) < 2.0 else f"10^{log_ratio:.1f}"
