"""Exact replacement of a text that occurs once, and helpful refusals otherwise."""

from __future__ import annotations

import pytest

from agents.errors import ToolRefused
from agents.line_ends import adapt_appended, keep_line_ends
from agents.tools.edit_file import replace_once

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def test_a_text_that_occurs_once_is_replaced() -> None:
    edit = replace_once(TEXT, "    return 2\n", "    return 3\n", "a.py")
    assert edit.text == TEXT.replace("return 2", "return 3")
    assert edit.line == 6


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("    return", "2 times (lines 2, 6)"),
        ("", "old_text is empty"),
        ("return 2", "are the same"),
        ("def  two():\n  return 2\n", "similar lines are 5 to 6 (only white space differs)"),
        ("def two():\n    return 22\n", "similar lines are 5 to 6:\ndef two():"),
        ("class Three: pass", "No line in it is similar"),
    ],
)
def test_a_text_that_does_not_occur_once_is_refused(old: str, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        replace_once(TEXT, old, "return 2", "a.py")
    assert words in str(refused.value)


def test_line_ends_stay_as_they_are() -> None:
    crlf = "one\r\ntwo\r\nthree\r\n"
    assert replace_once(crlf, "one\ntwo\n", "1\n2\n", "a.txt").text == "1\r\n2\r\nthree\r\n"
    mixed = "one\r\ntwo\nthree\r\n"
    assert replace_once(mixed, "one\ntwo\n", "1\n2\n", "a.txt").text == "1\r\n2\nthree\r\n"
    assert replace_once(mixed, "two", "2\ntwo", "a.txt").text == "one\r\n2\ntwo\nthree\r\n"
    assert replace_once(mixed, "one", "0\none", "a.txt").text == "0\r\none\r\ntwo\nthree\r\n"
    assert replace_once(mixed, "\nthree", "\n2\n3", "a.txt").text == "one\r\ntwo\n2\n3\r\n"
    assert replace_once(mixed, "one\r\ntwo\n", "1\n", "a.txt").text == "1\nthree\r\n"
    assert replace_once("no newline", "newline", "end", "a.txt").text == "no end"


@pytest.mark.parametrize("ends", ["\n\n\n\n", "\r\r\r\r", "\r\n\r\n", "\n\r\n\r"])
def test_untouched_lines_stay_byte_for_byte(ends: str) -> None:
    """In `ends`, an LF means LF, and a CR means CR LF."""
    file = "".join(f"line {n}" + end.replace("\r", "\r\n") for n, end in enumerate(ends))
    file = "\ufeff" + file + "no end"
    lines = file.splitlines(keepends=True)
    for number in range(4):
        text = replace_once(file, f"line {number}", "new\nlines", "a.txt").text
        after = text.splitlines(keepends=True)
        assert (after[:number], after[number + 2 :]) == (lines[:number], lines[number + 1 :])
        end = lines[number].removeprefix("\ufeff").removeprefix(f"line {number}")
        mark = "\ufeff" if number == 0 else ""
        assert after[number : number + 2] == [f"{mark}new{end}", f"lines{end}"]


def test_equal_lines_with_different_ends_are_two_matches() -> None:
    with pytest.raises(ToolRefused, match="2 times"):
        replace_once("a\r\nb\r\na\nb\n", "a\nb\n", "c\n", "a.txt")
    assert replace_once("a\r\nb\na\nb\n", "a\r\nb", "c", "a.txt").text == "c\na\nb\n"


def test_a_written_file_keeps_the_line_ends_of_its_lines() -> None:
    old = "a\r\n\r\nb\n\nc\r\n"
    assert keep_line_ends("a\n\nb\n\nc\n", old) == old
    assert keep_line_ends("a\n\nnew\nb\n\nc\n", old) == "a\r\n\r\nnew\r\nb\n\nc\r\n"
    assert keep_line_ends("x\ny\n", "a\r\nb\r\n") == "x\r\ny\r\n"
    assert keep_line_ends("x\ny", "a\r\nb\r\n") == "x\r\ny"
    assert keep_line_ends("x\r\ny\n", "a\nb\n") == "x\r\ny\n"
    assert keep_line_ends("x\ny\n", "a") == "x\ny\n"
    assert (adapt_appended("x\n", "a\r\nb"), adapt_appended("x\n", "a\r\nb\n")) == ("x\r\n", "x\n")
