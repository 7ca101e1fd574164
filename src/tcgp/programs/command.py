"""Command line of a run: a program and arguments with placeholders for parameters."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Template", "as_text", "find_program"]

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")


@dataclass(frozen=True)
class Template:
    """An argument of a command, with placeholders such as ``{width}`` for parameters.

    ``{{`` and ``}}`` are literal braces.

    Examples
    --------
    >>> from tcgp.programs import Template
    >>> template = Template.parse("--size={width}x{height}")
    >>> template.names, template.fill({"width": 0.5, "height": 3})
    (('width', 'height'), '--size=0.5x3')
    >>> Template.parse("{{}}").fill({})
    '{}'
    """

    pieces: tuple[tuple[str, bool], ...]  # text, or the name of a parameter and True

    @classmethod
    def parse(cls, text: str) -> Template:
        """Parse an argument; raise ValueError if its braces do not match."""
        pieces = []
        for piece in _PIECE.findall(text):
            if piece in ("{", "}"):
                raise ValueError(
                    f"the brace {piece!r} in {text!r} stands alone: write {{name}} for a parameter, "
                    f"{piece * 2} for the brace itself"
                )
            if piece in ("{{", "}}"):
                pieces.append((piece[0], False))
            elif piece.startswith("{"):
                pieces.append((piece[1:-1], True))
            else:
                pieces.append((piece, False))
        return cls(tuple(pieces))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters in order of appearance."""
        return tuple(text for text, is_name in self.pieces if is_name)

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the argument with all placeholders replaced."""
        return "".join(as_text(values[text]) if is_name else text for text, is_name in self.pieces)


def find_program(program: str, base: str | os.PathLike[str] = ".", search_path: str | None = None) -> str:
    """Return the absolute path of a program.

    A name that contains a directory is relative to ``base``; other names are searched on the PATH.

    Examples
    --------
    >>> from tcgp.programs import find_program
    >>> find_program("no-such-program")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no program 'no-such-program' on the PATH
    """
    if os.path.dirname(program):
        path = os.path.abspath(os.path.join(base, program))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no program {path!r}")
        if not os.access(path, os.X_OK):
            raise FileNotFoundError(f"the file {path!r} is not executable: try chmod +x")
        return path
    found = shutil.which(program, path=search_path)
    if found is None:
        beside = os.path.isfile(os.path.join(base, program))
        hint = f"; for the file beside the spec write {os.path.join('.', program)!r}" if beside else ""
        raise FileNotFoundError(f"there is no program {program!r} on the PATH{hint}")
    return os.path.abspath(found)


def as_text(value: object) -> str:
    """Format a parameter: floats with all digits, True and False as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
