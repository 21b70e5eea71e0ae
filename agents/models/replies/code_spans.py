"""Finds a pattern outside of code in Markdown. Pure."""

from __future__ import annotations

import re

_CODE = (
    r"(?P<code>(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)"
    r"|(?P<ticks>`{1,2})(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
)
_QUOTATION_MARKS = ('"', "'", "\u201c", "\u2018", "\u00ab", "\u201e")


def outside_code(pattern: str) -> re.Pattern[str]:
    """`pattern` as one that also matches code, so that a search passes over it; see `find`."""
    return re.compile(f"{_CODE}|(?:{pattern})", re.DOTALL)


def find(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match outside of code of a pattern by `outside_code`."""
    return next((match for match in pattern.finditer(text) if match["code"] is None), None)


def is_quoted(text: str, position: int) -> bool:
    """Whether the text at a position is shown as a quotation: after an opening quotation mark, or
    in a line that begins with `>` or, below another line, with four blanks."""
    start = text.rfind("\n", 0, position) + 1
    before = text[start:position]
    is_code = start > 0 and before.startswith(("    ", "\t"))
    return is_code or before.lstrip().startswith(">") or before.endswith(_QUOTATION_MARKS)
