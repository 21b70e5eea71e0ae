"""Striking at processes, and what is left of a killed one: all below it must end soon (J14)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from drills import family
from drills.chaos.oplog import Left, OperationLog
from drills.family import Process

GRACE_SECONDS = 5.0


def alone(process: Process) -> bool:
    """Whether it works on one job alone, so that it may outlive the worker that started it."""
    return " --alone " in f"{process.command} "


class Remains:
    """Looks, after the grace, whether those who had to end have ended."""

    def __init__(self, log: OperationLog) -> None:
        self._log = log
        self._watching: set[asyncio.Task[None]] = set()

    def watch(self, victims: Sequence[Process], why: str) -> None:
        """They have to end from now on."""
        watching = asyncio.create_task(self._watch(victims, why))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def settled(self) -> None:
        """Wait until all have been looked at."""
        if self._watching:
            await asyncio.gather(*self._watching)

    async def _watch(self, victims: Sequence[Process], why: str) -> None:
        await asyncio.sleep(GRACE_SECONDS)
        # A lone job's worker may have been taken over by another parent: look among all there are.
        lone = [each.pid for each in (*victims, *family.below(os.getpid())) if alone(each)]
        spared = {*lone, *(each.pid for each in family.below(*lone))}
        for each in victims:
            if each.lives and each.pid not in spared:
                self._log.add(Left(pid=each.pid, command=each.command, why=why))
