"""What an engineer does at the end of a run: list the best, run the best again, diagnose the campaign."""

from __future__ import annotations

import json
import sys

import pytest
from commands import BOWL, write_spec

import tcgp
from tcgp.cli import main
from tcgp.optimizer import Optimizer

NOISY = "import os, sys; x, y = map(float, sys.argv[1:]); print(x + y + (os.getcwd()[-1] == '2'))"


def test_the_best_runs_are_listed_and_a_campaign_is_diagnosed_by_its_spec(tmp_path, capsys):
    path = write_spec(tmp_path, BOWL, budget=8)
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["status", str(path), "--top", "3"]) == 0
    rows = capsys.readouterr().out.partition("top          ")[2].splitlines()
    told = sorted(Optimizer.read(tmp_path / "spec.tcgp" / "journal.jsonl").evaluations, key=lambda e: e.y)
    assert [row.split()[:3] for row in rows] == [[repr(e.y), "(id", f"{e.id})"] for e in told[:3]]
    assert json.loads(rows[0].partition(")")[2]) == dict(zip("xy", told[0].x, strict=True))
    for place in (path, tmp_path / "spec.tcgp"):
        assert main(["diagnose", str(place)]) == 0
        assert "points, about " in capsys.readouterr().out


@pytest.mark.parametrize(("code", "n_same"), [(BOWL, 2), (NOISY, 1)])
def test_the_best_design_is_run_again(code, n_same, tmp_path, capsys):
    path = write_spec(tmp_path, code, budget=2)
    assert main(["minimize", str(path), "--no-plots", "--verify", "2"]) == 0
    shown = capsys.readouterr()
    assert f"verified     {n_same} of 2 further runs of the best design gave the same value" in shown.out
    assert ("does not reproduce its value" in shown.err) == (n_same < 2)
    assert Optimizer.read(tmp_path / "spec.tcgp" / "journal.jsonl").history.n_done == 2


def test_a_table_without_pandas_says_what_to_install(monkeypatch):
    result = tcgp.minimize(sum, [(0.0, 1.0)], n_evals=2, rng=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_dataframe needs pandas: pip install pandas"):
        result.to_dataframe()


def test_pictures_are_spoken_of_and_not_drawn_again_when_nothing_has_changed(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    names = [f"p{i}" for i in range(6)]
    tables = "[parameters]\n" + "\n".join(f"{name} = {{low = 1.0, high = 1e4, log = true}}" for name in names)
    code = "import sys; p = [float(a) for a in sys.argv[1:]]; print(p[4] ** 2 * p[2] + 0.01 * sum(p))"
    path = write_spec(tmp_path, code, budget=5, tables=tables, arguments=[f"{{{name}}}" for name in names])
    assert main(["minimize", str(path)]) == 0
    shown = capsys.readouterr()
    assert "drawing pictures" in shown.err
    assert "convergence.png" in shown.out
    pictures = sorted((tmp_path / "spec.tcgp").glob("*.png"))
    assert [p.name for p in pictures] == ["convergence.png", "run.png"]
    before = [p.stat().st_mtime_ns for p in pictures]
    assert main(["minimize", str(path)]) == 0
    shown = capsys.readouterr()
    assert "drawing" not in shown.err
    assert "run.png, unchanged" in shown.out
    assert [p.stat().st_mtime_ns for p in pictures] == before
