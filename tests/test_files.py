"""Files are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tcgp._files import write_atomically


@pytest.mark.parametrize(("content", "raw"), [("naïve\n", "naïve\n".encode()), (b"\x00\xff", b"\x00\xff")])
def test_text_and_bytes_are_written_as_they_are(content: str | bytes, raw: bytes, tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "the old content, which is longer")
    write_atomically(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == raw
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_writer_that_dies_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.html"
    write_atomically(path, "old")

    def die(*arguments: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, step, die)
    with pytest.raises(OSError, match="full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["run.html"]


def test_the_content_is_on_disk_before_the_name_and_then_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(fd: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else f"{os.fstat(fd).st_size} bytes")
        real_sync(fd)

    def replace(*names: str) -> None:
        steps.append("replace")
        real_replace(*names)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    write_atomically(tmp_path / "file", "12345")
    assert steps == ["5 bytes", "replace", "directory"]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "file").symlink_to(victim)
    write_atomically(tmp_path / "file", "new")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_the_mode_of_a_new_file_is_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_atomically(tmp_path / "file", "")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
def test_a_directory_that_cannot_be_read_can_be_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "drop"
    folder.mkdir(mode=0o300)
    write_atomically(folder / "file", "5")
    folder.chmod(0o700)
    assert (folder / "file").read_text() == "5"
