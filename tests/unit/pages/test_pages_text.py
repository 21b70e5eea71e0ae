"""Foreign text on a page: code, output, answers, differences. Nothing of it may act."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.format import code, difference, prose, terminal

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'"


@pytest.mark.parametrize("draw", [code.coloured, terminal.shown, prose.shown, difference.unified])
def test_html_in_it_is_text(draw):
    drawn = str(draw(EVIL))
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "alert" in drawn


@given(st.text(alphabet="<>&\"'a\x1b[31m0;8\n\r \x00\u202e", max_size=60))
def test_no_text_makes_a_tag_of_its_own(text):
    for draw in (terminal.shown, difference.unified, code.coloured):
        rest = str(draw(text)).replace("</span>", "")
        for piece in rest.split("<")[1:]:
            assert piece.startswith('span class="')


def test_colours_of_a_terminal_become_classes():
    shown = terminal.shown("\x1b[1;31mred\x1b[0m plain \x1b[38;2;0;255;0mgreen\x1b[0m")
    assert str(shown) == (
        '<span class="t-bold t-1">red</span> plain <span class="t-2">green</span>'
    )


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b]0;title\x07",
        "\x1b]8;;https://evil.test\x1b\\",
        "\x1b[2J",
        "\x1b[10;10H",
        "\x1bPq\x1b\\",
        "\x1b[?25l",
    ],
)
def test_all_other_control_is_left_out(sequence):
    assert str(terminal.shown(f"a{sequence}b\x1b[0m")) == "ab"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:x"]
)
def test_no_link_of_an_answer_is_active(link):
    assert "href" not in str(prose.shown(f"[click]({link})"))


def test_an_answer_loads_no_pictures_and_heads_no_page():
    drawn = str(prose.shown("# Big\n\n![x](http://evil.test/pixel.png)"))
    assert "<img" not in drawn
    assert "<h3>Big</h3>" in drawn


def test_a_programs_lines_stay_lines():
    text = '"""one\ntwo\nthree"""\nx = 1\n'
    drawn = code.lines(text)
    assert len(drawn) == len(text.split("\n"))
    assert all(line.count("<span") == line.count("</span>") for line in drawn)


def test_side_by_side_says_what_changed_and_folds_what_did_not():
    old = "\n".join(f"line {n}" for n in range(30))
    new = old.replace("line 15", "line fifteen").replace("line 20\n", "") + "\nline 30"
    rows = difference.side_by_side(old, new, "a.txt")
    kinds = [row.kind for row in rows]
    assert kinds[0] == "gap"
    assert rows[0].skipped == 12
    assert kinds.count("changed") == 1
    assert kinds.count("removed") == 1
    assert kinds.count("added") == 1
    (changed,) = [row for row in rows if row.kind == "changed"]
    assert (changed.left[0], changed.right[0]) == (16, 16)
    assert "fifteen" in changed.right[1]


@pytest.mark.parametrize(("old", "new"), [("", ""), ("a\n", "a\n"), ("a", "a\n")])
def test_equal_texts_have_no_difference(old, new):
    assert difference.side_by_side(old, new) == []


@pytest.mark.parametrize("sign", ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029", "\r\n"])
def test_another_sign_in_place_of_a_line_feed_is_seen(sign):
    rows = difference.side_by_side("a\nb\nc\n", f"a{sign}b\nc\n", "a.txt")
    assert "\\" in "".join(str(row.right[1]) for row in rows if row.right)


def test_a_text_of_too_many_lines_is_not_cut():
    text = "x\n" * difference.MOST
    assert difference.side_by_side(text, text) == []
    assert difference.side_by_side(text, f"{text}y") is None


@pytest.mark.parametrize("ends", [("", ""), ("first\n", "last\n")])
def test_lines_that_repeat_are_compared_in_bounded_time(ends):
    old, new = ("".join(f"{n // each % 2}\n" for n in range(1_500)) for each in (1, 2))
    old = ends[0] + old + ends[1]
    began = time.process_time()
    rows = difference.side_by_side(old, new, "a.txt")
    assert time.process_time() - began < 2
    assert [row.left[0] for row in rows if row.left][-1] == old.count("\n")


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_both_sides_can_be_read_off(old, new):
    rows = difference.side_by_side("\n".join(old), "\n".join(new), "a.txt")
    left = [row.left for row in rows if row.left]
    right = [row.right for row in rows if row.right]
    assert [n for n, _ in left] == sorted({n for n, _ in left})
    for side, texts in ((left, old), (right, new)):
        assert all(str(text) == texts[number - 1] for number, text in side)
