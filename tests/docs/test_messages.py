"""The cookbook of messages quotes what the package says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/howto/messages.md"


def templates() -> set[str]:
    """Every text of the package, with a zero byte in the place of what is filled in."""
    found = set()
    for path in (ROOT / "src/tcgp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.add("".join(p.value if isinstance(p, ast.Constant) else "\0" for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(re.sub(r"%[srdg]", "\0", node.value))
    return found


def quoted() -> list[str]:
    """The messages of the page: the first column of its tables."""
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [row for row in rows if row != "message"]


def fixed_parts(message: str) -> list[str]:
    return [part.strip() for part in message.split("...") if part.strip(" ,;:")]


def is_said(message: str, texts: set[str]) -> bool:
    """Whether some text of the package has the fixed parts of a message, in this order."""
    pattern = re.compile(".*".join(map(re.escape, fixed_parts(message))), re.DOTALL)
    return any(pattern.search(text) for text in texts)


def test_quoted_messages_are_in_the_package() -> None:
    texts = templates()
    assert [message for message in quoted() if not is_said(message, texts)] == []
    assert not is_said("the flux capacitor ... is empty", texts)
    assert not is_said("choose another file ... the journal", {"the journal \0: choose another file"})


def test_every_row_of_the_page_is_checked_and_has_words_of_its_own() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(quoted()) == len(rows) > 30
    assert [m for m in quoted() if sum(c.isalpha() for c in "".join(fixed_parts(m))) < 8] == []
