"""Types of command line parameters: a length of time, a size; and JSON that a person writes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import click

from api.quantities import TYPED_DURATIONS, parse_duration


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, also for an object that has a key twice: the
    parser alone would take the last value."""
    try:
        return json.loads(text, object_pairs_hook=_as_object)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def _as_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"an object has the key {name!a} twice; leave one out")
        fields[name] = value
    return fields


class Duration(click.ParamType[int]):
    """Whole seconds, at least one."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        seconds = parse_duration(str(value))
        if seconds is None:
            self.fail(f"{value!r} is no length of time; {TYPED_DURATIONS}", param, ctx)
        return seconds


_SIZE_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_TYPED_SIZE = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b)?")


class Size(click.ParamType[int]):
    """Whole bytes, at least one; a unit is a power of 1,024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        typed = _TYPED_SIZE.fullmatch(str(value).strip().lower())
        size = int(typed[1]) * _SIZE_UNITS[typed[2]] if typed else 0
        if size < 1:
            self.fail(f"{value!r} is no size; write 512M or 2G", param, ctx)
        return size
