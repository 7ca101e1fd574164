"""A design review asks what another limit would mean: answered from the runs that were made."""

from __future__ import annotations

import json

import pytest
from commands import said, write_spec

import tcgp
from tcgp.cli import main

# The least mass is at the limit: w * h ** 2 >= 6 / stress, with w = 0.5 as narrow as it may be.
BEAM = (
    "import sys; w, h = map(float, sys.argv[1:]); print('mass =', w * h); print('stress =', 6 / (w * h * h))"
)
TABLES = r"""
[parameters]
w = {low = 0.5, high = 2.0}
h = {low = 0.5, high = 3.0}
[outputs]
mass = {pattern = 'mass = (\S+)'}
stress = {pattern = 'stress = (\S+)'}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    top = "objective = 'mass'\nconstraints = ['stress <= 6']"
    path = write_spec(folder, BEAM, budget=15, top=top, tables=TABLES, arguments=["{w}", "{h}"])
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    return path


@pytest.mark.parametrize(("limit", "bound"), [("stress <= 4", 4.0), ("stress <= 9", 9.0), (None, 6.0)])
def test_another_limit_is_answered_without_a_run(limit, bound, path, capsys):
    journal = path.parent / "spec.tcgp" / "journal.jsonl"
    before = journal.read_bytes()
    assert main(["whatif", str(path), *(["--limit", limit] if limit else [])]) == 0
    out = capsys.readouterr().out
    assert journal.read_bytes() == before
    assert f"limits       stress <= {bound:g}" in out
    predicted = float(out.partition("predicted    ")[2].partition(",")[0])
    true = 0.5 * (12.0 / bound) ** 0.5
    assert predicted == pytest.approx(true, rel=0.05)
    x = json.loads(out.partition("predicted")[2].partition("at           ")[2].partition("\n")[0])
    assert x["w"] == pytest.approx(0.5, abs=0.02)
    assert "relaxing     stress <= " in out
    assert f" to {1.05 * bound:.6g}: mass is " in out


def test_an_output_that_was_not_recorded_is_refused(path, capsys):
    assert main(["whatif", str(path), "--limit", "deflection <= 1"]) == 2
    assert "no evaluation has a value for these goals" in said(capsys)[-1]


def test_where_the_optimum_sits_is_said(path, capsys):
    assert main(["status", str(path)]) == 0
    out = capsys.readouterr().out
    assert "on bounds    w is at its lower bound 0.5" in out
    assert "(active)" in out


def test_a_result_has_outputs_constraints_and_the_name_of_its_objective():
    def simulate(p):
        return {"mass": p["w"] * p["h"], "stress": 1.0 / p["w"]}

    space = {"w": (0.1, 2.0), "h": (0.1, 2.0)}
    constraints = ["stress <= 2", "h >= 0.5 * w"]
    given = {"x0": [{"w": 1.0, "h": 1.0}], "y0": [{"mass": 1.0, "stress": 1.0}]}
    result = tcgp.minimize(
        simulate, space, n_evals=7, objective="mass", constraints=constraints, rng=0, **given
    )
    text = repr(result)
    assert f"fun:         {result.fun!r} (mass)" in text
    assert "outputs:     mass = " in text
    assert "stress <= 2: " in text
    assert "h >= 0.5 * w: " in text
    assert "evaluations: 8, 1 of them given" in text


def test_parameters_that_decide_a_limit_are_important(tmp_path, capsys):
    """One parameter decides the objective, another one the limit; an objective's indices alone would say nothing."""
    code = "import sys; a, b, c = map(float, sys.argv[1:]); print('cost =', a + b / 99); print('heat =', b * b + c / 9)"
    names = "".join(f"{name} = {{low = 0.0, high = 1.0}}\n" for name in "abc")
    places = "".join(f"{name} = {{pattern = '{name} = (\\S+)'}}\n" for name in ("cost", "heat"))
    path = write_spec(
        tmp_path,
        code,
        budget=14,
        top="objective = 'cost'\nconstraints = ['heat <= 0.3']",
        tables=f"[parameters]\n{names}[outputs]\n{places}",
        arguments=["{a}", "{b}", "{c}"],
    )
    assert main(["minimize", str(path), "--no-plots", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["diagnose", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("parameter"))
    assert lines[at].split() == ["parameter", "cost", "heat", "all", "limits"]
    table = {row.split()[0]: [float(cell) for cell in row.split()[1:]] for row in lines[at + 1 : at + 4]}
    assert table["a"][0] > 0.9
    assert table["b"][1] > 0.9
    assert table["b"][2] > 0.5 > table["a"][2]
    assert list(table)[-1] == "c"
