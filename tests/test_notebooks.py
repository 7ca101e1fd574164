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
    failed = len(found["result"].failures)
    assert failed > 0
    assert f"evaluations: 18, {failed} of them failed" in repr(found["result"])
    assert all(len(repr(item)) < 600 for item in found.values())
    assert repr(found["model"]).startswith("<SpaceModel: ")
    assert repr(found["diagnosis"]).startswith("<Diagnosis: ")
    assert repr(tcgp.Real(0.0, 1.0)) == "Real(low=0.0, high=1.0)"
    assert repr(tcgp.Real(1.0, 2.0, log=True)) == "Real(low=1.0, high=2.0, log=True)"


def test_a_run_without_a_value_has_a_repr():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    assert "no evaluation has succeeded so far" in repr(optimizer.result())
    optimizer.tell([0.5], None)
    assert "nan" in repr(optimizer.result())


def simulate(p):
    return {"mass": p["w"] * p["h"], HOSTILE: 1.0 / p["w"], "heat": p["w"] + 0.1 * p["h"]}


def run(**goals):
    space = {"w": (0.1, 2.0), "h": (0.1, 2.0)}
    given = {"x0": [{"w": 1.0, "h": 1.0}], "y0": [simulate({"w": 1.0, "h": 1.0})]}
    return tcgp.minimize(simulate, space, n_evals=12, rng=0, **given, **goals)


def test_a_cell_shows_the_best_point_with_its_outputs_and_limits():
    result = run(objective="mass", constraints=["heat <= 1", "h >= 0.5 * w"])
    card = result._repr_html_()
    n = int(result.feasible.sum())
    for text in ("<td>mass</td>", f"<td>{result.fun:.6g}</td>", "<td>h &gt;= 0.5 * w</td>", "<td>heat</td>"):
        assert text in card
    assert f"13, 1 of them given, {n} of them satisfy all constraints" in card
    assert HOSTILE not in card
    table = result.sensitivity("limits")
    assert table.names == ["w", "h"]  # the limit is on w, nearly
    assert "<th>all limits</th>" in table._repr_html_()
    assert str(table).splitlines()[1].split()[0] == "w"
    with pytest.raises(
        ValueError, match="rank must be 'objective', 'limits' or 'both', got 'limit'; did you mean"
    ):
        result.sensitivity("limit")


def test_a_cell_shows_the_front():
    result = run(objective=["mass", HOSTILE])
    card = result._repr_html_()
    assert f"<th>front: {len(result.front)} points</th>" in card
    assert card.count("<td>knee</td>") == 1
    assert HOSTILE not in card
    assert result.sensitivity().objectives == ("mass", HOSTILE)
    with pytest.raises(ValueError, match="no limits"):
        result.sensitivity("limits")


def test_lengthscales_have_the_names_of_parameters(result):
    model = result.optimizer.fit_model()
    assert list(model.named_lengthscales) == ["a", "b", HOSTILE, "n"]
    assert "<td>a</td>" in model._repr_html_()
    assert HOSTILE not in model._repr_html_()


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


def test_without_tqdm_a_notebook_shows_a_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    tcgp.minimize(lambda x: x[0], [(0.0, 1.0)], n_evals=4, rng=0, progress=True)
    assert "4/4  best " in capsys.readouterr().err
