"""Specs of strangers, and files that are no files: nothing is waited for, and nothing is read for ever."""

from __future__ import annotations

import os
import re
import sys

import pytest
from commands import BOWL, Forked, said, write_spec

from tcgp.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such devices")


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def refuses(*arguments):
    """One sentence, from a process that ends by itself."""
    process = Forked(*arguments)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 2, err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("strange", ["/dev/zero", "/dev/full", "pipe", "."])
def test_first_points_are_read_from_regular_files_only(strange, pipe, tmp_path):
    spec = write_spec(tmp_path, BOWL, top=f'x0 = "{strange}"')
    assert "cannot be read" in refuses("minimize", spec, "--dry-run")


def test_first_points_are_of_a_bounded_size(tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, top='x0 = "points.csv"')
    with (tmp_path / "points.csv").open("wb") as file:
        file.truncate(1 << 40)  # takes no room
    assert main(["minimize", str(spec), "--dry-run"]) == 2
    assert "it has more than 256 MiB" in said(capsys)[-1]


@pytest.mark.parametrize("strange", ["/dev/zero", "pipe"])
def test_a_spec_is_a_regular_file(strange, pipe, tmp_path):
    assert "cannot be read: it is not a regular file" in refuses("minimize", tmp_path / strange, "--dry-run")


@pytest.mark.parametrize("strange", ["/dev/full", "/dev/null", "pipe"])
def test_a_journal_is_a_regular_file(strange, pipe, tmp_path):
    spec, place = write_spec(tmp_path, BOWL), tmp_path / strange
    for arguments in (
        ["minimize", spec, "--journal", place],
        ["ask", place, "--spec", spec],
        ["status", place],
        ["report", place, "--output", tmp_path / "page.html"],
    ):
        (line,) = refuses(*arguments).splitlines()
        assert "not a regular file" in line
    assert not os.path.exists("/dev/runs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "spec.toml"]


@pytest.mark.parametrize("top", ["target = {}", "timeout = {}", "epsilon = {}", "x0 = [{{x = {}, y = 0}}]"])
@pytest.mark.parametrize("digits", [20, 400, 4301])
def test_integers_that_toml_does_not_have_are_refused(top, digits, tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, top=top.format("1" * digits))
    assert main(["minimize", str(spec), "--dry-run"]) == 2
    (error,) = said(capsys)
    assert "is not valid TOML" in error
    assert len(error) < 500


@pytest.mark.parametrize("key", ["y", "seconds"])
@pytest.mark.parametrize("digits", [400, 5000])
def test_a_journal_with_an_integer_beyond_all_floats_is_damaged(key, digits, tmp_path, capsys):
    spec, journal = write_spec(tmp_path, BOWL, budget=1), tmp_path / "run.jsonl"
    assert main(["minimize", str(spec), "--journal", str(journal), "--no-plots"]) == 0
    *lines, last = journal.read_text().splitlines()
    assert f'"{key}": ' in last
    changed = re.sub(f'"{key}": [0-9.e-]+', f'"{key}": {"1" * digits}', last)
    journal.write_text("\n".join([*lines, changed, ""]))
    said(capsys)
    assert main(["status", str(journal)]) == 2
    (error,) = said(capsys)
    assert "line 3 is not a JSON object" in error


def test_a_journal_whose_trace_has_text_for_numbers_is_damaged(tmp_path, capsys):
    spec, journal = write_spec(tmp_path, BOWL, budget=3, top="n_initial = 2"), tmp_path / "run.jsonl"
    assert main(["minimize", str(spec), "--journal", str(journal), "--no-plots"]) == 0
    text = journal.read_text()
    assert text.count('"log_ei": ') == 1
    journal.write_text(re.sub(r'"log_ei": [0-9.e-]+', '"log_ei": "low"', text))
    said(capsys)
    assert main(["report", str(journal)]) == 2
    (error,) = said(capsys)
    assert "'log_ei' of the trace must be a number or null, got 'low'" in error
