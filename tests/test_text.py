"""Text of others cannot meddle with the terminal."""

from __future__ import annotations

import unicodedata

import pytest

from tcgp._text import printable, quote, shorten


@pytest.mark.parametrize(
    "character",
    [
        *"\0\a\b\t\n\r\x1b\x7f",  # of a terminal
        *"\x85\x9b",  # the same in eight bits
        *"\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",  # direction
        *"\u200b\u200c\u200d\u2060\ufeff\u00ad",  # without width
        *"\u2028\u2029",  # line breaks of Unicode
        "\ud800",  # half a character, which no stream can encode
        "\ue000",
    ],
    ids=lambda c: f"U+{ord(c):04X}",
)
def test_characters_that_a_terminal_may_obey_become_question_marks(character: str) -> None:
    assert printable(f"a{character}b") == "a?b"


def test_no_character_of_the_categories_of_control_is_let_through() -> None:
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            assert printable(chr(code)) == "?", hex(code)


def test_letters_of_every_script_stay() -> None:
    assert printable("naïve 温度 żółć °C µm ≤ 5") == "naïve 温度 żółć °C µm ≤ 5"


def test_long_text_is_cut() -> None:
    assert shorten("a" * 300) == "a" * 300
    assert shorten("a" * 301) == "a" * 297 + "..."
    assert len(quote("\x1b" * 1_000_000)) == 202
