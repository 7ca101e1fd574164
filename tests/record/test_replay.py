"""Journals that people have edited: read as they are meant, or refused with the line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcgp import Optimizer
from tcgp.cli import main
from tcgp.optimizer import read_campaign
from tcgp.record.journal import JournalError

BOX = [(0.0, 1.0), (0.0, 1.0)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of six lines: the header, ask 0, tell 0, ask 1, tell 1, ask 2."""
    path = tmp_path / "run.jsonl"
    with Optimizer(BOX, n_initial=10, rng=0, journal=path) as optimizer:
        for y in (1.0, 2.0):
            optimizer.tell(optimizer.ask(), y)
        optimizer.ask()
    return path


def change_line(path: Path, line: int, **fields: Any) -> None:
    lines = path.read_text().splitlines()
    lines[line - 1] = json.dumps({**json.loads(lines[line - 1]), **fields})
    path.write_text("\n".join(lines) + "\n")


def values(optimizer: Optimizer) -> list[float | None]:
    return [e.y for e in optimizer.evaluations]


REFUSED: dict[str, tuple[int, dict[str, Any], str]] = {
    "x far from its ask": (3, {"x": [0.25, 0.5]}, "a value at .* for ask number 0, which was"),
    "x of another ask": (5, {"id": 2}, "a value for ask number 2, which is not pending"),
    "answered twice": (5, {"id": 0}, "a value for ask number 0, which is not pending"),
    "id of no ask": (3, {"id": 7}, "a value for ask number 7, which is not pending"),
    "id as text": (3, {"id": "0"}, "a value for ask number '0', which is not pending"),
    "id as a truth": (3, {"id": False}, "a value for ask number False, which is not pending"),
    "y as text": (3, {"y": "0.5"}, "y must be a number or null, got '0.5'"),
    "y as a list": (3, {"y": [0.5]}, r"y must be a number or null, got \[0.5\]"),
    "y as a truth": (3, {"y": True}, "y must be a number or null, got True"),
    "x outside": (3, {"x": [0.5, 7.0]}, "parameter 1: 7.0 is not a number between"),
    "an ask out of turn": (4, {"id": 5}, "ask number 5 where number 1 was due"),
    "seconds": (3, {"seconds": -1.0}, "seconds must be a number >= 0"),
    "a retry of no ask": (5, {"event": "retry", "id": 7}, "number must be that of a pending or failed"),
    "a retry of a text": (5, {"event": "retry", "id": "1"}, "a retry must have a number and a reason"),
    "a retry for a number": (5, {"event": "retry", "reason": 5}, "a retry must have a number and a reason"),
    "a retry of long": (5, {"event": "retry", "seconds": "long"}, "seconds must be a number or null"),
    "another event": (3, {"event": "told"}, "unknown event 'told'"),
}


@pytest.mark.parametrize(("line", "fields", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_line_and_left_as_it_is(
    line: int, fields: dict[str, Any], words: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_line(path, line, **fields)
    before = path.read_bytes()
    for read in (Optimizer.resume, Optimizer.read, read_campaign):
        with pytest.raises(JournalError, match=f"line {line} cannot be used \\({words}"):
            read(path)
    assert path.read_bytes() == before
    for command in (["status", str(path)], ["ask", str(path)], ["tell", str(path), "2", "1.0"]):
        assert main(command) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert f"line {line} cannot be used" in said
    assert path.read_bytes() == before


def test_an_event_of_a_newer_version_is_not_to_be_deleted(path: Path) -> None:
    change_line(path, 3, event="told")
    with pytest.raises(JournalError, match=r"is not understood: .* install the newer tcgp") as refusal:
        Optimizer.resume(path)
    assert "delete" not in str(refusal.value)


def test_a_line_that_names_no_event_is_damaged(path: Path) -> None:
    lines = path.read_text().splitlines()
    lines[2] = json.dumps({key: value for key, value in json.loads(lines[2]).items() if key != "event"})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalError, match=r"is damaged: line 3 cannot be used \('event' is missing\)"):
        Optimizer.resume(path)


def test_a_value_without_the_number_of_its_ask_answers_it(path: Path) -> None:
    change_line(path, 3, id=None)
    with Optimizer.resume(path, reoffer=False) as optimizer:
        assert [e.id for e in optimizer.evaluations] == [0, 1]
        assert [p.id for p in optimizer.pending] == [2]


def test_a_point_rounded_by_hand_answers_its_ask(path: Path) -> None:
    x = json.loads(path.read_text().splitlines()[2])["x"]
    change_line(path, 3, x=[round(u, 9) for u in x])
    with Optimizer.resume(path) as optimizer:
        assert [e.id for e in optimizer.evaluations] == [0, 1]


def test_a_value_told_twice_counts_once(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[2]]))
    with Optimizer.resume(path) as optimizer:
        assert values(optimizer) == [1.0, 2.0]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda raw: codecs.BOM_UTF8 + raw,
    "blank lines at the end": lambda raw: raw + b"\n\n \n\t\n",
    "blank lines in the middle": lambda raw: raw.replace(b"\n", b"\n\n", 2),
    "line ends of Windows": lambda raw: raw.replace(b"\n", b"\r\n"),
    "no line end at the end": lambda raw: raw.rstrip(b"\n"),
    "all of them": lambda raw: codecs.BOM_UTF8 + raw.replace(b"\n", b"\r\n") + b"\r\n\r\n",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_an_editor_leaves_is_read_and_the_run_goes_on(
    change: Callable[[bytes], bytes], path: Path
) -> None:
    path.write_bytes(change(path.read_bytes()))
    assert [e.y for e in read_campaign(path).history.evaluations] == [1.0, 2.0]
    assert main(["status", str(path)]) == 0
    with Optimizer.resume(path) as optimizer:
        assert values(optimizer) == [1.0, 2.0]
        optimizer.tell(optimizer.ask(), 3.0)
    with Optimizer.resume(path) as optimizer:
        assert values(optimizer) == [1.0, 2.0, 3.0]


def test_a_damaged_line_is_named_also_behind_blank_ones(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n\n".join([*lines[:3], "{broken", *lines[3:]]) + "\n")
    with pytest.raises(JournalError, match="line 7 is not a JSON object"):
        Optimizer.resume(path)
