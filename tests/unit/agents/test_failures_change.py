"""The difference between two versions of a file, as a model reads it."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.failures.workspace_change import MOST_LINES, change

TEXTS = st.lists(st.sampled_from("abc"), max_size=30).map("\n".join)


def applied(before: str, diff: list[str]) -> str:
    """The text that results from a unified diff."""
    old, new, position = before.split("\n"), [], 0
    for line in diff:
        if line.startswith("@@"):
            begin, _, count = line.split(" ")[1][1:].partition(",")
            until = int(begin) - (count != "0")
            new += old[position:until]
            position = until
        elif line[0] in " -":
            assert old[position] == line[1:]
            position += 1
        if line[0] in " +":
            new.append(line[1:])
    return "\n".join([*new, *old[position:]])


@given(TEXTS, TEXTS)
def test_the_diff_turns_the_first_text_into_the_second(before: str, after: str) -> None:
    difference = change({"a": before.encode()}, {"a": after.encode()})
    if before == after:
        assert difference.diff == ""
        return
    names, diff = difference.diff.split("\n")[:2], difference.diff.split("\n")[2:]
    assert names == ["--- a/a", "+++ b/a"]
    assert applied(before, diff) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("a\nb\nc", "a\nB\nc"), ("", "a"), ("a", ""), ("a\n" * 50, "a\n" * 20 + "b\n" + "a\n" * 30)],
)
def test_the_diff_has_the_form_of_difflib(before: str, after: str) -> None:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), "a/x", "b/x", lineterm="")
    assert change({"x": before.encode()}, {"x": after.encode()}).diff == "\n".join(lines)


def test_a_small_change_of_a_long_text_is_shown() -> None:
    before = "".join(f"line {number}\n" for number in range(50_000))
    difference = change({"a": before.encode()}, {"a": before.replace("line 400\n", "x\n").encode()})
    assert (difference.added, difference.removed) == (1, 1)
    assert "@@ -398,7 +398,7 @@" in difference.diff


def test_two_changes_far_apart_are_shown() -> None:
    before = "".join(f"line {number}\n\n" for number in range(5_000))
    after = before.replace("line 7\n", "seven\n").replace("line 4000\n", "x\ny\n")
    difference = change({"a": before.encode()}, {"a": after.encode()})
    assert (difference.added, difference.removed) == (3, 2)
    assert (difference.diff.count("@@ -"), "+seven" in difference.diff) == (2, True)


def test_a_long_text_is_compared_in_a_time_that_grows_with_its_length() -> None:
    before = "".join(f"line {number}\n\n" for number in range(100_000))
    begin = time.process_time()
    difference = change(
        {"a": before.encode()}, {"a": before.replace("line 7\n", "seven\n").encode()}
    )
    assert time.process_time() - begin < 3
    assert difference.added == 1


def test_lines_that_repeat_are_compared_in_bounded_time() -> None:
    """Regardless of the number of files with such lines."""
    names = [f"{number}.py" for number in range(20)]
    old = "\n".join(str(number % 20) for number in range(2_000)).encode()
    parts = (part for number in range(1_000) for part in (str(number % 20), f"u{number}"))
    new = "\n".join(parts).encode()
    begin = time.process_time()
    difference = change(dict.fromkeys(names, old), dict.fromkeys(names, new))
    assert time.process_time() - begin < 1.5
    assert difference.diff.count("differs (") == len(names)
    half = MOST_LINES // 2
    few = change({"a": b"x\n" * half, "b": b"x\n" * half}, {"a": b"y\n" * half, "b": b"y\n" * half})
    assert few.added == 2 * half
