"""The page of the reproduction opens with the verdicts of the pages below it, and with no others."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
CLAIM = re.compile(
    r"^\*\*(?P<verdict>[\w ]+) \((?P<counts>[^)]+)\)\*\* — (?P<claim>.+) \([^()]+\)$", re.MULTILINE
)
MARK = "-as-published"


def verdicts(page: Path) -> dict[str, str]:
    """What a page says of each claim: "supported: 6 of 6 yes", for instance."""
    found = CLAIM.finditer(page.read_text(encoding="utf-8"))
    return {match["claim"]: f"{match['verdict'].lower()}: {match['counts']}" for match in found}


def table() -> list[str]:
    """Rows of the table: experiment, claim, verdict with our choices, verdict as published."""
    rows = []
    for page in sorted((DOCS / "reproduction").glob("*.md")):
        if MARK in page.stem:
            continue
        other = page.with_name(f"{page.stem}{MARK}.md")
        as_published = verdicts(other) if other.exists() else {}
        name = f"[{page.stem}](reproduction/{page.name})"
        for claim, verdict in verdicts(page).items():
            rows.append(
                f"| {name} | {claim} | {verdict} | {as_published.get(claim, '')} |".replace("  ", " ")
            )
    return rows


def test_the_table_of_verdicts_is_that_of_the_pages():
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    shown = [line for line in text.splitlines() if re.match(r"\| \[[\w-]+\]\(reproduction/", line)]
    assert shown == table(), "what belongs there:\n" + "\n".join(table())
