"""Input decks of simulators: parameters filled into files in each run's directory."""

from __future__ import annotations

import pytest
from commands import PYTHON, said, write_spec

from tcgp.cli import main
from tcgp.optimizer import Optimizer

# A "simulator" that reads its deck, as ngspice and CalculiX do.
READ = """
import re
deck = dict(re.findall(r'^([a-z]+)=(.*)$', open('in/deck.txt').read(), re.M))
print((float(deck['w']) - 0.3) ** 2 + float(deck['area']) + (deck['type'] == 'pmos'))
"""
DECK = "* a {deck}\nw={{ w:.3e }}\narea={{ w * l }}\ntype={{type}}\ninclude {{ spec_dir }}/models.lib\n"
TABLES = """
[parameters]
w = {low = 0.1, high = 1.0}
l = {type = "integer", low = 1, high = 4}
type = {choices = ["nmos", "pmos"]}
[template]
"in/deck.txt" = "deck.in"
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "deck.in").write_text(DECK)
    return write_spec(tmp_path, READ, budget=6, tables=TABLES, arguments=())


def test_a_deck_is_filled_for_each_run(path, tmp_path, capsys):
    assert main(["minimize", str(path), "--no-plots"]) == 0
    optimizer = Optimizer.read(tmp_path / "spec.tcgp" / "journal.jsonl")
    assert optimizer.history.n_done == 6
    for e in optimizer.evaluations:
        w, length, kind = e.x
        text = (tmp_path / "spec.tcgp" / "runs" / f"{e.id:04d}" / "in" / "deck.txt").read_text()
        assert text == (
            f"* a {{deck}}\nw={w:.3e}\narea={w * length!r}\ntype={kind}\ninclude {tmp_path}/models.lib\n"
        )
    assert main(["minimize", str(path), "--dry-run"]) == 0
    assert "template    deck.in, filled in as in/deck.txt" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("deck", "words"),
    [
        (
            DECK.replace("{{type}}", "nmos"),
            "'command' does not use the parameter 'type'; write {type} in an argument, ",
        ),
        (DECK + "{{ typ }}", "the template 'deck.in': 'typ' is not a parameter; did you mean 'type'?"),
        (DECK + "{{ w + }}", "line 6 has the placeholder '{{ w + }}': "),
        (DECK + "{{ w", "line 6 has '{{' without '}}': {{ w"),
        (DECK + "{{ 2 * type }}", "computes with 'type', which is no number"),
        (DECK + "{{ l:.3q }}", "has a format that does not fit"),
        (DECK + "{{ log(-w) }}", "has no value at w = "),
        (None, "the template 'deck.in' cannot be read: "),
    ],
)
def test_a_placeholder_that_is_wrong_is_an_error_at_the_start(deck, words, path, tmp_path, capsys):
    if deck is None:
        (tmp_path / "deck.in").unlink()
    else:
        (tmp_path / "deck.in").write_text(deck)
    assert main(["minimize", str(path), "--dry-run"]) == 2
    assert words in said(capsys)[-1]


def test_a_run_with_another_deck_is_not_adopted(path, tmp_path, capsys):
    """A run that was made with a wrong deck is made again, though its command and its parameters are the same."""
    (tmp_path / "deck.in").write_text(DECK.replace("w={{", "v={{"))
    assert main(["minimize", str(path), "--try"]) == 1
    (tmp_path / "deck.in").write_text(DECK)
    assert main(["minimize", str(path), "--try"]) == 0
    assert PYTHON[0] in capsys.readouterr().out
