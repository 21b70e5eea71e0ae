"""Invisible characters: one definition for pages, patches, verdicts, messages and decisions."""

from __future__ import annotations

import unicodedata

import pytest
from support.pages.api_front import a_run, text

from api.http.foreign_text import visible, visible_path
from api.pages.format.untrusted import prose
from jobs.model.visibility import has_visible_text, is_invisible
from jobs.transitions.change import Delivery
from jobs.view.attention_lines import facts_of_lines
from jobs.view.patch import PatchFile, Row
from jobs.view.verdict import verdict_of
from worker.egress.chat import notice_of

INVISIBLE = (
    *"\x1b\x7f\x9b\xad\u034f\u061c\u115f\u1160\u180b\u180e\u2028\u2029\u2800\u3164\uffa0",
    *"\u200b\u200e\u202e\u2060\u2066\ufe00\ufe0f\ufff9\ufeff\ud800\ue000\uffff",
    *"\U0001d173\U000e0001\U000e0041\U000e0100\U000e01ef\U000f0000\U0010ffff",
)
"""Each category and each range, with its ends."""


def on_page(hidden: str) -> str:
    return visible(f"a{hidden}b")


def in_path(hidden: str) -> str:
    return visible_path(f"a{hidden}b")


def in_answer(hidden: str) -> str:
    return str(prose(f"a{hidden}b"))


def in_verdict(hidden: str) -> str:
    run = a_run(1, succeeded=False, failure={"class": "unknown", "cause": f"a{hidden}b"})
    run["code"] = text("x")
    return verdict_of({"unproven": "r1 failed", "runs": [run], "checks": None}).reason  # type: ignore[typeddict-item]


def in_message(hidden: str) -> str:
    delivery = Delivery("d1", "t", "j1", "job.finished", 0, {"task": f"a{hidden}b"})
    return dict(notice_of(delivery, None).facts)["Task"]


def facts_of_added(line: str) -> list[str]:
    row = Row("added", None, 7, f"+{line}")
    file = PatchFile("a.py", (), 1, 0, lines=1, longest=len(line), rows=(row,))
    return list(facts_of_lines(file, None))


@pytest.mark.parametrize("hidden", INVISIBLE, ids=ascii)
@pytest.mark.parametrize("show", [on_page, in_path, in_answer, in_verdict, in_message])
def test_an_invisible_character_is_shown_nowhere(show, hidden):
    assert is_invisible(hidden)
    html = show(hidden)
    assert (hidden in html, "ab" in html) == (False, False)


@pytest.mark.parametrize("hidden", INVISIBLE, ids=ascii)
def test_an_invisible_character_in_a_patch_is_a_fact(hidden):
    fact = "invisible or reversing characters in line 7"
    assert facts_of_added(f"a = 1{hidden}") == [fact]


def test_letters_emoji_and_spaces_are_visible():
    for character in "aé日\u0301\u3000\xa0 .\u20ac\U0001f642\u2764":
        assert not is_invisible(character), ascii(character)
        assert visible(character) == character


def test_emoji_stay_readable_and_a_selector_that_carries_data_does_not_vanish():
    assert "⚠ 1\u20e3 ❤" in prose("\u26a0\ufe0f 1\ufe0f\u20e3 \u2764\ufe0f")
    assert "❤\\ufe0f" in prose("\u2764\ufe0f\ufe0f")
    assert visible("\u2764\ufe0f") == "❤\\ufe0f", "code and paths are exact"
    assert facts_of_added("s = '\u26a0\ufe0f 1\ufe0f\u20e3 \U0001f468\u200d\U0001f469'") == []


def test_only_letters_numbers_punctuation_and_symbols_are_visible_text():
    for blank in ("", " \n\t", "\u0301", "\xa0\u3000", "".join(INVISIBLE)):
        assert not has_visible_text(blank), ascii(blank)
    for remark in (".", "ok", "é", "日", "\u2764\ufe0f", "\u3164x"):
        assert has_visible_text(remark), ascii(remark)


def test_each_character_of_the_invisible_categories_is_invisible():
    categories = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    for character in map(chr, range(0x110000)):
        if unicodedata.category(character) in categories:
            assert is_invisible(character), ascii(character)
