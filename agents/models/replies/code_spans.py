"""Finds a pattern outside of code in Markdown. Pure."""

from __future__ import annotations

import re

_CODE = r"(?P<code>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)"


def outside_code(pattern: str) -> re.Pattern[str]:
    """`pattern` as one that also matches code, so that a search passes over it; see `find`."""
    return re.compile(f"{_CODE}|(?:{pattern})", re.DOTALL)


def find(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match outside of code of a pattern by `outside_code`."""
    return next((match for match in pattern.finditer(text) if match["code"] is None), None)
