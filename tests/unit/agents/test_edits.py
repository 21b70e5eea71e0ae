"""Exact replacement: once and only once, and words that help where it is not."""

from __future__ import annotations

import pytest

from agents.errors import ToolRefused
from agents.tools.edit_file import replaced

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def test_a_text_that_is_there_once_is_replaced() -> None:
    edit = replaced(TEXT, "    return 2\n", "    return 3\n", "a.py")
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
def test_what_is_not_there_once_is_refused(old: str, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        replaced(TEXT, old, "return 2", "a.py")
    assert words in str(refused.value)


def test_line_ends_stay_as_they_are() -> None:
    crlf = "one\r\ntwo\r\nthree\r\n"
    assert replaced(crlf, "one\ntwo\n", "1\n2\n", "a.txt").text == "1\r\n2\r\nthree\r\n"
    mixed = "one\r\ntwo\nthree\r\n"
    with pytest.raises(ToolRefused, match="is not in"):
        replaced(mixed, "one\ntwo\n", "1\n2\n", "a.txt")
    assert replaced(mixed, "one\r\ntwo\n", "1\n", "a.txt").text == "1\nthree\r\n"
    assert replaced("no newline", "newline", "end", "a.txt").text == "no end"
