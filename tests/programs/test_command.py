"""Arguments: what is filled in, and what is refused."""

from __future__ import annotations

import pytest

from tcgp.programs import Template, find_program


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}", "0.1"),
        ("--a={a},{b}", "--a=0.1,3"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{0.1}"),
        ("", ""),
        ("%s $HOME `id` *", "%s $HOME `id` *"),
    ],
)
def test_placeholders_are_replaced_and_nothing_else(text, expected):
    assert Template.parse(text).fill({"a": 0.1, "b": 3}) == expected


@pytest.mark.parametrize("text", ["{a", "a}", "{a}}", "{{a}", "{a{b}}"])
def test_a_brace_that_stands_alone_is_refused(text):
    with pytest.raises(ValueError, match="stands alone"):
        Template.parse(text)


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no program 'no-such-thing' on the PATH"):
        find_program("no-such-thing")
    (tmp_path / "data").write_text("")
    with pytest.raises(FileNotFoundError, match="not executable"):
        find_program("./data", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"write '\./data'"):
        find_program("data", tmp_path)
