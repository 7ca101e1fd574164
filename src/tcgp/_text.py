"""Text of others, made fit for a message."""

from __future__ import annotations

import difflib
from collections.abc import Collection

__all__ = ["did_you_mean", "plain", "printable", "quote", "shorten"]


def did_you_mean(value: object, choices: Collection[str]) -> str:
    """What ends a message about a wrong value: the choice that is nearest to it, or nothing.

    Examples
    --------
    >>> from tcgp._text import did_you_mean
    >>> did_you_mean("JSON", ["none", "json"]), did_you_mean(3, ["json"])
    ("; did you mean 'json'?", '')
    """
    near = difflib.get_close_matches(value.lower(), choices, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def shorten(text: str, length: int = 300) -> str:
    """The text, cut if it is long."""
    return text if len(text) <= length else text[: length - 3] + "..."


def plain(value: object) -> str:
    """A value as Python writes it, on one line, numbers of NumPy like those of Python.

    Examples
    --------
    >>> import numpy as np
    >>> from tcgp._text import plain
    >>> plain([np.float64(0.5), 2]), plain("text"), plain(np.eye(2))
    ('[0.5, 2]', "'text'", 'array([[1., 0.], [0., 1.]])')
    """
    import numpy as np

    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        text = repr(value)
    else:
        with np.printoptions(legacy="1.25"):
            text = repr(value)
    return " ".join(text.split()) if "\n" in text else text


def printable(text: str) -> str:
    """The text made harmless for a terminal, on one line.

    Line breaks, control characters, escape sequences, and marks without width or for the direction of text become
    question marks.

    Examples
    --------
    >>> from tcgp._text import printable
    >>> printable("red\\x1b[31m, back\\u202ewards, hid\\u200bden")
    'red?[31m, back?wards, hid?den'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def quote(text: str) -> str:
    """Text of a program or of a file between quotation marks: harmless, and short."""
    return repr(printable(shorten(text, 200)))
