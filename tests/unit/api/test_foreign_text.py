"""Foreign text and numbers, as a terminal and a page show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.foreign_text import visible
from api.quantities import duration, money, spent


def test_control_characters_and_direction_marks_are_spelled_out():
    assert visible("a\x00b\u202ec\r\nd\te") == "a\\x00b\\u202ec\nd\te"
    assert visible(None) == ""


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0xAD, 0xAD),
        (0x61C, 0x61C),
        (0x115F, 0x1160),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xE0000, 0xE007F),
    ],
)
def test_invisible_characters_are_spelled_out(first, last):
    for sign in range(first, last + 1):
        assert visible(chr(sign)) in (f"\\x{sign:02x}", f"\\u{sign:04x}", f"\\U{sign:08x}")


@given(st.text())
def test_only_line_ends_and_tabs_remain_of_the_control_characters(text):
    assert all(char in "\n\t" or char.isprintable() or ord(char) > 0x9F for char in visible(text))
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (None, "price unknown"),
        ("0", "$0"),
        ("0.00001", "under $0.0001"),
        ("0.00314", "$0.0031"),
        ("12.345", "$12.34"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_money(dollars, text):
    assert money(dollars) == text


@pytest.mark.parametrize(
    ("cost", "known_usd", "unpriced", "unreported", "text"),
    [
        ("0.5", "0.5", 0, 0, "$0.5000"),
        (None, "0.5", 0, 1, "over $0.5000"),
        (None, "0", 1, 0, "price unknown"),
        (None, "0", 0, 2, "usage not reported"),
        (None, "0", 1, 1, "price unknown"),
    ],
)
def test_an_unknown_cost_has_its_reason(cost, known_usd, unpriced, unreported, text):
    calls = {"unpriced_calls": unpriced, "unreported_calls": unreported}
    assert spent({"cost_usd": cost, "known_usd": known_usd, **calls}) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.42 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min"),
        (125, "2 min 05 s"),
        (900, "15 min"),
        (11_400, "3 h 10 min"),
        (7_259, "2 h"),
    ],
)
def test_a_duration_has_at_most_two_units_and_no_zero(seconds, text):
    assert duration(seconds) == text
