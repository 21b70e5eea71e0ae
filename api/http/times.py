"""Times in queries."""

from __future__ import annotations

from datetime import UTC, datetime


def to_ms(time: datetime) -> int:
    """A time in ms. A time without an offset is UTC."""
    aware_time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(aware_time.timestamp() * 1000)
