"""Journals that someone else replaces, deletes, cuts or extends while they are open: nothing told is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcgp import Optimizer, minimize
from tcgp.cli import main
from tcgp.record.journal import Journal, JournalError, JournalRescued, read_journal

BOX = [(0.0, 1.0), (0.0, 1.0)]


def replace(path: Path) -> None:
    """Save as an editor does: a copy, and then a rename."""
    draft = path.with_suffix(".draft")
    subprocess.run(["cp", str(path), str(draft)], check=True)
    subprocess.run(["mv", str(draft), str(path)], check=True)


def delete(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_suffix(".old"))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"event": "tell", "id": null, "x": [0.5, 0.5], "y": 0.0, "reason": null}\n')


def edit(path: Path) -> None:
    """Change a digit in place: the size stays as it is."""
    time.sleep(0.02)  # the time of a change is known to some milliseconds
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"y": 1', b'"y": 7', 1))


CHANGES = {
    replace: "was replaced by another file",
    delete: "was deleted or moved away",
    move_away: "was deleted or moved away",
    truncate: "was changed by someone else",
    empty: "was changed by someone else",
    append: "was changed by someone else",
    edit: "was changed by someone else",
}
changes = pytest.mark.parametrize(
    ("change", "words"), CHANGES.items(), ids=lambda item: getattr(item, "__name__", "")
)


def told(path: Path) -> list[float | None]:
    """The values that a journal has."""
    return [event["y"] for _, event in read_journal(path).events if event["event"] == "tell"]


def rescues(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.rescue-*"))


def test_what_is_told_is_synced_before_tell_returns_and_several_points_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync, synced = tmp_path / "run.jsonl", os.fsync, []
    with Optimizer(BOX, n_initial=10, rng=0, journal=path) as optimizer:

        def record(fd: int) -> None:
            sync(fd)
            if os.path.samestat(os.fstat(fd), path.stat()):
                synced.append((told(path), len(optimizer.evaluations)))

        monkeypatch.setattr(os, "fsync", record)
        optimizer.tell([0.1, 0.2], 1.0)
        assert synced == [([1.0], 0)]  # in the file, and not yet in memory
        optimizer.tell([[0.3, 0.4], [0.5, 0.6], [0.7, 0.8]], [2.0, 3.0, 4.0])
        assert synced[1:] == [([1.0, 2.0, 3.0, 4.0], 1)]


@changes
def test_what_is_told_after_a_change_is_in_the_rescue_file_with_all_before_it(
    change: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    optimizer = Optimizer(BOX, n_initial=10, rng=0, journal=path)
    for y in (1.0, 2.0):
        optimizer.tell(optimizer.ask(), y)
    x = optimizer.ask()
    change(path)
    after = path.read_bytes() if path.exists() else None
    with pytest.raises(
        JournalRescued, match=f"{words} while it was in use; nothing is lost.*run.jsonl.rescue-1"
    ):
        optimizer.tell(x, 3.0)
    (rescue,) = rescues(tmp_path)
    assert told(rescue) == [1.0, 2.0, 3.0]
    assert (path.read_bytes() if path.exists() else None) == after  # nothing more was written there
    # What is in memory is what is on disk, and the run can go on, also in this process.
    assert [e.y for e in optimizer.evaluations] == [1.0, 2.0, 3.0]
    assert optimizer.journal == rescue
    optimizer.tell(optimizer.ask(), 4.0)
    asked = [p.x for p in optimizer.history.proposals]
    optimizer.close()
    with Optimizer.resume(rescue) as resumed:
        assert [e.y for e in resumed.evaluations] == [1.0, 2.0, 3.0, 4.0]
        assert [p.x for p in resumed.history.proposals] == asked
        assert (path.read_bytes() if path.exists() else None) == after


def test_a_run_that_went_on_in_a_rescue_file_is_not_begun_anew(tmp_path: Path) -> None:
    path, calls = tmp_path / "run.jsonl", []

    def bowl(x: Any) -> float:
        calls.append(x)
        if len(calls) == 3:
            path.unlink()
        return float(x[0])

    with pytest.raises(JournalRescued):
        minimize(bowl, BOX, n_evals=5, n_initial=5, rng=0, journal=path)
    (rescue,) = rescues(tmp_path)
    with pytest.raises(JournalError, match=r"is gone, and its contents are in .*rescue-1"):
        minimize(bowl, BOX, n_evals=5, n_initial=5, rng=0, journal=path)
    assert not path.exists()
    rescue.rename(path)
    assert minimize(bowl, BOX, n_evals=5, n_initial=5, rng=0, journal=path).nfev == len(calls) == 5


def test_a_change_that_leaves_the_content_alone_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Optimizer(BOX, n_initial=10, rng=0, journal=path) as optimizer:
        x = optimizer.ask()
        os.utime(path)
        path.chmod(0o600)
        path.write_bytes(path.read_bytes())
        optimizer.tell(x, 1.0)
    assert told(path) == [1.0]
    assert rescues(tmp_path) == []


def test_a_link_to_the_journal_may_be_the_journal(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "run.jsonl"
    link.symlink_to(tmp_path / "there" / "real.jsonl")
    with Optimizer(BOX, rng=0, journal=link) as optimizer:
        optimizer.tell(optimizer.ask(), 1.0)
        (tmp_path / "other.jsonl").touch()
        link.unlink()
        link.symlink_to(tmp_path / "other.jsonl")
        with pytest.raises(JournalRescued, match="replaced"):
            optimizer.ask()
    assert (tmp_path / "other.jsonl").read_bytes() == b""
    assert told(rescues(tmp_path)[0]) == [1.0]


def test_a_journal_whose_directory_is_deleted_is_rescued_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, refuge = tmp_path / "home", tmp_path / "refuge"
    home.mkdir()
    refuge.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    optimizer = Optimizer(BOX, rng=0, journal=home / "run.jsonl")
    x = optimizer.ask()
    shutil.rmtree(home)
    with pytest.raises(JournalRescued, match="refuge"):
        optimizer.tell(x, 1.0)
    assert told(rescues(refuge)[0]) == [1.0]


def test_where_nothing_can_be_rescued_the_value_is_not_told_and_can_be_told_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    home = tmp_path / "home"
    home.mkdir()
    with Optimizer(BOX, rng=0, journal=home / "run.jsonl") as optimizer:
        x = optimizer.ask()
        shutil.rmtree(home)
        with pytest.raises(JournalError, match="its contents could not be rescued"):
            optimizer.tell(x, 1.0)
        assert optimizer.evaluations == []
        home.mkdir()
        with pytest.raises(JournalRescued):
            optimizer.tell(x, 1.0)
    assert told(rescues(home)[0]) == [1.0]


def test_a_disk_too_full_for_the_rescue_file_leaves_no_part_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuge = tmp_path / "refuge"
    refuge.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    path = tmp_path / "run.jsonl"
    optimizer = Optimizer(BOX, rng=0, journal=path)
    x = optimizer.ask()
    delete(path)
    real_write, full = os.write, []

    def full_disk(fd: int, data: bytes) -> int:
        if not full:  # the first place to write to
            full.append(fd)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(fd, data)

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(JournalRescued, match="refuge"):
        optimizer.tell(x, 1.0)
    monkeypatch.undo()
    assert rescues(tmp_path) == []
    assert told(rescues(refuge)[0]) == [1.0]


def test_a_descriptor_that_others_have_closed_is_neither_written_to_nor_closed(tmp_path: Path) -> None:
    """A daemon closes all descriptors; the next file that it opens gets the number of the journal."""
    path, other = tmp_path / "run.jsonl", tmp_path / "other.txt"
    optimizer = Optimizer(BOX, rng=0, journal=path)
    x = optimizer.ask()
    numbers = [n for n in range(3, 256) if _leads_to(n, path)]
    for number in numbers:
        os.close(number)
    theirs = os.open(other, os.O_RDWR | os.O_CREAT)
    assert theirs in numbers
    with pytest.raises(JournalRescued, match="was closed by someone else"):
        optimizer.tell(x, 1.0)
    optimizer.close()
    assert os.write(theirs, b"mine") == 4
    os.close(theirs)
    assert other.read_bytes() == b"mine"
    assert told(rescues(tmp_path)[0]) == [1.0]


def _leads_to(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


def test_a_journal_taken_over_in_the_middle_of_writing_is_closed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    first = Journal(path)
    first.start({})
    writing, go_on, opened = threading.Event(), threading.Event(), threading.Event()
    real_write = os.write

    def slow_write(fd: int, data: bytes) -> int:
        if data.startswith(b'{"i": 1'):
            writing.set()
            assert go_on.wait(10.0)
        return real_write(fd, data)

    monkeypatch.setattr(os, "write", slow_write)
    writer = threading.Thread(target=lambda: first.append({"i": 1}))
    second: list[Journal] = []

    def take_over() -> None:
        second.append(Journal(path))
        opened.set()

    opener = threading.Thread(target=take_over)
    writer.start()
    assert writing.wait(10.0)
    opener.start()
    assert not opened.wait(0.1)  # the descriptor stays open until the line is written
    go_on.set()
    writer.join()
    opener.join()
    assert [event for _, event in read_journal(path).events] == [{"i": 1}]
    with pytest.raises(JournalError, match="no longer open"):
        first.append({"i": 2})
    second[0].append({"i": 3})
    second[0].close()
    assert [event["i"] for _, event in read_journal(path).events] == [1, 3]


# ---- minimize and the command ----


@pytest.mark.parametrize(("change", "workers"), [(replace, 1), (append, map)])
def test_minimize_ends_with_the_name_of_the_rescue_file_and_loses_no_evaluation(
    change: Callable[[Path], None], workers: Any, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    evaluated = []

    def fun(x: Any) -> float:
        evaluated.append(1.0 + len(evaluated))
        if len(evaluated) == 6:
            change(path)
        return evaluated[-1]

    with pytest.raises(JournalError, match=CHANGES[change]) as caught:
        minimize(fun, BOX, n_evals=12, n_initial=12, rng=0, journal=path, workers=workers, n_parallel=4)
    (rescue,) = rescues(tmp_path)
    assert str(rescue) in str(caught.value)
    assert told(rescue) == evaluated  # also those of the batch that were not told yet
    result = minimize(lambda x: 0.0, BOX, n_evals=12, n_initial=12, rng=0, journal=rescue)
    assert result.nfev == 12
    assert result.func_vals[: len(evaluated)].tolist() == evaluated


CODE = "import os, sys; os.path.exists(sys.argv[2]) and os.remove(sys.argv[2]); print(float(sys.argv[1]))"
SPEC = """
command = [{python}, "-c", {code}, "{{x}}", {journal}]
budget = 5
[parameters]
x = {{low = 1.0, high = 2.0}}
"""


def test_the_command_minimize_says_in_a_sentence_where_the_values_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "spec.tcgp" / "journal.jsonl"
    spec = tmp_path / "spec.toml"
    words = {"python": sys.executable, "code": CODE, "journal": str(journal)}
    spec.write_text(SPEC.format(**{key: json.dumps(word) for key, word in words.items()}))
    assert main(["minimize", str(spec), "--quiet", "--no-plots"]) == 2
    (rescue,) = rescues(journal.parent)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tcgp: error: the journal ")
    assert "was deleted or moved away while it was in use; nothing is lost" in line
    assert rescue.name in line
    assert len(told(rescue)) == 1


@pytest.mark.parametrize("arguments", [["tell", "run.jsonl", "0", "2.5"], ["ask", "run.jsonl"]])
def test_the_commands_ask_and_tell_say_in_a_sentence_where_the_values_are(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with Optimizer(BOX, rng=0, journal="run.jsonl") as optimizer:
        optimizer.ask()
    resume = Optimizer.resume

    def resume_and_lose(path: Any, **options: Any) -> Optimizer:
        resumed = resume(path, **options)
        delete(tmp_path / "run.jsonl")
        return resumed

    monkeypatch.setattr(Optimizer, "resume", resume_and_lose)
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nothing is lost" in line
    (rescue,) = rescues(tmp_path)
    assert rescue.name in line
    assert told(rescue) == ([2.5] if arguments[0] == "tell" else [])
    with resume(rescue, reoffer=False) as resumed:
        assert len(resumed.history.proposals) == (1 if arguments[0] == "tell" else 2)


@pytest.mark.parametrize("length", [235, 246, 247, 255])
def test_a_journal_with_the_longest_name_is_rescued_too(length: int, tmp_path: Path) -> None:
    path = tmp_path / ("ü" + "r" * (length - 8) + ".jsonl")
    assert len(os.fsencode(path.name)) == length
    optimizer = Optimizer(BOX, rng=0, journal=path)
    optimizer.tell(optimizer.ask(), 1.0)
    path.unlink()
    with pytest.raises(JournalRescued):
        optimizer.tell([0.25, 0.5], 2.0)
    optimizer.close()
    (rescue,) = tmp_path.iterdir()
    assert [e.y for e in Optimizer.read(rescue).history.evaluations] == [1.0, 2.0]
    with pytest.raises(JournalError, match="its contents are in"):
        Optimizer(BOX, rng=0, journal=path)
