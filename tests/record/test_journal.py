"""Journals: what survives a crash, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tcgp.record.journal import Journal, JournalError, read_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    with Journal(path) as journal:
        journal.start({"space": "a"})
        for i in range(3):
            journal.append({"event": "tell", "i": i})
    return path


def test_what_is_appended_is_read_back_with_line_numbers(written: Path) -> None:
    record = read_journal(written)
    assert record.header["format"] == "tcgp-journal"
    assert record.header["space"] == "a"
    assert record.events == [(i + 2, {"event": "tell", "i": i}) for i in range(3)]


def test_floats_keep_every_bit(path: Path) -> None:
    values = [0.1, 1e-320, 1.7976931348623157e308, -0.0, 2 / 3]
    with Journal(path) as journal:
        journal.start({})
        journal.append({"event": "tell", "x": values})
    assert [v.hex() for v in read_journal(path).events[0][1]["x"]] == [v.hex() for v in values]


def test_nan_is_never_written(path: Path) -> None:
    with Journal(path) as journal:
        journal.start({})
        with pytest.raises(ValueError, match="JSON"):
            journal.append({"y": float("nan")})
    assert read_journal(path).events == []


def test_reading_alone_repairs_nothing(written: Path) -> None:
    torn = written.read_bytes()[:-5]
    written.write_bytes(torn)
    assert len(read_journal(written).events) == 2
    assert written.read_bytes() == torn


def test_a_torn_header_counts_as_a_new_journal(written: Path) -> None:
    written.write_bytes(written.read_bytes()[:20])
    with Journal(written) as journal:
        assert journal.record is None


def test_damage_in_the_middle_is_refused_and_named(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"event": "te\x00\x00\x00\n'
    written.write_bytes(b"".join(lines))
    for opener in (Journal, read_journal):
        with pytest.raises(JournalError, match="line 3"):
            opener(written)
    assert written.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    "content", [b"x,y\n1,2\n", b"notes", b"[1, 2]\n", b'{"format": "other"}\n', b"\x00\x01"]
)
def test_another_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalError, match="not a tcgp journal"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_journal_of_a_later_version_is_refused(written: Path) -> None:
    written.write_text(written.read_text().replace('"version": 1', '"version": 99'))
    with pytest.raises(JournalError, match="version 99"):
        Journal(written)


def test_a_missing_directory_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "nowhere" / "run.jsonl")


def test_an_empty_file_is_a_new_journal_and_nothing_to_read(path: Path) -> None:
    path.touch()
    with Journal(path) as journal:
        assert journal.record is None
    with pytest.raises(JournalError, match="empty"):
        read_journal(path)


HOLD = """
import sys
from tcgp.record.journal import Journal
journal = Journal(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_second_process_is_refused_until_the_first_ends(written: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(written)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalError, match="another process"):
            Journal(written)
        assert len(read_journal(written).events) == 3
        holder.kill()
    Journal(written).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_does_not_keep_the_lock(written: Path) -> None:
    script = f"""
import os, signal, time
from tcgp.record.journal import Journal
journal = Journal({str(written)!r})
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(60)
os.kill(os.getpid(), signal.SIGKILL)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait()
    try:
        Journal(written).close()
    finally:
        os.kill(child, 9)
        parent.stdout.close()
