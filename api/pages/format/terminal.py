"""A program's output, with its colours as CSS classes and without other control sequences. Pure."""

from __future__ import annotations

import re

from markupsafe import Markup, escape
from rich.ansi import AnsiDecoder
from rich.color import ColorSystem
from rich.style import Style
from rich.text import Text

from api.http.foreign_text import visible

_OTHER = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-ln-~])"
)
"""Escape sequences other than colours: titles, links, cursor movements."""
_MARKS = {"bold": "t-bold", "dim": "t-dim", "italic": "t-italic", "underline": "t-underline"}


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def shown(text: str) -> Markup:
    """The text, escaped, with spans for its colours. Of an overwritten line, such as a progress
    bar, the last state and the number of earlier states."""
    plain = text.replace("\r\n", "\n")
    if "\x1b" not in plain and "\r" not in plain:
        return escape(visible(plain))
    decoder = AnsiDecoder()
    made = []
    for line in _OTHER.sub("", plain).split("\n"):
        last, before = _last_state(line)
        note = Markup(' <span class="t-dim">↺ {} before</span>').format(before) if before else ""
        made.append(_line(decoder.decode_line(last)) + note)
    return Markup("\n").join(made)


def _last_state(line: str) -> tuple[str, int]:
    """A line's last state, with its active colours, and the number of earlier states."""
    states = line.split("\r")
    seen = [place for place, state in enumerate(states) if _COLOUR.sub("", state).strip()]
    if len(states) == 1 or not seen:
        return states[-1], 0
    colours = _COLOUR.findall("".join(states[: seen[-1]]))
    return "".join((*colours, states[seen[-1]])), len(seen) - 1


def _line(line: Text) -> Markup:
    plain, made, at = line.plain, Markup(""), 0
    for span in sorted(line.spans):
        classes = _classes(span.style) if isinstance(span.style, Style) else ""
        made += escape(visible(plain[at : span.start]))
        inner = escape(visible(plain[span.start : span.end]))
        made += Markup('<span class="{}">{}</span>').format(classes, inner) if classes else inner
        at = span.end
    return made + escape(visible(plain[at:]))


def _classes(style: Style) -> str:
    found = [name for mark, name in _MARKS.items() if getattr(style, mark)]
    front, back = style.color, style.bgcolor
    if style.reverse:
        found.append("t-reverse")
    for colour, kind in ((front, "t"), (back, "t-on")):
        if colour is not None and not colour.is_default:
            found.append(f"{kind}-{colour.downgrade(ColorSystem.STANDARD).number}")
    return " ".join(found)
