"""Parts as plain lines, for a pipe or a file."""

from __future__ import annotations

from collections.abc import Iterator

from cli.render.parts import Code, Line, Output, Part, Prose, Steps

INDENT = "    "
_STATES = {"done": " [done]", "begun": " [begun]"}


def lines(part: Part) -> Iterator[str]:
    """A part's lines: `label: text`, and what belongs to it indented below."""
    match part:
        case Line(label, text):
            yield f"{label}: {text}".rstrip() if label else text
        case Steps():
            for number, (item, state) in enumerate(part.with_states, 1):
                yield f"{INDENT}{number}. {item}{_STATES.get(state, '')}"
        case Code(text) | Prose(text):
            yield from (f"{INDENT}{line}".rstrip() for line in text.split("\n"))
        case Output(text):
            yield from (f"{INDENT}> {line}".rstrip() for line in text.split("\n"))
