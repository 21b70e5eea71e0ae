"""Screen: the output of a command. Colour and columns on a terminal, plain lines in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from cli.render.part_formats import draw, draw_unbroken, inset, plain_lines
from cli.render.parts import Line, Part, Tone
from cli.render.texts import printable

_PATCH_STYLES = (("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))
"""The beginnings of a patch's lines, and their styles."""


class Screen:
    """The output on stdout, or on stderr if stdout has to carry JSON."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)

    @property
    def drawing(self) -> bool:
        """Whether the output is a terminal."""
        return self.console.is_terminal

    @property
    def asking(self) -> bool:
        """Whether a person can be asked: a terminal at both ends."""
        return self.drawing and sys.stdin.isatty()

    def part(self, part: Part) -> None:
        """Show one part."""
        if self.drawing:
            self.console.print(draw(part))
        else:
            for line in plain_lines(part):
                self._write(line)

    def parts(self, parts: Iterable[Part]) -> None:
        """Show parts in order."""
        for part in parts:
            self.part(part)

    def line(self, label: str, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Show one labelled line."""
        self.part(Line(label, text, tone))

    def copyable(self, label: str, text: str) -> None:
        """Show one labelled line that people copy, such as an address or a command."""
        if self.drawing:
            self.console.print(draw_unbroken(Line(label, text)), soft_wrap=True)
        else:
            self.line(label, text)

    def title(self, text: str) -> None:
        """Show a heading."""
        if self.drawing:
            self.console.print()
            self.console.rule(Text(text, "bold"), align="left", style="dim")
        else:
            self._write(f"\n== {text}")

    def text(self, text: str = "", style: str = "") -> None:
        """Show text without a label."""
        if self.drawing:
            self.console.print(Text(text, style))
        else:
            self._write(text)

    def patch(self, patch: bytes) -> None:
        """Show a patch line by line, coloured. Long lines are not cut, and hidden characters are
        shown."""
        for line in patch.removesuffix(b"\n").split(b"\n"):
            text = printable(line.decode(errors="backslashreplace"))
            style = next((style for start, style in _PATCH_STYLES if text.startswith(start)), "")
            self.console.print(Text(text, style), soft_wrap=True)

    def picture(self, picture: RenderableType) -> None:
        """Show a picture, on a terminal only."""
        if self.drawing:
            self.console.print(inset(picture))

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """A spinner while a block runs; in a pipe, a line."""
        if self.drawing:
            return self.console.status(Text(text, "dim"), spinner_style="cyan")
        self._write(f"{text} ...")
        return nullcontext()

    def rows(self, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table; in a pipe, lines of cells separated by tabs."""
        if not self.drawing:
            for row in (heads, *rows):
                self._write("\t".join(row))
            return
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for head in heads:
            table.add_column(head, overflow="fold", no_wrap=head in ("ID", "STATUS"))
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)

    def _write(self, line: str) -> None:
        """A plain line, flushed, so that a reader of the pipe sees it at once."""
        self.console.file.write(line + "\n")
        self.console.file.flush()


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on stdout, for machines."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()
