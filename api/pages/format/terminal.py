"""A program's output without control sequences. Pure."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from api.http.foreign_text import visible

_CONTROL = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-~])"
)
"""Escape sequences: colours, titles, links, cursor movements."""


def shown(text: str) -> Markup:
    """The text, escaped. Of an overwritten line, such as a progress bar, the last state and the
    number of earlier states."""
    plain = _CONTROL.sub("", text.replace("\r\n", "\n"))
    return Markup("\n").join(map(_line, plain.split("\n")))


def _line(line: str) -> Markup:
    states = [state for state in line.split("\r") if state.strip()] or [line.rpartition("\r")[2]]
    before = len(states) - 1
    note = Markup(' <span class="t-dim">↺ {} before</span>').format(before) if before else ""
    return escape(visible(states[-1])) + note
