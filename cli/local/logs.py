"""The children's logs on one screen: each line after the name of the program that wrote it."""

from __future__ import annotations

import threading
from typing import IO

from rich.table import Table
from rich.text import Text

from cli.output import Screen
from cli.render.words import printable

COLOURS = ("cyan", "green", "magenta", "yellow", "blue")
NAME_WIDTH = 9
MOST_LINE = 16 * 1024


class Logs:
    """A thread a pipe reads as it fills."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._one_line = threading.Lock()
        self._colours: dict[str, str] = {}

    def follow(self, name: str, pipe: IO[bytes]) -> threading.Thread:
        """Show what comes out of a pipe under a name; the thread ends with the pipe."""
        reader = threading.Thread(target=self._show, args=(name, pipe), name=name, daemon=True)
        reader.start()
        return reader

    def say(self, name: str, line: str) -> None:
        """One line under a name."""
        text = Text(printable(line))
        with self._one_line:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            if not self._screen.drawing:
                self._screen.text(f"{name:<{NAME_WIDTH}}| {text.plain}")
                return
            grid = Table.grid()
            grid.add_column(width=NAME_WIDTH + 2)
            grid.add_column(overflow="fold")
            grid.add_row(Text(f"{name:<{NAME_WIDTH}}│", colour), text)
            self._screen.console.print(grid)

    def _show(self, name: str, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(MOST_LINE):
                self.say(name, line.rstrip(b"\n").decode(errors="replace"))
