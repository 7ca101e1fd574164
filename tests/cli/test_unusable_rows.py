"""Tables and numbers that cannot be used: each row is named, --skip leaves it out, and no number is guessed."""

from __future__ import annotations

import pytest
from commands import said

import tcgp
from tcgp.cli import main
from tcgp.optimizer import read_campaign

SPACE = {"x": (0.0, 100.0), "z": (0.0, 1.0)}


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.jsonl"
    with tcgp.Optimizer(SPACE, rng=0, journal=path) as optimizer:
        optimizer.tell([9.0, 0.5], 1.0)
    return path


def values(journal):
    return [e.y for e in read_campaign(journal).history.evaluations]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2,0.5,diverged", "line 3, column 'cost': must be a number, got 'diverged'"),
        ("2,0.5,1_5", "line 3, column 'cost': must be a number, got '1_5'"),
        ("2,0.5,\uff11\uff15", "line 3, column 'cost': must be a number, got '\uff11\uff15'"),
        ("1_5,0.5,2", "line 3: parameter 'x': '1_5' is not a number"),
        ("2,0.5", "line 3 has 2 cells, and the header has 3"),
        ("2,0.5,7,8", "line 3 has 4 cells, and the header has 3"),
        ("9,0.5,2", "line 3: the journal has 1.0 at this point, and not 2.0"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_and_left_out_on_demand(row, words, journal, tmp_path, capsys):
    data = tmp_path / "old.csv"
    data.write_text(f"x,z,cost\n1,0.5,3\n{row}\n4,0.5,5\n", encoding="utf-8")
    assert main(["import", str(journal), str(data)]) == 2
    (sentence,) = said(capsys)
    assert words in sentence
    assert sentence.endswith("; --skip leaves such rows out")
    assert values(journal) == [1.0]
    assert main(["import", str(journal), str(data), "--skip"]) == 0
    assert any(words in line for line in said(capsys))
    assert values(journal) == [1.0, 3.0, 5.0]


@pytest.mark.parametrize("text", ["1_5", "\uff11\uff15", "1,5", "0x1f"])
def test_tell_takes_plain_numbers_only(text, journal, capsys):
    assert main(["ask", str(journal)]) == 0
    for arguments in (["0", text], [text, "2"]):
        assert main(["tell", str(journal), *arguments]) == 2
        assert said(capsys)[-1].count("must be") == 1
    assert main(["tell", str(journal), "0", "1.5e+01"]) == 0
    assert values(journal) == [1.0, 15.0]


@pytest.mark.parametrize("command", ["import", "diagnose"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_a_table_in_another_encoding_is_to_be_saved_as_utf_8(command, encoding, journal, tmp_path, capsys):
    data = tmp_path / "old.csv"
    data.write_text("x,z,größe\n1,0.5,3\n", encoding=encoding)
    assert main([command, *([str(journal)] if command == "import" else []), str(data)]) == 2
    (sentence,) = said(capsys)
    assert sentence.endswith("is not a text file in UTF-8; save it as UTF-8")


def test_diagnose_knows_a_journal_by_its_first_line(tmp_path, capsys):
    path = tmp_path / "run.txt"
    with tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=path) as optimizer:
        optimizer.tell([[0.1], [0.3], [0.6], [0.9]], [3.0, 1.0, 2.0, 5.0])
    assert main(["diagnose", str(path), "--method", "gp"]) == 0
    assert "the report judges the model that the run uses" in capsys.readouterr().out
