"""A length of time as people type it: 90, 90s, 15m, 2h, 3d."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TYPED = re.compile(r"(\d{1,9})\s*([smhd]?)")


class Duration(click.ParamType[int]):
    """Whole seconds, at least one."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        typed = _TYPED.fullmatch(str(value).strip().lower())
        seconds = int(typed[1]) * _UNITS[typed[2]] if typed else 0
        if seconds < 1:
            self.fail(f"{value!r} is no length of time; write 90s, 15m, 2h or 3d", param, ctx)
        return seconds
