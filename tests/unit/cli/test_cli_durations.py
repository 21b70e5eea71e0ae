"""Lengths of time as people type them."""

from __future__ import annotations

import click
import pytest

from cli.durations import Duration


@pytest.mark.parametrize(
    ("typed", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), (" 2H ", 7_200), ("3 d", 259_200)]
)
def test_a_number_and_a_unit(typed, seconds):
    assert Duration().convert(typed, None, None) == seconds


@pytest.mark.parametrize("typed", ["", "0", "0h", "-5m", "2w", "1.5h", "soon", "1h30m"])
def test_what_is_none_is_said(typed):
    with pytest.raises(click.BadParameter, match="2h"):
        Duration().convert(typed, None, None)
