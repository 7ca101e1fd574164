"""Mistakes in a spec that show only where two of its keys, or its bytes, are looked at: one sentence for each."""

from __future__ import annotations

import pytest
from commands import BOWL, said, write_spec

from tcgp.cli import main

CONSTRAINED = """
constraints = ["x <= 0.5 * y", "y <= 0.9"]
x0 = [{x = 0.1, y = 0.8}, {x = 0.6, y = 0.8}]
"""


@pytest.fixture
def refused(capsys):
    """What a command says that ends at once."""

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        (sentence,) = said(capsys)
        return sentence

    return run


def test_a_first_point_that_violates_a_constraint_is_named(refused, tmp_path):
    spec = write_spec(tmp_path, BOWL, budget=4, top=CONSTRAINED)
    journal = tmp_path / "a.jsonl"
    for arguments in (
        ["minimize", spec],
        ["minimize", spec, "--try"],
        ["minimize", spec, "--dry-run"],
        ["ask", journal, "--spec", spec],
    ):
        assert refused(*arguments).endswith("point 2 in 'x0' violates the constraint 'x <= 0.5 * y'")
    assert list(tmp_path.iterdir()) == [spec]
    (tmp_path / "first.csv").write_text("x,y\n0.1,0.8\n0.1,0.8\n0.1,0.95\n")
    spec.write_text(
        spec.read_text().replace("x0 = [{x = 0.1, y = 0.8}, {x = 0.6, y = 0.8}]", 'x0 = "first.csv"')
    )
    assert "point 3 in 'x0' violates the constraint 'y <= 0.9'" in refused("minimize", spec)


def test_first_points_that_keep_the_constraints_are_run_first(tmp_path, capsys):
    spec = write_spec(tmp_path, BOWL, budget=4, top=CONSTRAINED.replace("0.6", "0.4"))
    assert main(["ask", str(tmp_path / "a.jsonl"), "--spec", str(spec)]) == 0
    assert '{"x": 0.1, "y": 0.8}' in capsys.readouterr().out


def test_a_type_that_is_a_list_is_refused_in_one_sentence(refused, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text('[parameters]\nx = {type = ["real"], low = 0.0, high = 1.0}\n')
    sentence = refused("ask", tmp_path / "a.jsonl", "--spec", spec)
    assert "the type of parameter 'x' must be 'real', 'integer' or 'categorical', got ['real']" in sentence


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_spec_in_another_encoding_is_to_be_saved_as_utf_8(encoding, refused, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text("# Größe\n[parameters]\nx = {low = 0.0, high = 1.0}\n", encoding=encoding)
    assert "save it as UTF-8" in refused("ask", tmp_path / "a.jsonl", "--spec", spec)
