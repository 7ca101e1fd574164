"""An output that is not found: an error of --try, a warning of the run, and read again once the spec is right."""

from __future__ import annotations

from commands import TWO_REALS, said, write_spec

from tcgp.cli import main
from tcgp.optimizer import Optimizer

CODE = "import sys; x, y = map(float, sys.argv[1:]); print('gain =', x + y); print('GBW =', x * y)"


def spec_with(folder, pattern):
    outputs = rf"""
[outputs]
gain = {{pattern = 'gain = (\S+)'}}
gbw = {{pattern = '{pattern}'}}
"""
    return write_spec(folder, CODE, budget=4, top='objective = "gain"', tables=TWO_REALS + outputs)


def test_an_output_that_no_goal_names_is_missed(tmp_path, capsys):
    path = spec_with(tmp_path, r"gbw = (\S+)")
    assert main(["minimize", str(path), "--try"]) == 1
    shown = capsys.readouterr()
    assert r"gbw = standard output has nothing that matches the pattern 'gbw = (\S+)'" in shown.out
    assert "no value was found for the output 'gbw': correct its place in" in shown.err
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("no value of the output 'gbw'") == 1
    assert "no value of  gbw in 4 of 4 runs" in shown.out
    spec_with(tmp_path, r"GBW = (\S+)")
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    assert "4 runs were read again, 4 values are different" in "".join(said(capsys))
    history = Optimizer.read(tmp_path / "spec.tcgp" / "journal.jsonl").history
    assert all(e.outputs["gbw"] == e.x[0] * e.x[1] for e in history.evaluations)
