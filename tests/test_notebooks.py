"""What objects look like in a notebook: short texts, figures that show themselves, a bar of progress."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import tcgp
from tcgp.running.progress import ProgressLine, progress_of
from tcgp.scoring import diagnose

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result():
    space = {
        "a": (0.0, 1.0),
        "b": tcgp.Real(0.1, 10.0, log=True),
        HOSTILE: tcgp.Categorical([HOSTILE, "b"]),
        "n": tcgp.Integer(0, 8, step=2),
    }
    return tcgp.minimize(
        lambda p: None if p["a"] > 0.9 else p["a"] + np.log(p["b"]) + p["n"],
        space,
        n_evals=18,
        n_initial=12,
        rng=0,
    )


def objects(result):
    model = result.optimizer.fit_model()
    return {"result": result, "model": model, "diagnosis": diagnose(model), "space": result.optimizer.space}


def test_reprs_are_short_and_say_what_matters(result):
    found = objects(result)
    assert repr(found["result"]).splitlines()[0] == f"fun:         {float(result.fun)!r}"
    assert "18, 1 of them failed" in repr(found["result"]) or "18" in repr(found["result"])
    assert all(len(repr(item)) < 600 for item in found.values())
    assert repr(found["model"]).startswith("<SpaceModel: auto") or "SpaceModel" in repr(found["model"])
    assert repr(found["diagnosis"]).startswith("<Diagnosis: ")
    assert repr(tcgp.Real(0.0, 1.0)) == "Real(low=0.0, high=1.0)"
    assert repr(tcgp.Real(1.0, 2.0, log=True)) == "Real(low=1.0, high=2.0, log=True)"


def test_a_run_without_a_value_has_a_repr():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    assert "no evaluation has succeeded so far" in repr(optimizer.result())
    optimizer.tell([0.5], None)
    assert "nan" in repr(optimizer.result())


def test_a_figure_shows_itself_as_the_last_line_of_a_cell(result):
    pytest.importorskip("matplotlib")
    formatters = pytest.importorskip("IPython.core.formatters")
    figure = result.plot()
    data, _ = formatters.DisplayFormatter().format(figure)
    assert data["image/png"].startswith(b"\x89PNG")
    assert "pyplot" not in [m.split(".")[-1] for m in sys.modules if m.startswith("matplotlib.pyplot._")]


def test_progress_in_a_notebook_is_a_bar_of_tqdm(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    result = tcgp.minimize(
        lambda x: x[0] if x[0] < 0.5 else None, [(0.0, 1.0)], n_evals=6, rng=0, progress=True
    )
    shown = capsys.readouterr().err
    assert "6/6" in shown
    assert f"best {result.fun:.6g}" in shown
    monkeypatch.delitem(sys.modules, "ipykernel")
    assert isinstance(progress_of(3, "none", "x: real"), ProgressLine)
