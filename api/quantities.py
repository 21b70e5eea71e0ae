"""Quantities as text: counts, times, sizes, money. Pure, and free of FastAPI, as schemas are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_LEAST = Decimal("0.0001")


def plural(count: int, word: str, words: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def duration(seconds: float) -> str:
    """`0.42 s`, `12.3 s`, `2 min 05 s`, `15 min`, `3 h 10 min`."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest_seconds = divmod(max(60, int(seconds)), 60)
    if minutes < 60:
        return f"{minutes} min {rest_seconds:02d} s" if rest_seconds else f"{minutes} min"
    hours, rest_minutes = divmod(minutes, 60)
    return f"{hours} h {rest_minutes:02d} min" if rest_minutes else f"{hours} h"


TYPED_DURATIONS = "write 90s, 15m, 2h or 3d"
_TIME_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_TYPED_TIME = re.compile(r"(\d{1,9})\s*([smhd]?)")


def parse_duration(text: str) -> int | None:
    """The seconds of a duration that a person typed, at least one; None: it is not a duration."""
    typed = _TYPED_TIME.fullmatch(text.strip().lower())
    return int(typed[1]) * _TIME_UNITS[typed[2] or "s"] or None if typed else None


def typed_duration(seconds: int) -> str:
    """A duration as a person types it: `90s`, `15m`, `2h`."""
    unit = next(unit for unit, length in _TIME_UNITS.items() if seconds % length == 0)
    return f"{seconds // _TIME_UNITS[unit]}{unit}"


def size(count: int) -> str:
    """`812 B`, `34.1 KiB`, `1.2 MiB`."""
    if count < 1_024:
        return f"{count} B"
    scaled, unit = (count / 1_024, "KiB") if count < 1_024**2 else (count / 1_024**2, "MiB")
    return f"{scaled:.1f} {unit}"


UNREPORTED = "usage not reported"
"""In place of a cost, if the provider did not say how many tokens a call used."""


def money(dollars: str | None) -> str:
    """`$0.0031`, `under $0.0001`, `price unknown`."""
    if dollars is None:
        return "price unknown"
    amount = Decimal(dollars)
    if amount == 0:
        return "$0"
    if amount < _LEAST:
        return f"under ${_LEAST}"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def spent(spend: Mapping[str, Any]) -> str:
    """A cost: `$0.01`, `over $0.01` if some of it is unknown, `price unknown`, `usage not
    reported`."""
    if spend["cost_usd"] is not None:
        return money(spend["cost_usd"])
    if Decimal(spend["known_usd"]):
        return f"over {money(spend['known_usd'])}"
    is_unreported = spend.get("unreported_calls") and not spend.get("unpriced_calls")
    return UNREPORTED if is_unreported else money(None)
