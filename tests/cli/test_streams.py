"""The command with closed streams, ASCII terminals, readers that go away and names that would move a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tcgp import Categorical, Optimizer
from tcgp.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are closed as POSIX has them")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory whose name is not ASCII, with a journal whose parameters' names are not, and a spec."""
    place = tmp_path / "süd"
    place.mkdir()
    with Optimizer({"größe": (0.0, 1.0)}, n_initial=4, rng=0, journal=place / "lauf-é.jsonl") as optimizer:
        for y in (1.0, None, 2.0):
            optimizer.tell(optimizer.ask(), y, reason=None if y else "nicht gültig")
        optimizer.ask()
    code = "import sys; print(float(sys.argv[1]) ** 2)"
    (place / "spec.toml").write_text(
        f'command = [{json.dumps(sys.executable)}, "-c", {json.dumps(code)}, "{{größe}}"]\n'
        'budget = 3\nmax_time = 1e10\n[parameters]\n"größe" = {low = 0.5, high = 1}\n',
        encoding="utf-8",
    )
    return place


def tcgp(
    place: Path, arguments: list[str], closed: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command with some of the descriptors 0, 1 and 2 closed."""
    closing = " ".join({"0": "<&-", "1": ">&-", "2": "2>&-"}[number] for number in closed)
    script = f'exec "$0" -m tcgp "$@" {closing}'
    return subprocess.run(
        ["/bin/sh", "-c", script, sys.executable, *arguments],
        cwd=place,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        timeout=120.0,
    )


@pytest.mark.parametrize(
    ("closed", "journal", "code"),
    [
        ("1", "lauf-é", 0),
        ("2", "lauf-é", 0),
        ("012", "lauf-é", 0),
        ("2", "keiner-é", 2),
        ("12", "keiner-é", 2),
    ],
)
def test_closed_streams_lead_to_no_traceback(place: Path, closed: str, journal: str, code: int) -> None:
    ended = tcgp(place, ["status", f"{journal}.jsonl", "--json"], closed)
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr
    assert b"Exception" not in ended.stderr


def test_with_all_streams_closed_the_journal_is_not_taken_for_one_of_them(place: Path) -> None:
    """The file that is opened next gets the number of a closed stream, and what is printed there."""
    ended = tcgp(place, ["minimize", "spec.toml", "--no-plots"], "012")
    assert ended.returncode == 0
    with Optimizer.resume(place / "spec.tcgp" / "journal.jsonl") as resumed:
        assert len(resumed.evaluations) == 3


ASCII = {"PYTHONIOENCODING": "ascii"}


def test_an_ascii_terminal_gets_escapes_for_what_it_cannot_show(place: Path) -> None:
    commands = [
        ["status", "lauf-é.jsonl"],
        ["status", "lauf-é.jsonl", "--json"],
        ["ask", "lauf-é.jsonl"],
        ["tell", "lauf-é.jsonl", "3", "0.5"],
        ["report", "lauf-é.jsonl"],
    ]
    script = f"from tcgp.cli import main; print([main(command) for command in {commands!a}])"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env={**os.environ, **ASCII},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in ended.stderr
    assert ended.stdout.splitlines()[-1] == b"[0, 0, 0, 0, 0]", ended.stderr


@pytest.mark.parametrize("arguments", [["status", "keiner-é.jsonl"], ["nonsense-é"]])
def test_a_refusal_in_a_locale_without_such_names_is_a_sentence(place: Path, arguments: list[str]) -> None:
    ended = tcgp(place, arguments, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 2, ended.stderr


def test_minimize_and_its_plan_on_an_ascii_terminal(place: Path) -> None:
    for arguments in (["minimize", "spec.toml", "--dry-run"], ["minimize", "spec.toml", "--no-plots"]):
        ended = tcgp(place, arguments, **ASCII)
        assert ended.returncode == 0, ended.stderr
        assert b"gr\\xf6\\xdfe" in ended.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error_in_one_sentence(place: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "tcgp", "status", "lauf-é.jsonl"],
            cwd=place,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_does_not_end_a_campaign(place: Path, unbuffered: str) -> None:
    """`tcgp minimize spec.toml 2>&1 >/dev/null | head -1`: the progress is not read to its end."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "tcgp", "minimize", "spec.toml", "--no-plots"],
        cwd=place,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=writer,
        check=False,
    )
    os.close(writer)
    assert ended.returncode == 0
    assert len(Optimizer.read(place / "spec.tcgp" / "journal.jsonl").evaluations) == 3


def test_a_time_that_no_clock_can_wait_for_is_accepted(place: Path) -> None:
    """In the spec, as in all tests above, and as an option."""
    ended = tcgp(place, ["minimize", "spec.toml", "--no-plots", "--quiet", "--max-time", "3650000d"])
    assert ended.returncode == 0, ended.stderr
    assert b"the budget of 3 evaluations is spent" in ended.stdout


# ---- names that would move a terminal ----

HOSTILE = "\x1b[31mred\x1b]0;title\x07, back\u202ewards, hid\u200bden, \x9b2J, line\nbreak"


def harmless(text: str) -> bool:
    """Whether a terminal shows the text and does nothing else."""
    return all(character.isprintable() or character == "\n" for character in text)


def test_names_choices_and_reasons_reach_the_terminal_as_question_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {HOSTILE: Categorical([HOSTILE, "b"]), "x": (0.0, 1.0)}
    with Optimizer(space, n_initial=10, rng=0, journal="run.jsonl") as optimizer:
        for i in range(5):
            optimizer.tell(optimizer.ask(), None if i == 1 else float(i), reason=HOSTILE)
        optimizer.ask()
    code = "import sys; print(len(sys.argv[1]), file=sys.stderr); sys.exit(sys.argv[1] == 'b')"
    toml = {
        "command": [sys.executable, "-c", code, f"{{{HOSTILE}}}"],
        "budget": 3,
        "workers": 1,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in toml.items()]
    name = json.dumps(HOSTILE)
    Path("spec.toml").write_text(
        "\n".join([*lines, "[parameters]", f'{name} = {{choices = [{name}, "b"]}}']) + "\n"
    )
    for arguments in (
        ["status", "run.jsonl"],
        ["status", "run.jsonl", "--json"],
        ["ask", "run.jsonl"],
        ["tell", "run.jsonl", "--x", json.dumps({HOSTILE: "c", "x": 0.5}), "1.0"],
        ["tell", "run.jsonl", "--x", json.dumps({HOSTILE: "b", "x": 0.5}), "--failed", HOSTILE],
        ["diagnose", "run.jsonl"],
        ["status", HOSTILE],
        ["report", "run.jsonl", "--output", "page.html"],
        ["minimize", "spec.toml", "--dry-run"],
        ["minimize", "spec.toml", "--no-plots"],
        ["ask", "run.jsonl", "--spec", "spec.toml"],
    ):
        assert main(arguments) in (0, 1, 2), arguments
        said = capsys.readouterr()
        assert said.out or said.err, arguments
        assert harmless(said.out), arguments
        assert harmless(said.err), arguments
