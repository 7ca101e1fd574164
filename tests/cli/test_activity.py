"""Whether somebody is at work on a campaign: ``tcgp status`` by spec, directory or journal."""

from __future__ import annotations

import json

import pytest
from commands import BOWL, Forked, said, wait_until, write_spec

import tcgp
from tcgp.cli import main
from tcgp.record.file import is_in_use

HELD = (
    "import os, time; open('up', 'w').close()\n"
    "while not os.path.exists('../../../go'): time.sleep(0.01)\n" + BOWL
)


def facts(capsys, place):
    capsys.readouterr()
    assert main(["status", str(place), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_status_says_who_is_at_work(tmp_path, capsys):
    path = write_spec(tmp_path, HELD, budget=3)
    process = Forked("minimize", path, "--quiet", "--no-plots", "--workers", "2")
    folder = tmp_path / "spec.tcgp"
    wait_until(lambda: len(list(folder.glob("runs/*/up"))) == 2 or process.poll() is not None)
    for place in (path, folder, tmp_path, folder / "journal.jsonl"):
        found = facts(capsys, place)
        assert (found["at_work"], found["programs"], found["n_told"]) == (True, [0, 1], 0)
    assert main(["status", str(path)]) == 0
    assert "state        a process is working on it; last change 2" in capsys.readouterr().out

    process.kill()
    process.communicate()
    assert main(["status", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "state        no process is working on it; last change 2" in shown
    assert "still running, adopted by the next tcgp minimize: 0, 1" in shown

    (tmp_path / "go").touch()
    assert main(["minimize", str(path), "--quiet", "--no-plots"]) == 0
    found = facts(capsys, path)
    assert (found["at_work"], found["programs"], found["n_told"]) == (False, [], 3)


def test_looking_never_keeps_a_campaign_from_starting(tmp_path):
    journal = tmp_path / "run.jsonl"
    with tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=journal) as optimizer:
        assert is_in_use(journal)
        optimizer.ask()  # and the lock is still there
        assert is_in_use(journal)
    assert not is_in_use(journal)
    assert not is_in_use(journal)
    tcgp.Optimizer.resume(journal).close()


@pytest.mark.parametrize("place", ["spec.toml", "."])
def test_where_there_is_no_campaign_status_says_so(place, tmp_path, capsys):
    write_spec(tmp_path, BOWL)
    assert main(["status", str(tmp_path / place)]) == 2
    (line,) = said(capsys)
    assert "no campaign" in line


def test_of_several_campaigns_one_must_be_named(tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / f"{name}.tcgp").mkdir()
        tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=tmp_path / f"{name}.tcgp" / "journal.jsonl").close()
    assert main(["status", str(tmp_path)]) == 2
    (line,) = said(capsys)
    assert "several campaigns: name one of" in line
    assert main(["status", str(tmp_path / "a.tcgp")]) == 0
    assert main(["report", str(tmp_path / "b.tcgp")]) == 0
    assert (tmp_path / "b.tcgp" / "journal.html").exists()
