"""A set of child processes that is started, watched and ended together.

Each child has a session of its own (the terminal's Ctrl-C comes to us alone) and is on a leash: it
gets SIGTERM when we die, however we die. Stopping is SIGTERM, then SIGKILL after a bound, the last
tier first; orphans that a killed child leaves are ended too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cli import orphans
from cli.signals import Signals

LEASH = Path(__file__).with_name("leash.py")
ORPHAN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. `tier` 0 is stopped last; `stop_seconds` is the bound before SIGKILL."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    tier: int = 1
    stop_seconds: float = 5.0


class Child:
    """A started program. It is reaped when it is forgotten or stopped: until then its number, which
    is its group's too, is no other process's, and what is left of its group can be signalled.
    """

    def __init__(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        self.program = program
        self.process = process
        self.started = time.monotonic()

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self.process.pid

    def ended(self) -> int | None:
        """The exit code (negative: the signal), or None while it runs."""
        if self.process.returncode is not None:
            return self.process.returncode
        try:
            end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # who waited for it in another thread has just reaped it
            return self.process.poll()
        if end is None:
            return None
        return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status

    def signal(self, signum: int) -> None:
        """Send a signal to its whole group; to none where it was reaped."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signum)

    def reap(self) -> None:
        """Kill what is left of it and its group, and take its exit code."""
        self.signal(signal.SIGKILL)
        self.process.wait()


class Processes:
    """The children of one command. Make it with `running`, which ends them."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._others = orphans.children()  # whoever started them ends them
        self.children: list[Child] = []

    def start(self, program: Program, output: int | IO[bytes]) -> Child:
        """Start a program; its stdout and stderr go to `output` (a file, or subprocess.PIPE)."""
        argv = (sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), *program.argv)
        with self._signals.held():
            process = subprocess.Popen(
                argv,
                env=dict(program.env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            child = Child(program, process)
            self.children.append(child)
        return child

    def forget(self, child: Child) -> None:
        """Drop a child that has ended, with whatever is left of its group."""
        child.reap()
        self.children.remove(child)

    def stop(self, wait: Callable[[float], None] = time.sleep) -> None:
        """End all children. `wait(seconds)` is called between looks, to keep pipes flowing."""
        for tier in sorted({child.program.tier for child in self.children}, reverse=True):
            self._stop_tier([c for c in self.children if c.program.tier == tier], wait)
        orphans.end(ORPHAN_SECONDS, self._others)
        self.children.clear()

    def _stop_tier(self, tier: list[Child], wait: Callable[[float], None]) -> None:
        begun = time.monotonic()
        hurry = self._signals.count
        for child in tier:
            child.signal(signal.SIGTERM)
        while left := [child for child in tier if child.ended() is None]:
            for child in left:
                late = time.monotonic() - begun > child.program.stop_seconds
                if late or self._signals.count > hurry:  # a second Ctrl-C: do not wait
                    child.signal(signal.SIGKILL)
            wait(0.02)
        for child in tier:
            child.reap()


@contextmanager
def running(signals: Signals, wait: Callable[[float], None] = time.sleep) -> Iterator[Processes]:
    """A set of processes that ends with the block, whatever ends the block."""
    with orphans.adopting():
        processes = Processes(signals)
        try:
            try:
                yield processes
            finally:
                signals.hold()  # two `try`s: a signal that comes just before is raised here
        finally:
            processes.stop(wait)
