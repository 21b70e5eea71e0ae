"""Faults on a deployment that somebody runs on this machine, where they have asked for it.

Its programs are found below the process that supervises them (`fettle up`, a process runner), which
is to start again what dies. Redis is left alone: its data are somebody's.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from drills import process_tree
from drills.chaos.checks.case import Bounds
from drills.chaos.faults.strikes import Strikes, picked
from drills.chaos.oplog import OperationLog, Struck
from drills.chaos.schedule import Fault, Kind
from drills.process_tree import Process

SIGNALS = {
    Kind.CHILD_KILL: ("worker", signal.SIGKILL),
    Kind.WORKER_KILL: ("worker", signal.SIGKILL),
    Kind.DRAIN: ("worker", signal.SIGTERM),
    Kind.FREEZE: ("worker", signal.SIGSTOP),
    Kind.API_KILL: ("api", signal.SIGKILL),
    Kind.API_STOP: ("api", signal.SIGTERM),
}
"""Which of Fettle's programs each kind hits, and how. The other kinds are left out."""

FOUND_SECONDS = 20.0
LOOK_SECONDS = 0.2


class SupervisedFaults(Strikes):
    """Strikes at what runs below the process `supervisor`."""

    def __init__(
        self, supervisor: int, bounds: Bounds, log: OperationLog, report: Callable[[Struck], None]
    ) -> None:
        super().__init__(log, report)
        self._supervisor = supervisor
        self._bounds = bounds

    async def strike(self, fault: Fault) -> None:
        """Do it, if it is one that we may do and its target is there."""
        if fault.kind not in SIGNALS:
            return
        program, signum = SIGNALS[fault.kind]
        if not (found := await self._found(program)):
            return
        chosen = picked(found, fault)
        if signum is signal.SIGKILL:
            self.kill(fault, chosen, f"outlives its {program}")
        elif signum is signal.SIGSTOP:
            await self.freeze(fault, chosen, self._bounds.lease + fault.seconds / 2)
        else:
            self.signal(fault, chosen, signum)

    async def _found(self, program: str) -> list[Process]:
        """Those that may be hit, once there is one: what a fault has ended is started again."""
        for _ in range(int(FOUND_SECONDS / LOOK_SECONDS)):
            if found := [p for p in self._programs(program) if p.pid not in self.frozen]:
                return found
            await asyncio.sleep(LOOK_SECONDS)
        return []

    def _programs(self, name: str) -> list[Process]:
        """`python -m NAME`, below the supervisor and not below ourselves."""
        own = {os.getpid(), *(p.pid for p in process_tree.below(os.getpid()))}
        found = [p for p in process_tree.below(self._supervisor) if p.pid not in own]
        return [p for p in found if f" -m {name}" in p.command and _whole(p, name)]


def _whole(process: Process, name: str) -> bool:
    """Not the process of a lone job, whose death would make it poison."""
    return process.command.rsplit(maxsplit=1)[-1] == name
