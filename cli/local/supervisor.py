"""Keeps a set of programs running: shows their logs, starts again what dies."""

from __future__ import annotations

import subprocess
import time
from threading import Thread

from cli.errors import CliError
from cli.local.logs import Logs
from cli.local.processes import Child, Processes, Program

FIRST_SECONDS, MOST_SECONDS = 0.5, 30.0
"""A program that died rests before it is started again, twice as long after each death in a row."""
HEALTHY_SECONDS = 30.0
"""A program that lived this long had started well: its deaths are counted anew."""
HOPELESS = 4
"""Deaths in a row, while not everything has worked once: we give up and say so."""
UNFIT = 2
"""The exit code of a program whose settings do not fit: starting it again changes nothing."""
LAST_LINES_SECONDS = 1.0


class Supervisor:
    """Start programs, then call `tick` often."""

    def __init__(self, processes: Processes, logs: Logs) -> None:
        self._processes = processes
        self._logs = logs
        self._readers: dict[int, Thread] = {}
        self._deaths: dict[str, int] = {}
        self._due: list[tuple[float, Program]] = []
        self._all_well = False

    def start(self, program: Program) -> Child:
        """Start a program, with its output among the logs."""
        child = self._processes.start(program, subprocess.PIPE)
        if child.process.stdout is not None:
            self._readers[child.pid] = self._logs.follow(program.name, child.process.stdout)
        return child

    def tick(self, seconds: float) -> None:
        """Wait so long, look for the dead, start what is due."""
        time.sleep(seconds)
        for child in list(self._processes.children):
            if (code := child.ended()) is not None:
                self._died(child, code)
        now = time.monotonic()
        ready = [entry for entry in self._due if entry[0] <= now]
        for entry in ready:
            self._due.remove(entry)
            self.start(entry[1])

    def all_well(self) -> None:
        """Everything works: from now on no program is given up."""
        self._all_well = True

    def show_last_lines(self) -> None:
        """Wait until what ended programs have written is on the screen."""
        for reader in self._readers.values():
            reader.join(LAST_LINES_SECONDS)

    def _died(self, child: Child, code: int) -> None:
        program = child.program
        self._processes.forget(child)
        self._readers.pop(child.pid).join(LAST_LINES_SECONDS)
        healthy = time.monotonic() - child.started >= HEALTHY_SECONDS
        deaths = 1 if healthy else self._deaths.get(program.name, 0) + 1
        self._deaths[program.name] = deaths
        if not self._all_well and (deaths >= HOPELESS or code == UNFIT):
            raise CliError(f"{program.name} does not start", "its log is above", "")
        rest = rest_seconds(deaths)
        self._due.append((time.monotonic() + rest, program))
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        self._logs.say(program.name, f"ended with {ended}; starts again in {rest:g} s")


def rest_seconds(deaths: int) -> float:
    """How long a program rests after so many deaths in a row."""
    return min(FIRST_SECONDS * 2.0 ** (deaths - 1), MOST_SECONDS)
