"""The documentation site builds without a warning, and the Markdown files outside it link to what exists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "benchmarks").rglob("README.md"))
LOOSE = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/simulator/README.md", *BENCHMARKS]


def _build(source: Path, folder: Path, *options: str) -> Path:
    """Build a site as ``make docs`` does, and return its directory."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    places = ["-d", str(folder / "trees"), str(source), str(folder / "site")]
    done = subprocess.run([*command, *options, *places], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """A dead link between pages, an unknown name or equation is a warning.

    The theme frames the pages, and checks nothing in them: the simplest one saves a third of the time.
    """
    site = _build(ROOT / "docs", tmp_path, "-D", "html_theme=basic")
    assert (site / "index.html").is_file()


def test_the_theme_of_the_site_renders_a_page(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    shutil.copy(ROOT / "docs" / "conf.py", source)
    shutil.copytree(ROOT / "docs" / "_static", source / "_static")
    (source / "index.md").write_text("# A page\n\nA formula, $x^2$.\n\n```python\nimport tcgp\n```\n")
    page = (_build(source, tmp_path) / "index.html").read_text(encoding="utf-8")
    assert "furo.css" in page
    assert "tcgp.css" in page
    assert "<msup>" in page


def _anchors(page: Path) -> set[str]:
    """What a link to a page can point at: its headings and its labels."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def test_links_to_a_part_of_a_page_lead_to_it() -> None:
    """Sphinx checks the page of such a link, and not the part."""
    links = [
        (page, (page.parent / target).resolve(), anchor)
        for page in (ROOT / "docs").rglob("*.md")
        for target, anchor in re.findall(r"\]\(([\w./-]+\.md)#([\w-]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 3
    assert [link for link in links if link[2] not in _anchors(link[1])] == []


@pytest.mark.parametrize("name", LOOSE)
def test_links_of_a_page_outside_the_site_lead_to_files(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(
        r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE
    )
    local = [target for target in targets if not re.match(r"\w+:", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_lines_of_measurements_can_be_read(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120] == []


def test_scripts_that_are_named_exist() -> None:
    """In the documentation, and in the comments and docstrings of the package and its tests."""
    pages = [ROOT / name for name in LOOSE]
    pages += [
        page for folder in ("docs", "src", "tests", "benchmarks") for page in (ROOT / folder).rglob("*")
    ]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.suffix in (".md", ".py")]
    named = {name for text in texts for name in re.findall(r"benchmarks/[\w/]+\.(?:py|csv|json)\b", text)}
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
