"""A size as people type it: 512M, 512MiB, 2G."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_TYPED = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b)?")


class Size(click.ParamType[int]):
    """Whole bytes, at least one; a unit is a power of 1,024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        typed = _TYPED.fullmatch(str(value).strip().lower())
        size = int(typed[1]) * _UNITS[typed[2]] if typed else 0
        if size < 1:
            self.fail(f"{value!r} is no size; write 512M or 2G", param, ctx)
        return size
