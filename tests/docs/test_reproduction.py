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
        name = f"[{page.stem}]({page.name})"
        for claim, verdict in verdicts(page).items():
            rows.append(
                f"| {name} | {claim} | {verdict} | {as_published.get(claim, '')} |".replace("  ", " ")
            )
    return rows


def test_the_table_of_verdicts_is_that_of_the_pages():
    text = (DOCS / "reproduction" / "claims.md").read_text(encoding="utf-8")
    shown = [line for line in text.splitlines() if re.match(r"\| \[[\w-]+\]\(", line)]
    assert shown == table(), "what belongs there:\n" + "\n".join(table())


def test_the_counts_of_the_first_page_are_those_of_the_table():
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    kinds = ("supported", "partly supported", "undecided", "not supported")
    rows = [[cell.strip() for cell in row.strip("| ").split("|")] for row in table()]
    for page in dict.fromkeys(row[0] for row in rows):
        verdicts_of = [row[2].split(":")[0] for row in rows if row[0] == page]
        (line,) = re.findall(
            rf"^\| {re.escape(page.replace('](', '](reproduction/'))} \|(.*)\|$", text, re.MULTILINE
        )
        shown = [int(cell.strip() or 0) for cell in line.split("|")[:4]]
        assert shown == [verdicts_of.count(kind) for kind in kinds]
