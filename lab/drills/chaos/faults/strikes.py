"""Strikes at processes: each strike is written into the log with its victims and the processes that
survived.

Every process below a killed program must end soon afterwards (J14).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

from lab.drills import process_tree
from lab.drills.chaos.oplog import Left, OperationLog, Repaired, Struck
from lab.drills.chaos.schedule import Fault
from lab.drills.process_tree import Process

GRACE_SECONDS = 5.0


def alone(process: Process) -> bool:
    """Whether the process works on a single job, so that it may outlive the worker that
    started it.
    """
    return " --alone " in f"{process.command} "


def picked(processes: Sequence[Process], fault: Fault) -> Process:
    """The target that the fault's random number selects."""
    return processes[int(fault.pick * len(processes))]


class Strikes:
    """The functions that all faults use."""

    def __init__(self, log: OperationLog) -> None:
        self.frozen: set[int] = set()
        self._log = log
        self._watching: set[asyncio.Task[None]] = set()

    def note(self, fault: Fault, *pids: int, blinds: bool = False) -> None:
        """Log that the fault has happened."""
        self._log.add(Struck(fault=fault.kind, pids=pids, blinds=blinds))

    def repaired(self, fault: Fault) -> None:
        """Log that the fault is over."""
        self._log.add(Repaired(fault=fault.kind))

    def signal(self, fault: Fault, process: Process, signum: signal.Signals) -> None:
        """Send it a signal that may end it."""
        if process.signal(signum):
            self.note(fault, process.pid)

    def kill(self, fault: Fault, process: Process, reason: str) -> None:
        """kill -9; from now on, every process below it must end. `reason` says which process should
        end it.
        """
        victims = process_tree.below(process.pid)
        if process.signal(signal.SIGKILL):
            self.note(fault, process.pid)
            watching = asyncio.create_task(self._watch(victims, reason))
            self._watching.add(watching)
            watching.add_done_callback(self._watching.discard)

    async def freeze(self, fault: Fault, process: Process, seconds: float) -> None:
        """SIGSTOP, then SIGCONT after the lease: a zombie that Redis must fence."""
        self.frozen.add(process.pid)
        try:
            self.signal(fault, process, signal.SIGSTOP)
            await asyncio.sleep(seconds)
        finally:
            process.signal(signal.SIGCONT)
            self.repaired(fault)
            self.frozen.discard(process.pid)

    async def settled(self) -> None:
        """Wait until the grace time of every process below a killed process has passed."""
        if self._watching:
            await asyncio.gather(*self._watching)

    async def _watch(self, victims: Sequence[Process], reason: str) -> None:
        await asyncio.sleep(GRACE_SECONDS)
        # Another parent may have adopted the worker of a lone job, so search all processes.
        lone = [
            process.pid
            for process in (*victims, *process_tree.below(os.getpid()))
            if alone(process)
        ]
        spared = {*lone, *(process.pid for process in process_tree.below(*lone))}
        for process in victims:
            # A process without a command has ended, and the kernel still removes its namespaces.
            if process.lives and process.pid not in spared and (command := process.command):
                self._log.add(Left(pid=process.pid, command=command, why=reason))
