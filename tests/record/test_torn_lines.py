"""The last line of a journal: cut off if a crash has torn it, and never if somebody has edited it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tcgp import Optimizer
from tcgp.cli import main
from tcgp.record.journal import Journal, JournalError, read_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with Optimizer([(0.0, 1.0)], rng=0, journal=path) as optimizer:
        optimizer.tell(optimizer.ask(), 1.0)
        optimizer.tell(optimizer.ask(), 3.5)
    return path


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n"])
def test_a_last_line_with_an_end_is_refused_and_left_alone(path: Path, ending: bytes) -> None:
    edited = path.read_bytes().replace(b'"y": 3.5', b'"y": 3,5').removesuffix(b"\n") + ending
    path.write_bytes(edited)
    for opener in (read_journal, Journal, Optimizer.resume, Optimizer.read):
        with pytest.raises(JournalError, match="is damaged: line 5 is not a JSON object; correct it"):
            opener(path)
    for command in (["status", str(path)], ["ask", str(path)], ["tell", str(path), "1", "3.5"]):
        assert main(command) == 2
    assert path.read_bytes() == edited
    path.write_bytes(edited.replace(b"3,5", b"3.5"))
    assert [e.y for e in Optimizer.read(path).evaluations] == [1.0, 3.5]


def test_a_header_with_an_end_is_damaged_and_is_not_taken_for_a_new_journal(path: Path) -> None:
    header = path.read_bytes().splitlines(keepends=True)[0].replace(b'"seed": ', b'"seed": ,')
    path.write_bytes(header)
    with pytest.raises(JournalError, match="is damaged: line 1"):
        Journal(path)
    assert path.read_bytes() == header


def test_zeros_of_a_file_system_are_cut_off(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 40 + b"\n")
    with Journal(path):
        pass
    assert path.read_bytes() == whole
    assert "is dropped" in caplog.text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("torn", [b'{"event": "tell", "id": 1, "x', b'{"event": "te\0\0\0\n'])
def test_what_is_cut_off_is_kept_beside_the_journal(
    path: Path, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    whole = path.read_bytes()
    for number in (1, 2):
        path.write_bytes(whole + torn)
        with Optimizer.resume(path) as optimizer:
            assert [e.y for e in optimizer.evaluations] == [1.0, 3.5]
        assert path.read_bytes() == whole
        kept = path.with_name(f"run.jsonl.torn-{number}")
        assert kept.read_bytes() == torn
        assert f"was torn by a crash and is moved to {str(kept)!r}" in caplog.text


def test_a_journal_goes_on_where_nothing_can_be_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real_open = os.open

    def full_disk(name: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_EXCL:
            raise OSError(28, "No space left on device")
        return real_open(name, flags, mode)

    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    monkeypatch.setattr(os, "open", full_disk)
    with Journal(path) as journal:
        assert journal.record is not None
    assert "is dropped" in caplog.text
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:-1])
