"""A set of child processes that is started, watched and stopped together.

Each child has a session of its own, so that only this process gets the terminal's Ctrl-C. If this
process dies, also by SIGKILL, the kernel sends SIGTERM to each child. To stop children, this module
sends SIGTERM to their process groups, the last tier first, and SIGKILL after a bound. A process
that a child has put into another session has to end by itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cli.errors import CliError
from cli.signals import Signals

PDEATHSIG = Path(__file__).with_name("pdeathsig.py")
LOOK_SECONDS = 0.05
LOG_LINES = 15


@dataclass(frozen=True, slots=True)
class LocalProgram:
    """A program to start. `tier` 0 is stopped last; `stop_seconds` is the bound before SIGKILL."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    tier: int = 1
    stop_seconds: float = 5.0


class Child:
    """A started program; its process id is its group's, too."""

    def __init__(self, program: LocalProgram, process: subprocess.Popen[bytes]) -> None:
        self.program = program
        self.process = process
        self.pid = process.pid
        self.started = time.monotonic()

    def exit_code(self) -> int | None:
        """The exit code (negative: the signal), or None while it runs. After its end, the other
        processes of its group are killed.
        """
        lived = self.process.returncode is None
        code = self.process.poll()
        if lived and code is not None:
            self._signal_group(signal.SIGKILL)
        return code

    def signal(self, signum: int) -> None:
        """Send a signal to the process group, unless the child has ended: another process may have
        its number by now.
        """
        if self.exit_code() is None:
            self._signal_group(signum)

    def _signal_group(self, signum: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signum)

    def kill(self) -> None:
        """End it and its group at once, and wait for that."""
        self.signal(signal.SIGKILL)
        self.process.wait()


class Processes:
    """The children of one command. Make it with `running`, which stops them."""

    def __init__(self, signals: Signals, inherited: Sequence[int] = ()) -> None:
        self._signals = signals
        self._inherited = inherited
        self.children: list[Child] = []

    def start(self, program: LocalProgram, output: int | IO[bytes]) -> Child:
        """Start a program; its stdout and stderr go to `output` (a file, or subprocess.PIPE)."""
        argv = (sys.executable, "-I", "-S", str(PDEATHSIG), str(os.getpid()), *program.argv)
        with self._signals.delayed():
            process = subprocess.Popen(
                argv,
                env=dict(program.env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=self._inherited,
            )
            child = Child(program, process)
            self.children.append(child)
        return child

    def forget(self, child: Child) -> None:
        """End a child if it still runs, and remove it from the set."""
        child.kill()
        self.children.remove(child)

    def stop(self) -> None:
        """End all children."""
        for tier in sorted({child.program.tier for child in self.children}, reverse=True):
            self._stop_tier([c for c in self.children if c.program.tier == tier])
        self.children.clear()

    def _stop_tier(self, tier: list[Child]) -> None:
        started_at, hurry = time.monotonic(), self._signals.count
        for child in tier:
            child.signal(signal.SIGTERM)
        while running_children := [child for child in tier if child.exit_code() is None]:
            for child in running_children:
                late = time.monotonic() - started_at > child.program.stop_seconds
                if late or self._signals.count > hurry:  # a second Ctrl-C: do not wait
                    child.kill()
            time.sleep(0.02)


class LoggedProcesses:
    """Children that each have a log file in `folder`. A restarted child continues its log."""

    def __init__(self, processes: Processes, folder: Path) -> None:
        self.processes = processes
        self.folder = folder

    def start(self, program: LocalProgram) -> Child:
        """Start it."""
        with self._log(program).open("ab") as log:
            return self.processes.start(program, log)

    def wait_until(
        self, holds: Callable[[], bool], condition: str, *children: Child, seconds: float
    ) -> None:
        """Wait until `holds()` is true. Raises CliError if that takes too long, or if a child ends.

        `condition` describes the condition in the error.
        """
        deadline = time.monotonic() + seconds
        while not holds():
            for child in children:
                if child.exit_code() is not None:
                    raise self.failure(child.program, "it ended")
            if time.monotonic() > deadline:
                raise self.failure(
                    children[-1].program,
                    f"within {seconds:g} s, this did not become true: {condition}; is the machine "
                    "overloaded?",
                )
            time.sleep(LOOK_SECONDS)

    def failure(self, program: LocalProgram, reason: str) -> CliError:
        """The error for a program that does not work, with the end of its log."""
        log = self._log(program).read_text(errors="replace").splitlines()[-LOG_LINES:]
        detail = "\n".join([f"{reason}; the end of its log:", *log])
        return CliError(f"the {program.name} cannot work here", detail, "fettle doctor")

    def _log(self, program: LocalProgram) -> Path:
        return self.folder / f"{program.name}.log"


@contextmanager
def running(signals: Signals, inherited: Sequence[int] = ()) -> Iterator[Processes]:
    """A set of processes that ends with the block, even if an exception ends the block. Each
    process gets the `inherited` file descriptors."""
    processes = Processes(signals, inherited)
    try:
        try:
            yield processes
        finally:
            signals.hold()  # two `try`s: a signal that comes just before is raised here
    finally:
        processes.stop()


PR_SET_CHILD_SUBREAPER = 36
ORPHAN_LOOK_SECONDS = 0.02
ORPHAN_MOST_SECONDS = 2.0


def adopt_orphans() -> None:
    """Make orphans below this process children of this process, and not of process 1 (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def collect_orphans(ours: Collection[int] = ()) -> bool:
    """Collect the orphans that have ended, except `ours`. Returns whether any orphan still runs."""
    remaining = [pid for pid in _child_pids() if pid not in ours and not _is_collected(pid)]
    return bool(remaining)


def wait_for_orphans() -> None:
    """Collect all orphans, for a limited time. Call it when all other children have ended."""
    ends = time.monotonic() + ORPHAN_MOST_SECONDS
    while collect_orphans() and time.monotonic() < ends:
        time.sleep(ORPHAN_LOOK_SECONDS)


def _child_pids() -> set[int]:
    pids: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            pids.update(map(int, listed.read_text().split()))
    return pids


def _is_collected(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
