"""Files that commands write: no journal and no spec is replaced by a table or a page."""

from __future__ import annotations

import os
import re
import sys

import pytest
from commands import BOWL, said, write_spec

import tcgp
from tcgp.cli import main
from tcgp.report import report_from_journal, report_from_optimizer


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.jsonl"
    with tcgp.Optimizer({"x": (0.0, 1.0)}, rng=0, journal=path) as optimizer:
        optimizer.tell([[0.25], [0.5], [0.75]], [1.0, 2.0, 3.0])
    return path


@pytest.fixture
def other(journal, tmp_path):
    """A second journal, under a name that no journal usually has."""
    path = tmp_path / "other.txt"
    path.write_bytes(b"\xef\xbb\xbf" + journal.read_bytes().replace(b'{"format": ', b'{"format":'))
    return path


def refuses(arguments, kept, capsys):
    """Whether a command ends with one sentence and leaves a file alone."""
    before = kept.read_bytes()
    assert main([str(argument) for argument in arguments]) == 2
    (sentence,) = said(capsys)
    assert kept.read_bytes() == before
    return sentence


def test_a_table_replaces_no_journal(journal, other, tmp_path, capsys):
    link = tmp_path / "link.csv"
    os.link(journal, link)
    for target in (journal, link, other):
        sentence = refuses(["status", journal, "--csv", target], journal, capsys)
        assert f"--csv must name a new file or a table, got the journal {str(target)!r}" in sentence
    assert other.read_bytes().startswith(b"\xef\xbb\xbf{")


def test_a_table_replaces_no_spec(tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=2)
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    said(capsys)
    assert "got the spec" in refuses(["status", spec, "--csv", spec], spec, capsys)
    other = tmp_path / "other.toml"
    other.write_text(spec.read_text())
    assert "got the spec" in refuses(["status", tmp_path / "spec.tcgp", "--csv", other], other, capsys)


def test_a_table_is_replaced_by_a_table(journal, tmp_path):
    table = tmp_path / "runs.csv"
    table.write_text("id,x\n")
    assert main(["status", str(journal), "--csv", str(table)]) == 0
    assert len(table.read_text().splitlines()) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.jsonl", "runs.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_table_goes_through_a_link(journal, tmp_path):
    (tmp_path / "table.csv").touch()
    link = tmp_path / "link.csv"
    link.symlink_to("table.csv")
    assert main(["status", str(journal), "--csv", str(link)]) == 0
    assert link.is_symlink()
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 4


def test_a_page_replaces_no_journal_and_no_spec(journal, other, tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=2)
    for target in (journal, other, spec):
        sentence = refuses(["report", journal, "--output", target], target, capsys)
        assert f"the report must be a new file or an HTML page, got another file, {str(target)!r}" in sentence
        assert "an HTML page" in refuses(["minimize", spec, "--report", target], target, capsys)
    assert not (tmp_path / "spec.tcgp").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_page_replaces_no_pipe(journal, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "an HTML page" in refuses(["report", journal, "--output", pipe], journal, capsys)
    assert pipe.is_fifo()


def test_a_page_replaces_a_page_and_an_empty_file(journal, tmp_path):
    page = tmp_path / "run.html"
    page.touch()
    for _ in range(2):
        assert main(["report", str(journal), "--output", str(page)]) == 0
        assert page.read_text().startswith("<!DOCTYPE html>")


def test_minimize_refuses_a_report_in_the_place_of_its_journal(journal, tmp_path, capsys):
    before = journal.read_bytes()
    space = {"x": (0.0, 1.0)}
    with pytest.raises(ValueError, match="report must be a new file or an HTML page, got another file"):
        tcgp.minimize(lambda x: 1.0, space, n_evals=2, rng=0, journal=journal, report=journal)
    assert journal.read_bytes() == before
    new = tmp_path / "new.jsonl"
    with pytest.raises(ValueError, match="report must be another file than the journal"):
        tcgp.minimize(lambda x: 1.0, space, n_evals=2, rng=0, journal=new, report=new)
    assert new.read_text().startswith('{"format": "tcgp-journal"')
    spec, again = write_spec(tmp_path, BOWL, budget=2), tmp_path / "again.jsonl"
    assert main(["minimize", str(spec), "--journal", str(again), "--report", str(again), "--quiet"]) == 2
    assert "report must be another file than the journal" in said(capsys)[-1]


def test_functions_that_write_a_report_replace_no_journal(journal):
    before = journal.read_bytes()
    words = re.escape(f"got another file, {str(journal)!r}")
    with pytest.raises(ValueError, match=words):
        report_from_journal(journal, journal)
    with pytest.raises(ValueError, match=words):
        report_from_optimizer(tcgp.Optimizer.read(journal), journal)
    assert journal.read_bytes() == before
