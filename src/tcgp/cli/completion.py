"""``tcgp completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse

from tcgp.cli.arguments import COMMANDS, words

__all__ = ["run"]

TOP = {"--help": "show a help message", "--version": "show the version"}


def run(options: argparse.Namespace) -> None:
    """Carry out ``tcgp completion``."""
    if options.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(_fish() if options.shell == "fish" else _bash())


def _bash() -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(following)}" ;;' for name, following in words().items())
    return f"""\
_tcgp() {{
  local words="{" ".join([*words(), *TOP])}" current="${{COMP_WORDS[COMP_CWORD]}}"
  [ "$COMP_CWORD" -gt 1 ] && case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ -n "$current" ] || [ "$COMP_CWORD" -eq 1 ] || COMPREPLY=()  # files, until a word is begun
}}
complete -o default -F _tcgp tcgp"""


def _fish() -> str:
    lines = [_line("__fish_use_subcommand", name, command.help) for name, command in COMMANDS.items()]
    lines += [_line("__fish_use_subcommand", name, text) for name, text in TOP.items()]
    for name, following in words().items():
        condition = f"__fish_seen_subcommand_from {name}"
        lines += [_line(condition, word, text) for word, text in following.items()]
    return "\n".join(lines)


def _line(condition: str, word: str, text: str) -> str:
    what = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("%%", "%")
    return f"complete -c tcgp -n '{condition}' {what} -d '{quoted}'"
