"""Quantities in words, the same on a page and on a terminal."""

from __future__ import annotations

import pytest

from api.quantities import money


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
