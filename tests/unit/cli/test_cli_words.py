"""What a terminal shows of foreign text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.render.words import clip, printable


def test_tabs_become_spaces_and_hidden_signs_are_spelled_out():
    assert printable("a\tb\U000e0041") == "a   b\\U000e0041"


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
