"""The examples of the bridges run as a reader would run them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

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
def test_example_runs(script, arguments, expected, tmp_path):
    _run_example(script, arguments, expected, tmp_path)


@pytest.mark.usefixtures("cocoex")
def test_example_of_coco_runs(tmp_path):
    arguments = ["--budget", "8", "--functions", "1", "--figure", "figure.svg"]
    _run_example("coco_experiment.py", arguments, "files of data", tmp_path)


def _run_example(script, arguments, expected, tmp_path):
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    if "--figure" in arguments:
        assert (tmp_path / "figure.svg").stat().st_size > 1000
