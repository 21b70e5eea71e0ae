"""Cutting texts to size."""

from __future__ import annotations

import pytest

from agents.texts import bounded, head_and_tail, one_line, weight


def test_a_short_text_is_left_alone() -> None:
    assert head_and_tail("abc", 3) == "abc"


def test_of_a_long_text_head_and_tail_stay() -> None:
    cut = head_and_tail("a" * 10 + "b" * 50 + "c" * 11, 21)
    assert cut == f"{'a' * 10}\n[... 50 characters left out ...]\n{'c' * 11}"


def test_an_answer_is_bounded() -> None:
    text = bounded("\n".join(f"line number {n}" for n in range(1_000)), 3_000)
    assert 2_900 < len(text) <= 3_000
    assert text.endswith(" ...")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n  b\n\nc", "a b c"),
        ("a:\n- b\n* c-d", "a: b c-d"),
        ("one two three", "one two three"),
        ("one two threes", "one two ..."),
    ],
)
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert one_line(text, 13) == line


def test_what_was_left_out_before_is_counted_too() -> None:
    once = head_and_tail("a" * 1_000 + "b" * 1_000, 1_000)
    assert head_and_tail(once, 100).splitlines()[1] == "[... 1900 characters left out ...]"
    odd = "x" * 90 + f"\n[... {'9' * 5_000} characters left out ...]\n" + "x" * 90
    assert "[... 5192 characters left out ...]" in head_and_tail(odd, 20)


def test_nothing_but_the_word_may_be_left() -> None:
    assert head_and_tail("a" * 50, 0) == "\n[... 50 characters left out ...]\n"


def test_a_weight_is_in_bytes() -> None:
    assert (weight("abc"), weight("数え"), weight("\ud800")) == (3, 6, 1)
