"""The children's logs on one screen: each line behind the name of who wrote it."""

from __future__ import annotations

import os
import selectors
from dataclasses import dataclass, field
from typing import IO

from rich.table import Table
from rich.text import Text

from cli.render.words import printable
from cli.screen import Screen

COLOURS = ("cyan", "green", "magenta", "yellow", "blue")
NAME_WIDTH = 9
CHUNK = 64 * 1024
MOST_LINE = 16 * 1024


@dataclass(slots=True)
class _Source:
    name: str
    pipe: IO[bytes]
    partial: bytearray = field(default_factory=bytearray)


class Logs:
    """Reads pipes as they fill; `pump` must be called often."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._selector = selectors.DefaultSelector()
        self._colours: dict[str, str] = {}

    def add(self, name: str, pipe: IO[bytes]) -> None:
        """Show what comes out of a pipe under a name."""
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, selectors.EVENT_READ, _Source(name, pipe))

    def pump(self, seconds: float) -> None:
        """Show what has been written, waiting at most so long for it."""
        for key, _ in self._selector.select(seconds):
            source: _Source = key.data
            chunk = os.read(key.fd, CHUNK)
            if chunk:
                self._take(source, chunk)
            else:
                self._end(source)

    def say(self, name: str, line: str, style: str = "") -> None:
        """One line under a name."""
        colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
        text = Text(printable(line), style)
        if not self._screen.drawing:
            self._screen.text(f"{name:<{NAME_WIDTH}}| {text.plain}")
            return
        grid = Table.grid()
        grid.add_column(width=NAME_WIDTH + 2)
        grid.add_column(overflow="fold")
        grid.add_row(Text(f"{name:<{NAME_WIDTH}}│", colour), text)
        self._screen.console.print(grid)

    def _take(self, source: _Source, chunk: bytes) -> None:
        source.partial += chunk
        *lines, rest = bytes(source.partial).split(b"\n")
        source.partial = bytearray(rest[-MOST_LINE:])
        for line in lines:
            self.say(source.name, line[:MOST_LINE].decode(errors="replace"))

    def _end(self, source: _Source) -> None:
        if source.partial:
            self._take(source, b"\n")
        self._selector.unregister(source.pipe)
        source.pipe.close()
