"""Parts in each format: on a terminal, as plain lines, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from cli.render.parts import Code, Line, Output, Part, Prose, Steps, Tone

LABEL_WIDTH = 13
"""The length of the longest label, `critic's tool`."""
INSET = LABEL_WIDTH + 3

_MARKS = {
    Tone.PLAIN: ("•", "bold cyan", "default"),
    Tone.QUIET: ("·", "dim", "dim"),
    Tone.GOOD: ("✓", "bold green", "default"),
    Tone.BAD: ("✗", "bold red", "red"),
    Tone.WARN: ("!", "bold yellow", "yellow"),
    Tone.ASK: ("?", "bold magenta", "default"),
}
_STEP_MARKS = {"done": Text("✓", "bold green"), "begun": Text("▸", "bold cyan")}


def draw(part: Part) -> RenderableType:
    """A part as an object that rich can print."""
    match part:
        case Line(label, text, tone):
            return _line(label, text, tone)
        case Steps():
            return inset(_steps(part))
        case Code(text, language):
            return inset(_Barred(_highlighted(text, language), "│ ", "cyan"))
        case Output(text, error):
            style = "red" if error else "default"
            return inset(_Barred(Text(text, style, overflow="fold"), "┊ ", "bright_black"))
        case Prose(text):
            return inset(Text(text))


def _line(label: str, text: str, tone: Tone) -> Table:
    mark, label_style, text_style = _MARKS[tone]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(width=LABEL_WIDTH, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, label_style), Text(label, label_style), Text(text, text_style))
    return grid


def draw_unbroken(line: Line) -> Text:
    """A line that has no line break, for texts that people copy. A terminal may still wrap it."""
    mark, label_style, text_style = _MARKS[line.tone]
    label = line.label.ljust(LABEL_WIDTH)
    return Text.assemble((f"{mark} {label}", label_style), " ", (line.text, text_style))


def _steps(part: Steps) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="dim")
    grid.add_column(overflow="fold")
    for number, (item, state, time) in enumerate(part.rows, 1):
        text = Text.assemble(item, (f"  {time}", "dim") if time else "")
        grid.add_row(_STEP_MARKS.get(state, Text(f"{number}.")), text)
    return grid


def _highlighted(code: str, language: str) -> Syntax:
    return Syntax(code, language, theme="ansi_dark", background_color="default", word_wrap=True)


@dataclass(frozen=True, slots=True)
class _Barred:
    """Content with a bar down its left side, however its lines are folded."""

    content: RenderableType
    bar: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(options.max_width - 2, 1), height=None)
        for line in console.render_lines(self.content, inner, pad=False):
            yield Segment(self.bar, console.get_style(self.style))
            yield from line
            yield Segment.line()


def inset(content: RenderableType) -> Padding:
    """Content below a line's text."""
    return Padding(content, (0, 0, 0, INSET))


INDENT = "    "
_STATES = {"done": "done", "begun": "begun"}


def plain_lines(part: Part) -> Iterator[str]:
    """The lines of a part: `label: text`; other text is indented."""
    match part:
        case Line(label, text):
            yield f"{label}: {text}".rstrip() if label else text
        case Steps():
            for number, (item, state, time) in enumerate(part.rows, 1):
                notes = ", ".join(filter(None, (_STATES.get(state, ""), time)))
                yield f"{INDENT}{number}. {item}{f' [{notes}]' if notes else ''}"
        case Code(text) | Prose(text):
            yield from (f"{INDENT}{line}".rstrip() for line in text.split("\n"))
        case Output(text):
            yield from (f"{INDENT}> {line}".rstrip() for line in text.split("\n"))


_TICKS = re.compile(r"`{3,}")


def markdown_lines(part: Part) -> Iterator[str]:
    """A part as a paragraph, a list or a block, with an empty line after it."""
    match part:
        case Line(label, text):
            yield f"**{label}** {text}".rstrip() if label else text
        case Steps():
            yield from (f"{number}. {item}" for number, item in enumerate(part.items, 1))
        case Code(text, language):
            yield from fenced(text, language)
        case Output(text):
            yield from fenced(text, "text")
        case Prose(text):
            yield text
    yield ""


def fenced(text: str, language: str) -> Iterator[str]:
    """A block with a fence that is longer than any fence in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield from (f"{fence}{language}", text.rstrip("\n"), fence)
