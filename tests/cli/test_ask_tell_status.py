"""``tcgp ask``, ``tcgp tell`` and ``tcgp status``: campaigns by hand."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from commands import (
    TWO_REALS,
    events,
    said,
)

import tcgp
from tcgp.cli import main


@pytest.fixture
def campaign(tmp_path):
    """The journal of a new campaign, and the spec that it is to have."""
    path = tmp_path / "spec.toml"
    path.write_text("seed = 3\nn_initial = 4" + TWO_REALS)
    return tmp_path / "run.jsonl", path


def ask(capsys, *arguments):
    capsys.readouterr()
    assert main(["ask", *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_asking_and_telling_by_hand_is_the_optimizer(campaign, capsys):
    journal, spec = campaign
    reference = tcgp.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, n_initial=4, rng=3)
    for i in range(8):
        (proposal,) = ask(capsys, journal, *(["--spec", spec] if i == 0 else []))
        x = reference.ask()
        assert proposal == {"id": i, "x": x}
        value = (x["x"] - 0.3) ** 2 - x["y"]
        assert main(["tell", str(journal), str(i), repr(value)]) == 0
        reference.tell(x, value)
    assert main(["status", str(journal), "--json"]) == 0
    status = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status["best"]["value"] == reference.result().fun
    assert status["n_told"] == 8


def test_pending_points_are_kept_and_failures_are_told(campaign, capsys):
    journal, spec = campaign
    proposals = ask(capsys, journal, "--spec", spec, "-n", 3)
    assert [p["id"] for p in proposals] == [0, 1, 2]
    assert main(["tell", str(journal), "1", "--failed", "the rig broke"]) == 0
    assert main(["tell", str(journal), "--x", '{"x": 0.5, "y": 0.25}', "-1e-5"]) == 0
    assert main(["tell", str(journal), "--failed", "old", "--x", "[0.75, 0.25]"]) == 0
    capsys.readouterr()
    assert main(["status", str(journal)]) == 0
    shown = capsys.readouterr().out
    assert "3: 1 succeeded, 2 failed; 2 pending" in shown
    assert "best value   -1e-05" in shown
    assert "1 x the rig broke   (run 1)" in shown
    assert json.dumps(proposals[0]) in shown
    assert json.dumps(proposals[2]) in shown
    (later,) = ask(capsys, journal)
    assert later["id"] == 3
    assert later["x"] not in [p["x"] for p in proposals]


def test_telling_twice_is_harmless_and_telling_otherwise_is_refused(campaign, capsys):
    journal, spec = campaign
    ask(capsys, journal, "--spec", spec)
    assert main(["tell", str(journal), "0", "1.5"]) == 0
    before = journal.read_bytes()
    assert main(["tell", str(journal), "0", "1.5"]) == 0
    capsys.readouterr()
    for arguments, words in [
        (["0", "2.5"], "evaluations are exact"),
        (["7", "2.5"], "no point 7 was proposed"),
        (["first", "2.5"], "ID must be a number"),
        (["0", "high"], "VALUE must be a number"),
        (["0"], "ID VALUE is expected, got 0"),
        (["0", "1.5", "2"], "ID VALUE is expected, got 0 1.5 2"),
        (["0", "1.5", "--failed", "x"], "ID is expected, got 0 1.5"),
        (["--x", "{broken", "1"], "--x must be JSON"),
        (["--x", '{"x": 0.5}', "1"], "exactly the parameters"),
        (["--x", '{"x": 0.5, "y": 9}', "1"], "parameter 'y'"),
    ]:
        assert main(["tell", str(journal), *arguments]) == 2
        (line,) = said(capsys)
        assert words in line
    assert journal.read_bytes() == before


def test_a_journal_in_use_is_waited_for(campaign, capsys):
    journal, spec = campaign
    ask(capsys, journal, "--spec", spec)
    code = (
        "import sys, time; from tcgp.record.journal import Journal; journal = Journal(sys.argv[1]); "
        "print('locked', flush=True); sys.stdin.readline(); time.sleep(0.3)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, journal], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        assert main(["status", str(journal)]) == 0  # reading needs no lock
        other.stdin.write("\n")
        other.stdin.flush()
        assert main(["tell", str(journal), "0", "1.0"]) == 0
    assert len(events(journal, "tell")) == 1


def test_asking_more_than_there_is_gives_what_there_is(tmp_path, capsys):
    spec, journal = tmp_path / "spec.toml", tmp_path / "run.jsonl"
    spec.write_text("[parameters]\nn = {type = 'integer', low = 1, high = 3}")
    assert main(["ask", str(journal), "--spec", str(spec), "-n", "5"]) == 1
    captured = capsys.readouterr()
    assert sorted(json.loads(line)["x"]["n"] for line in captured.out.splitlines()) == [1, 2, 3]
    assert len(captured.err.splitlines()) == 1


def test_the_journal_of_the_library_serves_too(tmp_path, capsys):
    with tcgp.Optimizer([(0.0, 1.0)], journal=tmp_path / "run.jsonl", rng=0) as optimizer:
        optimizer.tell([0.5], 2.0)
    (proposal,) = ask(capsys, tmp_path / "run.jsonl")
    assert main(["status", str(tmp_path / "run.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert 'at           {"x0": 0.5}' in shown
    assert len(proposal["x"]) == 1
