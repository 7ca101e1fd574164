"""What real programs print: read right, or refused, and never read wrong."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcgp.programs.numerals import LONGEST_LINE, LONGEST_NUMBER, last_number, parse_number

READ = [
    # C, Python, shell
    ("3", 3.0),
    ("cost: -2.5e-3 J", -2.5e-3),
    ("cost:5", 5.0),
    ("1 2 3", 3.0),
    ("12  345.6", 345.6),
    ("0 345.6", 345.6),
    ("step 1000 345.6", 345.6),
    ("12 34.5", 34.5),
    ("1;2;3", 3.0),
    ("f(1)=5", 5.0),
    ("x[3]: 5", 5.0),
    ("1, 2, 3", 3.0),
    ("x1=7", 7.0),
    ("x1:7", 7.0),
    ("x1,7", 7.0),
    (".5", 0.5),
    ("-.5", -0.5),
    ("+5", 5.0),
    ("007", 7.0),
    ("1E5", 1e5),
    ("step2: cost = 1.5", 1.5),
    ("version 1.2.3 gave 9 in step2", 9.0),
    ("12:30:05 INFO cost 4.5", 4.5),
    ("2024-01-05 cost=4.5", 4.5),
    ("np.float64(5.0)", 5.0),
    ("tensor(5.0, dtype=torch.float64)", 5.0),
    ("[1] 5.3", 5.3),  # R
    ("ans =    5.3000", 5.3),  # MATLAB
    ("10/10 [=====] - 5s 3ms/step - loss: 0.5", 0.5),  # Keras
    # Fortran
    ("   1.50000000000000     ", 1.5),
    ("  0.1500000E+03", 150.0),
    ("  0.1500000D+03", 150.0),
    ("1.5d-3", 1.5e-3),
    ("1.5 d-1", 1.5),  # a unit: per day
    ("tolerance e-03, 1d: 5", 5.0),
    ("  1.0Q+02", 100.0),
    ("-1.0q-02", -0.01),
    ("  5.00000000000000       7.2500000D+00", 7.25),
    ("****** 1.5", 1.5),  # another column did not fit
    # punctuation around the number
    ("it is 4.", 4.0),
    ("it is 4.5.", 4.5),
    ("(5.0)", 5.0),
    ("[1.5e-3]", 1.5e-3),
    ("1.5e-3]", 1.5e-3),
    ("{5.0}", 5.0),
    ("x=1.5;", 1.5),
    ("x=1.5,y=2.5,", 2.5),
    ('"cost": "5.0"', 5.0),
    ("'5.0'", 5.0),
    ("cost|5.0|", 5.0),
    ("5!", 5.0),
    ("~5", 5.0),
    # units
    ("12.5 kg", 12.5),
    ("12.5\u00a0kg", 12.5),
    ("3.2%", 3.2),
    ("21.5°C", 21.5),
    ("$5.25", 5.25),
    ("5.25€", 5.25),
    ("5.0 m/s^2", 5.0),
    ("5.0 [kg.m2/s3]", 5.0),
    ("5.0 for Inconel-718", 5.0),
    ("5.0 m·s⁻²", 5.0),
    ("5.0 µm²", 5.0),
]

# The text, and what the reason quotes.
REFUSED = [
    # a comma between digits: a decimal, a thousand, or two numbers
    ("cost 1,5", "1,5"),
    ("1,234.5", "1,234.5"),
    ("1.234,5", "1.234,5"),
    ("0.1,0.2,3.5", "0.1,0.2,3.5"),
    ("0.1,-3.5", "0.1,-3.5"),
    ("(1.0,2.0)", "1.0,2.0"),  # a complex number of Fortran
    # other separators of thousands
    ("1'000.5", "1'000.5"),
    ("1’000.5", "1’000.5"),
    ("1_000", "1_000"),
    ("1.234.567", "1.234.567"),
    ("1\u00a0234.5", "1?234.5"),
    ("1\u202f234,5", "1?234,5"),
    ("cost = 12 345.6", "12 345.6"),
    ("1 234 567", "234 567"),
    # exponents
    (
        "0.1234-102",
        "0.1234-102",
    ),  # Fortran drops the letter of an exponent with three digits, or it is a range
    ("0.1234+102", "0.1234+102"),
    ("1.234-5.678", "1.234-5.678"),  # two columns of Fortran that touch
    ("1.0e", "1.0e"),
    ("cost = 0.15D 02", "0.15D 02"),  # Fortran of old writes a blank for the plus
    ("cost = 0.15E+ 2", "0.15E+ 2"),
    ("cost = 1.5 E+03", "1.5 E+03"),
    ("cost = 1.5 E3", "1.5 E3"),
    ("cost = 5.0 D02", "5.0 D02"),
    ("2024Q1", "2024Q1"),
    ("5.0x10^3", "5.0x10^3"),
    ("5.0 x 10^3", "10^3"),
    ("5.0·10", "5.0·10"),
    # signs
    ("−5.0", "−5.0"),
    ("–5.0", "–5.0"),
    ("--5", "--5"),
    ("cost = - 5.0", "- 5.0"),
    ("cost = − 5.0", "− 5.0"),
    ("cost = \u2010 5.0", "\u2010 5.0"),
    ("cost = ＋ 5.0", "＋ 5.0"),
    ("1.5 // 3", "// 3"),
    ("1.5 ** 3", "** 3"),
    ("1.5 · 3", "· 3"),
    ("10 cost−5.0", "cost−5.0"),
    ("10 cost→.5", "cost→.5"),
    ("5.0±0.1", "5.0±0.1"),
    ("5.0 ± 0.1", "± 0.1"),
    ("5.0 +/- 0.1", "+/- 0.1"),
    ("5.0+/-0.1", "5.0+/-0.1"),
    ("5.0(1)", "5.0(1"),  # the last digit is uncertain by one
    ("f(1)-5.0", "1)-5.0"),
    # units that touch, other bases, other things that begin with a digit
    ("step 10 cost 12.5kg", "12.5kg"),
    ("cost 5.0 in 10ms", "10ms"),
    ("5.0f", "5.0f"),
    ("5.0_8", "5.0_8"),
    ("0x1F", "0x1F"),
    ("cost 5.0 at 12:30", "12:30"),
    ("cost 5.0 on 2024-01-05", "2024-01-05"),
    ("3/5", "3/5"),
    ("3*1.5", "3*1.5"),  # namelists of Fortran repeat so
    ("1+2j", "1+2j"),
    ("5.0 1/s", "1/s"),
    ("1.2.3", "1.2.3"),
    ("5...", "5.."),
    ("#5", "#5"),
    ("10 x1:5,3", "5,3"),
    ("5.0*", "5.0*"),
    # other scripts, marks, and bytes that are no text
    ("10 ٥", "٥"),
    ("10 ５", "５"),
    ("10 ½", "½"),
    ("5²", "5²"),
    ("10 \u202e5.0", "?5.0"),
    ("10 5\u200b.0", "5?.0"),
    ("10 5\x00.\x000\x00", "5?.?0?"),
    ("10 5\ufffd", "5\ufffd"),
]

FAILED = [
    ("step 10 cost = ******", "did not fit into its field: '******'"),
    ("step 10 cost =*", "did not fit"),
    ("step 10 cost: None", "there is no value: 'None'"),
    ("[1] NA", "there is no value: 'NA'"),
    ("step 10 cost N/A", "there is no value: 'N/A'"),
    ("10 null", "there is no value: 'null'"),
    ("5 n.a.", "there is no value: 'n.a'"),
    ("5 N.A.", "there is no value: 'N.A'"),
    ("5.0\x1b[0m", "escape sequences"),
    ("\x1b]0;title\x07 red", "escape sequences"),
    ("1" * (LONGEST_NUMBER + 1), "too long for a number"),
]

NOT_FINITE = [
    ("nan", math.nan),
    ("step 10 cost = NaN", math.nan),
    ("10 -nan", math.nan),
    ("10 nan(ind)", math.nan),
    ("10 -nan(ind)", math.nan),
    ("10 nan(0x8000000000000)", math.nan),
    ("10 -1.#IND", math.nan),
    ("10 -1.#IND00", math.nan),
    ("10 1.#QNAN", math.nan),
    ("10 1.#SNAN0", math.nan),
    ("10 -1.#J", math.nan),  # 1.#IND rounded to two digits
    ("10 1.#INF", math.inf),
    ("10 -1.#INF00", -math.inf),
    ("10 Infinity", math.inf),
    ("10 -inf", -math.inf),
    ("10 +Inf.", math.inf),
    ("1e999", math.inf),
]


@pytest.mark.parametrize(("line", "value"), READ)
def test_a_number_is_read_as_it_was_meant(line: str, value: float) -> None:
    assert last_number(line) == value


@pytest.mark.parametrize(("line", "piece"), REFUSED)
def test_what_may_mean_something_else_is_refused_and_quoted(line: str, piece: str) -> None:
    with pytest.raises(ValueError, match="is not a plain number") as caught:
        last_number(line)
    assert f"{piece!r} is not" in str(caught.value)


@pytest.mark.parametrize(("line", "reason"), FAILED)
def test_what_stands_for_a_missing_value_is_a_failure_that_says_so(line: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        last_number(line)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("line", "value"), NOT_FINITE)
def test_every_spelling_of_nan_and_infinity_is_understood(line: str, value: float) -> None:
    number = last_number(line)
    assert number == value or (number is not None and math.isnan(number) and math.isnan(value))


@pytest.mark.parametrize("line", ["", "no idea", "step2", "-----", "e5", "banana", "inf-norm", "x-1", "± °"])
def test_words_are_no_numbers(line: str) -> None:
    assert last_number(line) is None


@pytest.mark.parametrize(
    "text", ["1_5", " 1", "1 ", "1.5.", "٥", "1,5", "0x1F", "1e", "", ".", "+", "1.0q5", "\n1", "1\n"]
)
def test_a_whole_text_is_held_to_the_same_grammar(text: str) -> None:
    with pytest.raises(ValueError, match="is not a plain number"):
        parse_number(text)


# A pattern that backtracks would take hours for these, and the tests would not end.
@pytest.mark.parametrize(
    "line",
    [
        "1" * 10_000_000,
        "1" * 10_000_000 + "x",
        "1." * 5_000_000,
        "1e" * 5_000_000,
        "1,1 " * 2_500_000,
        "nan(" * 2_500_000 + "1x",
        "*1" * 5_000_000,
    ],
    ids=lambda line: line[:4],
)
def test_a_line_of_ten_megabytes_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not a plain number|too long"):
        last_number(line)


def test_the_number_at_the_end_of_a_line_of_ten_megabytes_is_read() -> None:
    assert last_number("1.5 " * 2_500_000 + "4.5") == 4.5
    assert last_number("x" * 10_000_000 + " 4.5") == 4.5


def test_half_a_number_is_not_read_where_a_long_line_is_cut() -> None:
    line = "987654321" + " " * (LONGEST_LINE - 3)
    with pytest.raises(ValueError, match=r"'\.\.\.321' is not a plain number"):
        last_number(line)


def test_the_longest_float_is_read() -> None:
    assert last_number(f"{1.7e308:.20f}") == 1.7e308


quick = settings(max_examples=300, deadline=None, derandomize=True)
floats = st.floats(allow_nan=False, allow_infinity=False)


@quick
@given(
    value=floats,
    form=st.sampled_from(["{!r}", "{:.17e}", "{:.17E}", "{:+.17g}"]),
    letter=st.sampled_from("edDqQ"),
)
def test_every_float_is_read_to_the_last_bit(value: float, form: str, letter: str) -> None:
    text = form.format(value)
    assert last_number(f"cost = {text} kg") == value
    if "e+" in text or "e-" in text:
        assert last_number(text.replace("e", letter)) == value


def _accepted(form: str) -> set[str]:
    """Characters that may stand at the place in a line without the number being refused, and none changes it."""
    accepted = set()
    for code in range(0x10000):
        character = chr(code)
        if character.isalnum() or character == "_":
            continue  # parts of words and of other numbers
        try:
            number = last_number(form.format(character))
        except ValueError:
            continue
        assert number == (-5.25 if form == "10 {}5.25" and character == "-" else 5.25), repr(character)
        accepted.add(character)
    return accepted


def test_a_number_may_touch_known_characters_only() -> None:
    spaces = " \t\u00a0\u2007\u2009\u202f"
    around = spaces + "=;|()[]{}<>\"~!?$%&°€£,:'`‘’"
    assert _accepted("10 {}5.25") == {*around, "+", "-"}
    assert _accepted("10 5.25{}") == {*around, "."}
    assert _accepted("10 5.25{}x") == {*around} - {*"'`‘’"}
    assert _accepted("10{}5.25") == {*" \t=;|"}
