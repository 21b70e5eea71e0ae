"""Loners: the jobs that this worker has run in processes of their own (J7), few at once."""

from __future__ import annotations

import asyncio
from collections import deque

from jobs.record import Status
from jobs.store import Store
from worker.alone import run_alone
from worker.zygote import Zygote

LONERS = 2
"""How many at once: each takes memory of a worker's, and may be what takes all there is."""
WAITING = 100
"""How many wait for their turn here; the sweeper hints at those beyond, ever further apart."""
TURN_MS = 15_000
"""How long such a process may take to claim its job before another worker starts one."""


class Loners:
    """One a worker; belongs to its loop's thread."""

    def __init__(self, store: Store, zygote: Zygote | None, draining: asyncio.Event) -> None:
        self._store = store
        self._zygote = zygote
        self._draining = draining
        self._free = LONERS
        self._waiting: deque[str] = deque()

    async def run(self, job_id: str) -> None:
        """Work on a job in a process of its own: one in the fleet for each job, however many hints
        come meanwhile. A job too many waits without holding anyone up: this returns at once, and
        whoever has run another goes on with it.
        """
        if not self._free:
            if job_id not in self._waiting and len(self._waiting) < WAITING:
                self._waiting.append(job_id)
            return
        self._free -= 1
        try:
            await self._run(job_id)
            while self._waiting and not self._draining.is_set():
                if await self._still(waiting := self._waiting.popleft()):
                    await self._run(waiting)
        finally:
            self._free += 1

    async def _still(self, job_id: str) -> bool:
        """Whether nobody has taken the job meanwhile."""
        loaded = await self._store.load(job_id)
        return loaded is not None and loaded.record.status is Status.QUEUED

    async def _run(self, job_id: str) -> None:
        if await self._store.my_turn(f"alone:{job_id}", TURN_MS):
            await run_alone(job_id, self._draining, self._zygote)
