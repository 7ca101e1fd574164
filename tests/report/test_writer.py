"""Reports along a run, and of journals."""

from __future__ import annotations

import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest

import tcgp
from tcgp.cli import main
from tcgp.optimizer import Optimizer
from tcgp.record.journal import read_journal
from tcgp.report import Reporter, report_from_journal
from tcgp.report import writer as writer_module


def embedded(path: Path) -> dict[str, Any]:
    """The data of a page."""
    match = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def square(x: Any) -> float:
    return float((x[0] - 0.3) ** 2)


def test_page_is_written_before_each_evaluation_and_says_what_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    seen = []

    def fun(x: Any) -> float:
        data = embedded(path)
        seen.append((len(data["evaluations"]["y"]), len(data["pending"]), data["state"]["refresh"]))
        return square(x)

    tcgp.minimize(fun, [(0.0, 1.0)], n_evals=6, n_initial=4, rng=0, report=path)
    assert [n for n, _, _ in seen] == [0, 1, 2, 3, 4, 5]
    assert {pending for _, pending, _ in seen} == {1}
    assert all(refresh > 0 for _, _, refresh in seen)


def test_page_says_that_the_run_is_at_work_however_long_an_evaluation_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "HEARTBEAT", 0.01)
    path = tmp_path / "run.html"
    written = []

    def fun(x: Any) -> float:
        first = embedded(path)["state"]["written"]
        deadline = time.monotonic() + 60.0
        while embedded(path)["state"]["written"] == first and time.monotonic() < deadline:
            time.sleep(0.01)
        written.append((first, embedded(path)["state"]["written"]))
        return square(x)

    space = {'"written":1': (0.0, 1.0)}  # a name that looks like the time is left alone
    tcgp.minimize(lambda p: fun(list(p.values())), space, n_evals=2, rng=0, report=path)
    assert len(written) == 2
    assert all(later > first for first, later in written)
    data = embedded(path)
    assert data["parameters"][0]["name"] == '"written":1'
    time.sleep(0.05)
    assert embedded(path) == data  # nobody writes any more


def test_page_of_a_finished_run_says_why_it_ended_and_rests(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    result = tcgp.minimize(square, [(0.0, 1.0)], n_evals=6, n_initial=4, rng=0, report=path)
    data = embedded(path)
    assert data["state"]["running"] is False
    assert data["state"]["refresh"] is None
    assert data["state"]["text"] == result.message
    assert data["evaluations"]["y"] == pytest.approx(result.func_vals.tolist(), rel=1e-11)  # twelve digits
    assert all(seconds is not None for seconds in data["evaluations"]["simulator"])


def test_page_of_a_run_that_an_error_ends_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.html"

    def meddle(result: Any) -> None:
        raise LookupError("the callback is broken")

    with pytest.raises(LookupError):
        tcgp.minimize(square, [(0.0, 1.0)], n_evals=6, rng=0, callback=meddle, report=path)
    assert embedded(path)["state"]["running"] is False
    assert "error" in embedded(path)["state"]["text"]


def test_a_writer_that_fails_changes_nothing_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = tcgp.minimize(square, [(0.0, 1.0)], n_evals=8, n_initial=4, rng=0)

    def fail(*arguments: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(writer_module, "write_atomically", fail)
    with caplog.at_level(logging.WARNING, logger="tcgp"):
        result = tcgp.minimize(
            square, [(0.0, 1.0)], n_evals=8, n_initial=4, rng=0, report=tmp_path / "a.html"
        )
    assert result.func_vals.tolist() == expected.func_vals.tolist()
    assert sum("the disk is full" in record.message for record in caplog.records) == 1


def test_a_report_changes_no_decision_of_the_run(tmp_path: Path) -> None:
    plain = tcgp.minimize(square, [(0.0, 1.0)], n_evals=9, n_initial=4, rng=0, journal=tmp_path / "a.jsonl")
    path, journal = tmp_path / "run.html", tmp_path / "b.jsonl"
    first = tcgp.minimize(square, [(0.0, 1.0)], n_evals=6, n_initial=4, rng=0, journal=journal, report=path)
    again = tcgp.minimize(square, [(0.0, 1.0)], n_evals=9, n_initial=4, rng=0, journal=journal, report=path)
    assert first.func_vals.tolist() == plain.func_vals.tolist()[:6]
    assert again.func_vals.tolist() == plain.func_vals.tolist()
    data = embedded(path)
    assert data["evaluations"]["id"] == list(range(9))
    assert data["evaluations"]["source"] == ["design"] * 4 + ["criterion"] * 5
    told = [e for _, e in read_journal(journal).events if e["event"] == "tell"]
    expected = [float(f"{event['seconds']:.4g}") for event in told]  # of both processes, by the journal
    assert data["evaluations"]["simulator"] == expected


def test_a_place_where_no_page_can_be_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    def fun(x: Any) -> float:
        raise AssertionError("evaluated")

    with pytest.raises(ValueError, match="report must be a file"):
        tcgp.minimize(fun, [(0.0, 1.0)], n_evals=3, report=tmp_path / "nowhere" / "run.html")


def test_slow_writing_becomes_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    written = []

    def write(path: Path, text: str) -> None:
        clock[0] += 2.0
        written.append(clock[0])

    monkeypatch.setattr(writer_module, "write_atomically", write)
    monkeypatch.setattr(writer_module.time, "monotonic", lambda: clock[0])
    reporter = Reporter(tmp_path / "run.html", Optimizer([(0.0, 1.0)], rng=0))
    for _ in range(2000):
        clock[0] += 0.5
        reporter.waiting()
    elapsed, spent = clock[0], 2.0 * len(written)
    # What was lent at once, the agreed share, and one page that exceeds it.
    assert spent <= writer_module.ALLOWANCE + writer_module.SHARE * elapsed + 2.0
    assert spent >= 0.8 * writer_module.SHARE * elapsed


def test_report_of_a_journal_only_reads_it(tmp_path: Path) -> None:
    journal, path = tmp_path / "run.jsonl", tmp_path / "run.html"
    with Optimizer([(0.0, 1.0)], rng=0, n_initial=3, journal=journal) as optimizer:
        for _ in range(5):
            x = optimizer.ask()
            optimizer.tell(x, square(x))
        optimizer.ask()
        before = journal.read_bytes()
        report_from_journal(journal, path)  # while the optimizer holds its lock
        assert journal.read_bytes() == before
    data = embedded(path)
    assert len(data["evaluations"]["y"]) == 5
    assert len(data["pending"]) == 1
    assert data["state"]["refresh"] is None


def test_command_writes_beside_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "run.jsonl"
    tcgp.minimize(square, [(0.0, 1.0)], n_evals=5, rng=0, journal=journal)
    assert main(["report", str(journal)]) == 0
    assert len(embedded(tmp_path / "run.html")["evaluations"]["y"]) == 5
    assert main(["report", str(journal), "--output", str(tmp_path / "nowhere" / "a.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.jsonl")]) == 2


def test_command_follows_a_journal_until_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, path = tmp_path / "run.jsonl", tmp_path / "run.html"
    optimizer = Optimizer([(0.0, 1.0)], rng=0, journal=journal)
    optimizer.tell([0.1], 1.0)
    shown = []

    def sleep(seconds: float) -> None:
        shown.append((len(embedded(path)["evaluations"]["y"]), embedded(path)["state"]["refresh"]))
        if len(shown) == 3:
            raise KeyboardInterrupt
        optimizer.tell([0.1 + 0.2 * len(shown)], 2.0)

    monkeypatch.setattr("tcgp.cli.report.time.sleep", sleep)
    assert main(["report", str(journal), "--refresh", "30"]) == 0
    optimizer.close()
    assert shown == [(1, 30.0), (2, 30.0), (3, 30.0)]
    assert embedded(path)["state"]["refresh"] is None


def test_a_page_is_named_after_the_journal_where_there_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "wing.tcgp"
    folder.mkdir()
    settings = {"n_evals": 2, "n_initial": 2, "rng": 0, "report": tmp_path / "run.html"}
    tcgp.minimize(square, [(0.0, 1.0)], journal=folder / "journal.jsonl", **settings)
    assert embedded(tmp_path / "run.html")["title"] == "wing"
    tcgp.minimize(square, [(0.0, 1.0)], **settings)
    assert embedded(tmp_path / "run.html")["title"] == "run"
