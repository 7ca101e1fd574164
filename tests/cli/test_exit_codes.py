"""Help, version and exit codes of the command."""

from __future__ import annotations

import subprocess
import sys

import pytest
from commands import (
    said,
)

import tcgp
from tcgp.cli import main


@pytest.mark.parametrize("name", ["demo", "minimize", "ask", "tell", "status", "diagnose"])
def test_help_of_every_command_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    assert "examples:" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from tcgp.cli import main; main(['--help']); "
        "sys.exit(bool({'numpy', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tcgp {tcgp.__version__}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["minimise"],
        ["minimize", "--workers", "0", "spec.toml"],
        ["minimize", "--workers", "two", "spec.toml"],
        ["minimize", "--max-time", "soon", "spec.toml"],
        ["minimize", "--no-such-option"],
        ["minimize"],
        ["minimize", "no-such-file.toml"],
        ["demo", "--output", "no/such/folder/demo.png"],
        ["ask", "no-such-journal.jsonl"],
        ["tell", "no-such-journal.jsonl", "0", "1.0"],
        ["tell", "no-such-journal.jsonl", "0"],
        ["status", "no-such-journal.jsonl"],
        ["diagnose", "no-such-file.csv"],
        ["diagnose", "no-such-journal.jsonl"],
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    (line,) = said(capsys)
    assert line.startswith("tcgp: error: ")
    assert not list(tmp_path.iterdir())


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    assert "start here" in capsys.readouterr().out
