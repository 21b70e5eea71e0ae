"""Parts as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cli.render.parts import Code, Line, Output, Part, Prose, Steps

_TICKS = re.compile(r"`{3,}")


def lines(part: Part) -> Iterator[str]:
    """A part as a paragraph, a list or a block, with an empty line after it."""
    match part:
        case Line(label, text):
            yield f"**{label}** {text}".rstrip() if label else text
        case Steps():
            yield from (f"{number}. {item}" for number, (item, _) in enumerate(part.with_states, 1))
        case Code(text, language):
            yield from fenced(text, language)
        case Output(text):
            yield from fenced(text, "text")
        case Prose(text):
            yield text
    yield ""


def fenced(text: str, language: str) -> Iterator[str]:
    """A block whose fence is longer than any in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield from (f"{fence}{language}", text.rstrip("\n"), fence)
