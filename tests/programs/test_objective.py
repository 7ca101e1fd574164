"""Where a value is found, and what is not taken for one."""

from __future__ import annotations

import os

import pytest

from running import simulator
from tcgp.programs import Objective, RunFailed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3\n", 3.0),
        ("a\ncost: -2.5e-3 J\n\n  \n", -2.5e-3),
        ("loading 10%\rloading 99%\rcost 1.5", 1.5),
        ("1,5\r\n7\r\n", 7.0),
    ],
)
def test_the_last_number_on_the_last_line_is_the_value(text, value):
    assert Objective().value(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "standard output is empty"),
        (" \n", "standard output is empty"),
        ("5\nno idea\n", "the last line of standard output has no number: 'no idea'"),
        ("5\ncost 1,5\n", "'1,5' is not a plain number, in the last line of standard output: 'cost 1,5'"),
        ("nan", "the value is nan"),
        ("-inf", "the value is -inf"),
        ("1e999", "the value is inf"),
        ("step 10 cost = -1.#IND", "the value is nan"),
        (
            "step 10 cost = ***",
            "the number did not fit into its field: '***', in the last line of standard output: "
            "'step 10 cost = ***'",
        ),
        ("step2", "the last line of standard output has no number: 'step2'"),
        ("\x07red\u202e", "the last line of standard output has no number: '?red?'"),
        ("\x075.0", "'?5.0' is not a plain number, in the last line of standard output: '?5.0'"),
    ],
)
def test_rubbish_is_a_failure_with_a_reason(text, reason):
    with pytest.raises(RunFailed) as caught:
        Objective().value(text)
    assert str(caught.value) == reason


def test_the_end_of_a_long_line_is_quoted():
    with pytest.raises(RunFailed) as caught:
        Objective().value("1 " * 1_000_000 + "cost 1,5")
    assert str(caught.value).endswith("1 1 cost 1,5'")
    assert len(str(caught.value)) < 300


def test_the_last_match_of_a_pattern_is_the_value():
    text = "drag = 1.0\nlift = 9\ndrag = 2.5\ndone 77\n"
    assert Objective(pattern=r"drag = (\S+)").value(text) == 2.5
    assert Objective(pattern=r"(?<=drag = )\S+").value(text) == 2.5
    assert Objective(pattern=r"^lift = (.*)$").value(text) == 9.0
    with pytest.raises(RunFailed, match="nothing that matches"):
        Objective(pattern=r"cost = (\S+)").value(text)
    with pytest.raises(RunFailed, match="the pattern found no number: 'drag' is not a plain number"):
        Objective(pattern=r"(drag)").value(text)
    with pytest.raises(RunFailed, match="the pattern found no number: '' is not"):
        Objective(pattern=r"lift = (x)?").value(text)


@pytest.mark.parametrize("text", ["1_5", "1,5", "٥", "0x1F", "0.1234-102", "−5.0", "1\x1b[0m"])
def test_a_pattern_takes_no_number_that_the_last_line_would_not_give(text):
    with pytest.raises(RunFailed, match="the pattern found no number") as caught:
        Objective(pattern=r"drag = (.*)").value(f"drag = {text}\n")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "the value is nan"),
        ("-1.#IND", "the value is nan"),
        ("****", "did not fit"),
        ("None", "no value"),
    ],
)
def test_a_pattern_that_finds_a_missing_value_says_so(text, reason):
    with pytest.raises(RunFailed, match=reason):
        Objective(pattern=r"drag = (\S+)").value(f"drag = {text}\n")


def test_a_pattern_finds_the_end_of_a_line_whoever_wrote_it():
    assert Objective(pattern=r"^cost = (\S+)$").value("cost = 3\ncost = 2\r\ndone\r\n") == 2.0


def test_a_pattern_reads_exponents_of_fortran():
    assert Objective(pattern=r"drag = (\S+)").value("drag = 1.5D+02\n") == 150.0


def test_a_key_is_found_in_the_whole_output_or_its_last_line():
    assert Objective(key="cost").value('{\n "cost": 2\n}') == 2.0
    assert Objective(key="cost").value('loading\n{"cost": 2.5}\n') == 2.5
    assert Objective(key="a.b").value('{"a": {"b": 1}}') == 1.0
    assert Objective(key="a.b").value('{"a.b": 3, "a": {"b": 1}}') == 3.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "not a JSON object"),
        ('{"other": 1}', "no key 'cost'"),
        ('{"cost": "12"}', '"12" is not a number'),
        ('{"cost": "\x7f\u202e"}', r"is not a number"),
        ('{"cost": [1]}', r"\[1\] is not a number"),
        ('{"cost": NaN}', "the value is nan"),
        ('{"cost": 1e999}', "the value is inf"),
        ('{"cost": 1' + "0" * 400 + "}", "the value is inf"),
        ('{"cost": true}', "true is not a number"),
        ('{"cost": null}', "there is no value"),
        ("[" * 100_000, "not a JSON object"),
    ],
)
def test_json_without_the_value_is_a_failure_with_a_reason(text, reason):
    with pytest.raises(RunFailed, match=reason) as caught:
        Objective(key="cost").value(text)
    assert str(caught.value).isprintable()


def test_the_value_can_come_from_a_file_of_the_run(tmp_path):
    code = "open('out.txt', 'w').write('7\\n'); print(1)"
    assert simulator(code, runs=tmp_path, objective=Objective(file="out.txt"))({}) == 7.0
    with pytest.raises(RunFailed, match=r"wrote no file 'none\.txt'"):
        simulator(code, runs=tmp_path, objective=Objective(file="none.txt"))({})


def test_a_program_that_deletes_its_standard_output_is_told_so(tmp_path):
    code = "import os; print(1, flush=True); os.remove('stdout.txt')"
    with pytest.raises(RunFailed, match=r"^the program deleted its standard output, 'stdout\.txt'$"):
        simulator(code, runs=tmp_path)({})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_read_is_a_failure(tmp_path):
    code = "import os; open('out.txt', 'w').write('7'); os.chmod('out.txt', 0)"
    with pytest.raises(RunFailed, match=r"the file 'out\.txt' cannot be read: Permission denied"):
        simulator(code, runs=tmp_path, objective=Objective(file="out.txt"))({})


def test_a_file_that_cannot_be_looked_for_is_a_failure(tmp_path):
    with pytest.raises(RunFailed, match=r"the file 'aaa.*' cannot be read: File name too long"):
        Objective(file="a" * 300).read(tmp_path)


def test_the_mark_that_windows_puts_before_text_is_passed_over(tmp_path):
    code = "open('out.txt', 'wb').write(b'\\xef\\xbb\\xbf7')"
    assert simulator(code, runs=tmp_path, objective=Objective(file="out.txt"))({}) == 7.0


def test_half_a_number_is_not_read_where_a_long_output_is_cut(tmp_path):
    # One number and then blanks, so that the last four megabytes begin in its middle.
    code = "import sys; sys.stdout.write('987654321' + ' ' * ((1 << 22) - 3))"
    with pytest.raises(RunFailed, match=r"'\.\.\.321' is not a plain number"):
        simulator(code, runs=tmp_path)({})


@pytest.mark.parametrize("file", ["../out.txt", "/etc/hostname", "a/../../b", ""])
def test_a_file_outside_the_run_is_refused(file):
    with pytest.raises(ValueError, match="must lie in the run's directory"):
        Objective(file=file)


@pytest.mark.parametrize("file", ["outcome.json", "./outcome.json"])
def test_a_file_that_tcgp_overwrites_is_refused(file):
    with pytest.raises(ValueError, match=r"must have another name than 'outcome\.json'"):
        Objective(file=file, key="drag")


def test_a_link_out_of_the_run_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("42\n")
    code = f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'out.txt')"
    with pytest.raises(RunFailed, match="leads out of"):
        simulator(code, runs=tmp_path / "runs", objective=Objective(file="out.txt"))({})
