"""Parsing of numbers in the output of programs.

A misread number would silently corrupt a campaign, so ambiguous numbers are rejected. ``1,5`` may be one and a half or
two numbers; ``0.1234-102`` may be a Fortran number whose exponent has lost its letter or a range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tcgp._text import quote

__all__ = ["last_number", "parse_number"]

LONGEST_NUMBER = 1000  # characters; the largest float has 309 digits
LONGEST_LINE = 10_000  # characters at the end of a line that are searched for a number

# Fortran writes D for double and Q for quadruple precision. Q requires a sign, which Fortran always writes: 2024Q1 is
# not a number. No two parts of the pattern match the same character, so it cannot backtrack.
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eEdD][-+]?[0-9]+|[qQ][-+][0-9]+)?")
# Microsoft's C library writes 1.#IND and 1.#QNAN, and 1.#J where it rounds them.
_NAN = re.compile(r"[-+]?(?:nan(?:\([^()]*\))?|1\.#(?!inf)\w*)", re.IGNORECASE)
_INFINITY = re.compile(r"([-+]?)(?:inf(?:inity)?|1\.#inf\w*)", re.IGNORECASE)
_MISSING = ("NA", "N/A", "#N/A", "n/a", "N.A", "N.A.", "n.a", "n.a.", "None", "null", "NULL")

# Separators between the pieces of a line. Soft ones do not separate two numbers, because 1,5 and 5.0(1) are ambiguous.
# Any other character next to a number belongs to it, so that unknown characters lead to rejection.
_SOFT = r'[,:()\[\]{}<>"~!?$%&°€£\u00a0\u2007\u2009\u202f]'
_SEPARATOR = re.compile(rf"[ \t=;|]|(?<![0-9.]){_SOFT}|{_SOFT}(?![0-9.+-])")
# A number after an arrow or a similar sign, as opposed to part of a word such as Inconel-718 or m/s^2.
_ATTACHED = re.compile(r"[^\w.+\-*/^@#\\]\.?[0-9]")
_PAYLOAD = re.compile(r"\bnan\([^()]*\)", re.IGNORECASE)
# An exponent apart from its number: Fortran may write a blank for its sign, as in 0.15D 02. Units such as d-1 are none.
_EXPONENT_APART = re.compile(r"[eE][-+]?[0-9]+|[dDqQ](?:\+?[0-9]+|-[0-9]{2,})")
_WITHOUT_EXPONENT = re.compile(r"[-+]?[0-9]*\.[0-9]*[eEdDqQ][-+]?")
# Before a number, these indicate a larger expression: a detached sign (any dash may be one), an error bar, a formula.
_OPERATOR = re.compile(r"[-\u2010-\u2015−﹣－⁻+＋±×÷·⋅*/^]|\+/?-|//|\*\*")
# Groups of three digits after a blank: one number with thousands, or two.
_LEADING_GROUP, _GROUP = re.compile(r"[-+]?[1-9][0-9]{0,2}|[0-9]{3}"), re.compile(r"[0-9]{3}(?:\.[0-9]*)?")


def parse_number(text: str) -> float:
    """Parse a number.

    Fortran exponents such as ``1.5D+02`` and ``1.5Q+02`` are accepted. NaN and infinity are accepted in the usual
    spellings and in those of Microsoft's C library.

    Raises
    ------
    ValueError
        If the text is not a number; the message contains the reason.

    Examples
    --------
    >>> from tcgp.programs.numerals import parse_number
    >>> parse_number("-1.5D+02"), parse_number("-1.#IND")
    (-150.0, nan)
    >>> parse_number("1_5")
    Traceback (most recent call last):
        ...
    ValueError: '1_5' is not a plain number
    """
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"{quote(text)} is too long for a number")
    if _NUMBER.fullmatch(text):
        return float(re.sub("[dDqQ]", "e", text))
    if _NAN.fullmatch(text):
        return math.nan
    if match := _INFINITY.fullmatch(text):
        return float(match[1] + "inf")
    if text in _MISSING:
        raise ValueError(f"there is no value: {quote(text)}")
    if text and not text.strip("*"):
        raise ValueError(f"the number did not fit into its field: {quote(text)}")
    raise ValueError(f"{quote(text)} is not a plain number")


def last_number(line: str) -> float | None:
    """Return the last number on a line, or None if there is nothing that resembles a number.

    The last piece that starts with a digit or represents a missing value is parsed. Words such as ``step2`` and units
    after a space are skipped.

    Raises
    ------
    ValueError
        If that piece is not a plain number; the message contains the reason.

    Examples
    --------
    >>> from tcgp.programs.numerals import last_number
    >>> last_number("step2: cost = 1.5e-3 [m/s^2]")
    0.0015
    >>> last_number("step 10, cost = 1,5")
    Traceback (most recent call last):
        ...
    ValueError: '1,5' is not a plain number
    """
    if len(line) > LONGEST_LINE:
        line = "..." + line[-LONGEST_LINE:]  # the dots keep half a number from being read
    if "\x1b" in line:
        raise ValueError("escape sequences for a terminal cannot be told from numbers")
    pieces = [piece for piece in _split(_PAYLOAD.sub("nan", line)) if piece]
    for i in reversed(range(len(pieces))):
        text = pieces[i].strip("'`‘’").removesuffix(".")
        if i and _belongs_to(pieces[i - 1], text, line):
            raise ValueError(f"{quote(f'{pieces[i - 1]} {text}')} is not a plain number")
        if _resembles_number(text):
            return parse_number(text)
    return None


def _belongs_to(before: str, text: str, line: str) -> bool:
    """Return whether a piece of a line and the one before it are parts of one number or formula."""
    if _EXPONENT_APART.fullmatch(text):
        return _NUMBER.fullmatch(before) is not None
    if _GROUP.fullmatch(text) and _LEADING_GROUP.fullmatch(before):
        return f"{before} {text}" in line
    return _resembles_number(text) and (
        _OPERATOR.fullmatch(before) is not None
        or (text.lstrip("+-").isdecimal() and bool(_WITHOUT_EXPONENT.fullmatch(before)))
    )


def _split(line: str) -> Iterator[str]:
    """Split a line into pieces."""
    for piece in _SEPARATOR.split(line):
        # The digits before the bracket in np.float64(5.0) are part of a word.
        while _is_word(piece) and (match := re.search(_SOFT, piece)):
            yield piece[: match.start()]
            piece = piece[match.end() :]
        yield piece


def _is_word(piece: str) -> bool:
    """Return whether the first letter or digit, of any script, is a letter."""
    return next((c.isalpha() for c in piece if c.isalnum()), False)


def _resembles_number(text: str) -> bool:
    """Return whether a piece of a line should be a number, or represents a missing one."""
    if _is_word(text):
        spelled = _NAN.fullmatch(text) or _INFINITY.fullmatch(text) or text in _MISSING
        return bool(spelled or _ATTACHED.search(text))
    return "*" in text or any(c.isalnum() for c in text)
