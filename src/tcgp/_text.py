"""Make text from users and programs safe to print in a message."""

from __future__ import annotations

import difflib
import functools
import html
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ParamSpec, TypeVar

__all__ = ["did_you_mean", "html_table", "plain", "printable", "quote", "shorten", "with_hints"]

P = ParamSpec("P")
R = TypeVar("R")

OTHER_NAMES = {  # what other tools call arguments
    "acq_func": "criterion",
    "acquisition_function": "criterion",
    "base_estimator": "method",
    "dimensions": "bounds",
    "func": "fun",
    "n_calls": "n_evals",
    "n_initial_points": "n_initial",
    "n_jobs": "workers",
    "n_random_starts": "n_initial",
    "n_trials": "n_evals",
    "objective_function": "fun",
    "pbounds": "bounds",
    "random_state": "rng",
    "seed": "rng",
}


def did_you_mean(value: object, choices: Collection[str]) -> str:
    """The end of a message about a wrong value: the closest choice, or nothing.

    Examples
    --------
    >>> from tcgp._text import did_you_mean
    >>> did_you_mean("JSON", ["none", "json"]), did_you_mean(3, ["json"])
    ("; did you mean 'json'?", '')
    """
    near = difflib.get_close_matches(value.lower(), choices, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table for a notebook; texts are escaped.

    Examples
    --------
    >>> from tcgp._text import html_table
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(printable(c))}</{tag}>' for c in cells)}</tr>"

    top = f"<thead>{line(head, 'th')}</thead>" if head else ""
    return f"<table>{top}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


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


def with_hints(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse an unknown argument, and name the one that may have been meant.

    Examples
    --------
    >>> import tcgp
    >>> tcgp.minimize(sum, [(0, 1)], n_calls=5)
    Traceback (most recent call last):
    ...
    TypeError: minimize() has no argument 'n_calls'; did you mean 'n_evals'?
    """
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                other = OTHER_NAMES.get(name)
                other = "space" if other == "bounds" and "space" in known else other
                hint = f"; did you mean {other!r}?" if other in known else did_you_mean(name, known)
                place = function.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{place}() has no argument {name!r}{hint}")
        return function(*args, **kwargs)

    return checked
