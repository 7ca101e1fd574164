"""The documentation site builds without a warning, and the Markdown files outside it link to what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOSE = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "examples/simulator/README.md",
]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """A dead link between pages, an unknown name or equation is a warning."""
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *options, "-d", str(tmp_path / "trees"), str(ROOT / "docs")]
    done = subprocess.run([*command, str(tmp_path / "site")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("name", LOOSE)
def test_links_of_a_page_outside_the_site_lead_to_files(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"\w+:", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []
