"""The examples of the bridges run as a reader would run them."""

from __future__ import annotations

import pathlib
import runpy
import sys
import warnings

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        ("optuna_sampler.py", ["--n-trials", "12", "--storage", "sqlite:///study.db"], "tcgp:method"),
        ("botorch_loop.py", ["--n-evals", "22"], "last law: beta"),
        ("sklearn_regressor.py", ["--figure", "figure.svg"], "tail-calibrated:"),
        ("ax_node.py", ["--n-trials", "18"], "last model:"),
        (
            "coco_experiment.py",
            ["--budget", "8", "--functions", "1", "--figure", "figure.svg"],
            "files of data",
        ),
    ],
)
def test_example_runs(script, arguments, expected, tmp_path, monkeypatch, capsys, request):
    """In this process: to import the hosts anew takes longer than the examples."""
    if script.startswith("coco"):
        request.getfixturevalue("cocoex")  # skips where COCO is not installed
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert expected in capsys.readouterr().out
    if "--figure" in arguments:
        assert (tmp_path / "figure.svg").stat().st_size > 1000
