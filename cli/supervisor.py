"""Keeps a set of programs running: shows their logs, starts again what dies."""

from __future__ import annotations

import subprocess
import time

from cli.backoff import Backoff
from cli.errors import CliError
from cli.logs import Logs
from cli.processes import Child, Processes, Program

HOPELESS = 4
"""Deaths in a row, while not everything has worked once: we give up and say so."""
UNFIT = 2
"""The exit code of a program whose settings do not fit: starting it again changes nothing."""


class Supervisor:
    """Start programs, then call `tick` often."""

    def __init__(self, processes: Processes, logs: Logs) -> None:
        self._processes = processes
        self._logs = logs
        self._backoffs: dict[str, Backoff] = {}
        self._due: list[tuple[float, Program]] = []
        self._all_well = False

    def start(self, program: Program) -> Child:
        """Start a program, with its output among the logs."""
        child = self._processes.start(program, subprocess.PIPE)
        if child.process.stdout is not None:
            self._logs.add(program.name, child.process.stdout)
        return child

    def tick(self, seconds: float) -> None:
        """Show logs for so long, look for the dead, start what is due."""
        self._logs.pump(seconds)
        for child in list(self._processes.children):
            if (code := child.ended()) is not None:
                self._bury(child, code)
        now = time.monotonic()
        ready = [entry for entry in self._due if entry[0] <= now]
        for entry in ready:
            self._due.remove(entry)
            self.start(entry[1])

    def all_well(self) -> None:
        """Everything works: from now on no program is given up."""
        self._all_well = True

    def _bury(self, child: Child, code: int) -> None:
        program = child.program
        self._processes.forget(child)
        backoff = self._backoffs.get(program.name, Backoff()).died(time.monotonic() - child.started)
        self._backoffs[program.name] = backoff
        if not self._all_well and (backoff.deaths >= HOPELESS or code == UNFIT):
            self._logs.pump(0)
            raise CliError(f"{program.name} does not start", "its log is above", "")
        self._due.append((time.monotonic() + backoff.seconds, program))
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        self._logs.say(program.name, f"ended with {ended}; starts again in {backoff.seconds:g} s")
