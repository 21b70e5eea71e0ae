"""Quantities in words, the same on a page and on a terminal."""

from __future__ import annotations

import pytest

from api.quantities import duration, money


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.004, "0.00 s"),
        (9.99, "9.99 s"),
        (12.34, "12.3 s"),
        (59.99, "1 min 00 s"),
        (125, "2 min 05 s"),
        (7300, "2 h 01 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


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
