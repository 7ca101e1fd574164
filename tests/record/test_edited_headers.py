"""Headers of journals that somebody has edited: a JournalError for each, and one sentence on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tcgp
from tcgp.cli import main
from tcgp.optimizer import JournalError, Optimizer

SETTINGS = {"objective": "mass", "constraints": ["stress <= 2"]}

EDITS: dict[str, tuple[dict[str, Any], str]] = {
    "settings that are a list": ({"settings": [1, 2]}, "settings must be a mapping from names to values"),
    "settings that are null": ({"settings": None}, "settings must be a mapping from names to values"),
    "a constraint without a limit": (
        {"settings": {**SETTINGS, "constraints": ["stress"]}},
        'constraints: "stress" ends',
    ),
    "a constraint without an objective": ({"settings": {"constraints": ["stress <= 2"]}}, "objective must"),
    "a number that is text": (
        {"constraints_not_kept": "abc"},
        "constraints_not_kept must be an integer >= 0, got 'abc'",
    ),
    "a space of another kind": (
        {"space": {"names": None, "dimensions": [{"type": "complex"}]}},
        "not a description of a space",
    ),
    "a method that there is not": ({"settings": {"method": "magic"}}, "method must be one of"),
    "a number that is null": ({"constraints_not_kept": None}, "constraints_not_kept must be an integer >= 0"),
}


@pytest.mark.parametrize(("changes", "words"), EDITS.values(), ids=EDITS)
def test_a_header_that_cannot_be_used_is_a_journal_error(
    changes: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    with tcgp.Optimizer({"x": (0.0, 1.0)}, rng=0, journal=path, **SETTINGS) as optimizer:  # type: ignore[arg-type]
        optimizer.tell({"x": 0.5}, {"mass": 1.0, "stress": 2.0})
    header, *events = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(header), **changes}), *events]) + "\n")
    for opener in (Optimizer.read, Optimizer.resume):
        with pytest.raises(JournalError, match=r"the header of the journal .* cannot be used") as caught:
            opener(path)
        assert words in str(caught.value)
    for command in ("status", "ask", "report"):
        assert main([command, str(path)]) == 2
        (sentence,) = capsys.readouterr().err.splitlines()
        assert words in sentence


def test_what_a_header_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    Optimizer([(0.0, 1.0)], rng=0, journal=path).close()
    header = json.loads(path.read_text())
    del header["seed"]
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(JournalError, match="cannot be used: 'seed' is missing"):
        Optimizer.read(path)
