"""``tcgp init``: the answers to a few questions become a spec that runs."""

from __future__ import annotations

import io
import json

import pytest

from tcgp.cli import main
from tcgp.cli.spec import load_spec

PROGRAM = """
import sys
width, n = float(sys.argv[1]), int(sys.argv[2])
print("mass =", width * n)
print("stress: ", 1 / width)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "simulate.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(monkeypatch, *lines):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_the_spec_runs(folder, monkeypatch, capsys):
    answer(
        monkeypatch,
        *("python3 simulate.py {width} {n}", "ten", ".1 10 log", "1 8 integer"),
        *("mass, stress", "maximise stres", "", "stress <= 2", "8", "10m"),
    )
    assert main(["init"]) == 0
    told = capsys.readouterr().out
    assert "'ten' is neither two bounds nor a list of choices" in told
    assert "did you mean 'stress'?" in told
    spec = load_spec("spec.toml")
    assert (spec.budget, spec.program.timeout) == (8, 600.0)
    assert (spec.settings.objective, spec.settings.constraints) == ("mass", ("stress <= 2",))
    assert [str(d) for d in spec.space.dimensions] == [
        "Real(low=0.1, high=10.0, log=True)",
        "Integer(low=1, high=8)",
    ]

    assert main(["minimize", "spec.toml", "--json", "--no-plots"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["n_told"] == 8
    assert outcome["status"] == "budget"
    assert outcome["best"]["outputs"]["stress"] <= 2.0


def test_a_program_that_reads_json_and_prints_one_number(folder, monkeypatch):
    answer(monkeypatch, "python3 simulate.py", "alloy, load", "steel, brass", "1, 2, 5", "", "max", "", "")
    assert main(["init", "mine.toml"]) == 0
    spec = load_spec("mine.toml")
    assert (spec.program.input, spec.settings.maximize, spec.budget) == ("json", True, 40)
    assert spec.program.command == ("python3", "{spec_dir}/simulate.py")
    assert [str(d) for d in spec.space.dimensions] == [
        "Categorical(choices=('steel', 'brass'))",
        "Categorical(choices=(1, 2, 5))",
    ]


def test_nothing_is_written_without_all_answers_or_over_a_file(folder, monkeypatch, capsys):
    answer(monkeypatch, "python3 simulate.py {x}", "0 1")
    assert main(["init"]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert not (folder / "spec.toml").exists()

    (folder / "spec.toml").write_text("mine")
    assert main(["init"]) == 2
    assert (folder / "spec.toml").read_text() == "mine"


def test_a_command_is_guessed(capsys):
    assert main(["minimise", "spec.toml"]) == 2
    assert "there is no command 'minimise'; did you mean 'minimize'?" in capsys.readouterr().err
