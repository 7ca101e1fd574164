"""Completion by the shell: what bash offers for a line, and the lines for fish."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tcgp.cli import main
from tcgp.cli.arguments import COMMANDS


def completed(script, *words):
    """What bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    asked = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tcgp; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_commands_options_and_files(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "tcgp", "mi") == ["minimize"]
    assert {*COMMANDS} < {*completed(script, "tcgp", "")}
    assert completed(script, "tcgp", "minimize", "--bu") == ["--budget"]
    assert completed(script, "tcgp", "experiment", "re") == ["report"]
    assert completed(script, "tcgp", "minimize", "") == []  # then bash offers files
    assert completed(script, "tcgp", "minimize", "spec") == []


def test_zsh_reads_the_script_of_bash_and_fish_gets_a_line_for_each_word(capsys):
    assert main(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out.splitlines()[0]
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        "complete -c tcgp -n '__fish_seen_subcommand_from minimize' -l budget "
        "-d 'number of runs, instead of the spec\\'s'"
    ) in lines
    assert sum("__fish_use_subcommand' -f -a" in line for line in lines) == len(COMMANDS)


def test_another_shell_is_refused_in_one_sentence(capsys):
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err
