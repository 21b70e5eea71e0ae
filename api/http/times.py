"""Times in queries."""

from __future__ import annotations

from datetime import UTC, datetime

from api.http.field_errors import problem_of
from api.schemas.problem import FieldError


def to_ms(time: datetime) -> int:
    """A time in ms. A time without an offset is UTC."""
    aware_time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(aware_time.timestamp() * 1000)


def check_order(start: datetime | None, end: datetime | None) -> None:
    """Raise RefusedRequest, a 422, if `start` is after `end`."""
    if start is not None and end is not None and to_ms(start) > to_ms(end):
        raise problem_of([FieldError(field="from", message="it is after `to`")])
