"""Numbers as programs write them, and what only looks like one.

A number that is read wrongly falsifies a campaign without a word, so a doubtful one is refused. ``1,5`` is one and a
half, or two numbers; ``0.1234-102`` is a Fortran number whose exponent has lost its letter, or a range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tcgp._text import quote

__all__ = ["last_number", "parse_number"]

LONGEST_NUMBER = 1000  # characters; the largest float has 309 digits
LONGEST_LINE = 10_000  # characters from the end of a line in which a number is looked for

# Fortran writes D for double and Q for quadruple precision. Q needs the sign that Fortran always writes: 2024Q1 is no
# number. No two parts of the pattern compete for a character, so that it cannot backtrack.
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eEdD][-+]?[0-9]+|[qQ][-+][0-9]+)?")
# Microsoft's C library writes 1.#IND and 1.#QNAN, and 1.#J where it rounds them.
_NAN = re.compile(r"[-+]?(?:nan(?:\([^()]*\))?|1\.#(?!inf)\w*)", re.IGNORECASE)
_INFINITY = re.compile(r"([-+]?)(?:inf(?:inity)?|1\.#inf\w*)", re.IGNORECASE)
_MISSING = ("NA", "N/A", "n/a", "None", "null", "NULL")

# What separates the pieces of a line. Most of it does not between two numbers, where 1,5 and 5.0(1) may mean anything.
# Whatever else touches a number belongs to it: an unknown character is a reason to refuse.
_SOFT = r'[,:()\[\]{}<>"~!?$%&°€£\u00a0\u2007\u2009\u202f]'
_SEPARATOR = re.compile(rf"[ \t=;|]|(?<![0-9.]){_SOFT}|{_SOFT}(?![0-9.+-])")
# A number after an arrow or the like, which is no part of a word such as Inconel-718 or m/s^2.
_ATTACHED = re.compile(r"[^\w.+\-*/^@#\\]\.?[0-9]")
_PAYLOAD = re.compile(r"\bnan\([^()]*\)", re.IGNORECASE)
# Before a number these make it a part of something larger: a detached sign, an error bar, a formula.
_OPERATORS = ("-", "−", "–", "—", "+", "±", "+/-", "+-", "*", "×", "/", "^")


def parse_number(text: str) -> float:
    """The number that a text is.

    Exponents may have the letters of Fortran: ``1.5D+02``, ``1.5Q+02``. NaN and infinity are read in the usual
    spellings and in those of Microsoft's C library.

    Raises
    ------
    ValueError
        If it is none, with the reason.

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
    """The last number on a line, or None if nothing on it resembles one.

    The last piece that begins with a digit, or stands for a missing value, decides. Words such as ``step2`` are passed
    over, and so are units after a space.

    Raises
    ------
    ValueError
        If that piece is not a plain number, with the reason.

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
        line = "..." + line[-LONGEST_LINE:]  # the dots touch the first piece: half a number is not read
    if "\x1b" in line:
        raise ValueError("escape sequences for a terminal cannot be told from numbers")
    pieces = [piece for piece in _split(_PAYLOAD.sub("nan", line)) if piece]
    for i in reversed(range(len(pieces))):
        text = pieces[i].strip("'`‘’").removesuffix(".")
        if _resembles_number(text):
            if i and pieces[i - 1] in _OPERATORS:
                raise ValueError(f"{quote(f'{pieces[i - 1]} {text}')} is not a plain number")
            return parse_number(text)
    return None


def _split(line: str) -> Iterator[str]:
    """The pieces of a line."""
    for piece in _SEPARATOR.split(line):
        # The digits before the bracket of np.float64(5.0) belong to a word.
        while _is_word(piece) and (match := re.search(_SOFT, piece)):
            yield piece[: match.start()]
            piece = piece[match.end() :]
        yield piece


def _is_word(piece: str) -> bool:
    """Whether the first character that is a letter or a digit, of any script, is a letter."""
    return next((c.isalpha() for c in piece if c.isalnum()), False)


def _resembles_number(text: str) -> bool:
    """Whether a piece of a line must be a number, or stands for one that is missing."""
    if _is_word(text):
        spelled = _NAN.fullmatch(text) or _INFINITY.fullmatch(text) or text in _MISSING
        return bool(spelled or _ATTACHED.search(text))
    return "*" in text or any(c.isalnum() for c in text)
