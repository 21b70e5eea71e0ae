"""Numbers and foreign text in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.render.words import clip, duration, first_line, money, plural, printable, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.004, "0.00 s"), (9.99, "9.99 s"), (12.34, "12.3 s"), (59.99, "0 min 59 s"),
     (125, "2 min 05 s")],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 * 1024**2, "3.0 MiB")]
)
def test_sizes(count, text):
    assert size(count) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [(None, "price unknown"), ("0", "$0"), ("0.00314", "$0.0031"), ("12.345", "$12.34")],
)
def test_money(dollars, text):
    assert money(dollars) == text


def test_plurals():
    assert [plural(0, "run"), plural(1, "run"), plural(1200, "run")] == [
        "0 runs", "1 run", "1,200 runs",
    ]  # fmt: skip


@given(st.text())
def test_printable_text_has_no_control_characters_but_line_ends(text):
    assert all(char == "\n" or (char.isprintable() or ord(char) > 0x9F) for char in printable(text))
    assert "\x1b" not in printable(text)


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=30), st.integers(2, 10))
def test_a_clipped_text_keeps_as_many_lines_and_counts_the_rest(lines, most):
    text = "\n".join(lines)
    clipped = clip(text, most).split("\n")
    whole = text.rstrip("\n").split("\n")
    if len(whole) <= most:
        assert clipped == whole
    else:
        assert len(clipped) == most + 1
        assert f"... {len(whole) - most} more lines ..." in clipped


def test_a_first_line_is_cut_to_its_width():
    assert first_line("\n  one two three\nfour", 8) == "one two…"
