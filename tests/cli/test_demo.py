"""``tcgp demo``, and the example of a simulator."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from commands import (
    EXAMPLES,
    events,
)

from tcgp.cli import main
from tcgp.cli.console import format_table


def test_the_demo_shows_a_table_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--seeds", "2", "--n-evals", "12", "--output", str(picture)]) == 0
    captured = capsys.readouterr()
    assert "seed 2 of 2" in captured.err
    rows = {line.split()[0]: line for line in captured.out.splitlines() if re.match("GP|tcGP|auto", line)}
    assert set(rows) == {"GP", "tcGP", "auto"}
    # The initial designs of GP and tcGP, of six points, are the same: after 3 and 6 evaluations the rows agree.
    cells = {label: re.findall(r"[^ ]+ \([^)]*\)", row) for label, row in rows.items()}
    assert cells["GP"][:2] == cells["tcGP"][:2]
    assert len({tuple(row[2:]) for row in cells.values()}) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_demo_shows_the_table_only(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = tmp_path / "demo.png"
    assert main(["demo", "--seeds", "1", "--n-evals", "6", "--output", str(picture)]) == 0
    captured = capsys.readouterr()
    assert "tcGP" in captured.out
    assert "needs matplotlib" in captured.err
    assert not picture.exists()


def test_the_example_of_the_repository_runs_as_its_readme_says(tmp_path, capsys):
    folder = tmp_path / "simulator"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("*.tcgp", "suspension"))
    subprocess.run(["sh", "build.sh"], cwd=folder, check=True, capture_output=True)
    assert main(["minimize", str(folder / "suspension.toml"), "--no-plots", "--budget", "24"]) == 0
    tells = events(folder / "suspension.tcgp" / "journal.jsonl", "tell")
    assert len(tells) == 24
    # A grid of 200 x 200 points for each spring has its least cost, 4.1652, at the progressive one.
    assert min(event["y"] for event in tells if event["y"] is not None) < 4.17
    assert 'spring = "progressive"' in capsys.readouterr().out


def test_tables_are_aligned():
    assert format_table([["", "a"], ["long", "b"]]) == "      a\nlong  b"
