"""Engine: the event loop, in a thread of its own, that works on the jobs of this process.

The main thread belongs to Celery (signals, hints); measured with 500 jobs in flight, one loop a
process costs half the processor time and two thirds of the memory of a thread a job.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any

import structlog
import uvloop

from jobs.errors import StoreUnavailable
from jobs.hints import Hints
from jobs.lifecycle import Policy
from jobs.operations import Operations
from jobs.redis_store import RedisStore, connect
from jobs.store import Held
from settings.worker import WorkerSettings
from worker.attempts import Attempts
from worker.capabilities import announcement
from worker.fit import equip
from worker.leases import Leases
from worker.sweeper import sweep_forever

AGAIN_SECONDS = 1.0

log = structlog.get_logger("worker.engine")


class Engine:
    """Start it, offer it hints from any thread, stop it."""

    def __init__(self, settings: WorkerSettings, worker_id: str) -> None:
        self._settings = settings
        self._worker_id = worker_id
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jobs", daemon=True)
        self._hints = Hints(settings.broker_url)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Raises jobs.errors.JobsError where Redis cannot be used, SandboxError likewise."""
        self._thread.start()
        self._call(self._open())

    def take(self, job_id: str) -> None:
        """Answer a hint; waits for a free slot."""
        self._call(self._attempts.take(job_id))

    def work_alone(self, job_id: str) -> None:
        """Work on one job and nothing else, to the attempt's end."""
        self._call(self._attempts.work(job_id, alone=True))

    def request_drain(self) -> None:
        """Have every graph stop at its next step; returns at once."""
        coroutine = self._attempts.drain(self._settings.drain_seconds)
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def stop(self, seconds: float) -> None:
        """Drain within `seconds`, close rooms and connections, end the thread."""
        self._call(self._close(seconds))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._hints.close()

    def _call(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _open(self) -> None:
        settings = self._settings
        self._store = RedisStore(connect(settings.redis_url))
        await self._store.now()
        policy = Policy(lease_ms=int(settings.lease_seconds * 1000))
        operations = Operations(self._store, self._hints.send, policy)
        self._equipment = equip(settings, self._store)
        facts = await announcement(settings, self._equipment.sandbox)
        self._attempts = Attempts(
            self._worker_id, operations, self._equipment, settings.concurrency
        )
        self._leases = Leases(
            self._worker_id,
            settings.redis_url,
            lease_seconds=settings.lease_seconds,
            heartbeat_seconds=settings.heartbeat_seconds,
            held=self._attempts.held,
            lost=self._stop_soon,
            facts=lambda: facts,
        )
        self._leases.start()
        self._tasks = [
            asyncio.create_task(sweep_forever(operations, settings.sweep_seconds)),
            asyncio.create_task(self._stop_cancelled()),
        ]

    async def _close(self, seconds: float) -> None:
        await self._attempts.drain(seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._leases.stop)
        await self._equipment.close()
        await self._store.close()

    def _stop_soon(self, held: Held) -> None:
        self._loop.call_soon_threadsafe(self._attempts.stop, held)

    async def _stop_cancelled(self) -> None:
        """Hear of cancelled jobs at once; a heartbeat finds those that were not heard of."""
        while True:
            with contextlib.suppress(StoreUnavailable):
                async with self._store.stops() as stopped:
                    while True:
                        await self._heard(await stopped.get())
            await asyncio.sleep(AGAIN_SECONDS)

    async def _heard(self, job_id: str) -> None:
        if job_id:
            self._attempts.stop_job(job_id)
            return
        for held in self._attempts.held():  # the connection was lost: some may have been missed
            if not await self._store.owns(held):
                self._attempts.stop(held)
