"""Loners: the jobs that this worker has run in processes of their own (J7), few at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from jobs.errors import StoreUnavailable
from jobs.record import Status
from jobs.store.redis import RedisStore
from worker.alone import run_alone
from worker.zygote import Zygote

LONERS = 2
"""How many at once: each takes memory of a worker's, and may be what takes all there is."""
WAITING = 100
"""How many wait for their turn here; the sweeper hints at those beyond, ever further apart."""
STARTS = 2
"""How many processes are made for one hint, where one ends before it has claimed the job."""


class Loners:
    """One a worker; belongs to its loop's thread."""

    def __init__(
        self, store: RedisStore, turn_ms: int, zygote: Zygote | None, draining: asyncio.Event
    ) -> None:
        """`turn_ms`: how soon another worker makes a process for a job where this one has died
        making one: a lease, as for a job that was claimed.
        """
        self._store = store
        self._turn_ms = turn_ms
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
                await self._run(self._waiting.popleft())
        finally:
            self._free += 1

    async def _run(self, job_id: str) -> None:
        for start in range(STARTS):
            epoch = await self._unclaimed(job_id)
            if epoch is None or self._draining.is_set():
                return
            # a turn is for one claim: who is to run the job after that is decided anew
            turn = f"alone:{job_id}:{epoch}:{start}"
            if not await self._store.leader.try_acquire(turn, self._turn_ms):
                return
            keeping = asyncio.create_task(self._keep(turn))
            try:
                await run_alone(job_id, self._draining, self._zygote)
            finally:
                keeping.cancel()

    async def _keep(self, turn: str) -> None:
        """Keep others from starting the same: a process can take long to come up."""
        while True:
            await asyncio.sleep(self._turn_ms / 3_000)
            with contextlib.suppress(StoreUnavailable):
                await self._store.leader.extend(turn, self._turn_ms)

    async def _unclaimed(self, job_id: str) -> int | None:
        """The epoch of a job that waits to be claimed; None where it does not."""
        loaded = await self._store.load(job_id)
        if loaded is None or loaded.record.status is not Status.QUEUED:
            return None
        return loaded.record.epoch
