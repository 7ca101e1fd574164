"""The examples of the bridges run with the arguments that a reader would give.

They run in this process, which has PyTorch and Ax loaded: a new one would take longer to start than the examples take.
"""

from __future__ import annotations

import pathlib
import runpy
import sys

import matplotlib
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        ("optuna_sampler.py", ["--n-trials", "12", "--storage", "sqlite:///study.db"], "tcgp:method"),
        ("botorch_loop.py", ["--n-evals", "22"], "last law: beta"),
        ("sklearn_regressor.py", ["--figure", "figure.svg"], "tail-calibrated:"),
        ("ax_node.py", ["--n-trials", "18"], "last model:"),
    ],
)
def test_example_runs(script, arguments, expected, run_example):
    run_example(script, arguments, expected)


@pytest.mark.usefixtures("cocoex")
def test_example_of_coco_runs(run_example):
    arguments = ["--budget", "8", "--functions", "1", "--figure", "figure.svg"]
    run_example("coco_experiment.py", arguments, "files of data")


@pytest.fixture
def run_example(tmp_path, monkeypatch, capsys):
    def run(script, arguments, expected):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [script, *arguments])
        with matplotlib.rc_context():  # the examples choose the backend and a salt
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        assert expected in capsys.readouterr().out
        if "--figure" in arguments:
            assert (tmp_path / "figure.svg").stat().st_size > 1000

    return run
