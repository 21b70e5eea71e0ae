"""Types of command line parameters: a length of time, a size."""

from __future__ import annotations

import re
from typing import Any

import click

_TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TYPED_TIME = re.compile(r"(\d{1,9})\s*([smhd]?)")


class Duration(click.ParamType[int]):
    """Whole seconds, at least one."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        typed = _TYPED_TIME.fullmatch(str(value).strip().lower())
        seconds = int(typed[1]) * _TIME_UNITS[typed[2]] if typed else 0
        if seconds < 1:
            self.fail(f"{value!r} is no length of time; write 90s, 15m, 2h or 3d", param, ctx)
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
