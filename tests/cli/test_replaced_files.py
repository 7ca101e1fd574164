"""Files that commands write: nothing that tcgp did not write is replaced, and no link is followed."""

from __future__ import annotations

import os
import re
import sys

import pytest
from commands import BOWL, Forked, said, write_spec

import tcgp
from tcgp.cli import main
from tcgp.programs import Simulator
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
        assert f"--csv must be a new file or one that tcgp wrote, got the journal {str(target)!r}" in sentence
        assert "got the journal" in refuses(["status", journal, "--force", "--csv", target], journal, capsys)
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
    for _ in range(2):
        assert main(["status", str(journal), "--csv", str(table)]) == 0
        assert len(table.read_text().splitlines()) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.jsonl", "runs.csv"]


@pytest.mark.parametrize("name", ["run.py", "results.csv", "notes"])
def test_a_table_replaces_no_file_of_the_user(name, journal, tmp_path, capsys):
    script = tmp_path / name
    script.write_text("id = 1\n# what I know about seconds\n")
    sentence = refuses(["status", journal, "--csv", script], script, capsys)
    assert "must be a new file or one that tcgp wrote" in sentence
    assert sentence.endswith("choose another name, or replace it with --force")
    assert main(["status", str(journal), "--force", "--csv", str(script)]) == 0
    assert script.read_text().startswith("id,x,value,")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_table_follows_no_link(journal, tmp_path, capsys):
    (tmp_path / "table.csv").write_text("precious")
    for aim in ("table.csv", "nowhere.csv"):
        link = tmp_path / f"link-to-{aim}"
        link.symlink_to(aim)
        assert main(["status", str(journal), "--csv", str(link)]) == 2
        assert "choose another name" in said(capsys)[-1]
        assert link.is_symlink()
    assert main(["status", str(journal), "--force", "--csv", str(tmp_path / "link-to-table.csv")]) == 0
    assert not (tmp_path / "link-to-table.csv").is_symlink()
    assert (tmp_path / "table.csv").read_text() == "precious"
    assert not (tmp_path / "nowhere.csv").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/stdout there")
def test_a_table_on_standard_output_may_go_to_a_file(journal):
    text, _ = Forked("status", journal, "--csv", "/dev/stdout").communicate()
    assert text.startswith("id,x,value,feasible,reason,seconds\n")
    assert "best value   1.0" in text


# ---- pictures ----


def test_pictures_replace_no_file_of_the_user_and_follow_no_link(tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=4)
    folder = tmp_path / "spec.tcgp"
    folder.mkdir()
    (folder / "run.png").write_bytes(b"a photograph")
    (tmp_path / "thesis.png").write_bytes(b"my thesis")
    (folder / "convergence.png").symlink_to(tmp_path / "thesis.png")
    assert main(["minimize", str(spec), "--quiet"]) == 0
    assert (folder / "run.png").read_bytes() == b"a photograph"
    assert (folder / "convergence.png").is_symlink()
    assert (tmp_path / "thesis.png").read_bytes() == b"my thesis"
    lines = said(capsys)
    for name in ("run.png", "convergence.png"):
        assert any(name in line and "is replaced only with --force" in line for line in lines)
    assert main(["minimize", str(spec), "--quiet", "--force"]) == 0
    assert (tmp_path / "thesis.png").read_bytes() == b"my thesis"
    for name in ("run.png", "convergence.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert not (folder / name).is_symlink()
    assert main(["minimize", str(spec), "--quiet", "--budget", "5"]) == 0  # its own are drawn again
    assert not any("--force" in line for line in said(capsys))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_picture_of_a_diagnosis_replaces_its_own_only(kind, journal, tmp_path, capsys):
    picture = tmp_path / f"calibration.{kind}"
    arguments = ["diagnose", str(journal), "--plot", str(picture)]
    for _ in range(2):
        assert main(arguments) == 0
    picture.write_text("mine")
    assert "must be a new file or one that tcgp wrote" in refuses(arguments, picture, capsys)
    assert "--force" in refuses(["demo", "--output", picture], picture, capsys)


# ---- the copy of the spec ----


def test_a_spec_written_by_hand_below_runs_is_kept(tmp_path):
    spec = write_spec(tmp_path, BOWL, budget=2)
    runs = tmp_path / "spec.tcgp" / "runs"
    runs.mkdir(parents=True)
    (runs / "spec.toml").write_text("# by hand\n")
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 0
    assert (runs / "spec.toml").read_text() == spec.read_text()
    assert (runs / "spec-1.toml").read_text() == "# by hand\n"


# ---- pages ----


def test_the_place_of_a_report_does_not_move_with_the_function(tmp_path, monkeypatch):
    """Its path is relative, and the function goes into a directory of its own, where a file has the same name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "run.html").write_text("<html>mine</html>")

    def fun(x):
        os.chdir(tmp_path / "work")
        return float(x[0])

    tcgp.minimize(fun, [(0.0, 1.0)], n_evals=3, rng=0, report="run.html", journal="run.jsonl")
    assert (tmp_path / "work" / "run.html").read_text() == "<html>mine</html>"
    assert '"text":"the budget of 3 evaluations is spent"' in (tmp_path / "run.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "run.jsonl", "work"]


def test_the_place_of_runs_does_not_move_with_the_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    simulator = Simulator(["sh", "-c", "echo 5"], "runs")
    monkeypatch.chdir(tmp_path / "work")
    assert simulator({}) == 5.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "work"]


def test_a_file_that_takes_the_place_of_the_report_during_the_run_is_left_alone(tmp_path, caplog):
    page = tmp_path / "run.html"

    def fun(x):
        page.unlink(missing_ok=True)
        page.write_text("<html>mine</html>")
        return float(x[0])

    result = tcgp.minimize(fun, [(0.0, 1.0)], n_evals=3, rng=0, report=page)
    assert result.nfev == 3
    assert page.read_text() == "<html>mine</html>"
    assert "could not be written" in caplog.text


def test_a_page_replaces_no_page_of_the_user(journal, tmp_path, capsys):
    page, link = tmp_path / "index.html", tmp_path / "link.html"
    page.write_text("<!DOCTYPE html>\n<html><body>my home</body></html>\n")
    link.symlink_to(page)
    for target in (page, link):
        assert "--force" in refuses(["report", journal, "--output", target], page, capsys)
    with pytest.raises(ValueError, match="a page that tcgp wrote"):
        report_from_journal(journal, page)
    assert main(["report", str(journal), "--force", "--output", str(link)]) == 0
    assert "my home" in page.read_text()
    assert main(["report", str(journal), "--force", "--output", str(page)]) == 0
    assert "my home" not in page.read_text()


def test_a_page_replaces_no_journal_and_no_spec(journal, other, tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=2)
    for target in (journal, other, spec):
        sentence = refuses(["report", journal, "--output", target], target, capsys)
        assert "the report must be a new file or one that tcgp wrote, got " in sentence
        assert "one that tcgp wrote" in refuses(["minimize", spec, "--report", target], target, capsys)
    assert not (tmp_path / "spec.tcgp").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_page_replaces_no_pipe(journal, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "one that tcgp wrote" in refuses(["report", journal, "--output", pipe], journal, capsys)
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
    with pytest.raises(
        ValueError, match="report must be a new file or a page that tcgp wrote, got another file"
    ):
        tcgp.minimize(lambda x: 1.0, space, n_evals=2, rng=0, journal=journal, report=journal)
    assert journal.read_bytes() == before
    new = tmp_path / "new.jsonl"
    with pytest.raises(ValueError, match="report must not be the journal"):
        tcgp.minimize(lambda x: 1.0, space, n_evals=2, rng=0, journal=new, report=new)
    assert new.read_text().startswith('{"format": "tcgp-journal"')
    spec, again = write_spec(tmp_path, BOWL, budget=2), tmp_path / "again.jsonl"
    assert main(["minimize", str(spec), "--journal", str(again), "--report", str(again), "--quiet"]) == 2
    assert "report must not be the journal" in said(capsys)[-1]


def test_functions_that_write_a_report_replace_no_journal(journal):
    before = journal.read_bytes()
    words = re.escape(f"got another file, {str(journal)!r}")
    with pytest.raises(ValueError, match=words):
        report_from_journal(journal, journal)
    with pytest.raises(ValueError, match=words):
        report_from_optimizer(tcgp.Optimizer.read(journal), journal)
    assert journal.read_bytes() == before
