"""Keeps a set of programs running: shows their logs on one screen, and restarts them."""

from __future__ import annotations

import subprocess
import threading
import time
from typing import IO

from rich.text import Text

from cli.errors import CliError
from cli.local.processes import Child, LocalProgram, Processes, collect_orphans
from cli.output import Screen
from cli.render.texts import printable

FIRST_SECONDS, MOST_SECONDS = 0.5, 30.0
"""The first and the longest delay before a program that died is restarted. The delay doubles with
each death in a row."""
HEALTHY_SECONDS = 30.0
"""If a program has run this long, its earlier deaths no longer count."""
HOPELESS = 4
"""Deaths in a row after which the command gives up, until everything has worked once."""
UNFIT = 2
"""The exit code of a program with invalid settings: a restart would not help."""
LAST_LINES_SECONDS = 1.0
NAME_WIDTH = 9
MOST_LINE = 16 * 1024


class Supervisor:
    """Start programs, then call `tick` often."""

    def __init__(self, processes: Processes, screen: Screen) -> None:
        self._processes = processes
        self._screen = screen
        self._one_line = threading.Lock()
        self._readers: dict[int, threading.Thread] = {}
        self._deaths: dict[str, int] = {}
        self._due: list[tuple[float, LocalProgram]] = []
        self._all_well = False

    def start(self, program: LocalProgram) -> Child:
        """Start a program, with its output among the logs."""
        child = self._processes.start(program, subprocess.PIPE)
        args = (program.name, child.process.stdout)
        reader = threading.Thread(target=self._show, args=args, daemon=True)
        reader.start()
        self._readers[child.pid] = reader
        return child

    def tick(self, seconds: float) -> None:
        """Wait `seconds`; then find programs that died, and restart programs that are due."""
        time.sleep(seconds)
        for child in list(self._processes.children):
            if (code := child.exit_code()) is not None:
                self._died(child, code)
        collect_orphans({child.pid for child in self._processes.children})
        now = time.monotonic()
        ready = [entry for entry in self._due if entry[0] <= now]
        for entry in ready:
            self._due.remove(entry)
            self.start(entry[1])

    def all_well(self) -> None:
        """Note that everything works: from now on, the command does not give up."""
        self._all_well = True

    def show_last_lines(self) -> None:
        """Wait until the last output of the programs is on the screen."""
        for reader in self._readers.values():
            reader.join(LAST_LINES_SECONDS)

    def _died(self, child: Child, code: int) -> None:
        name = child.program.name
        self._processes.forget(child)
        self._readers.pop(child.pid).join(LAST_LINES_SECONDS)
        healthy = time.monotonic() - child.started >= HEALTHY_SECONDS
        deaths = self._deaths[name] = 1 if healthy else self._deaths.get(name, 0) + 1
        if not self._all_well and (deaths >= HOPELESS or code == UNFIT):
            raise CliError(f"{name} does not start", "its log is above", "")
        delay = min(FIRST_SECONDS * 2.0 ** (deaths - 1), MOST_SECONDS)
        self._due.append((time.monotonic() + delay, child.program))
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        self._line(name, f"ended with {cause}; starts again in {delay:g} s")

    def _show(self, name: str, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(MOST_LINE):
                self._line(name, line.rstrip(b"\n").decode(errors="replace"))

    def _line(self, name: str, text: str) -> None:
        label = f"{name:<{NAME_WIDTH}}| "
        with self._one_line:
            if self._screen.drawing:
                self._screen.console.print(Text(label, "cyan").append(printable(text), "default"))
            else:
                self._screen.text(label + printable(text))
