"""Untrusted texts on a page: code, output, answers, differences. They must not be active
content.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.format import code, untrusted

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'"


@pytest.mark.parametrize("draw", [code.highlight, untrusted.printed, untrusted.prose, code.unified])
def test_html_in_a_text_is_escaped(draw):
    drawn = str(draw(EVIL))
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "alert" in drawn


@given(st.text(alphabet="<>&\"'a\x1b[31m0;8\n\r \x00\u202e", max_size=60))
def test_no_text_becomes_a_tag(text):
    for draw in (untrusted.printed, code.unified, code.highlight):
        remaining = str(draw(text)).replace("</span>", "")
        for piece in remaining.split("<")[1:]:
            assert piece.startswith('span class="')


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[1;31m",
        "\x1b]0;title\x07",
        "\x1b]8;;https://evil.test\x1b\\",
        "\x1b[2J",
        "\x1b[10;10H",
        "\x1bPq\x1b\\",
        "\x1b[?25l",
    ],
)
def test_control_sequences_are_left_out(sequence):
    assert str(untrusted.printed(f"a{sequence}b\x1b[0m")) == "ab"


@pytest.mark.parametrize(
    "link",
    [
        *("javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:x", "mailto:a@b.c"),
        *("/app/jobs/1", "//evil.test/x", "app", "#review", "https:/evil.test", "https:evil.test"),
        *("https://github.com@evil.test/", "https://a:b@evil.test/", "https://%65vil.test/"),
        "https://",
    ],
)
def test_a_link_in_an_answer_cannot_act_or_hide_its_host(link):
    assert "href" not in str(untrusted.prose(f"[click]({link})"))
    assert "href" not in str(untrusted.inline(f"[click](<{link}>)"))


@pytest.mark.parametrize(
    ("link", "host"),
    [
        ("https://evil.test/github.com?a#b", "evil.test"),
        ("http://evil.test:8080", "evil.test"),
        ("https://[::1]/x", "[::1]"),
        ("https://git\u04bbub.com/x", "xn--gitub-0kf.com"),
    ],
)
def test_a_link_of_an_answer_shows_its_host(link, host):
    drawn = str(untrusted.prose(f"a **[github.com]({link})** b"))
    assert f'>github.com</a> <span class="host">({host})</span></strong> b' in drawn


def test_an_answer_loads_no_pictures_and_has_no_headings():
    drawn = str(untrusted.prose("# Big\n\nTitle\n=====\n\n![x](http://evil.test/pixel.png)"))
    assert "<img" not in drawn
    assert "<h" not in drawn
    assert "<p>Big</p>" in drawn


def test_a_quotation_in_a_sentence_cannot_end_its_code():
    quoted = untrusted.sentence("Verified: `x` 1 of 2 approvals `<b>` passed")
    assert quoted == "Verified: <code>x` 1 of 2 approvals `&lt;b&gt;</code> passed"
    assert untrusted.sentence("1 `test <fails>") == "1 `test &lt;fails&gt;"


def test_a_comparison_shows_changed_lines_and_omits_unchanged_lines():
    old = [f"line {n}" for n in range(30)]
    diff = code.compare_lines(old, [*old[:15], "line fifteen", *old[16:]])
    assert diff[0] == "@@ -13,7 +13,7 @@"
    assert [line for line in diff if line[0] in "+-"] == ["-line 15", "+line fifteen"]
    assert code.compare_lines(old, old) == []


@pytest.mark.parametrize("sign", ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029", "\r\n"])
def test_a_different_line_end_is_visible(sign):
    diff = code.compare_lines(["a", "b", "c", ""], f"a{sign}b\nc\n".split("\n"))
    assert "\\" in str(code.unified("\n".join(diff)))


def test_a_text_with_too_many_lines_is_not_compared():
    lines = ["x"] * code.MAX_COMPARED_LINES
    assert code.compare_lines(lines, lines) == []
    assert code.compare_lines(lines, [*lines, "y"]) is None


def test_lines_that_repeat_are_compared_in_bounded_time():
    lines = [str(n % 100) for n in range(code.MAX_COMPARED_LINES)]
    started_at = time.process_time()
    assert code.compare_lines(lines, lines[::-1])
    assert time.process_time() - started_at < 10
