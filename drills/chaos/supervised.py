"""Faults on a deployment that somebody runs on this machine, where they have asked for it.

Its programs are found below the process that supervises them (`fettle up`, a process runner), which
is to start again what dies. Redis is left alone: its data are somebody's.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from drills import family
from drills.chaos.case import Bounds
from drills.chaos.oplog import OperationLog, Struck
from drills.chaos.remains import Remains
from drills.chaos.schedule import Fault, Kind
from drills.family import Process

SIGNALS = {
    Kind.CHILD_KILL: ("worker", signal.SIGKILL),
    Kind.WORKER_KILL: ("worker", signal.SIGKILL),
    Kind.DRAIN: ("worker", signal.SIGTERM),
    Kind.FREEZE: ("worker", signal.SIGSTOP),
    Kind.API_KILL: ("api", signal.SIGKILL),
    Kind.API_STOP: ("api", signal.SIGTERM),
}
"""Which program of ours each kind hits, and how. The other kinds are left out."""

FOUND_SECONDS = 20.0
LOOK_SECONDS = 0.2


class SupervisedFaults:
    """Strikes at what runs below the process `supervisor`."""

    def __init__(
        self, supervisor: int, bounds: Bounds, log: OperationLog, told: Callable[[Struck], None]
    ) -> None:
        self._supervisor = supervisor
        self._bounds = bounds
        self._log = log
        self._told = told
        self._frozen: set[int] = set()
        self._remains = Remains(log)

    async def strike(self, fault: Fault) -> None:
        """Do it, if it is one that we may do and its target is there."""
        if fault.kind not in SIGNALS:
            return
        program, signum = SIGNALS[fault.kind]
        if not (found := await self._found(program)):
            return
        chosen = found[int(fault.pick * len(found))]
        victims = family.below(chosen.pid)
        if not chosen.signal(signum):
            return
        struck = Struck(fault=fault.kind, pids=(chosen.pid,))
        self._log.add(struck)
        self._told(struck)
        if signum is signal.SIGKILL:
            self._remains.watch(victims, f"outlives its {program}")
        if signum is signal.SIGSTOP:
            await self._thaw(chosen, self._bounds.lease + fault.seconds / 2)

    async def settled(self) -> None:
        """Wait until what was killed has had its grace."""
        await self._remains.settled()

    async def _found(self, program: str) -> list[Process]:
        """Those that may be hit, once there is one: what a fault has ended is started again."""
        for _ in range(int(FOUND_SECONDS / LOOK_SECONDS)):
            if found := [p for p in self._programs(program) if p.pid not in self._frozen]:
                return found
            await asyncio.sleep(LOOK_SECONDS)
        return []

    async def _thaw(self, worker: Process, seconds: float) -> None:
        self._frozen.add(worker.pid)
        try:
            await asyncio.sleep(seconds)
        finally:
            worker.signal(signal.SIGCONT)
            self._frozen.discard(worker.pid)

    def _programs(self, name: str) -> list[Process]:
        """`python -m NAME`, below the supervisor and not below ourselves."""
        own = {os.getpid(), *(p.pid for p in family.below(os.getpid()))}
        found = [p for p in family.below(self._supervisor) if p.pid not in own]
        return [p for p in found if f" -m {name}" in p.command and _whole(p, name)]


def _whole(process: Process, name: str) -> bool:
    """Not the process of a lone job, whose death would make it poison."""
    return process.command.rsplit(maxsplit=1)[-1] == name
